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

from vlkng_ros.memory import position, visibility
from vlkng_ros.memory import track as tracking
from vlkng_ros.memory.bearing import CameraView
from vlkng_ros.memory.packing import reads_rows
from vlkng_ros.memory.position import PositionState
from vlkng_ros.memory.visibility import Presence, state_of
from vlkng_ros.types import Detection, EntityKind, EntityState, Keyframe, Vec3

KINDS = tuple(EntityKind)
PLACE_FORMAT = f"{position.FORMAT} {visibility.FORMAT} reach 2"
"""Of ``Folded.to_bytes`` and ``Reach``."""
CHECKPOINT_EVERY = 16
"""Observations of an entity between two stored states of it."""
_REACH = struct.Struct("<6d")
_LENGTH = struct.Struct("<H")
_quoted = json.encoder.encode_basestring
_dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


class Fact(NamedTuple):
    """One observation of an entity, with the keyframe it was made in and that keyframe's camera and map."""

    observation_id: int
    detection: Detection
    keyframe: Keyframe
    camera: CameraView | None
    map: int


class Absence(NamedTuple):
    """A keyframe that should have shown an entity and did not."""

    before_observation_id: int
    """The first observation id of that keyframe: what has a lower one was seen before."""
    keyframe: Keyframe
    camera: CameraView


class Reach(NamedTuple):
    """The box around every place an entity was ever believed to be at or seen from, in its map."""

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
        if a <= x <= d and b <= y <= e and c <= z <= f:
            return self
        return Reach((min(a, x), min(b, y), min(c, z)), (max(d, x), max(e, y), max(f, z)))


NOWHERE = Reach((math.inf, math.inf, math.inf), (-math.inf, -math.inf, -math.inf))
EVERYWHERE = Reach(NOWHERE.high, NOWHERE.low)
"""Of what was seen in several maps: one box cannot hold places of two."""


def grown(reach: Reach, map_before: int, after: Folded) -> Reach:
    """The reach after one more observation; ``map_before`` is 0 at the first."""
    if map_before not in (0, after.map):
        return EVERYWHERE
    return reach.including(after.position_m).including(after.seen_from_m)


