"""Association, live and caught up: keyframes pass every view in the order in which they were described."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import overload

from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory.association.base import Associator, reads_captions
from vlkng_ros.memory.entities import KnownEntity
from vlkng_ros.memory.live_view import LiveView
from vlkng_ros.memory.relations import add_relations
from vlkng_ros.memory.scene import Scene, seen_in
from vlkng_ros.memory.staging import Staged, Stager
from vlkng_ros.memory.transactions import Store
from vlkng_ros.types import Entity

logger = logging.getLogger(__name__)


class Entities(Sequence[Entity]):
    """Entities in the form that the vocabulary has, each brought into it when it is asked for."""

    def __init__(self, known: Sequence[KnownEntity]) -> None:
        self._known = known

    def __len__(self) -> int:
        return len(self._known)

    @overload
    def __getitem__(self, index: int) -> Entity: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entity]: ...
    def __getitem__(self, index: int | slice) -> Entity | Sequence[Entity]:
        return Entities(self._known[index]) if isinstance(index, slice) else self._known[index].entity()


class LiveViews:
    """The views that a writer keeps up, each with the associator that decides for it."""

    def __init__(self, store: Store, associators: Sequence[Associator]) -> None:
        self._store = store
        self._live = [
            (a, LiveView(store.connection, store.catalogs, store.keyframes, store.vocabulary, a.view))
            for a in associators
        ]
        names = [view.name for _, view in self._live]
        if len(set(names)) != len(names):
            raise InvalidInputError(f"associators: {', '.join(names)} would write one view twice")
        for name in names:
            query = "SELECT 1 FROM view WHERE name = ?"
            if store.connection.execute(query, (name,)).fetchone() is None:
                with store.operation():
                    store.connection.execute("INSERT INTO view (name, associated) VALUES (?, 0)", (name,))
        self.load()
        store.on_reset.append(self.load)

    @property
    def associated(self) -> int:
        """Number of the last description that every live view has associated; 0 where there are no views."""
        return min((view.associated for _, view in self._live), default=0)

    def load(self) -> None:
        """Read the views anew."""
        for _, view in self._live:
            view.load()

    def relocated(self, keys: Sequence[int]) -> None:
        """Read anew where these entities are."""
        for _, view in self._live:
            view.relocated(keys)

    def catch_up(self, advance: Callable[[int], object] = lambda _: None) -> int:
        """Associate whatever was described and is not associated; returns how many keyframes that were.

        ``advance`` is called with 1 after each.
        """
        behind = self._behind(self._store.head.description)
        if behind:
            logger.info("%s: associating %d keyframes that were described before", self._store.path, len(behind))
        for keyframe_id, revision in behind:
            self._associate(keyframe_id, revision)
            advance(1)
        return len(behind)

    def associate(self, keyframe_id: int) -> Sequence[Entity]:
        """See ``MemoryWriter.associate``."""
        query = "SELECT described, revision FROM keyframe WHERE id = ?"
        row = self._store.connection.execute(query, (keyframe_id,)).fetchone()
        if row is None:
            raise NotInMemoryError(f"keyframe {keyframe_id} is not in this memory; it may have been forgotten")
        if row[0] is None:
            raise InvalidInputError(f"keyframe {keyframe_id} is not described yet; call add_perception first")
        described, revision = row
        next_up = self._live and self.associated + 1 == described
        for number, of in [(keyframe_id, revision)] if next_up else self._behind(described):
            shown = self._associate(number, of)
            if number == keyframe_id and shown is not None:
                return Entities(shown)
        return self._entities_in(keyframe_id)

    def _behind(self, described: int) -> list[tuple[int, int]]:
        """Id and revision of the keyframes described up to then that are not associated, in that order."""
        if not self._live:
            return []
        query = "SELECT id, revision FROM keyframe WHERE described > ? AND described <= ? ORDER BY described"
        return self._store.connection.execute(query, (self.associated, described)).fetchall()

    def _associate(self, keyframe_id: int, revision: int) -> list[KnownEntity] | None:
        """Returns what it shows, by view and observation; None where some views had associated it before."""
        store = self._store
        scene = store.take(keyframe_id, revision) or self._read(keyframe_id)
        behind = [(associator, view) for associator, view in self._live if view.associated < scene.described]
        for _, view in behind:
            if scene.visual_encoder:
                view.look_with(scene.visual_encoder)
        scenes = [scene if reads_captions(associator) else seen_in(scene) for associator, _ in behind]
        decided = [
            associator.assign(scene.keyframe, part.observations, view)
            for (associator, view), part in zip(behind, scenes, strict=True)
        ]
        results: list[tuple[LiveView, Staged]] = []
        with store.operation() as head:
            for (_, view), part, decisions in zip(behind, scenes, decided, strict=True):
                stager = Stager(store.connection, store.catalogs, store.keyframes, store.texts, view, head.revision)
                staged = stager.stage(part, decisions, head.entity)
                head.entity = max([head.entity, *(entity.key for entity in staged.seen)])
                keys = {o.observation_id: e.key for o, e in zip(part.observations, staged.seen, strict=True)}
                head.relation = add_relations(
                    store.connection, view.number, keyframe_id, keys, head.relation, head.revision
                )
                results.append((view, staged))
        for view, staged in results:
            view.install(scene.keyframe, [*staged.seen, *staged.missed], staged.used, staged.labels, scene.described)
        if len(behind) < len(self._live):
            return None
        return [entity for _, staged in results for entity in staged.seen]

    def _read(self, keyframe_id: int) -> Scene:
        keyframe = self._store.keyframes.keyframes([keyframe_id])[0]
        query = "SELECT described, first_observation, visual_encoder FROM keyframe WHERE id = ?"
        described, first, encoder = self._store.connection.execute(query, (keyframe_id,)).fetchone()
        whole = described > self._store.head.summarised
        return Scene(keyframe, self._store.keyframes.observations(keyframe_id), described, first, whole, encoder or 0)

    def _entities_in(self, keyframe_id: int) -> Sequence[Entity]:
        query = (
            "SELECT a.entity FROM keyframe k JOIN assignment a ON a.view = ? AND a.observation "
            "BETWEEN k.first_observation AND k.first_observation + k.observations - 1 WHERE k.id = ?"
        )
        return Entities(
            [
                view.record(key)
                for _, view in self._live
                for (key,) in self._store.connection.execute(query, (view.number, keyframe_id)).fetchall()
            ]
        )
