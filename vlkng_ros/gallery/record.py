"""A drive through a gallery as a rosbag2: the topics that ``gallery_robot`` publishes, without a ROS graph.

``/clock`` is left out, as it is on a robot: what plays a bag brings its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.typesys import Stores, get_typestore

from vlkng_ros.errors import BagError, InvalidInputError
from vlkng_ros.gallery.camera import GalleryCamera
from vlkng_ros.gallery.drive import Drive
from vlkng_ros.gallery.render import Renderer
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
    sensor_readings,
    static_transforms,
)
from vlkng_ros.gallery.world import World
from vlkng_ros.types import NS_PER_S, Image, Pose

STORAGES = {"sqlite3": StoragePlugin.SQLITE3, "mcap": StoragePlugin.MCAP}
TRANSPORTS = ("raw", "compressed")
TOPICS = {
    "image": "sensor_msgs/msg/Image",
    "image/compressed": "sensor_msgs/msg/CompressedImage",
    "camera_info": "sensor_msgs/msg/CameraInfo",
    "odom": "nav_msgs/msg/Odometry",
    "pose": "geometry_msgs/msg/PoseWithCovarianceStamped",
    "tf": "tf2_msgs/msg/TFMessage",
    "tf_static": "tf2_msgs/msg/TFMessage",
}
_ANY = QosTime(2147483647, 4294967295)


def record_drive(
    path: Path | str,
    world: World,
    drive: Drive,
    *,
    storage: str = "sqlite3",
    transport: str = "compressed",
    sensors: SensorConfig | None = None,
    camera: GalleryCamera | None = None,
    seed: int = 0,
    parked_s: float = 1.0,
    jpeg_quality: int = 90,
    progress: Callable[[float], None] | None = None,
) -> Mapping[str, int]:
    """Write a drive and ``parked_s`` seconds after it as a bag.

    Args:
        path: the bag's folder, which must not exist.
        world: what the camera sees.
        drive: where the robot drives.
        storage: ``sqlite3`` or ``mcap``.
        transport: ``raw`` (Image) or ``compressed`` (CompressedImage).
        sensors: rates and noise.
        camera: the robot's camera.
        seed: of the noise.
        parked_s: seconds recorded after the drive's end.
        jpeg_quality: of compressed images.
        progress: called with the fraction that is done.

    Returns:
        Messages by topic.

    Raises:
        InvalidInputError: an unknown storage or transport.
        ImageError: a photograph of the world cannot be read.
        BagError: the folder exists or cannot be written.
    """
    if storage not in STORAGES:
        raise InvalidInputError(f"storage '{storage}' is not one of {', '.join(STORAGES)}")
    if transport not in TRANSPORTS:
        raise InvalidInputError(f"transport '{transport}' is not one of {', '.join(TRANSPORTS)}")
    messages = _Messages(Renderer(world, camera), transport, jpeg_quality)
    span_ns = max(drive.end_ns - drive.start_ns + round(parked_s * NS_PER_S), 1)
    counts: Counter[str] = Counter()
    try:
        with Writer(Path(path), version=9, storage_plugin=STORAGES[storage]) as writer:
            left_out = "image" if transport == "compressed" else "image/compressed"
            connections = {
                topic: writer.add_connection(
                    f"/{topic}",
                    msgtype,
                    typestore=messages.store,
                    offered_qos_profiles=[_qos(latched=topic == "tf_static")],
                )
                for topic, msgtype in TOPICS.items()
                if topic != left_out
            }

            def write(topic: str, at_ns: int, message: Any) -> None:
                writer.write(connections[topic], at_ns, bytes(messages.store.serialize_cdr(message, TOPICS[topic])))
                counts[f"/{topic}"] += 1

            write("tf_static", drive.start_ns, messages.static(drive.start_ns))
            for reading in sensor_readings(drive, sensors, seed=seed, parked_s=parked_s):
                for topic, message in messages.of(reading):
                    write(topic, reading.at_ns, message)
                if progress is not None and isinstance(reading, FrameReading):
                    progress(min((reading.at_ns - drive.start_ns) / span_ns, 1.0))
    except (WriterError, OSError) as error:
        raise BagError(f"the bag {path} cannot be written: {error}") from error
    return dict(counts)


class _Messages:
    """Readings as messages of the rosbags library."""

    def __init__(self, renderer: Renderer, transport: str, jpeg_quality: int) -> None:
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self._types = self.store.types
        self._renderer = renderer
        self._transport = transport
        self._jpeg_quality = jpeg_quality

    def of(self, reading: Reading) -> list[tuple[str, Any]]:
        """The messages of a reading, each with its topic."""
        if isinstance(reading, OdometryReading):
            return [("odom", self._odometry(reading))]
        if isinstance(reading, SlamReading):
            return [("pose", self._slam_pose(reading))]
        if isinstance(reading, TransformsReading):
            return [("tf", self._tf(reading.transforms, reading.stamp_ns))]
        if isinstance(reading, ClockReading):
            return []
        image = self._renderer.render(reading.base, reading.stamp_ns)
        camera_info = ("camera_info", self._camera_info(reading.stamp_ns))
        if self._transport == "raw":
            return [camera_info, ("image", self._image(image, reading.stamp_ns))]
        return [camera_info, ("image/compressed", self._compressed(image, reading.stamp_ns))]

    def static(self, stamp_ns: int) -> Any:
        """The camera's mounting."""
        return self._tf(static_transforms(self._renderer.camera), stamp_ns)

    def _header(self, stamp_ns: int, frame_id: str) -> Any:
        stamp = self._types["builtin_interfaces/msg/Time"](*divmod(stamp_ns, NS_PER_S))
        return self._types["std_msgs/msg/Header"](stamp, frame_id)

    def _pose(self, pose: Pose) -> Any:
        point = self._types["geometry_msgs/msg/Point"](*pose.position_m)
        return self._types["geometry_msgs/msg/Pose"](point, self._quaternion(pose))

    def _quaternion(self, pose: Pose) -> Any:
        return self._types["geometry_msgs/msg/Quaternion"](*pose.orientation)

    def _vector(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Any:
        return self._types["geometry_msgs/msg/Vector3"](x, y, z)

    def _odometry(self, reading: OdometryReading) -> Any:
        t = self._types
        twist = t["geometry_msgs/msg/Twist"](self._vector(reading.speed_mps), self._vector(z=reading.turn_radps))
        return t["nav_msgs/msg/Odometry"](
            self._header(reading.stamp_ns, ODOM_FRAME),
            BASE_FRAME,
            t["geometry_msgs/msg/PoseWithCovariance"](self._pose(reading.pose), np.zeros(36)),
            t["geometry_msgs/msg/TwistWithCovariance"](twist, np.zeros(36)),
        )

    def _slam_pose(self, reading: SlamReading) -> Any:
        covariance = np.zeros(36)
        covariance[[0, 7]] = reading.position_sigma_m**2
        covariance[35] = reading.yaw_sigma_rad**2
        t = self._types
        return t["geometry_msgs/msg/PoseWithCovarianceStamped"](
            self._header(reading.stamp_ns, reading.pose.frame_id),
            t["geometry_msgs/msg/PoseWithCovariance"](self._pose(reading.pose), covariance),
        )

    def _tf(self, transforms: tuple[Transform, ...], stamp_ns: int) -> Any:
        t = self._types
        return t["tf2_msgs/msg/TFMessage"](
            [
                t["geometry_msgs/msg/TransformStamped"](
                    self._header(stamp_ns, transform.pose.frame_id),
                    transform.child,
                    t["geometry_msgs/msg/Transform"](
                        self._vector(*transform.pose.position_m), self._quaternion(transform.pose)
                    ),
                )
                for transform in transforms
            ]
        )

    def _camera_info(self, stamp_ns: int) -> Any:
        k = self._renderer.camera.intrinsics
        matrix = np.array([k.fx, 0.0, k.cx, 0.0, k.fy, k.cy, 0.0, 0.0, 1.0])
        projection = np.array([k.fx, 0.0, k.cx, 0.0, 0.0, k.fy, k.cy, 0.0, 0.0, 0.0, 1.0, 0.0])
        return self._types["sensor_msgs/msg/CameraInfo"](
            self._header(stamp_ns, OPTICAL_FRAME),
            k.height_px,
            k.width_px,
            "plumb_bob",
            np.zeros(5),
            matrix,
            np.eye(3).ravel(),
            projection,
            0,
            0,
            self._types["sensor_msgs/msg/RegionOfInterest"](0, 0, 0, 0, False),
        )

    def _image(self, image: Image, stamp_ns: int) -> Any:
        height, width = image.shape[:2]
        header = self._header(stamp_ns, OPTICAL_FRAME)
        return self._types["sensor_msgs/msg/Image"](header, height, width, "rgb8", 0, width * 3, image.ravel())

    def _compressed(self, image: Image, stamp_ns: int) -> Any:
        bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
        _, encoded = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, self._jpeg_quality])
        header = self._header(stamp_ns, OPTICAL_FRAME)
        return self._types["sensor_msgs/msg/CompressedImage"](
            header, "rgb8; jpeg compressed bgr8", np.asarray(encoded, np.uint8).ravel()
        )


def _qos(*, latched: bool) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST,
        10,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        _ANY,
        _ANY,
        QosLiveliness.AUTOMATIC,
        _ANY,
        False,
    )
