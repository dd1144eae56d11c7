"""Texts, where they are mentioned, and visual embeddings, in the order in which an index takes them in.

All are read in pages, each inside a short read transaction, so that no transaction is held while a caller works.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.packing import unpack_vector, unpack_vectors
from vlkng_ros.memory.rows import Crop, StoredText
from vlkng_ros.types import FloatArray

PAGE = 2_000
VECTORS = 500
Reading = Callable[[], AbstractContextManager[None]]


def read_texts(connection: sqlite3.Connection, reading: Reading, after_text_id: int) -> Iterator[StoredText]:
    """Texts with ids above one, ascending, up to the last that was there when reading began."""
    with reading():
        (last,) = connection.execute("SELECT text FROM head").fetchone()
    query = (
        "SELECT t.id, t.text, v.vector FROM text t LEFT JOIN text_vector v "
        "ON v.encoder = (SELECT encoder FROM head) AND v.text = t.id WHERE t.id > ? AND t.id <= ? ORDER BY t.id LIMIT ?"
    )
    while True:
        with reading():
            rows = connection.execute(query, (after_text_id, last, PAGE)).fetchall()
        vectors = unpack_vectors([data for _, _, data in rows])
        for (number, text, _), vector in zip(rows, vectors, strict=True):
            yield StoredText(number, text, vector)
        if len(rows) < PAGE:
            return
        after_text_id = rows[-1][0]


def read_vectors(connection: sqlite3.Connection, text_ids: Sequence[int]) -> dict[int, FloatArray]:
    """Vectors of those of some texts that have one, by id."""
    found: dict[int, FloatArray] = {}
    for start in range(0, len(text_ids), VECTORS):
        part = text_ids[start : start + VECTORS]
        query = "SELECT text, vector FROM text_vector WHERE encoder = (SELECT encoder FROM head) AND text IN "
        rows = connection.execute(f"{query}({','.join('?' * len(part))})", tuple(part)).fetchall()
        vectors = unpack_vectors([data for _, data in rows])
        found.update({row[0]: vector for row, vector in zip(rows, vectors, strict=True) if vector is not None})
    return found


def read_crops(
    connection: sqlite3.Connection, reading: Reading, catalogs: Catalogs, after_observation_id: int
) -> Iterator[Crop]:
    """Visual embeddings of observations with ids above one, ascending."""
    query = (
        "SELECT c.observation, k.id, k.stamp, k.visual_encoder, c.vector FROM crop c "
        "JOIN observation o ON o.id = c.observation "
        "JOIN keyframe k ON k.id = o.keyframe WHERE c.observation > ? ORDER BY c.observation LIMIT ?"
    )
    while True:
        with reading():
            rows = connection.execute(query, (after_observation_id, PAGE)).fetchall()
            named = [(*row[:3], catalogs.term(row[3]), row[4]) for row in rows]
        for observation, keyframe, stamp_ns, encoder, data in named:
            yield Crop(observation, keyframe, stamp_ns, encoder, unpack_vector(data))
        if len(rows) < PAGE:
            return
        after_observation_id = rows[-1][0]


def read_mentions(
    connection: sqlite3.Connection, reading: Reading, after_keyframe_id: int, keyframe_ids: Sequence[int] | None
) -> Iterator[NDArray[np.int64]]:
    """Pages of mentions: keyframe, text, role and observation, shape ``(n, 4)``.

    By keyframe, ascending or as named: its caption's sentences in order, then label and region text by observation.
    What only the caption tells of is in its sentences already, and is not mentioned a second time.
    """
    if keyframe_ids is not None:
        for start in range(0, len(keyframe_ids), PAGE):
            page = np.array(keyframe_ids[start : start + PAGE], dtype=np.int64)
            stretches = np.split(page, np.flatnonzero(np.diff(page) != 1) + 1)
            with reading():
                rows = [_between(connection, int(stretch[0]) - 1, int(stretch[-1])) for stretch in stretches]
            yield np.concatenate(rows)
        return
    with reading():
        (last,) = connection.execute("SELECT keyframe FROM head").fetchone()
    for start in range(after_keyframe_id, last, PAGE):
        with reading():
            page_of_all = _between(connection, start, min(start + PAGE, last))
        yield page_of_all


def _between(connection: sqlite3.Connection, after: int, last: int) -> NDArray[np.int64]:
    query = (
        "SELECT keyframe, text, 0, 0 FROM keyframe_text WHERE keyframe > ? AND keyframe <= ? ORDER BY keyframe, ordinal"
    )
    captions = _table(connection.execute(query, (after, last)))
    query = (
        "SELECT o.keyframe, o.label, IFNULL(o.region, 0), o.id FROM keyframe k JOIN observation o "
        "ON o.id BETWEEN k.first_observation AND k.first_observation + k.observations - 1 AND NOT o.told "
        "WHERE k.id > ? AND k.id <= ?"
    )
    labels = _table(connection.execute(query, (after, last)))
    regions = labels[labels[:, 2] > 0][:, (0, 2, 1, 3)]
    labels[:, 2], regions[:, 2] = 1, 2
    table = np.concatenate([captions, labels, regions])
    # Stable, so that a caption's sentences stay in order and a label comes before its region text.
    return table[np.lexsort((table[:, 3], table[:, 0]))]


def _table(rows: Iterable[tuple[int, ...]]) -> NDArray[np.int64]:
    """Rows of four numbers, shape ``(n, 4)``."""
    return np.fromiter(itertools.chain.from_iterable(rows), dtype=np.int64).reshape(-1, 4)
