"""What the robot did, from its track alone: turns, stops, where it began.

Headings are those of travel, not of the pose: memories from caption files have no orientation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.types import Float64Array, FloatArray

STEP_M = 1.0
"""Travel between two points of the thinned track: shorter and headings are noise."""
TURN_RAD = 0.7
"""A change of heading that a person calls a turn (40 degrees)."""
AROUND_RAD = 2.1
"""And one they call turning around (120 degrees)."""
TURN_SPAN_M = 12.0
"""Travel within which the heading changes."""
APPROACH_M = 3.0
"""Travel before a turn: a track that begins by turning has no heading to turn from."""
STILL_M = 0.5
STILL_S = 4.0
STANDING_M_S = 0.2
"""Slower than this a robot is said to be stopped: it still turns, or is pushed."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of heading: positive is left. ``frame`` is its middle."""

    frame: int
    first: int
    last: int
    angle_rad: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Frames ``[first, last]`` in which the robot stood."""

    first: int
    last: int


def turns(positions_m: FloatArray) -> list[Turn]:
    """Turns of a track, shape ``(n, 3)``, in order of time."""
    points = _thinned(positions_m)
    if len(points) < 3:
        return []
    steps = np.diff(positions_m[points, :2].astype(np.float64), axis=0)
    heading = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    travel = np.concatenate([[0.0], np.cumsum(np.hypot(steps[:, 0], steps[:, 1]))])
    middle = (travel[:-1] + travel[1:]) / 2
    found: list[Turn] = []
    ends = np.searchsorted(middle, middle + TURN_SPAN_M, side="right")
    # Where all changes of heading in the next metres together are less than a turn there is none.
    changed = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(heading)))])
    starts = np.flatnonzero(changed[ends - 1] - changed >= TURN_RAD)
    i = 0
    while True:
        later = int(np.searchsorted(starts, i))
        if later == len(starts):
            break
        i = int(starts[later])
        turned = np.abs(heading[i + 1 : ends[i]] - heading[i]) >= TURN_RAD
        if not turned.any():
            i += 1
            continue
        j = i + 1 + int(np.argmax(turned))
        sign = 1.0 if heading[j] > heading[i] else -1.0
        while j + 1 < len(heading) and sign * (heading[j + 1] - heading[j]) > 0.05:
            j += 1
        while i < j and sign * (heading[i + 1] - heading[i]) < 0.05:
            i += 1
        if middle[i] < APPROACH_M:
            i = j
            continue
        half = heading[i] + (heading[j] - heading[i]) / 2
        k = i + int(np.argmax(sign * (heading[i : j + 1] - half) >= 0))
        found.append(Turn(int(points[k]), int(points[i]), int(points[j + 1]), float(heading[j] - heading[i])))
        i = j
    return found


def stops(positions_m: FloatArray, stamps_ns: NDArray[np.int64]) -> list[Stop]:
    """Stretches of at least ``STILL_S`` in which the robot stayed within ``STILL_M``, in order of time."""
    found: list[Stop] = []
    step = np.hypot(*np.diff(positions_m[:, :2].astype(np.float64), axis=0).T) if len(positions_m) > 1 else np.zeros(0)
    still = step < STILL_M / 2
    edges = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(np.int8), [0]])))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        if (stamps_ns[last] - stamps_ns[first]) / 1e9 >= STILL_S:
            found.append(Stop(int(first), int(last)))
    return found


def standing(positions_m: FloatArray, stamps_ns: NDArray[np.int64]) -> bool:
    """Whether the robot stood still at the end of a track."""
    if len(positions_m) < 2:
        return True
    moved = positions_m[-1, :2] - positions_m[-2, :2]
    seconds = max(1e-3, float(stamps_ns[-1] - stamps_ns[-2]) / 1e9)
    return float(np.hypot(moved[0], moved[1])) / seconds < STANDING_M_S


def _thinned(positions_m: FloatArray) -> NDArray[np.intp]:
    """Frames at least ``STEP_M`` of travel apart."""
    if len(positions_m) < 2:
        return np.arange(len(positions_m))
    steps: Float64Array = np.hypot(*np.diff(positions_m[:, :2].astype(np.float64), axis=0).T)
    moved = np.flatnonzero(steps > 0.05) + 1
    kept, since = [0], 0.0
    for frame, travelled in zip(moved.tolist(), np.cumsum(steps)[moved - 1].tolist(), strict=True):
        if travelled - since >= STEP_M:
            kept.append(frame)
            since = travelled
    return np.array(kept, dtype=np.intp)
