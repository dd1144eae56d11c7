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
LINE_OF_SIGHT_M, BEHIND_M = 0.4, 0.1
"""How far beside a known line of sight the camera may be, and how far behind where it begins."""
HIDDEN_FROM_ONE, HIDDEN_POWER = 0.08, 1.5
"""How likely it is that a thing cannot be seen from a place on a line of sight on which it was seen once, since that
grazes a door's frame or is at the end of the detector's reach; and the power of the number of sightings that this falls
with. What is hidden from a place stays so, and however often one looks from there tells no more."""
VANTAGE_SPACING_M = 0.5
STANDPOINT_M = 0.15
"""A camera this near to where it stood, as vantages are rounded, stands where it stood."""
MAX_VANTAGES = 24
RELOCATED_M = 1.0
"""A thing found this far from where it was has no known lines of sight any more."""
INDEPENDENT_M, INDEPENDENT_NS = 0.3, 60_000_000_000
"""Absences count again after the camera moved this far, or this much time has passed; ..."""
TURNED_COSINE = math.cos(math.radians(15.0))
"""... and half as much after it only turned by so much: a detector may miss a thing from one point again and again."""
DETECTION_RATE_BOUNDS = (0.3, 0.8)
GONE_EVIDENCE = 3.0
"""Sum of ``-log P(missed although present)`` at which a thing is gone, after ``MIN_ABSENCES`` at least."""
MISSED_TWICE = 2.0
"""The same from which on it was missed more than once."""
MIN_ABSENCES = 3
_VERSION = 4
_HEAD = struct.Struct("<BBiiiqqd3d3d3d")
_VANTAGE = struct.Struct("<2i2B")
FORMAT = f"{_VERSION}{_HEAD.format}{_VANTAGE.format}"
"""Of ``to_bytes``: a memory that holds another one derives its places anew."""


class Occupancy(Protocol):
    """A map that knows what blocks the view."""

    def sees(self, from_m: Vec3, to_m: Vec3) -> bool:
        """Whether nothing known stands between two points of the map frame."""
        ...


class Vantage(NamedTuple):
    """A place that a thing was seen from."""

    x_dm: int
    y_dm: int
    """Tenths of a metre."""
    hits: int
    """How often it was seen from here, at most 255."""
    missed: int
    """How often it was missed from here since it was last seen, in half absences and at most 255."""


