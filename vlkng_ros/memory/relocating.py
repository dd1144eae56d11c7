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
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vlkng_ros.memory.bases import Base, BaseRows
from vlkng_ros.memory.bearing import camera_view
from vlkng_ros.memory.catalogs import Camera, Catalogs
from vlkng_ros.memory.fold import CHECKPOINT_EVERY, KINDS, NOWHERE, PLACE_FORMAT, Absence, Fact, Folded, grown
from vlkng_ros.memory.keyframe_rows import Seen
from vlkng_ros.memory.packing import reads_rows, unpack_box, unpack_pose
from vlkng_ros.memory.transactions import Store
from vlkng_ros.types import Detection, Keyframe, PerceptionState

BATCH = 4_000
"""Observations derived at once, at least: few enough to hold, and enough to be worth sending."""
PROCESSES_FROM = 40_000
"""Observations from which on it pays to start processes, which takes half a second."""
MAX_PROCESSES = 8
AHEAD = 2
"""Batches that each of the other processes has before it."""
logger = logging.getLogger(__name__)
_first = operator.itemgetter(0)


class StoredKeyframe(NamedTuple):
    """What a place depends on of a keyframe, packed as it is stored: cheap to send."""

    stamp_ns: int
    base_pose: bytes
    camera_pose: bytes | None
    camera: int
    map: int

    def seen(self, cameras: Mapping[int, Camera]) -> Seen:
        """As the fold needs it; names and ids, which no place depends on, are left empty."""
        camera = cameras[self.camera]
        base = unpack_pose("", self.base_pose)
        optical = None if self.camera_pose is None else unpack_pose("", self.camera_pose)
        k, size, done = camera.intrinsics, camera.image_size_px, PerceptionState.DONE
        keyframe = Keyframe(0, self.stamp_ns, base, optical, "", 0, "", "", k, size, "", False, done, 0)
        return Seen(keyframe, camera_view(keyframe), self.map)


@dataclass(slots=True)
class Batch:
    """Entities to derive, with every keyframe that says something about them."""

    observations: dict[int, list[tuple[int, bytes | None, float | None, int]]] = field(default_factory=dict)
    """By entity, in order: id, box, depth, keyframe."""
    absences: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """By entity, in order: the first observation id of the keyframe, and the keyframe."""
    bases: dict[int, tuple[str, bytes, bytes]] = field(default_factory=dict)
    """By entity, where it has one: what its observations are folded onto, packed."""
    keyframes: dict[int, StoredKeyframe] = field(default_factory=dict)
    cameras: dict[int, Camera] = field(default_factory=dict)


@dataclass(slots=True)
class Places:
    """What became of a batch, as rows to write."""

    entities: list[tuple[Any, ...]] = field(default_factory=list)
    """Position, point of view, reach, packed place, entity."""
    checkpoints: list[tuple[bytes, int, int]] = field(default_factory=list)
    """Packed place, entity, count."""


@reads_rows
def derive(batch: Batch) -> Places:
    """Fold the observations and absences of a batch's entities; needs no database, so it can run anywhere."""
    places = Places()
    keyframes = {number: stored.seen(batch.cameras) for number, stored in batch.keyframes.items()}
    for key, rows in batch.observations.items():
        # Neither kind nor labels nor times depend on poses, so they are neither read nor written.
        folded, reach, missed = Folded.unseen(KINDS[0]), NOWHERE, 0
        if key in batch.bases:
            folded, reach = Base.from_stored(*batch.bases[key])
        absences = _absences_of(batch, key, keyframes)
        for count, (number, box, depth, keyframe) in enumerate(rows, start=folded.observation_count + 1):
            while missed < len(absences) and absences[missed].before_observation_id <= number:
                if count > 1:
                    folded.overlook(absences[missed])
                missed += 1
            map_before = folded.map
            folded.locate(Fact(number, Detection("", unpack_box(box), depth_m=depth), *keyframes[keyframe]))
            reach = grown(reach, map_before, folded)
            if count % CHECKPOINT_EVERY == 0:
                places.checkpoints.append((folded.to_bytes(), key, count))
        for absence in absences[missed:]:
            folded.overlook(absence)
        place = folded.to_bytes()
        places.entities.append((*folded.position_m, *folded.seen_from_m, reach.to_bytes(), place, key))
    return places


