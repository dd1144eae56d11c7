import math

import numpy as np
import pytest
import rclpy
from colour_builder import ColourBuilder
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from running_nodes import overrides
from sensor_msgs.msg import Image

from vlkng_ros.errors import ConfigError, WorkerError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes.builder_node import BuilderNode


@pytest.fixture
def build(run_in_thread, memory_path, robot):
    def start(kind=ColourBuilder, cli_args=(), **parameters):
        parameters = {"memory__path": str(memory_path), "association__text_encoder": "none", **parameters}
        return run_in_thread(kind(parameter_overrides=overrides(**parameters), cli_args=list(cli_args)))

    return start


@pytest.fixture
def builder(build, robot):
    node = build()
    robot.until_heard_by_builder()
    return node


def test_a_wrong_image_topic_is_named_with_those_that_are_published(robot, build):
    build(cli_args=["--ros-args", "-r", "image:=/camera/color/image_raw"])
    robot.until_status("no image received on /camera/color/image_raw for")
    robot.until_status("nobody publishes it; published as sensor_msgs/msg/Image: /image; remap the topic")


def test_a_pose_topic_without_a_publisher_is_named_with_the_images_that_wait(robot, build):
    robot.destroy_publisher(robot.poses)
    robot.destroy_publisher(robot.odometry)
    build()
    robot.until(lambda: robot.images.get_subscription_count() > 0, "the builder to subscribe")
    stamp = iter(range(10_000))
    robot.create_timer(0.1, lambda: robot.see(100.0 + next(stamp) / 10))
    robot.until_status("no pose received on /pose for")
    robot.until(lambda: any("images waiting" in s.message and "/pose: nobody publishes it" in s.message
                            for s in robot.statuses), "the count of images")  # fmt: skip


def test_a_pose_of_another_type_is_explained(robot, build, request):
    robot.destroy_publisher(robot.poses)
    # DDS allows one type a topic in a participant; another context has a participant of its own.
    context = rclpy.Context()
    rclpy.init(context=context)
    other = rclpy.create_node("other_localisation", context=context)
    other.create_publisher(PoseStamped, "pose", 10)
    request.addfinalizer(lambda: rclpy.shutdown(context=context))
    build()
    robot.until(lambda: robot.images.get_subscription_count() > 0, "the builder to subscribe")
    stamp = iter(range(10_000))
    robot.create_timer(0.1, lambda: robot.see(100.0 + next(stamp) / 10))
    robot.until_status(
        "/pose: it is published as geometry_msgs/msg/PoseStamped, not geometry_msgs/msg/PoseWithCovarianceStamped"
    )


def test_one_topic_for_pose_and_odometry_needs_to_be_said_what_it_is(robot, build):
    build(cli_args=["--ros-args", "-r", "pose:=/fused", "-r", "odom:=/fused"])
    robot.until_status(
        "odom: /fused is taken as geometry_msgs/msg/PoseWithCovarianceStamped already, and cannot be as "
        "nav_msgs/msg/Odometry too; remap one of them, or say what it is (pose.type)"
    )


def test_a_publisher_whose_qos_does_not_match_is_explained(robot, build):
    robot.destroy_publisher(robot.images)
    robot.create_publisher(Image, "image", QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT))
    build(camera__qos_reliability="reliable")
    robot.until_status(
        "a publisher's reliability QoS does not match ours ('best_effort' is offered, 'reliable' is wanted)"
    )


def test_best_effort_odometry_is_taken_although_reliable_was_asked_for(robot, build):
    robot.destroy_publisher(robot.odometry)
    robot.odometry = robot.create_publisher(
        Odometry, "odom", QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
    )
    node = build()
    robot.until(lambda: node.is_active and not node._poses.odometry._reliable, "the lower QoS to be taken")
    robot.until_heard_by_builder()
    robot.drive(1)


def test_poses_with_nan_or_without_a_rotation_are_counted_and_the_node_lives(robot, builder):
    robot.localise(99.0, math.nan)
    robot.until_status("/pose: pose in 'map'")
    robot.until_status("holds NaN or infinity; check the localisation")
    robot.drive(1)
    robot.until(lambda: any("poses: not_a_pose" in {v.key for v in s.values} for s in robot.statuses), "the count")


def test_a_pose_in_another_frame_is_refused_with_what_to_do(robot, builder):
    robot.localise(99.0, 0.0, frame_id="odom")
    robot.until_status("pose in frame 'odom', not in 'map'; remap the pose topic or set robot.map_frame")


@pytest.mark.parametrize("encoding", ["x11", "32FC1"])
def test_an_encoding_that_is_not_known_is_named_and_the_next_image_is_taken(robot, builder, encoding):
    robot.localise(99.98, 0.0)
    robot.roll(99.98, 0.0)
    robot.see(100.0, np.zeros((48, 64, 4), np.uint8), encoding=encoding)
    robot.roll(100.2, 0.0)
    robot.until_status(f"image with encoding '{encoding}'")
    robot.drive(1, start_s=101.0)


def test_an_image_cut_short_is_named_and_the_next_is_taken(robot, builder):
    robot.localise(99.98, 0.0)
    robot.roll(99.98, 0.0)
    message = Image(height=480, width=640, encoding="rgb8", step=1920, data=b"\x00" * 1000)
    message.header.stamp.sec = 100
    robot.images.publish(message)
    robot.roll(100.2, 0.0)
    robot.until_status("holds 1000 bytes")
    robot.drive(1, start_s=101.0)


