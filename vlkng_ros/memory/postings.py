"""Which texts say a word: lists of slots that only grow, so that what was known at a moment is a prefix of each."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.statements import Statement

SHORT = 3
"""Words of a text that is little more than its label."""
_NONE: NDArray[np.int32] = np.zeros(0, dtype=np.int32)


class Postings(NamedTuple):
    """Texts known at a cut that mention a term."""

    slots: NDArray[np.int32]
    """Ascending: every one of them."""
    counts: NDArray[np.int32]
    """How often each says it."""
    short: NDArray[np.int32]
    """Those of at most ``SHORT`` words: labels, which say little else."""
    denied: NDArray[np.int32]
    """Texts that say there is none."""


class PostingLists:
    """Of every term."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._by_initial: dict[str, list[str]] = {}
        self._first_slot: list[int] = []
        self._slots: list[array[int]] = []
        self._counts: list[array[int]] = []
        self._short: dict[int, array[int]] = {}
        self._denied: dict[int, array[int]] = {}

    def append(self, first_slot: int, statements: Sequence[Statement]) -> None:
        """Take in the texts of the slots from ``first_slot`` on."""
        terms, lengths = array("q"), array("q")
        number_of = self._numbers
        for slot, found in enumerate(statements, start=first_slot):
            numbers = [number_of[term] if term in number_of else self._number(term, slot) for term in found.said]
            terms.extend(numbers)
            lengths.append(len(numbers))
            if len(numbers) <= SHORT:
                for number in dict.fromkeys(numbers):
                    self._short.setdefault(number, array("i")).append(slot)
            for term in sorted(found.denied):
                self._denied.setdefault(self._number(term, slot), array("i")).append(slot)
        if not len(terms):
            return
        # Sorted by term, then slot, each pair once: a stretch of it is what is new in one term's list.
        at = np.repeat(np.arange(first_slot, first_slot + len(lengths)), np.frombuffer(lengths, dtype=np.int64))
        pairs, counts = np.unique((np.frombuffer(terms, dtype=np.int64) << 32) | at, return_counts=True)
        numbers_, slots = (pairs >> 32).astype(np.int64), (pairs & 0xFFFFFFFF).astype(np.int32)
        starts = np.flatnonzero(np.concatenate([[True], numbers_[1:] != numbers_[:-1]]))
        bounds = [*starts.tolist(), len(pairs)]
        counts = counts.astype(np.int32)
        for number, start, end in zip(numbers_[starts].tolist(), bounds, bounds[1:], strict=False):
            self._slots[number].frombytes(slots[start:end].tobytes())
            self._counts[number].frombytes(counts[start:end].tobytes())

    def _number(self, term: str, slot: int) -> int:
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self._slots)
            self._by_initial.setdefault(term[:1], []).append(term)
            self._slots.append(array("i"))
            self._counts.append(array("i"))
            self._first_slot.append(slot)
        return number

    def of(self, term: str, limit: int) -> Postings:
        """Of one term, slots below a limit; copies, safe to keep."""
        number = self._known(term, limit)
        if number is None:
            return Postings(_NONE, _NONE, _NONE, _NONE)
        slots = _below(self._slots[number], limit)
        counts = np.frombuffer(self._counts[number], dtype=np.int32)[: len(slots)].copy()
        return Postings(slots, counts, _below(self._short.get(number), limit), _below(self._denied.get(number), limit))

    def document_frequency(self, term: str, limit: int) -> int:
        """Number of slots below a limit that say a term."""
        number = self._known(term, limit)
        if number is None or not self._slots[number]:
            return 0
        return bisect_left(self._slots[number], limit)

    def knows(self, term: str, limit: int) -> bool:
        """Whether a slot below the limit says the term, or denies it."""
        return self._known(term, limit) is not None

    def terms_with_initial(self, initial: str, limit: int) -> Iterator[str]:
        """Terms that begin so and are known below a limit."""
        return (term for term in self._by_initial.get(initial, ()) if self.knows(term, limit))

    def _known(self, term: str, limit: int) -> int | None:
        number = self._numbers.get(term)
        return number if number is not None and self._first_slot[number] < limit else None


def _below(slots: array[int] | None, limit: int) -> NDArray[np.int32]:
    """The slots below a limit, copied: a view would keep the array from growing."""
    if not slots:
        return _NONE
    view = np.frombuffer(slots, dtype=np.int32)
    return np.array(view[: bisect_left(slots, limit)], dtype=np.int32)
