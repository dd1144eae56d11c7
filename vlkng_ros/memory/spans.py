"""Stretches of a drive with a summary: chunks that a model described together, and longer clips."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory.rows import Span

CHUNK = "chunk"
"""The kind of what perception described together (VL-KnG's 8 keyframes)."""


def add_span(
    connection: sqlite3.Connection, kind: str, keyframe_ids: Sequence[int], summary: str, last_id: int, revision: int
) -> int:
    """Store a span, or give the one over the same keyframes another summary; inside a transaction. Returns its id.

    Raises:
        InvalidInputError: it has no kind or no keyframes.
        NotInMemoryError: one of the keyframes is not there.
    """
    ids = sorted(set(keyframe_ids))
    if not kind or not ids:
        raise InvalidInputError(f"span '{kind}' over {len(ids)} keyframes: needs a kind and at least one keyframe")
    query = "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM keyframe)"
    missing = connection.execute(query, (json.dumps(ids),)).fetchone()
    if missing is not None:
        raise NotInMemoryError(f"keyframe {missing[0]} is not in this memory; it may have been forgotten")
    values = (ids[0], kind, json.dumps(ids, separators=(",", ":")))
    query = "SELECT id FROM span WHERE first_keyframe = ? AND kind = ? AND keyframes = ?"
    known = connection.execute(query, values).fetchone()
    if known is not None:
        connection.execute("UPDATE span SET summary = ?, revision = ? WHERE id = ?", (summary, revision, known[0]))
        return int(known[0])
    insert = "INSERT INTO span (id, first_keyframe, kind, keyframes, summary, revision) VALUES (?, ?, ?, ?, ?, ?)"
    connection.execute(insert, (last_id + 1, *values, summary, revision))
    return last_id + 1


def read_spans(connection: sqlite3.Connection, kind: str | None, as_of_ns: int | None) -> list[Span]:
    """Spans in order of their first keyframe; as of a time only those that had ended by then."""
    query = (
        "SELECT s.id, s.kind, s.keyframes, s.summary, MIN(k.stamp), MAX(k.stamp) AS newest FROM span s "
        "JOIN json_each(s.keyframes) j JOIN keyframe k ON k.id = j.value WHERE ? IS NULL OR s.kind = ? "
        "GROUP BY s.id HAVING ? IS NULL OR newest <= ? ORDER BY MIN(k.stamp), s.id"
    )
    return [
        Span(number, named, tuple(json.loads(ids)), oldest, newest, summary)
        for number, named, ids, summary, oldest, newest in connection.execute(query, (kind, kind, as_of_ns, as_of_ns))
    ]
