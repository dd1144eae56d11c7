"""Transforms between frames over time, for recordings: what tf2 does for a running robot."""

from __future__ import annotations

from vlkng_ros.building.pose_track import PoseTrack
from vlkng_ros.types import NS_PER_S, Pose

SPAN_NS = 60 * NS_PER_S
_DEEPEST = 100


class TransformTree:
    """The frames of a robot: each has one parent, and a pose in it that moves or stands still."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._moving: dict[str, PoseTrack] = {}
        self._fixed: dict[str, Pose] = {}

    @property
    def frames(self) -> list[str]:
        """Every frame that was mentioned, sorted."""
        return sorted({*self._parents, *self._parents.values()})

    def add(self, stamp_ns: int, child: str, pose: Pose, *, fixed: bool = False) -> None:
        """Take the pose of ``child`` in its parent ``pose.frame_id``; a fixed one holds at all times."""
        if self._parents.get(child) != pose.frame_id:
            self._parents[child] = pose.frame_id
            self._moving.pop(child, None)
            self._fixed.pop(child, None)
        if fixed:
            self._fixed[child] = pose
        else:
            self._moving.setdefault(child, PoseTrack(SPAN_NS)).add(stamp_ns, pose)

    def clear_moving(self) -> None:
        """Forget what moves: time jumped back."""
        self._moving.clear()

    def newest_ns(self, parent: str, child: str) -> int | None:
        """The newest stamp at which ``child`` can be placed in ``parent``; None if it cannot be.

        A chain without moving parts holds at all times: 0.
        """
        chain = self._chain(parent, child)
        if chain is None:
            return None
        stamps = [self._moving[frame].newest_ns for frame in chain if frame not in self._fixed]
        return min((stamp for stamp in stamps if stamp is not None), default=0)

    def lookup(self, parent: str, child: str, stamp_ns: int) -> Pose | None:
        """The pose of ``child`` in ``parent``, an ancestor of it; None if it is not known at this time."""
        chain = self._chain(parent, child)
        if chain is None:
            return None
        found = Pose(parent, (0.0, 0.0, 0.0))
        for frame in reversed(chain):
            step = self._fixed.get(frame) or self._moving[frame].at(stamp_ns)
            if step is None:
                return None
            found = found.compose(step)
        return found

    def _chain(self, parent: str, child: str) -> list[str] | None:
        """The frames from ``child`` up to, and without, ``parent``."""
        chain: list[str] = []
        frame = child
        while frame != parent:
            if frame not in self._fixed and frame not in self._moving:
                return None
            chain.append(frame)
            if len(chain) > _DEEPEST:
                return None
            frame = self._parents[frame]
        return chain