@dataclass(slots=True)
class Folded:
    """Everything that is kept about an entity besides its name. Start from ``Folded.unseen(kind)``."""

    kind: EntityKind
    map: int
    first_seen_ns: int
    last_seen_ns: int
    first_keyframe_id: int
    last_keyframe_id: int
    observation_count: int
    last_observation_id: int
    ordered: bool
    """Whether every event so far was of a later or equal time than the one before."""
    labels: dict[str, int]
    """Counts, in the order in which the labels were first given."""
    attributes: dict[str, tuple[str, int]]
    """Value and time of the latest non-empty one."""
    last_event_ns: int
    """Time of the latest keyframe that said anything about it: that showed it, or should have."""
    place: PositionState
    presence: Presence

    @classmethod
    def unseen(cls, kind: EntityKind) -> Folded:
        """An entity before its first observation."""
        return cls(kind, 0, 0, 0, 0, 0, 0, 0, True, {}, {}, 0, PositionState.empty(), Presence.empty())

    def copy(self) -> Folded:
        """One that can be folded further while this one stays."""
        return Folded(
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
            self.last_event_ns,
            self.place,
            self.presence,
        )

    def add(self, fact: Fact) -> None:
        """Take one more observation in."""
        detection, keyframe = fact.detection, fact.keyframe
        stamp = keyframe.stamp_ns
        if self.observation_count == 0:
            self.first_seen_ns = self.last_seen_ns = self.last_event_ns = stamp
            self.first_keyframe_id = self.last_keyframe_id = keyframe.keyframe_id
        elif stamp >= self.last_seen_ns:
            self.last_seen_ns, self.last_keyframe_id = stamp, keyframe.keyframe_id
        elif stamp < self.first_seen_ns:
            self.first_seen_ns, self.first_keyframe_id = stamp, keyframe.keyframe_id
        self.observation_count += 1
        self.last_observation_id = fact.observation_id
        self.labels[detection.label] = self.labels.get(detection.label, 0) + 1
        for key, value in detection.attributes.items():
            known = self.attributes.get(key)
            if value and (known is None or stamp >= known[1]):
                self.attributes[key] = (value, stamp)
        self.locate(fact)
        self._happened(stamp)

    def miss(self, absence: Absence) -> None:
        """Take in that a keyframe should have shown it and did not; before it was seen that means nothing."""
        if self.observation_count:
            self.overlook(absence)
            self._happened(absence.keyframe.stamp_ns)

    def locate(self, fact: Fact) -> None:
        """The part of ``add`` that depends on poses."""
        if fact.map != self.map:
            # Coordinates of another map mean nothing here: the place is found anew in the map it was seen in last.
            self.map, self.place, self.presence = fact.map, PositionState.empty(), Presence.empty()
        self.place = self.place.updated(fact.keyframe, fact.detection, fact.camera, missed=self.presence.missed_twice)
        self.presence = self.presence.seen(fact.camera, self.place)

    def stand_at(self, robot_m: Vec3) -> None:
        """Know no more of its place than where the robot stood when it saw it."""
        self.place = PositionState(robot_m, None, None, None, None, 0, 0, self.observation_count)
        self.presence = Presence.empty()

    def overlook(self, absence: Absence) -> None:
        """The part of ``miss`` that depends on poses."""
        self.presence = self.presence.missed(absence.camera, absence.keyframe.stamp_ns, self.place.known_m)

    def _happened(self, stamp_ns: int) -> None:
        if stamp_ns < self.last_event_ns:
            self.ordered = False
        else:
            self.last_event_ns = stamp_ns

    @property
    def label(self) -> str:
        """The label given most often; the earlier one of two given equally often."""
        return _most_given(self.labels)

    @property
    def seen_from_m(self) -> Vec3:
        """Base position of the last keyframe that showed it."""
        return self.place.robot_m or (0.0, 0.0, 0.0)

    @property
    def position_m(self) -> Vec3:
        """The mean of its position estimate."""
        return self.places_m()[0]

    def places_m(self) -> tuple[Vec3, Vec3 | None]:
        """The mean of its position estimate, and where its track is, were it a place already; None without a track."""
        track = self.place.track
        if track is None:
            return self.seen_from_m, None
        at = tracking.place(track)
        return at if position.is_place(track) else self.seen_from_m, at

    @property
    def state(self) -> EntityState:
        """Whether it is believed to be where it was last seen."""
        return state_of(self.place, self.presence)

    def latest_attributes(self) -> Mapping[str, str]:
        """Attributes without their times."""
        return {key: value for key, (value, _) in self.attributes.items()}

    def to_json(self) -> str:
        """Everything but place and presence."""
        numbers = (
            f"{KINDS.index(self.kind)},{self.map},{self.first_seen_ns},{self.last_seen_ns},{self.first_keyframe_id},"
            f"{self.last_keyframe_id},{self.observation_count},{self.last_observation_id},{int(self.ordered)},"
            f"{self.last_event_ns}"
        )
        attributes = f",{_dumps(self.attributes)}" if self.attributes else ""
        labels = ",".join([f"{_quoted(label)}:{count}" for label, count in self.labels.items()])
        return f"[{numbers},{{{labels}}}{attributes}]"

    def to_bytes(self) -> bytes:
        """Place and presence."""
        place = self.place.to_bytes()
        return _LENGTH.pack(len(place)) + place + self.presence.to_bytes()

    @classmethod
    @reads_rows
    def from_stored(cls, text: str, data: bytes) -> Folded:
        """The inverse of ``to_json`` and ``to_bytes``."""
        kind, map_, first, last, first_id, last_id, count, observation, ordered, event, labels, *rest = json.loads(text)
        attributes = {key: (value, stamp) for key, (value, stamp) in rest[0].items()} if rest else {}
        end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
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
            event,
            PositionState.from_bytes(data[_LENGTH.size : end]),
            Presence.from_bytes(data[end:]),
        )


@reads_rows
def stored_label(text: str) -> str:
    """The ``label`` of what ``Folded.to_json`` gave."""
    return _most_given(json.loads(text)[10])


def _most_given(labels: Mapping[str, int]) -> str:
    return next(iter(labels)) if len(labels) == 1 else max(labels, key=labels.__getitem__, default="")
