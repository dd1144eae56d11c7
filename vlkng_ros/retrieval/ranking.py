"""Which places answer: peaks of evidence, one for each place, in the order that the question asks for.

Ten frames of one bench are one answer. Peaks are therefore taken best first, and what lies close to one belongs to
it. "Nearest", "first" and "last" choose among those that are well supported against the best,
since a single stray word is somewhere nearer than everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.grammar import Superlative
from vlkng_ros.types import Float64Array, FloatArray, Vec3

PEAKS = 20
SAME_PLACE_M = 12.0
"""Of a drive that looks around every ``PACE_M``; one that looks more often is in narrower places (``scale_of``)."""
PACE_M = 1.9
LEAST_SCALE = 0.15
PACED_FRAMES = 1024
CANDIDATES = (256, 2048)
"""Frames considered: the second where those of the first are too few places. Evidence beyond is never near the best."""
BLOCK = 128
"""Candidates compared at once with the places that are taken: the best few hundred mostly fill the list."""
SUPPORTED = 0.75
"""Share of the best peak's evidence that makes a place "well supported"."""
RELATION_REACH_M = 20.0
LANDMARKS = 32
FRAMES_AT_ONCE = 2048
"""Distances to all landmarks that stay in the processor's cache."""
RELATION_FLOOR = 0.2
"""What is left of a frame's evidence where nothing speaks for the relation: captions leave much unsaid."""


