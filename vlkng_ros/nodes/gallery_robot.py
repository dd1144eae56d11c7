"""gallery_robot: publishes what the gallery's robot sees and serves NavigateToPose, as Nav2's bt_navigator does.

It is the source of ``/clock``, so its own timer runs on the machine's steady clock and every stamp it writes is
simulated time; ``use_sim_time`` makes no difference to it.
"""

from __future__ import annotations

import array
import time
from collections.abc import Callable, Sequence
from typing import Any

import cv2
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import CameraInfo, CompressedImage
from sensor_msgs.msg import Image as ImageMessage

from vlkng_ros.config import GalleryConfig, GalleryRobotConfig
from vlkng_ros.errors import ImageError
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.drive import Drive
from vlkng_ros.gallery.generate import generate_gallery
from vlkng_ros.gallery.render import Renderer
from vlkng_ros.gallery.robot import SimulatedRobot
from vlkng_ros.gallery.sensors import (
    BASE_FRAME,
    ODOM_FRAME,
    OPTICAL_FRAME,
    ClockReading,
    FrameReading,
    OdometryReading,
    Reading,
    SensorConfig,
    SlamReading,
    Transform,
    TransformsReading,
    static_transforms,
)
from vlkng_ros.gallery.world import World
from vlkng_ros.nodes.gallery_goals import GalleryGoals
from vlkng_ros.nodes.messages import pose_message, pose_stamped, time_of
from vlkng_ros.nodes.parameters import NodeParameters
from vlkng_ros.nodes.running import log_to_ros, run_node
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.nodes.usage import Usage
from vlkng_ros.types import NS_PER_S, Image

LONGEST_STEP_S = 0.1
"""Simulated time in one turn of the timer: a machine that cannot keep up gets a slower clock, not one with holes."""


