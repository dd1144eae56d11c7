"""What captions tell of, from a caption file into the memory: a typed graph in the view that is merged by text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vlkng_ros.cli import main
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import EntityKind, Relation

CAPTIONS = (
    "A man in a red jacket rides a bicycle across the crosswalk.",
    "The image shows an empty street with a fire hydrant.",
    "A man rides a bicycle down the street. A woman is sitting on a bench.",
)
S = 1_000_000_000


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def imported(folder: Path, *options: object) -> Path:
    source, db = folder / "captions.json", folder / "memory.db"
    labels = [["bicycle"], ["fire hydrant", "street"], ["bench"]]
    entries = [
        {"time": i + 1, "position": [10.0 * i, 0, 0], "caption": caption, "labels": seen}
        for i, (caption, seen) in enumerate(zip(CAPTIONS, labels, strict=True))
    ]
    source.write_text(json.dumps(entries))
    assert run("import", "captions", source, "--memory", db, "--text-encoder", "none", *options) == 0
    return db


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = imported(tmp_path_factory.mktemp("told"))
    assert run("associate", "--memory", path, "--with", "text_merge", "--text-encoder", "none") == 0
    return path


def test_events_have_their_times_what_was_said_then_and_who_took_part(db: Path) -> None:
    with MemoryReader.open(db) as reader:
        riding = reader.entity("text_merge", "riding_bicycle_1")
        assert (riding.kind, riding.first_seen_ns, riding.last_seen_ns) == (EntityKind.EVENT, S, 3 * S)
        assert [(s.stamp_ns, s.description[:27]) for s in reader.sightings("text_merge", "riding_bicycle_1")] == [
            (S, "A man in a red jacket rides"),
            (3 * S, "A man rides a bicycle down "),
        ]
        edges = reader.relations("text_merge", "riding_bicycle_1")
        assert Relation("man_1", "takes part in", "riding_bicycle_1", (S, 3 * S), (1, 3)) in edges
        assert Relation("riding_bicycle_1", "takes place at", "crosswalk_1", (S,), (1,)) in edges
        part = next(edge for edge in edges if edge.predicate == "takes part in")
        assert reader.descriptions("text_merge", part) == (CAPTIONS[0], "A man rides a bicycle down the street.")


def test_as_of_a_time_only_what_had_happened_is_known(db: Path) -> None:
    with MemoryReader.open(db) as reader:
        kinds = {e.entity_id: e.kind.value for e in reader.entities("text_merge", as_of_ns=2 * S)}
        assert kinds == {
            "bicycle_1": "object",
            "man_1": "person",
            "jacket_1": "object",
            "crosswalk_1": "location",
            "riding_bicycle_1": "event",
            "fire_hydrant_1": "object",
            "street_1": "object",
        }
        assert reader.entity("text_merge", "riding_bicycle_1", as_of_ns=2 * S).observation_count == 1


def test_a_thing_that_was_detected_is_one_with_what_the_caption_calls_it(db: Path) -> None:
    with MemoryReader.open(db) as reader:
        assert [o.detection.label for o in reader.observations(1)] == ["bicycle"]
        assert [o.detection.label for o in reader.observations(1, told=True)] == [
            "bicycle",
            "man",
            "jacket",
            "crosswalk",
            "riding bicycle",
        ]
        assert reader.entity("text_merge", "bicycle_1").observation_count == 2


def test_views_and_questions_of_what_was_seen_do_not_know_it(db: Path) -> None:
    with MemoryReader.open(db) as reader:
        assert [e.entity_id for e in reader.entities("hybrid")] == [
            "bicycle_1",
            "fire_hydrant_1",
            "street_1",
            "bench_1",
        ]
        texts = {text.text_id: text.text for text in reader.texts()}
        said = {texts[m.text_id] for m in reader.mentions() if m.role == "label"}
        assert said == {"bicycle", "fire hydrant", "street", "bench"}


def test_it_can_be_forgotten_by_its_name(tmp_path: Path) -> None:
    path = imported(tmp_path)
    assert run("forget", "--memory", path, "--label", "man", "--yes") == 0
    with MemoryReader.open(path) as reader:
        assert "man" not in [o.detection.label for n in (1, 3) for o in reader.observations(n, told=True)]
        assert "man" not in reader.keyframe(1).caption


def test_an_exported_graph_brings_it_back(db: Path, tmp_path: Path) -> None:
    graph, again = tmp_path / "graph.json", tmp_path / "again.db"
    assert run("export", "--memory", db, "--view", "text_merge", "--format", "json", "--output", graph) == 0
    assert run("import", "graph", graph, "--memory", again, "--text-encoder", "none") == 0
    with MemoryReader.open(db) as first, MemoryReader.open(again) as second:
        for reader in (first, second):
            kinds = {e.label: e.kind for e in reader.entities("text_merge")}
            assert kinds["riding bicycle"] is EntityKind.EVENT
        told = [[o.detection for o in r.observations(1, told=True)] for r in (first, second)]
        assert told[0] == told[1]
        assert len(second.relations("text_merge", "riding_bicycle_1")) == len(
            first.relations("text_merge", "riding_bicycle_1")
        )


def test_it_can_be_left_out(tmp_path: Path) -> None:
    with MemoryReader.open(imported(tmp_path, "--set", "perception.captions=none")) as reader:
        assert [len(reader.observations(n, told=True)) for n in (1, 2, 3)] == [1, 2, 1]
