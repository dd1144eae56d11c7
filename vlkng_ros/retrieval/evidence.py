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
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.matching import Fit

MAX_MENTIONS = 8_192
"""Mentions followed for one question: what bounds its cost in a memory that said "building" a million times."""
CLEAR = 0.3
"""Share of the best text's score from which a text speaks clearly."""
TEXTS_A_FRAME = 4
NEXT_TEXT = 0.3
"""Each further text of a frame counts this much of the one before."""
ALIKE = 0.6
"""Share of a frame's best score from which a text is another instance of what is looked for."""
SHARES = NEXT_TEXT ** np.arange(TEXTS_A_FRAME)
_RANK = 0xFFFFFFFF
NEIGHBOUR = 0.5


@dataclass(frozen=True)
class FrameEvidence:
    """What the frames of a cut say of something."""

    raw: FrameScores
    """What each frame itself says."""
    total: FrameScores
    """With a share of what its neighbours say."""
    instances: FrameScores
    """How often each mentions texts that fit nearly as well as its best, with repeats."""


def frame_evidence(index: TextIndex, cut: Cut, fit: Fit, *, whole: bool = False) -> FrameEvidence:
    """Evidence of the cut's frames for what ``fit`` is about.

    Args:
        index: the memory's texts.
        cut: the window.
        fit: texts, best first.
        whole: follow every mention, however many they may be, of the texts that speak for it clearly.
    """
    slots = fit.slots
    limit: int | None = MAX_MENTIONS
    if whole and cut.mention_last - cut.mention_first > MAX_MENTIONS:
        slots, limit = slots[fit.scores >= CLEAR * fit.scores[:1]], None
    frames, ranks = index.mentions_of(slots, cut, limit)
    if not len(frames):
        return FrameEvidence(FrameScores.none(), FrameScores.none(), FrameScores.none())
    # By frame, and of each frame the best text first.
    mentions = np.sort(((frames.astype(np.int64) - cut.first) << 32) | ranks)
    frames, ranks = mentions >> 32, mentions & _RANK
    begins = np.concatenate([[True], frames[1:] != frames[:-1]])
    starts = np.flatnonzero(begins)
    frame_of = np.cumsum(begins) - 1
    scores = fit.scores[ranks].astype(np.float64)
    alike = np.bincount(frame_of[scores >= ALIKE * scores[starts][frame_of]], minlength=len(starts))
    # A text said twice of one frame speaks once.
    kept = np.flatnonzero(np.concatenate([[True], mentions[1:] != mentions[:-1]]))
    frame_of, scores = frame_of[kept], scores[kept]
    place = np.arange(len(kept)) - np.flatnonzero(begins[kept])[frame_of]
    spoken = np.flatnonzero(place < TEXTS_A_FRAME)
    said = np.bincount(frame_of[spoken], scores[spoken] * SHARES[place[spoken]], minlength=len(starts))
    shown = frames[starts].astype(np.intp)
    raw = FrameScores(shown, np.asarray(said, dtype=np.float64))
    total = with_neighbours(raw, index.follows[cut.first : cut.last])
    return FrameEvidence(raw, total, FrameScores(shown, alike.astype(np.float64)))


def with_neighbours(raw: FrameScores, follows: NDArray[np.bool_], share: float = NEIGHBOUR) -> FrameScores:
    """A frame's evidence with a share of that of the frames before and after it; same scale as ``raw``.

    Args:
        raw: what each frame says.
        follows: whether each frame of the scene was taken soon after the one before, shape ``(frames,)``.
        share: what a neighbour counts.
    """
    if len(follows) < 2 or not len(raw):
        return raw
    frames, said = raw.frames, raw.scores
    # What each gives to the frame before it and to the one after: nothing over a pause.
    before, after = (np.where(follows.take(frames + step, mode="clip"), share * said, 0.0) for step in (0, 1))
    apart = np.diff(frames)
    itself = said.copy()
    itself[1:] += np.where(apart == 1, after[:-1], 0.0)
    itself[:-1] += np.where(apart == 1, before[1:], 0.0)
    after[:-1] += np.where(apart == 2, before[1:], 0.0)
    # The frames before and after one that are not shown themselves, and are not those after the one before it.
    new = np.ones((len(frames), 3), dtype=np.bool_)
    new[1:, 0], new[:-1, 2] = apart > 2, apart > 1
    new[0, 0], new[-1, 2] = frames[0] > 0, frames[-1] < len(follows) - 1
    total = np.stack([before, itself, after], axis=1)
    new &= total > 0
    return FrameScores((frames[:, None] + (-1, 0, 1))[new], total[new] / (1 + 2 * share))
