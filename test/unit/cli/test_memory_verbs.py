"""``vlkng inspect``, ``forget``, ``export`` and ``import graph`` on a memory that is known by heart."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import networkx
import pytest
from captioned_drives import WordEncoder
from small_memory import FAR, JPEG, NS, START_NS, build

from vlkng_ros.bags.node_link_reader import read_node_link
from vlkng_ros.cli import main
from vlkng_ros.errors import GraphFileError, MemoryLockedError
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.text_merge import TextMergeAssociator
from vlkng_ros.types import Capture, Detection, EntityKind, Perception, Pose


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    build(path)
    return path


RELATIONS = [
    ("cat_1", "located in", "path/place_1"),
    ("cup_1", "located in", "path/place_1"),
    ("cup_1", "next to", "cat_1"),
    ("person_1", "located in", "path/place_1"),
]


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


# ---------------------------------------------------------------------------------------------- inspect


def test_inspect_says_what_is_in_a_memory(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", "--memory", db) == 0
    text = capsys.readouterr().out
    assert "2026-01-01 00:00:00 UTC to 2026-01-01 00:00:20 UTC (20.0 s)" in text
    assert "50.0 x 50.0 m: x 0.0 to 50.0, y 0.0 to 50.0" in text
    assert "3, 1 not described yet" in text
    assert "alice in map 'office' x 2" in text
    assert "3 entities: object 2, person 1" in text
    assert "cat 2, cup 1, person 1" in text
    assert f"2 images of {2 * len(JPEG)} B" in text


def test_inspect_as_json_has_the_same_figures(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", "--memory", db, "--json", "--top", 1) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["keyframes"], report["pending"], report["observations"]) == (3, 1, 4)
    assert (report["oldest_ns"], report["newest_ns"]) == (START_NS, START_NS + 20 * NS)
    assert report["top_labels"] == {"cat": 2}
    assert report["views"] == {"proximity": 3}
    assert (report["images"], report["image_bytes"], report["health"]) == (2, 2 * len(JPEG), "ok")
    assert report["bounds_m"] == [[0.0, 0.0, 0.0], [FAR, FAR, 0.0]]


def test_a_memory_is_whole_by_whatever_name_it_is_reached(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = db.parent / "link" / "other.db"
    link.parent.mkdir()
    link.symlink_to(db)
    assert run("inspect", "--memory", link) == 0
    assert f"2 images of {2 * len(JPEG)} B" in capsys.readouterr().out
    with MemoryWriter.open(link, encoder=None), pytest.raises(MemoryLockedError):
        MemoryWriter.open(db, encoder=None)
    assert list(link.parent.iterdir()) == [link]


def test_images_that_were_left_behind_are_missed(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(db.with_suffix(".frames"))
    assert run("inspect", "--memory", db) == 0
    assert "0 images of 0 B; 2 more are not in memory.frames" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run("inspect", "--memory", db, "--top", -1)
    assert "'-1' is no whole number, 0 or above" in capsys.readouterr().err


def test_what_is_not_described_yet_is_not_said_not_to_be_there(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ask", "--memory", db, "Where is the dog?") == 0
    shown = capsys.readouterr().out
    assert "I have not seen dog. But 1 of 3 frames recorded then are not wholly described, and may show it." in shown
    assert f"(1 keyframe not described yet: vlkng perceive --memory {db})" in shown
    assert run("ask", db, "Where is the dog?") == 2
    assert capsys.readouterr().err == f"vlkng: '{db}' looks like a memory, which is named as --memory FILE\n"


def test_inspect_of_an_empty_memory_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MemoryWriter.open(tmp_path / "new.db", encoder=None):
        pass
    assert run("inspect", "--memory", tmp_path / "new.db") == 0
    assert "0, 0 not described yet" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [["inspect"], ["export", "--format", "json"], ["forget", "--label", "cat", "--yes"]])
def test_a_memory_that_is_not_there_is_said_and_not_made(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*verb, "--memory", tmp_path / "none.db") == 2
    assert str(tmp_path / "none.db") in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------- forget


def test_a_label_is_forgotten_everywhere(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("forget", "--memory", db, "--label", "cat", "--yes") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{db}: forgot 'cat': 2 observations, 0 keyframes, 2 images")
    assert "view proximity: 1 entity gone" in shown
    with MemoryReader.open(db) as reader:
        assert sorted(entity.label for entity in reader.entities("proximity")) == ["cup", "person"]
    assert b"tabby" not in db.read_bytes()


def test_a_time_and_an_area_take_whole_keyframes(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("forget", "--memory", db, "--until", START_NS + 5 * NS, "--yes") == 0
    assert (
        "forgot everything until 2026-01-01 00:00:05 UTC: 2 observations, 1 keyframe, 1 image"
        in capsys.readouterr().out
    )
    assert run("forget", "--memory", db, "--area", FAR - 1, FAR - 1, FAR + 1, FAR + 1, "--yes") == 0
    assert "forgot everything in x 49 to 51 m, y 49 to 51 m: 0 observations, 1 keyframe" in capsys.readouterr().out
    with MemoryReader.open(db) as reader:
        assert reader.frames().stamps_ns.tolist() == [START_NS + 10 * NS]


def test_one_entity_is_forgotten_by_its_id(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MemoryReader.open(db) as reader:
        cup = next(entity.entity_id for entity in reader.entities("proximity") if entity.label == "cup")
    assert run("forget", "--memory", db, "--entity", cup, "--yes") == 0
    assert f"forgot {cup}: 1 observation" in capsys.readouterr().out
    assert run("forget", "--memory", db, "--entity", cup, "--yes") == 2
    assert cup in capsys.readouterr().err


def test_what_was_never_there_is_said(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("forget", "--memory", db, "--label", "submarine", "--yes") == 0
    assert capsys.readouterr().out == f"{db}: there was nothing of 'submarine'\n"


@pytest.mark.parametrize(("answer", "left"), [("n", 4), ("", 4), ("y", 2), ("yes", 2)])
def test_forgetting_asks_first(
    db: Path, answer: str, left: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or answer)
    status = run("forget", "--memory", db, "--label", "cat")
    assert status == (1 if left == 4 else 0)
    assert asked == [f"Forget 'cat' in {db} (3 keyframes)? It cannot be undone. [y/N] "]
    with MemoryReader.open(db) as reader:
        assert reader.stats().observations == left


def test_forgetting_refuses_where_nobody_can_be_asked(
    db: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert run("forget", "--memory", db, "--label", "cat") == 2
    assert "say --yes if you are sure" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a --label, --entity, --since, --until or --area"),
        (["--label", " "], "the label is empty"),
        (["--since", "5.0", "--until", "4.0"], "the time from 5.000 s to 4.000 s is empty"),
        (["--since", "2026-01-02", "--until", "2026-01-01"], "2026-01-02 00:00:00 UTC to 2026-01-01 00:00:00 UTC is"),
        (["--area", "1", "0", "0", "1"], "is not (x_min, y_min, x_max, y_max)"),
        (["--entity", "cat_99"], "cat_99"),
        (["--entity", "cat_1", "--view", "stoa"], "stoa"),
    ],
)
def test_a_selection_that_names_nothing_changes_nothing(
    db: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("forget", "--memory", db, "--yes", *arguments) == 2
    assert says in capsys.readouterr().err
    with MemoryReader.open(db) as reader:
        assert reader.stats().observations == 4


def test_forgetting_waits_for_no_builder(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MemoryWriter.open(db, encoder=None):
        assert run("forget", "--memory", db, "--label", "cat", "--yes") == 2
    assert "is writing to this memory; stop it first" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------- associate


def test_a_view_is_added_beside_the_others(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["associate", "--memory", db, "--with", "hybrid", "--text-encoder", "none"]
    with MemoryReader.open(db) as reader:
        before = [(entity.entity_id, entity.observation_count) for entity in reader.entities("proximity")]
    assert run(*arguments) == 0
    assert capsys.readouterr().out == f"{db}: view 'hybrid' was added: 3 entities from 4 observations\n"
    with MemoryReader.open(db) as reader:
        assert sorted(entity.label for entity in reader.entities("hybrid")) == ["cat", "cup", "person"]
        assert [(entity.entity_id, entity.observation_count) for entity in reader.entities("proximity")] == before
    assert run(*arguments) == 0
    assert "view 'hybrid' is up to date: 3 entities" in capsys.readouterr().out


def test_texts_written_without_the_encoder_are_embedded_with_it(
    db: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemoryReader.open(db) as reader:
        texts = reader.stats().texts
    with MemoryWriter.open(db, encoder=WordEncoder()):
        pass
    run("inspect", "--memory", db)
    assert f"; {texts} texts written without it: vlkng associate embeds them" in capsys.readouterr().out
    monkeypatch.setattr("vlkng_ros.memory.open_encoder", lambda name: WordEncoder())
    assert run("associate", "--memory", db, "--with", "proximity") == 0
    assert f"{texts} texts had no vector by the text encoder" in capsys.readouterr().out
    with MemoryReader.open(db) as reader:
        assert all(text.vector is not None for text in reader.texts())


def test_an_associator_that_is_not_known_is_refused(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = db.read_bytes()
    assert run("associate", "--memory", db, "--with", "magic") == 2
    assert "associator 'magic': not one of hybrid, proximity, stoa, text_merge" in capsys.readouterr().err
    assert db.read_bytes() == before


def test_a_model_that_is_not_there_is_said_before_a_view_is_made_without_it(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = db.read_bytes()
    nobody = ["--llm", "x", "--server-url", "http://127.0.0.1:9/v1", "--text-encoder", "none"]
    assert run("associate", "--memory", db, "--with", "stoa", *nobody) == 2
    assert "http://127.0.0.1:9/v1" in capsys.readouterr().err
    assert db.read_bytes() == before
    assert run("associate", "--memory", db, "--with", "stoa", "--text-encoder", "none") == 0
    assert "no model decides" in capsys.readouterr().err


def test_a_memory_of_an_earlier_version_is_brought_up_to_date(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE head SET place_format = 'earlier'")
    connection.close()
    assert run("inspect", "--memory", db) == 2
    command = f"vlkng associate --memory {db} --with proximity"
    assert f"open it once for writing, with builder_node or `{command}`" in capsys.readouterr().err
    assert run("associate", "--memory", db, "--with", "proximity", "--text-encoder", "none") == 0
    assert run("inspect", "--memory", db) == 0
    assert "3 entities from 4 observations" in capsys.readouterr().out


def test_a_thing_of_one_of_several_views_needs_the_view(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("associate", "--memory", db, "--with", "hybrid", "--text-encoder", "none") == 0
    assert run("forget", "--memory", db, "--entity", "cat_1", "--yes") == 2
    assert "name the view that cat_1 is of: proximity, hybrid" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------- export


def test_json_is_a_graph_for_networkx(db: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert run("export", "--memory", db, "--format", "json", "--output", out) == 0
    data = json.loads(out.read_text())
    graph = networkx.node_link_graph(data, **{"edges" if _names_edges() else "link": "edges"})
    kinds = networkx.get_node_attributes(graph, "type")
    assert sorted(kinds.values()) == ["entity"] * 5 + ["keyframe"] * 3
    places = [values for _, values in graph.nodes(data=True) if values.get("kind") == "location"]
    assert [(place["label"], place["view"]) for place in places] == [("place", "path")] * 2
    cat = next(node for node, values in graph.nodes(data=True) if values.get("label") == "cat")
    seen = [target for _, target, values in graph.out_edges(cat, data=True) if values["type"] == "seen_in"]
    assert [graph.nodes[frame]["stamp_ns"] for frame in seen] == [START_NS, START_NS + 10 * NS]
    relations = [(a, values["predicate"], b) for a, b, values in graph.edges(data=True) if values["type"] == "relation"]
    assert sorted(relations) == RELATIONS
    assert out.stat().st_mode & 0o777 == 0o600


def _names_edges() -> bool:
    return tuple(int(part) for part in networkx.__version__.split(".")[:2]) >= (3, 4)


def test_a_memory_made_again_from_json_exports_the_same(db: Path, tmp_path: Path) -> None:
    first, second, again = tmp_path / "first.json", tmp_path / "second.json", tmp_path / "again.db"
    run("export", "--memory", db, "--format", "json", "--output", first)
    assert run("import", "graph", first, "--memory", again, "--text-encoder", "none") == 0
    run("export", "--memory", again, "--format", "json", "--output", second)
    assert second.read_bytes() == first.read_bytes()
    with MemoryReader.open(again) as reader:
        (cat,) = [entity for entity in reader.entities("proximity") if entity.label == "cat"]
        assert cat.observation_count == 2
        assert reader.stats().pending == 1
        detection = reader.observations(1)[0].detection
        assert (detection.box_px, detection.depth_m) == ((10.0, 20.0, 110.0, 220.0), 2.5)
        assert (detection.region_text, dict(detection.attributes)) == ("=tabby cat", {"color": "grey"})


def test_a_memory_is_not_imported_into_itself(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    run("export", "--memory", db, "--format", "json", "--output", out)
    before = db.read_bytes()
    assert run("import", "graph", out, "--memory", db, "--text-encoder", "none") == 2
    assert "3 of its keyframes are in" in capsys.readouterr().err
    assert db.read_bytes() == before


def test_csv_is_a_folder_with_two_tables(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", "--memory", db, "--format", "csv") == 2
    assert "name a folder with --output" in capsys.readouterr().err
    assert run("export", "--memory", db, "--format", "csv", "--output", tmp_path / "tables") == 0
    with (tmp_path / "tables" / "entities.csv").open(newline="") as file:
        assert sorted(row["label"] for row in csv.DictReader(file)) == ["cat", "cup", "person", "place", "place"]
    with (tmp_path / "tables" / "relations.csv").open(newline="") as file:
        assert sorted((row["source"], row["predicate"], row["target"]) for row in csv.DictReader(file)) == RELATIONS


def test_graphml_and_cypher_are_printed(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", "--memory", db, "--format", "graphml") == 0
    graph = networkx.parse_graphml(capsys.readouterr().out)
    assert sorted(label for _, label in graph.nodes(data="label")) == ["cat", "cup", "person", "place", "place"]
    assert sorted((a, edge["predicate"], b) for a, b, edge in graph.edges(data=True)) == RELATIONS
    assert run("export", "--memory", db, "--format", "cypher") == 0
    statements = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in statements] == ["CREATE"] + ["MERGE"] * 5 + ["MATCH"] * len(RELATIONS)
    assert sum("SET n:Location, " in line for line in statements) == 2
    assert sum("-[r:LOCATED_IN {" in line for line in statements) == 3


@pytest.mark.parametrize("form", ["json", "graphml", "cypher"])
def test_whoever_goes_away_from_an_export_is_no_fault_of_the_memory(
    db: Path, form: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(os.dup(1), "w") as kept, os.fdopen(writes, "w") as pipe:
        os.dup2(pipe.fileno(), 1)
        monkeypatch.setattr(sys, "stdout", os.fdopen(1, "w", closefd=False))
        try:
            assert run("export", "--memory", db, "--format", form) == 141
        finally:
            os.dup2(kept.fileno(), 1)
    assert capfd.readouterr().err == ""


def test_a_full_disk_under_the_output_is_no_fault_of_the_memory(
    db: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in (("export", "--format", "json"), ("inspect",)):
        with open("/dev/full", "w") as full:
            monkeypatch.setattr(sys, "stdout", full)
            assert run(verb[0], "--memory", db, *verb[1:]) == 2
        assert capsys.readouterr().err == "vlkng: the output cannot be written: No space left on device\n"


def test_an_export_as_of_a_time_does_not_know_what_came_later(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", "--memory", db, "--format", "graphml", "--as-of", START_NS) == 0
    graph = networkx.parse_graphml(capsys.readouterr().out)
    assert sorted(label for _, label in graph.nodes(data="label")) == ["cat", "cup", "place"]


def test_persons_places_and_events_that_captions_tell_of_are_exported_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = (
        Detection("man", kind=EntityKind.PERSON, told=True),
        Detection("kitchen", kind=EntityKind.LOCATION, told=True),
        Detection("carrying", kind=EntityKind.EVENT, told=True, attributes={"subject": "man", "object": "box"}),
    )
    with MemoryWriter.open(tmp_path / "m.db", encoder=None, associators=(TextMergeAssociator(),)) as writer:
        writer.start_session(robot="alice", map_id="office", frame_id="map")
        frame = writer.add_keyframe(Capture(START_NS, Pose.planar("map", 0.0, 0.0)))
        writer.add_perception(frame.keyframe_id, Perception("A man carries a box in a kitchen.", told))
        writer.associate(frame.keyframe_id)
    assert run("export", "--memory", tmp_path / "m.db", "--format", "graphml") == 0
    graph = networkx.parse_graphml(capsys.readouterr().out)
    assert dict(graph.nodes(data="kind")) == {
        "man_1": "person",
        "kitchen_1": "location",
        "carrying_1": "event",
        "path/place_1": "location",
    }
    assert json.loads(graph.nodes["carrying_1"]["attributes"]) == {"subject": "man", "object": "box"}
    # The place of the path goes by the name that captions give it.
    assert graph.nodes["path/place_1"]["label"] == "kitchen"
    assert run("inspect", "--memory", tmp_path / "m.db") == 0
    assert "3 (0 seen, 3 told by captions), in " in capsys.readouterr().out


def test_an_export_that_cannot_be_written_leaves_no_half_file(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("export", "--memory", db, "--format", "json", "--output", tmp_path / "no" / "out.json") == 2
    assert f"out.json: cannot be written: there is no folder {tmp_path / 'no'}" in capsys.readouterr().err
    assert run("export", "--memory", db, "--format", "json", "--output", tmp_path) == 2
    assert "it is a folder; name a file in it" in capsys.readouterr().err
    assert run("export", "--memory", db, "--format", "csv", "--output", db) == 2
    assert "a part of it is a file, and not a folder" in capsys.readouterr().err
    assert run("export", "--memory", db, "--format", "graphml", "--view", "stoa", "--output", tmp_path / "x.xml") == 2
    assert "stoa" in capsys.readouterr().err
    assert not (tmp_path / "x.xml").exists()
    assert not (tmp_path / "x.xml.part").exists()


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("form", ["json", "graphml", "cypher"])
def test_an_export_is_never_written_over_a_memory(
    db: Path, capsys: pytest.CaptureFixture[str], form: str, suffix: str
) -> None:
    before = db.read_bytes()
    assert run("export", "--memory", db, "--format", form, "--output", f"{db}{suffix}") == 2
    assert "is a memory, and nothing is written over it; name another file" in capsys.readouterr().err
    assert db.read_bytes() == before


def test_a_view_that_was_added_is_in_the_one_file_that_is_copied(db: Path, tmp_path: Path) -> None:
    assert run("associate", "--memory", db, "--with", "text_merge", "--text-encoder", "none") == 0
    copy = tmp_path / "copy.db"
    shutil.copy(db, copy)
    with MemoryReader.open(copy) as reader:
        assert "text_merge" in reader.views()


# ---------------------------------------------------------------------------------------------- wrong graph files


def _edited(data: dict[str, Any], edit: str) -> object:
    nodes, edges = data["nodes"], data["edges"]
    frame = next(node for node in nodes if node["type"] == "keyframe")
    seen = next(edge for edge in edges if edge["type"] == "seen_in")
    relation = next(edge for edge in edges if edge["type"] == "relation")
    changes: dict[str, Any] = {
        "another format": lambda: data.update(graph={"name": "karate"}),
        "a newer version": lambda: data["graph"].update(version=9),
        "no edges": lambda: data.pop("edges"),
        "a pose with a text": lambda: frame.update(base_pose=["a"] * 7),
        "a pose that is none": lambda: frame.update(base_pose=[0, 0, 0, 0, 0, 0, 0]),
        "no pose": lambda: frame.update(base_pose=None),
        "a stamp that is a float": lambda: frame.update(stamp_ns=1.5),
        "a keyframe that is not there": lambda: seen.update(target="keyframe/99"),
        "an unknown kind": lambda: seen.update(kind="ghost"),
        "a box of three": lambda: seen.update(box_px=[1, 2, 3]),
        "an attribute that is a list": lambda: seen.update(attributes={"color": []}),
        "a key without a number": lambda: seen.update(key="seen_in/x"),
        "a relation to nowhere": lambda: relation.update(keyframes=["keyframe/99"]),
        "an unknown edge": lambda: relation.update(type="likes"),
    }
    changes[edit]()
    return data


EDITS = {
    "another format": "not a memory: needs node-link JSON as 'vlkng export",
    "a newer version": "version 9 of the format; this reads 1",
    "no edges": "'edges' must be a list of objects",
    "a pose with a text": "keyframe/1: 'base_pose' must be 7 finite numbers",
    "a pose that is none": "keyframe/1: 'base_pose': .* has length 0, not 1",
    "no pose": "keyframe/1: 'base_pose' is missing",
    "a stamp that is a float": "keyframe/1: 'stamp_ns' must be an integer, is '1.5'",
    "a keyframe that is not there": "edge 0: 'target' is 'keyframe/99', and there is no such keyframe",
    "an unknown kind": "'kind' is 'ghost'; needs one of object, person, location, event",
    "a box of three": "'box_px' must be 4 finite numbers",
    "an attribute that is a list": "'attributes' must be texts",
    "a key without a number": "edge 0: 'key' is 'seen_in/x'",
    "a relation to nowhere": "'keyframes' holds 'keyframe/99', and there is no such keyframe",
    "an unknown edge": "'type' is 'likes'; needs seen_in or relation",
}


@pytest.mark.parametrize(("edit", "says"), EDITS.items(), ids=EDITS.keys())
def test_a_graph_file_that_does_not_hold_together_is_refused(
    db: Path, tmp_path: Path, edit: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    run("export", "--memory", db, "--format", "json", "--output", out)
    out.write_text(json.dumps(_edited(json.loads(out.read_text()), edit)))
    with pytest.raises(GraphFileError, match=says):
        read_node_link(out)
    assert run("import", "graph", out, "--memory", tmp_path / "new.db", "--text-encoder", "none") == 2
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"graph": []}'])
def test_what_is_no_graph_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(content)
    with pytest.raises(GraphFileError, match=r"graph.json: not (JSON|a memory)"):
        read_node_link(path)
