"""Old observations are kept in summary only: entities stay what they were, and the file stays small."""

from __future__ import annotations

import errno
import math
import shutil
from pathlib import Path

import pytest
from conftest import ram_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from remembered_drives import SECOND, Frame, WordEncoder, drives, frame, remember, told, told_of

from vlkng_ros.answering.ask import MemoryQuery
from vlkng_ros.building import opening
from vlkng_ros.config import AssociationConfig, BuilderConfig, MemoryConfig, RetrievalConfig
from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory import MemoryReader, MemoryWriter, observation_retention
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.observation_retention import ObservationLimits
from vlkng_ros.retrieval.follower import IndexFollower
from vlkng_ros.types import AnswerStatus, Detection, EntityState, Perception, Pose, PositionSource, Question


def towards_a_chair(count: int) -> list[Frame]:
    """A drive past a chair that stands at (4, 0), which every frame shows."""
    found = []
    for i in range(count):
        y = -1.0 + 2.0 * i / count
        u = 320.0 + 525.0 * y / (4.0 - 0.1)
        chair = Detection("chair", (u - 40, 200.0, u + 40, 280.0), 0.9, f"chair number {i}", {"colour": "red"})
        found.append(Frame(i * SECOND, 0.0, y, Perception(f"Sentence {i} tells of a chair.", (chair,))))
    return found


def open_writer(path: Path, **options: object) -> MemoryWriter:
    writer = MemoryWriter.open(path, encoder=WordEncoder(), associators=[HybridAssociator()], **options)
    writer.start_session(robot="robot", map_id="house", frame_id="map")
    return writer


def test_an_entity_stays_what_it_was_and_keeps_its_first_and_last_sighting(path):
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        remember(writer, [*towards_a_chair(60), frame(70, 20.0, "cup")])
        before, size = told_of(reader.entity("hybrid", "chair_1")), reader.stats()
        assert writer.summarise(older_than_ns=60 * SECOND) == 60
        assert told_of(reader.entity("hybrid", "chair_1")) == before
        assert [s.keyframe_id for s in reader.sightings("hybrid", "chair_1")] == [1, 60]
        assert reader.history("hybrid", "chair_1").count == 60
        assert reader.stats().observations == 3
        assert reader.stats().texts == size.texts - 2 * 58
        assert [reader.keyframe(n).caption != "" for n in (1, 2, 59, 60)] == [True, False, False, True]
        assert writer.summarise(older_than_ns=60 * SECOND) == 0


def test_before_what_is_kept_it_is_known_when_it_was_seen_and_from_where(path):
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        remember(writer, towards_a_chair(60))
        writer.summarise(older_than_ns=50 * SECOND)
        then = reader.entity("hybrid", "chair_1", 20 * SECOND)
        assert (then.observation_count, then.last_keyframe_id, then.last_seen_ns) == (21, 21, 20 * SECOND)
        assert then.position.source is PositionSource.ROBOT
        assert then.position.mean_m == pytest.approx((0.0, -1.0 + 2.0 * 20 / 60, 0.0))
        reader.refresh()
        assert [e.entity_id for e in reader.near("hybrid", (0.0, -0.33, 0.0), 0.1, 20 * SECOND)] == ["chair_1"]
        assert reader.history("hybrid", "chair_1", as_of_ns=20 * SECOND).count == 21
        # From the cut on everything is as fine as ever.
        assert reader.entity("hybrid", "chair_1", 55 * SECOND).position.source is PositionSource.TRIANGULATED


@given(st.data(), drives(max_size=10, in_order=False))
@settings(max_examples=25, deadline=None)
def test_what_happens_later_changes_the_same_with_and_without_the_old_observations(data, frames):
    cut = data.draw(st.integers(0, len(frames)))
    moved = data.draw(st.lists(st.integers(cut + 1, len(frames)), unique=True)) if cut < len(frames) else []
    lost = data.draw(st.integers(0, 12))
    said = []
    for summed in (True, False):
        path = ram_folder() / "memory.db"
        with MemoryWriter.open(path, encoder=None, associators=[ProximityAssociator(), HybridAssociator()]) as writer:
            writer.start_session(robot="robot", map_id="house", frame_id="map")
            remember(writer, frames[:cut])
            if summed:
                writer.summarise(keep=0)
            remember(writer, frames[cut:])
            writer.correct_poses({n: (Pose.planar("map", n / 3, 1.0), None) for n in moved})
            if all(frames[n].stamp_ns != lost * SECOND for n in range(cut)):
                writer.forget(since_ns=lost * SECOND, until_ns=lost * SECOND)
            with MemoryReader.open(path) as reader:
                said.append([(n, t.entity, t.relations) for v in reader.views() for n, t in told(reader, v).items()])
        shutil.rmtree(path.parent)
    assert said[0] == said[1]


