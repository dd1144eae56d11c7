"""Poses by time: a bounded, sorted track that is interpolated at any stamp within it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

from vlkng_ros.building.rotation import interpolate
from vlkng_ros.types import Pose


class PoseTrack:
    """Stamped poses in order of time, the oldest of which are forgotten.

    Look-ups are O(log n). Of the poses older than the span the newest is kept: a parked robot's last pose still
    holds, and the way from there to the next pose starts at it.

    Args:
        span_ns: how long before the newest pose others are kept.
        limit: most poses kept.
    """

    def __init__(self, span_ns: int, limit: int = 20_000) -> None:
        self._span_ns = span_ns
        self._limit = limit
        self._stamps: list[int] = []
        self._poses: dict[int, Pose] = {}

    def __len__(self) -> int:
        return len(self._stamps)

    @property
    def oldest_ns(self) -> int | None:
        """Stamp of the oldest pose kept."""
        return self._stamps[0] if self._stamps else None

    @property
    def newest_ns(self) -> int | None:
        """Stamp of the newest pose."""
        return self._stamps[-1] if self._stamps else None

    def add(self, stamp_ns: int, pose: Pose) -> bool:
        """Remember a pose, in whatever order poses come; False if the stamp was known (the later message wins)."""
        known = stamp_ns in self._poses
        self._poses[stamp_ns] = pose
        if not known:
            insort(self._stamps, stamp_ns)
            self._forget_before(self._stamps[-1] - self._span_ns)
        return not known

    def clear(self) -> None:
        """Forget every pose."""
        self._stamps.clear()
        self._poses.clear()

    def before(self, stamp_ns: int) -> tuple[int, Pose] | None:
        """The newest pose at or before a stamp."""
        index = bisect_right(self._stamps, stamp_ns) - 1
        return self._at(index) if index >= 0 else None

    def after(self, stamp_ns: int) -> tuple[int, Pose] | None:
        """The oldest pose at or after a stamp."""
        index = bisect_left(self._stamps, stamp_ns)
        return self._at(index) if index < len(self._stamps) else None

    def oldest(self) -> tuple[int, Pose] | None:
        """The oldest pose kept."""
        return self._at(0) if self._stamps else None

    def newest(self) -> tuple[int, Pose] | None:
        """The newest pose."""
        return self._at(-1) if self._stamps else None

    def at(self, stamp_ns: int) -> Pose | None:
        """The pose at a stamp, interpolated; None outside the track."""
        before, after = self.before(stamp_ns), self.after(stamp_ns)
        if before is None or after is None:
            return None
        (start_ns, start), (end_ns, end) = before, after
        if start_ns == end_ns:
            return start
        return interpolate(start, end, (stamp_ns - start_ns) / (end_ns - start_ns))

    def _at(self, index: int) -> tuple[int, Pose]:
        stamp = self._stamps[index]
        return stamp, self._poses[stamp]

    def _forget_before(self, stamp_ns: int) -> None:
        old = max(bisect_left(self._stamps, stamp_ns) - 1, len(self._stamps) - self._limit)
        # In batches, since each removal moves every stamp that stays.
        if old > 64:
            for stamp in self._stamps[:old]:
                del self._poses[stamp]
            del self._stamps[:old]
