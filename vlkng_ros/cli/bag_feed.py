"""A recording through the same selection and building that a running robot uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

from vlkng_ros.bags import messages
from vlkng_ros.bags.images import rgb_of
from vlkng_ros.bags.recording import BagMessage
from vlkng_ros.bags.topics import ChosenTopics
from vlkng_ros.building.camera_mount import camera_in_base
from vlkng_ros.building.keyframe_policy import KeyframePolicy
from vlkng_ros.building.pipeline import MemoryBuilder
from vlkng_ros.building.pose_buffer import PoseBuffer
from vlkng_ros.building.selector import FrameSelector, NewSession, Selected
from vlkng_ros.building.transform_tree import TransformTree
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import BagError, ImageError, PoseError
from vlkng_ros.types import NS_PER_S, Capture, Intrinsics, Pose

WAITING_FRAMES = 256
"""Frames that may wait for a pose: a robot must bound its memory, a recording can wait longer without loss."""


@dataclass(frozen=True, slots=True)
class _Frame:
    message: BagMessage
    frame_id: str
    intrinsics: Intrinsics | None


class BagFeed:
    """Takes a bag's messages in order and builds keyframes of them.

    Args:
        topics: what the messages are.
        config: ``robot``, ``pose``, ``camera`` and ``keyframe`` are used.
        open_builder: makes the builder when the first keyframe is there, so that a bag without any makes no memory.
        known_ns: stamps of this camera that the memory holds already; those frames are not repeated.
    """

    def __init__(
        self,
        topics: ChosenTopics,
        config: BuilderConfig,
        open_builder: Callable[[], MemoryBuilder],
        *,
        known_ns: Collection[int] = (),
    ) -> None:
        self.counts: Counter[str] = Counter()
        """``keyframes``, ``known``, ``sessions``, ``blurred``, ``bad_images``, ``bad_messages``."""
        self.last_problem = ""
        self.builder: MemoryBuilder | None = None
        self.selector: FrameSelector[_Frame] = FrameSelector(
            PoseBuffer(
                config.robot.map_frame,
                config.pose,
                pose_topic=topics.pose.name if topics.pose else "/tf",
                odometry_topic=topics.odometry.name if topics.odometry else "odom",
            ),
            KeyframePolicy(config.keyframe),
            clock=lambda: self._now_ns / NS_PER_S,
            capacity=WAITING_FRAMES,
        )
        self._topics = topics
        self._config = config
        self._open_builder = open_builder
        self._known_ns = known_ns
        self._now_ns = 0
        self._mount = camera_in_base(config.camera, config.robot.base_frame)
        self._intrinsics: Intrinsics | None = None
        self._tree = TransformTree()
        self._placed_ns: int | None = None
        self._session_open = False

    @property
    def frames(self) -> list[str]:
        """The frames that the bag's transforms mention."""
        return self._tree.frames

    def take(self, message: BagMessage) -> None:
        """Use one message. What is wrong with it is counted and said in ``last_problem``."""
        self._now_ns = message.stamp_ns
        try:
            self._sort(message)
        except (BagError, PoseError, ImageError) as error:
            self.counts["bad_messages"] += 1
            self.last_problem = f"{message.topic}: {error}"
        self._build()

    def finish(self) -> None:
        """The bag is read: decide on the frames that still wait for a pose."""
        self.selector.flush()
        self._build()

    def why_nothing(self) -> str:
        """Why there are frames and no keyframe, as far as is known."""
        frames = self.selector.counts["frames"]
        if not frames:
            return f"no image on {self._topics.image.name} could be read; {self.last_problem}".rstrip("; ")
        if self._uses_transforms() and self._placed_ns is None:
            robot = self._config.robot
            return (
                f"/tf never places '{robot.base_frame}' in '{robot.map_frame}'; it has {', '.join(self.frames)}; "
                "set robot.base_frame or robot.map_frame"
            )
        reasons = (self.last_problem, self.selector.buffer.last_problem, self.selector.waiting_for)
        return f"none of {frames} frames became one; " + "; ".join(reason for reason in reasons if reason)

    # ------------------------------------------------------------------------------------------ inside

    def _uses_transforms(self) -> bool:
        return self._topics.pose is None or self._config.pose.source == "tf"

    def _sort(self, raw: BagMessage) -> None:
        topics = self._topics
        if raw.topic == topics.image.name:
            message = messages.decode(raw.data, raw.msgtype)
            frame = _Frame(raw, str(message.header.frame_id).strip("/"), self._intrinsics)
            self.selector.add_frame(messages.stamp_of(message.header), frame)
        elif topics.camera_info is not None and raw.topic == topics.camera_info.name:
            self._intrinsics = messages.intrinsics_of(messages.decode(raw.data, raw.msgtype))
        elif topics.pose is not None and raw.topic == topics.pose.name:
            if not self._uses_transforms():
                self.selector.add_pose(*messages.pose_of(messages.decode(raw.data, raw.msgtype), raw.msgtype))
        elif topics.odometry is not None and raw.topic == topics.odometry.name:
            self.selector.add_odometry(*messages.pose_of(messages.decode(raw.data, raw.msgtype), raw.msgtype))
        elif raw.msgtype == messages.TF:
            self._take_transforms(raw)

    def _take_transforms(self, raw: BagMessage) -> None:
        fixed = raw.topic.endswith("static")
        for stamp_ns, child, pose in messages.transforms_of(messages.decode(raw.data, raw.msgtype)):
            self._tree.add(stamp_ns, child, pose, fixed=fixed)
        if not self._uses_transforms():
            return
        # The chain as a stream of poses, one at each stamp at which every part of it is known.
        robot = self._config.robot
        newest_ns = self._tree.newest_ns(robot.map_frame, robot.base_frame)
        if newest_ns is None or newest_ns == self._placed_ns:
            return
        pose_in_map = self._tree.lookup(robot.map_frame, robot.base_frame, newest_ns)
        if pose_in_map is not None:
            self._placed_ns = newest_ns
            self.selector.add_pose(newest_ns, pose_in_map)

    def _build(self) -> None:
        while (event := self.selector.take()) is not None:
            if isinstance(event, NewSession):
                self._session_open = False
                self._tree.clear_moving()
                self._placed_ns = None
            else:
                self._add_keyframe(event)
        if self.builder is not None:
            self.builder.poll()

    def _add_keyframe(self, selected: Selected[_Frame]) -> None:
        frame, pose = selected.frame, selected.found.pose
        if selected.stamp_ns in self._known_ns:
            self.counts["known"] += 1
            self.selector.policy.accept(selected.stamp_ns, pose)
            return
        try:
            image = rgb_of(messages.decode(frame.message.data, frame.message.msgtype))
        except (BagError, ImageError) as error:
            self.counts["bad_images"] += 1
            self.last_problem = f"{frame.message.topic}: {error}"
            return
        if not self.selector.policy.is_sharp(image):
            self.counts["blurred"] += 1
            return
        if self.builder is None:
            self.builder = self._open_builder()
        if not self._session_open:
            self.builder.start_session(self._config.robot.map_id)
            self.counts["sessions"] += 1
            self._session_open = True
        mount = self._mount_of(frame.frame_id, selected.stamp_ns)
        capture = Capture(
            stamp_ns=selected.stamp_ns,
            base_pose=pose,
            camera_pose=pose.compose(mount) if mount is not None else None,
            camera=self._config.camera.name,
            intrinsics=frame.intrinsics,
        )
        self.builder.add(capture, image)
        self.counts["keyframes"] += 1
        self.selector.policy.accept(selected.stamp_ns, pose)

    def _mount_of(self, frame_id: str, stamp_ns: int) -> Pose | None:
        camera = self._config.camera
        if camera.extrinsics != "tf":
            return self._mount
        return self._tree.lookup(self._config.robot.base_frame, camera.frame_id or frame_id, stamp_ns)
