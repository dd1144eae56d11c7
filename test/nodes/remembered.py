"""A small memory to ask about: balls seen along a corridor."""

from __future__ import annotations

from pathlib import Path

from fake_robot import picture, seconds

from vlkng_ros.building.image_codec import encode_jpeg
from vlkng_ros.config import AssociationConfig
from vlkng_ros.memory import MemoryWriter
from vlkng_ros.memory.association.registry import open_associator
from vlkng_ros.types import Capture, Detection, Intrinsics, Perception, Pose

SEEN = ((100.0, 1.0, "red"), (110.0, 21.0, "green"), (120.0, 41.0, "blue"), (130.0, 61.0, "red"))
"""Time in s, place along x in m, and colour of the ball seen from there."""
WALLS = tuple((t_s + 1 + i, x_m + 1 + i, "") for t_s, x_m, _ in SEEN for i in range(6))
"""What lies between: a wall without any ball. Sightings a few frames apart count as one."""


def open_writer(path: Path) -> MemoryWriter:
    return MemoryWriter.open(path, encoder=None, associators=(open_associator(AssociationConfig()),))


def remember(writer: MemoryWriter, t_s: float, x_m: float, colour: str) -> int:
    base = Pose.planar("map", x_m, 0.0, 0.5)
    capture = Capture(seconds(t_s), base, base, "camera", Intrinsics(50, 50, 32, 24, 64, 48), (64, 48))
    keyframe = writer.add_keyframe(capture, encode_jpeg(picture(colour or "blue"), 85))
    perception = Perception("a long wall", backend="test")
    if colour:
        detection = Detection(f"{colour} ball", (16.0, 12.0, 48.0, 36.0), 0.9)
        perception = Perception(f"a {colour} ball", (detection,), backend="test")
    writer.add_perception(keyframe.keyframe_id, perception)
    writer.associate(keyframe.keyframe_id)
    return keyframe.keyframe_id


def make_memory(path: Path, map_id: str = "office", seen=SEEN) -> list[int]:
    """The ids of the keyframes that show balls."""
    with open_writer(path) as writer:
        writer.start_session(robot="robot", map_id=map_id, frame_id="map")
        ids = {}
        for sighting in sorted((*seen, *WALLS)):
            ids[sighting] = remember(writer, *sighting)
        return [ids[sighting] for sighting in seen]
