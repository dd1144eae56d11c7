"""What texts say, as numbers of words: what an index is made of, and what it keeps on the disk."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.statements import statement


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
        """Read some texts; words that are new are added to the vocabulary."""
        terms, term_counts, words, word_counts, denied, denied_rows = (array("i") for _ in range(6))
        far = np.zeros(len(texts), dtype=np.bool_)
        for row, text in enumerate(texts):
            found = statement(text)
            terms.extend(vocabulary.numbers(found.said))
            term_counts.append(len(found.said))
            words.extend(vocabulary.numbers(found.words))
            word_counts.append(len(found.words))
            if found.denied:
                denied.extend(vocabulary.numbers(sorted(found.denied)))
                denied_rows.extend([row] * len(found.denied))
            far[row] = found.far
        return cls(
            np.array(terms, dtype=np.int32),
            np.array(term_counts, dtype=np.int32),
            np.array(words, dtype=np.int32),
            np.array(word_counts, dtype=np.int32),
            np.array(denied, dtype=np.int32),
            np.array(denied_rows, dtype=np.int32),
            far,
        )
