"""A hash of the floor into squares: who is near, at a cost that depends on how many are near."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from vlkng_ros.types import Vec3

CELL_M = 4.0
ROUNDING_M = 1e-6
"""How much further than a radius cells are looked at: a distance is rounded, and so is the edge of a cell."""
STANDING, SEEN_FROM = 0, 1
"""The two places that a key may have: where it is, and where it was last seen from."""
_Cell = tuple[int, int, int]
"""Column, row and which of the two places."""


class SpatialGrid:
    """Places of keys, at most two each."""

    def __init__(self, cell_m: float = CELL_M) -> None:
        self._cell_m = cell_m
        self._cells: dict[_Cell, dict[int, Vec3]] = {}
        self._places: dict[tuple[int, int], Vec3] = {}

    def __len__(self) -> int:
        return len(self._places)

    def place(self, key: int, slot: int, position_m: Vec3) -> None:
        """Put a key somewhere, or move it there."""
        known = self._places.get((key, slot))
        if known == position_m:
            return
        cell = self._cell(position_m, slot)
        if known is not None:
            old = self._cell(known, slot)
            if old != cell:
                self._drop(old, key)
        self._places[key, slot] = position_m
        members = self._cells.get(cell)
        if members is None:
            members = self._cells[cell] = {}
        members[key] = position_m

    def remove(self, key: int) -> None:
        """Take a key out; unknown keys are no error."""
        for slot in (STANDING, SEEN_FROM):
            known = self._places.pop((key, slot), None)
            if known is not None:
                self._drop(self._cell(known, slot), key)

    def near(self, position_m: Vec3, radius_m: float, slots: Sequence[int] = (STANDING, SEEN_FROM)) -> list[int]:
        """Keys with a place (one of ``slots``) within ``radius_m``, ascending, once each."""
        x, y, z = position_m
        limit = radius_m * radius_m
        found: set[int] = set()
        for cell in self._cells_around(x, y, radius_m, slots):
            for key, (px, py, pz) in cell.items():
                px, py, pz = px - x, py - y, pz - z
                if px * px + py * py + pz * pz <= limit:
                    found.add(key)
        return sorted(found)

    def _cells_around(self, x: float, y: float, radius_m: float, slots: Sequence[int]) -> Iterator[dict[int, Vec3]]:
        reach = radius_m + ROUNDING_M
        low_x, low_y, _ = self._cell((x - reach, y - reach, 0.0), 0)
        high_x, high_y, _ = self._cell((x + reach, y + reach, 0.0), 0)
        if (high_x - low_x + 1) * (high_y - low_y + 1) > len(self._cells):
            yield from (members for (_, _, slot), members in self._cells.items() if slot in slots)
            return
        for i in range(low_x, high_x + 1):
            for j in range(low_y, high_y + 1):
                for slot in slots:
                    members = self._cells.get((i, j, slot))
                    if members:
                        yield members

    def _drop(self, cell: _Cell, key: int) -> None:
        members = self._cells[cell]
        del members[key]
        if not members:
            del self._cells[cell]

    def _cell(self, position_m: Vec3, slot: int) -> _Cell:
        return (math.floor(position_m[0] / self._cell_m), math.floor(position_m[1] / self._cell_m), slot)
