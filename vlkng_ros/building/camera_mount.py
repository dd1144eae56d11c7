"""How the camera is mounted: the pose of its optical frame on the robot."""

from __future__ import annotations

import math

from vlkng_ros.building.rotation import multiply
from vlkng_ros.config import CameraConfig
from vlkng_ros.types import OPTICAL_IN_BODY, Pose, Quaternion


def camera_in_base(config: CameraConfig, base_frame: str = "base_link") -> Pose | None:
    """The optical frame in the base frame as parameters give it; None where there are no extrinsics.

    Roll, pitch and yaw are those of the camera's body (x ahead, y left, z up), turned about the fixed axes in this
    order as in URDF; the optical frame looks along the body's x axis.
    """
    if config.extrinsics != "parameters":
        return None
    body = _from_rpy(config.roll_rad, config.pitch_rad, config.yaw_rad)
    return Pose(base_frame, (config.x_m, config.y_m, config.z_m), multiply(body, OPTICAL_IN_BODY))


def _from_rpy(roll_rad: float, pitch_rad: float, yaw_rad: float) -> Quaternion:
    roll: Quaternion = (math.sin(roll_rad / 2), 0.0, 0.0, math.cos(roll_rad / 2))
    pitch: Quaternion = (0.0, math.sin(pitch_rad / 2), 0.0, math.cos(pitch_rad / 2))
    yaw: Quaternion = (0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2))
    return multiply(yaw, multiply(pitch, roll))
