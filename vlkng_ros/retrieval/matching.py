"""How well each text of the memory fits a phrase: words weighted by how rare they are, and meaning by vectors.

The lexical score is BM25 over the highest it could be, times the square root of the share of the phrase's weight that
the text covers: three of four words together tell more than the same words apart. The thing itself (the phrase's
head) weighs more than what is said about it. The dense score is the cosine above what unrelated texts reach.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.text_index import K1, Cut, TextIndex
from vlkng_ros.memory.words import NUMBERS, SIZES, near_spellings, stem, terms, tokens
from vlkng_ros.types import FloatArray, TextEncoder

DENSE_WEIGHT = 1.0
UNRELATED_COSINE = 0.2
"""Cosine that sentences about different things have; below it the dense score is 0."""
SAME_COSINE = (0.55, 0.35)
"""Cosine at which two texts begin to mean the same, and how much more makes them the same."""
HEAD_WEIGHT = 1.5
SIZE_WEIGHT = 0.3
"""What "big" weighs against a word that two people would agree on."""
BINDING_SPAN = 2
"""Content words between which an adjective still goes with its noun."""
UNBOUND_LOSS = 0.6
BOUND = 256
DENIED_FACTOR = 0.3
FAR_FACTOR = 0.8
OTHER_WORDING_WEIGHT = 0.9
_HEAD_END = re.compile(
    r"\b(?:with|of|that|which|who|whose|where|in|on|at|near|for|by|from|to|under|behind|between|holding|wearing|riding|trying|"
    r"carrying|go|goes|going|walk|walks|run|runs|ride|rides|sit|sits|stand|stands|open|opens|opening|talking|chatting|standing|sitting|walking|hanging|parked|next|while|and)\b"
)


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say what is looked for, and how much it counts."""

    text: str
    weight: float = 1.0


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
class _Term:
    """A term of a phrase with the memory's spellings of it."""

    spellings: tuple[str, ...]
    weight: float
    head: bool


