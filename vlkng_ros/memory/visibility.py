"""When not seeing a thing means that it is gone.

A thing that the detector misses is not gone, and neither is one behind a wall. So an absence counts only where the
thing should have been seen: most of its box falls inside the image, however unsure its place is, it is near enough, no
other box covers it, and it was seen before from there. *From there* holds on the whole line between a place it was
seen from and the thing itself, because what is in nobody's way from afar is in nobody's way from nearer. An occupancy
grid, where there is one, replaces that rule. A thing whose place is not known yet is missed only from where it was
seen, where the direction alone tells that it must be in the image. Each absence counts as much as this thing's own rate
of being detected makes it.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple, Protocol

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.memory import track as tracking
from vlkng_ros.memory.bearing import CameraView
from vlkng_ros.memory.kalman import dot, times
from vlkng_ros.memory.position import PositionState, is_place
from vlkng_ros.memory.projection import Track, project
from vlkng_ros.types import BoxPx, EntityState, Vec3

MAX_RANGE_M = 8.0
"""Nothing further away is expected to be detected, wherever it was seen from."""
MIN_RANGE_M = 0.7
LINE_OF_SIGHT_M = 0.4
"""How far beside a known line of sight the camera may be."""
VANTAGE_SPACING_M = 0.5
STANDPOINT_M = 0.15
"""A camera this near to where it stood, as vantages are rounded, stands where it stood."""
MAX_VANTAGES = 24
RELOCATED_M = 1.0
"""A thing found this far from where it was has no known lines of sight any more."""
INDEPENDENT_M, INDEPENDENT_NS = 0.3, 60_000_000_000
"""Absences count again after the camera moved this far, or this much time has passed; ..."""
TURNED_COSINE, TURNED_WORTH = math.cos(math.radians(15.0)), 0.5
"""... by this much after it only turned by so much: a detector may miss a thing from one point again and again."""
DETECTION_RATE_BOUNDS = (0.3, 0.8)
GONE_EVIDENCE = 4.5
"""Sum of ``-log P(missed although present)`` at which a thing is gone: 3 absences of a thing seen 4 times in 5."""
MISSED_TWICE = 2.0
"""The same from which on it was missed more than once."""
MIN_ABSENCES = 3
_VERSION = 3
_HEAD = struct.Struct("<BBiiiqd3d3d3d")
_VANTAGE = struct.Struct("<2i")
FORMAT = f"{_VERSION}{_HEAD.format}{_VANTAGE.format}"
"""Of ``to_bytes``: a memory that holds another one derives its places anew."""


class Occupancy(Protocol):
    """A map that knows what blocks the view."""

    def sees(self, from_m: Vec3, to_m: Vec3) -> bool:
        """Whether nothing known stands between two points of the map frame."""
        ...


class Presence(NamedTuple):
    """Whether one entity is believed to be at its place. Start from ``Presence.empty()``."""

    vantages_dm: tuple[tuple[int, int], ...]
    """Places it was seen from, x and y in tenths of a metre, oldest first."""
    place_m: Vec3
    """Where it was when these were noted; NaN before its place is known."""
    hits: int
    misses: int
    """Absences that turned out to be the detector's."""
    absences: int
    """Absences since it was last seen."""
    evidence: float
    last_absence_m: Vec3
    last_absence_ns: int
    last_absence_forward: Vec3
    """Direction in which the camera looked then."""

    @classmethod
    def empty(cls) -> Presence:
        """Of an entity that was never seen."""
        nowhere = (math.nan, math.nan, math.nan)
        return cls((), nowhere, 0, 0, 0, 0.0, nowhere, 0, nowhere)

    def seen(self, camera: CameraView | None, place: PositionState) -> Presence:
        """After it was detected; ``place`` is its position with that detection."""
        vantages, known = self.vantages_dm, self.place_m
        if place.track is not None and is_place(place.track):
            now = tracking.place(place.track)
            if math.dist(now, known) > RELOCATED_M:
                vantages = ()
            if not math.dist(now, known) <= RELOCATED_M / 4:
                known = now
        if camera is not None:
            vantages = _with_vantage(vantages, camera.centre_m)
        misses = self.misses + self.absences
        # Made whole: _replace is slow, and this runs once an observation when poses are corrected.
        return Presence(
            vantages, known, self.hits + 1, misses, 0, 0.0,
            self.last_absence_m, self.last_absence_ns, self.last_absence_forward,
        )  # fmt: skip

    def missed(self, camera: CameraView, stamp_ns: int) -> Presence:
        """After it was not detected in a keyframe where it was ``expected``."""
        worth = 1.0
        near = math.dist(camera.centre_m, self.last_absence_m) < INDEPENDENT_M
        if self.absences and near and stamp_ns - self.last_absence_ns < INDEPENDENT_NS:
            if sum(a * b for a, b in zip(camera.forward, self.last_absence_forward, strict=True)) > TURNED_COSINE:
                return self
            worth = TURNED_WORTH
        low, high = DETECTION_RATE_BOUNDS
        rate = min(max((self.hits + 3) / (self.hits + self.misses + 4), low), high)
        return self._replace(
            absences=self.absences + 1,
            evidence=self.evidence - worth * math.log(1 - rate),
            last_absence_m=camera.centre_m,
            last_absence_ns=stamp_ns,
            last_absence_forward=camera.forward,
        )

    def has_seen_from(self, camera: CameraView, at: Vec3) -> bool:
        """Whether it was seen before on a line of sight that this camera stands on."""
        (cx, cy, _), (ax, ay, _) = camera.centre_m, at
        for vx, vy in self.vantages_dm:
            # On the floor plan: how far the camera is from the line between the vantage and the thing.
            x, y = vx / 10, vy / 10
            dx, dy, px, py = ax - x, ay - y, cx - x, cy - y
            length2 = dx * dx + dy * dy
            along = min(max((px * dx + py * dy) / length2, 0.0), 1.0) if length2 > 0 else 0.0
            if math.hypot(px - along * dx, py - along * dy) <= LINE_OF_SIGHT_M:
                return True
        return False

    def has_seen_from_here(self, camera: CameraView) -> bool:
        """Whether it was seen before from where this camera stands."""
        x, y, _ = camera.centre_m
        return any(math.hypot(x - vx / 10, y - vy / 10) <= LINE_OF_SIGHT_M for vx, vy in self.vantages_dm)

    def seen_only_from(self, camera: CameraView) -> bool:
        """Whether it was never seen from any place but the one where this camera stands."""
        x, y, _ = camera.centre_m
        here = (math.hypot(x - vx / 10, y - vy / 10) <= STANDPOINT_M for vx, vy in self.vantages_dm)
        return bool(self.vantages_dm) and all(here)

    def distance_to_vantage(self, camera: CameraView) -> float:
        """Metres on the floor plan from the nearest place that it was seen from; infinite where there is none."""
        x, y, _ = camera.centre_m
        return min((math.hypot(x - vx / 10, y - vy / 10) for vx, vy in self.vantages_dm), default=math.inf)

    def angle_to_vantage(self, camera: CameraView, at: Vec3) -> float:
        """Angle at the thing, on the floor plan, between this camera and the nearest place it was seen from."""
        here = math.atan2(camera.centre_m[1] - at[1], camera.centre_m[0] - at[0])
        return min(
            (
                abs(math.remainder(math.atan2(y / 10 - at[1], x / 10 - at[0]) - here, math.tau))
                for x, y in self.vantages_dm
            ),
            default=0.0,
        )

    @property
    def gone(self) -> bool:
        """Whether it was missed often enough where it should have been seen."""
        return self.absences >= MIN_ABSENCES and self.evidence >= GONE_EVIDENCE

    @property
    def missed_twice(self) -> bool:
        """Whether it was missed more than once since it was last seen: once is the detector's doing as often as not."""
        return self.evidence > MISSED_TWICE

    def to_bytes(self) -> bytes:
        """A compact, exact and versioned form (at most 304 bytes)."""
        head = _HEAD.pack(
            _VERSION,
            len(self.vantages_dm),
            self.hits,
            self.misses,
            self.absences,
            self.last_absence_ns,
            self.evidence,
            *self.place_m,
            *self.last_absence_m,
            *self.last_absence_forward,
        )
        return head + _vantages(len(self.vantages_dm)).pack(*chain.from_iterable(self.vantages_dm))

    @classmethod
    def from_bytes(cls, data: bytes) -> Presence:
        """The inverse of ``to_bytes``.

        Raises:
            InvalidInputError: the bytes are not of this version, or damaged.
        """
        try:
            version, count, hits, misses, absences, stamp, evidence, *n = _HEAD.unpack_from(data)
        except struct.error as error:
            raise InvalidInputError(f"presence: {len(data)} bytes are too few") from error
        if version != _VERSION or len(data) != _HEAD.size + count * _VANTAGE.size:
            raise InvalidInputError(f"presence: version {version} with {len(data)} bytes; known is {_VERSION}")
        vantages = tuple(_VANTAGE.iter_unpack(data[_HEAD.size :]))
        place, last, forward = (n[0], n[1], n[2]), (n[3], n[4], n[5]), (n[6], n[7], n[8])
        return cls(vantages, place, hits, misses, absences, evidence, last, stamp, forward)


