"""Whether two things were seen together: in one picture, and where their places are known also near each other."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from vlkng_ros.answering.confidence import absence
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.relating import NEXT_TO_M, Relating
from vlkng_ros.answering.sightings import STAY_SHARE
from vlkng_ros.answering.things import Thing
from vlkng_ros.retrieval.comparing import Together
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.query import Query
from vlkng_ros.types import NS_PER_S, AnswerKind

FRAMES = 10


def of_together(query: Query, relating: Relating) -> Draft:
    """When, where or whether all parts of a query were seen at once.

    A picture that shows them all tells; so do places of their own next to each other, and places far apart tell that
    one picture does not make them stand together.
    """
    things = [relating.thing(query, part) for part in query.parts]
    missed = [thing for thing in things if not thing.seen]
    if missed:
        value = False if query.kind is AnswerKind.BINARY else 0 if query.kind is AnswerKind.COUNT else None
        named = " or ".join(thing.phrase for thing in missed)
        sure = max(absence(thing.sure, len(relating.scene)) for thing in missed)
        return Draft(query.kind, value, sure, thing=named)
    named = " and ".join(query.parts)
    sure = min(thing.sure for thing in things)
    apart = _apart_m(things, relating)
    told = "" if apart is None else f"They are {apart:.1f} m apart."
    clear = [_clear(thing) for thing in things]
    shared = functools.reduce(FrameScores.times, clear)
    runs = _runs(shared.frames.tolist())
    frames = tuple((frame, shared.of(frame)) for frame in shared.best(FRAMES))
    if query.kind is AnswerKind.COUNT:
        return Draft(query.kind, len(runs), sure, frames, thing=f"{named} in one picture", also=told)
    if not frames and apart is not None and apart <= NEXT_TO_M:
        frames = _in_turn(clear, relating)
        told = f"{told} No picture shows both."
    if query.kind is AnswerKind.BINARY:
        far = apart is not None and apart > (NEXT_TO_M if query.together is Together.PLACE else relating.reach_m)
        if not frames and not told.endswith("both."):
            told = f"No picture shows both. {told}".strip()
        if query.together is Together.PLACE and (far or (apart is None and not frames)):
            reason = f"I do not know whether {named} are in one room. {told}".rstrip(". ")
            return Draft(query.kind, None, 0.0, frames, reason=reason)
        if far and frames:
            told = f"One picture shows both. {told}"
        yes = bool(frames) and not far
        thing = "" if yes else f"{named} together"
        drawn = frames or ((things[0].frames[0][0], 1.0),)
        return Draft(query.kind, yes, sure, drawn, thing=thing, events=() if yes else (drawn[0][0],), also=told)
    if not frames:
        reason = f"I saw {named}, and never both in one picture. {told}".strip(". ")
        return Draft(query.kind, None, 0.0, tuple(thing.frames[0] for thing in things), reason=reason)
    chosen = min(frames)[0] if query.ordinal == 1 else max(frames)[0] if query.ordinal == -1 else frames[0][0]
    frames = ((chosen, 1.0), *(entry for entry in frames if entry[0] != chosen))
    value = chosen if query.kind is AnswerKind.POSITION else int(relating.scene.stamps_ns[chosen])
    if query.kind is AnswerKind.DURATION:
        return Draft(query.kind, _longest_s(runs, relating), sure, frames, also=told)
    return Draft(query.kind, value, sure, frames, thing=named, events=(chosen,), also=told)


def _clear(thing: Thing) -> FrameScores:
    """The frames that show a thing clearly, with their share of its best evidence."""
    raw = thing.found.evidence.raw
    share = raw.weighted(1 / (raw.highest or 1.0))
    kept = share.scores >= STAY_SHARE
    return FrameScores(share.frames[kept], share.scores[kept])


def _apart_m(things: list[Thing], relating: Relating) -> float | None:
    """The farthest that two neighbours of a list stand apart; None where a place is not known."""
    pairs = [relating.closest(one, other) for one, other in itertools.pairwise(things)]
    known = [pair[0] for pair in pairs if pair is not None]
    return max(known) if len(known) == len(pairs) else None


def _in_turn(clear: list[FrameScores], relating: Relating) -> tuple[tuple[int, float], ...]:
    """The frames that show one right before or after the other."""
    one, other = (scores.frames for scores in clear[:2])
    stamps_ns = relating.scene.stamps_ns
    gaps = np.abs(stamps_ns[one][:, None] - stamps_ns[other][None])
    row, column = np.unravel_index(int(gaps.argmin()), gaps.shape)
    return ((int(one[row]), 1.0), (int(other[column]), 0.9))


def _runs(frames: list[int]) -> list[tuple[int, int]]:
    """First and last of frames that follow each other."""
    runs: list[tuple[int, int]] = []
    for frame in frames:
        if runs and frame == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], frame)
        else:
            runs.append((frame, frame))
    return runs


def _longest_s(runs: list[tuple[int, int]], relating: Relating) -> float:
    stamps_ns = relating.scene.stamps_ns
    return max(float(stamps_ns[last] - stamps_ns[first]) / NS_PER_S for first, last in runs)
