"""Asking as of a time equals asking a memory that ended then."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import ram_folder
from hypothesis import example, given, settings
from hypothesis import strategies as st
from remembered_drives import SECOND, Frame, WordEncoder, drives, frame, remember, told

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.history import summarise
from vlkng_ros.types import Detection, Perception, Pose, Sighting

VIEWS = ("proximity", "hybrid")


@contextmanager
def memory_of(frames: list[Frame]) -> Iterator[MemoryReader]:
    folder = ram_folder()
    try:
        associators = [ProximityAssociator(), HybridAssociator()]
        with MemoryWriter.open(folder / "memory.db", encoder=WordEncoder(), associators=associators) as writer:
            writer.start_session(robot="robot", map_id="house", frame_id="map")
            remember(writer, frames)
        with MemoryReader.open(folder / "memory.db") as reader:
            yield reader
    finally:
        shutil.rmtree(folder)


@settings(max_examples=25, deadline=None)
@given(drives(max_size=14), st.integers(-1, 14))
def test_the_past_is_the_memory_that_ended_then(frames, second):
    until = second * SECOND
    with memory_of(frames) as whole, memory_of([f for f in frames if f.stamp_ns <= until]) as ended:
        for view in VIEWS:
            assert told(whole, view, until) == told(ended, view)
            for radius in (0.5, 2.0, 20.0):
                near = [e.entity_id for e in whole.near(view, (2.0, 0.5, 0.0), radius, until)]
                assert near == [e.entity_id for e in ended.near(view, (2.0, 0.5, 0.0), radius)]
            then, now = whole.graph(view, until), ended.graph(view)
            assert list(then.nodes) == list(now.nodes)
            assert sorted(then.edges(keys=True)) == sorted(now.edges(keys=True))


@settings(max_examples=20, deadline=None)
@given(drives(max_size=12, in_order=False), st.integers(0, 12))
@example(
    [
        Frame(9 * SECOND, 0, 0, Perception("", (Detection("cup", attributes={"colour": "red"}),))),
        Frame(2 * SECOND, 0, 0, Perception("", (Detection("cup", attributes={"colour": "blue"}),))),
    ],
    5,
)
def test_no_entity_tells_of_the_future_where_frames_come_out_of_order(frames, second):
    until = second * SECOND
    with memory_of(frames) as whole:
        for view in VIEWS:
            for entity in whole.entities(view, until):
                seen = whole.sightings(view, entity.entity_id, as_of_ns=until)
                assert seen == [s for s in whole.sightings(view, entity.entity_id) if s.stamp_ns <= until]
                assert entity.observation_count == len(seen) == sum(entity.labels.values())
                assert (entity.first_seen_ns, entity.last_seen_ns) == (seen[0].stamp_ns, seen[-1].stamp_ns)
                known = [
                    o for s in seen for o in whole.observations(s.keyframe_id) if o.observation_id == s.observation_id
                ]
                values = {v for o in known for v in o.detection.attributes.items() if v[1]}
                assert set(entity.attributes.items()) <= values


def test_the_past_of_an_entity_with_a_long_history_comes_from_checkpoints(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(i, 0, "cup", "mug" if i % 3 else "chair") for i in range(200)])
    reader = open_reader()
    for second in (0, 15, 16, 17, 64, 100, 198, 199):
        entity = reader.entity("proximity", "cup_1", second * SECOND)
        assert (entity.observation_count, entity.last_seen_ns) == (second + 1, second * SECOND)
    replayed = [row[0] for row in reader._connection.execute("SELECT count FROM entity_checkpoint WHERE entity = 1")]
    assert replayed == list(range(16, 200, 16))


def test_what_is_near_can_be_asked_for_by_type_now_and_in_the_past(open_writer, open_reader):
    remember(open_writer(), [frame(i, 0, "cup", "chair" if i > 2 else "lamp") for i in range(6)])
    reader = open_reader()
    for as_of_ns, expected in ((None, {"cup_1", "chair_1"}), (2 * SECOND, {"cup_1"})):
        near = reader.near("proximity", (0.0, 0.0, 0.0), 5.0, as_of_ns, called=lambda type_: type_ != "lamp")
        assert {entity.entity_id for entity in near} == expected
        assert reader.near("proximity", (0.0, 0.0, 0.0), 5.0, as_of_ns, called=lambda type_: False) == []


def test_attributes_are_the_latest_that_say_something(open_writer, open_reader):
    writer = open_writer()
    told_ = [{"colour": "red", "state": "open"}, {"colour": "", "state": "shut"}, {"colour": "blue"}]
    remember(
        writer,
        [Frame(i * SECOND, 0, 0, Perception("", (Detection("door", attributes=a),))) for i, a in enumerate(told_)],
    )
    reader = open_reader()
    assert reader.entity("proximity", "door_1").attributes == {"colour": "blue", "state": "shut"}
    assert reader.entity("proximity", "door_1", SECOND).attributes == {"colour": "red", "state": "shut"}
    descriptions = [s.description for s in reader.sightings("proximity", "door_1")]
    assert descriptions == ["door (colour: red, state: open)", "door (state: shut)", "door (colour: blue)"]


def test_an_entity_does_not_exist_before_it_was_seen(open_writer, open_reader):
    remember(open_writer(), [frame(5, 0, "cup")])
    with pytest.raises(NotInMemoryError, match="had not been seen"):
        open_reader().entity("proximity", "cup_1", 4 * SECOND)


def test_sightings_can_be_limited_to_the_newest_of_a_window(open_writer, open_reader):
    remember(open_writer(), [frame(i, 0, "cup") for i in range(10)])
    reader = open_reader()
    window = reader.sightings("proximity", "cup_1", since_ns=2 * SECOND, as_of_ns=7 * SECOND, limit=3)
    assert [s.stamp_ns // SECOND for s in window] == [5, 6, 7]


@given(st.lists(st.sampled_from("abc"), max_size=60), st.integers(3, 12))
def test_a_summarised_history_keeps_the_first_the_last_and_the_count(descriptions, at_most):
    sightings = [Sighting(i, i, i, text) for i, text in enumerate(descriptions)]
    history = summarise(sightings, at_most)
    assert history.count == len(descriptions) == sum(e.count for e in history.entries)
    assert len(history.entries) <= at_most
    if descriptions:
        first, last = history.entries[0], history.entries[-1]
        assert (first.first_ns, first.description) == (0, descriptions[0])
        assert (last.last_ns, last.description) == (len(descriptions) - 1, descriptions[-1])
    times = [t for e in history.entries for t in (e.first_ns, e.last_ns)]
    assert times == sorted(times)


def test_a_history_up_to_the_limit_is_told_one_by_one(open_writer, open_reader):
    remember(open_writer(), [frame(i, 0, "cup") for i in range(101)])
    reader = open_reader()
    whole = reader.history("proximity", "cup_1", as_of_ns=99 * SECOND)
    assert [e.first_ns // SECOND for e in whole.entries] == list(range(100))
    assert len(reader.history("proximity", "cup_1").entries) == 100
    assert reader.history("proximity", "cup_1").count == 101


def test_corrected_poses_are_known_in_the_past_too(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(i, 0, "cup") for i in range(3)])
    writer.correct_poses({1: (Pose("map", (7.0, 0.0, 0.0)), None)})
    assert open_reader().entity("proximity", "cup_1", 0).position.mean_m == (7.0, 0.0, 0.0)
