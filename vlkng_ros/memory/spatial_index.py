"""A hash of the floor into squares: who is near, at a cost that depends on how many are near."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from math import dist

from vlkng_ros.types import Vec3

CELL_M, NAMED_CELL_M = 4.0, 16.0
ROUNDING_M = 1e-6
"""How much further than a radius cells are looked at: a distance is rounded, and so is the edge of a cell."""
STANDING, SEEN_FROM = 0, 1
"""The two places that a key may have: where it is, and where it was last seen from."""
_Cells = dict[tuple[int, int], dict[int, Vec3]]
"""Places by column and row, and by key."""


class SpatialGrid:
    """Places of keys, at most two each."""

    def __init__(self, cell_m: float = CELL_M) -> None:
        self._cell_m = cell_m
        self._cells: tuple[_Cells, _Cells] = ({}, {})
        self._places: tuple[dict[int, Vec3], dict[int, Vec3]] = ({}, {})

    def __len__(self) -> int:
        return len(self._places[STANDING]) + len(self._places[SEEN_FROM])

    def place(self, key: int, slot: int, position_m: Vec3) -> None:
        """Put a key somewhere, or move it there."""
        places, cells = self._places[slot], self._cells[slot]
        known = places.get(key)
        if known == position_m:
            return
        cell = self._cell(position_m)
        if known is not None:
            old = self._cell(known)
            if old != cell:
                self._drop(cells, old, key)
        places[key] = position_m
        members = cells.get(cell)
        if members is None:
            members = cells[cell] = {}
        members[key] = position_m

    def remove(self, key: int) -> None:
        """Take a key out; unknown keys are no error."""
        for places, cells in zip(self._places, self._cells, strict=True):
            known = places.pop(key, None)
            if known is not None:
                self._drop(cells, self._cell(known), key)

    def near(self, position_m: Vec3, radius_m: float, slots: Sequence[int] = (STANDING, SEEN_FROM)) -> list[int]:
        """Keys with a place (one of ``slots``) within ``radius_m``, ascending, once each."""
        x, y, _ = position_m
        found: set[int] = set()
        for slot in slots:
            for members in self._cells_around(self._cells[slot], x, y, radius_m + ROUNDING_M):
                found.update([key for key, at in members.items() if dist(at, position_m) <= radius_m])
        return sorted(found)

    def _cells_around(self, cells: _Cells, x: float, y: float, reach_m: float) -> Iterator[dict[int, Vec3]]:
        size = self._cell_m
        low_x, low_y = self._cell((x - reach_m, y - reach_m, 0.0))
        high_x, high_y = self._cell((x + reach_m, y + reach_m, 0.0))
        if (high_x - low_x + 1) * (high_y - low_y + 1) > len(cells):
            yield from cells.values()
            return
        for i in range(low_x, high_x + 1):
            # Of a column, only the rows that the circle comes to.
            aside = max(i * size - x, x - (i + 1) * size, 0.0)
            half = math.sqrt(max(reach_m * reach_m - aside * aside, 0.0)) + ROUNDING_M
            for j in range(math.floor((y - half) / size), math.floor((y + half) / size) + 1):
                members = cells.get((i, j))
                if members:
                    yield members

    def _drop(self, cells: _Cells, cell: tuple[int, int], key: int) -> None:
        members = cells[cell]
        del members[key]
        if not members:
            del cells[cell]

    def _cell(self, position_m: Vec3) -> tuple[int, int]:
        return (math.floor(position_m[0] / self._cell_m), math.floor(position_m[1] / self._cell_m))


class NamedGrid:
    """Places of keys, at most two each, with what they are called: also to be found by name, far around."""

    def __init__(self) -> None:
        self._all = SpatialGrid()
        self._named: dict[str, SpatialGrid] = {}
        self._names: dict[int, str] = {}

    def place(self, key: int, name: str, standing_m: Vec3, seen_from_m: Vec3) -> None:
        """Put a key somewhere, or move it there, under this name."""
        known = self._names.get(key)
        if known != name:
            if known is not None:
                self._named[known].remove(key)
            self._names[key] = name
        named = self._named.get(name)
        if named is None:
            named = self._named[name] = SpatialGrid(NAMED_CELL_M)
        for grid in (self._all, named):
            grid.place(key, STANDING, standing_m)
            grid.place(key, SEEN_FROM, seen_from_m)

    def remove(self, key: int) -> None:
        """Take a key out."""
        self._all.remove(key)
        self._named[self._names.pop(key)].remove(key)

    def near(self, position_m: Vec3, radius_m: float, slots: Sequence[int] = (STANDING, SEEN_FROM)) -> list[int]:
        """See ``SpatialGrid``."""
        return self._all.near(position_m, radius_m, slots)

    def alike_near(self, likeness: Mapping[str, float], least: float, position_m: Vec3, radius_m: float) -> list[int]:
        """Those of ``near`` whose name's likeness is above ``least``."""
        alike = [grid for name, grid in self._named.items() if likeness[name] > least]
        return sorted(key for grid in alike for key in grid.near(position_m, radius_m))
