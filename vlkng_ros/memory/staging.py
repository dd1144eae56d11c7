"""An associator's decisions about one keyframe, turned into rows of its view."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from vlkng_ros.memory.association.base import EntityRecord
from vlkng_ros.memory.bearing import CameraView
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.entities import Checkpoint, EntityWriter, KnownEntity, checkpoint_of
from vlkng_ros.memory.fold import NOWHERE, Absence, Fact, Folded, grown
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.labels import type_slug
from vlkng_ros.memory.live_view import LiveView, unit
from vlkng_ros.memory.scene import Scene
from vlkng_ros.memory.texts import TextStore
from vlkng_ros.memory.visibility import MAX_RANGE_M, expected
from vlkng_ros.types import FloatArray, Observation

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Staged:
    """What a keyframe does to a view: applied in memory once it is committed."""

    seen: list[KnownEntity] = field(default_factory=list)
    """One an observation, as they are afterwards."""
    missed: list[KnownEntity] = field(default_factory=list)
    """Those that should have been seen, as they are afterwards."""
    used: dict[int, int] = field(default_factory=dict)
    """Counters by hash of the type."""
    labels: dict[int, str] = field(default_factory=dict)
    """Labels that entities were given for the first time, by text id."""


class Stager:
    """Writes one keyframe into one view, inside a transaction of the caller's."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        catalogs: Catalogs,
        keyframes: KeyframeRows,
        texts: TextStore,
        view: LiveView,
        revision: int,
    ) -> None:
        self._connection = connection
        self._catalogs = catalogs
        self._keyframes = keyframes
        self._texts = texts
        self._view = view
        self._revision = revision
        self._writer = EntityWriter(connection)
        self._staged = Staged()
        self._new: list[tuple[int, int, KnownEntity]] = []
        self._labels: list[tuple[int, int, int]] = []

    def stage(self, scene: Scene, decided: Sequence[EntityRecord | None], last_key: int) -> Staged:
        """Write what was decided; new entities get the keys after ``last_key``."""
        taken: set[int] = set()
        changed: list[KnownEntity] = []
        checkpoints: list[Checkpoint] = []
        for observation, decision in zip(scene.observations, decided, strict=True):
            before = self._checked(decision, taken)
            fact = self._keyframes.fact(observation.observation_id, observation.detection, scene.keyframe)
            if before is None:
                last_key += 1
                after = self._create(last_key, fact)
            else:
                after = self._refresh(before, fact)
                changed.append(after)
            after.appearance = self._add_appearance(after.key, scene.visual_encoder, observation, before)
            taken.add(after.key)
            self._staged.seen.append(after)
            if before is None or observation.detection.label not in before.folded.labels:
                self._add_label(after, observation.detection.label)
            checkpoint = checkpoint_of(after.key, after.folded)
            if checkpoint is not None:
                checkpoints.append(checkpoint)
        if scene.whole:
            self._miss(scene, taken)
        view, insert = self._view.number, self._connection.executemany
        self._writer.insert(view, self._new)
        self._writer.update([*changed, *self._staged.missed])
        self._writer.add_checkpoints(checkpoints)
        seen = zip(scene.observations, self._staged.seen, strict=True)
        insert(
            "INSERT INTO assignment (view, observation, entity) VALUES (?, ?, ?)",
            [(view, observation.observation_id, entity.key) for observation, entity in seen],
        )
        keyframe_id, first = scene.keyframe.keyframe_id, scene.first_observation
        missed = [(entity.key, scene.described, keyframe_id, first) for entity in self._staged.missed]
        insert("INSERT INTO absence VALUES (?, ?, ?, ?)", missed)
        insert("INSERT OR IGNORE INTO entity_label VALUES (?, ?, ?)", self._labels)
        insert(
            "INSERT INTO entity_counter VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used",
            [(view, hash_, number) for hash_, number in self._staged.used.items()],
        )
        update = "UPDATE view SET associated = ? WHERE id = ?"
        self._connection.execute(update, (scene.described, self._view.number))
        return self._staged

    def _checked(self, decision: EntityRecord | None, taken: set[int]) -> KnownEntity | None:
        if decision is None:
            return None
        if not isinstance(decision, KnownEntity) or decision.view != self._view.name or decision.key in taken:
            logger.warning(
                "view '%s': its associator chose %s twice in a keyframe, or from another view; made a new entity",
                self._view.name,
                decision.entity_id,
            )
            return None
        return self._view.record(decision.key)

    def _create(self, key: int, fact: Fact) -> KnownEntity:
        folded = Folded.unseen(fact.detection.kind)
        folded.add(fact)
        slug = type_slug(fact.detection.label)
        number = self._next_number(slug)
        reach = grown(NOWHERE, 0, folded)
        made = self._view.known(key, f"{slug}_{number}", folded, reach, self._revision)
        self._new.append((self._catalogs.new_slug_number(slug), number, made))
        return made

    def _refresh(self, before: KnownEntity, fact: Fact) -> KnownEntity:
        folded = before.folded.copy()
        folded.add(fact)
        reach = grown(before.reach, before.folded.map, folded)
        return self._view.known(before.key, before.entity_id, folded, reach, self._revision)

    def _miss(self, scene: Scene, taken: set[int]) -> None:
        """Note what this keyframe should have shown and did not."""
        keyframe = scene.keyframe
        camera = self._keyframes.camera(keyframe)
        if camera is None:
            return
        boxes = [o.detection.box_px for o in scene.observations if o.detection.box_px is not None]
        absence = Absence(scene.first_observation, keyframe, camera)
        near = self._view.standing_near(camera.centre_m, MAX_RANGE_M, keyframe.map_id)
        # Most of what is near is not in the image at all, and that is cheap to tell.
        for before in _in_image(camera, near):
            if before.key in taken or not expected(before.presence, before.place, camera, boxes):
                continue
            folded = before.folded.copy()
            folded.miss(absence)
            if folded.presence is before.folded.presence:
                continue
            after = self._view.known(before.key, before.entity_id, folded, before.reach, self._revision)
            after.appearance = before.appearance
            self._staged.missed.append(after)

    def _next_number(self, slug: str) -> int:
        # By hash, so that the counter outlives a forgotten word without keeping it.
        digest = hashlib.blake2b(slug.encode(), digest_size=8).digest()
        name = int.from_bytes(digest, "big", signed=True)
        last = self._staged.used.get(name)
        number = (self._view.last_number(name) if last is None else last) + 1
        self._staged.used[name] = number
        return number

    def _add_label(self, entity: KnownEntity, label: str) -> None:
        number = self._texts.number(label)
        if number is not None:
            self._labels.append((self._view.number, number, entity.key))
            self._staged.labels[number] = label

    def _add_appearance(
        self, key: int, encoder: int, observation: Observation, before: KnownEntity | None
    ) -> FloatArray | None:
        vector = observation.detection.embedding
        known = before.appearance if before is not None else None
        if vector is None:
            return known
        total, count = np.asarray(vector, dtype=np.float32), 1
        if known is not None and known.shape == vector.shape:
            query = "SELECT count, total FROM entity_appearance WHERE entity = ?"
            stored_count, stored = self._connection.execute(query, (key,)).fetchone()
            total, count = total + np.frombuffer(stored, dtype=np.float32), stored_count + 1
        insert = "INSERT OR REPLACE INTO entity_appearance VALUES (?, ?, ?, ?)"
        self._connection.execute(insert, (key, encoder, count, total.tobytes()))
        return unit(total)


def _in_image(camera: CameraView, entities: Iterable[KnownEntity]) -> Iterator[KnownEntity]:
    """Those whose track lies in front of a camera and inside its image."""
    (cx, cy, cz), k = camera.centre_m, camera.intrinsics
    (r0, r1, r2), (d0, d1, d2), (f0, f1, f2) = camera.right, camera.down, camera.forward
    for entity in entities:
        at = entity.track_m
        if at is None:
            continue
        x, y, z = at[0] - cx, at[1] - cy, at[2] - cz
        ahead = f0 * x + f1 * y + f2 * z
        if ahead <= 0:
            continue
        if not 0 <= k.cx + k.fx * (r0 * x + r1 * y + r2 * z) / ahead <= k.width_px:
            continue
        if 0 <= k.cy + k.fy * (d0 * x + d1 * y + d2 * z) / ahead <= k.height_px:
            yield entity
