"""Where an entity is, from whatever is at hand: the robot's poses, the bearings of its boxes, depth readings.

``PositionState`` is a small immutable value that is updated with one detection at a time, never looks at history again
and packs into a few hundred bytes. Robot poses alone give the robot's place with a covariance that says so; boxes give
a ``Track``, which counts as a place once it has seen enough parallax; depth readings are measurements of the same
track. A box that contradicts the track starts a challenger, which takes over when further boxes agree with it, so that
one wrong box changes nothing and a thing that was moved is found at its new place; where it was missed at its old one,
the first box elsewhere decides, and a box at its old place takes that back. A depth that a single box told is held
provisionally, with the track before it to fall back on.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.memory import track as tracking
from vlkng_ros.memory.bearing import Bearing, CameraView, bearing_of, camera_view
from vlkng_ros.memory.projection import Track
from vlkng_ros.memory.uncertainty import MIXED_M, MIXED_UP_M, mixture, point
from vlkng_ros.types import Detection, Keyframe, PositionEstimate, PositionSource, Vec3

UP_SHARE = 0.8
"""What is stated of the variance of a triangulated height. Of errors on drives 100 to 139 (``identity_bench.py``) a
normal distribution is likeliest with 0.8 of it, and with 1.05 of the horizontal one, which stays as it is."""
ROBOT_DEVIATION_M = 3.0
"""How far from the robot things stand that it sees, horizontally; a third of it vertically."""
MIN_BOXES = 3
MIN_PARALLAX_RAD = math.radians(4.0)
MAX_RELATIVE_DEPTH_DEVIATION = 0.3
"""A track counts as a place from this many boxes and this parallax on, once its depth is known to this fraction."""
MOVE_DOUBT = 0.25
"""How likely it is that what was found elsewhere was another thing."""
MOVED_M, MOVED_DEVIATIONS = 0.5, 3.0
"""A place is another one than before from this distance on, and where the thing was not missed, only from this many
standard deviations on: it may be that it was never where it was thought to be."""
CHALLENGE_WON = 3
"""Boxes in favour of a new place, less those for the old one, that decide for the new one."""
_VERSION = 5
_HEAD = struct.Struct("<BBiii3di3d")
_TRACK = struct.Struct("<iiii34d")
FORMAT = f"{_VERSION}{_HEAD.format}{_TRACK.format}"
"""Of ``to_bytes``: a memory that holds another one derives its places anew."""


class PositionState(NamedTuple):
    """Everything kept about one entity's place. Start from ``PositionState.empty()``."""

    robot_m: Vec3 | None
    """Base position of the last keyframe that showed it."""
    track: Track | None
    challenger: Track | None
    fallback: Track | None
    """The track as it was before one box alone told its depth; dropped once another box agrees."""
    former: Track | None
    """The place that it was last believed to have moved from. A box there takes the move back."""
    standing: int
    """Boxes that favour the challenger, less later ones that favour the track."""
    moves: int
    """How often the thing was found at another place than before, less how often that was taken back."""
    detections: int
    strays: int = 0
    """How many boxes were taken for it at a place where it is no longer thought to have been, and ..."""
    stray_m: Vec3 = (0.0, 0.0, 0.0)
    """... where that is: a thing that seemed to be it stands there."""

    @classmethod
    def empty(cls) -> PositionState:
        """The state of an entity nobody has seen."""
        return cls(None, None, None, None, None, 0, 0, 0)

    def updated(
        self, keyframe: Keyframe, detection: Detection, camera: CameraView | None = None, *, missed: bool = False
    ) -> PositionState:
        """The state after one more detection.

        Args:
            keyframe: what shows it.
            detection: its box and depth.
            camera: saves recomputing ``camera_view(keyframe)``.
            missed: whether it was looked for at its place and not found, so that a box elsewhere tells that it moved.
        """
        # Made whole, here and below: half a million of these are made after a loop closure, and _replace is slow.
        robot_m, detections = keyframe.base_pose.position_m, self.detections + 1
        seen = PositionState(
            robot_m, self.track, self.challenger, self.fallback, self.former, self.standing, self.moves, detections,
            self.strays, self.stray_m,
        )  # fmt: skip
        camera = camera or camera_view(keyframe)
        bearing = bearing_of(camera, detection) if camera is not None else None
        return seen if bearing is None else seen._with_bearing(bearing, missed)

    def _with_bearing(self, bearing: Bearing, missed: bool) -> PositionState:
        if self.track is None:
            return self._replace(track=tracking.start(bearing))
        track = tracking.updated(self.track, bearing)
        if track is not None:
            standing = max(self.standing - 1, 0)
            fallback = self.track if _told_by_one_box(self.track, track) else None
            if track.covariance is self.track.covariance:
                # Seen from the same place again: that confirms nothing.
                fallback = self.fallback
            challenger = self.challenger if standing else None
            return PositionState(
                self.robot_m, track, challenger, fallback, self.former, standing, self.moves, self.detections,
                self.strays, self.stray_m,
            )  # fmt: skip
        if self.former is not None and (track := tracking.updated(self.former, bearing)) is not None:
            strays, stray_m = self._with_strays(self.track)
            return self._replace(
                track=track, challenger=None, fallback=None, former=None, standing=0, moves=self.moves - 1,
                strays=strays, stray_m=stray_m,
            )  # fmt: skip
        challenger = tracking.updated(self.challenger, bearing) if self.challenger is not None else None
        standing = self.standing + 1 if challenger is not None else 1
        challenger = challenger or tracking.start(bearing)
        if missed or standing >= (CHALLENGE_WON if is_place(challenger) else 2 * CHALLENGE_WON):
            return self._moved_to(challenger, missed)
        fallback = self.fallback
        track = None if fallback is None else tracking.updated(fallback, bearing)
        if fallback is None or track is None:
            track = self.track
        else:
            # One of two boxes misled, this one or the one that told the depth: the next ones tell.
            fallback = fallback if _told_by_one_box(fallback, track) else None
        track = track._replace(refused=self.track.refused + 1)
        return self._replace(track=track, challenger=challenger, fallback=fallback, standing=standing)

    def _moved_to(self, track: Track, missed: bool) -> PositionState:
        former, moves, strays, stray_m = self.former, self.moves, self.strays, self.stray_m
        if self.track is not None and is_place(self.track) and (missed or _apart(self.track, track)):
            if former is not None:
                strays, stray_m = self._with_strays(former)
            former, moves = self.track, moves + 1
        return self._replace(
            track=track, challenger=None, fallback=None, former=former, standing=0, moves=moves,
            strays=strays, stray_m=stray_m,
        )  # fmt: skip

    def _with_strays(self, track: Track) -> tuple[int, Vec3]:
        """``strays`` and ``stray_m`` once a track is given up; of several, where most boxes were."""
        return (track.boxes, tracking.place(track)) if track.boxes >= self.strays else (self.strays, self.stray_m)

    @property
    def moved(self) -> bool:
        """Whether it is believed to be at another place than it was before."""
        if self.track is None or self.former is None:
            return False
        return not is_place(self.track) or math.dist(tracking.place(self.track), tracking.place(self.former)) > MOVED_M

    @property
    def known_m(self) -> Vec3 | None:
        """Where it is, where more than the robot's place is known of it."""
        return None if self.track is None or not is_place(self.track) else tracking.place(self.track)

    @property
    def source(self) -> PositionSource:
        """How the position is obtained at present."""
        if self.track is None or not is_place(self.track):
            return PositionSource.ROBOT
        return PositionSource.DEPTH if self.track.depths else PositionSource.TRIANGULATED

    def estimate(self, frame_id: str, map_id: str) -> PositionEstimate:
        """The position in the map frame, with its covariance, shape ``(3, 3)`` in square metres.

        Raises:
            InvalidInputError: nothing was seen yet.
        """
        if self.robot_m is None:
            raise InvalidInputError("an entity that was never seen has no position")
        source = self.source
        if self.track is None or source is PositionSource.ROBOT:
            side, up = ROBOT_DEVIATION_M**2, (ROBOT_DEVIATION_M / 3) ** 2
            covariance = np.diag(np.array([side, side, up]))
            return PositionEstimate(frame_id, map_id, self.robot_m, covariance, source)
        mean, (xx, xy, xz, yy, yz, zz) = point(self.track)
        if source is PositionSource.TRIANGULATED:
            xz, yz, zz = math.sqrt(UP_SHARE) * xz, math.sqrt(UP_SHARE) * yz, UP_SHARE * zz
        covariance = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if two := mixture(self.track):
            covariance += two * np.diag(np.square([MIXED_M, MIXED_M, MIXED_UP_M]))
        for elsewhere, probability in self._doubts(self.track):
            # The second moment, about the place that is stated, of being at either.
            off = np.subtract(elsewhere, mean)
            covariance = covariance + probability * np.outer(off, off)
        return PositionEstimate(frame_id, map_id, mean, covariance, source)

    def _doubts(self, track: Track) -> Iterator[tuple[Vec3, float]]:
        """Where else it may be, and how likely that is."""
        if self.strays:
            yield self.stray_m, self.strays / self.detections
        if self.former is not None:
            yield tracking.place(self.former), MOVE_DOUBT
        if self.challenger is not None:
            height = tracking.height_m(track)
            alike = (
                self.challenger if height is None else tracking.with_height(self.challenger, (math.log(height), 0.06))
            )
            yield tracking.place(alike), self.standing / (2 * CHALLENGE_WON)

    def to_bytes(self) -> bytes:
        """A compact, exact and versioned form (66 bytes and 288 a track)."""
        tracks = [t for t in (self.track, self.challenger, self.fallback, self.former) if t is not None]
        flags = (self.robot_m is not None) + 2 * (self.track is not None) + 4 * (self.challenger is not None)
        flags += 8 * (self.fallback is not None) + 16 * (self.former is not None)
        robot = self.robot_m or (0.0, 0.0, 0.0)
        counts = (self.standing, self.moves, self.detections)
        head = _HEAD.pack(_VERSION, flags, *counts, *robot, self.strays, *self.stray_m)
        return head + b"".join(_pack(t) for t in tracks)

    @classmethod
    def from_bytes(cls, data: bytes) -> PositionState:
        """The inverse of ``to_bytes``.

        Raises:
            InvalidInputError: the bytes are not of this version, or damaged.
        """
        try:
            version, flags, standing, moves, detections, x, y, z, strays, *stray = _HEAD.unpack_from(data)
        except struct.error as error:
            raise InvalidInputError(f"position state: {len(data)} bytes are too few") from error
        wanted = (flags >> 1).bit_count()
        if version != _VERSION or len(data) != _HEAD.size + wanted * _TRACK.size:
            raise InvalidInputError(f"position state: version {version} with {len(data)} bytes; known is {_VERSION}")
        tracks = [_unpack(data, _HEAD.size + i * _TRACK.size) for i in range(wanted)]
        track = tracks.pop(0) if flags & 2 else None
        challenger = tracks.pop(0) if flags & 4 else None
        fallback = tracks.pop(0) if flags & 8 else None
        former = tracks.pop(0) if flags & 16 else None
        return cls(
            (x, y, z) if flags & 1 else None, track, challenger, fallback, former, standing, moves, detections,
            strays, (stray[0], stray[1], stray[2]),
        )  # fmt: skip


