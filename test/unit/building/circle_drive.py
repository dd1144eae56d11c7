"""A drive that is known exactly, as SLAM and odometry would report it."""

from __future__ import annotations

import math

from vlkng_ros.types import NS_PER_S, Pose


def seconds(value: float) -> int:
    """Nanoseconds."""
    return round(value * NS_PER_S)


class CircleDrive:
    """1 m/s along a circle of 1 m: 1 rad/s. Odometry has an origin of its own and drifts with the way.

    Args:
        drift: share of the way and of the turn that odometry misses.
        parked: ``(start, end)`` seconds between which the robot stands still.
    """

    def __init__(self, drift: float = 0.0, parked: tuple[float, float] = (1e9, 1e9), start_s: float = 100.0) -> None:
        self.drift = drift
        self.parked = parked
        self.start_s = start_s

    def way_m(self, t_s: float) -> float:
        moving = t_s - self.start_s
        stop, go = self.parked
        return moving - max(0.0, min(t_s, go) - stop)

    def pose(self, t_s: float) -> Pose:
        way = self.way_m(t_s)
        return Pose.planar("map", math.sin(way) + 3.0, 1.0 - math.cos(way) - 2.0, way)

    def odometry(self, t_s: float) -> Pose:
        turn = self.way_m(t_s) * (1.0 + self.drift)
        radius = 1.0 + self.drift
        return Pose.planar("odom", 7.0 + radius * math.sin(turn), radius * (1.0 - math.cos(turn)), turn)
