import numpy as np
import pytest

from vlkng_ros.building.image_codec import decode_image, encode_jpeg, fit_width
from vlkng_ros.errors import ImageError


def gradient(height, width):
    image = np.zeros((height, width, 3), dtype=np.uint8)
    image[..., 0] = np.linspace(0, 255, width).astype(np.uint8)
    image[..., 2] = 200
    return image


def test_a_wide_image_is_reduced_and_a_small_one_left_alone():
    assert fit_width(gradient(720, 1280), 640).shape == (360, 640, 3)
    small = gradient(48, 64)
    assert fit_width(small, 640) is small


def test_a_picture_survives_jpeg_with_its_channels_in_place():
    image = gradient(48, 64)
    back = decode_image(encode_jpeg(image, 90))
    assert back.shape == image.shape
    assert np.abs(back.astype(int) - image).mean() < 4


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 3), np.float32),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_what_is_not_an_rgb_image_is_refused(image):
    with pytest.raises(ImageError, match="needs RGB"):
        fit_width(image, 640)


@pytest.mark.parametrize("data", [b"", b"not a picture", b"\xff\xd8\xff\xe0 cut off"])
def test_damaged_data_is_refused(data):
    with pytest.raises(ImageError, match="image: "):
        decode_image(data)
