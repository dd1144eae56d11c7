"""Loops closed while one builder runs move what an earlier one remembered, in a memory on disk."""

import math

import numpy as np
import pytest
from circle_drive import seconds

from vlkng_ros.building.inbox import Event
from vlkng_ros.building.keyframe_policy import KeyframePolicy
from vlkng_ros.building.opening import open_writer
from vlkng_ros.building.pipeline import MemoryBuilder
from vlkng_ros.building.pose_buffer import PoseBuffer
from vlkng_ros.building.recorder import KeyframeRecorder
from vlkng_ros.building.selector import FrameSelector
from vlkng_ros.config import AssociationConfig, BuilderConfig, MemoryConfig, PoseConfig, RobotConfig
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import Detection, Perception, Pose

PICTURE = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)
DRIFT_RAD = 0.02


@pytest.fixture
def config(tmp_path):
    return BuilderConfig(
        memory=MemoryConfig(path=str(tmp_path / "memory.db"), image_width=64),
        robot=RobotConfig(map_id="office"),
        pose=PoseConfig(use_odometry=False),
        association=AssociationConfig(text_encoder="none"),
    )


def believed(k):
    """Where SLAM thought the robot was at its k-th vertex, a metre apart on a straight drive that it bends."""
    x = sum(math.cos(DRIFT_RAD * i) for i in range(k))
    y = sum(math.sin(DRIFT_RAD * i) for i in range(k))
    return Pose.planar("map", x, y, DRIFT_RAD * k)


def truth(k):
    return Pose.planar("map", float(k), 0.0, 0.0)


def graph(where, last, first=0):
    return Event("graph", 0, {k: where(k).position_m[:2] for k in range(first, last)})


class Process:
    """A builder's process, from opening the memory to closing it."""

    def __init__(self, config):
        self.writer = open_writer(config)
        selector = FrameSelector(PoseBuffer("map", config.pose), KeyframePolicy(config.keyframe), clock=lambda: 0.0)
        self.recorder = KeyframeRecorder(
            config,
            selector,
            MemoryBuilder(self.writer, None, config),
            rgb_of=lambda frame: frame,
            camera_in_base=lambda stamp_ns, frame, camera: Pose("base", (0.2, 0.0, 0.5)),
        )

    def drive(self, first, last, where=believed):
        for k in range(first, last):
            self.recorder.handle(Event("pose", seconds(100 + k), where(k)))
            self.recorder.handle(Event("frame", seconds(100 + k), PICTURE))
            keyframe = self.recorder.last_keyframe
            self.writer.add_perception(
                keyframe.keyframe_id, Perception("a cup", (Detection(f"cup {k // 5}", (10, 10, 20, 20)),))
            )
            self.writer.associate(keyframe.keyframe_id)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.writer.close()


def off(config, first, last):
    """How far keyframes and the things seen from them are from where they truly are: the farthest of each, in m."""
    with MemoryReader.open(config.memory.path) as memory:
        keyframes = memory.keyframes(memory.frames().ids.tolist())[first:last]
        bases = [k.base_pose.distance_m(truth(first + i)) for i, k in enumerate(keyframes)]
        cameras = [k.camera_pose.distance_m(truth(first + i).compose(Pose("base", (0.2, 0.0, 0.5))))
                   for i, k in enumerate(keyframes)]  # fmt: skip
        things = [abs(entity.position.mean_m[1]) for entity in memory.entities("hybrid")]
    return max(bases), max(cameras), max(things)


def test_a_loop_closed_later_moves_what_an_earlier_process_remembered(config):
    with Process(config) as first:
        first.drive(0, 30)
        first.recorder.handle(graph(believed, 30))
    assert min(off(config, 0, 30)) > 5.0
    with Process(config) as second:
        second.drive(30, 33)
        second.recorder.handle(graph(truth, 33))
        assert second.recorder.builder.counts["corrected"] >= 29
    bases, cameras, things = off(config, 0, 30)
    assert bases < 0.05
    assert cameras < 0.05
    assert things < 0.15


def test_a_correction_is_not_made_twice_by_the_next_process_and_the_next_closure_goes_on_from_it(config):
    with Process(config) as first:
        first.drive(0, 30)
        first.recorder.handle(graph(believed, 30))
        first.recorder.handle(graph(truth, 30))
    before = off(config, 0, 30)
    with Process(config) as second:
        second.drive(30, 32, truth)
        second.recorder.handle(graph(truth, 32))
        assert second.recorder.builder.counts["corrected"] == 0
        assert off(config, 0, 30) == before
        second.recorder.handle(graph(lambda k: Pose.planar("map", float(k), 3.0), 32))
    with MemoryReader.open(config.memory.path) as memory:
        keyframes = memory.keyframes(memory.frames().ids.tolist())
    assert [k.base_pose.position_m[1] for k in keyframes] == pytest.approx([3.0] * 32, abs=0.05)


@pytest.mark.parametrize("last", [6, 60])
def test_a_graph_begun_anew_moves_nothing_and_is_said(config, last, caplog):
    def elsewhere(k):
        return Pose.planar("map", 20 + 3 * math.cos(k / 3), 3 * math.sin(k / 3), k / 3)

    with Process(config) as first:
        first.drive(0, 30, truth)
        first.recorder.handle(graph(truth, 30))
    before = off(config, 0, 30)
    with Process(config) as second:
        second.drive(30, 32, elsewhere)
        second.recorder.handle(graph(elsewhere, last))
        second.recorder.handle(graph(elsewhere, 80))
        assert second.recorder.builder.counts["corrected"] == 0
    assert off(config, 0, 30)[:2] == before[:2]
    assert "the pose graph is not the one of 1 earlier drives through map 'office'" in caplog.text


def test_what_is_forgotten_by_time_leaves_no_anchors(config):
    with Process(config) as process:
        process.drive(0, 30)
        process.recorder.handle(graph(believed, 30))
        process.writer.forget(since_ns=seconds(100), until_ns=seconds(109))
        (drive,) = process.writer.anchored_drives("robot", "office")
        assert sorted(drive.anchors) == list(range(10, 30))
        process.writer.forget(since_ns=seconds(0), until_ns=seconds(128))
        process.writer.forget(area=(-1e6, -1e6, 1e6, 1e6))
        assert process.writer.anchored_drives("robot", "office") == []
