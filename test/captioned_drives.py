"""Drives told in captions, and an encoder that is the same everywhere, for tests of retrieval and answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vlkng_ros.memory import MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import Capture, Detection, FloatArray, Perception, Pose, TextEncoder

SECOND = 1_000_000_000


class WordEncoder:
    """A text is the sum of its words, a word a fixed random direction."""

    encoder_id = "words-v1"
    dimensions = 64

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return np.stack([self._text(text) for text in texts]) if texts else np.zeros((0, 64), np.float32)

    def _text(self, text: str) -> FloatArray:
        total = sum((_direction(word) for word in text.lower().split()), np.zeros(64))
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-9), dtype=np.float32)


def _direction(word: str) -> FloatArray:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    vector = np.random.default_rng(seed).normal(size=64)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@dataclass(frozen=True)
class Seen:
    """A keyframe: when (seconds), where (metres), and what was said of it."""

    second: float
    x_m: float
    y_m: float
    caption: str = ""
    labels: tuple[str, ...] = ()
    boxes: tuple[tuple[float, float, float, float], ...] = ()
    yaw_rad: float = 0.0

    @property
    def stamp_ns(self) -> int:
        return round(self.second * SECOND)


def write(writer: MemoryWriter, frames: Iterable[Seen]) -> list[int]:
    """Keyframe ids of frames added to a memory that has a session."""
    ids = []
    for frame in frames:
        pose = Pose.planar("map", frame.x_m, frame.y_m, frame.yaw_rad)
        keyframe = writer.add_keyframe(Capture(frame.stamp_ns, pose))
        boxes = [*frame.boxes, *[None] * (len(frame.labels) - len(frame.boxes))]
        found = tuple(Detection(label, box) for label, box in zip(frame.labels, boxes, strict=True))
        writer.add_perception(keyframe.keyframe_id, Perception(frame.caption, found, backend="told"))
        writer.associate(keyframe.keyframe_id)
        ids.append(keyframe.keyframe_id)
    return ids


def open_writer(path: Path, encoder: TextEncoder | None = None) -> MemoryWriter:
    """A writer with the proximity view and a session in map ``house``."""
    writer = MemoryWriter.open(path, encoder=encoder, associators=(ProximityAssociator(),))
    writer.start_session(robot="robot", map_id="house", frame_id="map")
    return writer


def remember(path: Path, frames: Iterable[Seen], encoder: TextEncoder | None = None) -> Path:
    """A memory of these frames, closed again."""
    with open_writer(path, encoder) as writer:
        write(writer, frames)
    return path


STREET = "The image shows a street. The sky is blue. There are trees on the sidewalk."
HALL = "The image shows the interior of a hallway. The floor is tiled. The ceiling is high."


def round_trip() -> list[Seen]:
    """Up a street, through a building and out again: 60 frames, 2 s apart, each 2 m on.

    Frames 0..19 are in the street going north (a fire hydrant at 10), 20..39 inside going east (a red sofa at 25,
    elevators at 33), 40..59 outside going south (a bench at 45, a second fire hydrant at 55).
    """
    frames = []
    things = {
        10: ("There is a red fire hydrant on the left side of the image.", ("fire hydrant",)),
        25: ("A red sofa stands in the corner.", ("sofa",)),
        33: ("There are two elevators on the right side.", ("elevator",)),
        45: ("There is a wooden bench next to a lamp post.", ("bench",)),
        55: ("There is a yellow fire hydrant on the right side of the image.", ("fire hydrant",)),
    }
    x, y = 0.0, 0.0
    for i in range(60):
        place = HALL if 20 <= i < 40 else STREET
        sentence, labels = things.get(i, ("", ()))
        boxes = ((10.0, 20.0, 110.0, 220.0),) if labels else ()
        frames.append(Seen(2.0 * i, x, y, f"{place} {sentence}".strip(), labels, boxes))
        x, y = (x, y + 2) if i < 19 else (x + 2, y) if i < 39 else (x, y - 2)
    return frames
