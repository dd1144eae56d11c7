"""How far things are: by their own places, else by where the robot stood when it saw them, and then said so."""

from __future__ import annotations

import dataclasses
import math

from vlkng_ros.answering.confidence import absence
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.relating import Relating
from vlkng_ros.answering.things import Thing
from vlkng_ros.retrieval.forms import in_metres
from vlkng_ros.retrieval.grammar import Superlative
from vlkng_ros.retrieval.query import Query
from vlkng_ros.types import AnswerKind, Entity

BY_DISTANCE = (Superlative.NEAREST, Superlative.FARTHEST)


def length(metres: float, unit: str = "") -> str:
    """A length in metres, and before that in another unit where one was asked for."""
    size = in_metres(unit)
    return f"{metres:.1f} m" if size == 1.0 else f"{metres / size:.1f} {unit} ({metres:.1f} m)"


def distance(query: Query, relating: Relating) -> Draft:
    """How far the target is from the other thing."""
    one, other = relating.thing(query, query.target), relating.thing(query, query.apart_from)
    for thing in (one, other):
        if not thing.seen:
            return _unseen(query, relating, thing)
    sure, frames = min(one.sure, other.sure), (one.frames[0], other.frames[0])
    named = f"{one.phrase} and {other.phrase}"
    pair = relating.closest(one, other)
    if pair is not None:
        return Draft(query.kind, f"{length(pair[0], query.unit)} apart", sure, frames, thing=named)
    first, second = relating.viewed(one), relating.viewed(other)
    if first is None or second is None or first[1] != second[1] or set(one.entity_ids) & set(other.entity_ids):
        reason = f"I do not know how far {one.phrase} is from {other.phrase}"
        if one.phrase == other.phrase:
            reason = f"I do not know how far apart {one.phrase} are"
        return Draft(query.kind, None, 0.0, frames, reason=reason)
    apart = length(math.dist(first[0][:2], second[0][:2]), query.unit)
    text = f"{apart} between where I saw {named} from; where they stand I do not know"
    return Draft(query.kind, text, sure, frames, thing=named)


def from_asker(query: Query, relating: Relating) -> Draft:
    """How far the target is from who asks; of several the nearest."""
    thing = relating.thing(query, query.target)
    if not thing.seen:
        return _unseen(query, relating, thing)
    if known := relating.away(thing):
        metres, entity = known[0]
        frame = relating.frame_of(entity)
        frames = thing.frames if frame is None else _with_first(frame, thing.frames)
        also = f"The nearest of {len(known)}." if len(known) > 1 else ""
        return Draft(
            query.kind, f"{length(metres, query.unit)} away", thing.sure, frames, thing=thing.phrase, also=also
        )
    here, viewed = relating.viewed_from(len(relating.scene) - 1), relating.viewed(thing)
    if relating.asker_m is None or here is None or viewed is None or here[1] != viewed[1]:
        reason = f"I saw {thing.phrase}, and do not know how far away it is"
        return Draft(query.kind, None, 0.0, thing.frames, reason=reason)
    text = f"{length(math.dist(viewed[0][:2], relating.asker_m[:2]), query.unit)} to where I saw it from"
    return Draft(query.kind, f"{text}; where it stands I do not know", thing.sure, thing.frames, thing=thing.phrase)


def ordered(query: Query, relating: Relating, draft: Draft) -> Draft:
    """A draft about the nearest or farthest of several, or the one near another thing, by the places of the entities.

    Where no place is known it goes by where the robot saw them from, and says so.
    """
    by_distance = query.superlative in BY_DISTANCE and relating.asker_m is not None
    related = query.relation if query.relation is not None and query.relation.predicate == "near" else None
    if not (by_distance or related) or not relating.view:
        return draft
    thing = relating.thing(query, query.target)
    chosen: Entity | None = None
    also = ""
    if by_distance and (known := relating.away(thing)):
        metres, chosen = known[0] if query.superlative is Superlative.NEAREST else known[-1]
        also = f"It is {metres:.1f} m away."
    elif (
        related
        and len(related.objects) == 1
        and (pair := relating.closest(thing, relating.thing(query, related.objects[0])))
    ):
        chosen = pair[1]
        if query.kind is AnswerKind.POSITION:
            near = pair[0] <= relating.reach_of(query, related)
            also = f"{'It' if near else 'That is not near: it'} is {pair[0]:.1f} m from {related.objects[0]}."
    if chosen is None:
        return draft
    frame = relating.frame_of(chosen)
    if frame is None:
        return draft
    value = frame if query.kind is AnswerKind.POSITION else draft.value
    frames = _with_first(frame, draft.frames)
    return dataclasses.replace(draft, value=value, frames=frames, also=f"{draft.also} {also}".strip())


def near_asker(query: Query, relating: Relating) -> tuple[bool, str]:
    """-> (whether the target, which was seen, is near who asks, or far from them, what speaks for it)."""
    thing = relating.thing(query, query.target)
    known = relating.away(thing)
    if known:
        metres, also = known[0][0], f"It is {known[0][0]:.1f} m away."
    else:
        viewed = relating.viewed(thing) if thing.frames else None
        if viewed is None or relating.asker_m is None:
            return True, ""
        metres = math.dist(viewed[0][:2], relating.asker_m[:2])
        also = f"I saw it from {metres:.1f} m away; where it stands I do not know."
    return (metres <= (query.reach_m or relating.reach_m)) is (query.superlative is Superlative.NEAREST), also


def _unseen(query: Query, relating: Relating, thing: Thing) -> Draft:
    return Draft(query.kind, None, absence(thing.sure, len(relating.scene)), thing.frames, thing=thing.phrase)


def _with_first(frame: int, frames: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    best = max((score for _, score in frames), default=1.0)
    return ((frame, best), *(entry for entry in frames if entry[0] != frame))
