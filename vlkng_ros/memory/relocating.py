"""Where entities are and were, derived anew from corrected poses: that part of the fold and nothing else.

A loop closure moves ten thousand frames at once. So the observations of all entities are read in one pass, and where
they are many, entities are shared out over processes: each is derived from its own observations alone.
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import operator
import os
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from vlkng_ros.memory.fold import CHECKPOINT_EVERY, KINDS, NOWHERE, PLACE_FORMAT, Absence, Fact, Folded, grown
from vlkng_ros.memory.keyframe_rows import KeyframeRows, Seen
from vlkng_ros.memory.packing import unpack_box
from vlkng_ros.memory.transactions import Store
from vlkng_ros.types import Detection

BATCH = 4_000
"""Observations derived at once, at least: few enough to hold, and enough to be worth sending."""
PROCESSES_FROM = 40_000
"""Observations from which on it pays to start processes, which takes half a second."""
MAX_PROCESSES = 8
logger = logging.getLogger(__name__)
_first = operator.itemgetter(0)


@dataclass(slots=True)
class Batch:
    """Entities to derive, with every keyframe that says something about them."""

    observations: dict[int, list[tuple[int, bytes | None, float | None, int]]] = field(default_factory=dict)
    """By entity, in order: id, box, depth, keyframe."""
    absences: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """By entity, in order: the first observation id of the keyframe, and the keyframe."""
    keyframes: dict[int, Seen] = field(default_factory=dict)


@dataclass(slots=True)
class Places:
    """What became of a batch, as rows to write."""

    entities: list[tuple[Any, ...]] = field(default_factory=list)
    """Position, point of view, reach, packed place, entity."""
    checkpoints: list[tuple[bytes, int, int]] = field(default_factory=list)
    """Packed place, entity, count."""


def derive(batch: Batch) -> Places:
    """Fold the observations and absences of a batch's entities; needs no database, so it can run anywhere."""
    places = Places()
    for key, rows in batch.observations.items():
        # Neither kind nor labels nor times depend on poses, so they are neither read nor written.
        folded, reach, missed = Folded.unseen(KINDS[0]), NOWHERE, 0
        absences = _absences_of(batch, key)
        for count, (number, box, depth, keyframe) in enumerate(rows, start=1):
            while missed < len(absences) and absences[missed].before_observation_id <= number:
                if count > 1:
                    folded.overlook(absences[missed])
                missed += 1
            map_before = folded.map
            folded.locate(Fact(number, Detection("", unpack_box(box), depth_m=depth), *batch.keyframes[keyframe]))
            reach = grown(reach, map_before, folded)
            if count % CHECKPOINT_EVERY == 0:
                places.checkpoints.append((folded.to_bytes(), key, count))
        for absence in absences[missed:]:
            folded.overlook(absence)
        place = folded.to_bytes()
        places.entities.append((*folded.position_m, *folded.seen_from_m, reach.to_bytes(), place, key))
    return places


def _absences_of(batch: Batch, key: int) -> list[Absence]:
    found = []
    for before, number in batch.absences.get(key, ()):
        seen = batch.keyframes[number]
        if seen.camera is not None:
            found.append(Absence(before, seen.keyframe, seen.camera))
    return found


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

    def relocate(self, keys: Iterable[int]) -> None:
        """Derive anew where these entities are, as of now and as of their checkpoints."""
        execute = self._connection.execute
        execute("CREATE TEMP TABLE IF NOT EXISTS relocated (id INTEGER PRIMARY KEY)")
        execute("DELETE FROM relocated")
        self._connection.executemany("INSERT INTO relocated VALUES (?)", ((key,) for key in keys))
        query = "SELECT COUNT(*) FROM relocated r JOIN assignment a ON a.entity = r.id"
        (observations,) = execute(query).fetchone()
        processes = min(len(os.sched_getaffinity(0)), MAX_PROCESSES)
        if observations < PROCESSES_FROM or processes < 2 or multiprocessing.current_process().daemon:
            processes = 1
        try:
            self._relocate(processes)
        except (BrokenProcessPool, OSError) as error:
            if processes == 1:
                raise
            logger.warning("processes to derive places in cannot be used (%s); going on in this one", error)
            self._relocate(1)
        execute("DELETE FROM relocated")

    def _relocate(self, processes: int) -> None:
        if processes == 1:
            for batch in self._batches():
                self._write(derive(batch))
            return
        # Not by fork: whoever writes a memory has threads, and locks with them.
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            waiting: deque[Future[Places]] = deque()
            for batch in self._batches():
                waiting.append(pool.submit(derive, batch))
                if len(waiting) > 2 * processes:
                    self._write(waiting.popleft().result())
            for future in waiting:
                self._write(future.result())

    def _batches(self) -> Iterator[Batch]:
        absences: dict[int, list[tuple[int, int, int]]] = {}
        query = (
            "SELECT a.entity, a.before_observation, k.id, k.revision FROM relocated r "
            "JOIN absence a ON a.entity = r.id JOIN keyframe k ON k.id = a.keyframe ORDER BY a.entity, a.described"
        )
        for key, *row in self._connection.execute(query):
            absences.setdefault(key, []).append((row[0], row[1], row[2]))
        query = (
            "SELECT a.entity, o.id, o.box, o.depth, k.id, k.revision FROM relocated r "
            "JOIN assignment a ON a.entity = r.id JOIN observation o ON o.id = a.observation "
            "JOIN keyframe k ON k.id = o.keyframe ORDER BY a.entity, a.observation"
        )
        batch, held = Batch(), 0
        for key, rows in itertools.groupby(self._connection.execute(query), _first):
            found = batch.observations[key] = []
            for _, number, box, depth, keyframe, revision in rows:
                found.append((number, box, depth, keyframe))
                if keyframe not in batch.keyframes:
                    batch.keyframes[keyframe] = self._keyframes.seen(keyframe, revision)
            for before, keyframe, revision in absences.get(key, ()):
                batch.absences.setdefault(key, []).append((before, keyframe))
                batch.keyframes[keyframe] = self._keyframes.seen(keyframe, revision)
            held += len(found)
            if held >= BATCH:
                yield batch
                batch, held = Batch(), 0
        yield batch

    def _write(self, places: Places) -> None:
        update = (
            "UPDATE entity SET x=?, y=?, z=?, from_x=?, from_y=?, from_z=?, reach=?, place=?, revision=? WHERE id=?"
        )
        rows = [(*values, self._revision, key) for *values, key in places.entities]
        self._connection.executemany(update, rows)
        update = "UPDATE entity_checkpoint SET place = ? WHERE entity = ? AND count = ?"
        self._connection.executemany(update, places.checkpoints)