def _absences_of(batch: Batch, key: int, keyframes: Mapping[int, Seen]) -> list[Absence]:
    found = []
    for before, number in batch.absences.get(key, ()):
        seen = keyframes[number]
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
        BaseRows(store.connection).locate_anew()
        Relocator(store.connection, store.catalogs, head.revision).relocate(keys)
        head.place_format = PLACE_FORMAT


class Relocator:
    """Rewrites the places of entities inside a transaction of the caller's."""

    def __init__(self, connection: sqlite3.Connection, catalogs: Catalogs, revision: int) -> None:
        self._connection = connection
        self._catalogs = catalogs
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
        # Not by fork: whoever writes a memory has threads, and locks with them. This process derives too, from the
        # moment on when the others have enough before them, which are still starting then.
        workers = processes - 1
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            waiting: deque[Future[Places]] = deque()
            for batch in self._batches():
                if len(waiting) < AHEAD * workers:
                    waiting.append(pool.submit(derive, batch))
                else:
                    self._write(derive(batch))
                while waiting and waiting[0].done():
                    self._write(waiting.popleft().result())
            for future in waiting:
                self._write(future.result())

    def _batches(self) -> Iterator[Batch]:
        absences: dict[int, list[tuple[int, int]]] = {}
        query = (
            "SELECT a.entity, a.before_observation, a.keyframe FROM relocated r "
            "JOIN absence a ON a.entity = r.id ORDER BY a.entity, a.described"
        )
        for key, before, keyframe in self._connection.execute(query):
            absences.setdefault(key, []).append((before, keyframe))
        query = "SELECT r.id, b.folded, b.place, b.reach FROM relocated r JOIN entity_base b ON b.entity = r.id"
        bases = {key: (folded, place, reach) for key, folded, place, reach in self._connection.execute(query)}
        query = (
            "SELECT r.id, o.id, o.box, o.depth, o.keyframe FROM relocated r "
            "LEFT JOIN entity_base b ON b.entity = r.id "
            "LEFT JOIN assignment a ON a.entity = r.id AND a.observation > IFNULL(b.last_observation, 0) "
            "LEFT JOIN observation o ON o.id = a.observation ORDER BY r.id, a.observation"
        )
        batch, held = Batch(), 0
        for key, rows in itertools.groupby(self._connection.execute(query), _first):
            # An entity whose observations are all in its base has one row, of nothing.
            found = batch.observations[key] = [row[1:] for row in rows if row[1] is not None]
            if key in bases:
                batch.bases[key] = bases[key]
            if key in absences:
                batch.absences[key] = absences[key]
            for keyframe in (*(row[3] for row in found), *(row[1] for row in absences.get(key, ()))):
                if keyframe not in batch.keyframes:
                    batch.keyframes[keyframe] = self._stored(keyframe, batch.cameras)
            held += len(found) + 1
            if held >= BATCH:
                yield batch
                batch, held = Batch(), 0
        yield batch

    @reads_rows
    def _stored(self, number: int, cameras: dict[int, Camera]) -> StoredKeyframe:
        query = "SELECT stamp, base_pose, camera_pose, camera, session FROM keyframe WHERE id = ?"
        stamp, base, optical, camera, session = self._connection.execute(query, (number,)).fetchone()
        cameras[camera] = self._catalogs.camera(camera)
        return StoredKeyframe(stamp, base, optical, camera, self._catalogs.map_of_session(session))

    def _write(self, places: Places) -> None:
        update = (
            "UPDATE entity SET x=?, y=?, z=?, from_x=?, from_y=?, from_z=?, reach=?, place=?, revision=? WHERE id=?"
        )
        rows = [(*values, self._revision, key) for *values, key in places.entities]
        self._connection.executemany(update, rows)
        update = "UPDATE entity_checkpoint SET place = ? WHERE entity = ? AND count = ?"
        self._connection.executemany(update, places.checkpoints)
