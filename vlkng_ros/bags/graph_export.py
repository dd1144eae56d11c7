"""A view's entities and relations for other programs: GraphML, CSV and Cypher.

Labels and descriptions come from models and from the world in front of the camera. They are data: whatever they
hold, it is escaped so that no reader of these files takes it for markup, a formula or a statement.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO
from xml.sax.saxutils import escape

from vlkng_ros.types import Entity, Relation

Cell = str | int | float

ENTITY_COLUMNS: Mapping[str, type] = {
    "id": str,
    "kind": str,
    "label": str,
    "labels": str,
    "attributes": str,
    "x_m": float,
    "y_m": float,
    "z_m": float,
    "covariance_m2": str,
    "position_source": str,
    "frame_id": str,
    "map_id": str,
    "first_seen_ns": int,
    "last_seen_ns": int,
    "first_keyframe_id": int,
    "last_keyframe_id": int,
    "observation_count": int,
    "state": str,
}
RELATION_COLUMNS: Mapping[str, type] = {
    "source": str,
    "predicate": str,
    "target": str,
    "count": int,
    "stamps_ns": str,
    "keyframe_ids": str,
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_CYPHER_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def entity_row(entity: Entity) -> dict[str, Cell]:
    """An entity as one value a column of ``ENTITY_COLUMNS``; lists and mappings are JSON."""
    position = entity.position
    x, y, z = position.mean_m
    return {
        "id": entity.entity_id,
        "kind": entity.kind.value,
        "label": entity.label,
        "labels": json.dumps(dict(entity.labels), ensure_ascii=False),
        "attributes": json.dumps(dict(entity.attributes), ensure_ascii=False),
        "x_m": x,
        "y_m": y,
        "z_m": z,
        "covariance_m2": json.dumps(
            [[c if math.isfinite(c) else None for c in row] for row in position.covariance_m2.tolist()]
        ),
        "position_source": position.source.value,
        "frame_id": position.frame_id,
        "map_id": position.map_id,
        "first_seen_ns": entity.first_seen_ns,
        "last_seen_ns": entity.last_seen_ns,
        "first_keyframe_id": entity.first_keyframe_id,
        "last_keyframe_id": entity.last_keyframe_id,
        "observation_count": entity.observation_count,
        "state": entity.state.value,
    }


def relation_row(relation: Relation) -> dict[str, Cell]:
    """A relation as one value a column of ``RELATION_COLUMNS``."""
    return {
        "source": relation.subject_id,
        "predicate": relation.predicate,
        "target": relation.object_id,
        "count": len(relation.keyframe_ids),
        "stamps_ns": json.dumps(list(relation.stamps_ns)),
        "keyframe_ids": json.dumps(list(relation.keyframe_ids)),
    }


# ---------------------------------------------------------------------------------------------- GraphML


def write_graphml(out: TextIO, entities: Iterable[Entity], relations: Iterable[Relation]) -> None:
    """GraphML 1.0, as Gephi, yEd and networkx read it."""
    names = {str: "string", int: "long", float: "double"}
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for domain, columns in (("node", ENTITY_COLUMNS), ("edge", RELATION_COLUMNS)):
        for name, kind in columns.items():
            if name not in ("id", "source", "target"):
                out.write(f'<key id="{domain}_{name}" for="{domain}" attr.name="{name}" attr.type="{names[kind]}"/>\n')
    out.write('<graph edgedefault="directed">\n')
    for entity in entities:
        row = entity_row(entity)
        out.write(f'<node id="{_xml(row.pop("id"))}">{_data("node", row)}</node>\n')
    for i, relation in enumerate(relations):
        row = relation_row(relation)
        ends = f'source="{_xml(row.pop("source"))}" target="{_xml(row.pop("target"))}"'
        out.write(f'<edge id="e{i}" {ends}>{_data("edge", row)}</edge>\n')
    out.write("</graph>\n</graphml>\n")


def _data(domain: str, row: Mapping[str, Cell]) -> str:
    return "".join(f'<data key="{domain}_{name}">{_xml(value)}</data>' for name, value in row.items())


def _xml(value: Cell) -> str:
    """XML has no way to write most control characters, so they are left out."""
    return escape(_NOT_XML.sub("", str(value)), {'"': "&quot;", "\r": "&#13;"})


# ---------------------------------------------------------------------------------------------- CSV


def write_entities_csv(out: TextIO, entities: Iterable[Entity]) -> None:
    """One entity a line. Open the file with ``newline=""``."""
    _write_csv(out, ENTITY_COLUMNS, (entity_row(entity) for entity in entities))


def write_relations_csv(out: TextIO, relations: Iterable[Relation]) -> None:
    """One relation a line. Open the file with ``newline=""``."""
    _write_csv(out, RELATION_COLUMNS, (relation_row(relation) for relation in relations))


def _write_csv(out: TextIO, columns: Mapping[str, type], rows: Iterable[Mapping[str, Cell]]) -> None:
    writer = csv.writer(out)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in columns])


def _cell(value: Cell) -> Cell:
    """A cell that every reader takes as it is meant.

    Spreadsheets run text that begins like a formula; an apostrophe before it makes it text (OWASP). NUL is left out:
    Python 3.10's csv neither writes nor reads it.
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\0", "")
    return f"'{text}" if text.startswith(_FORMULA) else text


