"""Where a plain "no" would say more than the memory knows: questions half understood, and what may have changed."""

from __future__ import annotations

import dataclasses

from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.relating import Thing
from vlkng_ros.answering.sightings import runs_of
from vlkng_ros.answering.wording import clock
from vlkng_ros.memory.words import stem, terms
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.types import AnswerKind, EntityState

PLACES = frozenset(map(stem, ("room", "place", "floor", "area", "building", "corridor", "hallway", "street")))
"""Where a robot always is one of: that none was named does not make their number 0."""


def doubted(query: Query, draft: Draft) -> Draft:
    """The draft, or that it is not known: what was not understood was not looked for either."""
    if draft.value not in (None, 0) or draft.reason or query.negated:
        return draft
    if query.unclear:
        return Draft(query.kind, None, 0.0, draft.frames, reason=f"I do not understand '{query.whole}'")
    if query.kind is AnswerKind.COUNT and PLACES.issuperset(terms(query.target)) and not query.parts:
        reason = f"I do not know how many {query.target or 'there were'}: nothing I saw was called so"
        return Draft(query.kind, None, 0.0, draft.frames, reason=reason)
    return draft


def whether_still(draft: Draft, thing: Thing, retriever: Retriever, view: str, scene: Scene) -> Draft:
    """A yes to "is it still there", with when it was last seen; no where it was gone by then."""
    until = int(scene.stamps_ns[-1])
    entities = [retriever.reader.entity(view, entity_id, until) for entity_id in thing.entity_ids]
    if entities and all(entity.state is EntityState.GONE for entity in entities):
        return dataclasses.replace(draft, value=False, events=(0,), also="When I looked again, it was gone.")
    frame = max((last for _, last in runs_of(thing.found.evidence.raw)), default=0)
    seen_ns = max((entity.last_seen_ns for entity in entities), default=int(scene.stamps_ns[frame]))
    return dataclasses.replace(draft, also=f"I last saw it at {clock(min(seen_ns, until))}.")
