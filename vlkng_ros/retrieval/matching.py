"""How well each text of the memory fits a phrase: by its words (``lexical``) and by its meaning.

The dense score, of meaning, is the cosine above what unrelated texts reach.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.slot_sets import Places, Slots, contained
from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.memory.words import COLOR_STEMS, terms
from vlkng_ros.retrieval.lexical import ByWords, Lexical, Scored
from vlkng_ros.types import FloatArray, TextEncoder

DENSE_WEIGHT = 0.8
UNRELATED_COSINE = 0.2
"""Cosine that sentences about different things have; below it the dense score is 0."""
SAME_COSINE = (0.62, 0.33)
"""Cosine at which two texts begin to mean the same, and how much more makes them the same."""
ALIKE_WORDS = 2
"""Words up to which vectors alone tell that two phrases mean the same. Of longer ones they compare the scene, golf
cart or not: they support no more than the share of words that the memory ever heard."""
OTHER_COLOR = 0.5
"""What is left of that where the color that was asked for is not said: vectors hardly tell red from blue."""
MAX_TEXTS = 512
MAX_ENCODED = 6
"""Wordings compared by meaning; encoding them is most of a question's time."""
DENIED_FACTOR = 0.3
FAR_FACTOR = 0.8
OTHER_WORDING_WEIGHT = 0.9
_NONE = Scored(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32))


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say what is looked for, and how much it counts."""

    text: str
    weight: float = 1.0
    part: bool = False
    """Whether it is only part of what was asked: it then supports no more than its share of the words' weight."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How the texts known at a cut fit: arrays of equal length, best first.

    ``support`` in 0..1 says how much of a wording a text says: the share of its weight that the text's words cover,
    or what a cosine near 1 is worth.
    """

    slots: NDArray[np.intp]
    scores: FloatArray
    support: FloatArray

    @property
    def best_support(self) -> float:
        """That of the text which says most of what is looked for."""
        return float(self.support.max(initial=0.0))


_NOTHING = Fit(*_NONE)


class Encoded:
    """Vectors of phrases, kept for the next question."""

    def __init__(self, encoder: TextEncoder | None, size: int = 4096) -> None:
        self._encoder = encoder
        self._size = size
        self._known: OrderedDict[str, FloatArray] = OrderedDict()

    def __call__(self, texts: Sequence[str]) -> FloatArray | None:
        """Shape ``(len(texts), d)``; None without an encoder."""
        if self._encoder is None:
            return None
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            for text, vector in zip(missing, self._encoder.encode(missing), strict=True):
                self._known[text] = np.asarray(vector, dtype=np.float32)
        rows = np.stack([self._known[text] for text in texts])
        for text in texts:
            self._known.move_to_end(text)
        while len(self._known) > self._size:
            self._known.popitem(last=False)
        return rows


class Matcher:
    """Scores texts of one index against phrases.

    Args:
        index: the memory's texts.
        encoded: vectors of phrases.
        lexical: whether words speak; they still tell how a phrase is spelt, and what it weighs.
        dense: whether meaning speaks.
        hidden: slots of texts that do not count, as if they had never been said.
    """

    def __init__(
        self,
        index: TextIndex,
        encoded: Encoded,
        *,
        lexical: bool = True,
        dense: bool = True,
        hidden: Sequence[int] = (),
    ) -> None:
        self._hidden = np.unique(np.asarray(hidden, dtype=np.intp))
        self._index = index
        self._lexical = Lexical(index)
        self._encoded = encoded
        self._by_words = lexical
        self._by_meaning = dense and index.dense is not None

    def fit(self, wordings: Sequence[Wording], cut: Cut, limit: int = MAX_TEXTS) -> Fit:
        """The texts of the cut's keyframes that fit any of some wordings best, at most ``limit``."""
        if not cut.slots or not wordings or not cut.frames:
            return _NOTHING
        # Another wording whose own words the memory never heard finds nothing that the first one does not.
        first = wordings[0].text
        wordings = [wordings[0], *(w for w in wordings[1:] if self._lexical.knows(w.text, cut, besides=first))]
        window = self._index.window_slots(cut)
        lexical = [self._lexical.score(w.text, cut, first=i == 0) for i, w in enumerate(wordings)]
        dense = self._dense(wordings, lexical, cut, window)
        best = _NONE
        for wording, by_words, by_meaning in zip(wordings, lexical, dense, strict=True):
            both = _merged(by_words.found if self._by_words else None, by_meaning, cut.slots, np.add)
            gain = wording.weight * both.scores
            gain[self._index.far(both.slots)] *= np.float32(FAR_FACTOR)
            said = wording.weight * both.covered
            if wording.part:
                said *= min(1.0, by_words.total / lexical[0].total)
            if len(by_words.denied):
                denied = contained(both.slots, by_words.denied)
                gain[denied] *= DENIED_FACTOR
                said[denied] *= DENIED_FACTOR
            best = _merged(best, Scored(both.slots, gain, said), cut.slots, np.maximum)
        return self._best(best, cut, window, limit)

    def weight(self, phrase: str, cut: Cut, names: frozenset[str] = frozenset()) -> float:
        """What a phrase tells: the weight of its words, less that of names."""
        return sum(term.weight for name, term in self._lexical.terms(phrase, cut).items() if name not in names)

    def _dense(
        self, wordings: Sequence[Wording], lexical: Sequence[ByWords], cut: Cut, window: Slots | None
    ) -> list[Scored | None]:
        """Per wording the scores by meaning; None for those that are compared by words alone."""
        found: list[Scored | None] = [None] * len(wordings)
        if not self._by_meaning or self._index.dense is None:
            return found
        asked = range(min(len(wordings), MAX_ENCODED))
        vectors = self._encoded([lexical[i].spelt for i in asked])
        if vectors is None:
            return found
        among, since = self._index.compared(cut) if window is None else (window, None)
        slots, cosines = self._index.dense.similar(vectors, cut.slots, among, since)
        for row, i in enumerate(asked):
            near = np.flatnonzero(cosines[row] > UNRELATED_COSINE)
            at, cosine = slots[near], cosines[row][near]
            score = DENSE_WEIGHT * (cosine - UNRELATED_COSINE) / (1 - UNRELATED_COSINE)
            same = np.clip((cosine - SAME_COSINE[0]) / SAME_COSINE[1], 0, 1)
            for color in COLOR_STEMS.intersection(terms(lexical[i].spelt)):
                alike = np.flatnonzero(same)
                same[alike[~self._index.said.says(at[alike], color)]] *= OTHER_COLOR
            if lexical[i].count > ALIKE_WORDS:
                same *= lexical[i].heard
            found[i] = Scored(at, score, same)
        return found

    def _best(self, fits: Scored, cut: Cut, window: Slots | None, limit: int) -> Fit:
        """The texts with the best scores, of those that a keyframe of the cut mentions."""
        counts = fits.scores > 0
        if len(self._hidden):
            counts &= ~contained(fits.slots, self._hidden)
        if window is not None:
            counts &= contained(fits.slots, window)
        kept = np.flatnonzero(counts)
        if window is None and not self._index.says_all(cut):
            kept = _top(kept, fits, 4 * limit)
            kept = kept[self._index.mentioned(fits.slots[kept], cut)]
        kept = _top(kept, fits, limit)
        order = kept[np.lexsort((fits.slots[kept], -fits.scores[kept]))]
        return Fit(fits.slots[order], fits.scores[order], fits.covered[order])


