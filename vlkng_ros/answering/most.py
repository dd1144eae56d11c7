"""What there is most of, most often and for the longest: by things told apart, by pictures, by the time spent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

import numpy as np

from vlkng_ros.answering.confidence import absence
from vlkng_ros.answering.counting import shown_at_once, things_of
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.open_answers import LABEL_WORDS, asked_for, listed
from vlkng_ros.answering.relating import Relating
from vlkng_ros.answering.sightings import STAY_GAP, STAY_SHARE, runs_of
from vlkng_ros.answering.wording import span
from vlkng_ros.memory.located import UNNAMED
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.comparing import Most
from vlkng_ros.retrieval.hybrid_search import wordings
from vlkng_ros.retrieval.query import Query
from vlkng_ros.types import NS_PER_S, AnswerKind, Entity

CELL_M = 4.0
"""A stay is at a place of about a room's size."""
GAP_NS = 60 * NS_PER_S
"""Between frames further apart the robot may have been anywhere."""
COUNTED = 200
"""Things of which it is looked where they stand."""
ALIKE = 50
"""Things shown by as many pictures that are named, or said to be more, at most."""
ANY_WORDS = 1_000_000
SURE = 0.8


def seen_most(query: Query, relating: Relating) -> Draft:
    """What most pictures show, of all or of those of a place that is named."""
    retriever, scene = relating.retriever, relating.scene
    shown = np.ones(len(scene), dtype=np.bool_)
    said: frozenset[str] = frozenset()
    for other in query.relation.objects if query.relation is not None else ():
        thing = relating.thing(query, other)
        if not thing.seen:
            return Draft(query.kind, None, absence(thing.sure, len(scene)), thing=other)
        there = np.zeros(len(scene), dtype=np.bool_)
        for first, last in runs_of(thing.found.total):
            there[first : last + 1] = True
        shown, said = shown & there, said | frozenset(terms(other))
    frames, slots, caption = retriever.index.mentions_in(scene.cut)
    frames = frames - scene.cut.first
    kept = shown[frames] & (~caption if not caption.all() else caption)
    pairs = np.sort((slots[kept].astype(np.int64) << 32) | frames[kept])
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # said twice of one picture counts once
    counts = np.bincount(pairs >> 32)
    some = np.flatnonzero(counts)
    order = some[np.argsort(counts[some] if query.most is Most.SELDOM else -counts[some], kind="stable")]

    told = _named(query, order.tolist(), retriever.index.texts, said)
    best = next(told, None)
    if best is None:
        return Draft(query.kind, None, 0.0, reason="I have no name for anything that I saw there")
    alike = [best, *takewhile(lambda slot: counts[slot] == counts[best], islice(told, ALIKE))]
    of_best = pairs[pairs >> 32 == alike[0]] & 0xFFFFFFFF
    also = f"{len(of_best)} of {int(shown.sum())} pictures show {'it' if len(alike) == 1 else 'each'}."
    text = listed([retriever.index.texts[slot] for slot in alike])
    return Draft(query.kind, text, SURE, ((int(of_best[-1]), 1.0),), thing=text, also=also)


def _named(query: Query, slots: list[int], texts: Sequence[str], said: frozenset[str]) -> Iterator[int]:
    """Those of some texts that may answer, in their order: names, or where there are none descriptions."""
    for longest in (LABEL_WORDS, ANY_WORDS):
        some = False
        for slot in slots:
            if len(texts[slot].split()) > longest or not said.isdisjoint(terms(texts[slot])):
                continue
            if asked_for(query, [texts[slot]]):
                some = True
                yield slot
        if some:
            return


def whether_most(query: Query, relating: Relating) -> Draft:
    """Whether the target is what most pictures show, or the fewest."""
    if not query.target:
        return Draft(query.kind, None, 0.0, reason="I do not know what you mean")
    thing = relating.thing(query, query.target)
    if not thing.seen:
        return Draft(query.kind, query.negated, absence(thing.sure, len(relating.scene)), thing=query.target)
    most = seen_most(dataclasses.replace(query, kind=AnswerKind.TEXT, open=True, relation=None), relating)
    if most.value is None:
        return dataclasses.replace(most, kind=query.kind)
    names = [frozenset(terms(wording.text)) for wording in wordings(query.target)]
    named = frozenset(terms(str(most.value)))
    yes = any(name and name <= named for name in names) is not query.negated
    how = "least" if query.most is Most.SELDOM else "most"
    also = f"I saw {most.value} {how} often: {most.also}"
    return Draft(query.kind, yes, min(SURE, thing.sure), most.frames, events=(most.frames[0][0],), also=also)


