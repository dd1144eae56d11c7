"""A recording as the events that a running robot's callbacks would have left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from vlkng_ros.bags import messages
from vlkng_ros.bags.images import rgb_of
from vlkng_ros.bags.recording import BagMessage
from vlkng_ros.bags.topics import ChosenTopics
from vlkng_ros.building.camera_mount import cameras_in_base
from vlkng_ros.building.inbox import Event
from vlkng_ros.building.transform_tree import TransformTree
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import BagError, PoseError
from vlkng_ros.types import NS_PER_S, Image, Pose


class BagEvents:
    """Turns a bag's messages into events, and keeps what later ones need: recorded time and transforms.

    Args:
        topics: what the messages are.
        config: ``robot``, ``pose`` and ``camera`` are used.
    """

    def __init__(self, topics: ChosenTopics, config: BuilderConfig) -> None:
        self.problems: Counter[str] = Counter()
        """How many messages could not be used, by what was wrong with them."""
        self._topics = topics
        self._config = config
        self._now_ns = 0
        self._tree = TransformTree()
        self._placed_ns: int | None = None
        self._mounts = cameras_in_base(config.camera, config.robot.base_frame)
        cameras = {"": (topics.image, topics.camera_info), **topics.others}
        self._kinds = {
            topic.name: (kind, camera)
            for kind, camera, topic in (
                ("odometry", "", topics.odometry),
                ("pose", "", topics.pose),
                *(("camera_info", name, info) for name, (_, info) in cameras.items()),
                ("depth", "", topics.depth),
                ("graph", "", topics.pose_graph),
                *(("frame", name, image) for name, (image, _) in cameras.items()),
            )
            if topic is not None
        }

    @property
    def transforms_give_pose(self) -> bool:
        """Whether the robot's pose comes from TF: so configured, or no topic has it."""
        return self._topics.pose is None or self._config.pose.source == "tf"

    def clock_s(self) -> float:
        """Recorded time of the last message."""
        return self._now_ns / NS_PER_S

    def events(self, recording: Iterable[BagMessage]) -> Iterator[Event]:
        """Messages in the order in which they were received, as events; what cannot be used is counted."""
        for raw in recording:
            self._now_ns = raw.stamp_ns
            try:
                message = messages.decode(raw.data, raw.msgtype)
                yield from self._events_of(raw, message)
            except PoseError as error:
                yield Event("refused", 0, f"{raw.topic}: {error}", self.clock_s())
            except BagError as error:
                self.problems[f"{raw.topic}: {error}"] += 1

    def rgb_of(self, frame: BagMessage) -> Image:
        """The picture of an image message.

        Raises:
            ImageError: it cannot be decoded.
        """
        return rgb_of(messages.decode(frame.data, frame.msgtype))

    def camera_in_base(self, stamp_ns: int, frame: BagMessage, camera: str) -> Pose | None:
        """The optical frame of a camera (empty: the main one) on the robot; None where it is not known."""
        if self._config.camera.extrinsics != "tf":
            return self._mounts.get(camera)
        frame_id = self._config.camera.frame_id
        if not frame_id:
            frame_id = str(messages.decode(frame.data, frame.msgtype).header.frame_id).strip("/")
        return self._tree.lookup(self._config.robot.base_frame, frame_id, stamp_ns)

    def why_no_pose(self) -> str:
        """Why TF gives no pose; empty if it does or need not."""
        robot = self._config.robot
        if not self.transforms_give_pose or self._placed_ns is not None:
            return ""
        return (
            f"/tf never places '{robot.base_frame}' in '{robot.map_frame}', it has {', '.join(self._tree.frames)}; "
            "set robot.base_frame and robot.map_frame"
        )

    def _events_of(self, raw: BagMessage, message: Any) -> Iterator[Event]:
        if raw.msgtype == messages.TF:
            yield from self._transforms(raw, message)
            return
        kind, camera = self._kinds[raw.topic]
        now_s = self.clock_s()
        if kind == "frame":
            yield Event(kind, messages.stamp_of(message.header), raw, now_s, camera)
        elif kind == "camera_info":
            yield Event(kind, messages.stamp_of(message.header), messages.intrinsics_of(message), now_s, camera)
        elif kind == "depth":
            yield Event(kind, messages.stamp_of(message.header), message, now_s)
        elif kind == "graph":
            # Vertices are of the poses that SLAM publishes; a pose from TF is of the map as it stood then.
            vertices = messages.vertices_of(message)
            if vertices and self._config.pose.follow_map and not self.transforms_give_pose:
                yield Event(kind, 0, vertices, now_s)
        elif kind == "odometry" or not self.transforms_give_pose:
            yield Event(kind, *messages.pose_of(message, raw.msgtype), now_s)

    def _transforms(self, raw: BagMessage, message: Any) -> Iterator[Event]:
        fixed = raw.topic.endswith("static")
        for stamp_ns, child, pose in messages.transforms_of(message):
            if self._placed_ns is not None and not fixed and stamp_ns < self._placed_ns - NS_PER_S:
                # Time jumped back; the selector begins a new session, and what moved there is over.
                self._tree.clear_moving()
                self._placed_ns = None
            self._tree.add(stamp_ns, child, pose, fixed=fixed)
        if not self.transforms_give_pose:
            return
        # The chain from map to base as a stream of poses: one at each stamp at which every part of it is known.
        robot = self._config.robot
        newest_ns = self._tree.newest_ns(robot.map_frame, robot.base_frame)
        if newest_ns is None or newest_ns == self._placed_ns:
            return
        pose_in_map = self._tree.lookup(robot.map_frame, robot.base_frame, newest_ns)
        if pose_in_map is not None:
            self._placed_ns = newest_ns
            yield Event("pose", newest_ns, pose_in_map, self.clock_s())