def _top(places: NDArray[np.intp], fits: Scored, count: int) -> NDArray[np.intp]:
    """The ``count`` best of some places; ties at the border go to the earlier text."""
    if len(places) <= count:
        return places
    here = fits.scores[places]
    border = np.partition(here, len(here) - count)[len(here) - count]
    above, alike = places[here > border], places[here == border]
    earlier = np.argsort(fits.slots[alike])[: count - len(above)]
    return np.concatenate([above, alike[earlier]])


def _merged(one: Scored | None, other: Scored | None, limit: int, score: np.ufunc) -> Scored:
    """Texts of both, in no order: their scores as ``score`` has it, of what they cover the better counts."""
    if one is None or other is None or not len(one.slots) or not len(other.slots):
        return next((some for some in (one, other) if some is not None and len(some.slots)), _NONE)
    at, both = Places(one.slots, limit).of(other.slots)
    alone = np.ones(len(other.slots), dtype=np.bool_)
    alone[both] = False
    scores, covered = one.scores.copy(), one.covered.copy()
    scores[at] = score(scores[at], other.scores[both])
    covered[at] = np.maximum(covered[at], other.covered[both])
    return Scored(
        np.concatenate([one.slots, other.slots[alone]]),
        np.concatenate([scores, other.scores[alone]]),
        np.concatenate([covered, other.covered[alone]]),
    )
