"""Entities derived anew from their observations, when some of these were forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import numpy as np

from vlkng_ros.memory.bases import BaseRows
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.entities import Checkpoint, EntityRows, EntityWriter, checkpoint_of
from vlkng_ros.memory.fold import KINDS, NOWHERE, Absence, Folded, grown
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.packing import unpack_vector


class Refolder:
    """Rewrites entities inside a transaction of the caller's."""

    def __init__(
        self, connection: sqlite3.Connection, catalogs: Catalogs, keyframes: KeyframeRows, revision: int
    ) -> None:
        self._connection = connection
        self._keyframes = keyframes
        self._rows = EntityRows(connection, catalogs, keyframes)
        self._writer = EntityWriter(connection)
        self._bases = BaseRows(connection)
        self._revision = revision

    def refold(self, keys: Iterable[int]) -> list[int]:
        """Derive these entities anew from their bases; the caller deletes those returned, of which nothing is left."""
        return [key for key in keys if not self._refold(key)]

    def _refold(self, key: int) -> bool:
        (kind,) = self._connection.execute("SELECT kind FROM entity WHERE id = ?", (key,)).fetchone()
        base = self._bases.load(key)
        folded, reach = (Folded.unseen(KINDS[kind]), NOWHERE) if base is None else base
        checkpoints: list[Checkpoint] = []
        for event in self._keyframes.events(key, folded.last_observation_id):
            if isinstance(event, Absence):
                folded.miss(event)
                continue
            map_before = folded.map
            folded.add(event)
            reach = grown(reach, map_before, folded)
            checkpoint = checkpoint_of(key, folded)
            if checkpoint is not None:
                checkpoints.append(checkpoint)
        self._connection.execute("DELETE FROM entity_checkpoint WHERE entity = ?", (key,))
        if not folded.observation_count:
            return False
        self._writer.add_checkpoints(checkpoints)
        self._writer.update([self._rows.known(key, "", "", folded, reach, self._revision)])
        return True

    def reweigh(self, keys: Iterable[int]) -> None:
        """Derive the visual embeddings of these entities anew."""
        query = (
            "SELECT crop.vector, IFNULL(k.visual_encoder, 0) FROM assignment a JOIN crop USING (observation) "
            "JOIN observation o ON o.id = a.observation JOIN keyframe k ON k.id = o.keyframe "
            "WHERE a.entity = ? ORDER BY a.observation"
        )
        for key in keys:
            self._connection.execute("DELETE FROM entity_appearance WHERE entity = ?", (key,))
            total, count, by = None, 0, 0
            for data, encoder in self._connection.execute(query, (key,)).fetchall():
                vector = unpack_vector(data)
                if total is None or total.shape != vector.shape or encoder != by:
                    total, count, by = vector, 1, encoder
                else:
                    total, count = total + vector, count + 1
            if total is not None:
                values = (key, by, count, np.asarray(total, dtype=np.float32).tobytes())
                self._connection.execute("INSERT INTO entity_appearance VALUES (?, ?, ?, ?)", values)
