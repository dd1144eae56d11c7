"""Where a camera would see many things, all at once: which of them a box may show, before any is looked at closely."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from vlkng_ros.memory.association.likelihood import HIGHEST, PARTLY_HIDDEN
from vlkng_ros.memory.bearing import POSITION_DEVIATION_M, Bearing, CameraView
from vlkng_ros.memory.projection import MIN_DEPTH_M, MIN_SCALED_DEPTH, Expectation, Track
from vlkng_ros.memory.track import NARROW, SIZE_KNOWN_VARIANCE
from vlkng_ros.types import Float64Array

_ROW = struct.Struct("<34d")
_AXES, _STATE, _SPREAD, _HEIGHT, _NARROWEST = slice(0, 12), slice(12, 16), slice(16, 32), 32, 33
ROUNDING = 1e-6
"""What a bound may be off by, as it is computed in another order than the density that it is a bound of."""


def row_of(track: Track) -> bytes:
    """A track as ``table_of`` takes it: the axes of its state, the state and its covariance, and its shape."""
    (x, y, w, height), (xx, xy, xw, xh, yy, yw, yh, ww, wh, hh) = track.mean, track.covariance
    return _ROW.pack(
        *track.anchor_m, *track.right, *track.down, *track.forward,
        w, x, y, 1.0,
        ww, xw, yw, wh,
        xw, xx, xy, xh,
        yw, xy, yy, yh,
        wh, xh, yh, hh,
        height, math.exp(track.aspect) * NARROW if track.whole_boxes else 0.0,
    )  # fmt: skip


def table_of(rows: Sequence[bytes]) -> Float64Array:
    """Tracks as ``Outlook`` takes them, one a row."""
    return np.frombuffer(b"".join(rows), dtype=np.float64).reshape(-1, _ROW.size // 8)


def as_tall_as(table: Float64Array, log_heights: Float64Array) -> Float64Array:
    """``track.with_height`` of many, each with a mean and a variance, shape ``(n, 2)``."""
    table = table.copy()
    w, height, spread = table[:, _STATE.start], table[:, _HEIGHT], table[:, _SPREAD].reshape(-1, 4, 4)
    mean, variance = log_heights.T
    sized = spread[:, 3, 3] <= SIZE_KNOWN_VARIANCE
    inverse_depth, depth_known = np.exp(height - mean), np.where(sized, 1.0, w)
    row = np.zeros((len(table), 4))
    row[:, 0], row[:, 3] = np.where(sized, 1.0, -1.0 / depth_known), ~sized
    residual = np.where(sized, inverse_depth - w, mean - height + np.log(depth_known))
    noise = np.where(sized, inverse_depth * inverse_depth * (variance + spread[:, 3, 3]), variance)
    gain = (spread @ row[:, :, None])[:, :, 0]
    total = ((row * gain).sum(axis=1) + noise)[:, None]
    step = gain * (residual[:, None] / total)
    table[:, 12:15] += step[:, :3]
    table[:, _HEIGHT] += step[:, 3]
    table[:, _SPREAD] -= (gain[:, :, None] * (gain / total)[:, None]).reshape(-1, 16)
    return table


class Outlook:
    """Tracks as a camera would see them: ``front`` are those that are not behind it, as numbers of rows."""

    def __init__(self, table: Float64Array, camera: CameraView) -> None:
        # The same arithmetic as ``projection.project`` and ``expectation``.
        axes = np.array((camera.right, camera.down, camera.forward)).T
        along = table[:, _AXES].reshape(-1, 4, 3) @ axes
        along[:, 0] -= camera.centre_m @ axes
        ray = (table[:, None, _STATE] @ along)[:, 0]
        nearest = np.maximum(table[:, _STATE.start] * MIN_DEPTH_M, MIN_SCALED_DEPTH)
        self.front = np.flatnonzero(ray[:, 2] >= nearest - ROUNDING)
        table, along, ray = table[self.front], along[self.front, :3], ray[self.front]
        ahead = ray[:, 2:]
        self._direction = ray[:, :2] / ahead
        # How x, y and the log height in the image change with the track's state.
        turns = np.zeros((len(table), 3, 4))
        turns[:, :2, :3] = along[:, :, :2].swapaxes(1, 2) - self._direction[:, :, None] * along[:, None, :, 2]
        turns[:, 2, :3] = -along[:, :, 2]
        turns /= ahead[:, :, None]
        turns[:, 2, 3] = 1.0
        moved = turns @ table[:, _SPREAD].reshape(-1, 4, 4)
        self._variance = (moved * turns).sum(axis=2)
        self._covariance_xy = (moved[:, 0] * turns[:, 1]).sum(axis=1)
        self._place = (POSITION_DEVIATION_M * np.maximum(table[:, _STATE.start], 0.0) / ahead[:, 0]) ** 2
        self._log_height = table[:, _HEIGHT] - np.log(ahead[:, 0])
        self._narrowest = table[:, _NARROWEST]

    def expectation(self, number: int) -> Expectation:
        """What is expected of one of those in front."""
        x, y = self._direction[number].tolist()
        variance_x, variance_y, variance_size = self._variance[number].tolist()
        covariance_xy, place = float(self._covariance_xy[number]), float(self._place[number])
        log_height = float(self._log_height[number])
        return Expectation(x, y, variance_x, covariance_xy, variance_y, place, log_height, variance_size)

    def highest(self, boxes: Sequence[Bearing]) -> Float64Array:
        """What no log density of a box given a track in front is above, shape ``(len(boxes), len(front))``.

        See ``likelihood.box_density``: a box that the border cuts is completed by what is known of the thing, and then
        nothing is said of its direction, or its height, along that side.
        """
        measured = np.array([_measured(box) for box in boxes])
        x, y, variance_x, variance_y, log_height, variance_size, height, width = measured.T[:, :, None]
        narrower = np.maximum(height * self._narrowest - width, 0.0)
        variance_x = variance_x + narrower * narrower / 4 + (PARTLY_HIDDEN * width) ** 2
        (at_x, at_y), (spread_x, spread_y, spread_size) = self._direction.T, self._variance.T
        off_x = (x - at_x) ** 2 / (spread_x + variance_x + self._place)
        off_y = (y - at_y) ** 2 / (spread_y + variance_y + self._place)
        off_size = (log_height - self._log_height) ** 2 / (spread_size + variance_size)
        bound: Float64Array = HIGHEST + ROUNDING - 0.5 * (np.maximum(off_x, off_y) + off_size)
        return bound


def _measured(box: Bearing) -> tuple[float, ...]:
    """What is known of a box whatever it shows: infinite variances elsewhere, and no height where it is not whole."""
    completed_x = box.cut_y == 0 and box.cut_x in (-1, 1)
    completed_y = box.cut_x == 0 and box.cut_y in (-1, 1)
    return (
        box.x,
        box.y,
        math.inf if completed_x else box.variance_x,
        math.inf if completed_y else box.variance_y,
        box.log_height,
        math.inf if box.cut_y else box.variance_log_height,
        0.0 if box.cut_off else box.height,
        box.width,
    )