# ---------------------------------------------------------------------------------------------- Cypher


def write_cypher(out: TextIO, view: str, entities: Iterable[Entity], relations: Iterable[Relation]) -> None:
    """Statements for Neo4j (``cypher-shell -f FILE``); run again, they update instead of doubling."""
    out.write("CREATE CONSTRAINT vlkng_entity IF NOT EXISTS FOR (n:Entity) REQUIRE (n.view, n.id) IS UNIQUE;\n")
    for entity in entities:
        row: dict[str, Cell | Sequence[Cell]] = {**entity_row(entity)}
        identity = _properties({"view": view, "id": row.pop("id")})
        row["labels"] = list(entity.labels)
        out.write(f"MERGE (n:Entity {identity}) SET n:{entity.kind.value.capitalize()}, n += {_properties(row)};\n")
    for relation in relations:
        row = {**relation_row(relation)}
        row["stamps_ns"], row["keyframe_ids"] = relation.stamps_ns, relation.keyframe_ids
        ends = ", ".join(
            f"({end}:Entity {_properties({'view': view, 'id': row.pop(name)})})"
            for end, name in (("a", "source"), ("b", "target"))
        )
        predicate = row.pop("predicate")
        kind = _relationship_type(str(predicate))
        named = _properties({"predicate": predicate})
        out.write(f"MATCH {ends} MERGE (a)-[r:{kind} {named}]->(b) SET r += {_properties(row)};\n")


def _properties(row: Mapping[str, Cell | Sequence[Cell]]) -> str:
    return "{" + ", ".join(f"{name}: {_literal(value)}" for name, value in row.items()) + "}"


def _literal(value: Cell | Sequence[Cell]) -> str:
    if isinstance(value, str):
        return "'" + "".join(_escaped(value)) + "'"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    return repr(value)


def _escaped(text: str) -> Iterator[str]:
    for character in text:
        if character in _CYPHER_ESCAPES:
            yield _CYPHER_ESCAPES[character]
        elif ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 or character in "\u2028\u2029":
            yield f"\\u{ord(character):04X}"
        else:
            yield character


def _relationship_type(predicate: str) -> str:
    """A predicate as Neo4j names relationships: ``next to`` is ``NEXT_TO``; letters, digits and underscores only."""
    name = re.sub(r"[^A-Z0-9]+", "_", predicate.upper().encode("ascii", "ignore").decode()).strip("_")
    return name if name and not name[0].isdigit() else f"RELATED_{name}".rstrip("_")
