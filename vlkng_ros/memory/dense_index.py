"""Unit vectors of texts, in order of first mention, searched exactly while few and through sign codes when many.

A code is the sign of every dimension, 48 bytes for 384 of them. Where more than ``EXACT`` vectors are in play, those
whose codes agree best with the query's are compared exactly. Nothing is trained, so that the vectors up to a moment
give the same answer whether or not others follow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.types import FloatArray

EXACT = 8192
"""Up to so many vectors every one is compared."""
SHORTLIST = 2048
"""Vectors compared exactly when there are more."""
_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


class DenseIndex:
    """Row ``i`` is the vector of the text in slot ``i``; a text without a vector has a row of zeros."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._count = 0
        self._rows: FloatArray = np.zeros((64, dimensions), dtype=np.float32)
        self._codes: NDArray[np.uint8] = np.zeros((64, -(-dimensions // 64) * 8), dtype=np.uint8)

    def __len__(self) -> int:
        return self._count

    def append(self, vectors: FloatArray) -> None:
        """Add rows, shape ``(n, dimensions)``."""
        needed = self._count + len(vectors)
        if needed > len(self._rows):
            capacity = max(needed, 2 * len(self._rows))
            self._rows = _grown(self._rows, capacity)
            self._codes = _grown(self._codes, capacity)
        self._rows[self._count : needed] = vectors
        self._codes[self._count : needed] = self._code(np.asarray(vectors, dtype=np.float32))
        self._count = needed

    def rows(self, slots: NDArray[np.intp]) -> FloatArray:
        """Vectors of some slots, shape ``(len(slots), dimensions)``."""
        return self._rows[slots]

    def all_rows(self, upto: int) -> FloatArray:
        """A view of the first ``upto`` vectors."""
        return self._rows[:upto]

    def similar(
        self, queries: FloatArray, upto: int, among: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.intp], FloatArray]:
        """Cosines of the texts nearest to some queries.

        Args:
            queries: unit vectors, shape ``(q, dimensions)``.
            upto: only slots below it are seen.
            among: mask over those slots; None for all.

        Returns:
            ``(slots, cosines)`` with shapes ``(s,)`` and ``(q, s)``, slots ascending. Exact and complete while
            no more than ``EXACT`` slots are in play; else the union of each query's shortlist.
        """
        slots = np.arange(upto) if among is None else np.flatnonzero(among[:upto])
        if len(slots) > EXACT:
            slots = self._shortlist(queries, slots, whole=among is None)
        rows = self._rows[:upto] if len(slots) == upto else self._rows[slots]
        return slots, np.asarray(queries, dtype=np.float32) @ rows.T

    def _shortlist(self, queries: FloatArray, slots: NDArray[np.intp], *, whole: bool) -> NDArray[np.intp]:
        codes = self._codes[: len(slots)] if whole else self._codes[slots]
        chosen: list[NDArray[np.intp]] = []
        for code in self._code(queries):
            apart = _distances(codes, code)
            # the distance within which SHORTLIST codes lie; ties are cut by slot, so that later texts change nothing
            limit = np.partition(apart, SHORTLIST - 1)[SHORTLIST - 1]
            nearer = np.flatnonzero(apart < limit)
            level = np.flatnonzero(apart == limit)[: SHORTLIST - len(nearer)]
            chosen += [nearer, level]
        return slots[np.unique(np.concatenate(chosen))]

    def _code(self, vectors: FloatArray) -> NDArray[np.uint8]:
        packed = np.packbits(vectors > 0, axis=1)
        missing = self._codes.shape[1] - packed.shape[1]
        return np.pad(packed, ((0, 0), (0, missing))) if missing else packed


def _distances(codes: NDArray[np.uint8], code: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Hamming distances of rows of ``codes`` to ``code``."""
    count = getattr(np, "bitwise_count", None)
    if count is None:  # numpy 1
        return np.asarray(_ONES[codes ^ code].sum(axis=1, dtype=np.uint16), dtype=np.uint16)
    words = codes.view(np.uint64) ^ code.view(np.uint64)
    total: NDArray[np.uint16] = np.zeros(len(codes), dtype=np.uint16)
    for column in range(words.shape[1]):
        total += count(words[:, column])
    return total


def _grown(array: NDArray[np.generic], capacity: int) -> NDArray[np.generic]:
    grown = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
