"""How sure a track's place is: what its filter says, times how well its boxes agree, and what does not average out.

The filter takes the errors of boxes and poses as stated and as independent. By how much the boxes of one thing miss
each other tells what they are here (the variance factor of geodesy), and a box that was taken for the thing but does
not fit counts too. What every box of it has in common, they do not tell.
"""

from __future__ import annotations

import math

from vlkng_ros.memory.projection import Track
from vlkng_ros.memory.track import GATE, place
from vlkng_ros.types import Vec3

SYSTEMATIC_M, SYSTEMATIC_CUT = 0.005, 0.08
"""What no number of boxes averages out, as a deviation: of the map, and sideways, as a fraction of its size, of a thing
that the image's border cut in every box: what was cut off is guessed, and the guess repeats. Where the border cut only
some of its boxes, it is that share of it."""
MAX_CUT_SIZE_M = 2.0
USUAL_SURPRISE, SURPRISE_WEIGHT = 0.52, 8.0
"""Mean squared normalised innovation where calibration and poses are as good as stated (below 1, since the stated
variances allow for much that is rare), and how many measurements' worth of belief there is in it."""
MIXED_FROM, MIXED_SPAN, MIXED_MOST = 3.0, 4.0, 0.9
"""By how many deviations the boxes of a thing may miss each other by more than usual without a doubt that they are
boxes of two things; that is likelier by 1 for each so many further ones, up to the last."""
MIXED_M, MIXED_UP_M = 1.0, 0.3
"""How far either of two things that were taken for one is from where that one seems to be, sideways and up."""


def point(track: Track) -> tuple[Vec3, tuple[float, float, float, float, float, float]]:
    """``track.place`` and the upper triangle of its covariance, to first order."""
    mean, a, r, d, p = place(track), track.anchor_m, track.right, track.down, track.covariance
    scale = 1 / max(track.mean[2], 0.01)
    size = min(math.exp(track.mean[3]) * scale * max(1.0, math.exp(track.aspect)), MAX_CUT_SIZE_M)
    floor_up = SYSTEMATIC_M * SYSTEMATIC_M
    floor = floor_up + (SYSTEMATIC_CUT * size * (1 - track.whole_boxes / track.boxes)) ** 2
    noise = variance_factor(track)
    # Columns of the Jacobian of the place in (x, y, inverse depth), then its product with their covariance.
    (x0, y0, w0), (x1, y1, w1), (x2, y2, w2) = (
        (r[i] * scale, d[i] * scale, (a[i] - mean[i]) * scale) for i in (0, 1, 2)
    )
    a0, b0, c0 = x0 * p[0] + y0 * p[1] + w0 * p[2], x0 * p[1] + y0 * p[4] + w0 * p[5], x0 * p[2] + y0 * p[5] + w0 * p[7]
    a1, b1, c1 = x1 * p[0] + y1 * p[1] + w1 * p[2], x1 * p[1] + y1 * p[4] + w1 * p[5], x1 * p[2] + y1 * p[5] + w1 * p[7]
    a2, b2, c2 = x2 * p[0] + y2 * p[1] + w2 * p[2], x2 * p[1] + y2 * p[4] + w2 * p[5], x2 * p[2] + y2 * p[5] + w2 * p[7]
    return mean, (
        noise * (a0 * x0 + b0 * y0 + c0 * w0) + floor,
        noise * (a0 * x1 + b0 * y1 + c0 * w1),
        noise * (a0 * x2 + b0 * y2 + c0 * w2),
        noise * (a1 * x1 + b1 * y1 + c1 * w1) + floor,
        noise * (a1 * x2 + b1 * y2 + c1 * w2),
        noise * (a2 * x2 + b2 * y2 + c2 * w2) + floor_up,
    )


def variance_factor(track: Track) -> float:
    """By how much more, or less, a thing's boxes miss each other than boxes usually do; a refused one by the gate."""
    squared = track.surprise + GATE * track.refused + SURPRISE_WEIGHT * USUAL_SURPRISE
    return squared / (track.surprise_count + 2 * track.refused + SURPRISE_WEIGHT) / USUAL_SURPRISE


def mixture(track: Track) -> float:
    """How likely it is that the boxes are of two things side by side: they do not agree, and no noise explains that."""
    count = track.surprise_count + 2 * track.refused
    if count == 0:
        return 0.0
    # The sum of squares of so many normal deviates, each of the usual variance, has this deviation.
    excess = (track.surprise + GATE * track.refused) / USUAL_SURPRISE - count
    return min(max((excess / math.sqrt(2 * count) - MIXED_FROM) / MIXED_SPAN, 0.0), MIXED_MOST)