SETTLED = 10
"""Peaks whose sightings are looked at: more are never answers."""
SIGHTING_SHARE = 0.45
"""Frames near a peak with this share of its evidence belong to one sighting."""
SIGHTING_GAP = 3
"""Frames with less that do not end it."""
LOOK = 32
"""Frames before and after a peak that may be of its sighting."""
SIGHTING_M = 18.0
"""And how far from the peak it reaches."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """Frames of the cut, best first: ``frames`` index the cut, ``scores`` their evidence."""

    frames: NDArray[np.intp]
    scores: Float64Array


def scale_of(positions_m: FloatArray) -> float:
    """What distances of this module are multiplied by: the way between two frames against ``PACE_M``, at most 1.

    A robot keeps a frame every two metres of a street and every half of one between shelves.
    """
    track = positions_m[-PACED_FRAMES:, :2].astype(np.float64)
    steps = np.hypot(*np.diff(track, axis=0).T) if len(track) > 1 else np.zeros(0)
    moved = np.sort(steps[steps > 0.1])
    if not len(moved):
        return 1.0
    median = (moved[(len(moved) - 1) // 2] + moved[len(moved) // 2]) / 2
    return float(min(max(median / PACE_M, LEAST_SCALE), 1.0))


def peaks_of(
    evidence: FrameScores,
    positions_m: FloatArray,
    limit: int = PEAKS,
    scale: float = 1.0,
    superlative: Superlative | None = None,
    asker_m: Vec3 | None = None,
) -> Peaks:
    """Peaks of evidence, at most one for each place.

    Of more places than ``limit`` that are all well supported, those with the best evidence or, where the first, the
    last, the nearest or the farthest is asked for, those that are so.

    Args:
        evidence: of the scene's frames.
        positions_m: where the robot was, shape ``(n, 3)``.
        limit: number of peaks at most.
        scale: that of the drive (``scale_of``).
        superlative: what is asked for.
        asker_m: where who asks is.
    """
    apart = (scale * SAME_PLACE_M) ** 2
    for count in CANDIDATES:
        order = evidence.ranked(count, 2 * count)
        taken = _apart(positions_m[evidence.frames[order], :2], apart, limit)
        if len(taken) == limit or count >= len(evidence):
            break
    best = order[taken]
    floor = SUPPORTED * evidence.highest
    if len(best) == limit and evidence.scores[best[-1]] >= floor:
        clear = np.flatnonzero(evidence.scores >= floor)
        key = order_of(evidence.frames[clear], superlative, positions_m, asker_m)
        if key is not None:
            clear = clear[np.argsort(key, kind="stable")[: CANDIDATES[1]]]
            best = clear[_apart(positions_m[evidence.frames[clear], :2], apart, limit)]
    if len(best) == 1 and not np.ptp(positions_m, axis=0).any():
        best = order[:limit]  # a recording without positions has no places to tell apart
    return Peaks(evidence.frames[best], evidence.scores[best])


def _apart(places_m: FloatArray, apart: float, limit: int) -> NDArray[np.intp]:
    """Which of some places, taken in order, are far from all that were taken before; ``apart`` is squared, in m^2."""
    taken: list[int] = []
    for start in range(0, len(places_m), BLOCK):
        x, y = places_m[start : start + BLOCK].T.copy()
        other_x, other_y = places_m[taken].T[..., None]
        free = ((x - other_x) ** 2 + (y - other_y) ** 2 >= apart).all(axis=0)
        while len(taken) < limit and free[at := int(free.argmax())]:
            taken.append(start + at)
            free &= (x - x[at]) ** 2 + (y - y[at]) ** 2 >= apart
            free[at] = False
        if len(taken) == limit:
            break
    return np.array(taken, dtype=np.intp)


def with_relation(
    evidence: FrameScores, other: FrameScores, positions_m: FloatArray, scale: float = 1.0
) -> FrameScores:
    """Evidence for a thing, weighted by how near something speaks for the thing it is related to.

    Args:
        evidence: for the thing.
        other: for the other thing.
        positions_m: of the scene's frames, shape ``(n, 3)``.
        scale: that of the drive (``scale_of``).
    """
    best = other.highest
    if best <= 0 or not len(evidence):
        return evidence
    order = other.ranked(LANDMARKS, LANDMARKS)
    order = order[other.scores[order] > 0.5 * best]
    # -d^2 / (2 r^2) of frames and landmarks, multiplied out so that a product gives all of a block: what has to do with
    # the frame alone is added to the largest. From the first landmark on, so that no digits are lost.
    marks_m = positions_m[other.frames[order], :2].astype(np.float64)
    places_m = np.ones((3, len(evidence)))
    places_m[:2] = positions_m.take(evidence.frames, axis=0).T[:2] - marks_m[0][:, None]
    marks_m -= marks_m[0]
    decay = -1 / (2 * (scale * RELATION_REACH_M) ** 2)
    ends = decay * (marks_m * marks_m).sum(axis=1) + np.log(other.scores[order] / best)
    factors = np.column_stack([-2 * decay * marks_m, ends])
    blocks = (places_m[:, start : start + FRAMES_AT_ONCE] for start in range(0, len(evidence), FRAMES_AT_ONCE))
    nearest = np.concatenate([(factors @ block).max(axis=0) for block in blocks])
    nearest += decay * (places_m[0] * places_m[0] + places_m[1] * places_m[1])
    return evidence.weighted(RELATION_FLOOR + np.exp(nearest))


def order_of(
    frames: NDArray[np.intp], superlative: Superlative | None, positions_m: FloatArray, asker_m: Vec3 | None
) -> Float64Array | NDArray[np.intp] | None:
    """By what a superlative sorts some frames, the least first; None where it does not."""
    if superlative in (Superlative.FIRST, Superlative.LAST):
        return frames if superlative is Superlative.FIRST else -frames
    if superlative is None or asker_m is None:
        return None
    apart = positions_m[frames, :2] - np.asarray(asker_m[:2])
    away: Float64Array = np.hypot(apart[:, 0], apart[:, 1]).astype(np.float64)
    return away if superlative is Superlative.NEAREST else -away


def in_order(peaks: Peaks, superlative: Superlative | None, positions_m: FloatArray, asker_m: Vec3 | None) -> Peaks:
    """Peaks in the order that a superlative asks for: the well supported first, by distance or time, then the rest."""
    if len(peaks.frames) < 2:
        return peaks
    key = order_of(peaks.frames, superlative, positions_m, asker_m)
    if key is None:
        return peaks
    supported = peaks.scores >= SUPPORTED * peaks.scores[0]
    chosen = np.flatnonzero(supported)
    order = np.concatenate([chosen[np.argsort(key[chosen], kind="stable")], np.flatnonzero(~supported)])
    return Peaks(peaks.frames[order], peaks.scores[order])


def settled(
    peaks: Peaks,
    raw: FrameScores,
    positions_m: FloatArray,
    superlative: Superlative | None = None,
    scale: float = 1.0,
) -> Peaks:
    """Each peak moved to the frame that stands for its sighting.

    A thing is named from afar, when passed, and once more; the frame in the middle of the evidence is nearer to it
    than the one with the luckiest words. "First" and "last" take the sighting's first and last frame.

    Args:
        peaks: of evidence with neighbours.
        raw: what each frame itself says.
        positions_m: shape ``(n, 3)``.
        superlative: that of the question.
        scale: that of the drive (``scale_of``).
    """
    moved = peaks.frames[:SETTLED, None]
    beside = np.arange(-LOOK, LOOK + 1)
    frames = moved + beside
    there = (frames >= 0) & (frames < len(positions_m))
    says = np.where(there, raw.of_each(frames), 0.0)
    away = positions_m[np.where(there, frames, moved), :2] - positions_m[moved, :2]
    near = there & ((away * away).sum(axis=-1) <= (scale * SIGHTING_M) ** 2)
    clearest = says[:, LOOK - 1 : LOOK + 2].max(axis=1)
    of_it = near & (says >= SIGHTING_SHARE * clearest[:, None]) & (says > 0)
    of_it[:, LOOK:] = _together(near[:, LOOK:], of_it[:, LOOK:])
    of_it[:, LOOK::-1] = _together(near[:, LOOK::-1], of_it[:, LOOK::-1])
    if superlative in (Superlative.FIRST, Superlative.LAST):
        settled = [_end(raw, positions_m, peak, frames[i, shown], SUPPORTED * clearest[i], superlative, scale)
                   for i, (peak, shown) in enumerate(zip(moved[:, 0].tolist(), of_it, strict=True))]  # fmt: skip
        return Peaks(np.array([*settled, *peaks.frames[SETTLED:]], dtype=np.intp), peaks.scores)
    weights = np.cumsum(np.where(of_it, says * says, 0.0), axis=1)
    middle = (weights >= weights[:, -1:] / 2).argmax(axis=1)
    settled_at = np.where(of_it.any(axis=1), frames[np.arange(len(frames)), middle], moved[:, 0])
    return Peaks(np.concatenate([settled_at, peaks.frames[SETTLED:]]), peaks.scores)


def _together(near: NDArray[np.bool_], shown: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which frames belong to a sighting, from a peak on in one direction: shape ``(peaks, frames)``.

    It ends where the robot is away from the peak, or the thing is not shown for too long.
    """
    at = np.arange(near.shape[1])
    reached = np.logical_and.accumulate(near, axis=1)
    shown = shown & reached
    last = np.maximum.accumulate(np.where(shown, at, 0), axis=1)
    going_on = np.ones_like(reached)
    going_on[:, 1:] = at[1:] - last[:, :-1] <= SIGHTING_GAP + 1
    return np.asarray(shown & np.logical_and.accumulate(going_on, axis=1))


def _end(
    raw: FrameScores,
    positions_m: FloatArray,
    peak: int,
    sighting: NDArray[np.intp],
    floor: float,
    superlative: Superlative,
    scale: float,
) -> int:
    """The first or last frame of a peak's sighting, or of other visits of its place that speak as clearly."""
    again = raw.at_least(floor) if len(sighting) else raw.frames[:0]
    away = positions_m[again, :2] - positions_m[peak, :2]
    again = again[(away * away).sum(axis=1) <= (scale * SIGHTING_M) ** 2]
    frames = np.concatenate([sighting, again]) if len(sighting) else np.array([peak])
    return int(frames.min() if superlative is Superlative.FIRST else frames.max())
