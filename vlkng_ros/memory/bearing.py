"""What the box of a detection says about where its object is: a ray, an apparent size and how sure both are.

A bearing lives in normalised image coordinates (a pixel at ``(x, y)`` is the ray ``forward + x right + y down``), so
that everything behind it is independent of the camera's resolution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from vlkng_ros.types import Detection, Intrinsics, Keyframe, Vec3

BOX_JITTER = 0.05
"""Standard deviation of each edge of a detector's box, as a fraction of the box's side."""
CENTRE_MISMATCH = 0.03
"""The middle of a box is not the same point of the object from every side: deviation as a fraction of the side."""
SIZE_DEVIATION = 0.12
"""Standard deviation of log(height): two jittered edges (0.07), and no object is equally tall from all sides."""
HEADING_DEVIATION_RAD = math.radians(0.8)
TILT_DEVIATION_RAD = math.radians(0.2)
POSITION_DEVIATION_M = 0.025
"""Errors of a keyframe's pose, taken as independent: SLAM's own (DESIGN section 6: 0.5 degrees, 2 cm) and odometry's
since the last SLAM pose."""
MIN_SIDE_PX = 1.0
CUT_VARIANCE = 0.25
"""A box that the image's border cuts goes on beyond it: variance of where its middle is, as a fraction of its side."""
EDGE_FRACTION, EDGE_JITTERS = 0.006, 2.5
"""A box within this fraction of the image's side of its border, or within this many deviations of its own edge, is
taken as cut off by it: of those that near, most are."""
HIDDEN_VARIANCE = 0.0036
"""A door frame or another thing hides a part of 4 boxes in 100, and their middle is off by 0.3 of their width."""


class CameraView(NamedTuple):
    """A keyframe's camera: optical centre and axes in the map frame, all plain floats."""

    centre_m: Vec3
    right: Vec3
    down: Vec3
    forward: Vec3
    intrinsics: Intrinsics


class Bearing(NamedTuple):
    """One box as a measurement. Variances include the box, the pose's heading and tilt, not the pose's place."""

    camera: CameraView
    x: float
    y: float
    """Direction of the middle of the thing: normalised coordinates, right and down."""
    variance_x: float
    variance_y: float
    log_height: float
    """Logarithm of the box's height in normalised coordinates; a lower bound where ``cut_y``."""
    variance_log_height: float
    width: float
    height: float
    """Sides of the box in normalised coordinates."""
    depth_m: float | None
    cut_x: int
    """Where the image's border cuts the box: -1 on the left, 1 on the right, 2 on both sides, 0 nowhere."""
    cut_y: int
    """The same: -1 above, 1 below."""

    @property
    def cut_off(self) -> bool:
        """Whether the image's border cuts the box anywhere, so that its middle is not the thing's."""
        return self.cut_x != 0 or self.cut_y != 0

    def doubted(self, factor: float) -> Bearing:
        """The same with larger variances of its direction."""
        if factor == 1.0:
            return self
        return self._replace(variance_x=self.variance_x * factor, variance_y=self.variance_y * factor)

    def completed(self, log_aspect: float, variance: float) -> Bearing:
        """A box that is cut on one side, completed by what is known of the thing's log(width / height)."""
        if not self.cut_off:
            return self
        cut_x, cut_y = self.cut_x, self.cut_y
        if cut_y == 0 and cut_x in (-1, 1):
            missing = max(self.height * math.exp(log_aspect) - self.width, 0.0)
            doubt = (self.width + missing) / 2
            return self._replace(
                x=self.x + cut_x * missing / 2,
                variance_x=self.variance_x + doubt * doubt * variance - CUT_VARIANCE * self.width * self.width,
            )
        if cut_x == 0 and cut_y in (-1, 1):
            missing = max(self.width * math.exp(-log_aspect) - self.height, 0.0)
            doubt = (self.height + missing) / 2
            return self._replace(
                y=self.y + cut_y * missing / 2,
                variance_y=self.variance_y + doubt * doubt * variance - CUT_VARIANCE * self.height * self.height,
                log_height=math.log(self.height + missing),
                variance_log_height=self.variance_log_height + variance,
                cut_y=0,
            )
        return self


def camera_view(keyframe: Keyframe) -> CameraView | None:
    """The camera of a keyframe, or None where its pose or intrinsics are unknown."""
    pose, intrinsics = keyframe.camera_pose, keyframe.intrinsics
    if pose is None or intrinsics is None or not (intrinsics.fx > 0 and intrinsics.fy > 0):
        return None
    size = keyframe.image_size_px
    if size is not None and size != (intrinsics.width_px, intrinsics.height_px):
        intrinsics = intrinsics.scaled_to(*size)
    x, y, z, w = pose.orientation
    return CameraView(
        pose.position_m,
        (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
        (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)),
        (2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)),
        intrinsics,
    )


def bearing_of(camera: CameraView, detection: Detection) -> Bearing | None:
    """The bearing of a detection's box, or None where it has no usable box."""
    box = detection.box_px
    if box is None:
        return None
    x1, y1, x2, y2 = box
    k = camera.intrinsics
    width, height = x2 - x1, y2 - y1
    if not (width >= MIN_SIDE_PX and height >= MIN_SIDE_PX and math.isfinite(x1 + y1 + x2 + y2)):
        return None
    x = ((x1 + x2) / 2 - k.cx) / k.fx
    y = ((y1 + y2) / 2 - k.cy) / k.fy
    width, height = width / k.fx, height / k.fy
    margin_x = max(EDGE_FRACTION * k.width_px, EDGE_JITTERS * BOX_JITTER * (x2 - x1))
    margin_y = max(EDGE_FRACTION * k.height_px, EDGE_JITTERS * BOX_JITTER * (y2 - y1))
    cut_x = _cut(x1 <= margin_x, x2 >= k.width_px - margin_x)
    cut_y = _cut(y1 <= margin_y, y2 >= k.height_px - margin_y)
    centre = BOX_JITTER * BOX_JITTER / 2 + CENTRE_MISMATCH * CENTRE_MISMATCH
    spread_x = width * width * (centre + (CUT_VARIANCE if cut_x else HIDDEN_VARIANCE))
    spread_y = height * height * (centre + (CUT_VARIANCE if cut_y else 0.0))
    heading, tilt = HEADING_DEVIATION_RAD * HEADING_DEVIATION_RAD, TILT_DEVIATION_RAD * TILT_DEVIATION_RAD
    depth = detection.depth_m
    return Bearing(
        camera,
        x,
        y,
        spread_x + heading * (1 + x * x) ** 2 + tilt * x * x * y * y,
        spread_y + tilt * (1 + y * y) ** 2 + heading * x * x * y * y,
        math.log(height),
        SIZE_DEVIATION * SIZE_DEVIATION,
        width,
        height,
        depth if depth is not None and math.isfinite(depth) and depth > 0 else None,
        cut_x,
        cut_y,
    )


def _cut(before: bool, after: bool) -> int:
    return 2 if before and after else int(after) - int(before)
