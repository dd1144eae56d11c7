"""What opening a memory says about a file that is missing, foreign, newer, damaged, locked or out of reach."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import stat
from pathlib import Path

import process_without_rights
import pytest
import writing_process
from killed_writers import PROCESSES
from remembered_drives import SECOND, frame, remember

from vlkng_ros.errors import (
    MemoryDamagedError,
    MemoryFileError,
    MemoryLockedError,
    MemoryNotFoundError,
    NotAMemoryError,
    NotInMemoryError,
    SchemaVersionError,
)
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import Pose

OPENERS = [MemoryReader.open, lambda path: MemoryWriter.open(path, encoder=None)]
both = pytest.mark.parametrize("opener", OPENERS, ids=["reader", "writer"])


def test_a_reader_of_nothing_says_how_to_get_something(path):
    with pytest.raises(MemoryNotFoundError, match=r"memory\.db: no memory here; a builder makes one"):
        MemoryReader.open(path)
    assert list(path.parent.iterdir()) == []


def test_an_empty_file_is_no_memory_to_a_reader_and_a_place_for_one_to_a_writer(path):
    path.touch()
    with pytest.raises(MemoryNotFoundError, match="empty file"):
        MemoryReader.open(path)
    MemoryWriter.open(path, encoder=None).close()
    MemoryReader.open(path).close()


def test_folders_are_made_for_a_new_memory(path):
    deep = path.parent / "a" / "b" / "memory.db"
    MemoryWriter.open(deep, encoder=None).close()
    with MemoryReader.open(deep) as reader:
        assert len(reader.frames()) == 0


@pytest.mark.parametrize("place", ["/proc/nowhere/m.db", "/dev/null/m.db", "/tmp/" + "a" * 300, "~nobody_here/m.db"])
def test_where_no_file_can_be_a_writer_says_what_to_name_instead(place):
    with pytest.raises(MemoryFileError, match=r"name another file: memory\.path, or --memory") as refused:
        MemoryWriter.open(place, encoder=None)
    assert str(refused.value).startswith(f"{place}: ")
    assert "Errno" not in str(refused.value)


@both
def test_a_path_that_is_empty_is_said_to_be(opener):
    with pytest.raises(MemoryFileError, match=r"memory\.path is empty; name the database file"):
        opener("")


@both
def test_a_folder_is_not_a_memory(opener, path):
    with pytest.raises(NotAMemoryError, match="is a folder"):
        opener(path.parent)


@both
def test_a_file_that_is_something_else_is_left_as_it_is(opener, path):
    path.write_text("my diary, day one. " * 20)
    with pytest.raises(NotAMemoryError, match="not a memory of vlkng_ros; it is left as it is"):
        opener(path)
    assert path.read_text() == "my diary, day one. " * 20
    assert list(path.parent.iterdir()) == [path]


@both
def test_somebody_elses_database_is_left_as_it_is(opener, path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE contacts (name)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotAMemoryError, match="not a memory"):
        opener(path)
    assert path.read_bytes() == before


@both
def test_a_newer_schema_is_refused(opener, path):
    MemoryWriter.open(path, encoder=None).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(SchemaVersionError, match=r"schema 99.*update vlkng_ros"):
        opener(path)


def test_what_is_left_of_a_memory_that_was_taken_away_is_set_aside(open_writer, path, caplog):
    writer = open_writer()
    writer.add_keyframe(frame(0, 0).capture(), b"old image")
    copy = path.with_name("elsewhere.db")
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    writer.close()
    path.unlink()
    shutil.move(f"{copy}-wal", f"{path}-wal")
    with open_writer() as again:
        again.add_keyframe(frame(5, 0).capture(), b"new image")
        assert again.image(1) == b"new image"
    with MemoryReader.open(path) as reader:
        assert reader.frames().stamps_ns.tolist() == [5 * SECOND]
    assert "belonged to a memory that is no longer there" in caplog.text
    orphans = path.with_name("memory.frames.orphan1")
    assert [f.read_bytes() for f in orphans.rglob("*.jpg")] == [b"old image"]


def test_of_memories_taken_away_again_and_again_one_log_stays_and_nothing_empty(open_writer, path):
    beside = [path.with_name(f"{path.name}-{suffix}") for suffix in ("wal", "shm")]
    for content in (b"", b"first", b"second", b""):
        path.unlink(missing_ok=True)
        beside[0].write_bytes(content)
        beside[1].write_bytes(bytes(32_768))
        path.with_name("memory.frames").joinpath("000").mkdir(parents=True, exist_ok=True)
        open_writer(session=False).close()
    left = {file.name for file in path.parent.iterdir() if file != path and not file.name.endswith(".lock")}
    assert left == {"memory.db-wal.orphan1"}
    assert path.with_name("memory.db-wal.orphan1").read_bytes() == b"second"


def filled(open_writer) -> Path:
    writer = open_writer()
    frames = [frame(i, i, "cup", "chair", f"thing {i}", caption=f"Sentence number {i}.") for i in range(200)]
    remember(writer, frames)
    writer.close()
    return writer.path


def test_a_corrupt_page_is_reported_with_what_can_be_salvaged(open_writer):
    path = filled(open_writer)
    data = bytearray(path.read_bytes())
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'observation'").fetchone()
    connection.close()
    start = (root - 1) * 4096
    data[start : start + 4096] = b"\xee" * 4096
    path.write_bytes(data)
    with MemoryReader.open(path) as reader:
        with pytest.raises(MemoryDamagedError, match=r"200 keyframes and 0 observations can be read.*vlkng salvage"):
            reader.observations(5)
        assert reader.keyframe(5).caption == "Sentence number 4."
    assert path.read_bytes() == bytes(data)


def read_all(path: Path) -> None:
    with MemoryReader.open(path) as reader:
        for keyframe in reader.keyframes(reader.frames().ids.tolist()):
            reader.observations(keyframe.keyframe_id)
        for entity in reader.entities("proximity", 100 * SECOND):
            reader.near("proximity", entity.position.mean_m, 1.0)
        list(reader.texts())
        reader.graph("proximity")


def write_on(path: Path) -> None:
    with MemoryWriter.open(path, encoder=None, associators=[ProximityAssociator()]) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        remember(writer, [frame(1000 + i, i * 5, "cup", "chair", "dog", caption="On and on.") for i in range(5)])
        writer.correct_poses({3: (Pose.planar("map", 1.0, 1.0), None)})
        writer.forget(label="thing 3")


@pytest.mark.parametrize("use", [read_all, write_on])
def test_whatever_page_is_damaged_it_is_said_to_be_damage(open_writer, use):
    path = filled(open_writer)
    whole, rng = path.read_bytes(), random.Random(8)
    unlike: list[str] = []
    for _ in range(20):
        data, page = bytearray(whole), rng.randrange(1, len(whole) // 4096) * 4096
        if rng.random() < 0.5:
            data[page : page + 4096] = rng.randbytes(4096)
        else:
            for _ in range(30):
                data[page + rng.randrange(4096)] ^= 1 << rng.randrange(8)
        copy = path.with_name(f"{rng.randrange(2**40)}.db")
        copy.write_bytes(data)
        try:
            use(copy)
        except NotInMemoryError:
            pass  # A name that reads differently now.
        except MemoryDamagedError as error:
            unlike.append(str(error).replace(str(copy), "FILE"))
    assert len(unlike) > 5
    assert [text for text in unlike if "`vlkng salvage FILE --memory NEW.db`" not in text] == []


def test_a_table_whose_name_is_no_text_any_more_is_damaged(open_writer):
    path = filled(open_writer)
    data = path.read_bytes().replace(b"CREATE TABLE keyframe (", b"CREATE TABLE keyframe\x8b(")
    path.write_bytes(data)
    for opener in OPENERS:
        with pytest.raises(MemoryDamagedError, match=r"damaged.*vlkng salvage"):
            opener(path)
    assert path.read_bytes() == data


def test_a_row_that_no_writer_wrote_is_damage_to_a_reader(open_writer):
    path = filled(open_writer)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entity SET x = CAST(x'8b2e' AS BLOB)")
    connection.commit()
    connection.close()
    with pytest.raises(MemoryDamagedError, match=r"a row holds what no row can.*vlkng salvage"):
        MemoryReader.open(path)


def test_a_file_that_lost_its_end_is_damaged(open_writer):
    path = filled(open_writer)
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)
    for opener in OPENERS:
        with pytest.raises(MemoryDamagedError, match=r"bytes of \d+ are there; .*vlkng salvage"):
            opener(path)


def test_a_second_writer_is_told_who_writes(open_writer, path):
    writer = open_writer()
    with pytest.raises(MemoryLockedError, match=rf"process {os.getpid()} on .* is writing to this memory; stop it"):
        MemoryWriter.open(path, encoder=None)
    writer.close()
    MemoryWriter.open(path, encoder=None).close()


def test_a_second_process_is_refused_while_the_first_lives_and_not_after(path):
    receive, send = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=writing_process.write, args=(str(path), 1, send))
    process.start()
    send.close()
    receive.recv()
    with pytest.raises(MemoryLockedError, match=f"process {process.pid} "):
        MemoryWriter.open(path, encoder=None)
    process.kill()
    process.join()
    receive.close()
    with MemoryWriter.open(path, encoder=None) as writer:
        assert writer.revision > 1


def test_a_forked_child_that_outlives_the_writer_does_not_hold_its_lock(path):
    wait, release = os.pipe()
    hear, say = os.pipe()
    holder = os.fork()
    if holder == 0:  # a process that opens the memory, forks a child that waits, and dies
        MemoryWriter.open(path, encoder=None)
        if os.fork() == 0:
            os.close(release)
            os.write(say, b"alive")
            os.read(wait, 1)
        os._exit(0)
    os.waitpid(holder, 0)
    assert os.read(hear, 5) == b"alive"
    MemoryWriter.open(path, encoder=None).close()
    for fd in (release, wait, hear, say):
        os.close(fd)


def test_a_failed_opening_leaves_no_lock_behind(path):
    path.write_bytes(b"x" * 200)
    for _ in range(2):
        with pytest.raises(NotAMemoryError):
            MemoryWriter.open(path, encoder=None)


def as_somebody_without_rights(path: Path) -> list[str]:
    """What a process says that may read the folder and not write to it."""
    for item in path.parent.rglob("*"):
        item.chmod(0o755 if item.is_dir() else 0o644)
    path.parent.chmod(0o555)
    receive, send = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=process_without_rights.open_both_ways, args=(str(path), send))
    try:
        process.start()
        send.close()
        return list(receive.recv())
    finally:
        process.join()
        receive.close()
        path.parent.chmod(0o755)


def test_a_memory_on_a_read_only_medium_can_be_read_and_says_why_it_cannot_be_written(open_writer):
    path = filled(open_writer)
    before = {item: item.read_bytes() for item in path.parent.iterdir() if item.is_file()}
    read, refused = as_somebody_without_rights(path)
    assert read == "read 200 200"
    assert refused.startswith("StorageFullError")
    assert f"cannot write to {path.parent}" in refused
    assert {item: item.read_bytes() for item in path.parent.iterdir() if item.is_file()} == before


def test_on_a_read_only_medium_a_log_with_operations_is_not_passed_over(open_writer, path):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup")])
    copy = path.with_name("copy.db")
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    said, _ = as_somebody_without_rights(copy)
    assert said.startswith("MemoryFileError")
    assert "holds operations that are not in the database yet" in said


def test_a_reader_without_write_permission_follows_a_live_writer(open_writer, path):
    remember(open_writer(), [frame(0, 0, "cup"), frame(1, 0, "cup")])
    assert as_somebody_without_rights(path)[0] == "read 2 2"


def test_a_memory_of_another_user_is_said_to_be_unreadable(open_writer, path):
    open_writer().close()
    receive, send = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=process_without_rights.open_both_ways, args=(str(path), send))
    path.parent.chmod(0o755)
    path.chmod(0o000)
    process.start()
    send.close()
    read, written = receive.recv()
    process.join()
    receive.close()
    assert read.startswith(f"MemoryFileError {path}: cannot be read (Permission denied)")
    assert written == read


def test_a_closed_reader_says_so(open_writer, open_reader):
    open_writer()
    reader = open_reader()
    reader.close()
    with pytest.raises(MemoryFileError, match="closed"):
        reader.refresh()


def test_two_memories_in_one_folder_keep_their_images_apart(path):
    for name in ("memory.db", "memory.sqlite"):
        with MemoryWriter.open(path.with_name(name), encoder=None) as writer:
            writer.start_session(robot="r", map_id="m", frame_id="map")
            writer.add_keyframe(frame(0, 0).capture(), name.encode())
            assert writer.image(1) == name.encode()
    folders = sorted(item.name for item in path.parent.iterdir() if item.is_dir())
    assert folders == ["memory.frames", "memory.sqlite.frames"]
    assert all(stat.S_IMODE((path.parent / name).stat().st_mode) == 0o700 for name in folders)
