"""Whether what a question says of a thing was said of it: "was the man drinking coffee" is not answered by a man.

A thing is in most frames, and so are most of the words that say more of it: what tells is whether one text says them
together, or the frames that show the thing. The last word of a clause is mostly what it is about ("coffee", "hat").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.memory.words import NUMBERS, terms
from vlkng_ros.retrieval.evidence import MAX_MENTIONS
from vlkng_ros.retrieval.lexical import HEAD_WEIGHT
from vlkng_ros.retrieval.matching import Wording
from vlkng_ros.retrieval.phrases import head_of, thing_of
from vlkng_ros.types import Float64Array

NEEDED_OF_CLAUSE = 0.55
"""Share of a clause's weight that a frame which shows the thing must say, where no text says the clause's last word of
the thing. Of 300 clauses taken from three NaVQA drives, with the text they are from left out, 94 % are then found, and
of 227 that other drives say of such a thing 92 % are not; each of the drives by itself is between 90 and 97 %."""


def said_of_thing(index: TextIndex, cut: Cut, wordings: Sequence[Wording], hidden: Sequence[int] = ()) -> float:
    """How much of what a phrase says of its thing was said of it, in 0..1: at least ``NEEDED_OF_CLAUSE`` is a yes.

    Args:
        index: the memory's texts.
        cut: the window.
        wordings: the phrase and its other wordings; those that share no word with it are left out.
        hidden: slots of texts that do not count.
    """
    words = frozenset(terms(wordings[0].text))
    said = [w for w in wordings if words.intersection(terms(w.text))]
    return max((_share(index, cut, w, hidden) for w in said), default=0.0)


def _share(index: TextIndex, cut: Cut, wording: Wording, hidden: Sequence[int]) -> float:
    phrase = wording.text
    thing = frozenset(terms(thing_of(phrase)))
    clause = [term for term in dict.fromkeys(terms(phrase)) if term not in thing and term not in NUMBERS]
    if not clause:
        return 1.0
    named = _texts(index, cut, head_of(phrase), hidden)
    said = {term: _texts(index, cut, term, hidden) for term in clause}
    in_one_text = np.intersect1d(named, said[clause[-1]])
    together = NEEDED_OF_CLAUSE if len(_mentioned(index, cut, in_one_text)) else 0.0
    weight = {term: index.idf(len(texts), cut) for term, texts in said.items()}
    weight[clause[-1]] *= HEAD_WEIGHT
    of_frame: Float64Array = np.zeros(cut.frames)
    for term, texts in said.items():
        of_frame[_mentioned(index, cut, texts)] += weight[term]
    shown = of_frame[_mentioned(index, cut, named)]
    return max(together, wording.weight * float(shown.max(initial=0.0)) / (sum(weight.values()) or 1.0))


def _texts(index: TextIndex, cut: Cut, term: str, hidden: Sequence[int]) -> NDArray[np.intp]:
    """Slots of the texts that say a term, or where none does one that it may be a misspelling of."""
    spellings = (term,) if index.knows(term, cut) else index.spellings(term, cut)
    slots = [index.postings(spelling, cut).slots for spelling in spellings]
    found = np.unique(np.concatenate(slots)) if slots else np.zeros(0)
    return np.setdiff1d(found.astype(np.intp), np.asarray(hidden, dtype=np.intp), assume_unique=True)


def _mentioned(index: TextIndex, cut: Cut, slots: NDArray[np.intp]) -> NDArray[np.intp]:
    """The cut's frames that mention some texts, each once."""
    frames, _ = index.mentions_of(slots, cut, MAX_MENTIONS)
    return np.unique(frames) - cut.first
