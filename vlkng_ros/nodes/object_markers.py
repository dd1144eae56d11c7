"""What the memory holds, for RViz: published while somebody looks, bounded, and what is gone is deleted."""

from __future__ import annotations

import threading
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from visualization_msgs.msg import Marker, MarkerArray

from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import VlkngError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes.marker_shapes import ShownMarkers, entity_markers, path_marker, relation_markers, thinned
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.types import Entity, Keyframe, Vec3

if TYPE_CHECKING:
    from vlkng_ros.nodes.builder_node import BuilderNode

PATH_POINTS = 2000
RELATIONS = 500


class ObjectMarkers:
    """Publishes ``~/markers`` from a thread of its own: of a large memory a drawing takes tenths of a second."""

    def __init__(self, node: BuilderNode, path: Path, config: BuilderConfig) -> None:
        self.robot_at: Keyframe | None = None
        """The newest keyframe; what is nearest to it is shown."""
        self._node = node
        self._path = path
        self._view = config.association.associator
        self._publisher = node.create_publisher(MarkerArray, "~/markers", keep_last(1, reliable=True, latched=True))
        self._shown = ShownMarkers()
        self._reader: MemoryReader | None = None
        self._drawn: tuple[int, int, int] | None = None
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
        """Publish what changed, if somebody subscribed."""
        robot_at, most = self.robot_at, self._node.config.markers.max_entities
        if robot_at is None or self._publisher.get_subscription_count() == 0:
            return
        try:
            if self._reader is None:
                self._reader = MemoryReader.open(self._path)
            self._reader.refresh()
            drawn = (self._reader.revision, robot_at.keyframe_id, most)
            if drawn == self._drawn:
                return
            markers = self._markers(self._reader, robot_at, most)
        except VlkngError as error:
            self._node.get_logger().warning(f"markers: {error}", throttle_duration_sec=30.0)
            return
        self._drawn = drawn
        self._publisher.publish(self._shown.replace(markers))

    def _markers(self, reader: MemoryReader, robot_at: Keyframe, most: int) -> list[Marker]:
        stamp = self._node.get_clock().now().to_msg()
        frame_id = robot_at.base_pose.frame_id
        table = reader.frames()
        here = table.position_m[table.session == robot_at.session_id]
        markers = [path_marker(thinned(here, PATH_POINTS), frame_id, stamp)]
        if most == 0 or self._view not in reader.views():
            return markers
        everywhere = 1e9
        entities = reader.near(
            self._view, robot_at.base_pose.position_m, everywhere, map_id=robot_at.map_id, limit=most
        )
        for entity in entities:
            markers += entity_markers(entity, self._shown.id_of(entity.entity_id), stamp)
        return markers + relation_markers(self._relations(reader, entities), frame_id, self._shown, stamp)

    def _relations(self, reader: MemoryReader, entities: list[Entity]) -> dict[str, tuple[Vec3, Vec3]]:
        places = {entity.entity_id: entity.position.mean_m for entity in entities}
        found = (
            relation
            for entity in entities
            for relation in reader.relations(self._view, entity.entity_id)
            if relation.subject_id == entity.entity_id and relation.object_id in places
        )
        return {
            f"{relation.subject_id} {relation.predicate} {relation.object_id}": (
                places[relation.subject_id],
                places[relation.object_id],
            )
            for relation in islice(found, RELATIONS)
        }

    def close(self) -> None:
        """Take the markers away."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=30.0)
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._publisher.publish(self._shown.clear())
        self._node.destroy_publisher(self._publisher)
