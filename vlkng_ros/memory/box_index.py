"""Which boxes on the floor touch a square, at a cost that depends on how many do and not on how many there are.

A box belongs to one cell, that of its low corner, of the grid whose cells are just as wide as it or wider: grids double
from one to the next. So a square can touch only boxes of the cells that it covers, and of one more to the left and
below. Boxes are sorted by grid, column and cell: those that a square covers of a column stand together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.types import Float64Array

CELL_M = 4.0
"""Of the finest grid."""
ROUNDING = 1e-6
"""How much wider than it is, in shares and in metres, a cell is taken to be: bounds are rounded."""
_ROW_BITS = 28
_FARTHEST_ROW = 2 ** (_ROW_BITS - 1) - 1


class _Grid(NamedTuple):
    """Cells of one size that hold boxes of one group."""

    group: int
    cell_m: float
    columns: Float64Array
    """Those that hold any, ascending."""
    before: int
    """Columns of the grids before."""


class BoxIndex:
    """Boxes as they were when it was made.

    Args:
        low: lowest x and y of each, shape ``(2, n)``; not finite for what is everywhere, or nowhere where it lies
            above ``high``.
        high: highest x and y, shape ``(2, n)``.
        group: boxes of different groups, such as maps, never meet, shape ``(n,)``.
    """

    def __init__(self, low: Float64Array, high: Float64Array, group: NDArray[np.int64]) -> None:
        extent = (high - low).max(axis=0)
        bounded = np.isfinite(low).all(axis=0) & np.isfinite(high).all(axis=0)
        self._everywhere = np.flatnonzero(~bounded & (extent > 0))
        rows = np.flatnonzero(bounded & (extent >= 0))
        level = np.ceil(np.log2(np.maximum(extent[rows], CELL_M) / CELL_M))
        self._grids: list[_Grid] = []
        keys = np.zeros(len(rows), dtype=np.int64)
        before = 0
        for which, size in np.unique(np.stack([group[rows], level]), axis=1).T.tolist():
            here = np.flatnonzero((group[rows] == which) & (level == size))
            cell_m = CELL_M * 2.0**size
            across, up = np.floor(low[:, rows[here]] / cell_m)
            columns, number = np.unique(across, return_inverse=True)
            keys[here] = _keys(before + number, up)
            self._grids.append(_Grid(int(which), cell_m, columns, before))
            before += len(columns)
        order = np.argsort(keys, kind="stable")
        self._keys, self._rows = keys[order], rows[order]

    def touched(self, x: float, y: float, reach_m: float, groups: Sequence[int]) -> NDArray[np.int64]:
        """Rows of the boxes, some others among them, that come within ``reach_m`` of a place along both axes."""
        firsts, lasts = [], []
        margin = reach_m + ROUNDING
        for grid in self._grids:
            if grid.group in groups:
                back = margin + grid.cell_m * (1 + ROUNDING)
                left, below, right, above = np.floor(
                    np.array((x - back, y - back, x + margin, y + margin)) / grid.cell_m
                )
                columns = np.arange(*np.searchsorted(grid.columns, (left, right + 1)), dtype=np.int64) + grid.before
                firsts.append(_keys(columns, below))
                lasts.append(_keys(columns, above))
        if not firsts:
            return self._everywhere
        begins = np.searchsorted(self._keys, np.concatenate(firsts))
        ends = np.searchsorted(self._keys, np.concatenate(lasts), side="right")
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        return np.concatenate([*(self._rows[begin:end] for begin, end in spans if begin < end), self._everywhere])


def _keys(columns: NDArray[np.int64], rows: Float64Array | float) -> NDArray[np.int64]:
    """Numbers in the order of columns, and of rows within each."""
    row = np.clip(rows, -_FARTHEST_ROW, _FARTHEST_ROW).astype(np.int64)
    keys: NDArray[np.int64] = (columns << _ROW_BITS) + row + _FARTHEST_ROW
    return keys
