"""Inside or outside, from what captions say: the stays in a building, and where one begins and ends.

Nobody writes "the robot enters the building". But captions of a hallway speak of ceilings and of a street of sky, so
each frame leans one way, by its words and by how near its sentences are to plain descriptions of both; a run of
frames that leans clearly is a stay.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.matching import Encoded
from vlkng_ros.types import Float64Array

INDOOR = (
    "The image shows the interior of a building.",
    "an indoor hallway with a tiled floor and a high ceiling",
    "a room with walls and ceiling lights",
    "inside a lobby with doors and elevators",
    "an office, kitchen, corridor or shop interior",
)
OUTDOOR = (
    "The image shows an outdoor street.",
    "a sidewalk lined with trees",
    "The sky is overcast or blue.",
    "a parking lot with cars outside",
    "buildings in the background with trees and the sky above",
    "a park or a road at night with street lights",
)
_INDOOR_TERMS = frozenset(
    terms(
        "indoor indoors interior hallway corridor lobby room ceiling elevator floor wall carpet hall atrium kitchen"
        " office classroom escalator sofa desk bathroom"
    )
)
_OUTDOOR_TERMS = frozenset(
    terms(
        "sky outdoor outdoors street road sidewalk tree park parking sunny overcast cloud weather pavement lawn grass"
        " bush sun garden crosswalk"
    )
)
SENTENCE_GAIN = 10.0
WORD_GAIN = 0.25
CLEAR = 0.5
"""A smoothed leaning beyond this decides; between, the stay goes on."""
SHORTEST_NS = 5_000_000_000
"""Shorter stays are slips of the captions."""


@dataclass(frozen=True, slots=True)
class Stay:
    """Frames ``[first, last]`` of the cut, both included."""

    inside: bool
    first: int
    last: int


class Leaning:
    """How much each text and each frame leans to inside (positive) or outside; computed once."""

    def __init__(self, index: TextIndex, encoded: Encoded) -> None:
        self._index = index
        self._encoded = encoded
        self._words = np.zeros(0)
        self._meaning = np.zeros(0)
        self._frames = np.zeros(0)

    def of_frames(self, cut: Cut) -> Float64Array:
        """Leaning of the cut's frames, shape ``(cut.frames,)``; 0 where nothing was said."""
        total = len(self._index.keyframe_ids)
        if cut.last > len(self._frames) or len(self._frames) < total:
            self._lean_texts()
            # Of the last frame that something was said of more may be said.
            done = min(len(self._frames), max(self._index.last_mentioned, 0))
            self._frames = np.concatenate([self._frames[:done], self._lean(done, total)])
        return self._frames[cut.first : cut.last]

    def _lean(self, first: int, last: int) -> Float64Array:
        whole = self._index.cut()
        frames, slots, caption = self._index.mentions_in(self._index.narrowed(whole, first, last))
        frames, count = frames - first, last - first
        words = np.bincount(frames, weights=self._words[slots] * caption, minlength=count)
        said = np.bincount(frames, weights=caption, minlength=count)
        meaning = np.bincount(frames, weights=self._meaning[slots] * caption, minlength=count)
        return np.asarray(SENTENCE_GAIN * meaning / np.maximum(said, 1) + WORD_GAIN * words)

    def _lean_texts(self) -> None:
        known, total = len(self._words), len(self._index.texts)
        if known == total:
            return
        words = self._index.said.of(np.arange(known, total))
        leaning = np.zeros(total - known)
        for side, named in ((1, _INDOOR_TERMS), (-1, _OUTDOOR_TERMS)):
            here = self._index.said.where(words, named)
            each_once = np.unique((words.rows[here] << 32) | words.numbers[here]) >> 32
            leaning += side * np.bincount(each_once, minlength=total - known)
        meaning = np.zeros(total - known)
        prototypes = self._encoded([*INDOOR, *OUTDOOR]) if self._index.dense is not None else None
        if prototypes is not None and self._index.dense is not None:
            cosines = self._index.dense.all_rows(total)[known:] @ prototypes.T
            meaning = cosines[:, : len(INDOOR)].max(axis=1) - cosines[:, len(INDOOR) :].max(axis=1)
        self._words = np.concatenate([self._words, leaning])
        self._meaning = np.concatenate([self._meaning, meaning])


def stays(leaning: Float64Array, stamps_ns: NDArray[np.int64]) -> list[Stay]:
    """Stays inside and outside, in order of time, without gaps.

    Leanings are averaged over three frames; those beyond ``CLEAR`` decide. Between two clear frames of different
    kinds the border is where the leanings' sum speaks most for both sides; stays below ``SHORTEST_NS`` are dropped.
    """
    count = len(leaning)
    if not count:
        return []
    padded = np.concatenate([leaning[:1], leaning, leaning[-1:]])
    smooth = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    clear = np.flatnonzero(np.abs(smooth) > CLEAR)
    if not len(clear):
        return [Stay(bool(smooth.sum() > 0), 0, count - 1)]
    inside = smooth[clear] > 0
    starts = np.flatnonzero(np.concatenate([[True], inside[1:] != inside[:-1]]))
    ends = np.append(starts[1:], len(clear)) - 1
    # [inside, first clear, last clear]
    runs = [
        list(run) for run in zip(inside[starts].tolist(), clear[starts].tolist(), clear[ends].tolist(), strict=True)
    ]
    runs = _without_slips(runs, stamps_ns)
    found: list[Stay] = []
    start = 0
    for run, following in zip(runs, [*runs[1:], None], strict=True):
        if following is None:
            end = count - 1
        else:
            between = leaning[run[2] + 1 : following[1]]
            side = np.concatenate([[0.0], np.cumsum(between if run[0] else -between)])
            end = run[2] + int(np.argmax(side))
        found.append(Stay(bool(run[0]), start, end))
        start = end + 1
    return found


def _without_slips(runs: list[list[int]], stamps_ns: NDArray[np.int64]) -> list[list[int]]:
    """Runs long enough to be stays, neighbours of one kind joined; shortest slips go first."""
    before = list(range(-1, len(runs) - 1))
    after = [*range(1, len(runs)), -1]
    alive = len(runs)

    def length(run: list[int]) -> int:
        return int(stamps_ns[run[2]] - stamps_ns[run[1]])

    waiting = [(length(run), i) for i, run in enumerate(runs)]
    heapq.heapify(waiting)
    while waiting and alive > 1:
        lasts, i = heapq.heappop(waiting)
        run = runs[i]
        if lasts >= SHORTEST_NS:
            break
        if not run or lasts != length(run):
            continue  # dropped, or joined with another since
        if before[i] < 0 and run[1] != run[2]:
            continue  # a stay in which the scene begins was longer than what is left of it
        left, right = before[i], after[i]
        runs[i], alive = [], alive - 1
        if left >= 0 and right >= 0 and runs[left][0] == runs[right][0]:
            runs[left][2] = runs[right][2]
            runs[right], alive = [], alive - 1
            right = after[right]
            heapq.heappush(waiting, (length(runs[left]), left))
        if left >= 0:
            after[left] = right
        if right >= 0:
            before[right] = left
    return [run for run in runs if run]
