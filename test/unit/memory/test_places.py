"""Places along the path: founded as the robot comes to them, and the same whether or not it drove on."""

from __future__ import annotations

import shutil

from conftest import ram_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from remembered_drives import SECOND, Frame, drives, frame, remember

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.types import Detection, EntityKind, Perception, Pose


def visited(reader: MemoryReader, as_of_ns: int | None = None) -> list[tuple[object, ...]]:
    """Everything of places but the revision."""
    return [
        (
            p.entity_id,
            p.label,
            dict(p.labels),
            p.position.mean_m,
            dict(p.attributes),
            p.first_seen_ns,
            p.last_seen_ns,
            p.first_keyframe_id,
            p.last_keyframe_id,
            p.observation_count,
        )
        for p in reader.places(as_of_ns)
    ]


def kitchen(second: float, x_m: float) -> Frame:
    told = Detection("kitchen", kind=EntityKind.LOCATION, told=True)
    return Frame(int(second * SECOND), x_m, 0.0, Perception("A kitchen.", (told,)))


def test_a_robot_that_comes_back_is_at_the_place_it_knows(open_writer, open_reader):
    there = [frame(i, x) for i, x in enumerate((0.0, 0.5, 1.0))]
    away = [kitchen(i, 10.0) for i in (3, 4, 5)]
    remember(open_writer(), [*there, *away, frame(6, 0.2)])
    reader = open_reader()
    hall, kitchen_ = reader.places()
    assert (hall.entity_id, hall.kind, hall.label) == ("path/place_1", EntityKind.LOCATION, "place")
    assert hall.observation_count == 4
    assert hall.attributes == {"visits": "2", "stay_s": "2"}
    assert (kitchen_.entity_id, kitchen_.label, kitchen_.labels) == ("path/place_4", "kitchen", {"kitchen": 3})
    assert kitchen_.position.mean_m == (10.0, 0.0, 0.0)
    assert reader.place_of(5).entity_id == "path/place_4"
    assert reader.places(2 * SECOND)[0].attributes == {"visits": "1", "stay_s": "2"}


def test_places_are_not_mixed_between_maps_and_follow_the_writer(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0.0)])
    reader = open_reader()
    assert len(reader.places()) == 1
    writer.start_session(robot="robot", map_id="another house", frame_id="map")
    remember(writer, [frame(1, 0.0), frame(2, 1.0)])
    reader.refresh()
    assert [p.position.map_id for p in reader.places()] == ["house", "another house"]


def test_corrected_poses_and_forgotten_keyframes_make_the_places_anew(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0.0), frame(1, 10.0), frame(2, 20.0)])
    reader = open_reader()
    assert [p.entity_id for p in reader.places()] == ["path/place_1", "path/place_2", "path/place_3"]
    writer.correct_poses({2: (Pose("map", (1.0, 0.0, 0.0)), None)})
    reader.refresh()
    assert [p.entity_id for p in reader.places()] == ["path/place_1", "path/place_3"]
    writer.forget(until_ns=0)
    reader.refresh()
    assert [p.entity_id for p in reader.places()] == ["path/place_2", "path/place_3"]


def edges(reader: MemoryReader, as_of_ns: int | None = None) -> list[tuple[str, str, str, tuple[int, ...]]]:
    graph = reader.graph("proximity", as_of_ns)
    return [(a, word, b, relation.keyframe_ids) for a, b, word, relation in graph.edges(keys=True, data="relation")]


def test_places_are_in_the_graph_with_what_is_in_them_and_follow_the_writer(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0.0, "cup"), frame(1, 1.0), frame(2, 10.0, "dog")])
    reader = open_reader()
    first = [
        ("cup_1", "located in", "path/place_1", (1,)),
        ("dog_1", "located in", "path/place_3", (3,)),
        ("path/place_1", "next to", "path/place_3", (3,)),
    ]
    assert sorted(edges(reader)) == first
    assert reader.graph("proximity").nodes["path/place_3"]["entity"].kind is EntityKind.LOCATION
    remember(writer, [frame(3, 0.5, "cup"), frame(200, 10.0), frame(201, 20.0, "cup")])
    reader.refresh()
    second = [
        ("cup_1", "located in", "path/place_1", (4,)),
        ("cup_2", "located in", "path/place_6", (6,)),
        ("dog_1", "located in", "path/place_3", (3,)),
        # Nobody knows where the robot was in the three minutes before the fifth.
        ("path/place_1", "next to", "path/place_3", (3, 4)),
        ("path/place_3", "next to", "path/place_6", (6,)),
    ]
    assert sorted(edges(reader)) == second
    assert sorted(edges(reader, 2 * SECOND)) == first


def test_what_stands_in_no_place_was_seen_from_one(open_writer, open_reader):
    box = Detection("tower", (310.0, 230.0, 330.0, 250.0), depth_m=6.0)
    item = Frame(0, 0.0, 0.0, Perception("", (box,)))
    remember(open_writer(associators=(HybridAssociator(),)), [item])
    (relation,) = open_reader().place_relations(open_reader().entities("hybrid"))
    assert (relation.subject_id, relation.predicate, relation.object_id) == ("tower_1", "seen from", "path/place_1")


def memory_of(frames: list[Frame]) -> list[tuple[object, ...]]:
    folder = ram_folder()
    try:
        with MemoryWriter.open(folder / "memory.db", encoder=None) as writer:
            writer.start_session(robot="robot", map_id="house", frame_id="map")
            remember(writer, frames)
        with MemoryReader.open(folder / "memory.db") as reader:
            return visited(reader)
    finally:
        shutil.rmtree(folder)


@settings(max_examples=15, deadline=None)
@given(drives(max_size=14), st.integers(0, 14))
def test_the_places_known_then_are_those_of_a_memory_that_ended_then(frames, second):
    until = second * SECOND
    folder = ram_folder()
    try:
        with MemoryWriter.open(folder / "memory.db", encoder=None) as writer:
            writer.start_session(robot="robot", map_id="house", frame_id="map")
            remember(writer, frames[:5])
            with MemoryReader.open(folder / "memory.db") as reader:
                visited(reader)
                remember(writer, frames[5:])
                reader.refresh()
                found = visited(reader, until)
        assert found == memory_of([f for f in frames if f.stamp_ns <= until])
        assert sum(p[-1] for p in found) == sum(f.stamp_ns <= until for f in frames)
    finally:
        shutil.rmtree(folder)
