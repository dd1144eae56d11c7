import math
import threading
from itertools import pairwise

import cv2
import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav2_msgs.action import NavigateToPose
from nav_msgs.msg import Odometry
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from running_nodes import NodeInThread, overrides
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from tf2_msgs.msg import TFMessage

from vlkng_ros.gallery.camera import GalleryCamera
from vlkng_ros.gallery.demo_world import START, demo_drive, demo_world
from vlkng_ros.gallery.render import Renderer
from vlkng_ros.gallery.sensors import static_transforms
from vlkng_ros.nodes.gallery_robot import GalleryRobot
from vlkng_ros.nodes.messages import ns_of, pose_from, pose_stamped, stamp_ns_of
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.types import Pose

START_NS = 1_764_000_000 * 1_000_000_000
S = 1_000_000_000
DEADLINE_S = 150.0


class Listener(Node):
    """Hears everything that the gallery robot says, and sends it goals."""

    def __init__(self) -> None:
        super().__init__("listener")
        self.changed = threading.Condition()
        self.heard: dict[str, list] = {}
        self.client = ActionClient(self, NavigateToPose, "navigate_to_pose")

    def hear(self, kind, topic, *, latched=False):
        into = self.heard.setdefault(topic, [])

        def take(message):
            with self.changed:
                into.append(message)
                self.changed.notify_all()

        self.create_subscription(kind, topic, take, keep_last(1000, reliable=True, latched=latched))
        return into

    def until(self, condition, what):
        with self.changed:
            assert self.changed.wait_for(condition, DEADLINE_S), f"waited {DEADLINE_S} s for {what}"

    def done(self, future, what):
        """The result of a future that the spinning thread sets."""
        event = threading.Event()
        future.add_done_callback(lambda _: event.set())
        assert event.wait(DEADLINE_S), f"waited {DEADLINE_S} s for {what}"
        return future.result()

    def send(self, pose, feedback=None):
        """Send a goal; returns its handle, accepted or not."""
        assert self.client.wait_for_server(timeout_sec=DEADLINE_S)

        def take(message):
            with self.changed:
                if feedback is not None:
                    feedback.append(message.feedback)
                self.changed.notify_all()

        goal = NavigateToPose.Goal(pose=pose)
        return self.done(self.client.send_goal_async(goal, feedback_callback=take), "an answer to the goal")

    def result(self, handle):
        """Status and result of a goal."""
        answer = self.done(handle.get_result_async(), "the end of the drive")
        return answer.status, answer.result


@pytest.fixture
def listener():
    node = Listener()
    with NodeInThread(node):
        yield node


@pytest.fixture
def start(run_in_thread):
    def run(**parameters):
        parameters = {"speed": 10.0, "start_s": START_NS / S, "camera_hz": 5.0, **parameters}
        given = {f"gallery__{name}": value for name, value in parameters.items()}
        return run_in_thread(GalleryRobot(parameter_overrides=overrides(**given)))

    return run


def hurry(robot):
    """On a busy machine feedback of a fast robot is lost, and it arrives before it can be told otherwise."""
    (changed,) = robot.set_parameters([Parameter("gallery.speed", value=10.0)])
    assert changed.successful


def stamps(messages):
    return [stamp_ns_of(message) for message in messages]


def test_the_camera_shows_what_is_seen_from_where_the_robot_is(start, listener):
    images, infos = listener.hear(Image, "image"), listener.hear(CameraInfo, "camera_info")
    start(wait_for_subscribers_s=0.0)
    listener.until(lambda: len(images) >= 5 and len(infos) >= 5, "frames")
    image = images[-1]
    assert (image.width, image.height, image.encoding, image.step) == (640, 480, "rgb8", 1920)
    assert image.header.frame_id == "camera_optical_frame"
    pixels = np.frombuffer(image.data, np.uint8).reshape(480, 640, 3)
    drive, stamp_ns = demo_drive(START_NS), stamp_ns_of(image)
    np.testing.assert_array_equal(pixels, Renderer(demo_world()).render(drive.pose(stamp_ns), stamp_ns))
    info = infos[-1]
    assert (info.width, info.height, info.header.frame_id) == (640, 480, "camera_optical_frame")
    np.testing.assert_array_equal(np.reshape(info.k, (3, 3)), [[525, 0, 320], [0, 525, 240], [0, 0, 1]])


