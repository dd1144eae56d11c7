"""Poses, transforms and camera matrices out of raw messages."""

from __future__ import annotations

import math

import pytest
from ros_messages import camera_info, cdr, odometry, pose_graph, pose_stamped, pose_with_covariance, text, transforms

from vlkng_ros.bags.messages import (
    CAMERA_INFO,
    MARKERS,
    ODOMETRY,
    POSE,
    POSE_WITH_COVARIANCE,
    TF,
    decode,
    intrinsics_of,
    pose_of,
    transforms_of,
    vertices_of,
)
from vlkng_ros.errors import BagError, PoseError
from vlkng_ros.types import Intrinsics, Pose

LEFT = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))
K = [500.0, 0.0, 320.0, 0.0, 510.0, 240.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("message", "msgtype", "frame_id"),
    [
        (pose_with_covariance(1_500_000_007, (1, 2, 3), LEFT, "/map"), POSE_WITH_COVARIANCE, "map"),
        (pose_stamped(1_500_000_007, (1, 2, 3), LEFT), POSE, "map"),
        (odometry(1_500_000_007, (1, 2, 3), LEFT), ODOMETRY, "odom"),
    ],
)
def test_a_pose_keeps_its_stamp_to_the_nanosecond(message: object, msgtype: str, frame_id: str) -> None:
    stamp_ns, pose = pose_of(decode(cdr(message), msgtype), msgtype)
    assert stamp_ns == 1_500_000_007
    assert pose == Pose(frame_id, (1.0, 2.0, 3.0), LEFT)


def test_a_pose_that_is_none_is_refused() -> None:
    with pytest.raises(PoseError, match="NaN"):
        pose_of(pose_stamped(0, (math.nan, 0, 0)), POSE)
    with pytest.raises(BagError, match="std_msgs/msg/String holds no pose"):
        pose_of(text("here"), "std_msgs/msg/String")


def test_transforms_come_with_their_frames_and_without_the_broken_ones() -> None:
    message = transforms(
        (5, "/odom", "/base_link", (1, 0, 0), LEFT),
        (6, "map", "odom", (math.inf, 0, 0), LEFT),
        (7, "base_link", "camera", (0, 0, 0.5), (0, 0, 0, 0)),
    )
    assert transforms_of(decode(cdr(message), TF)) == [(5, "base_link", Pose("odom", (1.0, 0.0, 0.0), LEFT))]


def test_intrinsics_are_those_of_the_published_image() -> None:
    whole = decode(cdr(camera_info(K, 640, 480)), CAMERA_INFO)
    assert intrinsics_of(whole) == Intrinsics(500.0, 510.0, 320.0, 240.0, 640, 480)
    cropped = camera_info(K, 640, 480, binning=2, roi=(20, 40, 600, 400))
    assert intrinsics_of(cropped) == Intrinsics(250.0, 255.0, 150.0, 100.0, 300, 200)


def test_an_uncalibrated_camera_has_no_intrinsics() -> None:
    assert intrinsics_of(camera_info([0.0] * 9, 640, 480)) is None


def test_the_vertices_of_a_pose_graph_are_its_spheres() -> None:
    message = pose_graph([(1.0, 2.0), (3.0, 4.5)])
    assert vertices_of(decode(cdr(message), MARKERS)) == {0: (1.0, 2.0), 1: (3.0, 4.5)}


def test_damaged_data_and_unknown_types_are_said() -> None:
    with pytest.raises(BagError, match="message type my_msgs/msg/Odd is not known"):
        decode(b"\x00\x01\x00\x00", "my_msgs/msg/Odd")
    data = cdr(pose_stamped(0, (1, 2, 3)))
    for length in range(len(data)):
        with pytest.raises(BagError, match="is damaged"):
            decode(data[:length], POSE)
