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
RANK_BITS = 20
"""Of a mention's sort key, for the place of its text among those that fit: there are at most ``MAX_TEXTS``."""
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
    key = ((frames - cut.first) << RANK_BITS) | ranks
    key.sort()
    new = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else key
    repeats = np.diff(np.append(new, len(key)))  # a text said twice of one frame speaks once
    key = key[new]
    frames, ranks = key >> RANK_BITS, key & ((1 << RANK_BITS) - 1)
    starts = (
        np.flatnonzero(np.concatenate([[True], frames[1:] != frames[:-1]])) if len(frames) else np.zeros(0, dtype=int)
    )
    counts = np.diff(np.append(starts, len(frames)))
    place = np.arange(len(frames)) - np.repeat(starts, counts)
    scores = fit.scores[ranks].astype(np.float64)
    kept = np.flatnonzero(place < TEXTS_A_FRAME)
    weights = scores[kept] * (NEXT_TEXT ** np.arange(TEXTS_A_FRAME))[place[kept]]
    raw: Float64Array = np.bincount(frames[kept], weights=weights, minlength=count).astype(np.float64, copy=False)
    shown = frames[starts]
    best[shown] = fit.slots[ranks[starts]]
    alike = np.flatnonzero(scores >= 0.6 * np.repeat(scores[starts], counts))
    instances = np.bincount(frames[alike], weights=repeats[alike], minlength=count).astype(np.intp)
    return FrameEvidence(raw, with_neighbours(raw, index.stamps_ns[cut.first : cut.last], shown), best, instances)


def with_neighbours(
    raw: Float64Array, stamps_ns: NDArray[np.int64], shown: NDArray[np.intp] | None = None, share: float = NEIGHBOUR
) -> Float64Array:
    """A frame's evidence with a share of that of the frames before and after it; same scale as ``raw``.

    Args:
        raw: what each frame says, shape ``(n,)``.
        stamps_ns: shape ``(n,)``.
        shown: the frames that say anything, each once, where they are known.
        share: what a neighbour counts.
    """
    if len(raw) < 2:
        return np.array(raw, dtype=np.float64)
    shown = np.flatnonzero(raw) if shown is None else shown
    total = np.zeros(len(raw))
    total[shown] = raw[shown]
    for step in (1, -1):
        said = shown[shown < len(raw) - 1] if step > 0 else shown[shown > 0]
        beside = said + step
        linked = np.abs(stamps_ns[beside] - stamps_ns[said]) <= NEIGHBOUR_GAP_NS
        total[beside[linked]] += share * raw[said[linked]]
    total /= 1 + 2 * share
    return total
