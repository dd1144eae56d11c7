"""Triangulation of one object from bearings, one at a time, in constant time and space.

The state is the object's direction, *inverse* depth and apparent size as the first camera that saw it would see them
(inverse-depth parametrisation, Civera et al. 2008). In these coordinates every later box is nearly a linear
measurement whatever the depth, parallel rays leave the inverse depth at its prior instead of at a wild number, and an
object at any distance, infinity included, has an honest Gaussian. It is an extended Kalman filter that iterates each
measurement's linearisation.
"""

from __future__ import annotations

import math

from vlkng_ros.memory.bearing import POSITION_DEVIATION_M, Bearing
from vlkng_ros.memory.kalman import State, absorb, dot, scaled, times
from vlkng_ros.memory.projection import (
    MIN_DEPTH_M,
    Track,
    expectation,
    place_variance,
    project,
)
from vlkng_ros.types import Vec3

PRIOR_HEIGHT_M, PRIOR_HEIGHT_SPREAD = 0.5, 0.7
"""Median height of things that robots see, and the deviation of its logarithm: most are 0.12 to 2 m tall. Before any
parallax, the depth of a thing is what makes it so."""
MAX_PRIOR_DEPTH_M = 8.0
"""What would have to be further away to be that tall is taken to be this far."""
MIN_INVERSE_DEPTH = -0.5
"""Bound of the filter's steps."""
CUT_LOG_HEIGHT, CUT_LOG_HEIGHT_VARIANCE = 0.3, 0.5
"""By how much a thing is taller than what the image's border leaves of it, as a logarithm."""
GATE = 9.0
"""Squared Mahalanobis distance of a bearing beyond which it is no measurement of this object."""
SIZE_GATE = 12.0
SURPRISING = 4.0
"""Squared distance beyond which an accepted bearing also makes the track less sure of itself."""
ANY_ASPECT_VARIANCE = 0.5
"""Of the logarithm of width by height, over things in general."""
ASPECT_VARIANCE, MIN_ASPECT_VARIANCE = 0.1, 0.03
"""The same of one thing seen from several sides: after its first whole box, and at least."""
NARROW = 0.95
"""A box narrower than this fraction of what the thing's shape promises may show only a part of it."""
SIZE_KNOWN_VARIANCE = 0.25
"""Of the apparent log height, up to which it is known."""
DIVERGING = 0.01
"""Inverse depth in 1/m by which rays may miss each other beyond infinity."""
MAX_ITERATIONS = 4
MAX_INVERSE_DEPTH = 1 / MIN_DEPTH_M
STANDSTILL_M = 0.1
"""Boxes seen from the same place share their errors; only the first of them is a measurement."""


def start(bearing: Bearing) -> Track:
    """A track from its first bearing, anchored at that camera."""
    camera, whole = bearing.camera, not bearing.cut_off
    bearing = bearing.completed(0.0, ANY_ASPECT_VARIANCE)
    cut = bearing.cut_y != 0
    size = bearing.log_height + (CUT_LOG_HEIGHT if cut else 0.0)
    size_variance = CUT_LOG_HEIGHT_VARIANCE if cut else bearing.variance_log_height
    inverse_depth = max(math.exp(size) / PRIOR_HEIGHT_M, 1 / MAX_PRIOR_DEPTH_M)
    prior = inverse_depth * inverse_depth * (PRIOR_HEIGHT_SPREAD * PRIOR_HEIGHT_SPREAD + size_variance)
    place = (POSITION_DEVIATION_M * inverse_depth) ** 2 + POSITION_DEVIATION_M * POSITION_DEVIATION_M * prior
    variance_x, variance_y = bearing.variance_x + place, bearing.variance_y + place
    track = Track(
        camera.centre_m,
        camera.right,
        camera.down,
        camera.forward,
        (bearing.x, bearing.y, inverse_depth, size),
        (variance_x, 0.0, 0.0, 0.0, variance_y, 0.0, 0.0, prior, inverse_depth * size_variance, size_variance),
        0.0,
        0.0,
        0.0,
        math.log(bearing.width / bearing.height) if whole else 0.0,
        ASPECT_VARIANCE,
        int(whole),
        0,
        1,
        camera.centre_m,
    )
    return track if bearing.depth_m is None else _with_depth(track, bearing, bearing.depth_m)


