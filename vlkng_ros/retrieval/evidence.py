"""From texts that fit to keyframes that show: what a frame says adds up, and so does what its neighbours say.

A model that looks at two frames a second apart often names a thing in one and misses it in the other, and invents
things in single frames. So a frame's evidence is the best of its texts, a share of the next ones, and half of what
the frames before and after it say, where they are near in time and place.
"""

from __future__ import annotations

from dataclasses import dataclass

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
NEIGHBOUR = 0.5
NEIGHBOUR_GAP_NS = 10_000_000_000
"""Frames further apart than 10 s are no neighbours."""


@dataclass(frozen=True, slots=True)
class FrameEvidence:
    """Evidence of the cut's frames.

    ``raw`` and ``total`` have shape ``(cut.frames,)``: what a frame itself says, and with its neighbours.
    ``best_slot`` is the text that speaks most for a frame, -1 where none does. ``instances`` counts how often the
    frame mentions texts that fit nearly as well as its best, with repeats.
    """

    raw: Float64Array
    total: Float64Array
    best_slot: NDArray[np.intp]
    instances: NDArray[np.intp]


def frame_evidence(index: TextIndex, cut: Cut, fit: Fit) -> FrameEvidence:
    """Evidence of every frame of the cut for what ``fit`` is about."""
    count = cut.frames
    best = np.full(count, -1, dtype=np.intp)
    if not count or not len(fit.slots):
        nothing = np.zeros(count)
        return FrameEvidence(nothing, nothing.copy(), best, np.zeros(count, dtype=np.intp))
    frames, ranks = index.mentions_of(fit.slots, cut, MAX_MENTIONS)
    frames = frames - cut.first
    key = frames * len(fit.slots) + ranks
    key.sort(kind="stable")
    new = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else key
    repeats = np.diff(np.append(new, len(key)))  # a text said twice of one frame speaks once
    key = key[new]
    frames, ranks = np.divmod(key, len(fit.slots))
    starts = (
        np.flatnonzero(np.concatenate([[True], frames[1:] != frames[:-1]])) if len(frames) else np.zeros(0, dtype=int)
    )
    place = np.arange(len(frames)) - np.repeat(starts, np.diff(np.append(starts, len(frames))))
    scores = fit.scores[ranks].astype(np.float64)
    kept = place < TEXTS_A_FRAME
    raw: Float64Array = np.bincount(frames[kept], weights=(scores * NEXT_TEXT**place)[kept], minlength=count).astype(
        np.float64
    )
    best[frames[starts]] = fit.slots[ranks[starts]]
    top = np.zeros(count)
    top[frames[starts]] = scores[starts]
    alike = scores >= 0.6 * top[frames]
    instances = np.bincount(frames[alike], weights=repeats[alike], minlength=count).astype(np.intp)
    return FrameEvidence(raw, with_neighbours(raw, index.stamps_ns[cut.first : cut.last]), best, instances)


def with_neighbours(raw: Float64Array, stamps_ns: NDArray[np.int64], share: float = NEIGHBOUR) -> Float64Array:
    """A frame's evidence with a share of that of the frames before and after it; same scale as ``raw``."""
    if len(raw) < 2:
        return np.array(raw, dtype=np.float64)
    linked = np.diff(stamps_ns) <= NEIGHBOUR_GAP_NS
    total = raw.copy()
    total[1:] += share * raw[:-1] * linked
    total[:-1] += share * raw[1:] * linked
    return np.asarray(total / (1 + 2 * share), dtype=np.float64)
