"""How well each text of the memory fits a phrase: words weighted by how rare they are, and meaning by vectors.

The lexical score is BM25 over the highest it could be, times the square root of the share of the phrase's weight that
the text covers: three of four words together tell more than the same words apart. The thing itself (the phrase's
head) weighs more than what is said about it. The dense score is the cosine above what unrelated texts reach.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.postings import Postings
from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.memory.words import COLOR_STEMS, NUMBERS, SIZE_STEMS, stem, terms, tokens
from vlkng_ros.retrieval.binding import Term, unbound
from vlkng_ros.retrieval.phrases import head_of, thing_of
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
HEAD_WEIGHT = 1.5
SIZE_WEIGHT = 0.15
"""What "big" weighs against a word that two people would agree on."""
UNBOUND_LOSS = 0.6
BOUND = 256
"""Texts in which that is looked at."""
COMMON = 8192
"""Texts that say a word, beyond which they are not gone through one by one."""
MAX_TEXTS = 1024
MAX_ENCODED = 6
"""Wordings compared by meaning; encoding them is most of a question's time."""
DENIED_FACTOR = 0.3
FAR_FACTOR = 0.8
OTHER_WORDING_WEIGHT = 0.9
_NO_SLOTS: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
_NOTHING: FloatArray = np.zeros(0, dtype=np.float32)


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


