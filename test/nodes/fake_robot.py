"""A robot's drivers and localisation as a test wants them, and ears for what the nodes publish."""

from __future__ import annotations

import math
import threading
import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from visualization_msgs.msg import MarkerArray

from vlkng_ros.building.image_codec import encode_jpeg
from vlkng_ros.msg import Navigation, Stored
from vlkng_ros.nodes.messages import time_of
from vlkng_ros.nodes.subscriptions import keep_last

DEADLINE_S = 150.0
"""Longer than a busy machine needs; nothing waits so long unless it is broken."""
COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (30, 40, 220)}


def seconds(value: float) -> int:
    return round(value * 1e9)


def picture(colour="red", height=48, width=64) -> np.ndarray:
    return np.full((height, width, 3), COLOURS[colour], dtype=np.uint8)


class FakeRobot(Node):
    """Publishes on the topics of a namespace; what it hears is in lists, and ``until`` waits for them to change."""

    def __init__(self, namespace: str = "") -> None:
        super().__init__("fake_robot", namespace=namespace)
        self.changed = threading.Condition()
        self.stored: list[Stored] = []
        self.statuses: list[DiagnosticStatus] = []
        self.markers: list[MarkerArray] = []
        self.navigation: list[Navigation] = []
        self.goals: list[PoseStamped] = []
        reliable = QoSProfile(depth=100)
        self.images = self.create_publisher(Image, "image", qos_profile_sensor_data)
        self.poses = self.create_publisher(PoseWithCovarianceStamped, "pose", reliable)
        self.odometry = self.create_publisher(Odometry, "odom", reliable)
        self.camera_infos = self.create_publisher(CameraInfo, "camera_info", qos_profile_sensor_data)
        self.hear(Stored, "builder_node/stored", self.stored, keep_last(1000, reliable=True))
        # After ~/stored, and so announced after it: a builder whose status is heard knows who hears what it stores.
        self.hear(DiagnosticStatus, "builder_node/status", self.statuses, keep_last(10, reliable=True, latched=True))

    def hear(self, kind, topic, into, qos=None):
        """Append every message of a topic to a list."""

        def take(message):
            with self.changed:
                into.append(message)
                self.changed.notify_all()

        return self.create_subscription(kind, topic, take, qos or keep_last(100, reliable=True))

    def until(self, condition, what="", timeout_s=DEADLINE_S):
        """Wait until a condition holds: something that was heard, or something that comes without a message."""
        deadline = time.monotonic() + timeout_s
        # Not under the lock: a condition may call a service, whose reply comes through the thread that takes it.
        while not condition():
            assert time.monotonic() < deadline, f"waited {timeout_s} s in vain for {what}; {self.last_status()}"
            with self.changed:
                # Connections make no event that would wake us: looked at from time to time.
                self.changed.wait(0.05)

    def last_status(self) -> str:
        if not self.statuses:
            return "no status heard"
        values = {pair.key: pair.value for pair in self.statuses[-1].values}
        return f"last status: {self.statuses[-1].message}; {values}"

    def until_heard_by_builder(self):
        """Wait until the builder is active and has subscribed to everything."""
        publishers = (self.images, self.poses, self.odometry, self.camera_infos)
        self.until(lambda: all(p.get_subscription_count() for p in publishers), "the builder to subscribe")
        known = len(self.statuses)
        self.until(
            lambda: any(s.values[0].value == "active" for s in self.statuses[known:]), "the builder to be active"
        )

    def until_status(self, text):
        """Wait until the builder's status says something."""
        self.until(lambda: any(text in status.message for status in self.statuses), f"a status with '{text}'")

    # ------------------------------------------------------------------------------------------ publishing

    def see(self, t_s, image=None, encoding="rgb8", frame_id="camera_optical"):
        """A camera image."""
        image = picture() if image is None else image
        message = Image(height=image.shape[0], width=image.shape[1], encoding=encoding)
        message.step = image.shape[1] * (image.shape[2] if image.ndim == 3 else 1) * image.itemsize
        message.data = image.tobytes()
        message.header.frame_id = frame_id
        message.header.stamp = time_of(seconds(t_s))
        self.images.publish(message)

    def compressed(self, t_s, image=None):
        """A camera image as JPEG."""
        message = CompressedImage(format="jpeg", data=encode_jpeg(picture() if image is None else image, 90))
        message.header.stamp = time_of(seconds(t_s))
        return message

    def camera_info(self, width=64, height=48, focal_px=50.0):
        """The camera's intrinsics."""
        k = [focal_px, 0.0, width / 2, 0.0, focal_px, height / 2, 0.0, 0.0, 1.0]
        self.camera_infos.publish(CameraInfo(width=width, height=height, k=k))

    def localise(self, t_s, x, y=0.0, yaw=0.0, frame_id="map"):
        """A pose as SLAM publishes it."""
        message = PoseWithCovarianceStamped()
        message.header.frame_id = frame_id
        message.header.stamp = time_of(seconds(t_s))
        self._fill(message.pose.pose, x, y, yaw)
        self.poses.publish(message)

    def roll(self, t_s, x, y=0.0, yaw=0.0):
        """Odometry."""
        message = Odometry()
        message.header.frame_id = "odom"
        message.header.stamp = time_of(seconds(t_s))
        self._fill(message.pose.pose, x, y, yaw)
        self.odometry.publish(message)

    @staticmethod
    def _fill(pose, x, y, yaw):
        pose.position.x, pose.position.y = float(x), float(y)
        pose.orientation.z, pose.orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)

    def drive_past(self, t_s, x, colour="red"):
        """One step of a drive along x: pose, odometry, and an image between two odometry messages."""
        self.localise(t_s - 0.02, x)
        self.roll(t_s - 0.02, x)
        self.see(t_s, picture(colour))
        self.roll(t_s + 0.02, x)

    def drive(self, steps, start_s=100.0, start_m=0.0, colours=("red",)):
        """Steps of 1 s and 1 m, each stored before the next is taken.

        Images are best effort: one sent while the builder is still being discovered may be lost, and is sent again.
        """
        for i in range(steps):
            before = len(self.stored)
            for _ in range(int(DEADLINE_S)):
                self.drive_past(start_s + i, start_m + i, colours[i % len(colours)])
                with self.changed:
                    if self.changed.wait_for(lambda before=before: len(self.stored) > before, 1.0):
                        break
            assert len(self.stored) > before, f"keyframe {i} was not stored; {self.last_status()}"
