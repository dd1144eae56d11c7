import math
import re

import numpy as np
import pytest

from vlkng_ros.building.camera_mount import cameras_in_base, other_cameras
from vlkng_ros.config import CameraConfig
from vlkng_ros.errors import ConfigError


def test_a_camera_that_is_mounted_straight_looks_ahead_with_x_to_the_right_and_y_down():
    axes = cameras_in_base(CameraConfig())[""].rotation()
    np.testing.assert_allclose(axes[:, 2], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(axes[:, 0], [0, -1, 0], atol=1e-12)
    np.testing.assert_allclose(axes[:, 1], [0, 0, -1], atol=1e-12)


def test_positive_yaw_looks_left_and_positive_pitch_down():
    left = cameras_in_base(CameraConfig(yaw_rad=math.pi / 2, x_m=0.2, z_m=1.1))[""]
    np.testing.assert_allclose(left.rotation()[:, 2], [0, 1, 0], atol=1e-12)
    assert left.position_m == (0.2, 0.0, 1.1)
    down = cameras_in_base(CameraConfig(pitch_rad=math.pi / 4))[""]
    np.testing.assert_allclose(down.rotation()[:, 2], [math.sqrt(0.5), 0, -math.sqrt(0.5)], atol=1e-12)


@pytest.mark.parametrize("source", ["tf", "none"])
def test_other_sources_give_no_pose_from_parameters(source):
    assert cameras_in_base(CameraConfig(extrinsics=source)) == {}


def test_further_cameras_have_mounts_of_their_own_and_one_that_is_not_given_has_none():
    config = CameraConfig(
        others="rear, left,top", others_mounts="rear: -0.3 0 0.8 0 0 3.14159265; left: 0,0.2,0.7,0,0,0"
    )
    mounts = cameras_in_base(config)
    assert set(mounts) == {"", "rear", "left"}
    assert mounts["rear"].position_m == (-0.3, 0.0, 0.8)
    assert mounts["rear"].rotation()[:, 2] == pytest.approx([-1, 0, 0], abs=1e-6)
    assert mounts["left"].position_m == (0.0, 0.2, 0.7)


@pytest.mark.parametrize(
    ("mounts", "says"),
    [
        ("rear: 1 2 3", "'rear: 1 2 3' is not 'NAME: x y z roll pitch yaw'"),
        ("rear: 1 2 3 4 5 nan", "is not 'NAME: x y z roll pitch yaw'"),
        ("front: 0 0 0 0 0 0", "'front' is not in camera.others (rear)"),
    ],
)
def test_a_mount_that_cannot_be_understood_is_refused(mounts, says):
    with pytest.raises(ConfigError, match=re.escape(says)):
        cameras_in_base(CameraConfig(others="rear", others_mounts=mounts))


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ("rear, rear", "'rear' is the name of 2 cameras"),
        ("camera", "'camera' is the name of 2 cameras"),
        ("left cam", "'left cam' cannot be part of a topic's name"),
    ],
)
def test_names_of_further_cameras_are_topics_of_their_own(others, says):
    with pytest.raises(ConfigError, match=re.escape(says)):
        other_cameras(CameraConfig(others=others))
    assert other_cameras(CameraConfig(others="rear, arm/left")) == ["rear", "arm/left"]
