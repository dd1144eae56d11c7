import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.building.rotation import angle_between_rad, interpolate, multiply, slerp
from vlkng_ros.types import Pose

angle = st.floats(-math.pi, math.pi)


@given(angle, angle, st.floats(0.0, 1.0))
def test_slerp_turns_the_shorter_way_at_a_constant_rate(a, b, fraction):
    start, end = Pose.planar("map", 0, 0, a), Pose.planar("map", 0, 0, b)
    turned = slerp(start.orientation, end.orientation, fraction)
    whole = angle_between_rad(start.orientation, end.orientation)
    assert angle_between_rad(start.orientation, turned) == pytest.approx(fraction * whole, abs=1e-6)
    assert angle_between_rad(turned, end.orientation) == pytest.approx((1 - fraction) * whole, abs=1e-6)


@given(angle, angle)
def test_multiplying_quaternions_is_multiplying_their_matrices(a, b):
    p = Pose("map", (0, 0, 0), (math.sin(a / 2), 0, 0, math.cos(a / 2)))
    q = Pose("map", (0, 0, 0), (0, 0, math.sin(b / 2), math.cos(b / 2)))
    product = Pose("map", (0, 0, 0), multiply(p.orientation, q.orientation))
    np.testing.assert_allclose(product.rotation(), p.rotation() @ q.rotation(), atol=1e-12)


def test_a_small_angle_is_measured_exactly():
    a, b = Pose.planar("map", 0, 0, 1.0), Pose.planar("map", 0, 0, 1.0 + 1e-9)
    assert angle_between_rad(a.orientation, b.orientation) == pytest.approx(1e-9, rel=1e-3)


def test_halfway_between_two_poses_is_in_the_middle():
    middle = interpolate(Pose.planar("map", 0, 2, 0.0), Pose.planar("map", 4, 0, math.pi / 2), 0.5)
    assert middle.position_m == pytest.approx((2.0, 1.0, 0.0))
    assert middle.yaw_rad == pytest.approx(math.pi / 4)
