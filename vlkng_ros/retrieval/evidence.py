"""From texts that fit to keyframes that show: what a frame says adds up, and so does what its neighbours say.

A model that looks at two frames a second apart often names a thing in one and misses it in the other, and invents
things in single frames. So a frame's evidence is the best of its texts, a share of the next ones, and half of what
the frames before and after it say, where they are near in time and place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.retrieval.matching import Fit
from vlkng_ros.types import Float64Array

MAX_MENTIONS = 32_768
"""Mentions followed for one question: what bounds its cost in a memory that said "building" a million times."""
TEXTS_A_FRAME = 4
NEXT_TEXT = 0.3
"""Each further text of a frame counts this much of the one before."""
ALIKE = 0.6
"""Share of a frame's best score from which a text is another instance of what is looked for."""
NEIGHBOUR = 0.5
NEIGHBOUR_GAP_NS = 10_000_000_000
"""Frames further apart than 10 s are no neighbours."""


@dataclass(frozen=True)
class FrameEvidence:
    """Evidence of the cut's frames.

    ``raw`` and ``total`` have shape ``(cut.frames,)``: what a frame itself says, and with its neighbours.
    """

    raw: Float64Array
    total: Float64Array
    shown: NDArray[np.intp]
    """The frames that say anything, ascending."""
    slots: NDArray[np.intp]
    """The text that speaks most for each of them."""
    alike: NDArray[np.integer[Any]]
    """The frame of every mention of a text that fits nearly as well as the frame's best."""

    @cached_property
    def instances(self) -> NDArray[np.intp]:
        """How often each frame mentions texts that fit nearly as well as its best, with repeats."""
        return np.bincount(self.alike, minlength=len(self.raw))


def frame_evidence(index: TextIndex, cut: Cut, fit: Fit) -> FrameEvidence:
    """Evidence of every frame of the cut for what ``fit`` is about."""
    count = cut.frames
    raw = np.zeros(count)
    if not count or not len(fit.slots):
        nothing = np.zeros(0, dtype=np.intp)
        return FrameEvidence(raw, raw.copy(), nothing, nothing, nothing)
    frames, ranks = index.mentions_of(fit.slots, cut, MAX_MENTIONS)
    frames = frames - cut.first
    scores = fit.scores.astype(np.float64)
    rank = np.full(count, -1, dtype=np.int32)
    rank[frames[::-1]] = ranks[::-1]  # the last one written is the best
    shown = np.flatnonzero(rank >= 0)
    slots = fit.slots[rank[shown]]
    best = rank[frames]
    alike = frames[scores[ranks] >= ALIKE * scores[best]]
    left = frames
    for place in range(TEXTS_A_FRAME):
        if place:
            rank[left[::-1]] = ranks[::-1]
            best = rank[left]
        is_next = best == ranks
        # A text said twice of one frame speaks once: what is assigned twice is the same.
        raw[left[is_next]] += scores[ranks[is_next]] * NEXT_TEXT**place
        rest = np.flatnonzero(~is_next)
        left, ranks = left[rest], ranks[rest]
        if not len(left):
            break
    total = with_neighbours(raw, index.stamps_ns[cut.first : cut.last], shown)
    return FrameEvidence(raw, total, shown, slots, alike)


def with_neighbours(
    raw: Float64Array, stamps_ns: NDArray[np.int64], shown: NDArray[np.intp] | None = None, share: float = NEIGHBOUR
) -> Float64Array:
    """A frame's evidence with a share of that of the frames before and after it; same scale as ``raw``.

    Args:
        raw: what each frame says, shape ``(n,)``.
        stamps_ns: shape ``(n,)``.
        shown: the frames that say anything, ascending, where they are known.
        share: what a neighbour counts.
    """
    if len(raw) < 2:
        return np.array(raw, dtype=np.float64)
    shown = np.flatnonzero(raw) if shown is None else shown
    total = np.zeros(len(raw))
    total[shown] = raw[shown]
    forwards = shown[:-1] if len(shown) and shown[-1] == len(raw) - 1 else shown
    backwards = shown[1:] if len(shown) and not shown[0] else shown
    for said, step in ((forwards, 1), (backwards, -1)):
        linked = said[np.abs(stamps_ns[said + step] - stamps_ns[said]) <= NEIGHBOUR_GAP_NS]
        total[linked + step] += share * raw[linked]
    total /= 1 + 2 * share
    return total
