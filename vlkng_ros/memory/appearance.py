"""What an entity looks like: the running mean of its crops' embeddings, and the crop that shows it best."""

from __future__ import annotations

import sqlite3

import numpy as np

from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.packing import unpack_box, unpack_vector
from vlkng_ros.memory.rows import Appearance
from vlkng_ros.types import FloatArray

_EVER = 2**63 - 1


def read_appearance(
    connection: sqlite3.Connection, catalogs: Catalogs, entity: int, as_of_ns: int | None
) -> Appearance | None:
    """Of an entity's row, up to a time; None where no crop of it was embedded by then.

    Crops of different encoders are not compared: those of the latest one count. The best crop is the surest and
    largest, by score times area.
    """
    query = (
        "SELECT o.id, k.id, k.visual_encoder, o.box, o.score, c.vector FROM assignment a "
        "JOIN crop c ON c.observation = a.observation JOIN observation o ON o.id = a.observation "
        "JOIN keyframe k ON k.id = o.keyframe WHERE a.entity = ? AND k.stamp <= ? ORDER BY k.stamp, o.id"
    )
    rows = connection.execute(query, (entity, _EVER if as_of_ns is None else as_of_ns)).fetchall()
    if not rows:
        return None
    encoder = rows[-1][2]
    rows = [row for row in rows if row[2] == encoder]
    mean: FloatArray = np.stack([unpack_vector(row[5]) for row in rows]).mean(axis=0)
    length = float(np.linalg.norm(mean))
    best = max(rows, key=_clarity)
    return Appearance(
        encoder_id=catalogs.term(encoder) if encoder is not None else "",
        mean=np.asarray(mean / max(length, 1e-12), dtype=np.float32),
        crops=len(rows),
        best_observation_id=best[0],
        best_keyframe_id=best[1],
        best_box_px=unpack_box(best[3]),
    )


def _clarity(row: tuple[int, int, int, bytes | None, float | None, bytes]) -> float:
    box = unpack_box(row[3])
    area = (box[2] - box[0]) * (box[3] - box[1]) if box is not None else 0.0
    return area * (row[4] if row[4] is not None else 1.0)