def _told_by_one_box(before: Track, after: Track) -> bool:
    """Whether a single box made a known depth out of an unknown one, which a box of another thing does as easily."""
    unknown = tracking.relative_depth_deviation(before) > MAX_RELATIVE_DEPTH_DEVIATION
    return unknown and tracking.relative_depth_deviation(after) <= MAX_RELATIVE_DEPTH_DEVIATION


def _apart(one: Track, other: Track) -> bool:
    """Whether two tracks are known to be at two places."""
    if not is_place(one) or not is_place(other):
        return False
    (a, (axx, _, _, ayy, _, azz)), (b, (bxx, _, _, byy, _, bzz)) = point(one), point(other)
    deviation = math.sqrt(axx + ayy + azz + bxx + byy + bzz)
    return math.dist(a, b) > max(MOVED_M, MOVED_DEVIATIONS * deviation)


def is_place(track: Track) -> bool:
    """Whether a track tells where the thing is, rather than only in which direction."""
    if tracking.relative_depth_deviation(track) > MAX_RELATIVE_DEPTH_DEVIATION:
        return False
    return track.depths > 0 or (track.parallax_rad >= MIN_PARALLAX_RAD and track.boxes >= MIN_BOXES)


def _pack(track: Track) -> bytes:
    return _TRACK.pack(
        track.whole_boxes,
        track.depths,
        track.boxes,
        track.refused,
        *track.anchor_m,
        *track.right,
        *track.down,
        *track.forward,
        *track.mean,
        *track.covariance,
        track.parallax_rad,
        track.surprise,
        track.surprise_count,
        track.aspect,
        track.aspect_variance,
        *track.last_camera_m,
    )


def _unpack(data: bytes, offset: int) -> Track:
    whole_boxes, depths, boxes, refused, *n = _TRACK.unpack_from(data, offset)
    return Track(
        (n[0], n[1], n[2]),
        (n[3], n[4], n[5]),
        (n[6], n[7], n[8]),
        (n[9], n[10], n[11]),
        (n[12], n[13], n[14], n[15]),
        (n[16], n[17], n[18], n[19], n[20], n[21], n[22], n[23], n[24], n[25]),
        n[26],
        n[27],
        n[28],
        n[29],
        n[30],
        whole_boxes,
        depths,
        boxes,
        (n[31], n[32], n[33]),
        refused,
    )
