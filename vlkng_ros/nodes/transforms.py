"""Where things are by TF: through tf2_ros where it is installed, else from /tf itself."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, Protocol

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from vlkng_ros.bags.messages import transforms_of
from vlkng_ros.building.pose_buffer import FoundPose, Lookup, Never, NotYet
from vlkng_ros.building.transform_tree import TransformTree
from vlkng_ros.config import PoseConfig
from vlkng_ros.errors import ConfigError, PoseError
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.types import Pose


class Transforms(Protocol):
    """Poses of frames in frames. A look-up returns the pose or the reason why there is none."""

    def lookup(self, parent: str, child: str, stamp_ns: int | None) -> Pose | str:
        """The pose of ``child`` in ``parent`` at a stamp; None means the newest that is known."""
        ...

    def newest_ns(self, parent: str, child: str) -> int | None:
        """The newest stamp with a pose, None where there is none at all; 0 where nothing on the way moves."""
        ...

    def clear(self) -> None:
        """Forget everything that moves: time jumped back."""
        ...


def open_transforms(node: Node, group: CallbackGroup | None = None) -> Transforms:
    """Listens to TF.

    Raises:
        ConfigError: neither tf2_ros nor tf2_msgs is installed.
    """
    try:
        import tf2_ros
    except ImportError:
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            raise ConfigError(
                "pose.source or camera.extrinsics is 'tf', and tf2_ros is not installed: install "
                "ros-$ROS_DISTRO-tf2-ros-py, or use pose.source=topic and camera.extrinsics=parameters"
            ) from None
        return _ListenedTransforms(node, TFMessage, group)
    return _Tf2Transforms(node, tf2_ros)


class _Tf2Transforms:
    """tf2_ros's buffer; it may be asked from any thread."""

    def __init__(self, node: Node, tf2_ros: Any) -> None:
        self._tf2_ros = tf2_ros
        self._buffer = tf2_ros.Buffer(node=node)
        self._listener = tf2_ros.TransformListener(self._buffer, node)

    def lookup(self, parent: str, child: str, stamp_ns: int | None) -> Pose | str:
        from rclpy.time import Time

        when = Time() if stamp_ns is None else Time(nanoseconds=stamp_ns)
        try:
            found = self._buffer.lookup_transform(parent, child, when).transform
        except self._tf2_ros.TransformException as error:
            return f"TF: {error}"
        shift, turn = found.translation, found.rotation
        try:
            return Pose(parent, (shift.x, shift.y, shift.z), (turn.x, turn.y, turn.z, turn.w))
        except PoseError as error:
            return f"TF: {error}"

    def newest_ns(self, parent: str, child: str) -> int | None:
        from rclpy.time import Time

        try:
            header = self._buffer.lookup_transform(parent, child, Time()).header
        except self._tf2_ros.TransformException:
            return None
        return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)

    def clear(self) -> None:
        self._buffer.clear()


class _ListenedTransforms:
    """/tf and /tf_static kept here, for machines that have the messages but not tf2_ros."""

    def __init__(self, node: Node, kind: type[Any], group: CallbackGroup | None) -> None:
        self._tree = TransformTree()
        # Filled by the executor's thread, read by the one that builds.
        self._lock = threading.Lock()
        moving, fixed = keep_last(100, reliable=True), keep_last(100, reliable=True, latched=True)
        node.create_subscription(kind, "/tf", lambda m: self._take(m, False), moving, callback_group=group)
        node.create_subscription(kind, "/tf_static", lambda m: self._take(m, True), fixed, callback_group=group)

    def _take(self, message: Any, fixed: bool) -> None:
        transforms = transforms_of(message)
        with self._lock:
            for stamp_ns, child, pose in transforms:
                self._tree.add(stamp_ns, child, pose, fixed=fixed)

    def lookup(self, parent: str, child: str, stamp_ns: int | None) -> Pose | str:
        with self._lock:
            newest_ns = self._tree.newest_ns(parent, child)
            if newest_ns is None:
                frames = ", ".join(self._tree.frames) or "none"
                return f"TF: '{child}' cannot be placed in '{parent}'; known frames: {frames}"
            when_ns = newest_ns if stamp_ns is None else stamp_ns
            found = self._tree.lookup(parent, child, when_ns)
        if found is None:
            side = "newer" if when_ns > newest_ns else "older"
            return f"TF: the image is {side} than the transforms from '{parent}' to '{child}'"
        return found

    def newest_ns(self, parent: str, child: str) -> int | None:
        with self._lock:
            return self._tree.newest_ns(parent, child)

    def clear(self) -> None:
        with self._lock:
            self._tree.clear_moving()


class TfPoses:
    """The robot's pose by TF, as :class:`~vlkng_ros.building.pose_buffer.PoseBuffer` gives it from topics."""

    pose_topic = "/tf"

    def __init__(self, transforms: Transforms, map_frame: str, base_frame: str, config: PoseConfig) -> None:
        self.map_frame = map_frame.strip("/")
        self.base_frame = base_frame.strip("/")
        self.refused: Counter[str] = Counter()
        self.last_problem = ""
        self._transforms = transforms
        self._config = config

    @property
    def newest_pose_ns(self) -> int | None:
        """Stamp of the newest transform."""
        return self._transforms.newest_ns(self.map_frame, self.base_frame)

    def add_pose(self, stamp_ns: int, pose: Pose) -> bool:
        """Poses come from TF alone."""
        return False

    def add_odometry(self, stamp_ns: int, pose: Pose) -> bool:
        """Odometry is part of TF."""
        return False

    def refuse(self, reason: str, message: str) -> None:
        """Count a message that cannot be used."""
        self.refused[reason] += 1
        self.last_problem = message

    def clear(self) -> None:
        """Forget what moved: a new session begins."""
        self._transforms.clear()

    def lookup(self, stamp_ns: int, waited_s: float = 0.0) -> Lookup:
        """The pose at a stamp, or why there is none."""
        found = self._transforms.lookup(self.map_frame, self.base_frame, stamp_ns)
        if isinstance(found, Pose):
            return FoundPose(found, "interpolated")
        return Never(found) if waited_s >= self._config.wait_s else NotYet(found)

    def latest(self) -> FoundPose | None:
        """Where the robot is now."""
        found = self._transforms.lookup(self.map_frame, self.base_frame, None)
        return FoundPose(found, "exact") if isinstance(found, Pose) else None
