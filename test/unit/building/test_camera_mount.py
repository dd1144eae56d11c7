import math

import numpy as np
import pytest

from vlkng_ros.building.camera_mount import camera_in_base
from vlkng_ros.config import CameraConfig


def test_a_camera_that_is_mounted_straight_looks_ahead_with_x_to_the_right_and_y_down():
    axes = camera_in_base(CameraConfig()).rotation()
    np.testing.assert_allclose(axes[:, 2], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(axes[:, 0], [0, -1, 0], atol=1e-12)
    np.testing.assert_allclose(axes[:, 1], [0, 0, -1], atol=1e-12)


def test_positive_yaw_looks_left_and_positive_pitch_down():
    left = camera_in_base(CameraConfig(yaw_rad=math.pi / 2, x_m=0.2, z_m=1.1))
    np.testing.assert_allclose(left.rotation()[:, 2], [0, 1, 0], atol=1e-12)
    assert left.position_m == (0.2, 0.0, 1.1)
    down = camera_in_base(CameraConfig(pitch_rad=math.pi / 4))
    np.testing.assert_allclose(down.rotation()[:, 2], [math.sqrt(0.5), 0, -math.sqrt(0.5)], atol=1e-12)


@pytest.mark.parametrize("source", ["tf", "none"])
def test_other_sources_give_no_pose_from_parameters(source):
    assert camera_in_base(CameraConfig(extrinsics=source)) is None
