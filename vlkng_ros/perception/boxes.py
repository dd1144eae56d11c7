"""Boxes as models give them, made fit to remember: clipped, proper, each thing once."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from vlkng_ros.types import BoxPx, Detection, Float64Array

MIN_SIDE_PX = 2.0
"""Narrower boxes cannot be looked at again and give no bearing."""
SAME_LABEL_IOU = 0.6
"""Two boxes of one label that overlap more are one thing (the threshold SSD detectors are trained to be cut at)."""
ANY_LABEL_IOU = 0.85
"""Two boxes that coincide like this are one thing, whatever they are called (a cup that is also a bowl)."""


def iou_matrix(boxes_a: Float64Array, boxes_b: Float64Array) -> Float64Array:
    """Intersection over union of every pair; ``(n, 4)`` and ``(m, 4)`` boxes give ``(n, m)``."""
    top_left = np.maximum(boxes_a[:, None, :2], boxes_b[None, :, :2])
    bottom_right = np.minimum(boxes_a[:, None, 2:], boxes_b[None, :, 2:])
    overlap = np.prod(np.clip(bottom_right - top_left, 0.0, None), axis=2)
    area_a = np.prod(boxes_a[:, 2:] - boxes_a[:, :2], axis=1)
    area_b = np.prod(boxes_b[:, 2:] - boxes_b[:, :2], axis=1)
    union = area_a[:, None] + area_b[None, :] - overlap
    result: Float64Array = np.divide(overlap, union, out=np.zeros_like(overlap), where=union > 0)
    return result


def clip_box(box: Sequence[float], width_px: int, height_px: int) -> BoxPx | None:
    """The part of a box that lies within the image, its corners in order; None where too little is left."""
    if len(box) != 4 or not all(math.isfinite(c) for c in box):
        return None
    x1, x2 = sorted((min(max(box[0], 0.0), width_px), min(max(box[2], 0.0), width_px)))
    y1, y2 = sorted((min(max(box[1], 0.0), height_px), min(max(box[3], 0.0), height_px)))
    if x2 - x1 < MIN_SIDE_PX or y2 - y1 < MIN_SIDE_PX:
        return None
    return float(x1), float(y1), float(x2), float(y2)


def tidy(detections: Sequence[Detection], size_px: tuple[int, int], counters: Counter[str]) -> tuple[Detection, ...]:
    """Detections fit to be remembered, best first where they have scores, else in the order given.

    Boxes are clipped to the image of ``size_px`` ``(width, height)``; degenerate ones are dropped and duplicates
    merged into the better one, which keeps its label and takes over what it lacks. Detections without a box pass.
    ``counters`` grows by ``degenerate_boxes`` and ``duplicate_boxes``.
    """
    ranked = sorted(detections, key=lambda d: -d.score if d.score is not None else 0.0)
    kept: list[Detection] = []
    for detection in ranked:
        if detection.box_px is None:
            kept.append(detection)
            continue
        box = clip_box(detection.box_px, *size_px)
        if box is None:
            counters["degenerate_boxes"] += 1
            continue
        clipped = dataclasses.replace(detection, box_px=box)
        twin = _twin(clipped, kept)
        if twin is None:
            kept.append(clipped)
        else:
            counters["duplicate_boxes"] += 1
            kept[twin] = merged(kept[twin], clipped)
    return tuple(kept)


def merged(better: Detection, other: Detection) -> Detection:
    """One detection of a thing reported twice."""
    return dataclasses.replace(
        better,
        region_text=better.region_text or other.region_text,
        attributes={**other.attributes, **better.attributes},
        score=better.score if better.score is not None else other.score,
    )


def _twin(detection: Detection, kept: Sequence[Detection]) -> int | None:
    """Index of the kept detection that is the same thing."""
    boxed = [i for i, other in enumerate(kept) if other.box_px is not None]
    if not boxed or detection.box_px is None:
        return None
    overlaps = iou_matrix(np.array([detection.box_px]), np.array([kept[i].box_px for i in boxed]))[0]
    for i, overlap in sorted(zip(boxed, overlaps.tolist(), strict=True), key=lambda pair: -pair[1]):
        same_label = kept[i].label.casefold() == detection.label.casefold()
        if overlap > (SAME_LABEL_IOU if same_label else ANY_LABEL_IOU):
            return i
    return None
