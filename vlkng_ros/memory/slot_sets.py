"""A few of very many slots, ascending and each once: finding them costs what they are many, not what there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.intp]


def union(sets: Sequence[NDArray[np.integer[Any]]]) -> Slots:
    """The slots of any of some sets."""
    if not sets:
        return np.zeros(0, dtype=np.intp)
    if len(sets) == 1:
        return sets[0].astype(np.intp)
    merged = np.sort(np.concatenate(sets).astype(np.intp))
    new = np.ones(len(merged), dtype=np.bool_)
    new[1:] = merged[1:] != merged[:-1]
    return merged[new]


def contained(slots: NDArray[np.integer[Any]], some: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Which of ``slots``, in any order, are in the set ``some``."""
    if not len(some):
        return np.zeros(len(slots), dtype=np.bool_)
    at = np.minimum(np.searchsorted(some, slots.astype(some.dtype)), len(some) - 1)
    return np.asarray(some[at] == slots)


class Places:
    """Where slots are in a set.

    Args:
        members: the set.
        limit: above all slots that are ever asked for.
    """

    def __init__(self, members: Slots, limit: int) -> None:
        # What is nobody's place holds anything, and is found out by looking who is there: nothing need be cleared,
        # and of pages that are never looked at there are none (Briggs and Torczon, 1993).
        self._place = np.empty(limit, dtype=np.int32)
        self._place[members] = np.arange(len(members), dtype=np.int32)
        self._members = members

    def of(self, slots: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """``(places, found)``: where in the set those of some slots are that are in it, and which of them these are."""
        at = self._place[slots]
        at[(at < 0) | (at >= len(self._members))] = 0
        found = np.flatnonzero(self._members[at] == slots) if len(self._members) else np.zeros(0, dtype=np.intp)
        return at[found], found
