"""Small scenes with exact boxes: a robot that looks at things whose place is known, and what a view makes of them."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vlkng_ros.gallery.camera import GalleryCamera
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.types import NS_PER_S, Capture, Detection, Entity, Perception, Pose, Vec3

CAMERA = GalleryCamera()


@dataclass(frozen=True)
class Thing:
    label: str
    at_m: Vec3
    height_m: float = 0.5
    width_m: float = 0.5


Look = tuple[Pose, tuple[Thing, ...]]
"""Where the robot stands, and what there is to be seen from there."""


def standing(x: float, y: float, heading_deg: float = 0.0) -> Pose:
    return Pose.planar("map", x, y, math.radians(heading_deg))


def detection(thing: Thing, base: Pose) -> Detection | None:
    """Its box, where all of it is in the image."""
    pixels, depth = CAMERA.project(CAMERA.pose(base), np.array([thing.at_m]))
    z = float(depth[0])
    if z < 0.5:
        return None
    (u, v), k = pixels[0].tolist(), CAMERA.intrinsics
    half_w, half_h = k.fx * thing.width_m / z / 2, k.fy * thing.height_m / z / 2
    if not (half_w < u < k.width_px - half_w and half_h < v < k.height_px - half_h):
        return None
    return Detection(thing.label, (u - half_w, v - half_h, u + half_w, v + half_h))


def looking_from(places: Sequence[Pose], *things: Thing) -> list[Look]:
    return [(place, things) for place in places]


@contextmanager
def remembered(
    looks: Sequence[Look], associator: Associator, every_s: float = 1.0
) -> Iterator[tuple[MemoryReader, list[list[str]]]]:
    """A memory of these looks, and for each look the entities of what was in sight, in the order of its things."""
    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="vlkng-", dir=root) as folder:
        path = Path(folder) / "memory.db"
        with MemoryWriter.open(path, encoder=None, associators=[associator]) as writer:
            writer.start_session(robot="robot", map_id="house", frame_id="map")
            for i, (base, things) in enumerate(looks):
                capture = Capture(
                    round(i * every_s * NS_PER_S), base, CAMERA.pose(base), intrinsics=CAMERA.intrinsics,
                    image_size_px=(640, 480),
                )  # fmt: skip
                number = writer.add_keyframe(capture).keyframe_id
                found = [box for box in (detection(thing, base) for thing in things) if box is not None]
                writer.add_perception(number, Perception(detections=tuple(found)))
                writer.associate(number)
        with MemoryReader.open(path) as reader:
            names = [
                [entity for _, entity in sorted(reader.entities_in(associator.view, number).items())]
                for number in reader.frames().ids.tolist()
            ]
            yield reader, names


def entity_of(reader: MemoryReader, name: str, view: str = "hybrid") -> Entity:
    return reader.entity(view, name)


def along(start: tuple[float, float], end: tuple[float, float], heading_deg: float, steps: int) -> list[Pose]:
    """Places on a line, looking one way."""
    return [
        standing(start[0] + (end[0] - start[0]) * t, start[1] + (end[1] - start[1]) * t, heading_deg)
        for t in np.linspace(0.0, 1.0, steps).tolist()
    ]
