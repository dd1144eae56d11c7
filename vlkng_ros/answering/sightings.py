"""Sightings of a thing: runs of frames that show it, and whether one thing was seen before another."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence

import numpy as np

from vlkng_ros.answering.confidence import absence, confidence
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.wording import clock
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.grammar import Superlative
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.ranking import SUPPORTED
from vlkng_ros.retrieval.retriever import Found, Scene
from vlkng_ros.types import NS_PER_S, AnswerKind, Vec3

STAY_SHARE = 0.5
"""Frames with this share of the best evidence belong to a stay at a place, or a sighting."""
STAY_GAP = 3
"""Frames without it that do not end one."""


def runs_of(total: FrameScores) -> list[tuple[int, int]]:
    """Runs of frames with a good share of the best evidence; short gaps do not end one."""
    frames = total.at_least(STAY_SHARE * total.highest) if total.highest else total.frames[:0]
    ends = np.flatnonzero(np.diff(frames) > STAY_GAP)
    first, last = np.append(frames[:1], frames[ends + 1]), np.append(frames[ends], frames[-1:])
    return list(zip(first.tolist(), last.tolist(), strict=True))


def clear_runs(found: Found, *, stays: bool, breaks: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Those of the runs that come near the best evidence, from the first frame that itself shows it to the last.

    Args:
        found: what was found of the thing or place.
        stays: whether stays at a place are looked for: one frame tells of a thing, and not of being somewhere.
        breaks: frames before which the robot was switched off, ascending; they end a run.
    """
    raw = found.evidence.raw
    best = found.total if stays else raw
    shown = raw.at_least(STAY_SHARE * raw.highest)
    runs = []
    for first, last in runs_of(found.total):
        if best.between(first, last).highest < SUPPORTED * best.highest:
            continue
        starts = [first, *(frame for frame in breaks if first < frame <= last), last + 1]
        parts = [shown[slice(*np.searchsorted(shown, pair))] for pair in itertools.pairwise(starts)]
        runs += [(int(part[0]), int(part[-1])) for part in parts if len(part)]
    return runs


def seconds_of(runs: Sequence[tuple[int, int]], scene: Scene) -> list[float]:
    """How long each run took."""
    return [float(scene.stamps_ns[last] - scene.stamps_ns[first]) / NS_PER_S for first, last in runs]


def asks_if_then(query: Query) -> bool:
    """Whether it is asked if the first or last sighting was in a time that is named ("last seen a minute ago?")."""
    ends = (Superlative.FIRST, Superlative.LAST)
    return query.kind is AnswerKind.BINARY and query.superlative in ends and bool(query.times and query.target)


def whether_then(query: Query, then: Draft, ever: Draft, scene: Scene) -> Draft:
    """Whether the first or last sighting of all is in a scene.

    Args:
        query: which of the two is asked.
        then: whether it was seen in the scene at all.
        ever: when it was seen first, or last.
        scene: the time that is named.
    """
    if then.value is None or not isinstance(ever.value, int):
        return then
    yes = int(scene.stamps_ns[0]) <= ever.value <= int(scene.stamps_ns[-1])
    also = f"I {query.superlative.value if query.superlative else ''} saw it at {clock(ever.value)}."
    return dataclasses.replace(then, value=yes, thing="", also=also)


_AFTER = re.compile(r"^how (?:long|much (?:time|later)|many \w+) after\b")


def time_between(query: Query, finder: Finder, scene: Scene, asker_m: Vec3 | None, min_confidence: float) -> Draft:
    """How long after the first sighting of one part the other was seen first."""
    firsts: list[int] = []
    sures: list[float] = []
    for phrase in query.parts:
        asked = dataclasses.replace(query, kind=AnswerKind.TIME, target=phrase, whole=phrase, order="", parts=())
        found = finder.find(asked, scene, asker_m)
        sures.append(confidence(found.support, found.needed))
        if sures[-1] < min_confidence or not len(found.peaks.frames):
            return Draft(query.kind, None, absence(sures[-1], len(scene)), thing=phrase)
        firsts.append(runs_of(found.evidence.raw)[0][0])
    stamps_ns = [int(scene.stamps_ns[frame]) for frame in firsts]
    told = ", ".join(f"{phrase} at {clock(stamp_ns)}" for phrase, stamp_ns in zip(query.parts, stamps_ns, strict=True))
    seconds = abs(stamps_ns[1] - stamps_ns[0]) / NS_PER_S
    frames = ((firsts[1], 1.0), (firsts[0], 0.9))
    if stamps_ns[1] < stamps_ns[0] and _AFTER.search(query.text.lower()):
        reason = f"I saw {query.parts[1]} first, and not after {query.parts[0]}: {told}"
        return Draft(query.kind, None, 0.0, frames, reason=reason)
    return Draft(query.kind, seconds, min(sures), frames, events=tuple(firsts), also=f"I first saw {told}.")


def seen_in_order(query: Query, finder: Finder, scene: Scene, asker_m: Vec3 | None, min_confidence: float) -> Draft:
    """Whether the target was seen before ``query.than``, or came into view after it.

    Before: the first sighting began earlier. After: a sighting began later than the first one of the other thing.
    """
    runs: list[list[tuple[int, int]]] = []
    sures: list[float] = []
    for phrase in (query.target, query.than):
        asked = dataclasses.replace(query, target=phrase, whole=phrase, order="", than="", relation=None)
        found = finder.find(asked, scene, asker_m)
        sure = confidence(found.support, found.needed)
        if sure < min_confidence or not len(found.peaks.frames):
            known = False if phrase == query.target else None
            return Draft(query.kind, known, absence(sure, len(scene)), thing=phrase)
        runs.append(runs_of(found.evidence.raw) or [(int(found.peaks.frames[0]),) * 2])
        sures.append(sure)
    first, other = runs[0][0][0], runs[1][0][0]
    frames = ((first, 1.0), (other, 0.9))
    if first == other and (query.order == "before" or len(runs[0]) == 1):
        return Draft(query.kind, None, 0.0, frames, reason=f"I saw {query.target} and {query.than} at the same time")
    if query.order == "before":
        yes = first < other
    else:
        later = [start for start, _ in runs[0] if start > other]
        yes = bool(later)
        frames = ((later[0], 1.0), (other, 0.9)) if later else frames
    told = ", ".join(
        f"{phrase} at {clock(int(scene.stamps_ns[frame]))}"
        for phrase, frame in ((query.target, frames[0][0]), (query.than, other))
    )
    events = tuple(frame for frame, _ in frames)
    return Draft(query.kind, yes, min(sures), frames, events=events, also=f"I saw {told}.")