class Presence(NamedTuple):
    """Whether one entity is believed to be at its place. Start from ``Presence.empty()``."""

    vantages: tuple[Vantage, ...]
    """Places it was seen from, oldest first."""
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
    missing_ns: int
    """Since when it is ``missed_twice``, where it is."""

    @classmethod
    def empty(cls) -> Presence:
        """Of an entity that was never seen."""
        nowhere = (math.nan, math.nan, math.nan)
        return cls((), nowhere, 0, 0, 0, 0.0, nowhere, 0, nowhere, 0)

    def seen(self, camera: CameraView | None, place: PositionState) -> Presence:
        """After it was detected; ``place`` is its position with that detection."""
        vantages, known = self.vantages, self.place_m
        if place.track is not None and is_place(place.track):
            now = tracking.place(place.track)
            if math.dist(now, known) > RELOCATED_M:
                vantages = ()
            if not math.dist(now, known) <= RELOCATED_M / 4:
                known = now
        if self.absences:
            vantages = tuple([v._replace(missed=0) if v.missed else v for v in vantages])
        if camera is not None:
            vantages = _with_vantage(vantages, camera.centre_m)
        misses = self.misses + self.absences
        # Made whole: _replace is slow, and this runs once an observation when poses are corrected.
        return Presence(
            vantages, known, self.hits + 1, misses, 0, 0.0,
            self.last_absence_m, self.last_absence_ns, self.last_absence_forward, 0,
        )  # fmt: skip

    def missed(self, camera: CameraView, stamp_ns: int, at: Vec3 | None) -> Presence:
        """After it was not detected where it was ``expected``; ``at`` is its place, where that is known."""
        halves = 2
        near = math.dist(camera.centre_m, self.last_absence_m) < INDEPENDENT_M
        if self.absences and near and stamp_ns - self.last_absence_ns < INDEPENDENT_NS:
            if sum(a * b for a, b in zip(camera.forward, self.last_absence_forward, strict=True)) > TURNED_COSINE:
                return self
            halves = 1
        low, high = DETECTION_RATE_BOUNDS
        overlooked = 1 - min(max((self.hits + 3) / (self.hits + self.misses + 4), low), high)
        lines = self.lines_of_sight(camera, at)
        vantages, hidden, before = self.vantages, 0.0, 0
        if lines:
            hidden = HIDDEN_FROM_ONE / sum(vantages[i].hits for _, i in lines) ** HIDDEN_POWER
            nearest = min(lines)[1]
            before = vantages[nearest].missed
            vantage = vantages[nearest]._replace(missed=min(before + halves, 255))
            vantages = (*vantages[:nearest], vantage, *vantages[nearest + 1 :])
        likely = [hidden + (1 - hidden) * overlooked ** (n / 2) for n in (before, before + halves)]
        evidence = self.evidence + math.log(likely[0] / likely[1])
        return self._replace(
            vantages=vantages,
            absences=self.absences + 1,
            evidence=evidence,
            last_absence_m=camera.centre_m,
            last_absence_ns=stamp_ns,
            last_absence_forward=camera.forward,
            missing_ns=stamp_ns if self.evidence <= MISSED_TWICE < evidence else self.missing_ns,
        )

    def lines_of_sight(self, camera: CameraView, at: Vec3 | None) -> list[tuple[float, int]]:
        """The vantages on whose line of sight a camera stands: how far beside it, in metres, and the vantage's index.

        Where the thing is not known (``at`` is None), the camera has to stand at the vantage.
        """
        cx, cy, _ = camera.centre_m
        found = []
        for i, (vx, vy, _, _) in enumerate(self.vantages):
            x, y = vx / 10, vy / 10
            if at is None:
                aside = math.hypot(cx - x, cy - y)
            else:
                # On the floor plan: how far the camera is from the line between the vantage and the thing.
                dx, dy, px, py = at[0] - x, at[1] - y, cx - x, cy - y
                length = math.hypot(dx, dy)
                along = (px * dx + py * dy) / length if length > 0 else 0.0
                if along < -BEHIND_M:
                    continue
                along = min(max(along, 0.0), length) / length if length > 0 else 0.0
                aside = math.hypot(px - along * dx, py - along * dy)
            if aside <= LINE_OF_SIGHT_M:
                found.append((aside, i))
        return found

    def has_seen_from(self, camera: CameraView, at: Vec3) -> bool:
        """Whether it was seen before on a line of sight that this camera stands on."""
        (cx, cy, _), (ax, ay, _) = camera.centre_m, at
        for vx, vy, _, _ in self.vantages:
            # On the floor plan: how far the camera is from the line between the vantage and the thing.
            x, y = vx / 10, vy / 10
            dx, dy, px, py = ax - x, ay - y, cx - x, cy - y
            length2 = dx * dx + dy * dy
            along = min(max((px * dx + py * dy) / length2, 0.0), 1.0) if length2 > 0 else 0.0
            if math.hypot(px - along * dx, py - along * dy) <= LINE_OF_SIGHT_M:
                return True
        return False

    def seen_only_from(self, camera: CameraView) -> bool:
        """Whether it was never seen from any place but the one where this camera stands."""
        x, y, _ = camera.centre_m
        here = (math.hypot(x - vx / 10, y - vy / 10) <= STANDPOINT_M for vx, vy, _, _ in self.vantages)
        return bool(self.vantages) and all(here)

    def distance_to_vantage(self, camera: CameraView) -> float:
        """Metres on the floor plan from the nearest place that it was seen from; infinite where there is none."""
        x, y, _ = camera.centre_m
        return min((math.hypot(x - vx / 10, y - vy / 10) for vx, vy, _, _ in self.vantages), default=math.inf)

    def angle_to_vantage(self, camera: CameraView, at: Vec3) -> float:
        """Angle at the thing, on the floor plan, between this camera and the nearest place it was seen from."""
        here = math.atan2(camera.centre_m[1] - at[1], camera.centre_m[0] - at[0])
        return min(
            (
                abs(math.remainder(math.atan2(y / 10 - at[1], x / 10 - at[0]) - here, math.tau))
                for x, y, _, _ in self.vantages
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
        """A compact, exact and versioned form (at most 352 bytes)."""
        head = _HEAD.pack(
            _VERSION,
            len(self.vantages),
            self.hits,
            self.misses,
            self.absences,
            self.last_absence_ns,
            self.missing_ns,
            self.evidence,
            *self.place_m,
            *self.last_absence_m,
            *self.last_absence_forward,
        )
        return head + _vantages(len(self.vantages)).pack(*chain.from_iterable(self.vantages))

    @classmethod
    def from_bytes(cls, data: bytes) -> Presence:
        """The inverse of ``to_bytes``.

        Raises:
            InvalidInputError: the bytes are not of this version, or damaged.
        """
        try:
            version, count, hits, misses, absences, stamp, missing, evidence, *n = _HEAD.unpack_from(data)
        except struct.error as error:
            raise InvalidInputError(f"presence: {len(data)} bytes are too few") from error
        if version != _VERSION or len(data) != _HEAD.size + count * _VANTAGE.size:
            raise InvalidInputError(f"presence: version {version} with {len(data)} bytes; known is {_VERSION}")
        vantages = tuple(map(Vantage._make, _VANTAGE.iter_unpack(data[_HEAD.size :])))
        place, last, forward = (n[0], n[1], n[2]), (n[3], n[4], n[5]), (n[6], n[7], n[8])
        return cls(vantages, place, hits, misses, absences, evidence, last, stamp, forward, missing)


@functools.cache
def _vantages(count: int) -> struct.Struct:
    return struct.Struct("<" + count * "2i2B")


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
        free = bool(presence.lines_of_sight(camera, at)) if occupancy is None else occupancy.sees(camera.centre_m, at)
    else:
        free = bool(presence.lines_of_sight(camera, None))
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


def _with_vantage(vantages: tuple[Vantage, ...], centre: Vec3) -> tuple[Vantage, ...]:
    x, y = round(centre[0] * 10), round(centre[1] * 10)
    spacing = VANTAGE_SPACING_M * 10
    for i in range(len(vantages) - 1, -1, -1):
        known = vantages[i]
        if math.hypot(x - known.x_dm, y - known.y_dm) < spacing:
            again = Vantage(known.x_dm, known.y_dm, min(known.hits + 1, 255), known.missed)
            return (*vantages[:i], again, *vantages[i + 1 :])
    return (*vantages[-(MAX_VANTAGES - 1) :], Vantage(x, y, 1, 0))
