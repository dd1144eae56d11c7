from types import SimpleNamespace

import numpy as np
import pytest
from circle_drive import seconds
from memory_in_ram import MemoryInRam, Model

from vlkng_ros.building.camera_mount import cameras_in_base
from vlkng_ros.building.inbox import Event
from vlkng_ros.building.keyframe_policy import KeyframePolicy
from vlkng_ros.building.pipeline import MemoryBuilder
from vlkng_ros.building.pose_buffer import PoseBuffer
from vlkng_ros.building.recorder import KeyframeRecorder
from vlkng_ros.building.selector import FrameSelector
from vlkng_ros.config import BuilderConfig, CameraConfig, KeyframeConfig, MemoryConfig, PoseConfig
from vlkng_ros.errors import ImageError
from vlkng_ros.types import Detection, Intrinsics, Perception, Pose

CONFIG = BuilderConfig(memory=MemoryConfig(image_width=64), pose=PoseConfig(use_odometry=False))
PICTURE = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)


class Recording:
    """A recorder with a memory in RAM; frames are pictures, or text that cannot be made one."""

    def __init__(self, config=CONFIG):
        self.memory, self.model, self.stored = MemoryInRam(), Model(), []
        mounts = cameras_in_base(config.camera)
        selector = FrameSelector(
            PoseBuffer("map", config.pose), KeyframePolicy(config.keyframe), clock=lambda: 0.0, capacity=8
        )
        self.recorder = KeyframeRecorder(
            config,
            selector,
            MemoryBuilder(self.memory, self.model, config),
            rgb_of=self._rgb,
            camera_in_base=lambda stamp_ns, frame, camera: mounts.get(camera),
            on_stored=self.stored.append,
        )

    @staticmethod
    def _rgb(frame):
        if isinstance(frame, str):
            raise ImageError(f"image with encoding '{frame}': not known")
        return frame

    def pose(self, t, x):
        self.recorder.handle(Event("pose", seconds(t), Pose.planar("map", x, 0)))

    def frame(self, t, frame=PICTURE):
        self.recorder.handle(Event("frame", seconds(t), frame))


def test_a_drive_becomes_described_keyframes_with_the_cameras_pose():
    run = Recording()
    run.recorder.handle(Event("camera_info", 0, Intrinsics(60, 60, 32, 24, 64, 48)))
    for i in range(4):
        run.pose(10 + i, i)
        run.frame(10 + i)
    run.model.reply(0)
    assert run.recorder.finish(timeout_s=0.0) is False
    assert [keyframe.stamp_ns for keyframe in run.stored] == [seconds(10 + i) for i in range(4)]
    assert run.stored[2].camera_pose.position_m == pytest.approx((2.0, 0.0, 0.5))
    np.testing.assert_allclose(run.stored[2].camera_pose.rotation()[:, 2], [1, 0, 0], atol=1e-9)
    assert run.stored[2].intrinsics == Intrinsics(60, 60, 32, 24, 64, 48)
    assert run.memory.states[1] == "done"


def test_a_session_begins_with_its_first_keyframe_and_a_loop_stays_on_the_same_map():
    run = Recording()
    run.pose(10, 0)
    assert run.memory.sessions == []
    run.frame(10)
    run.pose(60, 5)
    run.frame(60)
    run.pose(10, 0)
    run.frame(10.0)
    assert run.memory.sessions == [("robot", "", "map"), ("robot", "m", "map")]
    assert run.recorder.counts["sessions"] == 2


def test_an_image_that_cannot_be_used_is_counted_and_the_next_frame_takes_its_place():
    run = Recording()
    run.pose(10, 0)
    run.frame(10, "x11")
    run.pose(10.5, 0)
    run.frame(10.5)
    assert [keyframe.stamp_ns for keyframe in run.stored] == [seconds(10.5)]
    assert run.recorder.counts["image"] == 1
    assert run.recorder.last_error == "image with encoding 'x11': not known"


def test_a_full_disk_is_counted_and_the_robot_drives_on():
    run = Recording()
    run.memory.full = True
    run.pose(10, 0)
    run.frame(10)
    run.memory.full = False
    run.pose(11, 1)
    run.frame(11)
    assert [keyframe.stamp_ns for keyframe in run.stored] == [seconds(11)]
    assert run.recorder.counts["store"] == 1
    assert run.recorder.last_error == "memory.db: the disk is full"


def test_blurred_frames_are_passed_over():
    run = Recording(BuilderConfig(memory=CONFIG.memory, keyframe=KeyframeConfig(min_sharpness=100.0)))
    run.pose(10, 0)
    run.frame(10, np.full((48, 64, 3), 80, np.uint8))
    run.pose(10.5, 0)
    run.frame(10.5)
    assert [keyframe.stamp_ns for keyframe in run.stored] == [seconds(10.5)]
    assert run.recorder.counts["blurred"] == 1


def test_a_pose_that_was_none_is_counted_with_what_was_wrong():
    run = Recording()
    run.recorder.handle(Event("refused", 0, "pose in 'map': holds NaN"))
    assert run.recorder.selector.buffer.refused == {"not_a_pose": 1}
    assert run.recorder.selector.buffer.last_problem == "pose in 'map': holds NaN"