class GalleryRobot(Node):
    """Topics are relative: image, image/compressed, camera_info, odom, pose; /tf, /tf_static and /clock are global."""

    exit_status = 0

    def __init__(self, **arguments: Any) -> None:
        """``arguments`` are those of ``rclpy.node.Node``."""
        super().__init__("gallery_robot", **arguments)
        log_to_ros("gallery_robot")
        self._settings = NodeParameters(self, GalleryRobotConfig)
        world, self._tour = self._open_world()
        self.robot = SimulatedRobot(world, self._tour, self._sensor_config(), seed=self.config.seed)
        self._renderer = Renderer(world)
        self._goals = GalleryGoals(self, self.robot)
        self._publish_reading: dict[type[Any], Callable[[Any], None]] = {
            ClockReading: self._publish_clock,
            OdometryReading: self._publish_odometry,
            TransformsReading: self._publish_transforms,
            SlamReading: self._publish_pose,
            FrameReading: self._publish_frame,
        }
        self._make_publishers()
        self._info = self._camera_info()
        self._waiting_since = time.monotonic()
        self._started = False
        self._last = time.monotonic()
        # Two turns for each tick of the odometry, but no busier than a kernel's timer can be.
        period_s = min(max(0.01 / self.config.speed, 0.004), 0.05)
        self.create_timer(period_s, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def config(self) -> GalleryConfig:
        """The parameters as they are now."""
        return self._settings.config.gallery

    def _open_world(self) -> tuple[World, Drive]:
        config = self.config
        start_ns = round(config.start_s * NS_PER_S)
        if config.world == "demo":
            world, tour = demo_world(), demo_drive(start_ns)
        else:
            changes = min(config.things // 8, 3) if config.laps > 1 else 0
            generated = generate_gallery(
                config.seed,
                rooms=config.rooms,
                things=config.things,
                laps=config.laps,
                moved=changes,
                removed=changes,
                added=changes,
                start_ns=start_ns,
            )
            world, tour = generated.world, generated.drive
        return world, tour if config.tour else tour.then([], start_ns)

    def _sensor_config(self) -> SensorConfig:
        return SensorConfig(
            odometry_scale_sigma=self.config.odometry_scale_sigma,
            slam_position_sigma_m=self.config.slam_position_sigma_m,
            slam_yaw_sigma_rad=self.config.slam_yaw_sigma_rad,
            camera_hz=self.config.camera_hz,
        )

    def _make_publishers(self) -> None:
        # Reliable publishers serve subscribers of either kind.
        sensors = keep_last(10, reliable=True)
        transport = self.config.transport
        self._image = self.create_publisher(ImageMessage, "image", sensors) if transport != "compressed" else None
        self._compressed = (
            self.create_publisher(CompressedImage, "image/compressed", sensors) if transport != "raw" else None
        )
        self._camera = self.create_publisher(CameraInfo, "camera_info", sensors)
        self._odometry = self.create_publisher(Odometry, "odom", keep_last(50, reliable=True))
        self._pose = self.create_publisher(PoseWithCovarianceStamped, "pose", sensors)
        self._true_pose = self.create_publisher(PoseStamped, "~/true_pose", sensors)
        self._time = self.create_publisher(ClockMessage, "/clock", keep_last(1, reliable=True))
        self._tf = self._tf_static = None
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            self.get_logger().warning("tf2_msgs is not installed: /tf and /tf_static are not published")
            return
        self._tf_message = TFMessage
        self._tf = self.create_publisher(TFMessage, "/tf", keep_last(100, reliable=True))
        self._tf_static = self.create_publisher(TFMessage, "/tf_static", keep_last(1, reliable=True, latched=True))

    def _tick(self) -> None:
        now = time.monotonic()
        if not self._started:
            if self._missing_subscribers() and now - self._waiting_since < self.config.wait_for_subscribers_s:
                return
            self._start()
            self._last = now
        step_s = min((now - self._last) * self.config.speed, LONGEST_STEP_S)
        self._last = now
        for reading in self.robot.until(self.robot.now_ns + round(step_s * NS_PER_S)):
            self._publish(reading)
        self._goals.check()

    def _missing_subscribers(self) -> list[str]:
        cameras = [publisher for publisher in (self._image, self._compressed) if publisher is not None]
        wanted = [*cameras, self._pose]
        missing = [publisher.topic_name for publisher in wanted if not publisher.get_subscription_count()]
        # With both transports one subscriber is enough.
        return [] if len(missing) < len(cameras) and self._pose.topic_name not in missing else missing

    def _start(self) -> None:
        missing = self._missing_subscribers() if self.config.wait_for_subscribers_s > 0 else []
        if missing:
            self.get_logger().warning(
                f"no subscriber on {', '.join(missing)} after {self.config.wait_for_subscribers_s:g} s; starting anyway"
            )
        self._started = True
        if self._tf_static is not None:
            fixed = [self._transform(t, self.robot.now_ns) for t in static_transforms(self._renderer.camera)]
            self._tf_static.publish(self._tf_message(transforms=fixed))
        tour = self._tour
        seconds = (tour.end_ns - tour.start_ns) / NS_PER_S
        self.get_logger().info(
            f"{len(self.robot.world.rooms)} rooms, {len(self.robot.world.pictures)} pictures; "
            f"a tour of {tour.length_m:.0f} m in {seconds:.0f} s at {self.config.speed:g} times real speed"
        )

    def _publish(self, reading: Reading) -> None:
        self._publish_reading[type(reading)](reading)

    def _publish_clock(self, reading: ClockReading) -> None:
        self._time.publish(ClockMessage(clock=time_of(reading.at_ns)))

    def _publish_odometry(self, reading: OdometryReading) -> None:
        message = Odometry(child_frame_id=BASE_FRAME)
        message.header.frame_id, message.header.stamp = ODOM_FRAME, time_of(reading.stamp_ns)
        message.pose.pose = pose_message(reading.pose)
        message.twist.twist.linear.x = reading.speed_mps
        message.twist.twist.angular.z = reading.turn_radps
        self._odometry.publish(message)

    def _publish_transforms(self, reading: TransformsReading) -> None:
        if self._tf is not None:
            moving = [self._transform(transform, reading.stamp_ns) for transform in reading.transforms]
            self._tf.publish(self._tf_message(transforms=moving))

    @staticmethod
    def _transform(transform: Transform, stamp_ns: int) -> TransformStamped:
        message = TransformStamped(child_frame_id=transform.child)
        message.header.frame_id, message.header.stamp = transform.pose.frame_id, time_of(stamp_ns)
        pose = pose_message(transform.pose)
        shift = message.transform.translation
        shift.x, shift.y, shift.z = pose.position.x, pose.position.y, pose.position.z
        message.transform.rotation = pose.orientation
        return message

    def _publish_pose(self, reading: SlamReading) -> None:
        message = PoseWithCovarianceStamped()
        message.header.frame_id, message.header.stamp = reading.pose.frame_id, time_of(reading.stamp_ns)
        message.pose.pose = pose_message(reading.pose)
        covariance = [0.0] * 36
        covariance[0] = covariance[7] = reading.position_sigma_m**2
        covariance[35] = reading.yaw_sigma_rad**2
        message.pose.covariance = covariance
        self._pose.publish(message)

    def _publish_frame(self, reading: FrameReading) -> None:
        image = self._renderer.render(reading.base, reading.stamp_ns)
        stamp = time_of(reading.stamp_ns)
        self._info.header.stamp = stamp
        self._camera.publish(self._info)
        if self._image is not None:
            self._image.publish(_raw(image, stamp))
        if self._compressed is not None:
            self._compressed.publish(_jpeg(image, stamp, self.config.jpeg_quality))
        self._true_pose.publish(pose_stamped(reading.base, reading.stamp_ns))

    def _camera_info(self) -> CameraInfo:
        k = self._renderer.camera.intrinsics
        info = CameraInfo(height=k.height_px, width=k.width_px, distortion_model="plumb_bob", d=[0.0] * 5)
        info.header.frame_id = OPTICAL_FRAME
        info.k = [k.fx, 0.0, k.cx, 0.0, k.fy, k.cy, 0.0, 0.0, 1.0]
        info.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        info.p = [k.fx, 0.0, k.cx, 0.0, 0.0, k.fy, k.cy, 0.0, 0.0, 0.0, 1.0, 0.0]
        return info

    def request_stop(self) -> None:
        """Nothing here takes long."""

    def close(self) -> None:
        """Take no more goals."""
        self._goals.close()


def _raw(image: Image, stamp: Any) -> ImageMessage:
    height, width = image.shape[:2]
    message = ImageMessage(height=height, width=width, encoding="rgb8", step=width * 3)
    message.header.frame_id, message.header.stamp = OPTICAL_FRAME, stamp
    # An array goes into the message as it is; bytes would be checked one by one.
    message.data = array.array("B", image.tobytes())
    return message


def _jpeg(image: Image, stamp: Any, quality: int) -> CompressedImage:
    ok, encoded = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not ok:
        raise ImageError("OpenCV cannot write JPEG on this machine")
    message = CompressedImage(format="rgb8; jpeg compressed bgr8")
    message.header.frame_id, message.header.stamp = OPTICAL_FRAME, stamp
    message.data = array.array("B", encoded.tobytes())
    return message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop."""
    launch = "ros2 run vlkng_ros gallery_robot --ros-args -p gallery.tour:=true"
    return run_node(GalleryRobot, arguments, Usage(str(__doc__), GalleryRobotConfig, launch))
