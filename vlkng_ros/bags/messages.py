"""ROS messages into our types, without ROS: from raw CDR, or from any object that has a message's fields.

The functions on messages read attributes only, so that those of rclpy do as well as those of the rosbags library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from vlkng_ros.errors import BagError, PoseError
from vlkng_ros.types import NS_PER_S, Intrinsics, Pose

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED_IMAGE = "sensor_msgs/msg/CompressedImage"
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
POSE_WITH_COVARIANCE = "geometry_msgs/msg/PoseWithCovarianceStamped"
POSE = "geometry_msgs/msg/PoseStamped"
ODOMETRY = "nav_msgs/msg/Odometry"
TF = "tf2_msgs/msg/TFMessage"
MARKERS = "visualization_msgs/msg/MarkerArray"

_SPHERE, _ADD = 2, 0


def decode(data: bytes, msgtype: str) -> Any:
    """A message from its CDR bytes.

    Raises:
        BagError: a type that is not among ROS 2's common ones, or data that is not of this type.
    """
    store = _typestore()
    if msgtype not in store.types:
        raise BagError(f"message type {msgtype} is not known")
    try:
        return store.deserialize_cdr(data, msgtype)
    except Exception as error:  # a third-party parser on damaged data: whatever it raises
        raise BagError(
            f"a {msgtype} message of {len(data)} bytes is damaged: {error or type(error).__name__}"
        ) from error


@lru_cache(maxsize=1)
def _typestore() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def stamp_of(header: Any) -> int:
    """A header's stamp in ns."""
    return int(header.stamp.sec) * NS_PER_S + int(header.stamp.nanosec)


def pose_of(message: Any, msgtype: str) -> tuple[int, Pose]:
    """Stamp and pose of a PoseWithCovarianceStamped, PoseStamped or Odometry message.

    Raises:
        PoseError: NaN, or a quaternion that is no rotation.
        BagError: another type.
    """
    if msgtype in (POSE_WITH_COVARIANCE, ODOMETRY):
        pose = message.pose.pose
    elif msgtype == POSE:
        pose = message.pose
    else:
        raise BagError(f"{msgtype} holds no pose; known are {POSE_WITH_COVARIANCE}, {POSE} and {ODOMETRY}")
    return stamp_of(message.header), _pose(message.header.frame_id, pose.position, pose.orientation)


def transforms_of(message: Any) -> list[tuple[int, str, Pose]]:
    """Stamp, child frame and the child's pose in its parent, of each transform in a TFMessage.

    Those with NaN or a quaternion that is no rotation are left out.
    """
    found = []
    for transform in message.transforms:
        try:
            pose = _pose(transform.header.frame_id, transform.transform.translation, transform.transform.rotation)
        except PoseError:
            continue
        found.append((stamp_of(transform.header), str(transform.child_frame_id).strip("/"), pose))
    return found


def vertices_of(message: Any) -> dict[int, tuple[float, float]]:
    """Where SLAM Toolbox's pose-graph vertices are, by number, of the MarkerArray that shows the graph.

    Edges come as lines; a sphere is a vertex.
    """
    return {
        int(marker.id): (float(marker.pose.position.x), float(marker.pose.position.y))
        for marker in message.markers
        if marker.action == _ADD and marker.type == _SPHERE and marker.ns == "slam_toolbox"
    }


def intrinsics_of(message: Any) -> Intrinsics | None:
    """The camera matrix of a CameraInfo message for the image as it is published; None for an uncalibrated camera.

    ``K`` is that of the full sensor image; binning and the region of interest are taken into account.
    """
    fx, fy, cx, cy = float(message.k[0]), float(message.k[4]), float(message.k[2]), float(message.k[5])
    if fx <= 0 or fy <= 0 or message.width <= 0 or message.height <= 0:
        return None
    region = message.roi
    width, height = int(region.width or message.width), int(region.height or message.height)
    left, top = (int(region.x_offset), int(region.y_offset)) if region.width and region.height else (0, 0)
    across, down = max(1, int(message.binning_x)), max(1, int(message.binning_y))
    return Intrinsics(fx / across, fy / down, (cx - left) / across, (cy - top) / down, width // across, height // down)


def _pose(frame_id: Any, position: Any, orientation: Any) -> Pose:
    return Pose(
        str(frame_id).strip("/"),
        (position.x, position.y, position.z),
        (orientation.x, orientation.y, orientation.z, orientation.w),
    )
