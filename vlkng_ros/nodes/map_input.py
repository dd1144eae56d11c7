"""SLAM Toolbox's pose graph, as it shows it in RViz."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from vlkng_ros.nodes.subscriptions import WatchedSubscription


class MapInput:
    """Hands on the places of the graph's vertices on the map, by number, whenever they are published."""

    def __init__(
        self,
        node: Node,
        on_vertices: Callable[[Mapping[int, tuple[float, float]]], None],
        group: CallbackGroup | None = None,
    ) -> None:
        self._on_vertices = on_vertices
        self._subscription = WatchedSubscription(
            node,
            MarkerArray,
            "slam_toolbox/graph_visualization",
            self._take,
            depth=1,
            reliable=True,
            group=group,
        )

    def _take(self, message: MarkerArray) -> None:
        # Edges come as lines; a sphere is a vertex.
        vertices = {
            int(marker.id): (float(marker.pose.position.x), float(marker.pose.position.y))
            for marker in message.markers
            if marker.action == Marker.ADD and marker.type == Marker.SPHERE and marker.ns == "slam_toolbox"
        }
        if vertices:
            self._on_vertices(vertices)

    def mend(self) -> None:
        """Take the QoS that SLAM offers."""
        self._subscription.mend()

    def destroy(self) -> None:
        """Stop receiving."""
        self._subscription.destroy()
