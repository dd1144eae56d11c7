"""Unit vectors of texts or crops, by slot, searched exactly while few and through sign codes when many.

A code is the sign of every dimension, 48 bytes for 384 of them. Where more than ``EXACT`` vectors are in play, those
whose codes agree best with the query's are compared exactly. Nothing is trained, so that the vectors up to a moment
give the same answer whether or not others follow.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.types import FloatArray

EXACT = 4096
"""Up to so many vectors every one is compared."""
SHORTLIST = 768
"""Vectors compared exactly when there are more."""
FIRST_WORDS = 2
FIRST_SHORTLIST = 4_096
"""The first pass looks at 128 signs and leaves about so many."""
EVERY = 8
"""How many that are is told from one vector of so many."""
_PIECE = 16_384
ScalarT = TypeVar("ScalarT", bound=np.generic)
_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


class DenseIndex:
    """Row ``i`` is the vector of the text in slot ``i``; a text without a vector has a row of zeros.

    Args:
        dimensions: length of the vectors.
        dtype: as which they are held.
    """

    def __init__(self, dimensions: int, dtype: type[np.floating[Any]] = np.float32) -> None:
        self.dimensions = dimensions
        self._count = 0
        self._rows: NDArray[np.floating[Any]] = np.zeros((64, dimensions), dtype=dtype)
        self._words = -(-dimensions // 64)
        first = min(FIRST_WORDS, self._words)
        self._first: list[NDArray[np.uint64]] = [np.zeros(64, dtype=np.uint64) for _ in range(first)]
        """Words of codes that the first pass looks at: of all codes side by side."""
        self._rest: NDArray[np.uint64] = np.zeros((64, self._words - first), dtype=np.uint64)
        """The others, of each code side by side."""

    def __len__(self) -> int:
        return self._count

    def append(self, vectors: FloatArray) -> None:
        """Add rows, shape ``(n, dimensions)``."""
        needed = self._count + len(vectors)
        if needed > len(self._rows):
            capacity = max(needed, 2 * len(self._rows))
            self._rows = _grown(self._rows, capacity)
            self._first = [_grown(word, capacity) for word in self._first]
            self._rest = _grown(self._rest, capacity)
        self._put(slice(self._count, needed), vectors)
        self._count = needed

    def replace(self, slot: int, vector: FloatArray) -> None:
        """Give a text another vector, shape ``(dimensions,)``."""
        self._put(slice(slot, slot + 1), vector[None, :])

    def _put(self, at: slice, vectors: FloatArray) -> None:
        self._rows[at] = vectors
        codes = self._code(np.asarray(vectors, dtype=np.float32))
        for number, word in enumerate(self._first):
            word[at] = codes[:, number]
        self._rest[at] = codes[:, len(self._first) :]

    def all_rows(self, upto: int) -> FloatArray:
        """A view of the first ``upto`` vectors."""
        return self._rows[:upto].astype(np.float32, copy=False)

    def similar(
        self, queries: FloatArray, upto: int, among: NDArray[np.intp] | None = None, since: int | None = None
    ) -> tuple[NDArray[np.intp], FloatArray]:
        """Cosines of the texts nearest to some queries.

        Args:
            queries: unit vectors, shape ``(q, dimensions)``.
            upto: only slots below it are seen.
            among: some of those slots, ascending; None for none, or for all where ``since`` is None, too.
            since: all slots from it on are seen besides, which lie behind those of ``among``.

        Returns:
            ``(slots, cosines)`` with shapes ``(s,)`` and ``(q, s)``, slots ascending. Exact and complete while
            no more than ``EXACT`` slots are in play; else the first query's shortlist, for all queries.
        """
        queries = np.asarray(queries, dtype=np.float32)
        if since is None:
            since = 0 if among is None else upto
        some = np.zeros(0, dtype=np.intp) if among is None else among
        if len(some) + upto - since > EXACT:
            slots = self._shortlist(queries[0], some, since, upto)
        else:
            slots = np.concatenate([some, np.arange(since, upto)])
        rows = self._rows[:upto] if len(slots) == upto else self._rows.take(slots, axis=0)
        rows = rows.astype(np.float32, copy=False)
        return slots, np.stack([rows @ query for query in queries])

    def _shortlist(self, query: FloatArray, some: NDArray[np.intp], since: int, upto: int) -> NDArray[np.intp]:
        """Those of ``similar``'s slots whose codes are nearest, in two passes: a part of the code, then all."""
        code = self._code(query[None, :])[0]
        apart = np.zeros(len(some) + upto - since, dtype=np.uint8)
        # In pieces that stay in the processor's cache.
        for start in range(0, len(some), _PIECE):
            self._first_apart(code, some[start : start + _PIECE], apart[start : min(start + _PIECE, len(some))])
        for start in range(since, upto, _PIECE):
            end, behind = min(start + _PIECE, upto), len(some) - since
            self._first_apart(code, slice(start, end), apart[start + behind : end + behind])
        if len(apart) > FIRST_SHORTLIST:
            near = np.flatnonzero(apart <= _border(apart[::EVERY], FIRST_SHORTLIST // EVERY))
            apart = apart[near]
        else:
            near = np.arange(len(apart))
        of_some = int(np.searchsorted(near, len(some)))
        slots = np.concatenate([some[near[:of_some]], near[of_some:] + (since - len(some))])
        if len(slots) <= SHORTLIST:
            return slots
        for signs in _ones(self._rest.take(slots, axis=0) ^ code[len(self._first) :]).T:
            apart = np.add(apart, signs, dtype=np.uint16)
        return slots[_nearest(apart, SHORTLIST)]

    def _first_apart(self, code: NDArray[np.uint64], at: slice | NDArray[np.intp], apart: NDArray[np.uint8]) -> None:
        """Adds up, in ``apart``, how many of its first signs differ between a code and those of some slots."""
        for word, signs in zip(self._first, code, strict=False):
            apart += _ones(word[at] ^ signs)

    def _code(self, vectors: FloatArray) -> NDArray[np.uint64]:
        """Signs, shape ``(n, words)``."""
        packed = np.packbits(vectors > 0, axis=1)
        missing = 8 * self._words - packed.shape[1]
        packed = np.pad(packed, ((0, 0), (0, missing))) if missing else packed
        return np.ascontiguousarray(packed).view(np.uint64)


def _nearest(apart: NDArray[np.uint8] | NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """Places of the ``count`` least distances, ascending; ties at the border go to the earlier."""
    border = _border(apart, count)
    kept = apart < border
    kept[np.flatnonzero(apart == border)[: count - np.count_nonzero(kept)]] = True
    return np.flatnonzero(kept)


def _border(apart: NDArray[np.uint8] | NDArray[np.uint16], count: int) -> int:
    """The least distance up to which there are ``count``."""
    return int(np.searchsorted(np.cumsum(np.bincount(apart)), min(count, len(apart))))


def _ones(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Number of bits set in each word."""
    count = getattr(np, "bitwise_count", None)
    if count is None:  # numpy 1
        signs = _ONES[np.ascontiguousarray(words).view(np.uint8).reshape(*words.shape, 8)]
        return np.asarray(signs.sum(axis=-1, dtype=np.uint8))
    return np.asarray(count(words), dtype=np.uint8)


def _grown(array: NDArray[ScalarT], capacity: int) -> NDArray[ScalarT]:
    grown = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
