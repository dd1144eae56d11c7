"""Where entities are and were, derived anew from corrected poses: that part of the fold and nothing else.

A loop closure moves ten thousand frames at once, so the observations of all entities are read in one pass.
"""

from __future__ import annotations

import itertools
import logging
import operator
import sqlite3
from collections.abc import Iterable
from typing import Any

from vlkng_ros.memory.fold import CHECKPOINT_EVERY, KINDS, NOWHERE, PLACE_FORMAT, Absence, Fact, Folded, Reach, grown
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.packing import unpack_box
from vlkng_ros.memory.transactions import Store
from vlkng_ros.types import Detection

FLUSH_EVERY = 2_000
"""Entities derived before their rows are written."""
logger = logging.getLogger(__name__)
_first = operator.itemgetter(0)


def bring_up_to_date(store: Store) -> None:
    """Derive every place anew where the memory holds them in another form than this version's: one operation."""
    if store.head.place_format == PLACE_FORMAT:
        return
    keys = [row[0] for row in store.connection.execute("SELECT id FROM entity ORDER BY id")]
    if keys:
        logger.info("%s: deriving the places of %d entities anew for this version", store.path, len(keys))
    with store.operation() as head:
        Relocator(store.connection, store.keyframes, head.revision).relocate(keys)
        head.place_format = PLACE_FORMAT


class Relocator:
    """Rewrites the places of entities inside a transaction of the caller's."""

    def __init__(self, connection: sqlite3.Connection, keyframes: KeyframeRows, revision: int) -> None:
        self._connection = connection
        self._keyframes = keyframes
        self._revision = revision
        self._entities: list[tuple[Any, ...]] = []
        self._checkpoints: list[tuple[bytes, int, int]] = []

    def relocate(self, keys: Iterable[int]) -> None:
        """Derive anew where these entities are, as of now and as of their checkpoints."""
        execute = self._connection.execute
        execute("CREATE TEMP TABLE IF NOT EXISTS relocated (id INTEGER PRIMARY KEY)")
        execute("DELETE FROM relocated")
        self._connection.executemany("INSERT INTO relocated VALUES (?)", ((key,) for key in keys))
        absences = self._absences()
        query = (
            "SELECT a.entity, o.id, o.box, o.depth, k.id, k.revision FROM relocated r "
            "JOIN assignment a ON a.entity = r.id JOIN observation o ON o.id = a.observation "
            "JOIN keyframe k ON k.id = o.keyframe ORDER BY a.entity, a.observation"
        )
        for key, rows in itertools.groupby(execute(query), _first):
            self._fold(key, rows, absences.get(key, []))
            if len(self._entities) >= FLUSH_EVERY:
                self._flush()
        self._flush()
        execute("DELETE FROM relocated")

    def _fold(self, key: int, rows: Iterable[tuple[Any, ...]], absences: list[Absence]) -> None:
        # Neither kind nor labels nor times depend on poses, so they are neither read nor written.
        folded, reach, missed = Folded.unseen(KINDS[0]), NOWHERE, 0
        for count, (_, number, box, depth, keyframe, revision) in enumerate(rows, start=1):
            while missed < len(absences) and absences[missed].before_observation_id <= number:
                if count > 1:
                    folded.overlook(absences[missed])
                missed += 1
            map_before = folded.map
            detection = Detection("", unpack_box(box), depth_m=depth)
            folded.locate(Fact(number, detection, *self._keyframes.seen(keyframe, revision)))
            reach = grown(reach, map_before, folded)
            if count % CHECKPOINT_EVERY == 0:
                self._checkpoints.append((folded.to_bytes(), key, count))
        for absence in absences[missed:]:
            folded.overlook(absence)
        self._entities.append(self._row(key, folded, reach))

    def _row(self, key: int, folded: Folded, reach: Reach) -> tuple[Any, ...]:
        place = folded.to_bytes()
        return (*folded.position_m, *folded.seen_from_m, reach.to_bytes(), place, self._revision, key)

    def _flush(self) -> None:
        update = (
            "UPDATE entity SET x=?, y=?, z=?, from_x=?, from_y=?, from_z=?, reach=?, place=?, revision=? WHERE id=?"
        )
        self._connection.executemany(update, self._entities)
        update = "UPDATE entity_checkpoint SET place = ? WHERE entity = ? AND count = ?"
        self._connection.executemany(update, self._checkpoints)
        self._entities.clear()
        self._checkpoints.clear()

    def _absences(self) -> dict[int, list[Absence]]:
        query = (
            "SELECT a.entity, a.before_observation, k.id, k.revision FROM relocated r "
            "JOIN absence a ON a.entity = r.id JOIN keyframe k ON k.id = a.keyframe ORDER BY a.entity, a.described"
        )
        found: dict[int, list[Absence]] = {}
        for key, before, keyframe, revision in self._connection.execute(query):
            seen = self._keyframes.seen(keyframe, revision)
            if seen.camera is not None:
                found.setdefault(key, []).append(Absence(before, seen.keyframe, seen.camera))
        return found
