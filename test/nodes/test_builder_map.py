"""The map under the builder: TF, a loop that is closed, and things that are forgotten."""

import contextlib
import math
import sqlite3

import pytest
from clients import Caller
from colour_builder import ColourBuilder
from fake_robot import picture, seconds
from geometry_msgs.msg import TransformStamped
from running_nodes import overrides
from sensor_msgs.msg import Image
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes.messages import time_of
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.srv import Forget


@pytest.fixture
def build(run_in_thread, memory_path, robot):
    def start(**parameters):
        parameters = {"memory__path": str(memory_path), "association__text_encoder": "none", **parameters}
        return run_in_thread(ColourBuilder(parameter_overrides=overrides(**parameters)))

    return start


def keyframes(memory_path):
    with MemoryReader.open(memory_path) as memory:
        return memory.keyframes(memory.frames().ids.tolist())


# ------------------------------------------------------------------------------------------ loop closure


def graph(places):
    """As SLAM Toolbox publishes it: everything deleted, then a sphere a vertex, and edges as lines."""
    markers = [Marker(action=Marker.DELETEALL)]
    for number, (x, y) in places.items():
        sphere = Marker(ns="slam_toolbox", id=number, type=Marker.SPHERE, action=Marker.ADD)
        sphere.header.frame_id = "map"
        sphere.pose.position.x, sphere.pose.position.y = float(x), float(y)
        markers.append(sphere)
    markers.append(Marker(ns="slam_toolbox_edges", id=0, type=Marker.LINE_LIST, action=Marker.ADD))
    return MarkerArray(markers=markers)


def anchored(builder):
    """How many vertices of the graph the memory has placed a pose by."""
    with contextlib.closing(sqlite3.connect(builder._writer.path)) as db:
        return db.execute("SELECT count(*) FROM anchor").fetchone()[0]


def drifted(k, drift_rad=0.02):
    x = sum(math.cos(drift_rad * i) for i in range(k))
    y = sum(math.sin(drift_rad * i) for i in range(k))
    return x, y, drift_rad * k


def test_a_closed_loop_moves_keyframes_and_the_objects_seen_from_them(robot, build, memory_path):
    slam = robot.create_publisher(MarkerArray, "slam_toolbox/graph_visualization", 1)
    builder = build()
    robot.until_heard_by_builder()
    robot.until(lambda: slam.get_subscription_count() > 0, "the builder to hear the graph")
    for k in range(20):
        x, y, yaw = drifted(k)
        before = len(robot.stored)
        robot.localise(100.0 + k, x, y, yaw)
        robot.roll(100.0 + k, x, y, yaw)
        while len(robot.stored) == before:
            robot.see(100.0 + k, picture(("red", "green", "blue")[k % 3]))
            with robot.changed:
                robot.changed.wait_for(lambda before=before: len(robot.stored) > before, 1.0)
    robot.until(lambda: all(k.caption for k in keyframes(memory_path)), "the descriptions")
    slam.publish(graph({k: drifted(k)[:2] for k in range(20)}))
    # Of two graphs that wait, the newer is taken; so the first is awaited.
    robot.until(lambda: anchored(builder) == 20, "the vertices to be matched with the poses")
    drift_m = max(math.dist(k.base_pose.position_m[:2], (i, 0)) for i, k in enumerate(keyframes(memory_path)))
    assert drift_m > 2.5
    slam.publish(graph({k: (float(k), 0.0) for k in range(20)}))
    robot.until(lambda: keyframes(memory_path)[-1].base_pose.position_m[1] < 0.1, "the keyframes to move")
    for i, keyframe in enumerate(keyframes(memory_path)):
        assert math.dist(keyframe.base_pose.position_m[:2], (i, 0)) < 0.05
        assert abs(keyframe.base_pose.yaw_rad) < math.radians(3)
    with MemoryReader.open(memory_path) as memory:
        seen = [entity.position.mean_m for entity in memory.entities("hybrid")]
    assert max(abs(place[1]) for place in seen) < 0.2


# ------------------------------------------------------------------------------------------ TF


class Transforms:
    """Publishes TF as a robot does."""

    def __init__(self, robot) -> None:
        self.moving = robot.create_publisher(TFMessage, "/tf", 100)
        self.fixed = robot.create_publisher(TFMessage, "/tf_static", keep_last(10, reliable=True, latched=True))

    @staticmethod
    def _transform(t_s, parent, child, x=0.0, z=0.0, rotation=(0.0, 0.0, 0.0, 1.0)):
        transform = TransformStamped(child_frame_id=child)
        transform.header.frame_id = parent
        transform.header.stamp = time_of(seconds(t_s))
        transform.transform.translation.x, transform.transform.translation.z = float(x), float(z)
        turn = transform.transform.rotation
        turn.x, turn.y, turn.z, turn.w = rotation
        return transform

    def mount(self):
        optical = self._transform(0.0, "base_link", "camera_optical", x=0.2, z=1.0, rotation=(-0.5, 0.5, -0.5, 0.5))
        self.fixed.publish(TFMessage(transforms=[optical]))

    def move(self, t_s, x):
        map_to_odom = self._transform(t_s, "map", "odom", x=10.0)
        self.moving.publish(TFMessage(transforms=[map_to_odom, self._transform(t_s, "odom", "base_link", x=x)]))


