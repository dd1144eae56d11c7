"""How cameras are mounted: the poses of their optical frames on the robot."""

from __future__ import annotations

import math
import re
from collections import Counter

from vlkng_ros.building.rotation import multiply
from vlkng_ros.config import CameraConfig
from vlkng_ros.errors import ConfigError
from vlkng_ros.types import OPTICAL_IN_BODY, Pose, Quaternion

_TOPIC = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*")


def cameras_in_base(config: CameraConfig, base_frame: str = "base_link") -> dict[str, Pose]:
    """The optical frame in the base frame by camera, as parameters give it; the main camera has the empty name.

    Roll, pitch and yaw are those of the camera's body (x ahead, y left, z up), turned about the fixed axes in this
    order as in URDF; the optical frame looks along the body's x axis. A camera whose mount is not given is left out.

    Raises:
        ConfigError: ``camera.others_mounts`` cannot be understood, or names no camera of ``camera.others``.
    """
    if config.extrinsics != "parameters":
        return {}
    main = (config.x_m, config.y_m, config.z_m, config.roll_rad, config.pitch_rad, config.yaw_rad)
    mounts: dict[str, tuple[float, ...]] = {"": main, **_others(config)}
    return {
        name: Pose(base_frame, (x, y, z), multiply(_from_rpy(*turns), OPTICAL_IN_BODY))
        for name, (x, y, z, *turns) in mounts.items()
    }


def other_cameras(config: CameraConfig) -> list[str]:
    """The names of the further cameras.

    Raises:
        ConfigError: one comes twice, or cannot be a topic's.
    """
    names = [name.strip() for name in config.others.split(",") if name.strip()]
    for name, count in Counter([config.name, *names]).items():
        if count > 1:
            raise ConfigError(f"camera.others: '{name}' is the name of {count} cameras ({config.others})")
    for name in names:
        if not _TOPIC.fullmatch(name):
            raise ConfigError(f"camera.others: '{name}' cannot be part of a topic's name: letters, digits, _ and /")
    return names


def _others(config: CameraConfig) -> dict[str, tuple[float, ...]]:
    known = other_cameras(config)
    mounts: dict[str, tuple[float, ...]] = {}
    for part in filter(None, (part.strip() for part in config.others_mounts.split(";"))):
        name, _, numbers = part.partition(":")
        try:
            values = tuple(float(number) for number in numbers.replace(",", " ").split())
        except ValueError:
            values = ()
        if len(values) != 6 or not all(map(math.isfinite, values)):
            raise ConfigError(f"camera.others_mounts: '{part}' is not 'NAME: x y z roll pitch yaw' in m and rad")
        if name.strip() not in known:
            raise ConfigError(
                f"camera.others_mounts: '{name.strip()}' is not in camera.others ({', '.join(known) or 'empty'})"
            )
        mounts[name.strip()] = values
    return mounts


def _from_rpy(roll_rad: float, pitch_rad: float, yaw_rad: float) -> Quaternion:
    roll: Quaternion = (math.sin(roll_rad / 2), 0.0, 0.0, math.cos(roll_rad / 2))
    pitch: Quaternion = (0.0, math.sin(pitch_rad / 2), 0.0, math.cos(pitch_rad / 2))
    yaw: Quaternion = (0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2))
    return multiply(yaw, multiply(pitch, roll))
