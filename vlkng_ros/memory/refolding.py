"""Entities derived anew from their observations: after a correction of poses, or when observations were forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import numpy as np

from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.entities import Checkpoint, EntityRows, EntityWriter, checkpoint_of, grown
from vlkng_ros.memory.fold import KINDS, NOWHERE, EntityState
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
        self._revision = revision

    def refold(self, keys: Iterable[int]) -> list[int]:
        """Derive these entities anew; returns those that no observation is left of: the caller deletes them."""
        gone: list[int] = []
        for key in keys:
            checkpoints: list[Checkpoint] = []
            query = "SELECT kind FROM entity WHERE id = ?"
            state = EntityState.unseen(KINDS[self._connection.execute(query, (key,)).fetchone()[0]])
            reach, before = NOWHERE, 0
            for fact in self._keyframes.facts(key):
                if state.observation_count and fact.map != before:
                    reach = NOWHERE
                state.add(fact)
                before = state.map
                reach = grown(reach, None, state)
                checkpoint = checkpoint_of(key, state)
                if checkpoint is not None:
                    checkpoints.append(checkpoint)
            self._connection.execute("DELETE FROM entity_checkpoint WHERE entity = ?", (key,))
            if not state.observation_count:
                gone.append(key)
                continue
            self._writer.add_checkpoints(checkpoints)
            self._writer.update(self._rows.known(key, "", "", state, reach, self._revision))
        return gone

    def reweigh(self, keys: Iterable[int]) -> None:
        """Derive the visual embeddings of these entities anew."""
        query = (
            "SELECT crop.vector FROM assignment a JOIN crop ON crop.observation = a.observation "
            "WHERE a.entity = ? ORDER BY a.observation"
        )
        for key in keys:
            self._connection.execute("DELETE FROM entity_appearance WHERE entity = ?", (key,))
            total, count = None, 0
            for (data,) in self._connection.execute(query, (key,)).fetchall():
                vector = unpack_vector(data)
                if total is None or total.shape != vector.shape:
                    total, count = vector, 1
                else:
                    total, count = total + vector, count + 1
            if total is not None:
                values = (key, count, np.asarray(total, dtype=np.float32).tobytes())
                self._connection.execute("INSERT INTO entity_appearance VALUES (?, ?, ?)", values)
