"""Operations are transactions, revisions count them, files are private and durable."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from remembered_drives import SECOND, Frame, frame, remember

from vlkng_ros.errors import InvalidInputError, MemoryFileError, NotInMemoryError, PoseError
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.schema import SCHEMA_VERSION
from vlkng_ros.types import Capture, Detection, Perception, PerceptionState, Pose


def _pragma(writer: MemoryWriter, name: str) -> int | str:
    return writer._store.connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_commit_waits_for_the_disk(open_writer):
    writer = open_writer()
    assert _pragma(writer, "synchronous") == 2  # FULL
    assert _pragma(writer, "journal_mode") == "wal"
    assert _pragma(writer, "secure_delete") == 1


def test_the_file_says_whose_it_is(open_writer, path):
    open_writer()
    header = path.read_bytes()[:100]
    assert header[68:72] == b"VLKG"
    assert int.from_bytes(header[60:64], "big") == SCHEMA_VERSION


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_are_for_their_owner_alone_whatever_the_umask(path, umask):
    before = os.umask(umask)
    try:
        with MemoryWriter.open(path, encoder=None) as writer:
            writer.start_session(robot="r", map_id="m", frame_id="map")
            writer.add_keyframe(Capture(0, Pose("map", (0, 0, 0))), b"jpeg")
            modes = {item: stat.S_IMODE(item.stat().st_mode) for item in path.parent.rglob("*")}
    finally:
        os.umask(before)
    names = {item.name for item in modes}
    assert {"memory.db", "memory.db-wal", "memory.db-shm", "memory.db.lock", "memory.frames"} <= names
    assert all(mode == (0o700 if item.is_dir() else 0o600) for item, mode in modes.items())


def test_a_folder_that_is_made_for_a_memory_is_its_owners_alone(path):
    before = os.umask(0o000)
    try:
        MemoryWriter.open(path.parent / "new" / "memory.db", encoder=None).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((path.parent / "new").stat().st_mode) == 0o700


def test_every_operation_is_one_new_revision(open_writer):
    writer = open_writer()
    seen = [writer.revision]
    keyframe = writer.add_keyframe(frame(0, 0).capture())
    seen.append(writer.revision)
    writer.add_perception(keyframe.keyframe_id, Perception("A cup.", (Detection("cup"),)))
    seen.append(writer.revision)
    writer.associate(keyframe.keyframe_id)
    seen.append(writer.revision)
    writer.correct_poses({keyframe.keyframe_id: (Pose("map", (1, 0, 0)), None)})
    seen.append(writer.revision)
    writer.forget(label="cup")
    seen.append(writer.revision)
    assert seen == list(range(seen[0], seen[0] + 6))


def test_a_keyframe_comes_back_as_it_went_in(open_writer, open_reader):
    writer = open_writer()
    item = Frame(5 * SECOND, 1.25, -0.5, Perception("A hall.  Two\ncups. "), yaw_rad=0.7, jpeg=b"jpeg")
    added = writer.add_keyframe(item.capture(), item.jpeg)
    assert added.perception is PerceptionState.PENDING
    writer.add_perception(added.keyframe_id, item.perception)
    stored = open_reader().keyframe(added.keyframe_id)
    capture = item.capture()
    assert (stored.base_pose, stored.camera_pose) == (capture.base_pose, capture.camera_pose)
    assert (stored.stamp_ns, stored.camera, stored.intrinsics) == (5 * SECOND, "front", capture.intrinsics)
    assert (stored.robot, stored.map_id, stored.session_id) == ("robot", "house", 1)
    assert stored.caption == "A hall. Two cups."
    assert stored.perception is PerceptionState.DONE
    assert stored.has_image


def test_a_detection_comes_back_as_it_went_in(open_writer, open_reader):
    writer = open_writer()
    given = (
        Detection("cup", (1.0, 2.0, 3.0, 4.0), 0.1, "a red cup", {"colour": "red"}, local_id="cup_1", depth_m=2.5),
        Detection("Chair", (0.1, 0.2, 1 / 3, 700.7)),
        Detection("cup", None, None),
    )
    keyframe = writer.add_keyframe(frame(0, 0).capture())
    written = writer.add_perception(keyframe.keyframe_id, Perception("", given, backend="ssd", model="v2"))
    read = open_reader().observations(keyframe.keyframe_id)
    assert tuple(o.detection for o in read) == given
    assert tuple(read) == written
    assert [o.observation_id for o in read] == [1, 2, 3]
    assert {(o.backend, o.model) for o in read} == {("ssd", "v2")}


def test_a_pending_keyframe_is_listed_until_it_is_described_or_has_failed(open_writer, open_reader):
    writer = open_writer()
    first, second, third = (writer.add_keyframe(frame(i, 0).capture()).keyframe_id for i in range(3))
    assert [k.keyframe_id for k in writer.pending()] == [first, second, third]
    writer.add_perception(second, Perception())
    writer.mark_perception_failed(first, "the model died")
    assert [k.keyframe_id for k in writer.pending()] == [third]
    states = [k.perception for k in open_reader().keyframes([first, second, third])]
    assert states == [PerceptionState.FAILED, PerceptionState.DONE, PerceptionState.PENDING]
    writer.add_perception(first, Perception("Found later."))
    assert open_reader().keyframe(first).caption == "Found later."


def test_a_keyframe_is_described_once(open_writer):
    writer = open_writer()
    (number,) = remember(writer, [frame(0, 0, "cup")])
    with pytest.raises(InvalidInputError, match="described already"):
        writer.add_perception(number, Perception("Again."))
    with pytest.raises(InvalidInputError, match="described already"):
        writer.mark_perception_failed(number, "late")


@pytest.mark.parametrize("call", ["add_perception", "mark_perception_failed", "associate", "correct_poses"])
def test_an_unknown_keyframe_is_named(open_writer, call):
    writer = open_writer()
    argument = {
        "add_perception": (77, Perception()),
        "mark_perception_failed": (77, "x"),
        "associate": (77,),
        "correct_poses": ({77: (Pose("map", (0, 0, 0)), None)},),
    }[call]
    before = writer.revision
    with pytest.raises(NotInMemoryError, match="keyframe 77"):
        getattr(writer, call)(*argument)
    assert writer.revision == before


@pytest.mark.parametrize(
    ("perception", "problem"),
    [
        (Perception(detections=(Detection(" "),)), "label is empty"),
        (Perception(detections=(Detection("cup"), Detection("cup", (3, 0, 1, 2)))), r"detection 1 \('cup'\)"),
        (Perception(detections=(Detection("cup", (0, 0, float("nan"), 2)),)), "not finite"),
        (Perception(detections=(Detection("cup", score=float("inf")),)), "not finite"),
    ],
)
def test_a_perception_that_does_not_hold_together_leaves_the_memory_as_it_was(open_writer, perception, problem):
    writer = open_writer()
    keyframe = writer.add_keyframe(frame(0, 0).capture())
    before = writer.revision
    with pytest.raises(InvalidInputError, match=problem):
        writer.add_perception(keyframe.keyframe_id, perception)
    assert writer.revision == before
    assert [k.keyframe_id for k in writer.pending()] == [keyframe.keyframe_id]


def test_a_keyframe_needs_a_session_and_its_frame(path):
    with MemoryWriter.open(path, encoder=None) as writer:
        with pytest.raises(InvalidInputError, match="start_session"):
            writer.add_keyframe(Capture(0, Pose("map", (0, 0, 0))))
        writer.start_session(robot="r", map_id="m", frame_id="map")
        with pytest.raises(InvalidInputError, match="'odom'"):
            writer.add_keyframe(Capture(0, Pose("odom", (0, 0, 0))))
        with pytest.raises(PoseError):
            writer.add_keyframe(Capture(0, Pose("map", (float("nan"), 0, 0))))
        with pytest.raises(PoseError, match="no place on Earth"):
            writer.add_keyframe(Capture(0, Pose("map", (0, -1e308, 0))))
        assert len(MemoryReader.open(path).frames()) == 0


def test_a_start_without_a_map_id_is_a_map_of_its_own(open_writer, open_reader):
    writer = open_writer(session=False)
    for _ in range(2):
        writer.start_session(robot="r", map_id="", frame_id="map")
        remember(writer, [frame(0, 0, "cup")])
    reader = open_reader()
    one, two = reader.keyframes([1, 2])
    assert one.map_id != two.map_id
    assert [e.entity_id for e in reader.entities("proximity")] == ["cup_1", "cup_2"]


def test_a_closed_writer_says_so(open_writer):
    writer = open_writer()
    writer.close()
    writer.close()
    with pytest.raises(MemoryFileError, match="closed"):
        writer.pending()


def test_nothing_is_left_of_an_operation_that_failed_half_way(open_writer, open_reader, monkeypatch):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup")])
    keyframe = writer.add_keyframe(frame(1, 0).capture())
    writer.add_perception(keyframe.keyframe_id, Perception("A dog.", (Detection("dog"), Detection("cup"))))
    before = writer.revision
    monkeypatch.setattr("vlkng_ros.memory.associating.add_relations", _fail)
    with pytest.raises(RuntimeError):
        writer.associate(keyframe.keyframe_id)
    monkeypatch.undo()
    assert writer.revision == before
    assert [e.entity_id for e in open_reader().entities("proximity")] == ["cup_1"]
    assert [e.entity_id for e in writer.associate(keyframe.keyframe_id)] == ["dog_1", "cup_1"]
    assert open_reader().entity("proximity", "cup_1").observation_count == 2


def _fail(*_: object) -> int:
    raise RuntimeError("power cut")


def test_what_was_not_associated_is_associated_at_the_next_start(open_writer, open_reader):
    writer = open_writer()
    ids = [writer.add_keyframe(frame(i, 0).capture()).keyframe_id for i in range(3)]
    for number in (ids[1], ids[0]):
        writer.add_perception(number, Perception(detections=(Detection("cup"),)))
    writer.close()
    again = open_writer(session=False)
    assert [k.keyframe_id for k in again.pending()] == [ids[2]]
    assert open_reader().entity("proximity", "cup_1").observation_count == 2


def test_association_follows_the_order_of_description(open_writer, open_reader):
    writer = open_writer()
    ids = [writer.add_keyframe(frame(i, 20.0 * i).capture()).keyframe_id for i in range(2)]
    for number in reversed(ids):
        writer.add_perception(number, Perception(detections=(Detection("cup"),)))
    assert [e.entity_id for e in writer.associate(ids[0])] == ["cup_2"]
    reader = open_reader()
    assert (reader.entities_in("proximity", ids[1]), reader.entities_in("proximity", ids[0])) == (
        {1: "cup_1"},
        {2: "cup_2"},
    )


def test_a_pose_that_is_corrected_between_description_and_association_counts(open_writer, open_reader):
    writer = open_writer()
    number = writer.add_keyframe(frame(0, 20.0).capture()).keyframe_id
    writer.add_perception(number, Perception("A cup.", (Detection("cup"),)))
    writer.correct_poses({number: (Pose.planar("map", 5.0, 1.0), None)})
    writer.associate(number)
    assert open_reader().entity("proximity", "cup_1").position.mean_m == (5.0, 1.0, 0.0)


def test_what_is_forgotten_between_description_and_association_is_not_associated(open_writer, open_reader):
    writer = open_writer()
    number = writer.add_keyframe(frame(0, 20.0).capture()).keyframe_id
    writer.add_perception(number, Perception("A cup. A dog.", (Detection("cup"), Detection("dog"))))
    writer.forget(label="cup")
    assert [e.entity_id for e in writer.associate(number)] == ["dog_1"]
    assert [e.entity_id for e in open_reader().entities("proximity")] == ["dog_1"]


def test_associating_again_changes_nothing(open_writer):
    writer = open_writer()
    (number,) = remember(writer, [frame(0, 0, "cup")])
    before = writer.revision
    assert [e.entity_id for e in writer.associate(number)] == ["cup_1"]
    assert writer.revision == before


def test_a_keyframe_that_is_not_described_cannot_be_associated(open_writer):
    writer = open_writer()
    keyframe = writer.add_keyframe(frame(0, 0).capture())
    with pytest.raises(InvalidInputError, match="not described yet"):
        writer.associate(keyframe.keyframe_id)


def test_images_are_dropped_by_age_and_by_size_and_nothing_else_is(open_writer, open_reader, path):
    writer = open_writer()
    for second in range(10):
        item = frame(second, 0, "cup", caption="A cup.")
        keyframe = writer.add_keyframe(item.capture(), bytes(1000))
        writer.add_perception(keyframe.keyframe_id, item.perception)
        writer.associate(keyframe.keyframe_id)
    assert writer.drop_images(older_than_ns=2 * SECOND) == 2
    assert writer.drop_images(keep_bytes=5000) == 3
    assert writer.drop_images(older_than_ns=0, keep_bytes=10**9) == 0
    reader = open_reader()
    assert [k.has_image for k in reader.keyframes(range(1, 11))] == [False] * 5 + [True] * 5
    assert len(list(path.with_suffix(".frames").rglob("*.jpg"))) == 5
    assert [reader.image(n) is None for n in (5, 6)] == [True, False]
    assert reader.entity("proximity", "cup_1").observation_count == 10


def test_a_view_added_later_sees_everything(open_writer, open_reader):
    writer = open_writer(associators=())
    remember(writer, [frame(i, 0, "cup", "chair") for i in range(4)])
    writer.close()
    open_writer(session=False)
    reader = open_reader()
    assert reader.views() == ("proximity",)
    assert [(e.entity_id, e.observation_count) for e in reader.entities("proximity")] == [("cup_1", 4), ("chair_1", 4)]


def test_the_database_is_sound_after_all_that(open_writer, path: Path):
    writer = open_writer()
    remember(writer, [frame(i, i, "cup", "chair", caption="A cup.") for i in range(40)])
    writer.forget(label="chair", since_ns=20 * SECOND)
    writer.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
