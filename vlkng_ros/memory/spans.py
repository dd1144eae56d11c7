"""Stretches of a drive with a summary: chunks (VL-KnG) and longer clips (Vgent).

Some are stored: what a model described together, and what ``add_span`` was called with. All other keyframes fall into
stretches of equally many, session by session in the order of time. These are derived when they are asked for, so that
they cost nothing while driving, follow what is forgotten, and as of a time are those of a memory that ended then.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory.rows import KeyframeTable, Span

CHUNK, CLIP = "chunk", "clip"
"""The kind of what perception describes together, and that of longer stretches."""
LENGTHS = {CHUNK: 8, CLIP: 64}
"""Keyframes of one: b of VL-KnG, K of Vgent."""
SENTENCES = {CHUNK: 3, CLIP: 6}
"""Of a summary that no model wrote: those most often said in its captions, in the order of first mention."""


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


def read_spans(
    connection: sqlite3.Connection, table: KeyframeTable, kind: str | None, as_of_ns: int | None
) -> list[Span]:
    """Spans in order of their first keyframe; as of a time only those that had ended by then.

    A stored one has ended with its last keyframe, a derived one also with its session: once a later one has keyframes.
    """
    found = _stored(connection, kind, as_of_ns)
    known = len(table) if as_of_ns is None else int(np.searchsorted(table.stamps_ns, as_of_ns, side="right"))
    for wanted in LENGTHS if kind is None else [kind] if kind in LENGTHS else []:
        covered = [number for span in found if span.kind == wanted for number in span.keyframe_ids]
        stretches = list(_stretches(table, known, LENGTHS[wanted], np.array(covered, dtype=np.int64)))
        summaries = _summaries(connection, [table.ids[frames].tolist() for frames in stretches], SENTENCES[wanted])
        for frames, summary in zip(stretches, summaries, strict=True):
            first, last = int(table.stamps_ns[frames[0]]), int(table.stamps_ns[frames[-1]])
            found.append(Span(0, wanted, tuple(table.ids[frames].tolist()), first, last, summary))
    return sorted(found, key=lambda span: (span.first_ns, span.kind, span.span_id))


def _stored(connection: sqlite3.Connection, kind: str | None, as_of_ns: int | None) -> list[Span]:
    query = (
        "SELECT s.id, s.kind, s.keyframes, s.summary, MIN(k.stamp), MAX(k.stamp) AS newest FROM span s "
        "JOIN json_each(s.keyframes) j JOIN keyframe k ON k.id = j.value WHERE ? IS NULL OR s.kind = ? "
        "GROUP BY s.id HAVING ? IS NULL OR newest <= ? ORDER BY MIN(k.stamp), s.id"
    )
    return [
        Span(number, named, tuple(json.loads(ids)), oldest, newest, summary)
        for number, named, ids, summary, oldest, newest in connection.execute(query, (kind, kind, as_of_ns, as_of_ns))
    ]


def _stretches(table: KeyframeTable, known: int, length: int, covered: NDArray[np.int64]) -> Iterator[NDArray[np.intp]]:
    """Rows of the first ``known`` keyframes that make up each stretch; those of stored spans are left out."""
    sessions = table.session[:known]
    free = ~np.isin(table.ids[:known], covered)
    newest = int(sessions.max()) if known else 0
    for session in np.unique(sessions).tolist():
        rows = np.flatnonzero((sessions == session) & free)
        for start in range(0, len(rows), length):
            part = rows[start : start + length]
            if len(part) == length or session < newest:
                yield part


def _summaries(connection: sqlite3.Connection, stretches: Sequence[Sequence[int]], at_most: int) -> list[str]:
    """What the captions of some keyframes say most often, for each of many."""
    chosen: list[list[int]] = []
    query = "SELECT t.text FROM json_each(?) j JOIN keyframe_text t ON t.keyframe = j.value ORDER BY j.key, t.ordinal"
    for ids in stretches:
        said = Counter(text for (text,) in connection.execute(query, (json.dumps(ids),)))
        most = {text for text, _ in said.most_common(at_most)}
        chosen.append([text for text in said if text in most])
    wanted = sorted({text for texts in chosen for text in texts})
    query = "SELECT id, text FROM text WHERE id IN (SELECT value FROM json_each(?))"
    words = dict(connection.execute(query, (json.dumps(wanted),)))
    return [" ".join(words.get(text, "") for text in texts) for texts in chosen]
