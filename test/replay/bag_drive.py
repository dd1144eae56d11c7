"""A drive whose every pose and picture is known, as a bag: down a corridor, a turn, and down the next.

The picture at a stamp is a plain colour that tells the stamp, so that a keyframe's picture can be checked. What a
model would say of a picture is where its two things, which stand still, would be in it. SLAM
publishes as SLAM Toolbox does: after each half metre or 0.35 rad, and not while parked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from ros_messages import (
    camera_info,
    compressed_image,
    image,
    odometry,
    pose_with_covariance,
    transforms,
)

from vlkng_ros.types import Pose, Vec3

START_NS = 1_767_225_600_000_000_000
NS = 1_000_000_000
SECONDS = 16.0
SPEED_M_S = 0.5
PARKED_S = (6.0, 8.0)
TURN_S = (8.0, 10.0)
WIDTH, HEIGHT = 64, 48
K = [50.0, 0.0, 32.0, 0.0, 50.0, 24.0, 0.0, 0.0, 1.0]
CAMERA_HEIGHT_M = 0.5
ODOMETRY_OFFSET = Pose.planar("odom", 5.0, -3.0, 0.7)


class Thing(NamedTuple):
    """Something that stands where it is."""

    label: str
    at_m: Vec3
    width_m: float
    height_m: float


CAT = Thing("cat", (5.5, 0.8, 0.2), 0.4, 0.4)
"""Beyond the end of the first corridor."""
DOOR = Thing("door", (4.0, 6.5, 1.0), 0.9, 2.0)
"""Beyond the end of the second one."""


def yaw_at(seconds: float) -> float:
    return math.pi / 2 * min(1.0, max(0.0, (seconds - TURN_S[0]) / (TURN_S[1] - TURN_S[0])))


def pose_at(seconds: float, frame_id: str = "map") -> Pose:
    """Three metres along x, two seconds parked, a quarter turn on the spot, three metres along y."""
    x = SPEED_M_S * min(seconds, PARKED_S[0])
    y = SPEED_M_S * max(0.0, seconds - TURN_S[1])
    return Pose.planar(frame_id, x, y, yaw_at(seconds))


def odometry_at(seconds: float) -> Pose:
    """The same motion, seen from where odometry started."""
    return Pose("odom", ODOMETRY_OFFSET.position_m, ODOMETRY_OFFSET.orientation).compose(pose_at(seconds))


def colour_at(seconds: float) -> tuple[int, int, int]:
    """RGB that differs by at least eight steps from one picture to the next."""
    step = round(seconds * 5)
    return (40 + 8 * (step % 24), 200 - 32 * (step // 24), 90)


def stamp_ns(seconds: float) -> int:
    return START_NS + round(seconds * NS)


def picture_times() -> list[float]:
    # They end before odometry does, so that the last one is placed while others still come.
    return [i / 5 for i in range(int(SECONDS * 5) - 1)]


def messages(
    *, compressed: bool = False, poses: str = "slam", encoding: str = "rgb8", delay_s: float = 0.05
) -> list[tuple[str, int, Any]]:
    """(topic, receive time, message) in order of time; ``poses`` is ``slam``, ``tf`` or ``none``."""
    made = list(_camera(compressed, encoding, delay_s))
    if poses == "slam":
        made += _slam()
    elif poses == "tf":
        made += _tf()
    return sorted(made, key=lambda item: item[1])


def _camera(compressed: bool, encoding: str, delay_s: float) -> Iterator[tuple[str, int, Any]]:
    for seconds in picture_times():
        pixels = np.full((HEIGHT, WIDTH, 3), colour_at(seconds), np.uint8)
        received = stamp_ns(seconds + delay_s)
        if compressed:
            data = bytes(cv2.imencode(".png", pixels[:, :, ::-1])[1])
            yield "/camera/image_raw/compressed", received, compressed_image(data, "png", stamp_ns(seconds))
        else:
            yield "/camera/image_raw", received, image(pixels, encoding, stamp_ns(seconds))
        yield "/camera/camera_info", received, camera_info(K, WIDTH, HEIGHT)


def _slam() -> Iterator[tuple[str, int, Any]]:
    last: Pose | None = None
    for i in range(int(SECONDS * 20) + 1):
        seconds = i / 20
        pose = pose_at(seconds)
        moved = odometry_at(seconds)
        yield "/odom", stamp_ns(seconds + 0.002), odometry(stamp_ns(seconds), moved.position_m, moved.orientation)
        if last is None or pose.distance_m(last) >= 0.5 or abs(pose.yaw_rad - last.yaw_rad) >= 0.35:
            last = pose
            message = pose_with_covariance(stamp_ns(seconds), pose.position_m, pose.orientation)
            yield "/pose", stamp_ns(seconds + 0.1), message
    # RViz's pose estimate has the type of SLAM's pose and is none.
    yield "/initialpose", stamp_ns(1.0), pose_with_covariance(stamp_ns(1.0), (99.0, 99.0, 0.0))


def _tf() -> Iterator[tuple[str, int, Any]]:
    mount = ((0.2, 0.0, 0.4), (-0.5, 0.5, -0.5, 0.5))
    yield "/tf_static", stamp_ns(0.0), transforms((stamp_ns(0.0), "base_link", "camera", *mount))
    odom_in_map = ODOMETRY_OFFSET.inverse("map")
    for i in range(int(SECONDS * 20) + 1):
        seconds = i / 20
        odom = odometry_at(seconds)
        edge = (stamp_ns(seconds), "odom", "base_link", odom.position_m, odom.orientation)
        yield "/tf", stamp_ns(seconds + 0.002), transforms(edge)
        if i % 2 == 0:
            edge = (stamp_ns(seconds), "map", "odom", odom_in_map.position_m, odom_in_map.orientation)
            yield "/tf", stamp_ns(seconds + 0.05), transforms(edge)


def box_of(thing: Thing, seconds: float) -> list[float] | None:
    """Its box in the picture of a stamp, where all of it is in the picture."""
    robot, (x, y, z) = pose_at(seconds), thing.at_m
    ahead = math.cos(robot.yaw_rad) * (x - robot.position_m[0]) + math.sin(robot.yaw_rad) * (y - robot.position_m[1])
    left = math.cos(robot.yaw_rad) * (y - robot.position_m[1]) - math.sin(robot.yaw_rad) * (x - robot.position_m[0])
    if ahead < 0.5:
        return None
    u, v = K[2] - K[0] * left / ahead, K[5] - K[4] * (z - CAMERA_HEIGHT_M) / ahead
    half_w, half_h = K[0] * thing.width_m / ahead / 2, K[4] * thing.height_m / ahead / 2
    box = [round(edge, 2) for edge in (u - half_w, v - half_h, u + half_w, v + half_h)]
    return box if box[0] >= 0 and box[1] >= 0 and box[2] <= WIDTH and box[3] <= HEIGHT else None


def write_recording(path: Path) -> Path:
    """What the ``recorded`` backend says of every picture: the things in it; the cat runs off at the first stop."""
    with path.open("w") as out:
        for seconds in picture_times():
            boxes = {thing.label: box_of(thing, seconds) for thing in (DOOR, CAT)}
            if seconds >= PARKED_S[0]:
                boxes["cat"] = None
            line = {
                "version": 1,
                "stamp_ns": stamp_ns(seconds),
                "caption": f"A corridor at {seconds:.1f} s.",
                "detections": [
                    {"label": label, "box_px": box, "score": 0.9} for label, box in boxes.items() if box is not None
                ],
                "backend": "test",
                "model": "test",
            }
            out.write(json.dumps(line) + "\n")
    return path