def head_of(phrase: str) -> str:
    """The term that names the thing: the last one before "with", "of", "that" ...; empty for a phrase without one."""
    cut = _HEAD_END.search(phrase)
    before = phrase[: cut.start()] if cut else phrase
    found = terms(before) or terms(phrase)
    return found[-1] if found else ""


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
    """Scores texts of one index against phrases."""

    def __init__(self, index: TextIndex, encoded: Encoded) -> None:
        self._index = index
        self._encoded = encoded

    def fit(self, wordings: Sequence[Wording], cut: Cut, limit: int = 1024) -> Fit:
        """The texts of the cut's keyframes that fit any of some wordings best, at most ``limit``."""
        among = self._index.in_window(cut)
        shape = cut.slots
        scores = np.zeros(shape, dtype=np.float32)
        support = np.zeros(shape, dtype=np.float32)
        if not shape or not wordings:
            return _best(scores, support, limit)
        lexical = [self._lexical(wording.text, cut) for wording in wordings]
        spelt = [text for _, _, _, text in lexical]
        vectors = self._encoded(spelt) if self._index.dense is not None else None
        similar = self._index.dense.similar(vectors, cut.slots, among) if vectors is not None and self._index.dense else None
        near = np.where(self._index.far(shape), np.float32(FAR_FACTOR), np.float32(1.0))
        for i, wording in enumerate(wordings):
            score, covered, denied, _ = lexical[i]
            self._unbind(wording.text, cut, score, covered)
            if similar is not None:
                slots, cosines = similar
                dense = np.maximum(cosines[i] - UNRELATED_COSINE, 0) / (1 - UNRELATED_COSINE)
                score[slots] += DENSE_WEIGHT * dense
                covered[slots] = np.maximum(covered[slots], np.clip((cosines[i] - SAME_COSINE[0]) / SAME_COSINE[1], 0, 1))
            score[denied] *= DENIED_FACTOR
            covered[denied] *= DENIED_FACTOR
            np.maximum(scores, wording.weight * score * near, out=scores)
            np.maximum(support, wording.weight * covered, out=support)
        if among is not None:
            scores[~among] = 0
        return _best(scores, support, limit)

    def _lexical(self, phrase: str, cut: Cut) -> tuple[FloatArray, FloatArray, NDArray[np.intp], str]:
        """-> (scores, coverage, slots that deny it, the phrase as the memory spells it)."""
        score = np.zeros(cut.slots, dtype=np.float32)
        covered = np.zeros(cut.slots, dtype=np.float32)
        wanted = self._terms(phrase, cut)
        total = sum(term.weight for term in wanted.values()) or 1.0
        denied: list[NDArray[np.intp]] = []
        for term in wanted.values():
            part = np.zeros(cut.slots, dtype=np.float32)
            for spelling in term.spellings:
                hits = self._index.hits(spelling, cut)
                denied.append(hits.negated)
                if len(hits.slots):
                    norms = self._index.length_norms(hits.slots, cut)
                    saturation = hits.frequencies * (K1 + 1) / (hits.frequencies + norms)
                    part[hits.slots] = np.maximum(part[hits.slots], saturation)
            score += term.weight * part
            covered += term.weight * (part > 0)
        covered /= total
        score *= np.sqrt(covered) / total
        said = " ".join(_respelt(word, wanted) for word in tokens(phrase)) or phrase
        slots = np.unique(np.concatenate(denied)) if denied else np.zeros(0, dtype=np.intp)
        return score, covered, slots, said

    def _unbind(self, phrase: str, cut: Cut, score: FloatArray, covered: FloatArray) -> None:
        """Takes back part of what words count that stand far from the thing: "a man in blue on a bicycle" is no blue
        bicycle. In place, for the best texts of phrases of two words and more.
        """
        thing = thing_of(phrase)
        wanted = self._terms(thing, cut)
        heads = [spelling for term in wanted.values() if term.head for spelling in term.spellings]
        others = [term for term in wanted.values() if not term.head]
        if not heads or not others:
            return
        total = sum(term.weight for term in self._terms(phrase, cut).values())
        found = np.flatnonzero(covered > 0)
        if len(found) > BOUND:
            found = found[np.argpartition(-score[found], BOUND)[:BOUND]]
        for slot in found.tolist():
            said = self._index.terms_of[slot]
            at = [place for place, word in enumerate(said) if word in heads]
            if not at:
                continue
            lost = 0.0
            for term in others:
                places = [place for place, word in enumerate(said) if word in term.spellings]
                if places and min(abs(a - b) for a in at for b in places) > BINDING_SPAN:
                    lost += term.weight
            if lost:
                left = max(covered[slot] - UNBOUND_LOSS * lost / total, 0.0)
                score[slot] *= left / covered[slot]
                covered[slot] = left

    def _terms(self, phrase: str, cut: Cut) -> dict[str, _Term]:
        head = head_of(phrase)
        wanted: dict[str, _Term] = {}
        for term in dict.fromkeys(terms(phrase)):
            if term in NUMBERS or term in wanted:
                continue
            spellings = self._spellings(term, cut)
            frequency = max(self._index.hits(spelling, cut).document_frequency for spelling in spellings)
            weight = self._index.idf(frequency, cut)
            weight *= HEAD_WEIGHT if term == head else SIZE_WEIGHT if term in SIZES else 1.0
            wanted[term] = _Term(spellings, weight, term == head)
        return wanted

    def _spellings(self, term: str, cut: Cut) -> tuple[str, ...]:
        """The term, or the nearest ones that the memory knows where it does not know it."""
        if self._index.knows(term, cut):
            return (term,)
        return near_spellings(term, self._index.vocabulary(term[:1], cut)) or (term,)


def _respelt(word: str, wanted: dict[str, _Term]) -> str:
    term = wanted.get(stem(word))
    return term.spellings[0] if term is not None and stem(word) not in term.spellings else word


def _best(scores: FloatArray, support: FloatArray, limit: int) -> Fit:
    found = np.flatnonzero(scores > 0)
    if len(found) > limit:
        # ties at the border go to the earlier text, so that what is said later does not change who is in
        border = np.partition(scores[found], len(found) - limit)[len(found) - limit]
        above = found[scores[found] > border]
        level = found[scores[found] == border][: limit - len(above)]
        found = np.sort(np.concatenate([above, level]))
    order = found[np.argsort(-scores[found], kind="stable")]
    return Fit(order, scores[order], support[order])


def is_clause(phrase: str) -> bool:
    """Whether a phrase says more of the thing than adjectives do ("with ...", "trying to ...")."""
    return _HEAD_END.search(phrase) is not None


def thing_of(phrase: str) -> str:
    """A phrase up to what is said about the thing ("with ...", "of ..."); the phrase itself where that is all."""
    found = _HEAD_END.search(phrase)
    thing = phrase[: found.start()].strip() if found else phrase
    return thing if terms(thing) else phrase
