"""Camera frames, as raw or as compressed images: whichever is published."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from vlkng_ros.bags.messages import intrinsics_of
from vlkng_ros.building.health import Durations, Rate
from vlkng_ros.config import CameraConfig
from vlkng_ros.nodes.subscriptions import WatchedSubscription, type_name
from vlkng_ros.types import Intrinsics

SILENT_S = 3.0
"""After so long without an image, another transport that is published is tried."""


class ImageInput:
    """Subscribes to ``image`` or ``image/compressed`` and to ``camera_info``.

    ``image`` may itself be remapped to a topic of compressed images. Another camera's topics are under its name.

    Args:
        node: subscribes.
        config: ``transport`` and ``qos_reliability`` are used.
        on_image: takes each image message.
        on_camera_info: takes the intrinsics when they change; None for an uncalibrated camera.
        on_depth: takes each depth image message, with ``camera.depth``.
        camera: name of another camera; empty for the main one.
        group: callback group.
    """

    def __init__(
        self,
        node: Node,
        config: CameraConfig,
        *,
        on_image: Callable[[Any], None],
        on_camera_info: Callable[[Intrinsics | None], None],
        on_depth: Callable[[Any], None] = lambda message: None,
        camera: str = "",
        group: CallbackGroup | None = None,
    ) -> None:
        self.rate = Rate()
        self.callback_cpu = Durations()
        self._node = node
        self._config = config
        self._on_image = on_image
        self._on_camera_info = on_camera_info
        self._group = group
        self._prefix = f"{camera}/" if camera else ""
        self._known: Any = None
        self._since_s = time.monotonic()
        self._camera_info = WatchedSubscription(
            node, CameraInfo, f"{self._prefix}camera_info", self._take_camera_info, depth=5, reliable=False, group=group
        )
        self.depth: WatchedSubscription | None = None
        if config.depth and not camera:
            self.depth = WatchedSubscription(node, Image, "depth", on_depth, depth=5, reliable=False, group=group)
        self.image = self._subscribe(*self._choose())

    @property
    def camera_info(self) -> WatchedSubscription:
        """The camera_info subscription."""
        return self._camera_info

    def _choices(self) -> list[tuple[type[Any], str]]:
        """What may be subscribed to, the best first.

        A remapped ``image`` takes its compressed companion along, which ROS's own remapping does not.
        """
        image = f"{self._prefix}image"
        beside = self._node.resolve_topic_name(image) + "/compressed"
        raw = [(Image, image)]
        compressed = [(CompressedImage, name) for name in (f"{image}/compressed", beside, image)]
        if self._config.transport == "raw":
            return raw
        return compressed if self._config.transport == "compressed" else raw + compressed

    def _choose(self) -> tuple[type[Any], str]:
        choices = self._choices()
        for kind, name in choices:
            topic = self._node.resolve_topic_name(name)
            infos = self._node.get_publishers_info_by_topic(topic)
            if any(info.topic_type == type_name(kind) for info in infos):
                return kind, name
        return choices[0]

    def _subscribe(self, kind: type[Any], name: str) -> WatchedSubscription:
        self._chosen = (kind, name)
        return WatchedSubscription(
            self._node,
            kind,
            name,
            self._take,
            depth=5,
            reliable=self._config.qos_reliability == "reliable",
            insist=True,
            group=self._group,
        )

    def _take(self, message: Any) -> None:
        began = time.thread_time()
        self.rate.tick(time.monotonic())
        self._on_image(message)
        self.callback_cpu.add(time.thread_time() - began)

    def _take_camera_info(self, message: CameraInfo) -> None:
        key = (tuple(message.k), message.width, message.height, message.binning_x, message.binning_y, str(message.roi))
        if key != self._known:
            self._known = key
            self._on_camera_info(intrinsics_of(message))

    def mend(self) -> None:
        """Turn to the transport that is published, if the present one brings nothing."""
        if self.rate.silent_s(time.monotonic(), self._since_s) < SILENT_S and self.rate.total:
            return
        chosen = self._choose()
        if chosen != self._chosen:
            self.image.destroy()
            self.image = self._subscribe(*chosen)
            self._node.get_logger().info(f"images come from {self.image.topic} ({self.image.kind})")

    def destroy(self) -> None:
        """Stop receiving."""
        for subscription in (self.image, self._camera_info, self.depth):
            if subscription is not None:
                subscription.destroy()