@functools.cache
def _vantages(count: int) -> struct.Struct:
    return struct.Struct(f"<{2 * count}i")


def state_of(place: PositionState, presence: Presence) -> EntityState:
    """The state that an entity shows: gone, at another place than before, or present."""
    if presence.gone:
        return EntityState.GONE
    return EntityState.MOVED if place.moved else EntityState.PRESENT


def expected(
    presence: Presence,
    place: PositionState,
    camera: CameraView,
    boxes: Iterable[BoxPx] = (),
    occupancy: Occupancy | None = None,
) -> bool:
    """Whether an entity should be detected by a camera, so that not detecting it is an absence.

    ``boxes`` are what was detected in that keyframe: a thing behind one of them may be hidden by it.
    """
    track = place.track
    if track is None:
        return False
    if is_place(track):
        at = tracking.place(track)
        if not MIN_RANGE_M <= math.dist(at, camera.centre_m) <= MAX_RANGE_M:
            return False
        free = presence.has_seen_from(camera, at) if occupancy is None else occupancy.sees(camera.centre_m, at)
    else:
        free = presence.has_seen_from_here(camera)
    pixel = _inside(track, camera) if free else None
    return pixel is not None and not any(x1 <= pixel[0] <= x2 and y1 <= pixel[1] <= y2 for x1, y1, x2, y2 in boxes)


def _inside(track: Track, camera: CameraView) -> tuple[float, float] | None:
    """The pixel of a thing's middle if most of its box lies in the image for sure, else None."""
    view = project(track, camera, track.mean)
    if view is None:
        return None
    x, y, rows_x, rows_y, _, depth = view
    aside, above = (2 * math.sqrt(max(dot(rows, times(track.covariance, rows)), 0.0)) for rows in (rows_x, rows_y))
    quarter = math.exp(track.mean[3]) / depth / 4
    k = camera.intrinsics
    u, v = k.cx + k.fx * x, k.cy + k.fy * y
    margin_u, margin_v = k.fx * (aside + quarter), k.fy * above
    return (u, v) if margin_u <= u <= k.width_px - margin_u and margin_v <= v <= k.height_px - margin_v else None


def _with_vantage(vantages: tuple[tuple[int, int], ...], centre: Vec3) -> tuple[tuple[int, int], ...]:
    x, y = round(centre[0] * 10), round(centre[1] * 10)
    spacing = VANTAGE_SPACING_M * 10
    for vx, vy in reversed(vantages):
        if math.hypot(x - vx, y - vy) < spacing:
            return vantages
    return (*vantages[-(MAX_VANTAGES - 1) :], (x, y))