def completed(track: Track, bearing: Bearing) -> Bearing:
    """The bearing with what the image's border cuts off put back, as far as the track knows the thing's shape."""
    if bearing.cut_off:
        if track.whole_boxes:
            return bearing.completed(track.aspect, track.aspect_variance)
        return bearing.completed(0.0, ANY_ASPECT_VARIANCE)
    if not track.whole_boxes:
        return bearing
    deficit = bearing.height * math.exp(track.aspect) * NARROW - bearing.width
    if deficit <= 0:
        return bearing
    return bearing._replace(variance_x=bearing.variance_x + deficit * deficit / 4)


def updated(track: Track, bearing: Bearing) -> Track | None:
    """The track after one more bearing, or None where the bearing is not of this thing (the outlier gate)."""
    view = project(track, bearing.camera, track.mean)
    if view is None:
        return None
    seen, bearing = bearing, completed(track, bearing)
    prediction = expectation(track, view).against(bearing)
    distance2 = prediction.distance2
    if distance2 > GATE:
        return None
    camera = bearing.camera
    aspect, aspect_variance, whole_boxes = track.aspect, track.aspect_variance, track.whole_boxes
    if not seen.cut_off:
        aspect, aspect_variance, whole_boxes = _with_shape(track, math.log(seen.width / seen.height))
    stands_still = math.dist(camera.centre_m, track.last_camera_m) < STANDSTILL_M
    if stands_still and not bearing.cut_off and bearing.depth_m is None:
        return track._replace(
            aspect=aspect, aspect_variance=aspect_variance, whole_boxes=whole_boxes, boxes=track.boxes + 1
        )
    residual_size = prediction.residual_size
    use_size = bearing.cut_y == 0 and residual_size * residual_size < SIZE_GATE * prediction.variance_size
    mean, covariance = track.mean, track.covariance
    if distance2 > SURPRISING:
        # The track is less sure than it thinks (an early box was another thing's, SLAM shifted, the thing was pushed):
        # let it forget in proportion, so that what is seen now counts for more.
        covariance = scaled(covariance, distance2 / SURPRISING)
    at = mean
    for _ in range(MAX_ITERATIONS):
        x, y, rows_x, rows_y, rows_size, depth = view
        place = place_variance(at[2], depth)
        # Innovations are taken at the linearisation point and referred to the prior mean (iterated EKF).
        new, cov = absorb(mean, covariance, rows_x, bearing.x - x, at, bearing.variance_x + place)
        new, cov = absorb(new, cov, rows_y, bearing.y - y, at, bearing.variance_y + place)
        if use_size:
            innovation = bearing.log_height - (at[3] - math.log(depth))
            new, cov = absorb(new, cov, rows_size, innovation, at, bearing.variance_log_height)
        new = (new[0], new[1], min(max(new[2], MIN_INVERSE_DEPTH), MAX_INVERSE_DEPTH), new[3])
        step = new[2] - at[2]
        at = new
        if step * step < 0.04 * cov[7]:
            break
        moved_view = project(track, bearing.camera, at)
        if moved_view is None:
            return None
        view = moved_view
    if at[2] < -DIVERGING:
        # Rays that diverge belong to two things.
        return None
    surprise = track.surprise + distance2
    count = track.surprise_count + 2.0
    # Made whole: this runs once an observation when poses are corrected, and _replace is several times slower.
    result = Track(
        track.anchor_m,
        track.right,
        track.down,
        track.forward,
        at,
        cov,
        max(track.parallax_rad, _parallax(track, at, camera.centre_m)),
        surprise,
        count,
        aspect,
        aspect_variance,
        whole_boxes,
        track.depths,
        track.boxes + 1,
        track.last_camera_m if bearing.cut_off else camera.centre_m,
        track.refused,
    )
    return result if bearing.depth_m is None else _with_depth(result, bearing, bearing.depth_m)


def with_height(track: Track, log_height_m: tuple[float, float]) -> Track:
    """A track whose depth or apparent size is unknown, given mean and variance of the logarithm of its true height.

    Where both are unknown, or both known, it stays as it is.
    """
    if not takes_height(track):
        return track
    mean, variance = log_height_m
    w = track.mean[2]
    if _size_known(track):
        inverse_depth = math.exp(track.mean[3] - mean)
        spread = inverse_depth * inverse_depth * (variance + track.covariance[9])
        row, residual = (0.0, 0.0, 1.0, 0.0), inverse_depth - w
    else:
        row, residual, spread = (0.0, 0.0, -1 / w, 1.0), mean - (track.mean[3] - math.log(w)), variance
    new, covariance = absorb(track.mean, track.covariance, row, residual, track.mean, spread)
    return track._replace(mean=new, covariance=covariance)


