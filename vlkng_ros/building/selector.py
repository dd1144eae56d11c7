"""From streams of frames, poses and odometry to the frames that become keyframes, each with its pose.

Frames wait here for their pose, a bounded time and a bounded number of them. When time jumps back (a looped bag, a
simulator that was reset), what waits is decided with the poses of the old time, and a new session begins.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from vlkng_ros.building.keyframe_policy import KeyframePolicy
from vlkng_ros.building.pose_buffer import FoundPose, Lookup, Never
from vlkng_ros.config import KeyframeConfig
from vlkng_ros.types import NS_PER_S, Image, Pose

T = TypeVar("T")

JUMP_BACK_NS = NS_PER_S
"""A stamp this much older than the newest of its stream is not late but from a clock that was set back."""


class PoseSource(Protocol):
    """What gives the pose at a stamp: ``PoseBuffer``, or TF."""

    refused: Counter[str]
    last_problem: str

    @property
    def newest_pose_ns(self) -> int | None:
        """Stamp of the newest pose."""
        ...

    def add_pose(self, stamp_ns: int, pose: Pose) -> bool:
        """Take a pose."""
        ...

    def add_odometry(self, stamp_ns: int, pose: Pose) -> bool:
        """Take an odometry pose."""
        ...

    def refuse(self, reason: str, message: str) -> None:
        """Count a message that cannot be used."""
        ...

    def lookup(self, stamp_ns: int, waited_s: float = 0.0) -> Lookup:
        """The pose at a stamp, for an image that has waited so long."""
        ...

    def clear(self) -> None:
        """Forget all poses."""
        ...


@dataclass(frozen=True, slots=True)
class Selected(Generic[T]):
    """A frame that should become a keyframe; tell ``FrameSelector.accept`` if it does."""

    stamp_ns: int
    found: FoundPose
    why: str
    frame: T
    camera: str = ""


@dataclass(frozen=True, slots=True)
class NewSession:
    """Time jumped back: what follows belongs to a new session."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[T]):
    stamp_ns: int
    arrived_s: float
    frame: T
    camera: str


