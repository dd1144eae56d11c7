"""The builder without ROS: what arrives from the robot, in order, becomes keyframes in the memory."""

from __future__ import annotations

import logging
import math
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from vlkng_ros.building.depth import DepthMatcher, metres_of
from vlkng_ros.building.inbox import Event
from vlkng_ros.building.map_following import MapFollower
from vlkng_ros.building.pipeline import MemoryBuilder
from vlkng_ros.building.pose_buffer import FoundPose
from vlkng_ros.building.rotation import turn_between_rad
from vlkng_ros.building.selector import FrameSelector, NewSession, Selected
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import ImageError, InvalidInputError, MemoryFileError, VlkngError
from vlkng_ros.types import Capture, FloatArray, Image, Intrinsics, Keyframe, Pose

T = TypeVar("T")
SETTLED_M = 0.01
SETTLED_RAD = 0.004
"""A later pose that places a keyframe less far from where it was stored is not worth a write."""
MOST_UNSETTLED = 256
logger = logging.getLogger(__name__)


class KeyframeRecorder(Generic[T]):
    """Takes events one by one and stores keyframes. Use it from one thread.

    Args:
        config: ``camera`` and ``robot`` are used.
        selector: pairs frames with poses.
        builder: stores and describes.
        rgb_of: turns a frame as it arrived into RGB; raises ``ImageError``.
        camera_in_base: the optical frame on the robot for a frame, by its stamp, itself and its camera's name (empty
            for the main one), or None where it is not known.
        on_stored: called with each keyframe once it is on disk.
        map_id: the map that poses are in; None takes it from ``config``.
    """

    def __init__(
        self,
        config: BuilderConfig,
        selector: FrameSelector[T],
        builder: MemoryBuilder,
        *,
        rgb_of: Callable[[T], Image],
        camera_in_base: Callable[[int, T, str], Pose | None],
        on_stored: Callable[[Keyframe], None] = lambda keyframe: None,
        map_id: str | None = None,
    ) -> None:
        self.selector = selector
        self.builder = builder
        self.counts: Counter[str] = Counter()
        """Frames by why they were not stored: ``image`` (not usable), ``blurred``, ``unchanged``, ``store`` (disk).

        Depth images not usable: ``depth``; ``sessions``; keyframes whose pose a later one made better: ``settled``.
        """
        self.last_error = ""
        self.last_jump = ""
        """What the last jump of the clock was."""
        self.store_error = ""
        """Why keyframes cannot be stored now; empty while they can."""
        self.last_keyframe: Keyframe | None = None
        self._intrinsics: dict[str, Intrinsics | None] = {}
        self._config = config
        self._rgb_of = rgb_of
        self._camera_in_base = camera_in_base
        self._on_stored = on_stored
        self._map_id = config.robot.map_id if map_id is None else map_id
        self._session_open = False
        self._map = MapFollower(builder)
        self._depth = DepthMatcher()
        self._unsettled: deque[tuple[int, int, Pose, Pose | None]] = deque(maxlen=MOST_UNSETTLED)
        """Keyframes that the next pose will place better: id, stamp, base as stored, mount."""

    def handle(self, event: Event) -> None:
        """Take in one event and store the keyframes that follow from it."""
        if event.kind == "frame":
            self.selector.add_frame(event.stamp_ns, event.item, event.camera)  # type: ignore[arg-type]
        elif event.kind == "camera_info":
            self._intrinsics[event.camera] = event.item if isinstance(event.item, Intrinsics) else None
        elif event.kind == "depth":
            for keyframe_id in self._depth.add_image(event.stamp_ns, event.item):
                if (depth_m := self._depth_at(event.stamp_ns)) is not None:
                    self.builder.attach_depth(keyframe_id, depth_m)
        elif event.kind == "graph":
            self._follow_map(event.item)  # type: ignore[arg-type]
        elif event.kind == "refused":
            self.selector.buffer.refuse("not_a_pose", str(event.item))
        elif isinstance(event.item, Pose):
            add = self.selector.add_pose if event.kind == "pose" else self.selector.add_odometry
            add(event.stamp_ns, event.item)
            if event.kind == "pose" and event.item.frame_id.strip("/") == self._config.robot.map_frame:
                self._map.drive.add_pose(event.stamp_ns, event.item)
                self._settle(event.stamp_ns)
        self.work()

    def work(self) -> None:
        """Store what has its pose by now, and what the model has finished."""
        while (taken := self.selector.take()) is not None:
            if isinstance(taken, NewSession):
                self.last_jump = f"{taken.reason}: a new session begins"
                logger.warning("%s", self.last_jump)
                self.counts["jumps"] += 1
                self._session_open = False
                self._map.clear()
                self._unsettled.clear()
                self._depth.clear()
            else:
                self._record(taken)
        self.builder.poll()

    def finish(self, timeout_s: float = math.inf) -> bool:
        """Decide on every frame that waits, then wait for the model; False if it did not finish in time."""
        self.selector.flush()
        self.work()
        return self.builder.finish(timeout_s)

    def _record(self, selected: Selected[T]) -> None:
        try:
            image = self._rgb_of(selected.frame)
        except ImageError as error:
            self._note("image", error)
            return
        refusal = self.selector.policy_of(selected.camera).refusal(selected.why, selected.stamp_ns, image)
        if refusal:
            self.counts[refusal] += 1
            return
        base = selected.found.pose
        mount = self._camera_in_base(selected.stamp_ns, selected.frame, selected.camera)
        capture = Capture(
            stamp_ns=selected.stamp_ns,
            base_pose=base,
            camera_pose=base.compose(mount) if mount is not None else None,
            camera=selected.camera or self._config.camera.name,
            intrinsics=self._intrinsics.get(selected.camera),
        )
        try:
            self._open_session()
            depth_m = self._depth_at(selected.stamp_ns) if not selected.camera else None
            keyframe = self.builder.add(capture, image, depth_m)
        except (MemoryFileError, InvalidInputError) as error:
            self._note("store", error)
            self.store_error = str(error)
            return
        self.store_error = ""
        self.selector.accept(selected, image)
        self.last_keyframe = keyframe
        self._map.drive.add_keyframe(keyframe.keyframe_id, keyframe.stamp_ns, base, mount)
        if not selected.found.is_final:
            self._unsettled.append((keyframe.keyframe_id, keyframe.stamp_ns, base, mount))
        if depth_m is None and self._config.camera.depth and not selected.camera:
            self._depth.wait_for(keyframe.stamp_ns, keyframe.keyframe_id)
        # A jump back in time starts a session, not a map: localisation goes on in the one it has.
        self._map_id = keyframe.map_id
        self._on_stored(keyframe)

    def _depth_at(self, stamp_ns: int) -> FloatArray | None:
        message = self._depth.image_at(stamp_ns)
        if message is None:
            return None
        try:
            return metres_of(message)
        except ImageError as error:
            self._note("depth", error)
            return None

    def _settle(self, pose_ns: int) -> None:
        """Place the keyframes since the last pose between it and the new one, as a recording would be."""
        better: dict[int, tuple[Pose, Pose | None]] = {}
        while self._unsettled and self._unsettled[0][1] <= pose_ns:
            keyframe_id, stamp_ns, stored, mount = self._unsettled.popleft()
            found = self.selector.buffer.lookup(stamp_ns, math.inf)
            if not isinstance(found, FoundPose):
                continue
            base = found.pose
            if base.distance_m(stored) > SETTLED_M or turn_between_rad(base, stored) > SETTLED_RAD:
                better[keyframe_id] = (base, base.compose(mount) if mount is not None else None)
        if not better:
            return
        try:
            self._map.settle(better)
        except VlkngError as error:
            self._note("correct", error)
            return
        self.counts["settled"] += len(better)

    def _follow_map(self, vertices: Mapping[int, tuple[float, float]]) -> None:
        try:
            self._map.follow(vertices)
        except VlkngError as error:
            self._note("correct", error)

    def _open_session(self) -> None:
        """Sessions begin with their first keyframe, so that a start without images leaves no trace."""
        if not self._session_open:
            self._map.begin(self.builder.start_session(self._map_id), self._map_id)
            self.counts["sessions"] += 1
            self._session_open = True

    def _note(self, reason: str, error: Exception) -> None:
        self.counts[reason] += 1
        if str(error) != self.last_error:
            logger.warning("%s", error)
        self.last_error = str(error)
