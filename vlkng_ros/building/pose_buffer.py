"""Where the robot stood when an image was taken.

SLAM publishes few poses: SLAM Toolbox one after about 0.5 m or 0.5 rad, none while parked. An image's pose is

1. between two SLAM poses: odometry's way from the first to the second, bent so that it meets both; without
   odometry, interpolated;
2. after the last SLAM pose: that pose, carried forward by odometry's relative motion;
3. after the last SLAM pose and without odometry: that pose, once a later one failed to come in time, since a topic
   that is silent until the robot moved says by its silence that it did not.

No pose is refused for its age.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from vlkng_ros.building.pose_track import PoseTrack
from vlkng_ros.building.rotation import conjugate, interpolate, multiply, slerp, turn_between_rad
from vlkng_ros.config import PoseConfig
from vlkng_ros.types import NS_PER_S, Pose

SLOWEST_M_S = 0.1
SLOWEST_RAD_S = 0.1
"""A robot that moves is faster than this; of a longer gap between two poses it was parked the first part."""
CLOCKS_APART_NS = 86_400 * NS_PER_S
"""Stamps further apart come from different clocks (wall time and simulated time)."""
MAP_JUMP_M = 0.5
MAP_JUMP_RAD = 0.35
MAP_JUMP_SHARE = 0.25
"""Odometry that misses the next SLAM pose by more than this (plus a share of the way) is not drift: the map moved."""
ODOMETRY_JUMP_M = 0.5
ODOMETRY_JUMP_M_S = 20.0


@dataclass(frozen=True, slots=True)
class FoundPose:
    """The robot's base at a stamp.

    ``how`` is ``exact``, ``interpolated``, ``odometry`` (between two poses), ``carried`` (by odometry from one pose) or
    ``held``; ``uncertainty_m`` is what the method may be off by, beyond the error of the poses themselves.
    """

    pose: Pose
    how: str
    uncertainty_m: float = 0.0

    @property
    def is_final(self) -> bool:
        """Whether the next pose would not make it better."""
        return self.how not in ("carried", "held")


@dataclass(frozen=True, slots=True)
class NotYet:
    """No pose now; a message that may still come would give one."""

    reason: str


@dataclass(frozen=True, slots=True)
class Never:
    """No pose, and waiting does not help."""

    reason: str


Lookup = FoundPose | NotYet | Never


class PoseBuffer:
    """Recent SLAM poses and odometry, and from them the pose at a stamp.

    Not thread-safe: one thread adds and looks up. Poses are those of the robot's base in ``map_frame``.

    Args:
        map_frame: the only frame that poses are accepted in.
        config: ``wait_s``, ``buffer_s``, ``hold_distance_m`` and ``use_odometry`` are used.
        pose_topic: named in reasons.
        odometry_topic: named in reasons.
    """

    def __init__(
        self, map_frame: str, config: PoseConfig, *, pose_topic: str = "pose", odometry_topic: str = "odom"
    ) -> None:
        self.map_frame = map_frame.strip("/")
        self.pose_topic = pose_topic
        self.odometry_topic = odometry_topic
        self.refused: Counter[str] = Counter()
        """How many messages were not used or not new, by reason: ``frame_id``, ``out_of_order``, ``duplicate``, ..."""
        self.last_problem = ""
        """What was wrong with the last message that was refused."""
        self._config = config
        span_ns = round(config.buffer_s * NS_PER_S)
        self._poses = PoseTrack(span_ns)
        self._odometry = PoseTrack(span_ns)
        self._odometry_frame = ""
        self._anchors: dict[int, Pose] = {}

    # ------------------------------------------------------------------------------------------ messages

    def add_pose(self, stamp_ns: int, pose: Pose) -> bool:
        """Take a SLAM pose; late and out-of-order ones too. Returns False if it was refused or known."""
        if pose.frame_id.strip("/") != self.map_frame:
            self.refuse(
                "frame_id",
                f"{self.pose_topic}: pose in frame '{pose.frame_id}', not in '{self.map_frame}'; remap the pose topic "
                "or set robot.map_frame",
            )
            return False
        newest = self._poses.newest_ns
        if newest is not None and stamp_ns < newest:
            self.refused["out_of_order"] += 1
        if not self._poses.add(stamp_ns, pose):
            self.refused["duplicate"] += 1
            return False
        anchor = self._odometry.at(stamp_ns)
        if anchor is not None:
            self._anchors[stamp_ns] = anchor
        self._forget_anchors()
        return True

    def add_odometry(self, stamp_ns: int, pose: Pose) -> bool:
        """Take an odometry pose, in whatever frame odometry has. Returns False if it was refused or known."""
        newest = self._odometry.newest()
        if newest is not None:
            seconds = (stamp_ns - newest[0]) / NS_PER_S
            moved = pose.distance_m(newest[1])
            if pose.frame_id != self._odometry_frame or moved > max(ODOMETRY_JUMP_M, ODOMETRY_JUMP_M_S * abs(seconds)):
                self.refuse(
                    "odometry_jump",
                    f"{self.odometry_topic}: odometry started over (frame '{pose.frame_id}', {moved:.2f} m off in "
                    f"{seconds:.3f} s); the pose is held until the next message on {self.pose_topic}",
                )
                self._odometry.clear()
                self._anchors.clear()
            elif seconds < 0:
                self.refused["out_of_order"] += 1
        if not self._odometry.add(stamp_ns, pose):
            self.refused["duplicate"] += 1
            return False
        self._odometry_frame = pose.frame_id
        last_pose = self._poses.newest_ns
        if last_pose is not None and last_pose not in self._anchors and newest is not None:
            # Kept beside the pose, since odometry is forgotten while a robot is parked.
            anchor = self._odometry.at(last_pose)
            if anchor is not None:
                self._anchors[last_pose] = anchor
        return True

    def refuse(self, reason: str, message: str) -> None:
        """Count a message that cannot be used; for those that did not even make a pose, too."""
        self.refused[reason] += 1
        self.last_problem = message

    def clear(self) -> None:
        """Forget all poses: a new session begins."""
        self._poses.clear()
        self._odometry.clear()
        self._anchors.clear()

    # ------------------------------------------------------------------------------------------ state

    @property
    def newest_pose_ns(self) -> int | None:
        """Stamp of the newest SLAM pose."""
        return self._poses.newest_ns

    def latest(self) -> FoundPose | None:
        """Where the robot is now, as far as is known."""
        stamps = [stamp for stamp in (self._poses.newest_ns, self._odometry.newest_ns) if stamp is not None]
        found = self.lookup(max(stamps), waited_s=math.inf) if stamps else None
        return found if isinstance(found, FoundPose) else None

    # ------------------------------------------------------------------------------------------ look-up

    def lookup(self, stamp_ns: int, waited_s: float = 0.0) -> Lookup:
        """The pose at a stamp.

        Args:
            stamp_ns: the image's stamp.
            waited_s: how long the image has waited; from ``wait_s`` on the answer is final.
        """
        over = waited_s >= self._config.wait_s
        newest = self._poses.newest_ns
        if newest is None:
            return self._without_any_pose(stamp_ns, over)
        if abs(newest - stamp_ns) > CLOCKS_APART_NS:
            return Never(
                f"{self.pose_topic} is stamped {newest / NS_PER_S:.1f} s and the image {stamp_ns / NS_PER_S:.1f} s: "
                "one uses simulated time and the other does not; check use_sim_time of both publishers"
            )
        before, after = self._poses.before(stamp_ns), self._poses.after(stamp_ns)
        if before is not None and before[0] == stamp_ns:
            return FoundPose(before[1], "exact")
        if self._config.use_odometry and len(self._odometry):
            found = self._by_odometry(stamp_ns, before, after, over)
            if found is not None:
                return found
        return self._by_poses(stamp_ns, before, after, over)

    def _without_any_pose(self, stamp_ns: int, over: bool) -> Lookup:
        reason = f"no pose received on {self.pose_topic}"
        if self.last_problem.startswith(self.pose_topic):
            reason = f"no usable pose received ({self.last_problem})"
        oldest = self._odometry.oldest_ns
        if self._config.use_odometry and oldest is not None and oldest <= stamp_ns:
            # The first pose, whenever it comes, can be carried back to this image.
            return NotYet(reason)
        return Never(reason) if over else NotYet(reason)

    def _by_odometry(
        self, stamp_ns: int, before: tuple[int, Pose] | None, after: tuple[int, Pose] | None, over: bool
    ) -> FoundPose | NotYet | None:
        newest = self._odometry.newest()
        here = self._odometry.at(stamp_ns)
        silent = False
        if here is None and newest is not None and newest[0] < stamp_ns:
            newest_pose = self._poses.newest_ns or 0
            dead = newest_pose - newest[0] > self._config.wait_s * NS_PER_S
            if after is not None and (over or dead):
                return None
            if not over and not dead:
                return NotYet(f"no message on {self.odometry_topic} since the image")
            # Odometry stopped: the best known is where it left the robot.
            here, silent = newest[1], True
        if here is None:
            return None
        start, uncertainty_m = self._anchor(before)
        end, _ = self._anchor(after)
        if before is not None and start is not None:
            carried = before[1].compose(_relative(start, here))
            if after is None or end is None or silent:
                how = "held" if silent else "carried"
                return FoundPose(carried, how, self._config.hold_distance_m if silent else uncertainty_m)
            return FoundPose(_bent(carried, before[1], after[1], start, here, end), "odometry", uncertainty_m)
        if after is not None and end is not None:
            return FoundPose(after[1].compose(_relative(end, here)), "carried")
        return None

    def _anchor(self, stamped: tuple[int, Pose] | None) -> tuple[Pose | None, float]:
        """Odometry at a SLAM pose's stamp, and how far the robot may have been from there."""
        if stamped is None:
            return None, 0.0
        anchor = self._anchors.get(stamped[0]) or self._odometry.at(stamped[0])
        if anchor is not None:
            return anchor, 0.0
        oldest, followed = self._odometry.oldest(), self._poses.after(stamped[0] + 1) is not None
        hold_m = self._config.hold_distance_m
        if oldest is not None and stamped[0] < oldest[0] and not followed and hold_m > 0:
            # The pose is older than odometry's first message, and none has followed: the robot had not moved far.
            return oldest[1], hold_m
        return None, 0.0

    def _by_poses(
        self, stamp_ns: int, before: tuple[int, Pose] | None, after: tuple[int, Pose] | None, over: bool
    ) -> Lookup:
        if before is None:
            return Never(f"the image is older than the first pose on {self.pose_topic}")
        if after is not None:
            return FoundPose(_between(stamp_ns, before, after), "interpolated")
        if not over:
            return NotYet(f"no message on {self.pose_topic} since the image")
        if self._config.hold_distance_m <= 0:
            age_s = (stamp_ns - before[0]) / NS_PER_S
            return Never(
                f"{self.pose_topic} stopped {age_s:.1f} s before the image; if it is silent while the robot is parked, "
                "set pose.hold_distance_m to the distance after which it speaks"
            )
        return FoundPose(before[1], "held", self._config.hold_distance_m)

    def _forget_anchors(self) -> None:
        oldest = self._poses.oldest_ns
        if oldest is not None and len(self._anchors) > 2 * len(self._poses) + 64:
            self._anchors = {stamp: pose for stamp, pose in self._anchors.items() if stamp >= oldest}


