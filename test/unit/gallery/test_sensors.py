import math
from itertools import pairwise

import numpy as np
import pytest

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.camera import GalleryCamera
from vlkng_ros.gallery.demo_world import demo_drive
from vlkng_ros.gallery.drive import Drive, Go, Turn, Wait
from vlkng_ros.gallery.sensors import (
    ClockReading,
    FrameReading,
    OdometryReading,
    SensorConfig,
    Sensors,
    SlamReading,
    TransformsReading,
    sensor_readings,
    static_transforms,
)
from vlkng_ros.types import Pose

S = 1_000_000_000
NOW = 1_764_000_000_000_000_000
PERFECT = SensorConfig(
    odometry_scale_sigma=0.0,
    odometry_walk_m=0.0,
    odometry_walk_rad=0.0,
    slam_position_sigma_m=0.0,
    slam_yaw_sigma_rad=0.0,
)


def of_kind(readings: list, kind: type) -> list:
    return [reading for reading in readings if isinstance(reading, kind)]


def test_readings_come_in_order_of_arrival_and_never_before_their_stamp() -> None:
    readings = list(sensor_readings(demo_drive(NOW), seed=3))
    assert all(a.at_ns <= b.at_ns for a, b in pairwise(readings))
    stamped = [reading for reading in readings if not isinstance(reading, ClockReading)]
    assert all(reading.stamp_ns <= reading.at_ns for reading in stamped)


@pytest.mark.parametrize(("kind", "hz"), [(OdometryReading, 50), (FrameReading, 10), (ClockReading, 50)])
def test_every_sensor_keeps_its_rate_parked_too(kind: type, hz: int) -> None:
    drive = Drive.along([Go(2.0, 0.0)], start_ns=NOW)
    readings = of_kind(list(sensor_readings(drive, parked_s=3.0)), kind)
    assert len(readings) == pytest.approx(5 * hz, abs=1)
    gaps = {b.at_ns - a.at_ns for a, b in pairwise(readings)}
    assert gaps == {S // hz}


def test_slam_publishes_after_half_a_metre_or_half_a_radian_and_not_while_parked() -> None:
    drive = Drive.along([Wait(3.0), Go(3.0, 0.0), Turn(2.0), Wait(10.0)], start_ns=NOW)
    poses = of_kind(list(sensor_readings(drive, PERFECT)), SlamReading)
    assert poses[0].stamp_ns == NOW
    moves = [
        (a.pose.distance_m(b.pose), abs(math.remainder(b.pose.yaw_rad - a.pose.yaw_rad, math.tau)))
        for a, b in pairwise(poses)
    ]
    # A scan every 0.1 s: the threshold is passed by at most one scan's travel.
    assert all(0.5 <= moved + 1e-6 <= 0.6 or 0.5 <= turned + 1e-6 <= 0.6 for moved, turned in moves)
    assert len(moves) >= 5 + 3
    assert not [p for p in poses if NOW < p.stamp_ns < NOW + 3 * S or p.stamp_ns > drive.end_ns - 10 * S]


def test_perfect_sensors_report_the_truth() -> None:
    drive = demo_drive(NOW)
    start = drive.pose(NOW)
    readings = list(sensor_readings(drive, PERFECT))
    for reading in of_kind(readings, SlamReading):
        true = drive.pose(reading.stamp_ns)
        assert reading.pose.distance_m(true) < 1e-9
    for reading in of_kind(readings, OdometryReading)[::50]:
        true = start.inverse("base_link").compose(drive.pose(reading.stamp_ns))
        assert reading.pose.distance_m(Pose("odom", true.position_m)) < 1e-9


def test_the_transforms_lead_from_the_map_to_the_robot() -> None:
    drive = demo_drive(NOW)
    first, *_, last = of_kind(list(sensor_readings(drive, PERFECT)), TransformsReading)
    assert [transform.child for transform in first.transforms] == ["base_link"]
    to_base, to_odom = last.transforms
    assert (to_odom.pose.frame_id, to_odom.child) == ("map", "odom")
    assert (to_base.pose.frame_id, to_base.child) == ("odom", "base_link")
    base = to_odom.pose.compose(to_base.pose)
    assert base.distance_m(drive.pose(last.stamp_ns)) < 1e-9


def test_the_static_transforms_lead_from_the_base_to_the_optical_frame() -> None:
    camera = GalleryCamera()
    body, optical = static_transforms(camera)
    assert (body.pose.frame_id, body.child) == ("base_link", "camera_link")
    assert (optical.pose.frame_id, optical.child) == ("camera_link", "camera_optical_frame")
    np.testing.assert_allclose(body.pose.rotation(), np.eye(3), atol=1e-12)
    both = body.pose.compose(optical.pose)
    assert both.position_m == pytest.approx(camera.mount.position_m)
    np.testing.assert_allclose(both.rotation(), camera.mount.rotation(), atol=1e-12)


def test_odometry_drifts_and_slam_is_as_noisy_as_asked() -> None:
    drive = demo_drive(NOW)
    errors, yaw_errors, drifts = [], [], []
    for seed in range(20):
        readings = list(sensor_readings(drive, SensorConfig(odometry_hz=10.0), seed=seed))
        for reading in of_kind(readings, SlamReading):
            true = drive.pose(reading.stamp_ns)
            errors.append(np.subtract(reading.pose.position_m, true.position_m)[:2])
            yaw_errors.append(math.remainder(reading.pose.yaw_rad - true.yaw_rad, math.tau))
        end = of_kind(readings, OdometryReading)[-1].pose
        true = drive.pose(drive.start_ns).inverse("odom").compose(drive.pose(drive.end_ns))
        drifts.append(end.distance_m(true))
    assert np.std(errors) == pytest.approx(0.02, rel=0.1)
    assert np.std(yaw_errors) == pytest.approx(math.radians(0.5), rel=0.1)
    assert 0.1 < np.mean(drifts) < 3.0


def test_equal_seeds_give_equal_readings_however_they_are_taken() -> None:
    drive = demo_drive(NOW)
    at_once = list(sensor_readings(drive, seed=5, parked_s=1.0))
    sensors = Sensors(seed=5, start_ns=drive.start_ns)
    in_pieces: list = []
    now = drive.start_ns
    for step_ns in [1, 20_000_000, 33_333_333, 500_000_000] * 500:
        now = min(now + step_ns, drive.end_ns + S)
        piece = list(sensors.until(drive, now))
        assert all(reading.at_ns <= now for reading in piece)
        in_pieces += piece
    assert in_pieces == at_once
    assert list(sensor_readings(drive, seed=6, parked_s=1.0)) != at_once


@pytest.mark.parametrize("wrong", [{"camera_hz": 0.0}, {"scan_hz": -1.0}, {"slam_latency_s": -0.1}])
def test_rates_and_latencies_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=r"sensor (rates|latencies)"):
        SensorConfig(**wrong)
