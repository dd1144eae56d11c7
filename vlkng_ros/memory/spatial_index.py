"""A hash of the floor into squares: who is near, at a cost that depends on how many are near."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from vlkng_ros.types import Vec3

CELL_M = 4.0
ROUNDING_M = 1e-6
"""How much further than a radius cells are looked at: a distance is rounded, and so is the edge of a cell."""
STANDING, SEEN_FROM = 0, 1
"""The two places that a key may have: where it is, and where it was last seen from."""
_Cells = dict[tuple[int, int], dict[int, tuple[float, float, float, str]]]
"""By column and row, by key: the place and the name."""


class SpatialGrid:
    """Places of keys, at most two each, and what they are called."""

    def __init__(self, cell_m: float = CELL_M) -> None:
        self._cell_m = cell_m
        self._cells: tuple[_Cells, _Cells] = ({}, {})
        self._places: tuple[dict[int, Vec3], dict[int, Vec3]] = ({}, {})

    def __len__(self) -> int:
        return len(self._places[STANDING]) + len(self._places[SEEN_FROM])

    def place(self, key: int, slot: int, position_m: Vec3, name: str = "") -> None:
        """Put a key somewhere, or move it there, under a name."""
        places, cells = self._places[slot], self._cells[slot]
        cell = self._cell(position_m)
        known = places.get(key)
        if known is not None and known != position_m:
            old = self._cell(known)
            if old != cell:
                self._drop(cells, old, key)
        places[key] = position_m
        members = cells.get(cell)
        if members is None:
            members = cells[cell] = {}
        members[key] = (*position_m, name)

    def remove(self, key: int) -> None:
        """Take a key out; unknown keys are no error."""
        for places, cells in zip(self._places, self._cells, strict=True):
            known = places.pop(key, None)
            if known is not None:
                self._drop(cells, self._cell(known), key)

    def near(
        self,
        position_m: Vec3,
        radius_m: float,
        slots: Sequence[int] = (STANDING, SEEN_FROM),
        likeness: Mapping[str, float] | None = None,
        least: float = 0.0,
    ) -> list[int]:
        """Keys with a place within ``radius_m``, ascending, once each.

        Args:
            position_m: where to look.
            radius_m: how far around it.
            slots: which of the two places count.
            likeness: by name; None where that does not count.
            least: only keys whose name's likeness is above this.
        """
        x, y, z = position_m
        limit = radius_m * radius_m
        found: set[int] = set()
        for slot in slots:
            for members in self._cells_around(self._cells[slot], x, y, radius_m + ROUNDING_M):
                for key, (px, py, pz, name) in members.items():
                    if likeness is None or likeness[name] > least:
                        px, py, pz = px - x, py - y, pz - z
                        if px * px + py * py + pz * pz <= limit:
                            found.add(key)
        return sorted(found)

    def _cells_around(
        self, cells: _Cells, x: float, y: float, reach_m: float
    ) -> Iterator[dict[int, tuple[float, float, float, str]]]:
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
