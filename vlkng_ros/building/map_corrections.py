"""Moves keyframes when SLAM moves the map under them: a loop was closed.

SLAM Toolbox makes a pose-graph vertex of each scan it processes and publishes the robot's pose then. The vertices
are published too, from time to time: their number and corrected place, neither stamp nor heading. A vertex is matched
with the pose that was published when it was made; how both differ later is how the map moved there. A keyframe moves
as the vertices made before and after it do, and turns as a rigid fit to its neighbours turns.

Which vertices a drive's keyframes were placed by is kept with them (anchors), so that a builder started later moves
the keyframes of earlier drives through the same map as well.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.building.rotation import multiply, turn_between_rad
from vlkng_ros.memory.anchors import Anchor, AnchoredDrive
from vlkng_ros.types import Float64Array, Pose

MOVED_M = 0.02
MOVED_RAD = 0.005
"""Corrections smaller than this are not worth a write."""
NEIGHBOURS = 3
"""Vertices on either side of a keyframe that a heading is fitted to at first ..."""
MOST_NEIGHBOURS = 12
SPREAD_M = 1.0
"""... and more of them where those do not spread this far."""
SHIFTS = 3
"""Poses and vertices may be so many out of step: messages overtake each other."""
MOST_POSES = 20_000
MOST_KEYFRAMES = 50_000
"""Without a graph they would gather for ever."""
SAME_M = 0.1
"""A vertex is within this of the pose that was published for it, unless the map moved in between."""
SAME_GRAPH_SHARE = 0.8
"""Of an earlier drive's vertices; a graph with fewer of them was made anew and counts from the start again."""
STRETCH = 10
SAME_GRAPH_STRETCH = 0.3
"""A closed loop bends a stretch of the way; more than this share of its length it is another way."""


@dataclass(frozen=True, slots=True)
class _Kept:
    keyframe_id: int
    stamp_ns: int
    pose: Pose
    mount: Pose | None


