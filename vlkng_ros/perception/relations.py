"""Spatial relations between the things of one frame, for models that give none.

From boxes they are what a viewer of the picture would say: "left of" is left in the image. Where both things have been
measured, their places decide whether they are neighbours at all, and whether one is on the other. Only neighbours are
related, so that a cluttered frame does not become a list of all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vlkng_ros.types import BoxPx, Detection, RelationMention, Vec3

MAX_PER_THING = 2
"""Relations in which a thing is the subject."""
NEAR_GAP = 0.5
"""Neighbours: the gap between the boxes is below this share of the larger one's side in that direction."""
INSIDE_SHARE = 0.9
"""A box is inside another that covers this share of it ..."""
INSIDE_AREA = 0.5
"""... and is at least twice as large."""
ON_OVERLAP = 0.25
"""A thing on another ends at its top or reaches into it by at most this share of the lower one's height."""
BESIDE_OVERLAP = 0.3
"""Two things are beside (or above) each other where their extents across share this much of the smaller one."""
NEAR_M = 1.0
"""Measured things further apart than this are no neighbours, whatever the picture looks like."""
TOUCHING_M = 0.3
"""Closer than this they are next to each other: depth and boxes are good to about as much."""
ON_M = 0.1
"""A thing on another begins in its upper half, or at most this far above it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a detection is on the map, as measured: its centre, and how far it extends across and up."""

    at_m: Vec3
    half_width_m: float
    bottom_m: float
    top_m: float


def relations_of(detections: Sequence[Detection]) -> tuple[RelationMention, ...]:
    """Relations between detections that have boxes, nearest neighbours first; each pair is related once at most."""
    boxed = [(i, d.box_px) for i, d in enumerate(detections) if d.box_px is not None]
    found: list[tuple[float, RelationMention]] = []
    for position, (i, box_i) in enumerate(boxed):
        for j, box_j in boxed[position + 1 :]:
            related = _relate(box_i, box_j)
            if related is not None:
                predicate, subject_first, gap = related
                subject, target = (i, j) if subject_first else (j, i)
                found.append((gap, RelationMention(subject, predicate, target)))
    return _nearest(found)


def corrected_by_places(
    said: Sequence[RelationMention], detections: Sequence[Detection], places: Sequence[Place | None]
) -> tuple[RelationMention, ...]:
    """Relations of a frame, with those that :func:`relations_of` took from the boxes of measured things put right.

    Args:
        said: all relations of the frame; what the model itself said is kept.
        detections: those of the frame.
        places: of each detection, or None where it is not measured.
    """
    from_boxes = {relation: None for relation in relations_of(detections)}
    seen = {frozenset((r.subject, r.object)): r for r in from_boxes}
    measured = [(i, place) for i, place in enumerate(places) if place is not None]
    kept = [r for r in said if r not in from_boxes or places[r.subject] is None or places[r.object] is None]
    related = {frozenset((r.subject, r.object)) for r in kept}
    found: list[tuple[float, RelationMention]] = []
    for position, (i, one) in enumerate(measured):
        for j, other in measured[position + 1 :]:
            apart_m = _apart_m(one, other)
            pair = frozenset((i, j))
            if apart_m <= NEAR_M and pair not in related:
                found.append((apart_m, _relation_in_space(i, one, j, other, apart_m, seen.get(pair))))
    return (*kept, *_nearest(found))


def _relation_in_space(
    i: int, one: Place, j: int, other: Place, apart_m: float, seen: RelationMention | None
) -> RelationMention:
    if _lies_on(one, other):
        return RelationMention(i, "on", j)
    if _lies_on(other, one):
        return RelationMention(j, "on", i)
    if seen is not None and seen.predicate in ("left of", "above"):
        return seen
    if seen is not None and seen.predicate == "inside" and apart_m <= TOUCHING_M:
        return seen
    return RelationMention(i, "next to" if apart_m <= TOUCHING_M else "near", j)


def _lies_on(upper: Place, lower: Place) -> bool:
    across_m = math.dist(upper.at_m[:2], lower.at_m[:2])
    return (
        upper.half_width_m <= lower.half_width_m
        and across_m <= lower.half_width_m + ON_M
        and (lower.bottom_m + lower.top_m) / 2 <= upper.bottom_m <= lower.top_m + ON_M
    )


def _apart_m(one: Place, other: Place) -> float:
    """The gap between two things: round ones, as high as they are."""
    across_m = math.dist(one.at_m[:2], other.at_m[:2]) - one.half_width_m - other.half_width_m
    up_m = max(one.bottom_m, other.bottom_m) - min(one.top_m, other.top_m)
    return math.hypot(max(0.0, across_m), max(0.0, up_m))


def _nearest(found: Iterable[tuple[float, RelationMention]]) -> tuple[RelationMention, ...]:
    """Of relations and the gaps they bridge, those of each subject to its nearest neighbours."""
    counts: dict[int, int] = {}
    kept: list[RelationMention] = []
    for _, relation in sorted(found, key=lambda item: item[0]):
        if counts.get(relation.subject, 0) < MAX_PER_THING:
            counts[relation.subject] = counts.get(relation.subject, 0) + 1
            kept.append(relation)
    return tuple(kept)


def _relate(a: BoxPx, b: BoxPx) -> tuple[str, bool, float] | None:
    """Predicate, whether ``a`` is its subject, and the gap between the boxes; None for things apart."""
    for inner, outer, first in ((a, b, True), (b, a, False)):
        if _overlap(inner, outer) >= INSIDE_SHARE * _area(inner) and _area(inner) <= INSIDE_AREA * _area(outer):
            return "inside", first, 0.0
    width, height = min(a[2] - a[0], b[2] - b[0]), min(a[3] - a[1], b[3] - b[1])
    shared_x = min(a[2], b[2]) - max(a[0], b[0])
    shared_y = min(a[3], b[3]) - max(a[1], b[1])
    if shared_x >= BESIDE_OVERLAP * width:
        upper, lower, first = (a, b, True) if a[1] + a[3] < b[1] + b[3] else (b, a, False)
        gap = lower[1] - upper[3]
        reach = ON_OVERLAP * (lower[3] - lower[1])
        if -reach <= gap <= 0.05 * (upper[3] - upper[1]) and upper[2] - upper[0] <= lower[2] - lower[0]:
            return "on", first, abs(gap)
        if 0 < gap <= NEAR_GAP * max(a[3] - a[1], b[3] - b[1]):
            return "above", first, gap
    if shared_y >= BESIDE_OVERLAP * height and shared_x < BESIDE_OVERLAP * width:
        left, right, first = (a, b, True) if a[0] + a[2] < b[0] + b[2] else (b, a, False)
        gap = max(0.0, right[0] - left[2])
        larger = max(a[2] - a[0], b[2] - b[0])
        if gap <= NEAR_GAP * larger:
            # Touching or nearly so: which side it is on says less than that they belong together.
            touching = gap <= 0.1 * larger
            return ("next to", True, gap) if touching else ("left of", first, gap)
    return None


def _area(box: BoxPx) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _overlap(a: BoxPx, b: BoxPx) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0