def _relative(start: Pose, end: Pose) -> Pose:
    """Motion from one pose to another of the same frame, as seen from the first."""
    return start.inverse("start").compose(end)


def _between(stamp_ns: int, before: tuple[int, Pose], after: tuple[int, Pose]) -> Pose:
    (start_ns, start), (end_ns, end) = before, after
    slowest_s = start.distance_m(end) / SLOWEST_M_S + turn_between_rad(start, end) / SLOWEST_RAD_S
    left_ns = max(start_ns, end_ns - round(slowest_s * NS_PER_S))
    if stamp_ns <= left_ns:
        return start
    return interpolate(start, end, (stamp_ns - left_ns) / (end_ns - left_ns))


def _bent(carried: Pose, before: Pose, after: Pose, start: Pose, here: Pose, end: Pose) -> Pose:
    """Odometry's way from ``before``, corrected so that it ends at ``after``.

    ``start``, ``here`` and ``end`` are odometry at the first pose, the image and the second pose. The correction
    grows with the way travelled, as drift does, so that a stop on the way does not move the robot.
    """
    predicted = before.compose(_relative(start, end))
    way_m, turn_rad = start.distance_m(end), turn_between_rad(start, end)
    off_m, off_rad = predicted.distance_m(after), turn_between_rad(predicted, after)
    if off_m > MAP_JUMP_M + MAP_JUMP_SHARE * way_m or off_rad > MAP_JUMP_RAD + MAP_JUMP_SHARE * turn_rad:
        # The map was corrected in between: the image belongs into the map as it is now.
        return after.compose(_relative(end, here))
    done = _travel(start, here)
    whole = done + _travel(here, end)
    fraction = done / whole if whole > 1e-9 else 0.0
    triples = zip(carried.position_m, after.position_m, predicted.position_m, strict=True)
    x, y, z = (here_m + fraction * (after_m - predicted_m) for here_m, after_m, predicted_m in triples)
    correction = slerp((0.0, 0.0, 0.0, 1.0), multiply(after.orientation, conjugate(predicted.orientation)), fraction)
    return Pose(carried.frame_id, (x, y, z), multiply(correction, carried.orientation))


def _travel(a: Pose, b: Pose) -> float:
    """How much moving lies between two poses: metres, and a turn counted as half a metre a radian."""
    return a.distance_m(b) + 0.5 * turn_between_rad(a, b)