class MapCorrections:
    """Poses, vertices and keyframes of one drive. Not thread-safe."""

    def __init__(self) -> None:
        self.clear()

    @classmethod
    def of_earlier(cls, drive: AnchoredDrive) -> MapCorrections:
        """A drive that is over, as the memory holds it: its keyframes still move with the vertices they had."""
        corrections = cls()
        for vertex, anchor in drive.anchors.items():
            corrections._matched[vertex] = (anchor.stamp_ns, Pose.planar("", anchor.x_m, anchor.y_m))
            corrections._placed[vertex] = (anchor.x_m, anchor.y_m)
        for keyframe_id, stamp_ns, base, camera in drive.keyframes:
            mount = base.inverse("base").compose(camera) if camera is not None else None
            corrections.add_keyframe(keyframe_id, stamp_ns, base, mount)
        corrections._over = True
        return corrections

    def clear(self) -> None:
        """A new session: what was matched belongs to another map."""
        self._poses: deque[tuple[int, Pose]] = deque(maxlen=MOST_POSES)
        """Published since the last graph."""
        self._matched: dict[int, tuple[int, Pose]] = {}
        """By vertex: stamp and pose as published."""
        self._last_vertex = -1
        self._keyframes: deque[_Kept] = deque(maxlen=MOST_KEYFRAMES)
        self._now: dict[int, Pose] = {}
        """Where keyframes were moved to, by id."""
        self._placed: dict[int, tuple[float, float]] = {}
        """Where each vertex is on the map that the keyframes' present poses belong to, as far as that was kept."""
        self._due: dict[int, tuple[float, float]] = {}
        self._over = False

    def add_pose(self, stamp_ns: int, pose: Pose) -> None:
        """A pose was published: a vertex has been made."""
        if not self._poses or stamp_ns > self._poses[-1][0]:
            self._poses.append((stamp_ns, pose))

    def add_keyframe(self, keyframe_id: int, stamp_ns: int, pose: Pose, mount: Pose | None = None) -> None:
        """A keyframe was stored with this pose of the base, and the camera on it where its place is known."""
        self._keyframes.append(_Kept(keyframe_id, stamp_ns, pose, mount))

    def update(self, vertices: Mapping[int, tuple[float, float]]) -> dict[int, tuple[Pose, Pose | None]]:
        """Take the vertices' present places; returns the keyframes that moved, with new poses of base and camera.

        Args:
            vertices: place on the map by number; numbers ascend as vertices are made.
        """
        if not self._over:
            self._match(vertices)
        anchors = sorted((stamp, vertex, pose) for vertex, (stamp, pose) in self._matched.items() if vertex in vertices)
        self._due = {v: pose.position_m[:2] for _, v, pose in anchors if v not in self._placed}
        if not any(
            math.dist(self._placed.get(vertex, pose.position_m[:2]), vertices[vertex]) >= MOVED_M
            for _, vertex, pose in anchors
        ):
            return {}
        self._due = {vertex: vertices[vertex] for _, vertex, _ in anchors}
        if len(anchors) < 2 or not self._keyframes:
            return {}
        stamps = np.array([stamp for stamp, _, _ in anchors], dtype=np.int64)
        before = np.array([pose.position_m[:2] for _, _, pose in anchors])
        after = np.array([vertices[vertex] for _, vertex, _ in anchors])
        turns = _turns(before, after)
        moved: dict[int, tuple[Pose, Pose | None]] = {}
        for kept in self._keyframes:
            pose = _moved(kept, stamps, before, after, turns)
            present = self._now.get(kept.keyframe_id, kept.pose)
            if pose.distance_m(present) > MOVED_M or turn_between_rad(pose, present) > MOVED_RAD:
                moved[kept.keyframe_id] = (pose, pose.compose(kept.mount) if kept.mount is not None else None)
        return moved

    @property
    def due(self) -> dict[int, Anchor]:
        """Anchors by vertex that the last :meth:`update` made or moved; to be kept together with what it returned."""
        return {vertex: Anchor(self._matched[vertex][0], x, y) for vertex, (x, y) in self._due.items()}

    def applied(self, moved: Mapping[int, tuple[Pose, Pose | None]]) -> None:
        """What :meth:`update` returned was written, and :attr:`due` kept; otherwise both come again."""
        ours = (kept.keyframe_id for kept in self._keyframes)
        self._now |= {keyframe_id: moved[keyframe_id][0] for keyframe_id in ours if keyframe_id in moved}
        self._placed |= self._due
        self._due = {}

    @property
    def newest_vertex(self) -> int:
        """The highest number of a vertex that was matched; -1 where none was."""
        return max(self._matched, default=-1)

    def begin_after(self, vertex: int) -> None:
        """The vertices of this drive have higher numbers: those up to this one were made in earlier drives."""
        self._last_vertex = max(self._last_vertex, vertex)

    def is_of(self, vertices: Mapping[int, tuple[float, float]]) -> bool:
        """Whether a graph is the one that this earlier drive's vertices are of, and not one begun anew."""
        known = sorted(self._matched)
        found = [vertex for vertex in known if vertex in vertices]
        if len(found) < 2 or len(found) < SAME_GRAPH_SHARE * len(known):
            return False
        ends = [(found[i], found[min(i + STRETCH, len(found) - 1)]) for i in range(max(1, len(found) - STRETCH))]
        before = np.array([math.dist(self._placed[a], self._placed[b]) for a, b in ends])
        after = np.array([math.dist(vertices[a], vertices[b]) for a, b in ends])
        return float(np.median(np.abs(after - before))) <= SAME_GRAPH_STRETCH * float(np.median(before)) + SAME_M

    def settle(self, keyframe_id: int, pose: Pose) -> None:
        """A keyframe's pose became known better than when it was stored."""
        for index in range(len(self._keyframes) - 1, -1, -1):
            if self._keyframes[index].keyframe_id == keyframe_id:
                self._keyframes[index] = replace(self._keyframes[index], pose=pose)
                return

    def forget(self, keyframe_ids: Collection[int]) -> None:
        """Keyframes are not in the memory any more."""
        kept = (k for k in self._keyframes if k.keyframe_id not in keyframe_ids)
        self._keyframes = deque(kept, maxlen=MOST_KEYFRAMES)

    def _match(self, vertices: Mapping[int, tuple[float, float]]) -> None:
        """Match vertices that are new with poses published since the last graph, both in order."""
        new = sorted(vertex for vertex in vertices if vertex > self._last_vertex)
        poses = list(self._poses)
        if not new or not poses:
            return
        # The newest vertex is that of the newest pose, but for messages that overtook each other.
        best: tuple[float, int] | None = None
        for shift in range(-SHIFTS, SHIFTS + 1):
            pairs = _pairs(len(poses), len(new), shift)
            if not pairs:
                continue
            away = [math.dist(poses[i][1].position_m[:2], vertices[new[j]]) for i, j in pairs]
            score = float(np.median(away)) + 0.01 * abs(shift)
            if best is None or score < best[0]:
                best = (score, shift)
        if best is None:
            return
        pairs = _pairs(len(poses), len(new), best[1])
        sure = best[0] < SAME_M or len(poses) == len(new)
        if sure:
            for i, j in pairs:
                self._matched[new[j]] = poses[i]
        last = max((i for i, _ in pairs), default=-1)
        self._last_vertex = new[max((j for _, j in pairs), default=len(new) - 1)]
        # A pose whose vertex is still to come waits for it.
        for _ in range(last + 1):
            self._poses.popleft()


