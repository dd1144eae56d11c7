"""Exports are read back by the programs they are for, and hostile labels stay labels."""

from __future__ import annotations

import csv
import io
import json
import re

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.bags.graph_export import (
    ENTITY_COLUMNS,
    RELATION_COLUMNS,
    write_cypher,
    write_entities_csv,
    write_graphml,
    write_relations_csv,
)
from vlkng_ros.types import Entity, EntityKind, PositionEstimate, PositionSource, Relation

NASTY = [
    'chair"; <script>&amp;',
    "it's \\' a trap'}) DETACH DELETE n //",
    '=HYPERLINK("http://x","y")',
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\tcmd",
    "line\nbreak\r",
    "nul\x00bell\x07",
    "椅子 🪑",
    "\\u0027",
    "`tick`",
    "]]>",
]


def entity(entity_id: str = "chair_1", label: str = "chair", **attributes: str) -> Entity:
    position = PositionEstimate("map", "office", (1.5, -2.0, 0.5), np.eye(3) * 0.04, PositionSource.TRIANGULATED)
    return Entity(
        view="hybrid",
        entity_id=entity_id,
        kind=EntityKind.OBJECT,
        label=label,
        labels={label: 3, "seat": 1},
        attributes=attributes,
        position=position,
        first_seen_ns=1673884185689107000,
        last_seen_ns=1673884187689107001,
        first_keyframe_id=1,
        last_keyframe_id=4,
        observation_count=4,
    )


def relation(predicate: str = "next to") -> Relation:
    return Relation("chair_1", predicate, "table_2", (10, 20), (1, 2))


def graphml(entities: list[Entity], relations: list[Relation]) -> networkx.MultiDiGraph:
    out = io.StringIO()
    write_graphml(out, entities, relations)
    return networkx.parse_graphml(out.getvalue(), force_multigraph=True)


def test_graphml_is_what_networkx_reads() -> None:
    graph = graphml([entity(color="red"), entity("table_2", "table")], [relation(), relation("under")])
    assert set(graph.nodes) == {"chair_1", "table_2"}
    chair = graph.nodes["chair_1"]
    assert (chair["label"], chair["x_m"], chair["state"]) == ("chair", 1.5, "present")
    assert chair["last_seen_ns"] == 1673884187689107001
    assert json.loads(chair["labels"]) == {"chair": 3, "seat": 1}
    assert json.loads(chair["attributes"]) == {"color": "red"}
    assert json.loads(chair["covariance_m2"])[0] == [0.04, 0.0, 0.0]
    edges = sorted(data["predicate"] for _, _, data in graph.edges(data=True))
    assert edges == ["next to", "under"]


@pytest.mark.parametrize("label", NASTY)
def test_no_label_breaks_out_of_graphml(label: str) -> None:
    graph = graphml([entity(label=label), entity("table_2")], [relation(label)])
    shown = re.sub("[\x00\x07]", "", label)
    assert graph.nodes["chair_1"]["label"].replace("\r", "") == shown.replace("\r", "")
    assert len(graph.nodes) == 2
    assert [data["predicate"].replace("\r", "") for _, _, data in graph.edges(data=True)] == [shown.replace("\r", "")]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_csv_has_a_column_for_everything() -> None:
    out = io.StringIO(newline="")
    write_entities_csv(out, [entity()])
    (row,) = rows(out.getvalue())
    assert list(row) == list(ENTITY_COLUMNS)
    assert (row["id"], row["y_m"], row["observation_count"]) == ("chair_1", "-2.0", "4")
    out = io.StringIO(newline="")
    write_relations_csv(out, [relation()])
    (row,) = rows(out.getvalue())
    assert list(row) == list(RELATION_COLUMNS)
    assert (row["source"], row["predicate"], row["target"], row["count"]) == ("chair_1", "next to", "table_2", "2")
    assert json.loads(row["stamps_ns"]) == [10, 20]


@pytest.mark.parametrize("label", NASTY)
def test_no_label_becomes_a_formula(label: str) -> None:
    out = io.StringIO(newline="")
    write_entities_csv(out, [entity(label=label)])
    (row,) = rows(out.getvalue())
    assert row["label"].lstrip("'") == label.replace("\0", "").lstrip("'")
    assert not row["label"].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert row["x_m"] == "1.5"


def cypher(entities: list[Entity], relations: list[Relation]) -> str:
    out = io.StringIO()
    write_cypher(out, "hybrid", entities, relations)
    return out.getvalue()


def test_cypher_is_one_statement_a_line() -> None:
    constraint, chair, table, edge = cypher([entity(), entity("table_2", "table")], [relation()]).splitlines()
    assert constraint.startswith("CREATE CONSTRAINT vlkng_entity IF NOT EXISTS")
    assert chair.startswith("MERGE (n:Entity {view: 'hybrid', id: 'chair_1'}) SET n:Object, n += {kind: 'object', ")
    assert "labels: ['chair', 'seat']" in chair
    assert "last_seen_ns: 1673884187689107001" in chair
    assert "id: 'table_2'" in table
    assert edge == (
        "MATCH (a:Entity {view: 'hybrid', id: 'chair_1'}), (b:Entity {view: 'hybrid', id: 'table_2'}) "
        "MERGE (a)-[r:NEXT_TO {predicate: 'next to'}]->(b) "
        "SET r += {count: 2, stamps_ns: [10, 20], keyframe_ids: [1, 2]};"
    )


STRING = re.compile(r"'(?:[^'\\]|\\.)*'")


@given(st.sampled_from(NASTY) | st.text())
def test_no_text_leaves_its_quotes_in_cypher(text: str) -> None:
    lines = cypher([entity("table_2", label=text, note=text)], [relation(text)]).split("\n")
    assert len(lines) == 4
    plain = cypher([entity("table_2", label="x", note="x")], [relation("x")]).split("\n")
    outside, expected = STRING.sub("''", lines[1]), STRING.sub("''", plain[1])
    assert outside == expected
    assert re.fullmatch(
        r"MATCH .* MERGE \(a\)-\[r:[A-Z][A-Z0-9_]* \{predicate: ''\}\]->\(b\) .*;", STRING.sub("''", lines[2])
    )


@pytest.mark.parametrize(
    ("predicate", "name"),
    [("next to", "NEXT_TO"), ("2nd", "RELATED_2ND"), ("", "RELATED"), ("`]-() //", "RELATED"), ("上", "RELATED")],
)
def test_a_predicate_becomes_a_plain_relationship_name(predicate: str, name: str) -> None:
    assert f"[r:{name} {{" in cypher([], [relation(predicate)])
