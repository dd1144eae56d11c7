import numpy as np
import pytest
from colour_builder import ColourBuilder
from running_nodes import overrides

from vlkng_ros.memory import MemoryReader


@pytest.fixture
def builder(run_in_thread, memory_path, robot):
    node = run_in_thread(
        ColourBuilder(parameter_overrides=overrides(memory__path=str(memory_path), association__text_encoder="none"))
    )
    robot.until_heard_by_builder()
    return node


def test_a_drive_becomes_keyframes_with_pose_camera_and_picture(robot, builder, memory_path):
    robot.camera_info()
    robot.drive(4, colours=("red", "green"))
    robot.until_status("active")
    with MemoryReader.open(memory_path) as memory:
        keyframes = memory.keyframes([stored.keyframe_id for stored in robot.stored])
        assert [keyframe.stamp_ns for keyframe in keyframes] == [100_000_000_000 + i * 1_000_000_000 for i in range(4)]
        for i, keyframe in enumerate(keyframes):
            assert keyframe.base_pose.position_m == pytest.approx((i, 0, 0), abs=1e-6)
            assert keyframe.camera_pose.position_m == pytest.approx((i, 0, 0.5), abs=1e-6)
            np.testing.assert_allclose(keyframe.camera_pose.rotation()[:, 2], [1, 0, 0], atol=1e-6)
            assert keyframe.image_size_px == (64, 48)
            assert memory.image(keyframe.keyframe_id)[:2] == b"\xff\xd8"
        assert keyframes[-1].intrinsics.fx == 50.0