def test_base_and_camera_are_placed_by_tf_at_the_images_stamp(robot, build, memory_path):
    transforms = Transforms(robot)
    transforms.mount()
    build(pose__source="tf", camera__extrinsics="tf")
    robot.until(lambda: robot.images.get_subscription_count() > 0, "the builder to subscribe")
    robot.until(lambda: transforms.moving.get_subscription_count() > 0, "the builder to hear TF")
    robot.until_status("active")
    transforms.move(100.0, 1.0)
    robot.see(100.5)
    transforms.move(101.0, 2.0)
    robot.until(lambda: robot.stored, "the keyframe")
    (keyframe,) = keyframes(memory_path)
    assert keyframe.base_pose.position_m == pytest.approx((11.5, 0.0, 0.0), abs=1e-6)
    assert keyframe.camera_pose.position_m == pytest.approx((11.7, 0.0, 1.0), abs=1e-6)
    assert keyframe.camera_pose.rotation()[:, 2] == pytest.approx([1, 0, 0], abs=1e-6)


def test_a_second_camera_is_placed_by_its_own_frame(robot, build, memory_path):
    transforms = Transforms(robot)
    transforms.mount()
    rear = transforms._transform(0.0, "base_link", "rear_optical", x=-0.3, z=0.8, rotation=(0.5, 0.5, -0.5, -0.5))
    transforms.fixed.publish(TFMessage(transforms=[rear]))
    rear_images = robot.create_publisher(Image, "rear/image", 5)
    build(camera__others="rear", camera__extrinsics="tf", pose__source="tf")
    robot.until(lambda: rear_images.get_subscription_count() > 0, "the builder to subscribe to the rear camera")
    robot.until(lambda: transforms.moving.get_subscription_count() > 0, "the builder to hear TF")
    robot.until_status("active")
    transforms.move(100.0, 1.0)
    robot.see(100.5)
    message = Image(height=48, width=64, encoding="rgb8", step=192, data=picture("green").tobytes())
    message.header.frame_id = "rear_optical"
    message.header.stamp = time_of(seconds(100.5))
    rear_images.publish(message)
    transforms.move(101.0, 2.0)
    robot.until(lambda: len(robot.stored) == 2, "both keyframes")
    found = {keyframe.camera: keyframe.camera_pose for keyframe in keyframes(memory_path)}
    assert found["camera"].position_m[0] == pytest.approx(11.7, abs=1e-6)
    assert found["rear"].position_m == pytest.approx((11.2, 0.0, 0.8), abs=1e-6)
    assert found["rear"].rotation()[:, 2] == pytest.approx([-1, 0, 0], abs=1e-6)


def test_a_frame_that_tf_does_not_know_is_named(robot, build):
    transforms = Transforms(robot)
    build(pose__source="tf", robot__base_frame="chassis")
    robot.until(lambda: transforms.moving.get_subscription_count() > 0, "the builder to hear TF")
    stamp = iter(range(10_000))

    def tick():
        t_s = 100.0 + next(stamp) / 10
        transforms.move(t_s, 0.0)
        robot.see(t_s)

    robot.create_timer(0.1, tick)
    robot.until_status("'chassis' cannot be placed in 'map'")
    robot.until_status("known frames: base_link, map, odom")


# ------------------------------------------------------------------------------------------ forgetting


def test_things_are_forgotten_through_the_builder_while_it_builds(robot, build, memory_path):
    build()
    robot.until_heard_by_builder()
    robot.drive(2, colours=("red", "green"))
    robot.until(lambda: all(k.caption for k in keyframes(memory_path)), "the descriptions")
    caller = Caller(robot, "builder_node")
    reply = caller.call(Forget, "forget", Forget.Request(label="red ball"))
    assert reply.status == Forget.Response.OK, reply.message
    assert (reply.entities, reply.observations, reply.images) == (1, 1, 1)
    with MemoryReader.open(memory_path) as memory:
        assert [entity.label for entity in memory.entities("hybrid")] == ["green ball"]
    again = caller.call(Forget, "forget", Forget.Request(label="red ball"))
    assert again.status == Forget.Response.NOT_FOUND
    assert again.message == "nothing of it was remembered"
    nothing = caller.call(Forget, "forget", Forget.Request())
    assert nothing.status == Forget.Response.INVALID
    assert "nothing was forgotten" in nothing.message
    robot.drive(1, start_s=200.0, start_m=20.0)
