"""The pose at each image's stamp along a drive through the gallery, against where the robot truly was."""

import math
from dataclasses import replace

import pytest

from vlkng_ros.building.keyframe_policy import KeyframePolicy
from vlkng_ros.building.pose_buffer import PoseBuffer
from vlkng_ros.building.rotation import turn_between_rad
from vlkng_ros.building.selector import FrameSelector
from vlkng_ros.config import KeyframeConfig, PoseConfig
from vlkng_ros.gallery.drive import Drive, Face, Go, Turn, Wait
from vlkng_ros.gallery.sensors import FrameReading, OdometryReading, SensorConfig, SlamReading, sensor_readings
from vlkng_ros.types import NS_PER_S

STEPS = [Go(5, 0), Turn(2.0), Go(6, 4), Face(-1.0), Wait(3.0), Turn(2 * math.pi), Go(0, 4), Face(0.5), Go(0, 0)]
EVERY_FRAME = KeyframeConfig(min_distance_m=0.0, min_angle_rad=0.0, min_period_s=0.0)
PERFECT = SensorConfig(
    odometry_scale_sigma=0.0,
    odometry_walk_m=0.0,
    odometry_walk_rad=0.0,
    slam_position_sigma_m=0.0,
    slam_yaw_sigma_rad=0.0,
    camera_hz=30.0,
)


def errors(sensors, use_odometry=True, seed=0):
    """Error of each frame's pose in metres and degrees, and how many frames had none."""
    drive = Drive.along(STEPS, speed_mps=1.0, turn_radps=1.0, start_ns=50 * NS_PER_S)
    now_s = 0.0
    selector = FrameSelector(
        PoseBuffer("map", PoseConfig(use_odometry=use_odometry)),
        KeyframePolicy(EVERY_FRAME),
        clock=lambda: now_s,
        capacity=1000,
    )
    found = []
    for reading in sensor_readings(drive, sensors, seed=seed, parked_s=5.0):
        now_s = reading.at_ns / NS_PER_S
        if isinstance(reading, OdometryReading):
            selector.add_odometry(reading.stamp_ns, reading.pose)
        elif isinstance(reading, SlamReading):
            selector.add_pose(reading.stamp_ns, reading.pose)
        elif isinstance(reading, FrameReading):
            selector.add_frame(reading.stamp_ns, reading.base)
        while (taken := selector.take()) is not None:
            selector.policy.accept(taken.stamp_ns, taken.found.pose)
            pose, truth = taken.found.pose, taken.frame
            found.append((pose.distance_m(truth), math.degrees(turn_between_rad(pose, truth))))
    return found, selector.counts


@pytest.mark.parametrize("phase_s", [0.0, 0.0023, 0.007, 0.015])
def test_at_1_m_s_and_1_rad_s_sparse_poses_and_odometry_place_images_within_2_cm_and_half_a_degree(phase_s):
    found, counts = errors(replace(PERFECT, camera_phase_s=phase_s))
    assert len(found) >= counts["frames"] - 1
    assert max(metres for metres, _ in found) <= 0.02
    assert max(degrees for _, degrees in found) <= 0.5
    # Only where the drive stops or turns round within no time, between two odometry messages, is anything lost at all.
    assert sum(degrees > 0.01 for _, degrees in found) <= 0.01 * len(found)


@pytest.mark.parametrize("seed", range(5))
def test_with_drift_and_noise_images_are_placed_about_as_well_as_slam_places_the_robot(seed):
    found, _ = errors(SensorConfig(camera_hz=30.0), seed=seed)
    metres, degrees = sorted(m for m, _ in found), sorted(d for _, d in found)
    assert metres[len(found) // 2] <= 0.04
    assert degrees[len(found) // 2] <= 1.2
    assert metres[-1] <= 0.15


def test_without_odometry_images_are_placed_within_the_distance_that_slam_leaves_open():
    found, counts = errors(PERFECT, use_odometry=False)
    assert counts["no_pose"] <= 1
    assert max(metres for metres, _ in found) <= 0.7
