"""Whether a thing is seen every time that comes again (every morning, usually at night), and at how many of them."""

from __future__ import annotations

import dataclasses

import numpy as np

from vlkng_ros.answering.confidence import absence, confidence
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.sightings import STAY_SHARE
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.recurring import USUAL, Recurring
from vlkng_ros.retrieval.retriever import Scene
from vlkng_ros.types import AnswerKind, Vec3


def at_each(
    query: Query, every: Recurring, finder: Finder, scene: Scene, asker_m: Vec3 | None, min_confidence: float
) -> Draft:
    """Whether the target was seen at each of the times, or at how many: of those at which anything was recorded."""
    counted = every.counted and query.kind is AnswerKind.COUNT
    unknown = Draft(query.kind, None, 0.0, reason=f"I do not know of every {every.name}; ask me about one")
    if not query.target or not (counted or query.kind is AnswerKind.BINARY):
        return unknown
    found = finder.find(dataclasses.replace(query, times_asked=True), scene, asker_m)
    sure = confidence(found.support, found.needed)
    frames = tuple(zip(found.peaks.frames.tolist(), found.peaks.scores.tolist(), strict=True))
    if sure < min_confidence or not frames:
        value = 0 if counted else query.negated
        sure = absence(sure, len(scene))
        return Draft(query.kind, value, sure, frames, thing=query.target, denied=query.negated)
    if not every.period_s:
        return unknown
    numbers = every.numbers(scene.stamps_ns)
    known = np.unique(numbers[numbers >= 0])
    if not len(known):
        return Draft(query.kind, None, 0.0, frames, reason=f"I remember no {every.name}")
    raw = found.evidence.raw
    shown = np.intersect1d(numbers[raw.at_least(STAY_SHARE * raw.highest)], known)
    if counted:
        return Draft(query.kind, len(shown), sure, frames, also=f"I remember {_times(len(known), every.name)}.")
    if len(known) == 1 and len(shown):
        reason = f"I remember only one {every.name}, and saw {query.target} then"
        return Draft(query.kind, None, 0.0, frames, reason=reason)
    yes = len(shown) > USUAL * len(known) if every.usual else len(shown) == len(known)
    also = f"I saw it on {len(shown)} of {_times(len(known), every.name)}."
    return Draft(query.kind, yes is not query.negated, sure, frames, events=(frames[0][0],), also=also)


def _times(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
