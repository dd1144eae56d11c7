"""Texts and where they are mentioned, in the order in which an index takes them in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from vlkng_ros.memory.packing import unpack_vector
from vlkng_ros.memory.rows import Mention, StoredText

_PARTS = (
    "SELECT keyframe, text, 'caption' AS role, 0 AS observation, ordinal FROM keyframe_text WHERE {where} "
    "UNION ALL SELECT keyframe, label, 'label', id, 0 FROM observation WHERE {where} "
    "UNION ALL SELECT keyframe, region, 'region', id, 0 FROM observation WHERE region IS NOT NULL AND {where}"
)


def read_texts(connection: sqlite3.Connection, after_text_id: int) -> Iterator[StoredText]:
    """Texts with ids above one, ascending; read at once, decoded one by one."""
    query = (
        "SELECT t.id, t.text, v.vector FROM text t LEFT JOIN text_vector v "
        "ON v.encoder = (SELECT encoder FROM head) AND v.text = t.id WHERE t.id > ? ORDER BY t.id"
    )
    rows = connection.execute(query, (after_text_id,)).fetchall()
    return (StoredText(number, text, None if data is None else unpack_vector(data)) for number, text, data in rows)


def read_mentions(
    connection: sqlite3.Connection, after_keyframe_id: int, keyframe_ids: Sequence[int] | None
) -> Iterator[Mention]:
    """Mentions by keyframe: its caption's sentences in order, then labels and region texts by observation."""
    if keyframe_ids is None:
        rows = _since(connection, after_keyframe_id)
    else:
        rows = []
        for number in keyframe_ids:
            rows += _of(connection, number)
    return (Mention(*row) for row in rows)


def _since(connection: sqlite3.Connection, after: int) -> list[tuple[int, int, str, int]]:
    query = f"SELECT keyframe, text, role, observation FROM ({_PARTS.format(where='keyframe > ?')})"
    rows = connection.execute(query, (after, after, after)).fetchall()
    rows.sort(key=lambda row: (row[0], row[3]))
    return rows


def _of(connection: sqlite3.Connection, number: int) -> list[tuple[int, int, str, int]]:
    captions = connection.execute("SELECT keyframe, text FROM keyframe_text WHERE keyframe = ? ORDER BY ordinal", (number,))
    rows = [(keyframe, text, "caption", 0) for keyframe, text in captions]
    query = (
        "SELECT o.keyframe, o.label, o.region, o.id FROM keyframe k JOIN observation o "
        "ON o.id BETWEEN k.first_observation AND k.first_observation + k.observations - 1 WHERE k.id = ? ORDER BY o.id"
    )
    for keyframe, label, region, observation in connection.execute(query, (number,)):
        rows.append((keyframe, label, "label", observation))
        if region is not None:
            rows.append((keyframe, region, "region", observation))
    return rows
