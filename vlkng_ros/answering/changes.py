"""What became of things: gone, moved, new since a time. Only what the robot saw again can have changed."""

from __future__ import annotations

import dataclasses

from vlkng_ros.answering.confidence import absence
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.open_answers import listed
from vlkng_ros.answering.relating import Relating
from vlkng_ros.answering.sightings import runs_of
from vlkng_ros.answering.things import Thing
from vlkng_ros.answering.wording import clock
from vlkng_ros.retrieval.comparing import Change
from vlkng_ros.retrieval.query import Query
from vlkng_ros.types import AnswerKind, Entity, EntityState

LOOKED_THROUGH = 3000
"""Things of a view that are compared with what they were."""
NOTICED = 0.7
"""Confidence of what a view believes of a thing that it saw more than once."""
_STATES = {
    Change.GONE: (EntityState.GONE,),
    Change.MOVED: (EntityState.MOVED,),
    Change.NEW: (),
    Change.ANY: (EntityState.GONE, EntityState.MOVED),
}
_TOLD = {Change.GONE: "is gone", Change.MOVED: "was moved", Change.NEW: "is new", Change.ANY: "changed"}


def whether_still(draft: Draft, thing: Thing, relating: Relating) -> Draft:
    """A yes to "is it still there", with when it was last seen; no where it was gone by then."""
    entities = _entities(thing, relating)
    if entities and all(entity.state is EntityState.GONE for entity in entities):
        return dataclasses.replace(draft, value=False, events=(0,), also="When I looked again, it was gone.")
    return dataclasses.replace(draft, also=_last_seen(thing, entities, relating))


def of_change(query: Query, relating: Relating) -> Draft:
    """What has become of the target; without one, which things have changed so."""
    change = query.change or Change.ANY
    if not query.target:
        return _of_any(query, change, relating)
    thing = relating.thing(query, query.target)
    if not thing.seen:
        reason = f"I have not seen {thing.phrase}"
        return Draft(query.kind, None, absence(thing.sure, len(relating.scene)), thing=thing.phrase, reason=reason)
    entities = _entities(thing, relating)
    last = _last_seen(thing, entities, relating)
    found = [entity for entity in entities if entity.state in _STATES[change]]
    events = (thing.frames[0][0],)
    if found and (change is Change.MOVED or len(found) == len(entities)):
        also = "When I looked again, it was gone." if change is Change.GONE else "I saw it at more than one place."
        return Draft(query.kind, True, NOTICED, thing.frames, thing=thing.phrase, events=events, also=f"{also} {last}")
    if change is Change.GONE and entities:
        return Draft(query.kind, False, NOTICED, thing.frames, events=events, also=last)
    reason = (
        f"I saw {thing.phrase}, and do not know whether it {_TOLD[change]}; {last[0].lower()}{last[1:].rstrip('.')}"
    )
    return Draft(query.kind, None, 0.0, thing.frames, reason=reason.replace("; i last", "; I last"))


def _of_any(query: Query, change: Change, relating: Relating) -> Draft:
    reader, scene = relating.retriever.reader, relating.scene
    count = reader.count(relating.view, relating.as_of_ns) if relating.view else 0
    if not 0 < count <= LOOKED_THROUGH:
        return Draft(query.kind, None, 0.0, reason="I cannot tell which of the things that I remember changed")
    entities = list(reader.entities(relating.view, relating.as_of_ns))
    table = reader.frames()
    since = int(scene.stamps_ns[0])
    if not query.times:  # new is what the drives before the last one did not show
        sessions = table.session[(table.stamps_ns <= relating.as_of_ns)]
        since = int(table.stamps_ns[: len(sessions)][sessions == sessions[-1]][0])
    earlier = int(table.stamps_ns[0]) < since
    told: dict[str, list[Entity]] = {}
    for entity in entities:
        if entity.state in _STATES[change]:
            told.setdefault(entity.state.value, []).append(entity)
        elif earlier and change in (Change.NEW, Change.ANY) and entity.first_seen_ns >= since:
            told.setdefault("new", []).append(entity)
    if not told:
        compared = "" if earlier or change is not Change.NEW else ": there is nothing before it to compare with"
        return Draft(query.kind, None, 0.0, reason=f"I noticed nothing that {_TOLD[change]}{compared}")
    lists = {name: listed(list(dict.fromkeys(entity.label for entity in found))) for name, found in told.items()}
    text = next(iter(lists.values())) if change is not Change.ANY else "; ".join(f"{k}: {v}" for k, v in lists.items())
    newest = max((entity for found in told.values() for entity in found), key=lambda entity: entity.last_seen_ns)
    frame = relating.frame_of(newest)
    frames = ((frame, 1.0),) if frame is not None else ()
    if query.kind is AnswerKind.BINARY:
        events = (frame,) if frame is not None else (len(scene) - 1,)
        return Draft(query.kind, True, NOTICED, frames, events=events, also=f"{text[0].upper()}{text[1:]}.")
    return Draft(query.kind, text, NOTICED, frames, thing=text)


def _entities(thing: Thing, relating: Relating) -> list[Entity]:
    reader = relating.retriever.reader
    return [reader.entity(relating.view, entity_id, relating.as_of_ns) for entity_id in thing.entity_ids]


def _last_seen(thing: Thing, entities: list[Entity], relating: Relating) -> str:
    frame = max((last for _, last in runs_of(thing.found.evidence.raw)), default=0)
    seen_ns = max((entity.last_seen_ns for entity in entities), default=int(relating.scene.stamps_ns[frame]))
    return f"I last saw it at {clock(min(seen_ns, relating.as_of_ns))}."
