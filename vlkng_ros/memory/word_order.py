"""The words of texts as numbers, one text behind the other: what stands near what in hundreds of texts at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.column import Column
from vlkng_ros.memory.said import Vocabulary
from vlkng_ros.types import Float64Array


class Words(NamedTuple):
    """The words of some texts, in order: their numbers and which of the texts each is of, both of shape ``(n,)``."""

    numbers: NDArray[np.int32]
    rows: NDArray[np.intp]


class WordOrder:
    """Words of the texts by slot: ``order[slot]`` are those of one text.

    Args:
        vocabulary: what the numbers stand for.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._words = Column(np.int32)
        self._counts = Column(np.int32)
        self._ends = Column(np.int64)

    def __getitem__(self, slot: int) -> tuple[str, ...]:
        end = int(self._ends.view()[slot])
        numbers = self._words.view()[end - int(self._counts.view()[slot]) : end].tolist()
        return tuple([self._vocabulary.words[number] for number in numbers])

    def append(self, numbers: NDArray[np.int32], counts: NDArray[np.int32]) -> None:
        """Take in the texts of the next slots: their words' numbers, and how many each has."""
        self._ends.extend(len(self._words) + np.cumsum(counts, dtype=np.int64))
        self._counts.extend(counts)
        self._words.extend(numbers)

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All that was taken in, as ``append`` takes it."""
        return self._words.view(), self._counts.view()

    def of(self, slots: NDArray[np.integer[Any]]) -> Words:
        """The words of some texts, text by text."""
        last, counts = self._ends.view()[slots], self._counts.view()[slots]
        rows = np.repeat(np.arange(len(slots)), counts)
        behind = np.cumsum(counts)
        places = np.arange(len(rows)) + np.repeat(last - behind, counts)
        return Words(self._words.view()[places], rows)

    def where(self, words: Words, wanted: Iterable[str]) -> NDArray[np.bool_]:
        """Which of some words are one of those wanted."""
        found = np.zeros(len(words.numbers), dtype=np.bool_)
        for word in wanted:
            number = self._vocabulary.find(word)
            if number is not None:
                found |= words.numbers == number
        return found

    def says(self, slots: NDArray[np.integer[Any]], word: str) -> NDArray[np.bool_]:
        """Which of some texts say a word."""
        words = self.of(slots)
        said = np.zeros(len(slots), dtype=np.bool_)
        said[words.rows[self.where(words, (word,))]] = True
        return said

    def shares(self, slots: NDArray[np.integer[Any]], phrases: Sequence[Collection[str]]) -> Float64Array:
        """How much of the phrase that it says most of each text says, in 0..1: a phrase is some words, each once."""
        wanted = list(dict.fromkeys(word for phrase in phrases for word in phrase))
        numbers = np.array([-1 if (n := self._vocabulary.find(word)) is None else n for word in wanted], dtype=np.int64)
        words = self.of(slots)
        at, which = np.nonzero(words.numbers[:, None] == numbers)
        said = np.zeros((len(slots), len(wanted)))
        said[words.rows[at], which] = 1.0
        parts = np.array([[(word in phrase) / len(phrase) for phrase in phrases] for word in wanted])
        return np.asarray((said @ parts.reshape(len(wanted), len(phrases))).max(axis=1, initial=0.0))
