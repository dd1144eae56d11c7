"""Scores of keyframes, of those alone that have any: what is done with them costs the same in a memory of any age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.types import Float64Array

Frames = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FrameScores:
    """Frames of a scene, ascending and each once, with their scores; every other frame has 0.

    Both arrays have shape ``(n,)``.
    """

    frames: Frames
    scores: Float64Array

    @classmethod
    def none(cls) -> FrameScores:
        """No frame has any."""
        return cls(np.zeros(0, dtype=np.intp), np.zeros(0))

    @classmethod
    def of_all(cls, scores: Float64Array) -> FrameScores:
        """From the score of every frame of a scene, shape ``(frames,)``."""
        frames = np.flatnonzero(scores)
        return cls(frames, scores[frames].astype(np.float64))

    @classmethod
    def sum(cls, parts: Sequence[FrameScores]) -> FrameScores:
        """The sum of several."""
        frames = np.concatenate([part.frames for part in parts])
        scores = np.concatenate([part.scores for part in parts])
        # Sorting numbers that hold both is several times as fast as finding the order of one.
        both = np.sort((frames.astype(np.int64) << 32) | np.arange(len(frames)))
        frames = both >> 32
        begins = np.ones(len(frames), dtype=np.bool_)
        begins[1:] = frames[1:] != frames[:-1]
        total = np.bincount(np.cumsum(begins) - 1, scores[both & 0xFFFFFFFF])
        return cls(frames[begins].astype(np.intp), np.asarray(total, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def highest(self) -> float:
        """The best score, 0 where there is none."""
        return float(self.scores.max()) if len(self.scores) else 0.0

    def of(self, frame: int) -> float:
        """The score of one frame."""
        at = int(np.searchsorted(self.frames, frame))
        return float(self.scores[at]) if at < len(self.frames) and self.frames[at] == frame else 0.0

    def of_each(self, frames: NDArray[np.intp]) -> Float64Array:
        """The scores of some frames, in their shape."""
        if not len(self.frames):
            return np.zeros(frames.shape)
        at = np.minimum(np.searchsorted(self.frames, frames), len(self.frames) - 1)
        return np.where(self.frames[at] == frames, self.scores[at], 0.0)

    def weighted(self, factors: Float64Array | float) -> FrameScores:
        """The scores times factors, one for all or one for each."""
        return FrameScores(self.frames, self.scores * factors)

    def times(self, other: FrameScores) -> FrameScores:
        """The product of both: of the frames that have both."""
        frames, mine, others = np.intersect1d(self.frames, other.frames, assume_unique=True, return_indices=True)
        return FrameScores(frames, self.scores[mine] * other.scores[others])

    def at_least(self, floor: float) -> Frames:
        """The frames with a score so high, ascending."""
        return self.frames[self.scores >= floor]

    def between(self, first: int, last: int) -> FrameScores:
        """Those of the frames ``first`` to ``last``, both included."""
        part = slice(*np.searchsorted(self.frames, (first, last + 1)).tolist())
        return FrameScores(self.frames[part], self.scores[part])

    def best(self, count: int) -> list[int]:
        """The ``count`` frames with the highest scores above 0, best first, of two alike the earlier one before."""
        frames: list[int] = self.frames[self.ranked(count, count)].tolist()
        return frames

    def ranked(self, count: int, at_most: int) -> NDArray[np.intp]:
        """Where the ``count`` best are, best first, and those as good as the last of them, ``at_most`` in all."""
        scores = self.scores
        if len(scores) > count:
            floor = np.partition(scores, len(scores) - count)[len(scores) - count]
            found = np.flatnonzero(scores >= floor)
        else:
            found = np.arange(len(scores))
        found = found[scores[found] > 0]
        return found[np.argsort(-scores[found], kind="stable")[:at_most]]
