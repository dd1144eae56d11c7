"""What a view knows of an entity, as a fold over its observations in the order in which they were associated.

The live view, the question "as of then" and the correction after a loop closure all run this same fold, so that they
agree to the last bit. Times are those of the keyframes, so what counts as first, last and latest does not depend on
the order in which keyframes were described.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from vlkng_ros.memory.bearing import CameraView
from vlkng_ros.memory.position import PositionState
from vlkng_ros.types import Detection, EntityKind, Keyframe, Vec3

KINDS = tuple(EntityKind)
CHECKPOINT_EVERY = 32
"""Observations of an entity between two stored states of it."""
_REACH = struct.Struct("<6d")


class Fact(NamedTuple):
    """One observation of an entity, with the keyframe it was made in and that keyframe's camera and map."""

    observation_id: int
    detection: Detection
    keyframe: Keyframe
    camera: CameraView | None
    map: int


class Reach(NamedTuple):
    """The box around every place an entity was ever believed to be at, in its map."""

    low: Vec3
    high: Vec3

    def to_bytes(self) -> bytes:
        """48 bytes."""
        return _REACH.pack(*self.low, *self.high)

    @classmethod
    def from_bytes(cls, data: bytes) -> Reach:
        """The inverse of ``to_bytes``."""
        a, b, c, d, e, f = _REACH.unpack(data)
        return cls((a, b, c), (d, e, f))

    def including(self, place: Vec3) -> Reach:
        """The box grown to hold one more place."""
        (a, b, c), (d, e, f), (x, y, z) = self.low, self.high, place
        return Reach((min(a, x), min(b, y), min(c, z)), (max(d, x), max(e, y), max(f, z)))


NOWHERE = Reach((math.inf, math.inf, math.inf), (-math.inf, -math.inf, -math.inf))


@dataclass(slots=True)
class EntityState:
    """Everything that is kept about an entity besides its name. Start from ``EntityState.unseen(kind)``."""

    kind: EntityKind
    map: int
    first_seen_ns: int
    last_seen_ns: int
    first_keyframe_id: int
    last_keyframe_id: int
    observation_count: int
    last_observation_id: int
    ordered: bool
    """Whether every observation so far was of a later or equal time than the one before."""
    labels: dict[str, int]
    """Counts, in the order in which the labels were first given."""
    attributes: dict[str, tuple[str, int]]
    """Value and time of the latest non-empty one."""
    position: PositionState

    @classmethod
    def unseen(cls, kind: EntityKind) -> EntityState:
        """An entity before its first observation."""
        return cls(kind, 0, 0, 0, 0, 0, 0, 0, True, {}, {}, PositionState.empty())

    def copy(self) -> EntityState:
        """One that can be folded further while this one stays."""
        return EntityState(
            self.kind,
            self.map,
            self.first_seen_ns,
            self.last_seen_ns,
            self.first_keyframe_id,
            self.last_keyframe_id,
            self.observation_count,
            self.last_observation_id,
            self.ordered,
            dict(self.labels),
            dict(self.attributes),
            self.position,
        )

    def add(self, fact: Fact) -> None:
        """Take one more observation in."""
        detection, keyframe = fact.detection, fact.keyframe
        stamp = keyframe.stamp_ns
        if self.observation_count == 0:
            self.first_seen_ns = self.last_seen_ns = stamp
            self.first_keyframe_id = self.last_keyframe_id = keyframe.keyframe_id
            self.map = fact.map
        elif stamp >= self.last_seen_ns:
            self.last_seen_ns, self.last_keyframe_id = stamp, keyframe.keyframe_id
        else:
            self.ordered = False
            if stamp < self.first_seen_ns:
                self.first_seen_ns, self.first_keyframe_id = stamp, keyframe.keyframe_id
        self.observation_count += 1
        self.last_observation_id = fact.observation_id
        self.labels[detection.label] = self.labels.get(detection.label, 0) + 1
        for key, value in detection.attributes.items():
            known = self.attributes.get(key)
            if value and (known is None or stamp >= known[1]):
                self.attributes[key] = (value, stamp)
        if fact.map != self.map:
            # Coordinates of another map mean nothing here: the place is found anew in the map it was seen in last.
            self.map, self.position = fact.map, PositionState.empty()
        self.position = self.position.updated(keyframe, detection, fact.camera)

    @property
    def label(self) -> str:
        """The label given most often; the earlier one of two given equally often."""
        return max(self.labels, key=self.labels.__getitem__, default="")

    @property
    def seen_from_m(self) -> Vec3:
        """Base position of the last keyframe that showed it."""
        return self.position.robot_m or (0.0, 0.0, 0.0)

    def latest_attributes(self) -> Mapping[str, str]:
        """Attributes without their times."""
        return {key: value for key, (value, _) in self.attributes.items()}

    def to_json(self) -> str:
        """Everything but the position."""
        values = [
            KINDS.index(self.kind),
            self.map,
            self.first_seen_ns,
            self.last_seen_ns,
            self.first_keyframe_id,
            self.last_keyframe_id,
            self.observation_count,
            self.last_observation_id,
            int(self.ordered),
            self.labels,
        ]
        if self.attributes:
            values.append(self.attributes)
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_stored(cls, text: str, position: bytes) -> EntityState:
        """The inverse of ``to_json`` and ``PositionState.to_bytes``."""
        kind, map_, first, last, first_id, last_id, count, observation, ordered, labels, *rest = json.loads(text)
        attributes = {key: (value, stamp) for key, (value, stamp) in rest[0].items()} if rest else {}
        return cls(
            KINDS[kind],
            map_,
            first,
            last,
            first_id,
            last_id,
            count,
            observation,
            bool(ordered),
            labels,
            attributes,
            PositionState.from_bytes(position),
        )
