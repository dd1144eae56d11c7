"""A view while it is written: what an associator may look up, and how its decisions become rows."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vlkng_ros.memory.association.base import Associator, EntityRecord
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.entities import Checkpoint, EntityRows, EntityWriter, KnownEntity, checkpoint_of, grown
from vlkng_ros.memory.fold import NOWHERE, EntityState
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.labels import normal_form, type_slug
from vlkng_ros.memory.spatial_index import SpatialGrid
from vlkng_ros.memory.texts import TextStore, Vocabulary
from vlkng_ros.types import FloatArray, Keyframe, Observation, Vec3

MAX_RECORDS = 20_000
"""Entities kept decoded in memory."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Staged:
    """What a keyframe does to a view: applied in memory once it is committed."""

    entities: tuple[KnownEntity, ...]
    """One an observation, as they are afterwards."""
    used: dict[int, int]
    """Counters by hash of the type."""


class LiveView:
    """The entities of one view (``association.base.View``), at a cost that does not grow with their number."""

    def __init__(
        self, connection: sqlite3.Connection, catalogs: Catalogs, texts: TextStore, vocabulary: Vocabulary, name: str
    ) -> None:
        self.name = name
        self.number = 0
        self.associated = 0
        """Revision of the newest description that this view has associated."""
        self._connection = connection
        self._catalogs = catalogs
        self._texts = texts
        self._vocabulary = vocabulary
        self._keyframes = KeyframeRows(connection, catalogs)
        self._rows = EntityRows(connection, catalogs, self._keyframes)
        self._writer = EntityWriter(connection)
        self._records: dict[int, KnownEntity] = {}
        self._grids: dict[str, SpatialGrid] = {}
        self._map_of: dict[int, str] = {}
        self._used: dict[int, int] = {}
        self._labels: dict[int, str] = {}

    def load(self) -> None:
        """Read where every entity is; everything else is read when it is asked for."""
        self._records.clear()
        self._grids.clear()
        self._map_of.clear()
        self._used.clear()
        self._labels.clear()
        query = "SELECT id, associated FROM view WHERE name = ?"
        row = self._connection.execute(query, (self.name,)).fetchone()
        if row is None:
            self.number = self.associated = 0
            return
        self.number, self.associated = row
        self._labels = dict(
            self._connection.execute(
                "SELECT id, text FROM text WHERE id IN (SELECT DISTINCT label FROM entity_label WHERE view = ?)",
                (self.number,),
            )
        )
        query = "SELECT id, map, x, y, z, from_x, from_y, from_z FROM entity WHERE view = ?"
        for key, map_, x, y, z, from_x, from_y, from_z in self._connection.execute(query, (self.number,)):
            self._place(key, self._catalogs.map(map_)[0], (x, y, z), (from_x, from_y, from_z))

    # ------------------------------------------------------------------------------------- what associators ask

    def near(self, position_m: Vec3, radius_m: float, map_id: str) -> Iterator[KnownEntity]:
        """Entities whose position or last point of view lies within ``radius_m``, in order of creation."""
        grid = self._grids.get(map_id)
        if grid is not None:
            for key in grid.near(position_m, radius_m):
                yield self.record(key)

    def alike(self, label: str, cosine: float) -> Iterator[KnownEntity]:
        """Entities, wherever they are, with a label whose similarity to ``label`` is above ``cosine``."""
        similar = [number for number, text in self._labels.items() if self.label_similarity(label, text) > cosine]
        keys: set[int] = set()
        for number in similar:
            query = "SELECT entity FROM entity_label WHERE view = ? AND label = ?"
            keys.update(row[0] for row in self._connection.execute(query, (self.number, number)))
        for key in sorted(keys):
            yield self.record(key)

    def label_similarity(self, a: str, b: str) -> float:
        """Cosine of two labels' embeddings; 1.0 for equal labels, and 0.0 for others where there is no encoder."""
        if a == b or normal_form(a) == normal_form(b):
            return 1.0
        return self._vocabulary.similarity(a, b)

    def record(self, key: int) -> KnownEntity:
        """An entity by its row."""
        found = self._records.get(key)
        if found is None:
            loaded = self._rows.load(self.name, key)
            if loaded is None:
                raise LookupError(f"view '{self.name}': no row {key}")
            found = replace(loaded, appearance=self._appearance(key))
            self._remember(found)
        return found

    def _appearance(self, key: int) -> FloatArray | None:
        row = self._connection.execute("SELECT total FROM entity_appearance WHERE entity = ?", (key,)).fetchone()
        return None if row is None else _unit(np.frombuffer(row[0], dtype=np.float32))

    # ------------------------------------------------------------------------------------------ applying decisions

    def stage(
        self,
        keyframe: Keyframe,
        observations: Sequence[Observation],
        decided: Sequence[EntityRecord | None],
        last_key: int,
        revision: int,
    ) -> Staged:
        """Write what an associator decided, inside the caller's transaction; memory follows with ``install``."""
        used: dict[int, int] = {}
        taken: set[int] = set()
        entities: list[KnownEntity] = []
        checkpoints: list[Checkpoint] = []
        for observation, decision in zip(observations, decided, strict=True):
            before = self._checked(decision, taken)
            fact = self._keyframes.fact(observation.observation_id, observation.detection, keyframe)
            if before is None:
                last_key += 1
                state = EntityState.unseen(observation.detection.kind)
                state.add(fact)
                slug = type_slug(observation.detection.label)
                number = self._next_number(slug, used)
                reach = grown(NOWHERE, None, state)
                after = self._rows.known(last_key, f"{slug}_{number}", self.name, state, reach, revision)
                self._writer.insert(self.number, self._catalogs.new_slug_number(slug), number, after)
            else:
                state = before.state.copy()
                state.add(fact)
                reach = grown(before.reach, before.state, state)
                after = self._rows.known(before.key, before.entity_id, self.name, state, reach, revision)
                self._writer.update(after)
            after = replace(after, appearance=self._add_appearance(after.key, observation, before))
            taken.add(after.key)
            entities.append(after)
            self._add_label(after, observation.detection.label, before)
            checkpoint = checkpoint_of(after.key, state)
            if checkpoint is not None:
                checkpoints.append(checkpoint)
        pairs = zip(observations, entities, strict=True)
        self._connection.executemany(
            "INSERT INTO assignment (view, observation, entity) VALUES (?, ?, ?)",
            [(self.number, observation.observation_id, entity.key) for observation, entity in pairs],
        )
        self._writer.add_checkpoints(checkpoints)
        store = "INSERT INTO entity_counter VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used"
        self._connection.executemany(store, [(self.number, hash_, number) for hash_, number in used.items()])
        return Staged(tuple(entities), used)

    def install(self, staged: Staged, described: int) -> None:
        """Take over in memory what was committed."""
        self.associated = described
        self._used.update(staged.used)
        for entity in staged.entities:
            self._remember(entity)
            self._place(entity.key, entity.map_id, entity.position.mean_m, entity.seen_from_m)

    def _checked(self, decision: EntityRecord | None, taken: set[int]) -> KnownEntity | None:
        if decision is None:
            return None
        if not isinstance(decision, KnownEntity) or decision.view != self.name or decision.key in taken:
            logger.warning("view '%s': the associator gave %s a second time or from elsewhere; made a new entity",
                           self.name, decision.entity_id)
            return None
        return self.record(decision.key)

    def _next_number(self, slug: str, used: dict[int, int]) -> int:
        # By hash, so that the counter outlives a forgotten word without keeping it.
        digest = hashlib.blake2b(slug.encode(), digest_size=8).digest()
        name = int.from_bytes(digest, "big", signed=True)
        last = used.get(name, self._used.get(name))
        if last is None:
            query = "SELECT used FROM entity_counter WHERE view = ? AND hash = ?"
            row = self._connection.execute(query, (self.number, name)).fetchone()
            last = 0 if row is None else int(row[0])
        used[name] = last + 1
        return last + 1

    def _add_label(self, entity: KnownEntity, label: str, before: KnownEntity | None) -> None:
        if before is not None and label in before.state.labels:
            return
        number = self._texts.number(label)
        if number is not None:
            insert = "INSERT OR IGNORE INTO entity_label VALUES (?, ?, ?)"
            self._connection.execute(insert, (self.number, number, entity.key))
            self._labels[number] = label

    def _add_appearance(self, key: int, observation: Observation, before: KnownEntity | None) -> FloatArray | None:
        vector = observation.detection.embedding
        known = before.appearance if before is not None else None
        if vector is None:
            return known
        row = None
        if known is not None and known.shape == vector.shape:
            query = "SELECT count, total FROM entity_appearance WHERE entity = ?"
            row = self._connection.execute(query, (key,)).fetchone()
        total, count = np.asarray(vector, dtype=np.float32), 1
        if row is not None:
            total, count = total + np.frombuffer(row[1], dtype=np.float32), row[0] + 1
        self._connection.execute("INSERT OR REPLACE INTO entity_appearance VALUES (?, ?, ?)", (key, count, total.tobytes()))
        return _unit(total)

    def _remember(self, entity: KnownEntity) -> None:
        self._records.pop(entity.key, None)
        self._records[entity.key] = entity
        if len(self._records) > MAX_RECORDS:
            del self._records[next(iter(self._records))]

    def _place(self, key: int, map_id: str, position_m: Vec3, seen_from_m: Vec3) -> None:
        known = self._map_of.get(key)
        if known is not None and known != map_id:
            self._grids[known].remove(key)
        self._map_of[key] = map_id
        grid = self._grids.get(map_id)
        if grid is None:
            grid = self._grids[map_id] = SpatialGrid()
        grid.place(key, 0, position_m)
        grid.place(key, 1, seen_from_m)


@dataclass(slots=True)
class LiveAssociation:
    """An associator and the view that it writes."""

    associator: Associator
    view: LiveView


def _unit(vector: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector
