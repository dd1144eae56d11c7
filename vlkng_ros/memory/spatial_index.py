"""A hash of the floor into squares: who is near, at a cost that depends on how many are near."""

from __future__ import annotations

import math
from collections.abc import Iterator

from vlkng_ros.types import Vec3

CELL_M = 2.5
_Cell = tuple[int, int]


class SpatialGrid:
    """Places of keys. A key may have two: where it is and where it was seen from (``slot`` 0 and 1)."""

    def __init__(self, cell_m: float = CELL_M) -> None:
        self._cell_m = cell_m
        self._cells: dict[_Cell, dict[tuple[int, int], Vec3]] = {}
        self._places: dict[tuple[int, int], Vec3] = {}

    def __len__(self) -> int:
        return len(self._places)

    def place(self, key: int, slot: int, position_m: Vec3) -> None:
        """Put a key somewhere, or move it there."""
        name = (key, slot)
        known = self._places.get(name)
        if known == position_m:
            return
        cell = self._cell(position_m)
        if known is not None:
            old = self._cell(known)
            if old != cell:
                self._drop(old, name)
        self._places[name] = position_m
        self._cells.setdefault(cell, {})[name] = position_m

    def remove(self, key: int) -> None:
        """Take a key out; unknown keys are no error."""
        for name in ((key, 0), (key, 1)):
            known = self._places.pop(name, None)
            if known is not None:
                self._drop(self._cell(known), name)

    def near(self, position_m: Vec3, radius_m: float) -> list[int]:
        """Keys with a place within ``radius_m``, ascending, once each."""
        x, y, z = position_m
        limit = radius_m * radius_m
        found = {
            name[0]
            for cell in self._cells_around(x, y, radius_m)
            for name, (px, py, pz) in cell.items()
            if (px - x) * (px - x) + (py - y) * (py - y) + (pz - z) * (pz - z) <= limit
        }
        return sorted(found)

    def _cells_around(self, x: float, y: float, radius_m: float) -> Iterator[dict[tuple[int, int], Vec3]]:
        low_x, low_y = self._cell((x - radius_m, y - radius_m, 0.0))
        high_x, high_y = self._cell((x + radius_m, y + radius_m, 0.0))
        if (high_x - low_x + 1) * (high_y - low_y + 1) > len(self._cells):
            yield from self._cells.values()
            return
        for i in range(low_x, high_x + 1):
            for j in range(low_y, high_y + 1):
                cell = self._cells.get((i, j))
                if cell:
                    yield cell

    def _drop(self, cell: _Cell, name: tuple[int, int]) -> None:
        members = self._cells[cell]
        del members[name]
        if not members:
            del self._cells[cell]

    def _cell(self, position_m: Vec3) -> _Cell:
        return (math.floor(position_m[0] / self._cell_m), math.floor(position_m[1] / self._cell_m))
