"""A memory made of rows that were found on whole pages of a damaged one, so far as they fit together.

Which table a row is of is told by its columns alone. Facts are brought over: keyframes, observations, texts, relations.
Identity is not: it is decided anew from them.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vlkng_ros.memory.page_scan import PageScan, Row
from vlkng_ros.memory.schema import migrate

_SLUG = re.compile(r"\w+")
_MOST_SENTENCES = 1_000
_KINDS = {"i": (int,), "t": (str,), "b": (bytes,), "r": (float, int)}
"""Types by letter; a capital one may be missing. Whole reals are stored as integers."""
_SHAPES = {
    "map": "itt",
    "session": "itii",
    "camera": "itIIRRRRII",
    "text": "iit",
    "term": "it",
    "crop": "ib",
    "keyframe": "iiiibBiiIIiIIIITi",
    "span": "ititti",
    "observation": "iiiiIIIBRRi",
    "observation of schema 1": "iiiiIIIBRR",
}

_MENDED = (
    "UPDATE observation SET label = region WHERE label NOT IN (SELECT id FROM text) "
    "AND region IN (SELECT id FROM text)",
    "INSERT OR IGNORE INTO map SELECT DISTINCT map, 'lost-' || map, 'map' FROM session",
    "INSERT OR IGNORE INTO map SELECT DISTINCT -session, 'lost-session-' || session, 'map' FROM keyframe "
    "WHERE session NOT IN (SELECT id FROM session)",
    "INSERT OR IGNORE INTO session SELECT DISTINCT session, '', -session, 0 FROM keyframe",
    "INSERT OR IGNORE INTO camera (id, name) SELECT DISTINCT camera, '' FROM keyframe",
    *(
        f"UPDATE {table} SET {column} = NULL WHERE {column} NOT IN (SELECT id FROM term)"
        for table, columns in (
            ("keyframe", ("backend", "model", "visual_encoder")),
            ("observation", ("attributes", "local_id")),
        )
        for column in columns
    ),
)
"""What rows stand on where that is lost: maps that no other drive is in, and cameras of which nothing is known. What a
lost string said is not known any more, but a thing whose name is lost is still what it was described as."""


def rebuild(damaged: Path, target: Path) -> int:
    """Write what is found into a new database; returns the number of keyframes.

    Args:
        damaged: the file; it is not changed.
        target: where there is none yet.
    """
    found: dict[str, list[Sequence[Row]]] = defaultdict(list)
    for with_row_ids, rows in PageScan(damaged).pages():
        if with_row_ids:
            for table, shape in _SHAPES.items():
                fitting = [row for row in rows if _fits(row, shape)]
                if 2 * len(fitting) > len(rows):
                    found[table].append(fitting)
        elif all(type(value) is int for row in rows for value in row):
            found[f"{len(rows[0])} numbers"].append(rows)
    # Names of types look like terms; where both claim a number, the term is on a page that not only names are on.
    found["term"].sort(key=lambda rows: all(_SLUG.fullmatch(str(row[1])) for row in rows))
    connection = sqlite3.connect(target, isolation_level=None)
    try:
        migrate(connection)
        connection.execute("BEGIN")
        for table, shape in _SHAPES.items():
            _insert(connection, table.partition(" ")[0], len(shape), itertools.chain.from_iterable(found[table]))
        _insert(connection, "keyframe_text", 3, _sentences(found["3 numbers"]))
        _insert(connection, "relation_fact", 4, _relations(connection, found["4 numbers"]))
        for statement in _MENDED:
            connection.execute(statement)
        connection.execute("UPDATE head SET keyframe = (SELECT IFNULL(MAX(id), 0) FROM keyframe)")
        connection.execute("COMMIT")
        return int(connection.execute("SELECT COUNT(*) FROM keyframe").fetchone()[0])
    finally:
        connection.close()


def _fits(row: Row, shape: str) -> bool:
    return len(row) == len(shape) and all(
        (value is None and letter.isupper()) or isinstance(value, _KINDS[letter.lower()])
        for value, letter in zip(row, shape, strict=True)
    )


def _insert(connection: sqlite3.Connection, table: str, columns: int, rows: Iterable[Row]) -> None:
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")][:columns]
    insert = f"INSERT OR IGNORE INTO {table} ({','.join(names)}) VALUES ({','.join('?' * columns)})"
    connection.executemany(insert, rows)


def _sentences(pages: Sequence[Sequence[Row]]) -> Iterator[Row]:
    """Rows ``(keyframe, ordinal, text)``, which count from 0 in each keyframe."""
    known: set[Row] = set()
    others: list[Sequence[Row]] = []
    for rows in pages:
        if _count_up(rows):
            known.update(row[:2] for row in rows)
            yield from rows
        else:
            others.append(rows)
    for rows in others:
        # The few rows on the way to those pages, each between two of them.
        before = [(row[0], int(row[1] or 0) + (1 if row[1] == 0 else -1)) for row in rows]
        if all(row[:2] not in known and at in known for row, at in zip(rows, before, strict=True)):
            yield from rows


def _count_up(rows: Sequence[Row]) -> bool:
    pairs = list(itertools.pairwise(rows))
    changes = [b[1] for a, b in pairs if a[0] != b[0]]
    goes_on = all(a[0] != b[0] or b[1] == int(a[1] or 0) + 1 for a, b in pairs)
    return bool(changes) and not any(changes) and goes_on and 0 <= int(rows[0][1] or 0) < _MOST_SENTENCES


def _relations(connection: sqlite3.Connection, pages: Iterable[Sequence[Row]]) -> Iterator[Row]:
    """Rows ``(keyframe, subject, predicate, object)`` whose ends are two observations of that keyframe."""
    query = "SELECT id, first_observation, observations FROM keyframe WHERE first_observation IS NOT NULL"
    shown = {number: range(first, first + count) for number, first, count in connection.execute(query)}
    terms = {row[0] for row in connection.execute("SELECT id FROM term")}
    for rows in pages:
        known = [row for row in rows if row[0] in shown]
        if 2 * len(known) > len(rows) and all(
            subject != other and subject in shown[keyframe] and other in shown[keyframe]
            for keyframe, subject, _, other in known
        ):
            yield from (row for row in known if row[2] in terms)
