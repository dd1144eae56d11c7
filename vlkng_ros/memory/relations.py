"""Edges of a view: what perception said about two detections, said of the entities that they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping


def add_relations(
    connection: sqlite3.Connection,
    view_number: int,
    keyframe_id: int,
    entity_of: Mapping[int, int],
    last_id: int,
    revision: int,
) -> int:
    """Write a keyframe's edges, inside a transaction; returns the last relation id given.

    Args:
        connection: the writer's.
        view_number: the view that the entities are of.
        keyframe_id: the keyframe that shows the relations.
        entity_of: row of the entity, by observation id.
        last_id: the last relation id that was given.
        revision: that of the operation.
    """
    query = "SELECT subject, predicate, object FROM relation_fact WHERE keyframe = ?"
    for subject, predicate, object_ in connection.execute(query, (keyframe_id,)).fetchall():
        if subject not in entity_of or object_ not in entity_of:
            continue
        edge = (entity_of[subject], predicate, entity_of[object_])
        find = "SELECT id FROM relation WHERE subject = ? AND predicate = ? AND object = ?"
        row = connection.execute(find, edge).fetchone()
        if row is None:
            last_id += 1
            values = (last_id, view_number, *edge, revision)
            connection.execute("INSERT INTO relation VALUES (?, ?, ?, ?, ?, ?)", values)
            number = last_id
        else:
            number = int(row[0])
            connection.execute("UPDATE relation SET revision = ? WHERE id = ?", (revision, number))
        connection.execute("INSERT OR IGNORE INTO relation_seen VALUES (?, ?)", (number, keyframe_id))
    return last_id


def drop_relations(
    connection: sqlite3.Connection, entities: Iterable[int], keyframe_ids: Iterable[int], gone: set[int]
) -> list[int]:
    """Take out the edges of these entities that these keyframes no longer support, inside a transaction.

    Args:
        connection: the writer's.
        entities: rows of the entities that lost observations.
        keyframe_ids: the keyframes that lost observations, or that are gone.
        gone: the entities that are gone altogether; all their edges go.

    Returns:
        Ids of the relations that nothing supports any more; their rows are deleted.
    """
    lost: list[int] = []
    touched = sorted(set(keyframe_ids))
    for key in entities:
        query = "SELECT id, view, subject, predicate, object FROM relation WHERE subject = ? OR object = ?"
        for number, view, subject, predicate, object_ in connection.execute(query, (key, key)).fetchall():
            if subject in gone or object_ in gone:
                connection.execute("DELETE FROM relation_seen WHERE relation = ?", (number,))
            else:
                for keyframe_id in touched:
                    if not _supported(connection, keyframe_id, view, subject, predicate, object_):
                        delete = "DELETE FROM relation_seen WHERE relation = ? AND keyframe = ?"
                        connection.execute(delete, (number, keyframe_id))
            query = "SELECT 1 FROM relation_seen WHERE relation = ? LIMIT 1"
            if connection.execute(query, (number,)).fetchone() is None:
                connection.execute("DELETE FROM relation WHERE id = ?", (number,))
                lost.append(number)
    return lost


def _supported(
    connection: sqlite3.Connection, keyframe_id: int, view: int, subject: int, predicate: int, object_: int
) -> bool:
    query = (
        "SELECT 1 FROM relation_fact f JOIN assignment s ON s.view = ? AND s.observation = f.subject AND s.entity = ? "
        "JOIN assignment o ON o.view = ? AND o.observation = f.object AND o.entity = ? "
        "WHERE f.keyframe = ? AND f.predicate = ?"
    )
    return connection.execute(query, (view, subject, view, object_, keyframe_id, predicate)).fetchone() is not None
