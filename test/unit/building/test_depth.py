from types import SimpleNamespace

import numpy as np
import pytest

from vlkng_ros.building.depth import DepthMatcher, distance_m, metres_of
from vlkng_ros.errors import ImageError

MS = 1_000_000


def message(array, encoding, big_endian=False):
    array = array.astype(array.dtype.newbyteorder(">" if big_endian else "<"))
    height, width = array.shape
    return SimpleNamespace(
        encoding=encoding, height=height, width=width, step=width * array.itemsize, is_bigendian=int(big_endian),
        data=array.tobytes(),
    )  # fmt: skip


@pytest.mark.parametrize("big_endian", [False, True])
def test_millimetres_and_metres_are_both_metres_and_zero_is_none(big_endian):
    raw = np.array([[0, 1500], [4000, 65535]], np.uint16)
    expected = np.array([[np.nan, 1.5], [4.0, 65.535]], np.float32)
    np.testing.assert_allclose(metres_of(message(raw, "16UC1", big_endian)), expected, rtol=1e-6)
    floats = np.array([[np.nan, 1.5], [np.inf, -1.0]], np.float32)
    metres = metres_of(message(floats, "32FC1", big_endian))
    assert metres[0, 1] == pytest.approx(1.5)
    assert np.isnan(metres[[0, 1, 1], [0, 0, 1]]).all()


def test_other_encodings_and_short_data_are_refused():
    with pytest.raises(ImageError, match="known are 16UC1"):
        metres_of(message(np.zeros((2, 2), np.uint8), "rgb8"))
    short = message(np.zeros((4, 4), np.uint16), "16UC1")
    short.data = short.data[:10]
    with pytest.raises(ImageError, match="do not fit"):
        metres_of(short)


def test_the_distance_of_a_box_is_the_median_of_its_middle():
    depth = np.full((48, 64), 5.0, np.float32)
    depth[12:36, 16:48] = 2.0
    depth[20:22, 30:40] = np.nan
    assert distance_m(depth, (16, 12, 48, 36), (64, 48)) == pytest.approx(2.0)
    # The image that was looked at is ten times as large as the depth image.
    assert distance_m(depth, (160, 120, 480, 360), (640, 480)) == pytest.approx(2.0)


def test_a_box_with_hardly_any_depth_has_no_distance():
    depth = np.full((48, 64), np.nan, np.float32)
    depth[0, 0] = 1.0
    assert distance_m(depth, (16, 12, 48, 36), (64, 48)) is None
    assert distance_m(depth, (100, 100, 120, 120), (64, 48)) is None


def test_depth_is_paired_by_its_stamp_whichever_comes_first():
    matcher = DepthMatcher()
    matcher.add_image(1000 * MS, "first")
    matcher.add_image(1033 * MS, "second")
    assert matcher.image_at(1030 * MS) == "second"
    assert matcher.image_at(1200 * MS) is None
    matcher.wait_for(1200 * MS, 7)
    assert matcher.add_image(1100 * MS, "early") == []
    assert matcher.add_image(1205 * MS, "third") == [7]
    assert matcher.add_image(1206 * MS, "again") == []
