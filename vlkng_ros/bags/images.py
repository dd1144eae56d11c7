"""Image and CompressedImage messages as RGB arrays.

The fields are read by name, so that messages of rclpy and of the rosbags library do alike. Colours are converted by
OpenCV through ``rosbags.image``; rows with padding, and the formats with chroma behind the luma, are laid out first.
"""

from __future__ import annotations

import re
import sys
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.errors import ImageError
from vlkng_ros.types import Image

LARGEST_SIDE_PX = 1 << 15
_PLANAR = {"nv12": 1.5, "nv21": 1.5}
"""Rows of data a row of pixels: half-size chroma follows the luma."""
_SAME_AS = {"8uc1": "mono8", "8uc3": "bgr8", "8uc4": "bgra8", "yuv422_uyvy": "uyvy", "bgr": "bgr8", "rgb": "rgb8"}
"""Encodings without a colour mean OpenCV's order, as cv_bridge takes them."""
_DEPTH = re.compile(r"(?:16uc1|32fc1)(?:;.*)?|.*compresseddepth.*")


def rgb_of(message: Any) -> Image:
    """The image of an Image or CompressedImage message, shape ``(h, w, 3)``.

    Raises:
        ImageError: an encoding that is not known or is not of colours, or data that does not fit.
    """
    if hasattr(message, "format"):
        return _decompressed(message)
    encoding = str(message.encoding).strip().lower()
    encoding = _SAME_AS.get(encoding, encoding)
    if _DEPTH.fullmatch(encoding):
        raise ImageError(f"image with encoding '{message.encoding}': a depth image; name the colour image's topic")
    return _converted(_pixels(message, encoding), encoding)


def _pixels(message: Any, encoding: str) -> NDArray[Any]:
    """The raw array of a message, shape ``(rows, w)`` or ``(rows, w, channels)``, in the machine's byte order."""
    from rosbags.image.image import ImageFormatError, to_cvtype

    try:
        _, _, kind, channels = to_cvtype(encoding)
    except ImageFormatError:
        raise ImageError(
            f"image with encoding '{message.encoding}': not known; known are rgb8, bgr8, rgba8, bgra8, mono8, mono16, "
            "yuv422, yuv422_yuy2, uyvy, yuyv, nv12, nv21 and bayer_*"
        ) from None
    height, width = int(message.height), int(message.width)
    if not (0 < height <= LARGEST_SIDE_PX and 0 < width <= LARGEST_SIDE_PX):
        raise ImageError(f"image of {width}x{height} pixels: its size is wrong")
    rows = int(height * _PLANAR.get(encoding, 1))
    dtype = np.dtype(kind)
    row_bytes = width * channels * dtype.itemsize
    step = int(message.step) or row_bytes
    data = np.frombuffer(message.data, dtype=np.uint8)
    if step < row_bytes or data.size < step * (rows - 1) + row_bytes:
        raise ImageError(
            f"image of {width}x{height} pixels with encoding '{message.encoding}': needs {rows} rows of {row_bytes} "
            f"bytes, holds {data.size} bytes in rows of {step}"
        )
    padded = np.lib.stride_tricks.as_strided(data, shape=(rows, row_bytes), strides=(step, 1), writeable=False)
    shape = (rows, width) if channels == 1 else (rows, width, channels)
    pixels: NDArray[Any] = np.ascontiguousarray(padded).view(dtype).reshape(shape)
    foreign = dtype.itemsize > 1 and bool(message.is_bigendian) != (sys.byteorder == "big")
    return pixels.byteswap() if foreign else pixels


def _converted(pixels: NDArray[Any], encoding: str) -> Image:
    import cv2
    from rosbags.image.image import ImageConversionError, convert_color

    try:
        rgb = pixels if encoding == "rgb8" else convert_color(pixels, encoding, "rgb8")
    except (ImageConversionError, cv2.error) as error:
        raise ImageError(f"image with encoding '{encoding}': cannot be made RGB: {error}") from error
    return cast(Image, np.ascontiguousarray(rgb))


def _decompressed(message: Any) -> Image:
    import cv2

    if _DEPTH.fullmatch(str(message.format).lower()):
        raise ImageError(f"compressed image '{message.format}': a depth image; name the colour image's topic")
    data = np.frombuffer(message.data, dtype=np.uint8)
    try:
        bgr = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    except cv2.error:
        bgr = None
    if bgr is None:
        raise ImageError(f"compressed image '{message.format}' of {data.size} bytes: damaged, or not JPEG or PNG")
    return cast(Image, cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB))