def seen_so_often(query: Query, relating: Relating) -> Draft:
    """What was seen on as many occasions as are asked for: once, twice, more than 3 times."""
    frames, slots, caption = relating.retriever.index.mentions_in(relating.scene.cut)
    kept = ~caption if not caption.all() else caption
    pairs = np.unique((slots[kept].astype(np.int64) << 32) | (frames[kept] - relating.scene.cut.first))
    slot, frame = pairs >> 32, pairs & 0xFFFFFFFF
    begins = (np.diff(slot, prepend=-1) > 0) | (np.diff(frame, prepend=0) > STAY_GAP)
    named, first, times = np.unique(slot[begins], return_index=True, return_counts=True)
    shown = frame[begins][first]
    least, most = query.amount.least, query.amount.most
    so_often = np.flatnonzero((times >= least) & (times <= (times.max(initial=0) if most is None else most)))
    so_often = so_often[np.argsort(shown[so_often], kind="stable")]
    texts = relating.retriever.index.texts
    first_shown = dict(zip(named[so_often].tolist(), shown[so_often].tolist(), strict=True))
    found = list(_named(query, list(first_shown), texts, frozenset()))
    if not found:
        return Draft(query.kind, None, 0.0, reason="I saw nothing just so often")
    text = listed([texts[slot] for slot in found])
    return Draft(query.kind, text, SURE, ((first_shown[found[0]], 1.0),), thing=text)


def place_of_most(query: Query, relating: Relating, draft: Draft) -> Draft:
    """Where most of a thing is, or it was seen most often: a draft that says where it was seen, there."""
    if draft.value is None or not draft.frames:
        return draft
    found = relating.thing(query, query.target).found
    scene, positions_m = relating.scene, relating.scene.positions_m[:, :2].astype(np.float64)
    if query.most is Most.MANY:
        frame, many = _densest(query, relating)
        also = f"I know of {many} there." if many else ""
    else:
        raw = found.evidence.raw
        seen = raw.at_least(STAY_SHARE * raw.highest)
        peaks = found.peaks.frames
        away = positions_m[seen].T[:, None] - positions_m[peaks].T[..., None]
        nearest = (away[0] * away[0] + away[1] * away[1]).argmin(axis=0)
        starts = np.isin(seen, [first for first, _ in runs_of(raw)])
        times = np.bincount(nearest[starts], minlength=len(peaks))
        pictures = np.bincount(nearest, minlength=len(peaks))
        order = np.lexsort((-np.arange(len(peaks)), pictures, times))
        order = order[times[order] > 0] if times.any() else order
        chosen = int(order[0 if query.most is Most.SELDOM else -1])
        frame = int(peaks[chosen])
        also = f"{int(times[chosen])} of the {int(times.sum())} times that I saw it."
    name = _name(relating, frame)
    frames = ((frame, 1.0), *((f, 0.9 * score) for f, score in draft.frames if f != frame))
    also = " ".join(part for part in (also, f"I call the place {name}." if name else "") if part)
    value = frame if isinstance(draft.value, int) and frame < len(scene) else draft.value
    return dataclasses.replace(draft, value=value, frames=frames, also=also)


def longest_stay(query: Query, relating: Relating) -> Draft:
    """Where the robot itself was for the longest time altogether."""
    scene = relating.scene
    x, y = np.floor(scene.positions_m[:, :2] / CELL_M).astype(np.int64).T
    gaps = np.diff(scene.stamps_ns, append=scene.stamps_ns[-1])
    spent = np.where(gaps <= GAP_NS, gaps, 0)
    _, cell = np.unique((x << 32) + y, return_inverse=True)
    total = np.bincount(cell, weights=spent)
    best = int(total.argmax())
    there = np.flatnonzero(cell == best)
    frame = int(there[np.searchsorted(np.cumsum(spent[there]), total[best] / 2).clip(max=len(there) - 1)])
    name = _name(relating, frame)
    also = f"I spent {span(float(total[best]) / NS_PER_S)} there{f', and call it {name}' if name else ''}."
    return Draft(query.kind, frame, SURE, ((frame, 1.0),), events=(frame,), also=also)


def _densest(query: Query, relating: Relating) -> tuple[int, int]:
    """-> (a frame where most of a thing are, how many); by the places of things, else by what one picture shows."""
    retriever, scene = relating.retriever, relating.scene
    found = relating.thing(query, query.target).found
    at_once = max(shown_at_once(query, retriever, scene, found), key=lambda entry: entry[1], default=(0, 0))
    ids = things_of(query, retriever, relating.finder, scene, found)[:COUNTED]
    entities: list[Entity] = [retriever.reader.entity(relating.view, name, relating.as_of_ns) for name in ids]
    best, many = None, at_once[1]
    for entity in entities:
        here = [
            other
            for other in entities
            if other.position.map_id == entity.position.map_id
            and np.hypot(*np.subtract(other.position.mean_m, entity.position.mean_m)[:2]) <= CELL_M
        ]
        if len(here) > many:
            best, many = entity, len(here)
    frame = relating.frame_of(best) if best is not None else None
    return (at_once[0] if frame is None else frame), many


def _name(relating: Relating, frame: int) -> str:
    """What captions call the place of a frame; empty where they do not."""
    label = relating.retriever.reader.place_of(int(relating.scene.keyframe_ids[frame])).label
    return "" if label == UNNAMED else label
