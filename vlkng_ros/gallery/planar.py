"""Poses of things on the floor as ``(x, y, yaw)``: a simulation takes thousands of steps a second of them."""

from __future__ import annotations

import math

Planar = tuple[float, float, float]
"""x and y in metres, yaw in radians."""


def wrap(angle_rad: float) -> float:
    """The angle in ``[-pi, pi]``, the shorter way round."""
    return math.remainder(angle_rad, math.tau)


def compose(pose: Planar, local: Planar) -> Planar:
    """What is at ``local`` seen from ``pose``, in the frame of ``pose``."""
    x, y, yaw = pose
    cos, sin = math.cos(yaw), math.sin(yaw)
    return x + cos * local[0] - sin * local[1], y + sin * local[0] + cos * local[1], yaw + local[2]


def relative(origin: Planar, pose: Planar) -> Planar:
    """Where ``pose`` is seen from ``origin``; yaw in ``[-pi, pi]``."""
    dx, dy = pose[0] - origin[0], pose[1] - origin[1]
    cos, sin = math.cos(origin[2]), math.sin(origin[2])
    return cos * dx + sin * dy, cos * dy - sin * dx, wrap(pose[2] - origin[2])
