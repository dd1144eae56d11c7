"""Where a camera would see many things, all at once: which of them a box may show, before any is looked at closely."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from vlkng_ros.memory.association.likelihood import HIGHEST, PARTLY_HIDDEN
from vlkng_ros.memory.bearing import POSITION_DEVIATION_M, Bearing, CameraView
from vlkng_ros.memory.projection import MIN_DEPTH_M, MIN_SCALED_DEPTH, Track
from vlkng_ros.memory.track import NARROW
from vlkng_ros.types import Float64Array

_ROW = struct.Struct("<34d")
ROUNDING = 1e-6
"""What a bound may be off by, as it is computed in another order than the density that it is a bound of."""


def row_of(track: Track) -> bytes:
    """What ``Outlook`` takes of a track: what its state is measured along, its state and covariance, and its shape."""
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


class Outlook:
    """Tracks as a camera would see them: ``front`` are those that are not behind it, as numbers among ``rows``."""

    def __init__(self, rows: bytes, camera: CameraView) -> None:
        table = np.frombuffer(rows, dtype=np.float64).reshape(-1, _ROW.size // 8)
        axes = np.array((camera.right, camera.down, camera.forward)).T
        # The same arithmetic as ``projection.project`` and ``expectation``.
        along = table[:, :12].reshape(-1, 4, 3) @ axes
        along[:, 0] -= camera.centre_m @ axes
        state = table[:, 12:16]
        ray = np.einsum("ni,nij->nj", state, along)
        ahead, near = ray[:, 2], state[:, 0] * MIN_DEPTH_M
        self.front = np.flatnonzero(ahead >= np.maximum(near, MIN_SCALED_DEPTH) - ROUNDING)
        table, along, ray = table[self.front], along[self.front], ray[self.front] / ahead[self.front, None]
        ahead = ahead[self.front, None]
        self._direction = ray[:, :2]
        # By x, y and log height in the image: the Jacobian in the track's state.
        turns = np.zeros((len(table), 3, 4))
        depth = along[:, :3, 2] / ahead
        turns[:, :2, :3] = (along[:, :3, :2] / ahead[:, None]).swapaxes(1, 2) - self._direction[:, :, None] * depth[
            :, None
        ]
        turns[:, 2, :3] = -depth
        turns[:, 2, 3] = 1.0
        spread = table[:, 16:32].reshape(-1, 4, 4)
        self._variance = np.einsum("nij,njk,nik->ni", turns, spread, turns)
        self._variance[:, :2] += (POSITION_DEVIATION_M * np.maximum(table[:, 12:13], 0.0) / ahead) ** 2
        self._log_height = table[:, 32] - np.log(ahead[:, 0])
        self._narrowest = table[:, 33]

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
        off_x = (x - at_x) ** 2 / (spread_x + variance_x)
        off_y = (y - at_y) ** 2 / (spread_y + variance_y)
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