def test_a_pose_that_was_carried_forward_is_corrected_when_the_next_one_comes():
    run = Recording(BuilderConfig(memory=CONFIG.memory))
    for i in range(101):
        # Odometry says 5 % too much.
        run.recorder.handle(Event("odometry", seconds(10 + i / 50), Pose.planar("odom", 1.05 * i / 50, 0)))
        if i == 0:
            run.pose(10, 0)
        if i == 51:
            run.frame(11)
    (keyframe,) = run.stored
    assert keyframe.base_pose.position_m[0] == pytest.approx(1.05)
    assert run.memory.corrected == []
    run.pose(12, 2.0)
    ((keyframe_id, (base, camera)),) = run.memory.corrected[0].items()
    assert keyframe_id == keyframe.keyframe_id
    assert base.position_m[0] == pytest.approx(1.0)
    assert camera.position_m == pytest.approx((1.0, 0.0, 0.5))
    assert run.recorder.counts["settled"] == 1
    run.pose(13, 3.0)
    assert len(run.memory.corrected) == 1


def test_a_pose_that_was_right_is_left_alone():
    run = Recording(BuilderConfig(memory=CONFIG.memory))
    for i in range(101):
        run.recorder.handle(Event("odometry", seconds(10 + i / 50), Pose.planar("odom", i / 50, 0)))
        if i == 0:
            run.pose(10, 0)
        if i == 51:
            run.frame(11)
    run.pose(12, 2.0)
    assert run.memory.corrected == []


def graph(places):
    return Event("graph", 0, places)


def test_keyframes_move_with_the_map_when_a_loop_is_closed():
    run = Recording()
    for i in range(10):
        run.pose(10 + i, i)
        run.frame(10 + i)
    run.recorder.handle(graph({i: (float(i), 0.0) for i in range(10)}))
    assert run.memory.corrected == []
    run.recorder.handle(graph({i: (float(i), 2.0) for i in range(10)}))
    ((corrections),) = run.memory.corrected
    base, camera = corrections[5]
    assert base.position_m == pytest.approx((4.0, 2.0, 0.0))
    assert camera.position_m == pytest.approx((4.0, 2.0, 0.5))
    assert run.recorder.builder.counts["corrected"] == 10


def test_a_correction_that_could_not_be_written_is_made_with_the_next_graph():
    run = Recording()
    for i in range(10):
        run.pose(10 + i, i)
        run.frame(10 + i)
    run.recorder.handle(graph({i: (float(i), 0.0) for i in range(10)}))
    run.memory.full = True
    run.recorder.handle(graph({i: (float(i), 2.0) for i in range(10)}))
    assert run.memory.corrected == []
    run.memory.full = False
    run.recorder.handle(graph({i: (float(i), 2.0) for i in range(10)}))
    assert len(run.memory.corrected[0]) == 10


def test_a_forgotten_keyframe_does_not_keep_the_others_from_moving():
    run = Recording()
    for i in range(10):
        run.pose(10 + i, i)
        run.frame(10 + i)
    run.recorder.handle(graph({i: (float(i), 0.0) for i in range(10)}))
    del run.memory.keyframes[3]
    run.recorder.handle(graph({i: (float(i), 2.0) for i in range(10)}))
    assert sorted(i for corrections in run.memory.corrected for i in corrections) == [1, 2, 4, 5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize("depth_first", [True, False])
def test_detections_get_their_distance_from_the_depth_image_of_the_moment(depth_first):
    run = Recording(BuilderConfig(memory=CONFIG.memory, pose=CONFIG.pose, camera=CameraConfig(depth=True)))
    depth = np.full((48, 64), 2500, np.uint16)
    message = SimpleNamespace(
        encoding="16UC1", height=48, width=64, step=128, is_bigendian=0, data=depth.tobytes()
    )  # fmt: skip
    run.pose(10, 0)
    if depth_first:
        run.recorder.handle(Event("depth", seconds(10.01), message))
    run.frame(10)
    if not depth_first:
        run.recorder.handle(Event("depth", seconds(10.01), message))
    detection = Detection("cup", (10.0, 10.0, 30.0, 30.0), 0.9)
    run.model.asked[0][1].set_result(Perception(detections=(detection, Detection("room"))))
    run.recorder.work()
    seen = run.memory.perceptions[1].detections
    assert seen[0].depth_m == pytest.approx(2.5)
    assert seen[1].depth_m is None


def test_frames_of_another_camera_have_its_name_and_intrinsics_and_no_mount_from_the_main_ones_parameters():
    run = Recording()
    run.recorder.handle(Event("camera_info", 0, Intrinsics(60, 60, 32, 24, 64, 48)))
    run.recorder.handle(Event("camera_info", 0, Intrinsics(90, 90, 32, 24, 64, 48), camera="rear"))
    run.pose(10, 0)
    run.frame(10)
    run.recorder.handle(Event("frame", seconds(10), PICTURE, camera="rear"))
    assert [(k.camera, k.intrinsics.fx, k.camera_pose is None) for k in run.stored] == [
        ("camera", 60, False), ("rear", 90, True),
    ]  # fmt: skip