def _pairs(poses: int, vertices: int, shift: int) -> list[tuple[int, int]]:
    """Index pairs, the last with the last; a positive shift leaves the newest poses without a vertex."""
    found = []
    for back in range(min(poses, vertices) + abs(shift)):
        i, j = poses - 1 - back - max(shift, 0), vertices - 1 - back - max(-shift, 0)
        if i >= 0 and j >= 0:
            found.append((i, j))
    return found[::-1]


def _moved(
    kept: _Kept, stamps: NDArray[np.int64], before: Float64Array, after: Float64Array, turns: Float64Array
) -> Pose:
    """A keyframe's pose after its surroundings went from ``before`` to ``after``, both of shape ``(n, 2)``.

    ``turns`` are the angles by which what lies around each vertex turned, shape ``(n + 1,)``.
    """
    next_one = int(np.searchsorted(stamps, kept.stamp_ns))
    angle_rad = float(turns[next_one])
    first, second = max(0, next_one - 1), min(len(stamps) - 1, next_one)
    span = int(stamps[second] - stamps[first])
    share = (kept.stamp_ns - int(stamps[first])) / span if span > 0 else 0.0
    share = min(max(share, 0.0), 1.0)
    x_m, y_m, z_m = kept.pose.position_m
    cos, sin = math.cos(angle_rad), math.sin(angle_rad)
    x, y = 0.0, 0.0
    for vertex, weight in ((first, 1 - share), (second, share)):
        (from_x, from_y), (to_x, to_y) = before[vertex].tolist(), after[vertex].tolist()
        x += weight * (to_x + cos * (x_m - from_x) - sin * (y_m - from_y))
        y += weight * (to_y + sin * (x_m - from_x) + cos * (y_m - from_y))
    turn = (0.0, 0.0, math.sin(angle_rad / 2), math.cos(angle_rad / 2))
    return Pose(kept.pose.frame_id, (x, y, z_m), multiply(turn, kept.pose.orientation))


def _turns(before: Float64Array, after: Float64Array) -> Float64Array:
    """:func:`_turn` around every vertex and behind the last, shape ``(n + 1,)``: at once where the first reach does."""
    count = len(before)
    around = np.arange(count + 1)
    low, high = np.maximum(0, around - NEIGHBOURS), np.minimum(count, around + NEIGHBOURS)
    # Sums over a window are differences of running sums; from the middle, so that little is lost in them.
    old, new = before - before.mean(axis=0), after - after.mean(axis=0)
    crosses, dots = old[:, 0] * new[:, 1] - old[:, 1] * new[:, 0], np.sum(old * new, axis=1)
    running = np.vstack([np.zeros(6), np.cumsum(np.column_stack([old, new, crosses, dots]), axis=0)])
    old_x, old_y, new_x, new_y, cross, dot = (running[high] - running[low]).T
    members = high - low
    turns: Float64Array = np.arctan2(
        cross - (old_x * new_y - old_y * new_x) / members, dot - (old_x * new_x + old_y * new_y) / members
    )
    window = old[np.clip(around[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS), low[:, None], high[:, None] - 1)]
    for vertex in np.flatnonzero(np.linalg.norm(np.ptp(window, axis=1), axis=1) < SPREAD_M).tolist():
        turns[vertex] = _turn(vertex, before, after)
    return turns


def _turn(around: int, before: Float64Array, after: Float64Array) -> float:
    """Angle of the rigid motion that takes the vertices around a place best to where they are now (Kabsch in 2D)."""
    reach = NEIGHBOURS
    while True:
        part = slice(max(0, around - reach), min(len(before), around + reach))
        old = before[part] - before[part].mean(axis=0)
        new = after[part] - after[part].mean(axis=0)
        spread_m = float(np.linalg.norm(np.ptp(old, axis=0)))
        if spread_m >= SPREAD_M or reach >= MOST_NEIGHBOURS:
            break
        reach += NEIGHBOURS
    if spread_m < SPREAD_M / 4:
        return 0.0
    cross = float(np.sum(old[:, 0] * new[:, 1] - old[:, 1] * new[:, 0]))
    dot = float(np.sum(old * new))
    return math.atan2(cross, dot)
