"""Where cameras stood and which way they looked: of a thing that is new somewhere, whether it was there before.

What stands on the line of sight between a camera and a thing sees the thing, so a camera that stood there earlier and
looked the same way would have seen it. Looks are kept by squares of the floor and sectors of directions, and those of
one visit as one, so that their number is bounded by the size of the building, and an answer costs the same in an old
memory.
"""

from __future__ import annotations

import math

from vlkng_ros.memory.bearing import CameraView
from vlkng_ros.types import Vec3

CELL_M = 0.5
SECTORS = 24
BESIDE_M = 0.45
"""How far beside the line of sight the middle of a square may be."""
NEAREST_M, FURTHEST_M = 0.7, 6.0
"""From nearer than that a thing is not seen whole; further away it is not looked for."""
VISIT_NS = 60_000_000_000
"""Looks from one square in one direction are of one visit when no more time passes between them."""
_WIDTH = math.tau / SECTORS
_Cell = tuple[int, int, int]
"""Column, row and sector."""


class Looks:
    """The looks around one map; ``add`` them in the order in which they are to count."""

    def __init__(self) -> None:
        self._visits: dict[_Cell, tuple[int, int]] = {}
        """How many visits there were, and when the last look was."""

    def add(self, camera: CameraView, stamp_ns: int) -> None:
        """A keyframe was described."""
        x, y, _ = camera.centre_m
        sector = _sector(camera.forward[0], camera.forward[1])
        cell = (math.floor(x / CELL_M), math.floor(y / CELL_M), sector)
        visits, last_ns = self._visits.get(cell, (1, stamp_ns))
        self._visits[cell] = (visits + int(stamp_ns - last_ns > VISIT_NS), max(stamp_ns, last_ns))

    def count(self, camera: CameraView, at_m: Vec3, stamp_ns: int) -> int:
        """How often, on earlier visits, a camera looked at a place from the line of sight that this camera has to it.

        Places beyond 6 m are taken to be there: their distance is not known, and what is in between is.
        """
        x, y, _ = camera.centre_m
        dx, dy = at_m[0] - x, at_m[1] - y
        length = math.hypot(dx, dy)
        if length < NEAREST_M:
            return 0
        dx, dy = dx / length, dy / length
        length = min(length, FURTHEST_M)
        at_x, at_y, reach = x + dx * length, y + dy * length, length - NEAREST_M
        # Half the image's angle, less what a sector may be off by.
        k = camera.intrinsics
        aside = math.atan(min(k.cx, k.width_px - k.cx) / k.fx) - _WIDTH / 2
        found = 0
        low_i, high_i = sorted((x, x + dx * reach))
        low_j, high_j = sorted((y, y + dy * reach))
        for i in range(math.floor((low_i - BESIDE_M) / CELL_M), math.floor((high_i + BESIDE_M) / CELL_M) + 1):
            for j in range(math.floor((low_j - BESIDE_M) / CELL_M), math.floor((high_j + BESIDE_M) / CELL_M) + 1):
                px, py = (i + 0.5) * CELL_M, (j + 0.5) * CELL_M
                along = min(max((px - x) * dx + (py - y) * dy, 0.0), reach)
                if math.hypot(px - x - dx * along, py - y - dy * along) > BESIDE_M:
                    continue
                toward = math.atan2(at_y - py, at_x - px)
                for sector in range(SECTORS):
                    if abs(math.remainder((sector + 0.5) * _WIDTH - toward, math.tau)) <= aside:
                        visits, last_ns = self._visits.get((i, j, sector), (0, 0))
                        found += visits - int(visits > 0 and stamp_ns - last_ns <= VISIT_NS)
        return found


def _sector(x: float, y: float) -> int:
    return min(int(math.atan2(y, x) % math.tau / _WIDTH), SECTORS - 1)