def test_a_map_that_turns_takes_places_with_it_that_nothing_is_left_of_but_a_summary(path):
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        frames = towards_a_chair(60)
        ids = remember(writer, frames)
        writer.summarise(keep=0)
        turn = Pose.planar("map", 3.0, -2.0, 0.7)
        before = reader.entity("hybrid", "chair_1").position
        for _ in range(2):
            poses = {}
            for number, keyframe in zip(ids, reader.keyframes(ids), strict=True):
                base, camera = (turn.compose(p) for p in (keyframe.base_pose, keyframe.camera_pose))
                poses[number] = (base, camera)
            writer.correct_poses(poses)
            after = reader.entity("hybrid", "chair_1").position
            assert after.mean_m == pytest.approx(turn.compose(Pose("map", before.mean_m)).position_m, abs=1e-6)
            rotation = turn.rotation()
            assert after.covariance_m2 == pytest.approx(rotation @ before.covariance_m2 @ rotation.T, abs=1e-9)
            before = after
        seen_at = reader.keyframe(11).base_pose.position_m
        reader.refresh()
        assert [e.entity_id for e in reader.near("hybrid", seen_at, 0.1, 10 * SECOND)] == ["chair_1"]


def test_what_is_forgotten_leaves_its_summary_and_the_file(path):
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        ids = remember(writer, [*towards_a_chair(40), *(frame(50 + i, 20.0, "zebra") for i in range(8))])
        writer.summarise(keep=0)
        assert writer.forget(label="zebras").entities == {"hybrid": 1}
        with pytest.raises(NotInMemoryError):
            reader.entity("hybrid", "zebra_1")
        writer.forget(since_ns=20 * SECOND, until_ns=20 * SECOND)
        chair = reader.entity("hybrid", "chair_1")
        assert (chair.observation_count, chair.first_keyframe_id, chair.last_keyframe_id) == (2, ids[0], ids[39])
        assert reader.history("hybrid", "chair_1").count == 2
    everything = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())
    assert b"zebra" not in everything
    assert b"chair number 0" in everything
    assert b"chair number 7" not in everything


def test_a_view_made_later_takes_no_summed_up_keyframe_for_one_that_shows_nothing(path):
    with open_writer(path) as writer:
        remember(writer, towards_a_chair(40))
        writer.summarise(keep=0)
    associators = [HybridAssociator(), ProximityAssociator()]
    with (
        MemoryWriter.open(path, encoder=WordEncoder(), associators=associators) as writer,
        MemoryReader.open(path) as reader,
    ):
        chair = reader.entity("proximity", "chair_1")
        assert (chair.observation_count, chair.state) == (2, EntityState.PRESENT)
        writer.summarise(keep=0)
        assert reader.entity("hybrid", "chair_1").observation_count == 40


def test_a_question_still_finds_what_was_last_seen_before(path):
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        remember(writer, [*(frame(i, 0.0, "chair", "lamp") for i in range(30)), frame(40, 9.0, "cup")])
        follower = IndexFollower(reader, 64)
        writer.summarise(older_than_ns=35 * SECOND)
        follower.refresh()
        fresh = IndexFollower(reader, 64)
        for index in (follower.index, fresh.index):
            slots, _ = index.bm25(["lamp"], index.cut())
            assert [index.texts[slot] for slot in slots] == ["lamp"]
            frames, _ = index.mentions_of(slots, index.cut(), 10)
            assert index.keyframe_ids[frames].tolist() == [1, 30]
        query = MemoryQuery(reader, WordEncoder(), RetrievalConfig())
        answer = query.ask(Question("where is the lamp?"))
        assert (answer.status, answer.message) == (AnswerStatus.OK, "")
        assert answer.keyframes[0].keyframe.keyframe_id in (1, 30)
        then = query.ask(Question("where is the lamp?", as_of_ns=20 * SECOND))
        assert then.keyframes[0].keyframe.stamp_ns <= 20 * SECOND
        assert then.message == "Of what was seen up to 1970-01-01 00:00:29 UTC only a summary is kept."