def test_compressed_images_alone_are_published_where_asked_for(start, listener):
    images = listener.hear(CompressedImage, "image/compressed")
    start(transport="compressed")
    listener.until(lambda: images, "a compressed frame")
    image = images[0]
    assert "jpeg" in image.format
    pixels = cv2.cvtColor(cv2.imdecode(np.frombuffer(image.data, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    stamp_ns = stamp_ns_of(image)
    true = Renderer(demo_world()).render(demo_drive(START_NS).pose(stamp_ns), stamp_ns)
    assert np.abs(pixels.astype(int) - true).mean() < 3.0
    assert listener.count_publishers("image") == 0


def test_every_stamp_is_simulated_time_and_the_clock_never_goes_back(start, listener):
    clock, odometry = listener.hear(Clock, "/clock"), listener.hear(Odometry, "odom")
    start()
    listener.until(lambda: len(odometry) > 100 and len(clock) > 100, "odometry")
    ticks = [ns_of(message.clock) for message in clock]
    assert all(START_NS <= stamp < START_NS + 60 * S for stamp in ticks)
    assert all(a < b for a, b in pairwise(ticks))
    gaps = {b - a for a, b in pairwise(stamps(odometry))}
    assert gaps == {20_000_000}
    assert (odometry[0].header.frame_id, odometry[0].child_frame_id) == ("odom", "base_link")


def test_slam_poses_are_sparse_and_transforms_agree_with_them(start, listener):
    poses, transforms = listener.hear(PoseWithCovarianceStamped, "pose"), listener.hear(TFMessage, "/tf")
    start(slam_position_sigma_m=0.0, slam_yaw_sigma_rad=0.0, odometry_scale_sigma=0.0, wait_for_subscribers_s=0.0)
    listener.until(lambda: len(poses) >= 6, "SLAM poses")
    drive = demo_drive(START_NS)
    for message in poses:
        true = drive.pose(stamp_ns_of(message))
        assert message.header.frame_id == "map"
        assert message.pose.pose.position.x == pytest.approx(true.position_m[0])
        assert message.pose.pose.position.y == pytest.approx(true.position_m[1])
    assert min(b - a for a, b in pairwise(stamps(poses))) >= 0.4 * S
    chains = [{t.child_frame_id: t.header.frame_id for t in message.transforms} for message in transforms]
    assert {"base_link": "odom", "odom": "map"} in chains


def test_the_mounting_of_the_camera_is_latched_on_tf_static(start, listener):
    start()
    late = listener.hear(TFMessage, "/tf_static", latched=True)
    listener.until(lambda: late, "static transforms")
    found = {t.child_frame_id: (t.header.frame_id, t.transform.translation.x) for t in late[0].transforms}
    body, optical = static_transforms(GalleryCamera())
    assert found == {
        "camera_link": ("base_link", body.pose.position_m[0]),
        "camera_optical_frame": ("camera_link", optical.pose.position_m[0]),
    }


def test_the_start_waits_for_who_wants_to_see_it(start, listener):
    clock = listener.hear(Clock, "/clock")
    robot = start(wait_for_subscribers_s=50.0)
    images = listener.hear(Image, "image")
    poses = listener.hear(PoseWithCovarianceStamped, "pose")
    listener.until(lambda: poses and images and clock, "the start")
    # Nothing was missed: the first pose of the drive arrived.
    assert stamp_ns_of(poses[0]) == START_NS
    assert robot.robot.now_ns > START_NS


def test_a_parked_robot_goes_on_publishing_all_but_poses(start, listener):
    poses = listener.hear(PoseWithCovarianceStamped, "pose")
    images, odometry = listener.hear(Image, "image"), listener.hear(Odometry, "odom")
    start(tour=False, wait_for_subscribers_s=20.0)
    listener.until(lambda: len(images) > 20 and len(odometry) > 200, "a parked robot")
    assert len(poses) == 1
    last = odometry[-1]
    assert (last.twist.twist.linear.x, last.twist.twist.angular.z) == (0.0, 0.0)
    assert (last.pose.pose.position.x, last.pose.pose.position.y) == (0.0, 0.0)


def test_a_goal_is_reached_through_the_doors(start, listener):
    truth = listener.hear(PoseStamped, "gallery_robot/true_pose")
    robot = start(tour=False, speed=1.0)
    feedback: list = []
    goal = Pose.planar("map", 6.0, 6.0, math.pi / 2)
    handle = listener.send(pose_stamped(goal, START_NS), feedback)
    assert handle.accepted
    listener.until(lambda: feedback, "the first feedback")
    hurry(robot)
    status, result = listener.result(handle)
    assert status == GoalStatus.STATUS_SUCCEEDED
    # Feedback and result come on ways of their own.
    listener.until(lambda: feedback[-1].distance_remaining == 0.0, "the last feedback")
    assert (result.error_code, result.error_msg) == (NavigateToPose.Result.NONE, "")
    # Along the corridor to 0.4 m before the living room's door at x = 6, and 1.6 m on.
    distances = [message.distance_remaining for message in feedback]
    assert distances[0] == pytest.approx(math.hypot(5.2, 0.4) + 1.6, abs=0.4)
    assert all(a >= b for a, b in pairwise(distances))
    assert ns_of(feedback[-1].navigation_time) > 7 * S
    assert feedback[0].current_pose.header.frame_id == "map"
    count = len(truth)
    listener.until(lambda: len(truth) > count + 1, "the pose after arriving")
    arrived = pose_from(truth[-1])
    assert arrived.distance_m(goal) < 1e-6
    assert arrived.yaw_rad == pytest.approx(math.pi / 2)


@pytest.mark.parametrize(
    ("x_m", "y_m", "code"), [(40.0, 0.0, 204), (3.0, 7.95, 206)], ids=["outside the map", "in a wall"]
)
def test_a_goal_that_cannot_be_reached_is_aborted_with_nav2s_code(start, listener, x_m, y_m, code):
    start(tour=False)
    handle = listener.send(pose_stamped(Pose.planar("map", x_m, y_m), START_NS))
    assert handle.accepted
    status, result = listener.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, code)
    assert "goal" in result.error_msg


def test_a_goal_that_means_nothing_is_rejected(start, listener):
    start(tour=False)
    assert not listener.send(pose_stamped(Pose.planar("moon", 1.0, 1.0), START_NS)).accepted
    nan = pose_stamped(Pose.planar("map", 1.0, 6.0), START_NS)
    nan.pose.position.x = math.nan
    assert not listener.send(nan).accepted
    unturned = pose_stamped(Pose.planar("map", 1.0, 6.0), START_NS)
    unturned.pose.orientation.w = 0.0
    assert not listener.send(unturned).accepted


def test_a_newer_goal_preempts_the_one_before(start, listener):
    robot = start(tour=False, speed=1.0)
    feedback: list = []
    first = listener.send(pose_stamped(Pose.planar("map", 10.0, 6.0), START_NS), feedback)
    listener.until(lambda: len(feedback) > 3, "the first drive")
    second = listener.send(pose_stamped(Pose.planar("map", 2.0, 6.0), START_NS))
    assert second.accepted
    status, result = listener.result(first)
    assert status == GoalStatus.STATUS_ABORTED
    assert "preempted" in result.error_msg
    hurry(robot)
    assert listener.result(second)[0] == GoalStatus.STATUS_SUCCEEDED
    assert robot.robot.true_pose.position_m == pytest.approx((2.0, 6.0, 0.0))


def test_a_canceled_robot_stops_where_it_is(start, listener):
    robot = start(tour=False, speed=1.0)
    feedback: list = []
    handle = listener.send(pose_stamped(Pose.planar("map", 10.0, 6.0), START_NS), feedback)
    listener.until(lambda: len(feedback) > 3, "the drive")
    answer = listener.done(handle.cancel_goal_async(), "an answer to cancel")
    assert len(answer.goals_canceling) == 1
    assert listener.result(handle)[0] == GoalStatus.STATUS_CANCELED
    here = robot.robot.true_pose
    assert robot.robot.parked
    assert START[0] < here.position_m[0] < 10.0


def test_a_goal_interrupts_the_tour(start, listener):
    robot = start(speed=5.0)
    handle = listener.send(pose_stamped(Pose.planar("map", 2.0, 5.5), START_NS))
    assert listener.result(handle)[0] == GoalStatus.STATUS_SUCCEEDED
    assert robot.robot.parked
    assert robot.robot.true_pose.position_m == pytest.approx((2.0, 5.5, 0.0))


def test_it_runs_as_a_program_and_ends_when_told_to(run_process):
    process = run_process("gallery_robot", gallery__speed=5.0)
    assert "6 rooms, 6 pictures; a tour of" in process.wait_for("tour")
    assert process.stop() == 0


def test_a_parameter_out_of_range_is_said_and_ends_the_program(run_process):
    process = run_process("gallery_robot", gallery__speed=-1.0)
    process.wait_for("gallery.speed")
    assert process.process.wait(timeout=150) == 2
