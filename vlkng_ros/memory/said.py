"""What texts say, as numbers of words: what an index is made of, and what it keeps on the disk."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.statements import denies, is_far, statement
from vlkng_ros.memory.words import is_content, stem, tokens


class Vocabulary:
    """Words by number, in the order in which they were first said."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words: list[str] = list(words)
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def find(self, word: str) -> int | None:
        """The number of a word, or None where nobody said it."""
        return self._numbers.get(word)

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The numbers of some words, new ones where they are."""
        known = self._numbers
        found = [known.setdefault(word, len(known)) for word in words]
        if len(known) > len(self.words):
            new = list(islice(reversed(known), len(known) - len(self.words)))
            self.words.extend(reversed(new))
        return found


class Said(NamedTuple):
    """What some texts say, one text behind the other; see ``Statement``."""

    terms: NDArray[np.int32]
    """Of what is there, in order."""
    term_counts: NDArray[np.int32]
    """How many of them each text has, shape ``(texts,)``."""
    words: NDArray[np.int32]
    """The stems of all words, function words too."""
    word_counts: NDArray[np.int32]
    denied: NDArray[np.int32]
    """Terms of what is not there."""
    denied_rows: NDArray[np.int32]
    """Which text denies each, ascending."""
    far: NDArray[np.bool_]
    """Whether a text puts all of it in the background, shape ``(texts,)``."""

    @classmethod
    def of(cls, texts: Sequence[str], vocabulary: Vocabulary) -> Said:
        """Read some texts; words that are new are added to the vocabulary.

        The same as ``statement`` says of each, a word at a time and not a text: there are few of them.
        """
        heard, word_counts = array("i"), array("i")
        known: defaultdict[str, int] = defaultdict(count().__next__)
        far = np.zeros(len(texts), dtype=np.bool_)
        denying = np.zeros(len(texts), dtype=np.bool_)
        for row, text in enumerate(texts):
            lowered = text.lower()
            found = tokens(lowered)
            heard.extend([known[token] for token in found])
            word_counts.append(len(found))
            far[row], denying[row] = is_far(lowered), denies(lowered)
        numbers = np.array(vocabulary.numbers(map(stem, known)), dtype=np.int32)
        content = np.fromiter(map(is_content, known), dtype=np.bool_, count=len(known))
        words, counts = np.array(heard, dtype=np.int32), np.array(word_counts, dtype=np.int32)
        rows = np.repeat(np.arange(len(texts)), counts)
        there = np.flatnonzero(content[words] & ~denying[rows])
        terms, term_counts = numbers[words[there]], np.bincount(rows[there], minlength=len(texts)).astype(np.int32)
        # The few that deny something are read by themselves.
        starts, apart = np.cumsum(term_counts) - term_counts, np.flatnonzero(denying).tolist()
        places, said, denied, denied_rows = (array("i") for _ in range(4))
        for row in apart:
            alone = statement(texts[row])
            said.extend(vocabulary.numbers(alone.said))
            places.extend([int(starts[row])] * len(alone.said))
            term_counts[row] = len(alone.said)
            denied.extend(vocabulary.numbers(sorted(alone.denied)))
            denied_rows.extend([row] * len(alone.denied))
        return cls(
            np.insert(terms, np.array(places, dtype=np.intp), np.array(said, dtype=np.int32)),
            term_counts,
            numbers[words],
            counts,
            np.array(denied, dtype=np.int32),
            np.array(denied_rows, dtype=np.int32),
            far,
        )
