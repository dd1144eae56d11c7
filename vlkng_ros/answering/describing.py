"""Descriptions of things, taken from what was said of them: what is asked for, as most frames say it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator

from vlkng_ros.answering import statements
from vlkng_ros.answering.open_answers import labels_of, listed
from vlkng_ros.answering.sightings import runs_of
from vlkng_ros.memory.words import COLORS, stem, terms, tokens
from vlkng_ros.retrieval.hybrid_search import wordings
from vlkng_ros.retrieval.kinds import things_of_kind
from vlkng_ros.retrieval.phrases import head_of
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene

_SIDE = re.compile(r"\b(left|right)(?:-hand)? side\b|\bon the (left|right)\b")
LOOKED_AT = 20
"""Frames with the best evidence whose captions are read; those of the places found come first."""
BEST = 5
LATER = 5
"""Frames after or before a sighting in which it is looked for what came then."""
FARTHER = 500
"""Frames until the first that shows anything else."""


def describe(query: Query, retriever: Retriever, scene: Scene, found: Found, frames: list[int]) -> str:
    """What the best frames say of the target: the attribute asked for, else the sentence that says most.

    Empty where they say nothing.
    """
    said = [text for frame in frames[:BEST] for text, _ in retriever.best_sentences(scene, found, frame)]
    for choice in query.choices:
        if any(set(map(stem, tokens(choice))) <= set(map(stem, tokens(text))) for text in said):
            return choice
    if query.attribute == "color":
        return color_of(query.target, said)
    if query.attribute == "side":
        sides = [found_side[1] or found_side[2] for text in said if (found_side := _SIDE.search(text.lower()))]
        return f"on the {sides[0]} side" if sides else ""
    heads = frozenset(head for wording in wordings(query.target) if (head := head_of(wording.text)))
    read = _readers(query, heads).get(query.attribute)
    about = [text for text in said if not heads.isdisjoint(terms(text))]
    if query.attribute == "kind" and things_of_kind(query.target):
        return listed(list(dict.fromkeys(about)))
    if read is None:
        said = about  # what is only like it tells nothing of it
        more = [text for text in said if not set(terms(text)) <= set(terms(query.target))]
        which = query.superlative is not None or query.text.lower().startswith("which")
        return (more or (said if which else []) or [""])[0]
    read_frames = dict.fromkeys([*frames[:BEST], *found.total.best(LOOKED_AT)])
    sentences = [
        (sentence, found.total.of(frame))
        for frame in read_frames
        for sentence in _sentences(query, heads, retriever, scene, frame)
    ]
    answer = _most_said((read(sentence), weight) for sentence, weight in sentences)
    if not answer and (other := statements.ALIKE.get(stem(query.verb))):
        answer = _most_said((statements.with_verb(sentence, heads, other), weight) for sentence, weight in sentences)
    if not answer and query.attribute == "who":
        return next((text for text in said if not statements.PEOPLE.isdisjoint(terms(text))), "")
    return answer


def _readers(query: Query, heads: frozenset[str]) -> dict[str, Callable[[str], str]]:
    """What reads each attribute in a sentence about the target."""
    return {
        "wearing": lambda sentence: statements.wearing(sentence, heads),
        "doing": lambda sentence: statements.doing(sentence, heads),
        "object": lambda sentence: statements.with_verb(sentence, heads, query.verb),
        "says": statements.says,
        "material": lambda sentence: statements.material(sentence, heads),
        "shape": lambda sentence: statements.shape(sentence, heads),
        "kind": lambda sentence: statements.kind(sentence, heads),
        "who": lambda sentence: statements.doer(sentence, query.whole),
    }


def _sentences(query: Query, heads: frozenset[str], retriever: Retriever, scene: Scene, frame: int) -> Iterator[str]:
    """What a frame says of the target: sentences of its caption, then regions."""
    index = retriever.index
    _, slots, caption = index.mentions_in(index.narrowed(scene.cut, frame, frame + 1))
    texts = [index.texts[slot] for slot in slots[caption].tolist()]
    regions = [index.texts[slot] for slot in dict.fromkeys(slots[~caption].tolist())]
    if query.attribute == "who":
        yield from [*texts, *regions]
        return
    yield from statements.about(texts, heads)
    yield from (text for text in regions if not heads.isdisjoint(terms(text)))


def _most_said(read: Iterator[tuple[str, float]]) -> str:
    """What the most evidence says; of equals what was read first."""
    votes: dict[str, float] = defaultdict(float)
    first: dict[str, str] = {}
    for text, weight in read:
        if text:
            votes[text.lower()] += weight
            first.setdefault(text.lower(), text)
    return first[max(votes, key=lambda text: votes[text])] if votes else ""


def then_seen(query: Query, retriever: Retriever, scene: Scene, found: Found) -> tuple[list[str], list[int]]:
    """What was seen next after a sighting of the target, or last before it, and is not the target: labels, frames.

    That is what the frames around it show besides what the sighting shows itself, or else the first thing beyond.
    """
    first, last = runs_of(found.evidence.raw)[0]
    step, start = (1, last) if query.attribute == "after" else (-1, first)
    known = {label for frame in {first, last} for label in labels_of(retriever, scene, frame)}
    others = [f for f in range(start + step, start + step * (FARTHER + 1), step) if 0 <= f < len(scene)]
    captions = bool(retriever.index.mentions_in(scene.cut)[2].all())  # of frames that are only told of
    seen: dict[str, int] = {}
    names = [frozenset(terms(wording.text)) for wording in wordings(query.target)]
    for place, frame in enumerate(others):
        if place >= LATER and seen:
            break
        for label in labels_of(retriever, scene, frame, captions=captions):
            if label not in known and not any(name and name <= frozenset(terms(label)) for name in names):
                seen.setdefault(label, frame)
    return list(seen), list(dict.fromkeys(seen.values()))


def color_of(target: str, said: list[str]) -> str:
    """The color word that stands nearest before the target's head in the first sentence where one does."""
    heads = {head_of(target), *(stem(word) for word in tokens(target) if word not in COLORS)}
    for text in said:
        words = tokens(text)
        for place, word in enumerate(words):
            if stem(word) not in heads:
                continue
            before = [w for w in words[max(0, place - 4) : place] if w in COLORS]
            if before:
                return before[-1]
    return ""
