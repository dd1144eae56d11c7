"""A thing's track, and what a camera would see of it.

``track`` makes tracks of boxes, and says there in which coordinates they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from vlkng_ros.memory.bearing import POSITION_DEVIATION_M, Bearing, CameraView
from vlkng_ros.memory.kalman import State, Symmetric4, dot, times
from vlkng_ros.types import Vec3

Projection = tuple[float, float, State, State, State, float]
"""x and y in a camera, their Jacobian rows and that of the log height, and the scaled depth ``h_z = w * depth``."""
MIN_DEPTH_M, MIN_SCALED_DEPTH = 0.05, 0.02
"""What is nearer along a camera's axis, or whose scaled depth is less, is taken to be behind it."""


class Track(NamedTuple):
    """What the bearings so far say about a thing's place."""

    anchor_m: Vec3
    right: Vec3
    down: Vec3
    forward: Vec3
    mean: State
    """x, y in normalised coordinates of the anchor camera, inverse depth 1/m, log(apparent height at the anchor)."""
    covariance: Symmetric4
    parallax_rad: float
    """Largest angle, at the object, between the anchor's ray and a later one."""
    surprise: float
    """Sum of squared normalised innovations of what was accepted, and ..."""
    surprise_count: float
    """... how many scalar measurements that were: their ratio is 1 where the noise model is right."""
    aspect: float
    aspect_variance: float
    """Mean of the logarithm of width by height over the boxes that were seen whole, and its variance."""
    whole_boxes: int
    depths: int
    boxes: int
    last_camera_m: Vec3
    refused: int = 0
    """Boxes that were taken for the thing and do not fit the track."""


class Prediction(NamedTuple):
    """Where in a camera's image a track should be, in normalised coordinates, and a box's difference from it."""

    residual_x: float
    residual_y: float
    variance_x: float
    covariance_xy: float
    variance_y: float
    residual_size: float
    """Difference of log heights; only how far the box is too tall where the image's border cuts it."""
    variance_size: float

    @property
    def distance2(self) -> float:
        """Squared Mahalanobis distance of the bearing alone: 2 degrees of freedom."""
        det = self.variance_x * self.variance_y - self.covariance_xy**2
        x, y = self.residual_x, self.residual_y
        return (self.variance_y * x * x - 2 * self.covariance_xy * x * y + self.variance_x * y * y) / det

    def log_density(self, more_x: float) -> float:
        """Logarithm of the bearing's probability density, with ``more_x`` added to the variance in x."""
        variance_x = self.variance_x + more_x
        det = variance_x * self.variance_y - self.covariance_xy**2
        x, y = self.residual_x, self.residual_y
        distance2 = (self.variance_y * x * x - 2 * self.covariance_xy * x * y + variance_x * y * y) / det
        return -0.5 * distance2 - math.log(2 * math.pi) - 0.5 * math.log(det)


class Expectation(NamedTuple):
    """What a camera would see of a track, whatever box it is compared with."""

    x: float
    y: float
    variance_x: float
    covariance_xy: float
    variance_y: float
    """Of the track alone, in normalised coordinates."""
    place_variance: float
    """What the camera's own place adds to either variance."""
    log_height: float
    variance_size: float

    def against(self, bearing: Bearing) -> Prediction:
        """A box compared with it."""
        residual_size = bearing.log_height - self.log_height
        return Prediction(
            bearing.x - self.x,
            bearing.y - self.y,
            self.variance_x + bearing.variance_x + self.place_variance,
            self.covariance_xy,
            self.variance_y + bearing.variance_y + self.place_variance,
            max(residual_size, 0.0) if bearing.cut_y != 0 else residual_size,
            self.variance_size + bearing.variance_log_height,
        )


def project(track: Track, camera: CameraView, state: State) -> Projection | None:
    """Where a camera sees the thing, were this its state; None behind the camera."""
    x, y, w, _ = state
    (r0, r1, r2), (d0, d1, d2), (f0, f1, f2) = track.right, track.down, track.forward
    (u0, u1, u2), (v0, v1, v2), (n0, n1, n2) = camera.right, camera.down, camera.forward
    (a0, a1, a2), (c0, c1, c2) = track.anchor_m, camera.centre_m
    t0, t1, t2 = a0 - c0, a1 - c1, a2 - c2
    # The scaled vector from this camera to the thing: w (X - c) = ray + w (anchor - c).
    h0 = f0 + x * r0 + y * d0 + w * t0
    h1 = f1 + x * r1 + y * d1 + w * t1
    h2 = f2 + x * r2 + y * d2 + w * t2
    hz = n0 * h0 + n1 * h1 + n2 * h2
    if hz < MIN_SCALED_DEPTH or hz < w * MIN_DEPTH_M:
        return None
    px = (u0 * h0 + u1 * h1 + u2 * h2) / hz
    py = (v0 * h0 + v1 * h1 + v2 * h2) / hz
    xz = (n0 * r0 + n1 * r1 + n2 * r2) / hz
    yz = (n0 * d0 + n1 * d1 + n2 * d2) / hz
    wz = (n0 * t0 + n1 * t1 + n2 * t2) / hz
    rows_x = (
        (u0 * r0 + u1 * r1 + u2 * r2) / hz - px * xz,
        (u0 * d0 + u1 * d1 + u2 * d2) / hz - px * yz,
        (u0 * t0 + u1 * t1 + u2 * t2) / hz - px * wz,
        0.0,
    )
    rows_y = (
        (v0 * r0 + v1 * r1 + v2 * r2) / hz - py * xz,
        (v0 * d0 + v1 * d1 + v2 * d2) / hz - py * yz,
        (v0 * t0 + v1 * t1 + v2 * t2) / hz - py * wz,
        0.0,
    )
    return px, py, rows_x, rows_y, (-xz, -yz, -wz, 1.0), hz


def expectation(track: Track, view: Projection) -> Expectation:
    """What a camera expects of a track, given the track's projection into it at its mean."""
    x, y, rows_x, rows_y, _, depth = view
    p, mean = track.covariance, track.mean
    px, py = times(p, rows_x), times(p, rows_y)
    return Expectation(
        x,
        y,
        dot(rows_x, px),
        dot(rows_x, py),
        dot(rows_y, py),
        place_variance(mean[2], depth),
        *expected_size(track, view),
    )


def expected_size(track: Track, view: Projection) -> tuple[float, float]:
    """Log height of the thing in a camera's image, and its variance."""
    rows, depth = view[4], view[5]
    return track.mean[3] - math.log(depth), dot(rows, times(track.covariance, rows))


def place_variance(inverse_depth: float, scaled_depth: float) -> float:
    """Variance in normalised coordinates that the camera's own place brings: larger for near things."""
    ratio = POSITION_DEVIATION_M * max(inverse_depth, 0.0) / scaled_depth
    return ratio * ratio
