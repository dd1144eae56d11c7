"""Where cameras stood and which way they looked: of a thing that is new somewhere, whether it was there before.

What stands on the line of sight between a camera and a thing sees the thing, so a camera that stood there earlier and
looked the same way would have seen it. Looks are kept by squares of the floor and sectors of directions, and those of
one visit as one, so that their number is bounded by the size of the building, and an answer costs the same in an old
memory.
"""

from __future__ import annotations

import math
from typing import NamedTuple

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
NEVER_NS = -(2**63)
"""Before any time."""
_WIDTH = math.tau / SECTORS
_Cell = tuple[int, int, int]
"""Column, row and sector."""


class Earlier(NamedTuple):
    """Looks at a place on earlier visits: how many, and when the last one was."""

    looks: int
    last_ns: int


class Looks:
    """The looks around one map; ``add`` them in the order in which they are to count."""

    def __init__(self) -> None:
        self._visits: dict[_Cell, tuple[int, int, int]] = {}
        """How many visits there were, when the last look was, and the last one of the visit before."""

    def add(self, camera: CameraView, stamp_ns: int) -> None:
        """A keyframe was described."""
        x, y, _ = camera.centre_m
        sector = _sector(camera.forward[0], camera.forward[1])
        cell = (math.floor(x / CELL_M), math.floor(y / CELL_M), sector)
        visits, last_ns, before_ns = self._visits.get(cell, (1, stamp_ns, NEVER_NS))
        if stamp_ns - last_ns > VISIT_NS:
            self._visits[cell] = (visits + 1, stamp_ns, last_ns)
        else:
            self._visits[cell] = (visits, max(stamp_ns, last_ns), before_ns)

    def earlier(self, camera: CameraView, at_m: Vec3, stamp_ns: int) -> Earlier:
        """How often, on earlier visits, a camera looked at a place from the line of sight that this camera has to it.

        Places beyond 6 m are taken to be there: their distance is not known, and what is in between is.
        """
        x, y, _ = camera.centre_m
        dx, dy = at_m[0] - x, at_m[1] - y
        length = math.hypot(dx, dy)
        if length < NEAREST_M:
            return Earlier(0, NEVER_NS)
        dx, dy = dx / length, dy / length
        length = min(length, FURTHEST_M)
        at_x, at_y, reach = x + dx * length, y + dy * length, length - NEAREST_M
        # Half the image's angle, less what a sector may be off by.
        k = camera.intrinsics
        aside = math.atan(min(k.cx, k.width_px - k.cx) / k.fx) - _WIDTH / 2
        found, latest_ns = 0, NEVER_NS
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
                        visits, last_ns, before_ns = self._visits.get((i, j, sector), (0, NEVER_NS, NEVER_NS))
                        if visits and stamp_ns - last_ns <= VISIT_NS:
                            visits, last_ns = visits - 1, before_ns
                        found += visits
                        latest_ns = max(latest_ns, last_ns)
        return Earlier(found, latest_ns)


def _sector(x: float, y: float) -> int:
    return min(int(math.atan2(y, x) % math.tau / _WIDTH), SECTORS - 1)