@dataclass(frozen=True, slots=True)
class _Scores:
    """Texts by one channel for one wording: slots ascending with their score and the share of the wording they say.

    ``denied`` say that it is absent, ``spelt`` is the wording as the memory spells it, ``known`` whether the memory
    knows each of its ``count`` words; ``total`` is their weight and ``heard`` the share of it that the memory knows.
    """

    slots: NDArray[np.intp]
    scores: FloatArray
    covered: FloatArray
    denied: NDArray[np.intp] = field(default_factory=lambda: _NO_SLOTS)
    spelt: str = ""
    known: bool = False
    total: float = 1.0
    heard: float = 1.0
    count: int = 0


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
        self._hidden = np.asarray(hidden, dtype=np.intp)
        self._index = index
        self._encoded = encoded
        self._by_words = lexical
        self._by_meaning = dense and index.dense is not None

    def fit(self, wordings: Sequence[Wording], cut: Cut, limit: int = MAX_TEXTS) -> Fit:
        """The texts of the cut's keyframes that fit any of some wordings best, at most ``limit``."""
        scores = np.zeros(cut.slots, dtype=np.float32)
        support = np.zeros(cut.slots, dtype=np.float32)
        if not cut.slots or not wordings or not cut.frames:
            return self._best(scores, support, cut, None, limit)
        mask = self._index.window_mask(cut)
        lexical = [self._lexical(wording, cut, first=i == 0) for i, wording in enumerate(wordings)]
        dense = self._dense(wordings, lexical, cut, mask)
        for wording, by_words, similar in zip(wordings, lexical, dense, strict=True):
            if not self._by_words:
                by_words = replace(by_words, slots=_NO_SLOTS, scores=_NOTHING, covered=_NOTHING)
            both = by_words if similar is None else _joined(by_words, similar, cut.slots)
            if not len(both.slots):
                continue
            gain = wording.weight * both.scores
            gain[self._index.far(both.slots)] *= np.float32(FAR_FACTOR)
            said = wording.weight * both.covered
            if wording.part:
                said *= min(1.0, by_words.total / lexical[0].total)
            if len(by_words.denied):
                denied = _among(both.slots, by_words.denied, cut.slots)
                gain[denied] *= DENIED_FACTOR
                said[denied] *= DENIED_FACTOR
            scores[both.slots] = np.maximum(scores[both.slots], gain)
            support[both.slots] = np.maximum(support[both.slots], said)
        return self._best(scores, support, cut, mask, limit)

    def weight(self, phrase: str, cut: Cut, names: frozenset[str] = frozenset()) -> float:
        """What a phrase tells: the weight of its words, less that of names."""
        return sum(term.weight for name, term in self._terms(phrase, cut).items() if name not in names)

    def _dense(
        self, wordings: Sequence[Wording], lexical: Sequence[_Scores], cut: Cut, mask: NDArray[np.bool_] | None
    ) -> list[_Scores | None]:
        """Per wording the scores by meaning; None for those that are compared by words alone."""
        found: list[_Scores | None] = [None] * len(wordings)
        if not self._by_meaning or self._index.dense is None:
            return found
        # another wording in words that the memory never heard means what the first wording means
        asked = [i for i in range(len(wordings)) if i == 0 or lexical[i].known][:MAX_ENCODED]
        vectors = self._encoded([lexical[i].spelt for i in asked])
        if vectors is None:
            return found
        slots, cosines = self._index.dense.similar(vectors, cut.slots, mask)
        for row, i in enumerate(asked):
            near = np.flatnonzero(cosines[row] > UNRELATED_COSINE)
            at, cosine = slots[near], cosines[row][near]
            score = DENSE_WEIGHT * (cosine - UNRELATED_COSINE) / (1 - UNRELATED_COSINE)
            same = np.clip((cosine - SAME_COSINE[0]) / SAME_COSINE[1], 0, 1)
            for color in COLOR_STEMS.intersection(terms(lexical[i].spelt)):
                same[~_among(at, self._index.postings(color, cut).slots, cut.slots)] *= OTHER_COLOR
            if lexical[i].count > ALIKE_WORDS:
                same *= lexical[i].heard
            found[i] = _Scores(at, score, same)
        return found

    def _lexical(self, wording: Wording, cut: Cut, *, first: bool) -> _Scores:
        """Scores by words of the texts that say the wording's rarer words."""
        wanted = self._terms(wording.text, cut)
        total = sum(term.weight for term in wanted.values()) or 1.0
        lists = {
            spelling: self._index.postings(spelling, cut) for term in wanted.values() for spelling in term.spellings
        }
        slots = candidates([lists[spelling] for term in wanted.values() for spelling in term.spellings])
        score = np.zeros(len(slots), dtype=np.float32)
        covered = np.zeros(len(slots), dtype=np.float32)
        place = np.full(cut.slots, -1, dtype=np.int32)
        place[slots] = np.arange(len(slots), dtype=np.int32)
        for term in wanted.values():
            part = np.zeros(len(slots), dtype=np.float32)
            for spelling in term.spellings:
                here = place[lists[spelling].slots]
                there = np.flatnonzero(here >= 0)
                here = here[there]
                worth = self._index.saturation(slots[here], lists[spelling].counts[there], cut)
                part[here] = worth if len(term.spellings) == 1 else np.maximum(part[here], worth)
            score += term.weight * part
            covered += term.weight * (part > 0)
        covered /= total
        score *= np.sqrt(covered) / total
        self._unbind(wording.text, wanted, slots, score, covered, BOUND if first else BOUND // 4)
        denied = [found.denied for found in lists.values() if len(found.denied)]
        spelt = " ".join(_respelt(word, wanted) for word in tokens(wording.text)) or wording.text
        known = bool(wanted) and all(any(len(lists[s].slots) for s in term.spellings) for term in wanted.values())
        heard = sum(t.weight for t in wanted.values() if any(len(lists[s].slots) for s in t.spellings)) / total
        return _Scores(slots, score, covered, _merged(denied), spelt, known, total, heard, len(wanted))

    def _unbind(
        self,
        phrase: str,
        wanted: dict[str, Term],
        slots: NDArray[np.intp],
        score: FloatArray,
        covered: FloatArray,
        limit: int,
    ) -> None:
        """Takes back, in place, part of what words count that stand far from the thing in the best texts.

        "A man in blue on a bicycle" is no blue bicycle.
        """
        inside = frozenset(terms(thing_of(phrase)))
        heads = frozenset(s for term in wanted.values() if term.head for s in term.spellings)
        others = [term for name, term in wanted.items() if not term.head and name in inside]
        if not heads or not others:
            return
        total = sum(term.weight for term in wanted.values())
        found = np.flatnonzero(covered > 0)
        if len(found) > limit:
            border = np.partition(score[found], len(found) - limit)[len(found) - limit]
            found = found[score[found] >= border][: 2 * limit]
        lost = unbound(self._index, slots[found], heads, others)
        loose = lost > 0
        found = found[loose]
        loss = (UNBOUND_LOSS * lost[loose] / total).astype(np.float32)
        left = np.maximum(covered[found] - loss, 0)
        score[found] *= left / covered[found]
        covered[found] = left

    def _terms(self, phrase: str, cut: Cut) -> dict[str, Term]:
        head = head_of(phrase)
        wanted: dict[str, Term] = {}
        for term in dict.fromkeys(terms(phrase)):
            if term in NUMBERS:
                continue
            spellings = self._spellings(term, cut)
            frequency = max(self._index.document_frequency(spelling, cut) for spelling in spellings)
            weight = self._index.idf(frequency, cut)
            weight *= HEAD_WEIGHT if term == head else SIZE_WEIGHT if term in SIZE_STEMS else 1.0
            wanted[term] = Term(spellings, weight, term == head, term in COLOR_STEMS)
        return wanted

    def _spellings(self, term: str, cut: Cut) -> tuple[str, ...]:
        """The term, or the nearest ones that the memory knows where it does not know it."""
        if self._index.knows(term, cut):
            return (term,)
        return self._index.spellings(term, cut) or (term,)

    def _best(
        self, scores: FloatArray, support: FloatArray, cut: Cut, mask: NDArray[np.bool_] | None, limit: int
    ) -> Fit:
        if len(self._hidden):
            known = self._hidden[self._hidden < cut.slots]
            scores[known] = support[known] = 0
        found = np.flatnonzero(scores > 0)
        if mask is not None:
            found = found[mask[found]]
        elif not self._index.says_all(cut):
            found = _top(found, scores, 4 * limit)
            found = found[self._index.mentioned(found, cut)]
        found = _top(found, scores, limit)
        order = found[np.argsort(-scores[found], kind="stable")]
        return Fit(order, scores[order], support[order])


def _top(slots: NDArray[np.intp], scores: FloatArray, count: int) -> NDArray[np.intp]:
    """The ``count`` best of some slots, ascending; ties at the border go to the earlier text."""
    if len(slots) <= count:
        return slots
    here = scores[slots]
    border = np.partition(here, len(here) - count)[len(here) - count]
    above = slots[here > border]
    return np.sort(np.concatenate([above, slots[here == border][: count - len(above)]]))


def candidates(lists: list[Postings]) -> NDArray[np.intp]:
    """Texts worth scoring: all that say a rare word, and of words that everything says the labels and the latest.

    A word in more than ``COMMON`` texts brings none of its own beside a rarer one.
    """
    rare = [found for found in lists if 0 < len(found.slots) <= COMMON]
    chosen = [found.slots for found in rare]
    if not rare:
        chosen = [part for found in lists for part in (found.short[-COMMON:], found.slots[-COMMON:])]
    else:
        chosen += [found.short[-COMMON:] for found in lists if len(found.slots) > COMMON]
    return _merged(chosen)


def _merged(lists: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.intp]:
    """Ascending, each once; sorting beats numpy's hashing on lists that are nearly sorted."""
    if not lists:
        return _NO_SLOTS
    if len(lists) == 1:
        return lists[0].astype(np.intp)
    merged = np.sort(np.concatenate(lists), kind="stable").astype(np.intp)
    return merged[np.concatenate([[True], merged[1:] != merged[:-1]])] if len(merged) else merged


def _joined(words: _Scores, meaning: _Scores, limit: int) -> _Scores:
    """Both channels, slots in no order: scores add up, of what they cover the better counts."""
    if not len(words.slots) or not len(meaning.slots):
        return words if len(words.slots) else meaning
    place = np.full(limit, -1, dtype=np.int32)
    place[words.slots] = np.arange(len(words.slots), dtype=np.int32)
    at = place[meaning.slots]
    alone = at < 0
    at, both = at[~alone], np.flatnonzero(~alone)
    score, covered = words.scores.copy(), words.covered.copy()
    score[at] += meaning.scores[both]
    covered[at] = np.maximum(covered[at], meaning.covered[both])
    return _Scores(
        np.concatenate([words.slots, meaning.slots[alone]]),
        np.concatenate([score, meaning.scores[alone]]),
        np.concatenate([covered, meaning.covered[alone]]),
    )


def _among(slots: NDArray[np.intp], some: NDArray[np.integer[Any]], limit: int) -> NDArray[np.bool_]:
    """Which of the slots are some of those below a limit; ten times as fast as ``np.isin``."""
    mask = np.zeros(limit, dtype=np.bool_)
    mask[some] = True
    return mask[slots]


def _respelt(word: str, wanted: dict[str, Term]) -> str:
    term = wanted.get(stem(word))
    return term.spellings[0] if term is not None and stem(word) not in term.spellings else word
