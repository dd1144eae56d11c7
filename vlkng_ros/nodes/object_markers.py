"""What the memory holds, for RViz: bounded, and after the first drawing only what changed.

A viewer that comes gets everything, the nearest things first and so many in a message, beginning with the deletion of
whatever it showed before; then markers are sent only where a thing, an edge or the path is new, different or gone.
Markers stay until they are deleted, so RViz needs no more.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker, MarkerArray

from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import VlkngError
from vlkng_ros.memory import Changes, MemoryReader
from vlkng_ros.nodes.marker_shapes import (
    delete_all,
    deletion,
    entity_markers,
    path_marker,
    relation_marker,
    thinned,
)
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.types import Entity, Float64Array, Keyframe, Vec3

if TYPE_CHECKING:
    from vlkng_ros.nodes.builder_node import BuilderNode

PATH_POINTS = 2000
RELATIONS = 500
EVERYWHERE_M = 1e9
THINGS_AT_ONCE = 500
"""New or changed things in one message; the others come in the next."""


@dataclass(slots=True)
class _Shown:
    """What viewers have been sent."""

    path: Float64Array | None = None
    things: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)
    """Revision and the namespaces of its markers, by entity."""
    edges: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Predicate and object, by the subject's entity."""
    arrows: dict[str, tuple[Vec3, Vec3]] = field(default_factory=dict)
    """Both ends, by the edge's text."""


class ObjectMarkers:
    """Publishes ``~/markers`` from a thread of its own."""

    def __init__(self, node: BuilderNode, path: Path, config: BuilderConfig) -> None:
        self.robot_at: Keyframe | None = None
        """The newest keyframe; what is nearest to it is shown."""
        self._node = node
        self._path = path
        self._view = config.association.associator
        # A viewer that is slow must not miss what was deleted.
        self._publisher = node.create_publisher(MarkerArray, "~/markers", keep_last(10, reliable=True, latched=True))
        self._viewers = 0
        self._shown = _Shown()
        self._ids: dict[str, int] = {}
        self._reader: MemoryReader | None = None
        self._drawn: tuple[int, int, int] | None = None
        """Of what all was drawn."""
        self._begun = False
        """Whether the viewers have been sent something."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="markers", daemon=True)

    def start(self) -> None:
        """Draw from now on."""
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(self._node.config.markers.period_s):
            try:
                self.draw()
            except Exception as error:  # the thread outlives it
                text = f"markers: {type(error).__name__}: {error}"
                self._node.get_logger().error(text, throttle_duration_sec=30.0)

    def draw(self) -> None:
        """Publish what changed, if somebody subscribed; everything, if somebody has done so since."""
        robot_at, most = self.robot_at, self._node.config.markers.max_entities
        before, self._viewers = self._viewers, self._publisher.get_subscription_count()
        self._begun = self._begun and 0 < self._viewers <= before
        if robot_at is None or self._viewers == 0:
            return
        try:
            if self._reader is None:
                self._reader = MemoryReader.open(self._path)
            changes = self._reader.refresh()
            drawn = (self._reader.revision, robot_at.keyframe_id, most)
            if self._begun and drawn == self._drawn:
                return
            markers = []
            if not self._begun:
                self._shown, markers = _Shown(), [delete_all()]
            entities = self._near(self._reader, robot_at, most)
            markers += self._changes(self._reader, changes, robot_at, entities)
        except VlkngError as error:
            self._begun = False
            self._node.get_logger().warning(f"markers: {error}", throttle_duration_sec=30.0)
            return
        self._begun = True
        self._drawn = drawn if all(self._is_shown(entity) for entity in entities) else None
        if markers:
            self._publisher.publish(MarkerArray(markers=markers))

    def _near(self, reader: MemoryReader, robot_at: Keyframe, most: int) -> list[Entity]:
        if most == 0 or self._view not in reader.views():
            return []
        at_m = robot_at.base_pose.position_m
        return reader.near(self._view, at_m, EVERYWHERE_M, map_id=robot_at.map_id, limit=most)

    def _is_shown(self, entity: Entity) -> bool:
        return self._shown.things.get(entity.entity_id, (None,))[0] == entity.revision

    def _changes(
        self, reader: MemoryReader, changes: Changes, robot_at: Keyframe, entities: list[Entity]
    ) -> list[Marker]:
        stamp = self._node.get_clock().now().to_msg()
        frame_id = robot_at.base_pose.frame_id
        table = reader.frames()
        here = thinned(table.position_m[table.session == robot_at.session_id], PATH_POINTS)
        markers = []
        if self._shown.path is None or not np.array_equal(self._shown.path, here):
            markers.append(path_marker(here, frame_id, stamp))
            self._shown.path = here.copy()
        if changes.forgotten_keyframe_ids or changes.forgotten_entities:
            # An edge may be gone although its subject is what it was.
            self._shown.edges.clear()
        return markers + self._things(reader, entities, stamp) + self._arrows(entities, frame_id, stamp)

    def _id_of(self, name: str) -> int:
        """A number for a thing or an edge, the same as long as this object lives."""
        return self._ids.setdefault(name, len(self._ids))

    def _things(self, reader: MemoryReader, entities: list[Entity], stamp: Time) -> list[Marker]:
        shown, markers = self._shown, []
        near = {entity.entity_id for entity in entities}
        for name in [name for name in shown.things if name not in near]:
            _, namespaces = shown.things.pop(name)
            shown.edges.pop(name, None)
            markers += [deletion(ns, self._id_of(name)) for ns in sorted(namespaces)]
        stale = [entity for entity in entities if not self._is_shown(entity)][:THINGS_AT_ONCE]
        again = [entity for entity in entities if self._is_shown(entity) and entity.entity_id not in shown.edges]
        for name in [entity.entity_id for entity in (*stale, *again)]:
            edges = reader.relations(self._view, name)
            shown.edges[name] = [(r.predicate, r.object_id) for r in edges if r.subject_id == name]
        for entity in stale:
            name = entity.entity_id
            _, namespaces = shown.things.get(name, (None, frozenset()))
            made = entity_markers(entity, self._id_of(name), stamp)
            now = frozenset(marker.ns for marker in made)
            markers += [*(deletion(ns, self._id_of(name)) for ns in sorted(namespaces - now)), *made]
            shown.things[name] = (entity.revision, now)
        return markers

    def _arrows(self, entities: list[Entity], frame_id: str, stamp: Time) -> list[Marker]:
        places = {e.entity_id: e.position.mean_m for e in entities if self._is_shown(e)}
        edges = (
            (f"{subject} {predicate} {target}", (places[subject], places[target]))
            for subject in places
            for predicate, target in self._shown.edges.get(subject, ())
            if target in places
        )
        wanted = dict(islice(edges, RELATIONS))
        before, self._shown.arrows = self._shown.arrows, wanted
        return [deletion("relations", self._id_of(text)) for text in before if text not in wanted] + [
            relation_marker(self._id_of(text), *ends, frame_id, stamp)
            for text, ends in wanted.items()
            if before.get(text) != ends
        ]

    def close(self) -> None:
        """Take the markers away."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=30.0)
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._publisher.publish(MarkerArray(markers=[delete_all()]))
        self._node.destroy_publisher(self._publisher)
