"""Spatial relations between the boxes of one frame, for models that give none.

They are what a viewer of the picture would say: "left of" is left in the image. Only neighbours are related, so that
a cluttered frame does not become a list of all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlkng_ros.types import BoxPx, Detection, RelationMention

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
    found.sort(key=lambda item: item[0])
    counts: dict[int, int] = {}
    kept: list[RelationMention] = []
    for _, relation in found:
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
