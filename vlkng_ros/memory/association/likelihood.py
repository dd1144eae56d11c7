"""How well a box fits a known thing, against its being a thing never seen before: log likelihoods."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from vlkng_ros.memory import track as tracking
from vlkng_ros.memory.association.base import EntityRecord
from vlkng_ros.memory.bearing import (
    HEADING_DEVIATION_RAD,
    SIZE_DEVIATION,
    TILT_DEVIATION_RAD,
    Bearing,
    CameraView,
)
from vlkng_ros.memory.position import PositionState, is_place
from vlkng_ros.memory.projection import Expectation, Track
from vlkng_ros.types import FloatArray

IMPOSSIBLE = -1e6
UNLIKELY = -30.0
"""Below this a likelihood need not be looked into any further."""
NEW_DENSITY, NEW_DENSITY_RARE = 0.02, 0.01
"""Expected new things of a kind per unit of normalised image area: the first for each one known hereabouts and one
more, the second where at most one is known, because a second one of a kind is rarer than one more of many."""
LOG_HEIGHT_SPREAD = 0.8
"""Standard deviation of the apparent log height of things in general, which a new one's is taken from."""
HIGHEST = 0.5 + math.log(LOG_HEIGHT_SPREAD / (math.tau * HEADING_DEVIATION_RAD * TILT_DEVIATION_RAD * SIZE_DEVIATION))
"""No box is so exact that its log density is above this, a half being for rounding."""
SIGHT_M = 2.0
"""How far one goes, on average, until a thing is out of sight."""
BEHIND = 8.0
"""Against seeing a thing from right behind, when it was seen from one side only: most stand against walls."""
PARTLY_HIDDEN, PARTLY_HIDDEN_RATE, PARTLY_HIDDEN_RATE_KNOWN = 0.25, 0.1, 0.015
"""How far the middle of a partly hidden thing's box is off, as a fraction of its width, and how often that is: of a
thing whose shape is not known yet, and of one whose shape is."""
LOG_RATES, LOG_RATES_KNOWN = (
    (math.log(1 - rate), math.log(rate)) for rate in (PARTLY_HIDDEN_RATE, PARTLY_HIDDEN_RATE_KNOWN)
)
PLACED, FALLBACK_DOUBT, FORMER_DOUBT = 0.5, 0.7, 0.7
"""In favour of an entity whose place is known, and against a track that a later box made obsolete, or a move."""
HEIGHT_SPREAD = 0.25
"""Deviation of the log height of things of one kind."""
APPEARANCE_MIDDLE, APPEARANCE_SLOPE, APPEARANCE_BOUND = 0.7, 10.0, 3.0
"""Cosine of visual embeddings that says nothing, what one unit of it is worth, and the most that it can be worth."""


class Sight:
    """A track of an entity as a camera would see it: made once a keyframe, however many boxes are compared with it."""

    __slots__ = ("_camera", "_out_of_sight", "_record", "doubt", "expected", "track")

    def __init__(
        self, record: EntityRecord, track: Track, camera: CameraView, expected: Expectation, doubt: float
    ) -> None:
        self.track = track
        self.expected = expected
        self.doubt = doubt
        """Against its being the right track, as a negative log probability."""
        self._out_of_sight: float | None = None
        self._record = record
        self._camera = camera

    @property
    def out_of_sight(self) -> float:
        """See the function."""
        if self._out_of_sight is None:
            self._out_of_sight = out_of_sight(self._record, self.track, self._camera)
        return self._out_of_sight


def tracks_of(place: PositionState) -> list[tuple[Track, float]]:
    """The tracks of an entity, each with what is against its being the right one, as a negative log probability."""
    tracks = (
        (place.track, 0.0),
        (place.challenger, 0.0),
        (place.fallback, FALLBACK_DOUBT),
        (place.former, FORMER_DOUBT),
    )
    return [(track, doubt) for track, doubt in tracks if track is not None]


def geometry(sights: Iterable[Sight], bearing: Bearing) -> float:
    """Log density of a box given that it shows the entity of these sights, by direction and apparent height.

    Where it is below ``UNLIKELY``, ``IMPOSSIBLE``.
    """
    best = IMPOSSIBLE
    for sight in sights:
        value = box_density(sight.track, sight.expected, bearing)
        if value > UNLIKELY:
            value -= sight.out_of_sight + sight.doubt
            best = max(best, value + PLACED if is_place(sight.track) else value)
    return best


def box_density(track: Track, expected: Expectation, bearing: Bearing) -> float:
    """Log density of a box given a track in front of it, relative to the density of log heights of any new thing.

    Some boxes are taken to be of a partly hidden thing, whose middle is not the thing's.
    """
    seen = tracking.completed(track, bearing)
    prediction = expected.against(seen)
    hidden = bearing.width * PARTLY_HIDDEN
    # Where the thing's shape is known, a hidden part shows in the box's width, and the track has allowed for it.
    shown, partly = LOG_RATES_KNOWN if track.whole_boxes else LOG_RATES
    value = max(prediction.log_density(0.0) + shown, prediction.log_density(hidden * hidden) + partly)
    value -= 0.5 * prediction.residual_size**2 / prediction.variance_size
    if not seen.cut_y:
        value += math.log(LOG_HEIGHT_SPREAD) - 0.5 * math.log(prediction.variance_size)
    return value


def out_of_sight(record: EntityRecord, track: Track, camera: CameraView) -> float:
    """How unlikely a free line of sight is, as a negative log probability; 0 where it was seen before from there.

    It falls with the distance from where the thing was seen before, and where its place is known with the distance from
    it and with how far around it one has gone.
    """
    at = tracking.place(track)
    if record.presence.has_seen_from(camera, at):
        return 0.0
    away = record.presence.distance_to_vantage(camera)
    if not is_place(track):
        return away / SIGHT_M
    turned = record.presence.angle_to_vantage(camera, at)
    return min(math.dist(at, camera.centre_m), away) / SIGHT_M + BEHIND * max(turned / math.pi - 0.5, 0.0)


def log_height(place: PositionState) -> float | None:
    """Logarithm of the height in metres of a thing whose place is known; None of any other."""
    track = place.track
    height = tracking.height_m(track) if track is not None and is_place(track) else None
    return math.log(height) if height else None


def typical_height(log_heights: Iterable[float | None]) -> tuple[float, float] | None:
    """Median and variance of the log height of things of a kind, from those hereabouts whose place is known."""
    heights = sorted(height for height in log_heights if height is not None)
    if not heights:
        return None
    middle = heights[len(heights) // 2]
    # A kind's spread is taken as 25 % until its own is known.
    spread = (HEIGHT_SPREAD**2 + sum((height - middle) ** 2 for height in heights)) / len(heights)
    return middle, max(spread, HEIGHT_SPREAD**2)


def new_density(known: int) -> float:
    """Density of things never seen before among boxes of a kind of which ``known`` are about."""
    return NEW_DENSITY_RARE if known <= 1 else NEW_DENSITY * (1 + known)


def appearance(one: FloatArray | None, other: FloatArray | None) -> float:
    """What the visual embeddings of two crops say for their being the same thing; 0 where one is missing."""
    if one is None or other is None or one.shape != other.shape:
        return 0.0
    value = APPEARANCE_SLOPE * (float(np.dot(one, other)) - APPEARANCE_MIDDLE)
    return min(max(value, -APPEARANCE_BOUND), APPEARANCE_BOUND)
