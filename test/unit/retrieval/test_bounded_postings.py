"""However many texts say a word, a question looks at few of them, and they hold the best that BM25 would find."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from mention_rows import MentionRow, add_mentions

from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.lexical import COMMON, candidates

COLORS = ("red", "blue", "green", "white")
THINGS = ("chair", "table", "door", "lamp", "plant", "bin")
PLACES = ("hallway", "office", "kitchen", "lobby", "workshop")
DETAILS = ("window", "wall", "corner", "pillar", "exit", "sign", "radiator", "floor", "ceiling", "carpet")


@pytest.fixture(scope="module")
def index() -> TextIndex:
    """Some 25,000 texts as captions and labels are: words that thousands say beside rare ones."""
    rng = np.random.default_rng(0)
    texts = [f"{color} {thing}" for color in COLORS for thing in THINGS]
    texts += [f"a {text} on the floor" for text in texts]
    for number, (color, thing, place) in enumerate(itertools.islice(
        itertools.cycle(itertools.product(COLORS, THINGS, PLACES)), 25_000
    )):
        detail, other = rng.choice(DETAILS), rng.choice(THINGS)
        rare = f" with number {number // 7}" if number % 5 == 0 else ""
        texts.append(f"A {color} {thing} stands by the {detail} of a {place} next to a {other}{rare}.")
    texts = list(dict.fromkeys(texts))
    index = TextIndex()
    ids = np.arange(1, len(texts) + 1)
    index.add_frames(ids, ids * 10**9)
    add_mentions(index, [MentionRow(i, i, True) for i in ids.tolist()], {i: (t, None) for i, t in enumerate(texts, 1)})
    return index


@pytest.mark.parametrize(
    "phrase",
    ["red chair", "door", "stands", "blue lamp by the window", "kitchen table", "plant in the lobby", "number 700",
     "white bin next to a door", "green table with number 333", "chair in the office by the radiator"],
)
def test_the_best_twenty_of_exact_bm25_are_looked_at(index: TextIndex, phrase: str) -> None:
    cut = index.cut()
    wanted = terms(phrase)
    slots, scores = index.bm25(wanted, cut)
    looked_at = candidates([index.postings(term, cut) for term in wanted])
    assert len(looked_at) <= 4 * COMMON
    found = np.isin(slots, looked_at)
    # Texts that score the same are as good as one another.
    exact = np.sort(scores)[::-1][:20]
    bounded = np.sort(scores[found])[::-1][:20]
    assert (bounded >= exact[-1] - 1e-6).sum() >= 0.95 * len(exact)
