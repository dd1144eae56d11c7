"""A memory small enough to know by heart: three keyframes, two cats that are one, and a cup beside them."""

from __future__ import annotations

import math
from pathlib import Path

from vlkng_ros.memory import MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import (
    Capture,
    Detection,
    EntityKind,
    Intrinsics,
    Perception,
    Pose,
    RelationMention,
)

NS = 1_000_000_000
START_NS = 1_767_225_600 * NS
JPEG = b"\xff\xd8\xff\xe0 a picture \xff\xd9"
FAR = 50.0


def build(path: Path) -> None:
    """Keyframes at 0, 10 and 20 s, the last one far away; the third is not described."""
    quarter = Pose("map", (0.0, 0.0, 0.0), (0.0, 0.0, math.sin(0.1), math.cos(0.1)))
    with MemoryWriter.open(path, encoder=None, associators=(ProximityAssociator(),)) as writer:
        writer.start_session(robot="alice", map_id="office", frame_id="map")
        optical = Pose("map", (0.1, 0.2, 0.5), (-0.5, 0.5, -0.5, 0.5))
        first = Capture(
            START_NS, quarter, optical, "front", Intrinsics(525.0, 525.0, 320.0, 240.0, 640, 480), (640, 480)
        )
        frame = writer.add_keyframe(first, JPEG)
        cat = Detection(
            "cat",
            (10.0, 20.0, 110.0, 220.0),
            0.9,
            "=tabby cat",
            {"color": "grey"},
            EntityKind.OBJECT,
            "cat_1",
            None,
            2.5,
        )
        cup = Detection("cup", (200.0, 50.0, 240.0, 90.0), 0.8)
        relations = (RelationMention(1, "next to", 0),)
        writer.add_perception(
            frame.keyframe_id, Perception("A cat. A cup.", (cat, cup), relations, "florence2", "tiny")
        )
        writer.associate(frame.keyframe_id)
        second = writer.add_keyframe(Capture(START_NS + 10 * NS, Pose.planar("map", 1.0, 0.0), camera="front"), JPEG)
        person = Detection("person", kind=EntityKind.PERSON)
        writer.add_perception(second.keyframe_id, Perception("A cat again.", (Detection("cat"), person)))
        writer.associate(second.keyframe_id)
        writer.start_session(robot="alice", map_id="office", frame_id="map")
        writer.add_keyframe(Capture(START_NS + 20 * NS, Pose.planar("map", FAR, FAR), camera="front"))
