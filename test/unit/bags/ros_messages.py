"""ROS messages and small bags for tests, made with the rosbags library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from vlkng_ros.bags.recording import BagMessage

STORE = get_typestore(Stores.ROS2_JAZZY)
T = STORE.types

STORAGES = {"sqlite3": StoragePlugin.SQLITE3, "mcap": StoragePlugin.MCAP}
COMPRESSIONS = {mode.name.lower(): mode for mode in CompressionMode}


def header(stamp_ns: int, frame_id: str = "map") -> Any:
    stamp = T["builtin_interfaces/msg/Time"](stamp_ns // 10**9, stamp_ns % 10**9)
    return T["std_msgs/msg/Header"](stamp, frame_id)


def image(pixels: Any, encoding: str, stamp_ns: int = 0, *, step: int = 0, width: int = 0, height: int = 0) -> Any:
    """An Image message of an array; ``step``, ``width`` and ``height`` default to the array's."""
    data = np.ascontiguousarray(pixels)
    rows, columns = data.shape[:2]
    raw = np.frombuffer(data.tobytes(), dtype=np.uint8)
    message = T["sensor_msgs/msg/Image"]
    row = step or data.nbytes // rows
    return message(header(stamp_ns, "camera"), height or rows, width or columns, encoding, 0, row, raw)


def compressed_image(data: bytes, form: str = "jpeg", stamp_ns: int = 0) -> Any:
    raw = np.frombuffer(data, dtype=np.uint8)
    return T["sensor_msgs/msg/CompressedImage"](header(stamp_ns, "camera"), form, raw)


def camera_info(
    k: Sequence[float], width: int, height: int, *, binning: int = 0, roi: Sequence[int] = (0, 0, 0, 0)
) -> Any:
    """A CameraInfo; ``roi`` is x offset, y offset, width, height."""
    x_offset, y_offset, roi_width, roi_height = roi
    region = T["sensor_msgs/msg/RegionOfInterest"](x_offset, y_offset, roi_height, roi_width, False)
    matrices = np.zeros(5), np.array(k, dtype=np.float64), np.eye(3).ravel(), np.zeros(12)
    message = T["sensor_msgs/msg/CameraInfo"]
    return message(header(0, "camera"), height, width, "plumb_bob", *matrices, binning, binning, region)


def _pose(xyz: Sequence[float], quaternion: Sequence[float]) -> Any:
    return T["geometry_msgs/msg/Pose"](
        T["geometry_msgs/msg/Point"](*xyz), T["geometry_msgs/msg/Quaternion"](*quaternion)
    )


def pose_stamped(stamp_ns: int, xyz: Sequence[float], quaternion: Sequence[float] = (0.0, 0.0, 0.0, 1.0)) -> Any:
    return T["geometry_msgs/msg/PoseStamped"](header(stamp_ns), _pose(xyz, quaternion))


def pose_with_covariance(
    stamp_ns: int, xyz: Sequence[float], quaternion: Sequence[float] = (0.0, 0.0, 0.0, 1.0), frame_id: str = "map"
) -> Any:
    pose = T["geometry_msgs/msg/PoseWithCovariance"](_pose(xyz, quaternion), np.zeros(36))
    return T["geometry_msgs/msg/PoseWithCovarianceStamped"](header(stamp_ns, frame_id), pose)


def odometry(stamp_ns: int, xyz: Sequence[float], quaternion: Sequence[float] = (0.0, 0.0, 0.0, 1.0)) -> Any:
    pose = T["geometry_msgs/msg/PoseWithCovariance"](_pose(xyz, quaternion), np.zeros(36))
    still = T["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0)
    twist = T["geometry_msgs/msg/TwistWithCovariance"](T["geometry_msgs/msg/Twist"](still, still), np.zeros(36))
    return T["nav_msgs/msg/Odometry"](header(stamp_ns, "odom"), "base_link", pose, twist)


def transforms(*edges: tuple[int, str, str, Sequence[float], Sequence[float]]) -> Any:
    """A TFMessage of (stamp_ns, parent, child, xyz, quaternion)."""
    made = [
        T["geometry_msgs/msg/TransformStamped"](
            header(stamp_ns, parent),
            child,
            T["geometry_msgs/msg/Transform"](
                T["geometry_msgs/msg/Vector3"](*xyz), T["geometry_msgs/msg/Quaternion"](*quaternion)
            ),
        )
        for stamp_ns, parent, child, xyz, quaternion in edges
    ]
    return T["tf2_msgs/msg/TFMessage"](made)


def pose_graph(vertices: Sequence[tuple[float, float]]) -> Any:
    """What SLAM Toolbox shows of its pose graph: a deletion of all, a sphere a vertex, a line an edge."""
    namespace, duration = "slam_toolbox", T["builtin_interfaces/msg/Duration"](0, 0)
    scale, colour = T["geometry_msgs/msg/Vector3"](0.1, 0.1, 0.1), T["std_msgs/msg/ColorRGBA"](1.0, 0.0, 0.0, 1.0)
    still = (0.0, 0.0, 0.0, 1.0)

    def marker(number: int, kind: int, action: int, xy: tuple[float, float]) -> Any:
        fields = {
            "header": header(0),
            "ns": namespace,
            "id": number,
            "type": kind,
            "action": action,
            "pose": _pose((*xy, 0.0), still),
            "scale": scale,
            "color": colour,
            "lifetime": duration,
            "frame_locked": False,
            "points": [],
            "colors": [],
            "texture_resource": "",
            "texture": compressed_image(b""),
            "uv_coordinates": [],
            "text": "",
            "mesh_resource": "",
            "mesh_file": T["visualization_msgs/msg/MeshFile"]("", np.zeros(0, np.uint8)),
            "mesh_use_embedded_materials": False,
        }
        return T["visualization_msgs/msg/Marker"](**fields)

    spheres = [marker(i, 2, 0, xy) for i, xy in enumerate(vertices)]
    edge = marker(len(vertices), 5, 0, (0.0, 0.0))
    return T["visualization_msgs/msg/MarkerArray"]([marker(0, 0, 3, (0.0, 0.0)), *spheres, edge])


def text(words: str) -> Any:
    return T["std_msgs/msg/String"](words)


def cdr(message: Any) -> bytes:
    return bytes(STORE.serialize_cdr(message, message.__msgtype__))


def write_bag(
    path: Path, messages: Sequence[tuple[str, int, Any]], *, storage: str = "mcap", compression: str = "none"
) -> list[BagMessage]:
    """Write (topic, stamp_ns, message) in this order; returns what reading the bag should give."""
    writer = Writer(path, version=9, storage_plugin=STORAGES[storage])
    writer.set_compression(COMPRESSIONS[compression], CompressionFormat.ZSTD)
    written = []
    with writer:
        connections: dict[str, Any] = {}
        for topic, stamp_ns, message in messages:
            msgtype = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, msgtype, typestore=STORE)
            data = cdr(message)
            writer.write(connections[topic], stamp_ns, data)
            written.append(BagMessage(topic, msgtype, stamp_ns, data))
    return sorted(written, key=lambda message: message.stamp_ns)
