"""How many of a thing there were: those that the memory tells apart, and never fewer than one frame shows at once."""

from __future__ import annotations

from collections import Counter

from vlkng_ros.answering.draft import Draft
from vlkng_ros.memory.words import NUMBERS, stem, terms, tokens
from vlkng_ros.retrieval.amounts import FEW
from vlkng_ros.retrieval.hybrid_search import wordings
from vlkng_ros.retrieval.phrases import head_of
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene

LOOKED_AT = 40
"""Frames with the best evidence in which it is counted what is there at once."""
EVERYTHING = 0.5
"""Confidence of a number of all things: each that was named twice, or split, or missed is in it."""
BEFORE = 3
"""Words before a thing among which its number stands ("two small red cars")."""


def things_of(query: Query, retriever: Retriever, finder: Finder, scene: Scene, found: Found) -> int:
    """Entities of the preset's view that are called what is counted and were seen in the scene's time."""
    if not finder.in_view:
        return 0
    reader, index = retriever.reader, retriever.index
    names = _names(query)
    called = [slot for slot in found.fit.slots.tolist() if frozenset(index.terms_of[slot]) in names]
    view, since, until = finder.in_view, int(scene.stamps_ns[0]), int(scene.stamps_ns[-1])
    ids = dict.fromkeys(name for slot in called for name in reader.labelled(view, index.text_id_of(slot)))
    return sum(bool(reader.sightings(view, name, since, until, limit=1)) for name in ids)


def everything(query: Query, retriever: Retriever, finder: Finder, scene: Scene) -> Draft:
    """How many things there were of any kind: the entities of the preset's view that were seen in the scene's time."""
    if not finder.in_view:
        return Draft(query.kind, None, 0.0)
    reader = retriever.reader
    since, until = int(scene.stamps_ns[0]), int(scene.stamps_ns[-1])
    stats = reader.stats()
    if (since, until) == (stats.oldest_ns, stats.newest_ns):
        count = stats.entities.get(finder.in_view, 0)
    else:
        known = reader.entities(finder.in_view, until)
        count = sum(entity.first_seen_ns <= until and entity.last_seen_ns >= since for entity in known)
    return Draft(query.kind, count, EVERYTHING, ((len(scene) - 1, 1.0),))


def at_once(query: Query, retriever: Retriever, scene: Scene, found: Found) -> int:
    """The most that one frame shows: boxes of one label, or the number that a sentence of its caption says."""
    index, names = retriever.index, _names(query)
    heads = frozenset(head for wording in wordings(query.target) if (head := head_of(wording.text)))
    wanted = frozenset(terms(query.target))
    most = 0
    for frame in found.evidence.raw.best(LOOKED_AT):
        _, slots, caption = index.mentions_in(index.narrowed(scene.cut, frame, frame + 1))
        labels = Counter(slot for slot in slots[~caption].tolist() if frozenset(index.terms_of[slot]) in names)
        most = max(most, *labels.values(), 0)
        for slot in slots[caption].tolist():
            if wanted <= frozenset(index.terms_of[slot]) or heads & frozenset(index.terms_of[slot]):
                most = max(most, _said(index.texts[slot], heads))
    return most


def _names(query: Query) -> list[frozenset[str]]:
    return [frozenset(terms(wording.text)) for wording in wordings(query.target)]


def _said(sentence: str, heads: frozenset[str]) -> int:
    """The number that stands before a thing in a sentence; 0 where none does."""
    words = tokens(sentence)
    numbers = [0]
    for place, word in enumerate(words):
        if stem(word) in heads:
            before = words[max(0, place - BEFORE) : place]
            numbers += [FEW.get(b) or NUMBERS.get(b, 0) for b in before]
    return max(numbers)
