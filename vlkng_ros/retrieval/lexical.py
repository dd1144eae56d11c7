"""How well texts say a phrase in so many words, weighted by how rare these are.

The score is BM25 over the highest it could be, times the square root of the share of the phrase's weight that the text
covers: three of four words together tell more than the same words apart. The thing itself (the phrase's head) weighs
more than what is said about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.postings import Postings
from vlkng_ros.memory.slot_sets import Places, Slots, union
from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.memory.words import COLOR_STEMS, NUMBERS, SIZE_STEMS, stem, terms, tokens
from vlkng_ros.retrieval.binding import Term, unbound
from vlkng_ros.retrieval.phrases import head_of, thing_of
from vlkng_ros.types import FloatArray

HEAD_WEIGHT = 1.5
SIZE_WEIGHT = 0.15
"""What "big" weighs against a word that two people would agree on."""
UNBOUND_LOSS = 0.6
BOUND = 256
"""Texts in which it is looked at whether words go with the thing."""
COMMON = 2048
"""Texts that say a word, beyond which they are not gone through one by one."""
LISTED = 2
"""Where more texts than so many times the candidates say a word, the candidates are looked up among them."""


class Scored(NamedTuple):
    """Texts with their scores, and the share of what is looked for that each says; arrays of shape ``(n,)``."""

    slots: Slots
    scores: FloatArray
    covered: FloatArray


@dataclass(frozen=True, slots=True)
class ByWords:
    """Texts by the words that they say.

    ``denied`` say that it is absent, ``spelt`` is the phrase as the memory spells it; ``total`` is the weight of its
    ``count`` words and ``heard`` the share of it that the memory knows.
    """

    found: Scored
    """Slots ascending."""
    denied: Slots
    spelt: str
    total: float
    heard: float
    count: int


class Lexical:
    """Scores texts of one index by their words."""

    def __init__(self, index: TextIndex) -> None:
        self._index = index

    def score(self, phrase: str, cut: Cut, *, first: bool = True) -> ByWords:
        """The texts known at the cut that say a phrase's rarer words.

        Args:
            phrase: what is looked for.
            cut: the window.
            first: whether it is the first of several wordings: more of its texts are looked at closely.
        """
        wanted = self.terms(phrase, cut)
        total = sum(term.weight for term in wanted.values()) or 1.0
        lists = {
            spelling: self._index.postings(spelling, cut) for term in wanted.values() for spelling in term.spellings
        }
        slots = candidates(list(lists.values()))
        said = _Said(lists, slots, cut)
        norms = self._index.length_norms(slots, cut)
        score = np.zeros(len(slots), dtype=np.float32)
        covered = np.zeros(len(slots), dtype=np.float32)
        for term in wanted.values():
            part = np.zeros(len(slots), dtype=np.float32)
            for spelling in term.spellings:
                here, counts = said.by(spelling)
                worth = self._index.saturation(counts, norms[here])
                part[here] = worth if len(term.spellings) == 1 else np.maximum(part[here], worth)
            score += term.weight * part
            covered += term.weight * (part > 0)
        covered /= total
        score *= np.sqrt(covered) / total
        self._unbind(phrase, wanted, slots, score, covered, BOUND if first else BOUND // 4)
        denied = [found.denied for found in lists.values() if len(found.denied)]
        spelt = " ".join(_respelt(word, wanted) for word in tokens(phrase)) or phrase
        heard = [any(len(lists[spelling].slots) for spelling in term.spellings) for term in wanted.values()]
        weight = sum(term.weight for term, is_heard in zip(wanted.values(), heard, strict=True) if is_heard)
        return ByWords(Scored(slots, score, covered), union(denied), spelt, total, weight / total, len(wanted))

    def knows(self, phrase: str, cut: Cut, besides: str) -> bool:
        """Whether texts known at the cut say, or deny, each word of a phrase that another one does not have."""
        own = set(terms(phrase)).difference(terms(besides), NUMBERS)
        return all(self._index.knows(term, cut) for term in own)

    def terms(self, phrase: str, cut: Cut) -> dict[str, Term]:
        """The terms of a phrase, less numbers, with what each of them weighs at the cut."""
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

    def _unbind(
        self,
        phrase: str,
        wanted: dict[str, Term],
        slots: Slots,
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


class _Said:
    """Which of the candidates say a word, and how often."""

    def __init__(self, lists: dict[str, Postings], slots: Slots, cut: Cut) -> None:
        self._lists = lists
        self._slots = slots
        self._places = Places(slots, cut.slots)

    def by(self, spelling: str) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Their places among the candidates, ascending, and counts."""
        listed = self._lists[spelling]
        if len(listed.slots) <= LISTED * len(self._slots):
            here, found = self._places.of(listed.slots)
            return here, listed.counts[found]
        # Of the type of what is searched, which would be converted as a whole otherwise.
        at = np.searchsorted(listed.slots, self._slots.astype(np.int32))
        at[at == len(listed.slots)] = 0
        saying = np.flatnonzero(listed.slots[at] == self._slots)
        return saying, listed.counts[at[saying]]


def candidates(lists: Sequence[Postings]) -> Slots:
    """Texts worth scoring: all that say a rare word, and the labels with any.

    Of words in more than ``COMMON`` texts the rarest brings its latest, as far as the rare ones leave room for them.
    """
    common = [found for found in lists if len(found.slots) > COMMON]
    chosen = [found.slots for found in lists if 0 < len(found.slots) <= COMMON]
    room = COMMON - sum(map(len, chosen))
    if common and room > 0:
        chosen.append(min(common, key=lambda found: len(found.slots)).slots[-room:])
    return union([*chosen, *(found.short[-COMMON:] for found in common)])


def _respelt(word: str, wanted: dict[str, Term]) -> str:
    term = wanted.get(stem(word))
    return term.spellings[0] if term is not None and stem(word) not in term.spellings else word
