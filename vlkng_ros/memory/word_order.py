"""The words of texts as numbers, one text behind the other: what stands near what in hundreds of texts at once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.column import Column


class Words(NamedTuple):
    """The words of some texts, in order: their numbers and which of the texts each is of, both of shape ``(n,)``."""

    numbers: NDArray[np.int32]
    rows: NDArray[np.intp]


class WordOrder:
    """Words of the texts by slot."""

    def __init__(self) -> None:
        self._number_of: dict[str, int] = {}
        self._words = Column(np.int32)
        self._ends = Column(np.int64)

    def append(self, texts: Iterable[Sequence[str]]) -> None:
        """Take in the texts of the next slots, each as its words."""
        numbers, ends = array("i"), array("q")
        number_of = self._number_of
        before = len(self._words)
        for words in texts:
            numbers.extend([number_of.setdefault(word, len(number_of)) for word in words])
            ends.append(before + len(numbers))
        self._words.extend(np.frombuffer(numbers, dtype=np.int32))
        self._ends.extend(np.frombuffer(ends, dtype=np.int64))

    def of(self, slots: NDArray[np.integer[Any]]) -> Words:
        """The words of some texts, text by text."""
        ends = self._ends.view()
        last = ends[slots]
        counts = last - np.where(slots > 0, ends[slots - 1], 0)
        rows = np.repeat(np.arange(len(slots)), counts)
        behind = np.cumsum(counts)
        places = np.arange(len(rows)) + np.repeat(last - behind, counts)
        return Words(self._words.view()[places], rows)

    def where(self, words: Words, wanted: Iterable[str]) -> NDArray[np.bool_]:
        """Which of some words are one of those wanted."""
        found = np.zeros(len(words.numbers), dtype=np.bool_)
        for word in wanted:
            number = self._number_of.get(word)
            if number is not None:
                found |= words.numbers == number
        return found
