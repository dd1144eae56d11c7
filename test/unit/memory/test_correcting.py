"""After a loop closure every place is where the better poses put it."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
from conftest import ram_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from remembered_drives import MOUNT, SECOND, Frame, drives, frame, remember, told

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.memory import MemoryReader, MemoryWriter, relocating
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.refolding import Refolder
from vlkng_ros.types import Detection, Perception, Pose, PositionSource


def seen_from(x: float, y: float, at: tuple[float, float, float]) -> Detection | None:
    """The box of a thing 0.4 m tall, seen by a robot that looks along x."""
    camera = Pose.planar("map", x, y).compose(MOUNT)
    away = camera.rotation().T @ (np.array(at) - camera.position_m)
    if away[2] < 0.5:
        return None
    u, v, half = 320 + 525 * away[0] / away[2], 240 + 525 * away[1] / away[2], 525 * 0.2 / away[2]
    if not half < u < 640 - half:
        return None
    return Detection("lamp", (u - half, v - half, u + half, v + half))


def passing_by(at: tuple[float, float, float]) -> list[Frame]:
    frames = []
    for i in range(12):
        detection = seen_from(0.0, i * 0.25, at)
        found = () if detection is None else (detection,)
        frames.append(Frame(i * SECOND, 0.0, i * 0.25, Perception("", found)))
    return frames


def test_a_place_is_triangulated_and_follows_its_keyframes(open_writer, open_reader):
    at = (4.0, 1.5, 0.8)
    writer = open_writer(associators=(HybridAssociator(),))
    frames = passing_by(at)
    ids = remember(writer, frames)
    before = open_reader().entity("hybrid", "lamp_1").position
    assert before.source is PositionSource.TRIANGULATED
    assert math.dist(before.mean_m, at) < 0.1
    shift = Pose.planar("map", 10.0, -2.0, math.pi / 2)
    corrections = {}
    for number, item in zip(ids, frames, strict=True):
        base = shift.compose(item.capture().base_pose)
        corrections[number] = (base, base.compose(MOUNT))
    assert writer.correct_poses(corrections) == 12
    reader = open_reader()
    after = reader.entity("hybrid", "lamp_1").position
    expected = shift.compose(Pose("map", before.mean_m)).position_m
    assert math.dist(after.mean_m, expected) < 1e-6
    assert [e.entity_id for e in reader.near("hybrid", expected, 0.2)] == ["lamp_1"]
    assert reader.near("hybrid", before.mean_m, 0.5) == []


def test_the_writer_associates_by_the_corrected_places(open_writer, open_reader):
    writer = open_writer()
    (number,) = remember(writer, [frame(0, 0, "cup")])
    writer.correct_poses({number: (Pose.planar("map", 100.0, 0.0), None)})
    remember(writer, [frame(1, 100, "cup"), frame(2, 0, "cup")])
    counts = {e.entity_id: e.observation_count for e in open_reader().entities("proximity")}
    assert counts == {"cup_1": 2, "cup_2": 1}


def test_the_writer_looks_for_things_where_a_fresh_one_would(open_writer):
    writer = open_writer(associators=(HybridAssociator(), ProximityAssociator()))
    ids = remember(writer, [frame(i, 10 * i, "cup", "lamp") for i in range(6)])
    writer.correct_poses({number: (Pose.planar("map", 0.5 * number, 7.0), None) for number in ids[:3]})
    live = [view for _, view in writer._views._live]

    def found():
        return [[(e.entity_id, e.position_m) for e in view.near((1.0, 7.0, 0.0), 5.0, "house")] for view in live]

    kept = found()
    assert [len(near) for near in kept] == [6, 6]
    writer._views.load()
    assert found() == kept


def test_a_reader_follows_a_correction(open_writer, open_reader):
    writer = open_writer()
    ids = remember(writer, [frame(i, i, "cup") for i in range(3)])
    reader = open_reader()
    table = reader.frames()
    writer.correct_poses({ids[0]: (Pose.planar("map", 5.0, 5.0), None)})
    changes = reader.refresh()
    assert changes.keyframe_ids == (ids[0],)
    assert changes.entities == {"proximity": ("cup_1",)}
    assert reader.frames().position_m[0].tolist() == [5.0, 5.0, 0.0]
    assert table.position_m[0].tolist() == [0.0, 0.0, 0.0], "a table that was handed out stays as it is"
    assert reader.keyframe(ids[0]).base_pose == Pose.planar("map", 5.0, 5.0)


def test_a_correction_in_another_frame_is_refused_whole(open_writer, open_reader):
    writer = open_writer()
    ids = remember(writer, [frame(i, i, "cup") for i in range(2)])
    poses = {ids[0]: (Pose.planar("map", 9.0, 9.0), None), ids[1]: (Pose.planar("odom", 9.0, 9.0), None)}
    with pytest.raises(InvalidInputError, match=r"keyframe 2 is in frame 'map', its correction in 'odom'"):
        writer.correct_poses(poses)
    assert open_reader().keyframe(ids[0]).base_pose == Pose.planar("map", 0.0, 0.0)


@settings(max_examples=25, deadline=None)
@given(drives(max_size=12), st.lists(st.tuples(st.integers(1, 12), st.integers(0, 8)), min_size=1, max_size=6))
def test_what_a_correction_derives_is_what_a_whole_derivation_gives(frames, moves):
    folder = ram_folder()
    try:
        associators = [ProximityAssociator(), HybridAssociator()]
        with MemoryWriter.open(folder / "memory.db", encoder=None, associators=associators) as writer:
            writer.start_session(robot="robot", map_id="house", frame_id="map")
            # The same frames again and again, so that there are checkpoints and absences.
            ids = remember(writer, frames * 6)
            shift = {number: Pose.planar("map", x / 2, 0.3, 0.05 * x) for number, x in moves if number in ids}
            writer.correct_poses({number: (base, base.compose(MOUNT)) for number, base in shift.items()})
            with MemoryReader.open(folder / "memory.db") as reader:
                corrected = [told(reader, view, at) for view in reader.views() for at in (None, 3 * SECOND)]
                store = writer._store
                with store.operation() as head:
                    keys = [row[0] for row in store.connection.execute("SELECT id FROM entity ORDER BY id")]
                    refolder = Refolder(store.connection, store.catalogs, store.keyframes, head.revision)
                    assert refolder.refold(keys) == []
                whole = [told(reader, view, at) for view in reader.views() for at in (None, 3 * SECOND)]
        assert corrected == whole
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("broken", [False, True])
def test_many_places_are_derived_in_several_processes_or_here_where_those_cannot_be_had(
    open_writer, open_reader, monkeypatch, caplog, broken
):
    writer = open_writer(associators=(HybridAssociator(), ProximityAssociator()))
    at = [(4.0, 1.5, 0.8), (5.0, 0.5, 0.4)]
    frames = [f for f in passing_by(at[0]) for _ in range(4)] + passing_by(at[1])
    ids = remember(writer, frames)
    shift = Pose.planar("map", 10.0, -2.0, 1.0)
    moved = {n: shift.compose(f.capture().base_pose) for n, f in zip(ids, frames, strict=True)}
    corrections = {n: (base, base.compose(MOUNT)) for n, base in moved.items()}
    writer.correct_poses(corrections)
    here = [told(open_reader(), view) for view in ("hybrid", "proximity")]
    monkeypatch.setattr(relocating, "PROCESSES_FROM", 1)
    monkeypatch.setattr(relocating, "BATCH", 10)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    if broken:
        monkeypatch.setattr(relocating, "ProcessPoolExecutor", no_processes)
    writer.correct_poses(corrections)
    assert [told(open_reader(), view) for view in ("hybrid", "proximity")] == here
    assert ("cannot be used (no room); going on in this one" in caplog.text) is broken


def no_processes(*_: object) -> None:
    raise OSError("no room")


def test_correcting_nothing_is_no_operation(open_writer):
    writer = open_writer()
    before = writer.revision
    assert writer.correct_poses({}) == 0
    assert writer.revision == before
