"""Keyframe images: reduced to the width that is kept, and to JPEG and back."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from vlkng_ros.errors import ImageError
from vlkng_ros.types import Image


def fit_width(image: Image, width_px: int) -> Image:
    """The image at most ``width_px`` wide, its shape kept; a smaller one is returned as it is.

    Raises:
        ImageError: not an RGB image of shape ``(h, w, 3)`` and type uint8, or an empty one.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or 0 in image.shape:
        raise ImageError(f"image: needs RGB of shape (h, w, 3) and type uint8, got {image.shape} {image.dtype}")
    height, width = image.shape[:2]
    if width <= width_px:
        return image
    size = (width_px, max(1, round(height * width_px / width)))
    return cast(Image, cv2.resize(image, size, interpolation=cv2.INTER_AREA))


def encode_jpeg(image: Image, quality: int) -> bytes:
    """An RGB image as JPEG.

    Raises:
        ImageError: OpenCV cannot encode it.
    """
    ok, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not ok:
        raise ImageError(f"image: OpenCV cannot encode {image.shape} as JPEG")
    return bytes(data)


def decode_image(data: bytes) -> Image:
    """JPEG or PNG bytes as an RGB image.

    Raises:
        ImageError: the data is not an image or is damaged.
    """
    if not data:
        raise ImageError("image: no data")
    try:
        decoded = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise ImageError(f"image: {len(data)} bytes that OpenCV refuses: {error}") from error
    if decoded is None:
        raise ImageError(f"image: {len(data)} bytes that are neither JPEG nor PNG, or damaged")
    return cast(Image, cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB))
