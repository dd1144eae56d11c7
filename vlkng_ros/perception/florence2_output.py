"""What Florence-2 generates, parsed: text in, captions and regions out. No model, no torch.

Boxes are four location tokens ``<loc_0>`` to ``<loc_999>``, x1 y1 x2 y2 in thousandths of the image (Xiao et al.
2024, section 3); a label is followed by the boxes of all its instances. A generation that reached its token limit
ends anywhere, also in the middle of a box.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vlkng_ros.perception.boxes import clip_box, iou_matrix
from vlkng_ros.perception.labels import clean_label, kind_of
from vlkng_ros.types import BoxPx, Detection

BINS = 1000
REGION_IOU = 0.5
"""A described region and a detected object that overlap more are one thing."""

_LOCATIONS = re.compile(r"((?:<loc_\d+>)+)")
_LOCATION = re.compile(r"<loc_(\d+)>")
_SPECIAL = re.compile(r"</?[a-z][a-z_]*>")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Region:
    """A labelled box, in pixels."""

    text: str
    box_px: BoxPx


def parse_caption(generated: str, cut_off: bool = False) -> str:
    """The caption's text; of one that the token limit cut off, the whole sentences where there are any."""
    text = " ".join(_SPECIAL.sub(" ", _LOCATIONS.sub(" ", generated)).split())
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if cut_off and ends else text


def parse_regions(generated: str, size_px: tuple[int, int], counters: Counter[str]) -> list[Region]:
    """The labelled boxes of an answer to ``<OD>``, ``<DENSE_REGION_CAPTION>`` or phrase grounding.

    Boxes are in pixels of an image of ``size_px`` ``(width, height)`` and lie within it. What is malformed is left
    out and counted: ``incomplete_boxes``, ``degenerate_boxes``, ``unlabelled_boxes``.
    """
    width, height = size_px
    regions: list[Region] = []
    parts = _LOCATIONS.split(generated)
    for text, locations in zip(parts[0::2], parts[1::2], strict=False):
        label = clean_label(_SPECIAL.sub(" ", text))
        bins = [int(number) for number in _LOCATION.findall(locations)]
        if len(bins) % 4:
            counters["incomplete_boxes"] += 1
        for x1, y1, x2, y2 in zip(bins[0::4], bins[1::4], bins[2::4], bins[3::4], strict=False):
            if not label:
                counters["unlabelled_boxes"] += 1
                continue
            corners = ((x1 + 0.5) * width, (y1 + 0.5) * height, (x2 + 0.5) * width, (y2 + 0.5) * height)
            box = clip_box([corner / BINS for corner in corners], width, height)
            if box is None:
                counters["degenerate_boxes"] += 1
            else:
                regions.append(Region(label, box))
    return _unique(regions)


def merge_regions(objects: Sequence[Region], described: Sequence[Region]) -> list[Detection]:
    """Detected objects, each with the text of the described region that overlaps it best; then the regions left over.

    A region that is no detected object is a detection of its own, with its description as its label.
    """
    detections = [Detection(region.text, region.box_px, kind=kind_of(region.text)) for region in objects]
    left_over = list(described)
    if objects and described:
        overlaps = iou_matrix(
            np.array([region.box_px for region in objects]), np.array([region.box_px for region in described])
        )
        taken: set[int] = set()
        for flat in np.argsort(-overlaps, axis=None, kind="stable").tolist():
            i, j = divmod(flat, len(described))
            if overlaps[i, j] < REGION_IOU:
                break
            if not detections[i].region_text and j not in taken:
                taken.add(j)
                detections[i] = replace(detections[i], region_text=described[j].text)
        left_over = [region for j, region in enumerate(described) if j not in taken]
    return detections + [
        Detection(region.text, region.box_px, region_text=region.text, kind=kind_of(region.text))
        for region in left_over
    ]


def _unique(regions: Sequence[Region]) -> list[Region]:
    """Without repetitions: greedy decoding can say the same thing until its token limit."""
    return list(dict.fromkeys(regions))
