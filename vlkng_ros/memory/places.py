"""Places along the robot's path: where it has been, how often and how long, found while it drives.

A keyframe within ``RADIUS_M`` of a known place's centre belongs to the nearest such place; any other founds a new one
where the robot stands. That is a fold over the keyframes in the order of their stamps, so that the places known at a
time are those of a memory that ended then, and a place is named by the keyframe that founded it, whose id is never
given again. Each keyframe looks at nine cells of a grid, whatever the age of the memory.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.rows import KeyframeTable
from vlkng_ros.types import Vec3

RADIUS_M = 3.0
"""About a room's half: a robot that drives through a building founds a place every few metres."""
STAY_GAP_NS = 60_000_000_000
"""Between keyframes further apart the robot may have been anywhere; a parked one still makes them more often."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What the path tells of one place up to a time."""

    founder_id: int
    """The keyframe that founded it."""
    map: int
    centre_m: Vec3
    frames: NDArray[np.int64]
    """Its keyframes' places in the order of time, ascending."""
    visits: int
    """How often the robot came."""
    stay_ns: int
    """How long it was there altogether."""


class _Place:
    """One place while the path is folded: its frames, and visits and time spent up to each of them."""

    __slots__ = ("centre", "frames", "map", "stays", "visits")

    def __init__(self, map_number: int, centre: Vec3) -> None:
        self.map = map_number
        self.centre = centre
        self.frames = array("q")
        self.visits = array("q")
        self.stays = array("q")

    def add(self, frame: int, came: bool, stay_ns: int) -> None:
        self.visits.append((self.visits[-1] if self.visits else 0) + came)
        self.stays.append((self.stays[-1] if self.stays else 0) + stay_ns)
        self.frames.append(frame)


class PathPlaces:
    """The places of a path, kept up with a reader's table of keyframes."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._table: KeyframeTable | None = None
        self._places: list[_Place] = []
        self._grid: dict[tuple[int, int, int], list[int]] = {}
        self._place_of = array("q")
        self._passages: dict[tuple[int, int], array[int]] = {}

    def follow(self, table: KeyframeTable, map_of_session: dict[int, int]) -> None:
        """Take over a table: what it has more is folded in; one that differs in what was known is folded anew."""
        if table is self._table:
            return
        known = self._table
        if known is not None and not _extends(table, known):
            self._clear()
        self._fold(table, map_of_session)
        self._table = table

    def _fold(self, table: KeyframeTable, map_of_session: dict[int, int]) -> None:
        first = len(self._place_of)
        if first == len(table):
            return
        stamps, sessions = table.stamps_ns.tolist(), table.session.tolist()
        for frame, (x, y, z) in enumerate(table.position_m[first:].tolist(), start=first):
            map_number = map_of_session[sessions[frame]]
            number = self._nearest(map_number, x, y)
            if number is None:
                number = len(self._places)
                self._places.append(_Place(map_number, (x, y, z)))
                self._grid.setdefault((map_number, *_cell(x, y)), []).append(number)
            same = frame > 0 and sessions[frame - 1] == sessions[frame]
            stayed = same and self._place_of[frame - 1] == number
            gap_ns = stamps[frame] - stamps[frame - 1] if stayed else 0
            self._places[number].add(frame, not stayed, gap_ns if gap_ns <= STAY_GAP_NS else 0)
            if same and not stayed and stamps[frame] - stamps[frame - 1] <= STAY_GAP_NS:
                ends = sorted((self._place_of[frame - 1], number))
                self._passages.setdefault((ends[0], ends[1]), array("q")).append(frame)
            self._place_of.append(number)

    def _nearest(self, map_number: int, x: float, y: float, known: int | None = None) -> int | None:
        column, row = _cell(x, y)
        best, away = None, RADIUS_M
        for i in (column - 1, column, column + 1):
            for j in (row - 1, row, row + 1):
                for number in self._grid.get((map_number, i, j), ()):
                    if known is not None and number >= known:
                        continue
                    centre = self._places[number].centre
                    apart = math.hypot(centre[0] - x, centre[1] - y)
                    if apart < away or (apart == away and (best is None or number < best)):
                        best, away = number, apart
        return best

    def until(self, frames: int) -> list[Stretch]:
        """The places known when the path had so many frames, in the order in which they were founded."""
        found = []
        for number in range(len(self._places)):
            if self._places[number].frames[0] >= frames:
                break
            found.append(self._stretch(number, frames))
        return found

    def at(self, frame: int) -> Stretch:
        """The place that a frame belongs to, as it was known then."""
        return self._stretch(self._place_of[frame], frame + 1)

    def around(self, frame: int, x: float, y: float, known: int) -> tuple[int, bool]:
        """The number of the place that a thing seen from a frame is in, or else of the one that it was seen from.

        Args:
            frame: of the path.
            x: where the thing is, in metres, in the frame's map.
            y: the same.
            known: how many places there are.

        Returns:
            The number (0 is the place founded first), and whether the thing is in it.
        """
        here = self._place_of[frame]
        number = self._nearest(self._places[here].map, x, y, known)
        return (here, False) if number is None else (number, True)

    def passages(self, frames: int) -> dict[tuple[int, int], list[int]]:
        """When the path had so many frames: those at which it went over between two places, by their numbers."""
        found = {}
        for ends, at in self._passages.items():
            count = bisect_left(at, frames)
            if count:
                found[ends] = at[:count].tolist()
        return found

    def _stretch(self, number: int, frames: int) -> Stretch:
        place = self._places[number]
        count = bisect_left(place.frames, frames)
        ids = self._table.ids if self._table is not None else np.zeros(0, dtype=np.int64)
        mine = np.array(place.frames[:count], dtype=np.int64)
        return Stretch(
            int(ids[place.frames[0]]), place.map, place.centre, mine, place.visits[count - 1], place.stays[count - 1]
        )


def _cell(x: float, y: float) -> tuple[int, int]:
    return math.floor(x / RADIUS_M), math.floor(y / RADIUS_M)


def _extends(table: KeyframeTable, known: KeyframeTable) -> bool:
    """Whether a table begins with all that was known, at the same places."""
    count = len(known)
    return (
        len(table) >= count
        and bool(np.array_equal(table.ids[:count], known.ids))
        and bool(np.array_equal(table.position_m[:count], known.position_m))
    )
