"""A power cut, a killed process, a full disk: what was acknowledged is there, and what is there hangs together."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from conftest import ram_folder
from killed_writers import Memory, check_whole, integrity
from remembered_drives import SECOND, Frame, frame, remember

from vlkng_ros.errors import MemoryFileError, StorageFullError
from vlkng_ros.memory import MemoryReader, MemoryWriter, database
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import Detection, Perception

MEMORIES = 5


@pytest.mark.parametrize("times", [pytest.param(30, id="30"), pytest.param(200, id="200", marks=pytest.mark.soak)])
@pytest.mark.timeout(900)
def test_a_writer_killed_at_any_moment_loses_nothing_that_it_acknowledged(tmp_path, times):
    # On a real disk, several memories at once: one writes while another waits for the disk.
    memories = [Memory(tmp_path / f"memory{i}.db", seed=i) for i in range(MEMORIES)]
    for _ in range(times // MEMORIES):
        for memory in memories:
            memory.start_writing()
        for memory in memories:
            memory.kill_while_writing()
        for memory in memories:
            memory.check()
    for memory in memories:
        memory.close()
        assert len(memory.acknowledged) > times // MEMORIES


def states_of(frames: list[Frame], path: Path) -> dict[int, tuple[list[int], int, int]]:
    """What a memory holds after each of its revisions."""
    states: dict[int, tuple[list[int], int, int]] = {}

    def note() -> None:
        with MemoryReader.open(path) as reader:
            stats = reader.stats()
            associated = sum(e.observation_count for e in reader.entities("proximity"))
            states[reader.revision] = (reader.frames().ids.tolist(), stats.observations, associated)

    with MemoryWriter.open(path, encoder=None, associators=[ProximityAssociator()]) as writer:
        # The log must not be moved into the database meanwhile: it is what gets cut.
        writer._store.connection.execute("PRAGMA wal_autocheckpoint = 0")
        note()
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        note()
        for item in frames:
            keyframe = writer.add_keyframe(item.capture(), item.jpeg)
            note()
            writer.add_perception(keyframe.keyframe_id, item.perception)
            note()
            writer.associate(keyframe.keyframe_id)
            note()
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{path}.copy{suffix}")
    return states


def test_a_log_cut_anywhere_opens_as_a_prefix_of_the_operations():
    folder, rng = ram_folder(), random.Random(3)
    try:
        path = folder / "memory.db"
        states = states_of([frame(i, i, "cup", "chair", caption="A cup.") for i in range(20)], path)
        wal = Path(f"{path}.copy-wal").read_bytes()
        seen = set()
        for number in range(200):
            cut = folder / f"cut{number}.db"
            shutil.copy(f"{path}.copy", cut)
            Path(f"{cut}-wal").write_bytes(wal[: rng.randrange(len(wal) + 1)])
            with MemoryReader.open(cut) as reader:
                stats = reader.stats()
                views = reader.views()
                associated = sum(e.observation_count for e in reader.entities("proximity")) if views else 0
                found = (reader.frames().ids.tolist(), stats.observations, associated)
                if reader.revision in states:
                    assert found == states[reader.revision]
                else:
                    assert reader.revision < min(states)
                    assert found == ([], 0, 0)
                seen.add(reader.revision)
                check_whole(reader)
            assert integrity(cut) == "ok"
            cut.unlink()
        assert len(seen) > 30
    finally:
        shutil.rmtree(folder)


def test_a_log_with_a_flipped_bit_opens_as_a_prefix_too():
    folder, rng = ram_folder(), random.Random(4)
    try:
        path = folder / "memory.db"
        states = states_of([frame(i, i, "cup") for i in range(6)], path)
        wal = bytearray(Path(f"{path}.copy-wal").read_bytes())
        for number in range(20):
            cut = folder / f"cut{number}.db"
            shutil.copy(f"{path}.copy", cut)
            damaged = bytearray(wal)
            damaged[rng.randrange(32, len(wal))] ^= 0x10
            Path(f"{cut}-wal").write_bytes(damaged)
            with MemoryReader.open(cut) as reader:
                assert reader.revision in states or reader.revision < min(states)
                if reader.revision in states:
                    assert reader.frames().ids.tolist() == states[reader.revision][0]
    finally:
        shutil.rmtree(folder)


def test_an_image_and_every_folder_on_the_way_to_it_are_durable_before_the_keyframe(tmp_path, monkeypatch):
    fsync, synced = os.fsync, []

    def noted(fd):
        synced.append(Path(os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    path = tmp_path / "robots" / "alice" / "memory.db"
    with MemoryWriter.open(path, encoder=None) as writer:
        assert {path.parent, path.parent.parent, tmp_path} <= set(synced)
        writer.start_session(robot="alice", map_id="house", frame_id="map")
        shown, folder = frame(0, 0, "cup"), path.with_suffix(".frames")
        for _ in range(2):  # and again, where somebody took it away
            synced.clear()
            shutil.rmtree(folder, ignore_errors=True)
            writer.add_keyframe(shown.capture(), b"jpeg")
            assert synced[:2] == [path.parent, folder]
            assert [one.parent for one in synced[2:]] == [folder / "000000", folder]
        synced.clear()
        writer.add_keyframe(shown.capture(), b"jpeg")
        assert [one.suffix for one in synced] == [".part", ""]


def test_a_full_disk_is_said_and_loses_nothing(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(i, 0, "cup") for i in range(3)])
    reader = open_reader()
    connection = writer._store.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    before = writer.revision
    many = [frame(s, 0, *(f"thing {s} {i}" for i in range(20)), caption="long " * 200) for s in range(3, 200)]
    with pytest.raises(StorageFullError, match="disk is full"):
        remember(writer, many)
    kept = writer.revision
    assert kept >= before
    assert next(reader.entities("proximity")).entity_id == "cup_1"
    reader.refresh()
    check_whole(reader)
    assert reader.revision == kept
    connection.execute("PRAGMA max_page_count = 1000000")
    for keyframe in writer.pending():
        writer.add_perception(keyframe.keyframe_id, Perception("Now.", (Detection("cup"),)))
    (last,) = remember(writer, [frame(300, 0, "cup")])
    reader.refresh()
    assert reader.keyframe_nearest(300 * SECOND).keyframe_id == last


def test_a_disk_too_full_to_open_a_memory_on_is_said_to_be_full(open_writer, path, monkeypatch):
    open_writer()

    def broken(*_):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(database, "_connect", broken)
    monkeypatch.setattr(database, "LOG_INDEX_BYTES", 1 << 62)
    with pytest.raises(StorageFullError, match="the disk is full"):
        MemoryReader.open(path)
    monkeypatch.setattr(database, "LOG_INDEX_BYTES", 0)
    with pytest.raises(MemoryFileError, match=r"disk I/O error$"):
        MemoryReader.open(path)


def test_a_disk_that_turns_read_only_is_said_and_loses_nothing(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(i, 0, "cup") for i in range(3)])
    reader = open_reader()
    writer._store.connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageFullError, match=r"cannot write to .*what was acknowledged is safe"):
        remember(writer, [frame(3, 0, "cup")])
    assert not reader.refresh()
    assert next(reader.entities("proximity")).observation_count == 3
    writer._store.connection.execute("PRAGMA query_only = OFF")
    (last,) = remember(writer, [frame(4, 0, "cup")])
    assert reader.refresh().keyframe_ids == (last,)


def test_an_image_that_does_not_fit_leaves_no_keyframe_and_no_file(open_writer, open_reader, path, monkeypatch):
    writer = open_writer()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StorageFullError, match="disk is full"):
        writer.add_keyframe(frame(0, 0).capture(), b"\xff\xd8jpeg\xff\xd9")
    monkeypatch.undo()
    assert len(open_reader().frames()) == 0
    assert [f for f in path.with_suffix(".frames").rglob("*") if f.is_file()] == []
    assert writer.add_keyframe(frame(0, 0).capture(), b"\xff\xd8jpeg\xff\xd9").keyframe_id == 1


def test_images_that_a_crash_left_over_are_removed_at_the_next_start(open_writer, path):
    writer = open_writer()
    writer.add_keyframe(frame(0, 0).capture(), b"\xff\xd8kept\xff\xd9")
    writer.close()
    folder = path.with_suffix(".frames") / "000000"
    (folder / "000000002.jpg").write_bytes(b"never committed")
    (folder / "000000003.part").write_bytes(b"half")
    with open_writer(session=False) as again:
        assert again.image(1) == b"\xff\xd8kept\xff\xd9"
        assert sorted(f.name for f in folder.iterdir()) == ["000000001.jpg"]


def test_without_a_folder_for_images_there_is_an_image_when_asked_to_keep_none(path):
    with MemoryWriter.open(path, encoder=None, keep_images=False) as writer:
        writer.start_session(robot="r", map_id="m", frame_id="map")
        keyframe = writer.add_keyframe(frame(0, 0).capture(), b"jpeg")
        assert not keyframe.has_image
        assert writer.image(keyframe.keyframe_id) is None
        assert not path.with_suffix(".frames").exists()
