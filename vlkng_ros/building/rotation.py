"""Quaternion arithmetic for interpolating poses; ``(x, y, z, w)``, unit length."""

from __future__ import annotations

import math

from vlkng_ros.types import Pose, Quaternion, Vec3


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation ``b`` followed by ``a``."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """The rotation the other way."""
    return (-q[0], -q[1], -q[2], q[3])


def angle_between_rad(a: Quaternion, b: Quaternion) -> float:
    """Smallest angle that turns one into the other, in ``[0, pi]``.

    By the sine of the half angle, which stays exact for small angles where the arc cosine does not.
    """
    x, y, z, w = multiply(a, conjugate(b))
    return 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))


def slerp(a: Quaternion, b: Quaternion, fraction: float) -> Quaternion:
    """The rotation a ``fraction`` in ``[0, 1]`` of the shorter way from ``a`` to ``b`` (Shoemake 1985)."""
    dot = sum(p * q for p, q in zip(a, b, strict=True))
    if dot < 0.0:
        b = (-b[0], -b[1], -b[2], -b[3])
        dot = -dot
    if dot > 0.9995:
        # The sine of the angle vanishes; a straight line is as good here and does not divide by it.
        weight_a, weight_b = 1.0 - fraction, fraction
    else:
        angle = math.acos(dot)
        weight_a = math.sin((1.0 - fraction) * angle) / math.sin(angle)
        weight_b = math.sin(fraction * angle) / math.sin(angle)
    x, y, z, w = (weight_a * p + weight_b * q for p, q in zip(a, b, strict=True))
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    return (x / norm, y / norm, z / norm, w / norm)


def interpolate(a: Pose, b: Pose, fraction: float) -> Pose:
    """The pose a ``fraction`` in ``[0, 1]`` of the way from ``a`` to ``b``: straight line and slerp."""
    position: Vec3 = (
        a.position_m[0] + fraction * (b.position_m[0] - a.position_m[0]),
        a.position_m[1] + fraction * (b.position_m[1] - a.position_m[1]),
        a.position_m[2] + fraction * (b.position_m[2] - a.position_m[2]),
    )
    return Pose(a.frame_id, position, slerp(a.orientation, b.orientation, fraction))


def turn_between_rad(a: Pose, b: Pose) -> float:
    """Smallest angle between two headings of one frame, in ``[0, pi]``."""
    return angle_between_rad(a.orientation, b.orientation)
