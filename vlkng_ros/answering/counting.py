"""How many of a thing there were: those that the memory tells apart, and never fewer than one frame shows at once."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable

from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.sightings import runs_of
from vlkng_ros.memory.words import COLORS, NUMBERS, SIZES, stem, terms, tokens
from vlkng_ros.retrieval.amounts import FEW
from vlkng_ros.retrieval.comparing import Comparison
from vlkng_ros.retrieval.excluding import left_out
from vlkng_ros.retrieval.hybrid_search import wordings
from vlkng_ros.retrieval.kinds import things_of_kind
from vlkng_ros.retrieval.phrases import head_of
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.types import AnswerKind, Entity

LOOKED_AT = 40
"""Frames with the best evidence in which it is counted what is there at once."""
EVERYTHING = 0.5
"""Confidence of a number of all things: each that was named twice, or split, or missed is in it."""
BEFORE = 3
"""Words before a thing among which its number stands ("two small red cars")."""
_KINDS = re.compile(r"\bhow many (?:different )?(?:kinds|types|sorts) of\b")


def counted(
    query: Query,
    retriever: Retriever,
    finder: Finder,
    scene: Scene,
    found: Found,
    frames: tuple[tuple[int, float], ...],
    sure: float,
) -> Draft:
    """Occasions, or things: those of the preset's view, and at least as many as a frame shows at once."""
    if query.times_asked:
        return Draft(query.kind, len(runs_of(found.total)), sure, frames, thing=query.target)
    if query.attribute == "kind":
        names = _names(query)
        said = {frozenset(retriever.index.terms_of[slot]) for slot in found.fit.slots.tolist()}
        return Draft(query.kind, sum(words in names for words in said), sure, frames, thing=query.target)
    ids = [] if query.relation is not None else things_of(query, retriever, finder, scene, found)
    qualities = [phrase for phrase in query.excluded if terms(phrase) and _is_quality(phrase)]
    if qualities:
        return _without(query, qualities, ids, retriever, finder, scene, frames, sure)
    if query.excluded and (query.ordinal or not things_of_kind(query.target)):
        reason = f"I saw {query.target}, and do not know which of them you leave out"
        return Draft(query.kind, None, 0.0, frames, reason=reason)
    count = max(len(ids), at_once(query, retriever, scene, found))
    count = count or max(1, *(int(found.evidence.instances.of(frame)) for frame, _ in frames))
    return Draft(query.kind, count, sure, frames, thing=query.target)


def things_of(query: Query, retriever: Retriever, finder: Finder, scene: Scene, found: Found) -> list[str]:
    """Ids of the preset's entities that are called what is counted and were seen in the scene's time."""
    if not finder.in_view:
        return []
    reader, index = retriever.reader, retriever.index
    said = [wording.text for wording in wordings(query.target)]
    names = [tuple(terms(text)) for i, text in enumerate(said) if not (i and left_out(query.excluded, text))]
    called = [slot for slot in found.fit.slots.tolist() if _is_called(index.terms_of[slot], names)]
    view, since, until = finder.in_view, int(scene.stamps_ns[0]), int(scene.stamps_ns[-1])
    texts = [index.text_id_of(slot) for slot in called]
    table = reader.frames()
    if since <= int(table.stamps_ns[0]) and until >= int(table.stamps_ns[-1]):
        return reader.labelled(view, texts)  # all of them were seen at some time
    return reader.labelled(view, texts, since, until)


def _is_called(label: tuple[str, ...], names: list[tuple[str, ...]]) -> bool:
    """Whether a label names what one of some names does, or a sort of it: a red chair is a chair."""
    return any(name and label[-1:] == name[-1:] and set(name) <= set(label) for name in names)


def compared(comparison: Comparison, kind: AnswerKind, count: Callable[[str, bool], Draft]) -> Draft:
    """Whether there were more of one thing than of another or, asked in words, of which there were more.

    Args:
        comparison: the things.
        kind: of the answer.
        count: how many of a thing there were, or how often it was seen.
    """
    names = (comparison.one, comparison.other)
    drafts = [count(name, comparison.occasions) for name in names]
    unknown = next((draft for draft in drafts if not isinstance(draft.value, int)), None)
    if unknown is not None:
        return dataclasses.replace(unknown, kind=kind, value=None, reason=unknown.reason or "I do not know")
    one, other = (int(draft.value or 0) for draft in drafts)
    sure = min(draft.confidence for draft in drafts)
    frames = tuple(frame for draft in drafts if draft.value for frame in draft.frames)
    times = " times" if comparison.occasions else ""
    also = f"I counted {names[0]}: {one}{times}, {names[1]}: {other}{times}."
    if not one and not other:
        return Draft(kind, None, sure, reason=f"I have not seen {names[0]} or {names[1]}")
    if kind is AnswerKind.TEXT:
        more = names[0] if (one > other) is (comparison.way == "more") else names[1]
        text = f"as many {names[0]} as {names[1]}" if one == other else more
        return Draft(kind, text, sure, frames, also=also)
    yes = {"more": one > other, "fewer": one < other}.get(comparison.way, one == other)
    return Draft(kind, yes, sure, frames, events=tuple(frame for frame, _ in frames[:1]), also=also)


