"""Where the robot is, from topics: subscribes to the pose topic and odometry as the configuration says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from vlkng_ros.bags.messages import pose_of
from vlkng_ros.config import PoseConfig
from vlkng_ros.errors import PoseError
from vlkng_ros.nodes.subscriptions import WatchedSubscription, type_name
from vlkng_ros.types import Pose

POSE_TYPES = {
    "pose_with_covariance": PoseWithCovarianceStamped,
    "pose": PoseStamped,
    "odometry": Odometry,
}


class PoseInput:
    """Hands on stamped poses (``on_pose``) and odometry (``on_odometry``), and what is neither (``on_refused``)."""

    def __init__(
        self,
        node: Node,
        config: PoseConfig,
        *,
        on_pose: Callable[[int, Pose], None],
        on_odometry: Callable[[int, Pose], None],
        on_refused: Callable[[str], None],
        group: CallbackGroup | None = None,
    ) -> None:
        self._on_refused = on_refused
        self.pose = WatchedSubscription(
            node,
            POSE_TYPES[config.type],
            "pose",
            lambda message: self._take(message, self.pose, on_pose),
            depth=50,
            reliable=True,
            latched=True,
            group=group,
        )
        self.odometry: WatchedSubscription | None = None
        # Odometry that is the pose source already says how the robot moved between two poses.
        if config.use_odometry and config.type != "odometry":
            self.odometry = WatchedSubscription(
                node,
                Odometry,
                "odom",
                lambda message: self._take(message, self.odometry, on_odometry),
                depth=200,
                reliable=True,
                group=group,
            )

    @property
    def subscriptions(self) -> list[WatchedSubscription]:
        """Both subscriptions, those that there are."""
        return [self.pose] + ([self.odometry] if self.odometry is not None else [])

    def _take(self, message: Any, source: WatchedSubscription, hand_on: Callable[[int, Pose], None]) -> None:
        try:
            stamp_ns, pose = pose_of(message, type_name(type(message)))
        except PoseError as error:
            self._on_refused(f"{source.topic}: {error}")
            return
        hand_on(stamp_ns, pose)

    def mend(self) -> None:
        """Adapt to what publishers offer."""
        for subscription in self.subscriptions:
            subscription.mend()

    def destroy(self) -> None:
        """Stop receiving."""
        for subscription in self.subscriptions:
            subscription.destroy()
