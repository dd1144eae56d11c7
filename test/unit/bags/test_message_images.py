"""Every encoding that cameras publish becomes RGB, and what cannot is refused by name."""

from __future__ import annotations

import array
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from ros_messages import compressed_image, image

from vlkng_ros.bags.images import rgb_of
from vlkng_ros.errors import ImageError

RGB = np.zeros((8, 12, 3), np.uint8)
RGB[:, :6] = (200, 60, 30)
RGB[:, 6:] = (20, 120, 220)
BGR = RGB[:, :, ::-1]
GRAY = cv2.cvtColor(RGB, cv2.COLOR_RGB2GRAY)
OPAQUE = np.full((8, 12, 1), 255, np.uint8)


def yuv422(order: str) -> Any:
    """RGB as two bytes a pixel, brightness and every other colour difference, in ``uyvy`` or ``yuyv`` order."""
    yuv = cv2.cvtColor(np.ascontiguousarray(RGB), cv2.COLOR_RGB2YUV)
    chroma = np.where(np.arange(12) % 2 == 0, yuv[:, :, 1], yuv[:, :, 2])
    pair = (chroma, yuv[:, :, 0]) if order == "uyvy" else (yuv[:, :, 0], chroma)
    return np.stack(pair, axis=2)


def nv(second: str) -> Any:
    """RGB as a plane of brightness and a plane of half-size colour differences, ``u`` or ``v`` first."""
    yuv = cv2.cvtColor(np.ascontiguousarray(RGB), cv2.COLOR_RGB2YUV)
    u, v = yuv[::2, ::2, 1], yuv[::2, ::2, 2]
    pair = (u, v) if second == "u" else (v, u)
    return np.concatenate([yuv[:, :, 0], np.stack(pair, axis=2).reshape(4, 12)])


@pytest.mark.parametrize(
    ("encoding", "pixels", "tolerance"),
    [
        ("rgb8", RGB, 0),
        ("bgr8", BGR, 0),
        ("8UC3", BGR, 0),
        ("rgba8", np.concatenate([RGB, OPAQUE], axis=2), 0),
        ("bgra8", np.concatenate([BGR, OPAQUE], axis=2), 0),
        ("rgb16", RGB.astype(np.uint16) * 257, 1),
        ("yuv422", yuv422("uyvy"), 40),
        ("uyvy", yuv422("uyvy"), 40),
        ("yuv422_yuy2", yuv422("yuyv"), 40),
        ("yuyv", yuv422("yuyv"), 40),
    ],
)
def test_colours_come_out_as_they_were(encoding: str, pixels: Any, tolerance: int) -> None:
    got = rgb_of(image(pixels, encoding))
    assert got.shape == (8, 12, 3)
    assert got.dtype == np.uint8
    assert np.abs(got.astype(int) - RGB).max() <= tolerance


@pytest.mark.parametrize(("encoding", "first"), [("nv12", "u"), ("nv21", "v")])
def test_chroma_behind_luma_is_used(encoding: str, first: str) -> None:
    got = rgb_of(image(nv(first), encoding, height=8))
    assert got.shape == (8, 12, 3)
    assert np.abs(got.astype(int) - RGB).max() <= 40


@pytest.mark.parametrize(
    ("encoding", "pixels"), [("mono8", GRAY), ("8UC1", GRAY), ("mono16", GRAY.astype(np.uint16) * 257)]
)
def test_gray_is_gray_in_every_channel(encoding: str, pixels: Any) -> None:
    got = rgb_of(image(pixels, encoding))
    assert np.abs(got.astype(int) - GRAY[:, :, None]).max() <= 1


def test_big_endian_is_turned_round() -> None:
    message = image((GRAY.astype(np.uint16) * 257).byteswap(), "mono16")
    message = SimpleNamespace(**{name: getattr(message, name) for name in message.__dataclass_fields__})
    message.is_bigendian = 1
    assert np.abs(rgb_of(message).astype(int) - GRAY[:, :, None]).max() <= 1


@pytest.mark.parametrize(
    ("encoding", "red_at"),
    [("bayer_rggb8", (0, 0)), ("bayer_grbg8", (0, 1)), ("bayer_gbrg8", (1, 0)), ("bayer_bggr8", (1, 1))],
)
def test_a_bayer_pattern_says_where_red_is(encoding: str, red_at: tuple[int, int]) -> None:
    mosaic = np.zeros((8, 12), np.uint8)
    mosaic[red_at[0] :: 2, red_at[1] :: 2] = 200
    middle = rgb_of(image(mosaic, encoding))[2:-2, 2:-2]
    assert middle[:, :, 0].mean() > 90
    assert middle[:, :, 1:].max() == 0


def test_padding_at_the_end_of_rows_is_no_picture() -> None:
    padded = np.full((8, 40), 77, np.uint8)
    padded[:, :36] = RGB.reshape(8, 36)
    assert np.array_equal(rgb_of(image(padded, "rgb8", width=12)), RGB)


def test_a_message_of_rclpy_does_as_well() -> None:
    message = SimpleNamespace(
        height=8, width=12, encoding="bgr8", is_bigendian=0, step=36, data=array.array("B", BGR.tobytes())
    )
    assert np.array_equal(rgb_of(message), RGB)


@pytest.mark.parametrize("form", ["jpeg", "bgr8; jpeg compressed bgr8", "png"])
def test_compressed_images_are_decoded(form: str) -> None:
    ok, data = cv2.imencode(".png" if form == "png" else ".jpg", np.ascontiguousarray(BGR))
    assert ok
    assert np.abs(rgb_of(compressed_image(bytes(data), form)).astype(int) - RGB).mean() < 15


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (image(RGB, "rgb9"), "image with encoding 'rgb9': not known; known are rgb8, bgr8"),
        (image(RGB, ""), "image with encoding '': not known"),
        (image(GRAY.astype(np.uint16), "16UC1"), "16UC1': a depth image; name the colour image's topic"),
        (image(GRAY.astype(np.float32), "32FC1"), "32FC1': a depth image"),
        (
            image(RGB, "rgb8", height=9),
            "image of 12x9 pixels with encoding 'rgb8': needs 9 rows of 36 bytes, holds 288",
        ),
        (image(RGB, "rgb8", step=20), "needs 8 rows of 36 bytes, holds 288 bytes in rows of 20"),
        (image(RGB, "rgb8", width=2**31), "its size is wrong"),
        (image(RGB[:, :7], "yuyv", width=7, step=14), "'yuyv': cannot be made RGB"),
        (compressed_image(b"", "jpeg"), "compressed image 'jpeg' of 0 bytes: damaged"),
        (compressed_image(b"\xff\xd8\xff\xe0 not a picture", "jpeg"), "damaged, or not JPEG or PNG"),
        (compressed_image(b"\x00" * 99, "16UC1; compressedDepth png"), "a depth image"),
        (compressed_image(b"\x00" * 99, "16UC1; png compressed "), "a depth image"),
    ],
)
def test_what_is_no_picture_is_refused(message: Any, says: str) -> None:
    with pytest.raises(ImageError, match=says):
        rgb_of(message)
