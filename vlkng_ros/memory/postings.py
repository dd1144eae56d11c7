"""Which texts say a word: lists of slots that only grow, so that what was known at a moment is a prefix of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.column import Column
from vlkng_ros.memory.said import Said, Vocabulary

SHORT = 3
"""Words of a text that is little more than its label."""
_ROW = 0xFFFFFFFF
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
    """Of every term.

    Args:
        vocabulary: the terms' numbers.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._by_initial: dict[str, list[str]] = {}
        self._first_slot: dict[int, int] = {}
        self._slots: dict[int, Column[np.int32]] = {}
        self._counts: dict[int, Column[np.int32]] = {}
        self._short: dict[int, Column[np.int32]] = {}
        self._denied: dict[int, Column[np.int32]] = {}

    def append(self, first_slot: int, said: Said) -> None:
        """Take in the texts of the slots from ``first_slot`` on."""
        rows = np.repeat(np.arange(len(said.term_counts)), said.term_counts)
        pairs, counts = np.unique((said.terms.astype(np.int64) << 32) | rows, return_counts=True)
        short = said.term_counts[pairs & _ROW] <= SHORT
        counts = counts.astype(np.int32)
        for number, stretch, slots in _stretches(pairs, first_slot):
            _extend(self._slots, number, slots)
            _extend(self._counts, number, counts[stretch])
            if short[stretch].any():
                _extend(self._short, number, slots[short[stretch]])
            self._know(number, int(slots[0]))
        denials = np.sort((said.denied.astype(np.int64) << 32) | said.denied_rows)
        for number, _, slots in _stretches(denials, first_slot):
            _extend(self._denied, number, slots)
            self._know(number, int(slots[0]))

    def _know(self, number: int, slot: int) -> None:
        if number not in self._first_slot:
            term = self._vocabulary.words[number]
            self._by_initial.setdefault(term[:1], []).append(term)
        self._first_slot[number] = min(slot, self._first_slot.get(number, slot))

    def of(self, term: str, limit: int) -> Postings:
        """Of one term, slots below a limit."""
        number = self._known(term, limit)
        if number is None:
            return Postings(_NONE, _NONE, _NONE, _NONE)
        slots = _below(self._slots.get(number), limit)
        counts = self._counts[number].view()[: len(slots)] if len(slots) else _NONE
        return Postings(slots, counts, _below(self._short.get(number), limit), _below(self._denied.get(number), limit))

    def document_frequency(self, term: str, limit: int) -> int:
        """Number of slots below a limit that say a term."""
        number = self._known(term, limit)
        return 0 if number is None else len(_below(self._slots.get(number), limit))

    def knows(self, term: str, limit: int) -> bool:
        """Whether a slot below the limit says the term, or denies it."""
        return self._known(term, limit) is not None

    def terms_with_initial(self, initial: str, limit: int) -> Iterator[str]:
        """Terms that begin so and are known below a limit."""
        return (term for term in self._by_initial.get(initial, ()) if self.knows(term, limit))

    def _known(self, term: str, limit: int) -> int | None:
        number = self._vocabulary.find(term)
        return number if number is not None and self._first_slot.get(number, limit) < limit else None


def _stretches(pairs: NDArray[np.int64], first_slot: int) -> Iterator[tuple[int, slice, NDArray[np.int32]]]:
    """Of pairs ``term << 32 | row``, sorted: each term, where its pairs are, and its slots."""
    if not len(pairs):
        return
    numbers, slots = pairs >> 32, ((pairs & _ROW) + first_slot).astype(np.int32)
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    bounds = [*starts.tolist(), len(pairs)]
    for number, start, end in zip(numbers[starts].tolist(), bounds, bounds[1:], strict=False):
        yield number, slice(start, end), slots[start:end]


def _extend(lists: dict[int, Column[np.int32]], number: int, values: NDArray[np.int32]) -> None:
    if number not in lists:
        lists[number] = Column(np.int32, reserve=len(values))
    lists[number].extend(values)


def _below(slots: Column[np.int32] | None, limit: int) -> NDArray[np.int32]:
    """The slots below a limit."""
    if slots is None:
        return _NONE
    view = slots.view()
    # Of the type of what is searched, which would be converted as a whole otherwise.
    return view[: int(np.searchsorted(view, np.int32(limit)))]