def takes_height(track: Track) -> bool:
    """Whether ``with_height`` would change the track."""
    return _size_known(track) != (relative_depth_deviation(track) <= 0.3)


def _size_known(track: Track) -> bool:
    return track.covariance[9] <= SIZE_KNOWN_VARIANCE


def relative_depth_deviation(track: Track) -> float:
    """Standard deviation of the depth as a fraction of it; infinite at or beyond infinity."""
    w = track.mean[2]
    return math.sqrt(max(track.covariance[7], 0.0)) / w if w > 1e-3 else math.inf


def place(track: Track) -> Vec3:
    """The thing's place in the map frame; inverse depths below 1/100 m are taken as that.

    Only meaningful where ``relative_depth_deviation`` is small.
    """
    x, y, w, _ = track.mean
    (r0, r1, r2), (d0, d1, d2), (f0, f1, f2) = track.right, track.down, track.forward
    a0, a1, a2 = track.anchor_m
    scale = 1 / max(w, 0.01)
    return (
        a0 + (f0 + x * r0 + y * d0) * scale,
        a1 + (f1 + x * r1 + y * d1) * scale,
        a2 + (f2 + x * r2 + y * d2) * scale,
    )


def height_m(track: Track) -> float | None:
    """The thing's height, or None before its depth is known at all."""
    w = track.mean[2]
    return math.exp(track.mean[3]) / w if w > 1e-3 else None


# ------------------------------------------------------------------------------------------- the filter's arithmetic


def _parallax(track: Track, state: State, camera_m: Vec3) -> float:
    x, y, w, _ = state
    (r0, r1, r2), (d0, d1, d2), (f0, f1, f2) = track.right, track.down, track.forward
    (a0, a1, a2), (c0, c1, c2) = track.anchor_m, camera_m
    p0, p1, p2 = f0 + x * r0 + y * d0, f1 + x * r1 + y * d1, f2 + x * r2 + y * d2
    q0, q1, q2 = p0 + w * (a0 - c0), p1 + w * (a1 - c1), p2 + w * (a2 - c2)
    cosine = p0 * q0 + p1 * q1 + p2 * q2
    length = math.sqrt((p0 * p0 + p1 * p1 + p2 * p2) * (q0 * q0 + q1 * q1 + q2 * q2))
    return math.acos(min(1.0, max(-1.0, cosine / length))) if length > 0 else 0.0


def _with_depth(track: Track, bearing: Bearing, depth_m: float) -> Track:
    """Takes a depth reading in: ``h_z = depth * w`` is linear in the state. Refused where it contradicts the track."""
    view = project(track, bearing.camera, track.mean)
    if view is None:
        return track
    rows_size, hz = view[4], view[5]
    w = track.mean[2]
    # A sensor's error grows with the square of the depth; the rest is the object's own thickness.
    deviation = 0.05 + 0.01 * depth_m * depth_m
    row = (-rows_size[0] * hz, -rows_size[1] * hz, -rows_size[2] * hz - depth_m, 0.0)
    residual = depth_m * w - hz
    variance = (deviation * hz / depth_m) ** 2
    spread = dot(row, times(track.covariance, row)) + variance
    if residual * residual > GATE * spread:
        return track
    mean, covariance = absorb(track.mean, track.covariance, row, residual, track.mean, variance)
    if mean[2] <= 0:
        return track
    return track._replace(mean=mean, covariance=covariance, depths=track.depths + 1)


def _with_shape(track: Track, aspect: float) -> tuple[float, float, int]:
    """Running mean and variance, and their count; the first of the variance, ``ASPECT_VARIANCE``, counts as one box."""
    n = track.whole_boxes + 1
    mean = track.aspect + (aspect - track.aspect) / n
    spread = (aspect - track.aspect) * (aspect - mean)
    variance = track.aspect_variance + (spread - track.aspect_variance) / (n + 1)
    return mean, max(variance, MIN_ASPECT_VARIANCE), n
