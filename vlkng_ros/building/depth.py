"""How far away a detection is, and so where, from a depth image that is aligned to the camera's."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from vlkng_ros.errors import ImageError
from vlkng_ros.perception.relations import Place
from vlkng_ros.types import NS_PER_S, BoxPx, Detection, FloatArray, Intrinsics, Pose

NEAREST_M = 0.05
FARTHEST_M = 100.0
LEAST_SHARE = 0.1
"""Of the pixels looked at; fewer valid ones say nothing."""
APART_NS = NS_PER_S // 20
"""Depth and colour of one moment may be stamped this far apart."""
KEPT = 8


def metres_of(message: Any) -> FloatArray:
    """Depths of an Image message in metres, shape ``(h, w)``; NaN where there is none.

    Raises:
        ImageError: another encoding than 16UC1 (millimetres) or 32FC1 (metres), or data that does not fit.
    """
    encoding = str(message.encoding).strip().upper()
    if encoding not in ("16UC1", "MONO16", "32FC1"):
        raise ImageError(f"depth image with encoding '{message.encoding}': known are 16UC1 (mm) and 32FC1 (m)")
    order = ">" if message.is_bigendian else "<"
    dtype = np.dtype(f"{order}f4" if encoding == "32FC1" else f"{order}u2")
    height, width, step = int(message.height), int(message.width), int(message.step)
    data = np.frombuffer(message.data, dtype=np.uint8)
    if height <= 0 or width <= 0 or step < width * dtype.itemsize or data.size < height * step:
        raise ImageError(f"depth image of {width}x{height} pixels: {data.size} bytes in rows of {step} do not fit")
    rows = data[: height * step].reshape(height, step)[:, : width * dtype.itemsize]
    depth = np.ascontiguousarray(rows).view(dtype).astype(np.float32)
    if encoding != "32FC1":
        depth *= np.float32(1e-3)
    depth[~((depth >= NEAREST_M) & (depth <= FARTHEST_M))] = np.nan
    return depth


def distance_m(depth_m: FloatArray, box_px: BoxPx, image_size_px: tuple[int, int]) -> float | None:
    """Distance along the optical axis of what a box shows: the median over its middle, where the thing is most likely.

    Args:
        depth_m: shape ``(h, w)``, of the same view as the image, in whatever resolution.
        box_px: in pixels of the image.
        image_size_px: ``(width, height)`` of the image.
    """
    height, width = depth_m.shape
    scale_x, scale_y = width / image_size_px[0], height / image_size_px[1]
    x1, y1, x2, y2 = box_px
    quarter_x, quarter_y = (x2 - x1) / 4, (y2 - y1) / 4
    left, right = int((x1 + quarter_x) * scale_x), int(np.ceil((x2 - quarter_x) * scale_x))
    top, bottom = int((y1 + quarter_y) * scale_y), int(np.ceil((y2 - quarter_y) * scale_y))
    middle = depth_m[max(0, top) : max(0, bottom), max(0, left) : max(0, right)]
    valid = middle[np.isfinite(middle)]
    if middle.size == 0 or valid.size < LEAST_SHARE * middle.size:
        return None
    return float(np.median(valid))


def place_of(detection: Detection, camera: Pose, intrinsics: Intrinsics) -> Place | None:
    """Where a detection with box and depth is, in the camera pose's frame, whose z axis points up.

    Args:
        detection: its box is in pixels of the image that ``intrinsics`` are of.
        camera: the optical frame.
        intrinsics: the camera's.
    """
    if detection.box_px is None or detection.depth_m is None:
        return None
    x1, y1, x2, y2 = detection.box_px
    depth_m, middle = detection.depth_m, (x1 + x2) / 2
    rays = [
        ((middle - intrinsics.cx) / intrinsics.fx, (y - intrinsics.cy) / intrinsics.fy, 1.0)
        for y in ((y1 + y2) / 2, y1, y2)
    ]
    points = (depth_m * np.asarray(rays)) @ camera.rotation().T + np.asarray(camera.position_m)
    x, y, z = points[0].tolist()
    bottom_m, top_m = sorted((float(points[1, 2]), float(points[2, 2])))
    return Place((x, y, z), depth_m * (x2 - x1) / intrinsics.fx / 2, bottom_m, top_m)


class DepthMatcher:
    """Pairs keyframes with depth images by their stamps, whichever comes first."""

    def __init__(self) -> None:
        self._images: deque[tuple[int, Any]] = deque(maxlen=KEPT)
        self._keyframes: deque[tuple[int, int]] = deque(maxlen=KEPT)

    def add_image(self, stamp_ns: int, message: Any) -> list[int]:
        """Take a depth image; ids of the keyframes that were waiting for it."""
        self._images.append((stamp_ns, message))
        found = [(at, number) for at, number in self._keyframes if abs(at - stamp_ns) <= APART_NS]
        for waiting in found:
            self._keyframes.remove(waiting)
        return [number for _, number in found]

    def image_at(self, stamp_ns: int) -> Any | None:
        """The depth image of a moment, as far as it has come."""
        near = [(abs(at - stamp_ns), message) for at, message in self._images if abs(at - stamp_ns) <= APART_NS]
        return min(near, key=lambda pair: pair[0])[1] if near else None

    def wait_for(self, stamp_ns: int, keyframe_id: int) -> None:
        """A keyframe's depth image is still to come."""
        self._keyframes.append((stamp_ns, keyframe_id))

    def clear(self) -> None:
        """A new session."""
        self._images.clear()
        self._keyframes.clear()