def test_a_long_drive_stays_within_its_limit_and_its_file_small(path, monkeypatch):
    monkeypatch.setattr(observation_retention, "EVERY", 16)
    sizes, kept, steps = [], [], [0]

    def count_step() -> None:
        steps[-1] += 1

    with open_writer(path, observation_limits=ObservationLimits(count=60)) as writer:
        writer._store.connection.set_progress_handler(count_step, 100)
        for lap in range(4):
            for i in range(100):
                second = lap * 100 + i
                labels = [f"thing {i % 5} {k}" for k in range(6)]
                caption = f"On lap {lap} frame {i} shows six things of which nobody will hear again soon."
                remember(writer, [frame(second, float(i % 5) * 20, *labels, caption=caption)])
            with MemoryReader.open(path) as reader:
                kept.append(reader.stats().observations)
                sizes.append(_pages_in_use(path))
                entities = list(reader.entities("hybrid"))
                assert sum(e.observation_count for e in entities) == (lap + 1) * 600
            steps.append(0)
    assert max(kept) <= 60 + 2 * len(entities) + 32 * 6 + 16 * 6
    with open_writer(path.with_name("whole.db")) as writer:
        for i in range(100):
            labels = [f"thing {i % 5} {k}" for k in range(6)]
            caption = f"On lap 0 frame {i} shows six things of which nobody will hear again soon."
            remember(writer, [frame(i, float(i % 5) * 20, *labels, caption=caption)])
    # Of each further lap stay the path, and when what was seen; and a keyframe costs the database what it did before.
    assert steps[3] < 1.15 * steps[1]
    assert sizes[3] - sizes[2] < 100 * (250 + 20 * 6)
    assert math.isclose(sizes[3] - sizes[2], sizes[2] - sizes[1], rel_tol=0.5)
    assert sizes[3] - sizes[2] < 0.4 * _pages_in_use(path.with_name("whole.db"))


def _pages_in_use(path: Path) -> int:
    with MemoryReader.open(path) as reader:
        execute = reader._connection.execute
        pages, free, size = (
            execute(f"PRAGMA {n}").fetchone()[0] for n in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def test_a_disk_that_is_full_meanwhile_loses_nothing_and_is_tried_again(path, monkeypatch, caplog):
    monkeypatch.setattr(observation_retention, "EVERY", 4)
    frames = [frame(i, 0.0, "lamp") for i in range(12)]
    with open_writer(path, observation_limits=ObservationLimits(count=1)) as writer, MemoryReader.open(path) as reader:
        remember(writer, frames[:3])

        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("vlkng_ros.memory.bases.BaseRows.save", refuse)
            remember(writer, frames[3:6])
        assert "could not be summed up yet" in caplog.text
        assert reader.stats().observations == len(reader.sightings("hybrid", "lamp_1")) == 6
        remember(writer, frames[6:])
        assert reader.stats().observations < 6
        assert reader.entity("hybrid", "lamp_1").observation_count == 12


def test_strings_are_swept_the_more_rarely_the_more_there_is_to_look_at(path, monkeypatch):
    monkeypatch.setattr(observation_retention, "EVERY", 4)
    monkeypatch.setattr(observation_retention, "SWEPT", 2)
    sweeps = []
    sweep = observation_retention.ObservationRetention._sweep
    monkeypatch.setattr(
        observation_retention.ObservationRetention, "_sweep", lambda self: (sweeps.append(1), sweep(self))
    )
    with open_writer(path, observation_limits=ObservationLimits(count=32)) as writer:
        remember(writer, [frame(i, 0.0, "lamp", caption=f"Room {i}.") for i in range(32 + 64)])
        # 64 are gone, 4 at a time: it is swept each time that 20 are, more than a half of 32 and those that came.
        assert len(sweeps) == 3
    with open_writer(path, observation_limits=ObservationLimits(count=32)) as writer:
        remember(writer, [frame(96 + i, 0.0, "lamp", caption=f"Room {96 + i}.") for i in range(4)])
        assert len(sweeps) == 4  # what an earlier process left is not known
    with MemoryReader.open(path) as reader:
        rooms = [text.text for text in reader.texts() if text.text.startswith("Room ")]
        assert len(rooms) <= 32 + 4
        assert rooms[-1] == "Room 99."


def test_the_limits_are_parameters_of_the_builder(path, monkeypatch):
    monkeypatch.setattr(observation_retention, "EVERY", 8)
    memory = MemoryConfig(path=str(path), keep_observations_days=10 / 86_400)
    config = BuilderConfig(memory=memory, association=AssociationConfig(text_encoder="none"))
    with opening.open_writer(config) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        remember(writer, [frame(i, 0.0, "lamp") for i in range(40)])
    with MemoryReader.open(path) as reader:
        (view,) = reader.views()
        assert reader.entity(view, "lamp_1").observation_count == 40
        assert [s.keyframe_id for s in reader.sightings(view, "lamp_1")] == [1, *range(29, 41)]


def test_a_limit_below_zero_is_refused():
    with pytest.raises(InvalidInputError, match="count is -1"):
        ObservationLimits(count=-1)
