"""Keyframes instead of every frame: a fifth of the model's calls at most, and the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from vlkng_ros.answering.ask import MemoryQuery
from vlkng_ros.building.inbox import Event
from vlkng_ros.building.keyframe_policy import KeyframePolicy
from vlkng_ros.building.pipeline import MemoryBuilder
from vlkng_ros.building.pose_buffer import PoseBuffer
from vlkng_ros.building.recorder import KeyframeRecorder
from vlkng_ros.building.selector import FrameSelector
from vlkng_ros.config import BuilderConfig, KeyframeConfig, MemoryConfig, PoseConfig, RetrievalConfig
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.detector import SimulatedDetector
from vlkng_ros.gallery.sensors import FrameReading, OdometryReading, SlamReading, sensor_readings
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.perception.base import Frame
from vlkng_ros.types import NS_PER_S, Answer, Perception, Pose, Question

EVERY_FRAME = KeyframeConfig(min_distance_m=0.0, min_angle_rad=0.0, min_period_s=0.0, queue_size=10_000)
NEVER_THERE = ("elephant", "surfboard", "toaster")
WORLD = demo_world()
TRUTH = Truth(WORLD)


def remembered(path: Path, keyframes: KeyframeConfig) -> tuple[int, dict[str, Answer]]:
    """Drive through the gallery with a camera at 10 Hz; how often the model was asked, and answers by question."""
    detector = SimulatedDetector(TRUTH)
    calls = 0
    bases: dict[int, Pose] = {}

    def describe(frame: Frame) -> Future[Perception]:
        nonlocal calls
        calls += 1
        found = detector.detect(bases[frame.stamp_ns], frame.stamp_ns)
        said: Future[Perception] = Future()
        said.set_result(Perception("", tuple(each.detection for each in found), backend="gallery"))
        return said

    config = BuilderConfig(memory=MemoryConfig(keep_images=False), keyframe=keyframes)
    camera = TRUTH.camera
    now_s = 0.0
    blank = np.zeros((48, 64, 3), dtype=np.uint8)
    with MemoryWriter.open(path, encoder=None, associators=[ProximityAssociator()], keep_images=False) as writer:
        selector: FrameSelector[FrameReading] = FrameSelector(
            PoseBuffer("map", PoseConfig()), KeyframePolicy(keyframes), clock=lambda: now_s, capacity=10_000
        )
        recorder = KeyframeRecorder(
            config,
            selector,
            MemoryBuilder(writer, describe, config),
            rgb_of=lambda reading: blank,
            camera_in_base=lambda *_: camera.pose(Pose.planar("map", 0, 0)),
        )
        recorder.handle(Event("camera_info", 0, camera.intrinsics))
        for reading in sensor_readings(demo_drive(), parked_s=5.0):
            now_s = reading.at_ns / NS_PER_S
            if isinstance(reading, OdometryReading):
                recorder.handle(Event("odometry", reading.stamp_ns, reading.pose))
            elif isinstance(reading, SlamReading):
                recorder.handle(Event("pose", reading.stamp_ns, reading.pose))
            elif isinstance(reading, FrameReading):
                bases[reading.stamp_ns] = reading.base
                recorder.handle(Event("frame", reading.stamp_ns, reading))
        assert recorder.finish(60.0)
    with MemoryReader.open(path) as reader:
        query = MemoryQuery(reader, None, RetrievalConfig())
        texts = [
            f"{ask} {label}?"
            for label in sorted({thing.label for thing in WORLD.things()})
            for ask in ("Where is the", "Did you see a")
        ]
        texts += [f"Did you see a {label}?" for label in NEVER_THERE]
        return calls, {text: query.ask(Question(text)) for text in texts}


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, dict[str, Answer]]]:
    folder = tmp_path_factory.mktemp("drives")
    return {
        "keyframes": remembered(folder / "keyframes.db", KeyframeConfig()),
        "every frame": remembered(folder / "frames.db", EVERY_FRAME),
    }


def test_keyframes_take_a_fifth_of_the_models_calls_and_give_the_same_answers(drives) -> None:
    (few, answers), (many, same) = drives["keyframes"], drives["every frame"]
    assert many >= 5 * few
    assert sum(isinstance(answer.value, Pose) for answer in answers.values()) == 4
    for text, answer in answers.items():
        assert answer.status is same[text].status, text
        if isinstance(answer.value, Pose):
            label = text.removeprefix("Where is the ").rstrip("?")
            assert all(TRUTH.goal_error(label, one.value).distance_m == 0 for one in (answer, same[text])), text
            assert answer.value.distance_m(same[text].value) < 1.0
        else:
            assert answer.value == same[text].value, text