def everything(query: Query, retriever: Retriever, finder: Finder, scene: Scene) -> Draft:
    """How many things, or kinds of things, there were: the preset's entities that were seen in the scene's time."""
    if not finder.in_view:
        return Draft(query.kind, None, 0.0)
    reader = retriever.reader
    since, until = int(scene.stamps_ns[0]), int(scene.stamps_ns[-1])
    seen = reader.types_seen(finder.in_view, since, until)
    counts = [count for name, count in seen.items() if not left_out(query.excluded, name.replace("_", " "))]
    count = len(counts) if _KINDS.search(query.text.lower()) else sum(counts)
    return Draft(query.kind, count, EVERYTHING, ((len(scene) - 1, 1.0),))


def at_once(query: Query, retriever: Retriever, scene: Scene, found: Found) -> int:
    """The most that one frame shows: boxes of one label, or the number that a sentence of its caption says."""
    return max((count for _, count in shown_at_once(query, retriever, scene, found)), default=0)


def shown_at_once(query: Query, retriever: Retriever, scene: Scene, found: Found) -> list[tuple[int, int]]:
    """Of the frames with the best evidence, how many each shows at once: ``(frame, count)``."""
    index, names = retriever.index, _names(query)
    heads = frozenset(head for wording in wordings(query.target) if (head := head_of(wording.text)))
    wanted = frozenset(terms(query.target))
    counts = []
    for frame in found.evidence.raw.best(LOOKED_AT):
        _, slots, caption = index.mentions_in(index.narrowed(scene.cut, frame, frame + 1))
        labels = Counter(slot for slot in slots[~caption].tolist() if frozenset(index.terms_of[slot]) in names)
        most = max(labels.values(), default=0)
        for slot in slots[caption].tolist():
            if wanted <= frozenset(index.terms_of[slot]) or heads & frozenset(index.terms_of[slot]):
                most = max(most, _said(index.texts[slot], heads))
        counts.append((frame, most))
    return counts


def _without(
    query: Query,
    qualities: list[str],
    ids: list[str],
    retriever: Retriever,
    finder: Finder,
    scene: Scene,
    frames: tuple[tuple[int, float], ...],
    sure: float,
) -> Draft:
    """Those of the things that do not look as is excluded, where the memory says of each what it looks like."""
    until = int(scene.stamps_ns[-1])
    entities = [retriever.reader.entity(finder.in_view, name, until) for name in ids]
    said = [_look(entity) for entity in entities]
    unknown = sum(not words for words in said)
    named = " or ".join(qualities)
    if unknown or not ids:
        reason = (
            f"I counted {len(ids)} {query.target}, and do not know which of them are {named}"
            if ids
            else (f"I saw {query.target}, and do not know how many of them are {named}")
        )
        return Draft(query.kind, None, 0.0, frames, reason=reason)
    left = sum(not any(frozenset(terms(quality)) <= words for quality in qualities) for words in said)
    also = f"Of {len(ids)} in all {len(ids) - left} {'is' if len(ids) - left == 1 else 'are'} {named}."
    return Draft(query.kind, left, sure, frames, thing=f"{query.target} that are not {named}", also=also)


def _look(entity: Entity) -> frozenset[str]:
    """The words for colors, sizes and states that are known of an entity, as terms."""
    texts = [*entity.labels, *entity.attributes.values()]
    words = {word for text in texts for word in tokens(text) if word in COLORS | SIZES}
    words |= {word for text in entity.attributes.values() for word in tokens(text)}
    return frozenset(term for word in words for term in terms(word))


def _is_quality(phrase: str) -> bool:
    """Whether a phrase says what a thing looks like, and names none."""
    return all(word in COLORS | SIZES for word in tokens(phrase))


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