class FrameSelector(Generic[T]):
    """Pairs frames with poses and chooses keyframes. Not thread-safe.

    After each ``add_*``, and from time to time while frames wait, call :meth:`take` until it returns None.

    Args:
        buffer: the poses.
        policy: which frames of the main camera become keyframes; other cameras get one of their own like it.
        clock: seconds that frames' waiting is measured in; steady time on a robot, recorded time from a bag.
        capacity: most frames that wait for a pose; the oldest is dropped.
    """

    def __init__(
        self, buffer: PoseSource, policy: KeyframePolicy, *, clock: Callable[[], float], capacity: int = 32
    ) -> None:
        self.buffer = buffer
        self.policy = policy
        self.counts: Counter[str] = Counter()
        """Frames by what became of them: ``frames``, ``selected``, ``not_moved``, ``thinned``, ``dropped_waiting``,
        ``no_pose``, ``duplicate``, ``out_of_order``; and ``stragglers`` of any stream."""
        self.waiting_for = ""
        """Why the oldest waiting frame has no pose yet, or the last dropped one got none; empty while all is well."""
        self._clock = clock
        self._capacity = capacity
        self._waiting: deque[_Waiting[T]] = deque()
        self._others: dict[str, KeyframePolicy] = {}
        self._last_frame_ns: dict[str, int] = {}
        self._newest: dict[str, int] = {}
        self._before_jump: dict[str, int] = {}
        self._jump: str | None = None
        self._after_jump: list[tuple[str, int, object, str]] = []
        self._flushing = False

    @property
    def waiting(self) -> int:
        """How many frames wait for a pose."""
        return len(self._waiting)

    def waited_s(self) -> float:
        """How long the oldest waiting frame has waited."""
        return self._clock() - self._waiting[0].arrived_s if self._waiting else 0.0

    def pose_age_s(self) -> float | None:
        """How much older the newest pose is than the newest frame; None while one of them is missing."""
        pose_ns, frame_ns = self.buffer.newest_pose_ns, max(self._last_frame_ns.values(), default=None)
        return None if pose_ns is None or frame_ns is None else (frame_ns - pose_ns) / NS_PER_S

    # ------------------------------------------------------------------------------------------ streams

    def add_pose(self, stamp_ns: int, pose: Pose) -> None:
        """Take a pose of the robot's base in the map frame."""
        self._add("pose", stamp_ns, pose)

    def add_odometry(self, stamp_ns: int, pose: Pose) -> None:
        """Take an odometry pose."""
        self._add("odometry", stamp_ns, pose)

    def add_frame(self, stamp_ns: int, frame: T, camera: str = "") -> None:
        """Take a camera frame, in any form; it comes back from :meth:`take` if it is chosen.

        Each camera has its own keyframes; an empty name is the main one.
        """
        self._add("frame", stamp_ns, frame, camera)

    def policy_of(self, camera: str) -> KeyframePolicy:
        """Which frames of a camera become keyframes."""
        if not camera:
            return self.policy
        return self._others.setdefault(camera, KeyframePolicy(self.policy.config))

    def configure(self, config: KeyframeConfig) -> None:
        """Choose by other thresholds from now on."""
        for policy in (self.policy, *self._others.values()):
            policy.config = config

    def accept(self, selected: Selected[T], image: Image | None = None) -> None:
        """A frame became a keyframe; ``image`` is what it looks like."""
        self.policy_of(selected.camera).accept(selected.stamp_ns, selected.found.pose, image)

    def flush(self) -> None:
        """No more poses will come: let :meth:`take` decide on every frame that waits."""
        self._flushing = True

    def _add(self, stream: str, stamp_ns: int, item: object, camera: str = "") -> None:
        if self._jump is not None:
            self._after_jump.append((stream, stamp_ns, item, camera))
            return
        name = f"{camera}/{stream}" if camera else stream
        old = self._before_jump.pop(name, None)
        if old is not None and abs(stamp_ns - old) <= JUMP_BACK_NS:
            # Still on its way when the clock was set back; the stream itself has not come round yet.
            self._before_jump[name] = old
            self.counts["stragglers"] += 1
            return
        newest = self._newest.get(name)
        if newest is not None and stamp_ns < newest - JUMP_BACK_NS:
            self._after_jump.append((stream, stamp_ns, item, camera))
            self._begin_jump(f"time jumped back {(newest - stamp_ns) / NS_PER_S:.1f} s on the {name} topic")
            return
        self._newest[name] = stamp_ns if newest is None else max(newest, stamp_ns)
        if stream == "frame":
            self._offer(stamp_ns, item, camera)  # type: ignore[arg-type]
        elif isinstance(item, Pose):
            (self.buffer.add_pose if stream == "pose" else self.buffer.add_odometry)(stamp_ns, item)

    def _offer(self, stamp_ns: int, frame: T, camera: str) -> None:
        self.counts["frames"] += 1
        last_ns = self._last_frame_ns.get(camera)
        if last_ns is not None and stamp_ns <= last_ns:
            self.counts["duplicate" if stamp_ns == last_ns else "out_of_order"] += 1
            return
        self._last_frame_ns[camera] = stamp_ns
        period_ns = self.policy.config.min_period_s * NS_PER_S
        waiting_ns = next((w.stamp_ns for w in reversed(self._waiting) if w.camera == camera), None)
        if waiting_ns is not None and stamp_ns - waiting_ns < period_ns:
            # While frames wait they cost memory, and two so close would not both become keyframes.
            self.counts["thinned"] += 1
            return
        if len(self._waiting) >= self._capacity:
            self._waiting.popleft()
            self.counts["dropped_waiting"] += 1
        self._waiting.append(_Waiting(stamp_ns, self._clock(), frame, camera))

    # ------------------------------------------------------------------------------------------ decisions

    def take(self) -> Selected[T] | NewSession | None:
        """The next frame that should become a keyframe, or the news that a session begins; None when there is none."""
        while self._waiting:
            head = self._waiting[0]
            found = self._lookup(head)
            if isinstance(found, Never):
                self._waiting.popleft()
                self.counts["no_pose"] += 1
                self.waiting_for = found.reason
            elif not isinstance(found, FoundPose):
                if self._jump is None and not self._flushing:
                    self.waiting_for = found.reason
                    return None
                self._waiting.popleft()
                self.counts["no_pose"] += 1
            else:
                self._waiting.popleft()
                self.waiting_for = ""
                why = self.policy_of(head.camera).wants(head.stamp_ns, found.pose)
                if why:
                    self.counts["selected"] += 1
                    return Selected(head.stamp_ns, found, why, head.frame, head.camera)
                self.counts["not_moved"] += 1
        self._flushing = False
        return self._end_jump() if self._jump is not None else None

    def _lookup(self, head: _Waiting[T]) -> Lookup:
        final = self._jump is not None or self._flushing
        return self.buffer.lookup(head.stamp_ns, float("inf") if final else self._clock() - head.arrived_s)

    def _begin_jump(self, reason: str) -> None:
        self._jump = reason
        self._before_jump = dict(self._newest)

    def _end_jump(self) -> NewSession:
        reason, self._jump = self._jump or "", None
        self.buffer.clear()
        for policy in (self.policy, *self._others.values()):
            policy.reset()
        self._newest.clear()
        self._last_frame_ns.clear()
        held, self._after_jump = self._after_jump, []
        for stream, _, _, camera in held[:1]:
            self._before_jump.pop(f"{camera}/{stream}" if camera else stream, None)
        for stream, stamp_ns, item, camera in held:
            self._add(stream, stamp_ns, item, camera)
        return NewSession(reason)
