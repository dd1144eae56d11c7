"""Drives that tests remember: frames made by hand or by hypothesis, and a small encoder that is the same everywhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.types import (
    OPTICAL_IN_BODY,
    Capture,
    Detection,
    Entity,
    FloatArray,
    Intrinsics,
    Perception,
    Pose,
    RelationMention,
)

SECOND = 1_000_000_000
CAMERA = Intrinsics(525.0, 525.0, 320.0, 240.0, 640, 480)
MOUNT = Pose("base", (0.1, 0.0, 0.5), OPTICAL_IN_BODY)
SYNONYMS = {"mug": "cup", "couch": "sofa", "automobile": "car"}


class WordEncoder:
    """A sentence is the sum of its words, a word a fixed random direction; synonyms share most of theirs."""

    encoder_id = "words-v1"
    dimensions = 64

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> FloatArray:
        self.encoded += texts
        return np.stack([self._sentence(text) for text in texts]) if texts else np.zeros((0, 64), np.float32)

    def _sentence(self, text: str) -> FloatArray:
        total = sum((self._word(word) for word in text.lower().split()), np.zeros(64))
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def _word(self, word: str) -> FloatArray:
        own = _direction(word)
        return own if word not in SYNONYMS else 0.3 * own + _direction(SYNONYMS[word])


def _direction(word: str) -> FloatArray:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    vector = np.random.default_rng(seed).normal(size=64)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@dataclass(frozen=True)
class Frame:
    """One keyframe of a drive."""

    stamp_ns: int
    x_m: float
    y_m: float
    perception: Perception
    yaw_rad: float = 0.0
    camera: bool = True
    jpeg: bytes | None = None

    def capture(self) -> Capture:
        base = Pose.planar("map", self.x_m, self.y_m, self.yaw_rad)
        if not self.camera:
            return Capture(self.stamp_ns, base)
        return Capture(self.stamp_ns, base, base.compose(MOUNT), "front", CAMERA, (640, 480))


def frame(second: float, x_m: float, *labels: str, y_m: float = 0.0, caption: str = "") -> Frame:
    """A frame whose detections are labels without boxes."""
    return Frame(int(second * SECOND), x_m, y_m, Perception(caption, tuple(Detection(label) for label in labels)))


def remember(writer: MemoryWriter, frames: Iterable[Frame]) -> list[int]:
    """Add, describe and associate; returns the keyframe ids."""
    ids = []
    for item in frames:
        keyframe = writer.add_keyframe(item.capture(), item.jpeg)
        writer.add_perception(keyframe.keyframe_id, item.perception)
        writer.associate(keyframe.keyframe_id)
        ids.append(keyframe.keyframe_id)
    return ids


@dataclass
class Told:
    """What a reader says of an entity, in a form that can be compared."""

    entity: tuple[object, ...]
    sightings: list[tuple[int, int, int, str]] = field(default_factory=list)
    relations: list[tuple[object, ...]] = field(default_factory=list)


def told_of(entity: Entity) -> tuple[object, ...]:
    """Everything an entity says but its revision."""
    position = entity.position
    return (
        entity.entity_id,
        entity.kind,
        entity.label,
        list(entity.labels.items()),
        dict(entity.attributes),
        (position.frame_id, position.map_id, position.mean_m, position.covariance_m2.tolist(), position.source),
        (entity.first_seen_ns, entity.last_seen_ns, entity.first_keyframe_id, entity.last_keyframe_id),
        entity.observation_count,
        entity.state,
    )


def told(reader: MemoryReader, view: str, as_of_ns: int | None = None) -> dict[str, Told]:
    """Everything a reader says about a view."""
    found = {}
    for entity in reader.entities(view, as_of_ns):
        name = entity.entity_id
        assert told_of(entity) == told_of(reader.entity(view, name, as_of_ns))
        found[name] = Told(
            told_of(entity),
            [
                (s.stamp_ns, s.keyframe_id, s.observation_id, s.description)
                for s in reader.sightings(view, name, as_of_ns=as_of_ns)
            ],
            [
                (r.subject_id, r.predicate, r.object_id, r.stamps_ns, r.keyframe_ids)
                for r in reader.relations(view, name, as_of_ns)
            ],
        )
    return found


# ------------------------------------------------------------------------------------------------------- strategies

LABELS = ("cup", "mug", "chair", "person", "cups")
ATTRIBUTES = ({}, {}, {"colour": "red"}, {"colour": "blue", "state": "open"}, {"state": ""})


@st.composite
def detections(draw: st.DrawFn) -> Detection:
    """With or without a box, score, region text and attributes."""
    label = draw(st.sampled_from(LABELS))
    box = None
    if draw(st.booleans()):
        x, y = draw(st.integers(0, 500)), draw(st.integers(0, 380))
        side = draw(st.sampled_from((20, 60, 100)))
        box = (float(x), float(y), float(x + side), float(y + side))
    return Detection(
        label,
        box,
        draw(st.sampled_from((None, 0.5, 0.9))),
        draw(st.sampled_from(("", f"a {label} on the floor"))),
        draw(st.sampled_from(ATTRIBUTES)),
        depth_m=draw(st.sampled_from((None, None, 2.5))) if box else None,
    )


@st.composite
def perceptions(draw: st.DrawFn) -> Perception:
    """Up to four detections, sentences about them, and relations between them."""
    found = tuple(draw(st.lists(detections(), max_size=4)))
    caption = draw(st.sampled_from(("", "A room with a cup. A chair.", "Someone sits on a chair.")))
    mentions: tuple[RelationMention, ...] = ()
    if len(found) >= 2 and draw(st.booleans()):
        mentions = (RelationMention(0, "on", 1),)
    return Perception(caption, found, mentions, "test", "none")


@st.composite
def drives(draw: st.DrawFn, max_size: int = 12, in_order: bool = True) -> list[Frame]:
    """Frames in a room or two; equal stamps occur, and unordered ones where asked for."""
    frames, stamp = [], 0
    for _ in range(draw(st.integers(1, max_size))):
        stamp += draw(st.sampled_from((0, 1, 2))) * SECOND
        at = stamp if in_order else draw(st.integers(0, 12)) * SECOND
        x, y = draw(st.integers(0, 14)) / 2, draw(st.integers(0, 4)) / 2
        yaw = draw(st.sampled_from((0.0, math.pi / 2, -0.3)))
        frames.append(Frame(at, x, y, draw(perceptions()), yaw, draw(st.booleans())))
    return frames