@pytest.mark.parametrize(
    "encoding", ["bgr8", "rgba8", "bgra8", "mono8", "mono16", "bayer_rggb8", "yuv422", "yuv422_yuy2"]
)
def test_the_usual_encodings_become_pictures(robot, builder, memory_path, encoding):
    channels = {"bgr8": 3, "rgba8": 4, "bgra8": 4, "yuv422": 2, "yuv422_yuy2": 2}.get(encoding)
    shape = (48, 64) if channels is None else (48, 64, channels)
    image = np.full(shape, 120, np.uint16 if encoding == "mono16" else np.uint8)
    robot.localise(99.98, 0.0)
    robot.roll(99.98, 0.0)
    robot.see(100.0, image, encoding=encoding)
    robot.roll(100.2, 0.0)
    robot.until(lambda: robot.stored, "the keyframe")
    with MemoryReader.open(memory_path) as memory:
        assert memory.keyframe(robot.stored[0].keyframe_id).image_size_px == (64, 48)


def test_a_clock_that_is_set_back_begins_a_session_on_the_same_map(robot, builder, memory_path):
    robot.drive(3, start_s=100.0)
    robot.drive(3, start_s=50.0)
    with MemoryReader.open(memory_path) as memory:
        keyframes = memory.keyframes([stored.keyframe_id for stored in robot.stored])
        assert [k.stamp_ns // 10**9 for k in keyframes] == [100, 101, 102, 50, 51, 52]
        assert len({k.session_id for k in keyframes}) == 2
        assert len({k.map_id for k in keyframes}) == 1


def test_two_clocks_are_told_apart(robot, builder):
    stamp = iter(range(10_000))
    robot.localise(1.7e9, 0.0)
    robot.create_timer(0.1, lambda: robot.see(100.0 + next(stamp) / 10))
    robot.until_status("one uses simulated time and the other does not; check use_sim_time of both publishers")


# ------------------------------------------------------------------------------------------ what cannot start


def test_a_memory_that_another_builder_writes_to_is_not_opened(robot, builder, build, memory_path):
    second = build(kind=BuilderNode, perception__backend="none", autostart=False)
    second.trigger_configure()
    assert "is writing to this memory" in second.failure
    assert not second.is_active


def test_a_model_that_is_missing_fails_the_transition_with_the_reason(robot, build, tmp_path):
    node = build(
        kind=BuilderNode,
        autostart=False,
        perception__backend="opencv_dnn",
        perception__model=str(tmp_path / "nothing.onnx"),
    )
    node.trigger_configure()
    assert "nothing.onnx" in node.failure
    robot.until_status("nothing.onnx")
    assert node._writer is None


def test_a_node_that_starts_by_itself_and_cannot_ends_with_the_reason(robot, builder, run_process, memory_path):
    process = run_process(
        "builder_node", memory__path=str(memory_path), association__text_encoder="none", perception__backend="none"
    )
    line = process.wait_for("cannot start, and ends: ")
    assert process.process.wait(timeout=60.0) == 2
    assert "[FATAL]" in line
    assert "is writing to this memory; stop it first" in line
    assert "ERROR" not in process.log
    robot.drive(1)  # the first is none the worse for it


def test_who_is_told_to_end_while_the_model_loads_has_not_failed(memory_path, capfd):
    node = BuilderNode(parameter_overrides=overrides(memory__path=str(memory_path), autostart=False))
    node.configure = lambda: (node.request_stop(), node._raise())  # as the worker does that is stopped meanwhile
    node._raise = lambda: (_ for _ in ()).throw(WorkerError("stopped while it was starting"))
    node._start()
    node.close()
    node.destroy_node()
    shown = capfd.readouterr().err
    assert "told to stop before it could configure" in shown
    assert "ERROR" not in shown


def test_a_file_that_is_not_a_memory_is_left_alone(robot, build, tmp_path):
    other = tmp_path / "notes.db"
    other.write_text("my notes, nothing else" * 100)
    node = build(kind=BuilderNode, autostart=False, perception__backend="none", memory__path=str(other))
    node.trigger_configure()
    assert "notes.db" in node.failure
    assert other.read_text() == "my notes, nothing else" * 100


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        ("keyframe__min_distance_m", -1.0, "keyframe.min_distance_m"),
        ("perception__backend", "magic", "perception.backend"),
        ("memory__image_width", "wide", "memory.image_width"),
    ],
)
def test_a_parameter_out_of_range_stops_the_start_with_its_name(parameter, value, words, memory_path):
    with pytest.raises(ConfigError, match=words):
        BuilderNode(parameter_overrides=overrides(memory__path=str(memory_path), **{parameter: value}))


def test_a_misspelt_parameter_is_named_with_what_was_meant(memory_path, capfd):
    node = BuilderNode(parameter_overrides=overrides(memory__path=str(memory_path), memory__pth="x", autostart=False))
    node.close()
    node.destroy_node()
    assert "unknown parameter 'memory.pth' has no effect; did you mean memory.path?" in capfd.readouterr().err


def test_live_parameters_change_and_others_say_that_they_do_not(robot, builder):
    good = builder.set_parameters([Parameter("keyframe.min_distance_m", value=2.0)])
    assert good[0].successful
    assert builder.config.keyframe.min_distance_m == 2.0
    assert builder._recorder.selector.policy.config.min_distance_m == 2.0
    low = builder.set_parameters([Parameter("keyframe.min_distance_m", value=-2.0)])
    assert not low[0].successful
    fixed = builder.set_parameters([Parameter("memory.path", value="/tmp/other.db")])
    assert not fixed[0].successful
    assert builder.config.keyframe.min_distance_m == 2.0
    described = builder.describe_parameter("keyframe.min_distance_m")
    assert described.description == "travel that makes a new keyframe [m]"
    assert described.floating_point_range[0].to_value == 100.0
    assert builder.describe_parameter("memory.path").read_only
