"""What an associator is: it decides, for the detections of a keyframe, which known entity each one is.

An associator only decides. The view applies the decision (counts, history, position), so that every associator is
judged on identity alone and its view is written in one place. It must be causal and deterministic: it sees the
observations so far, in the order they were stored, and the same input gives the same decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from vlkng_ros.memory.looks import Earlier
from vlkng_ros.memory.position import PositionState
from vlkng_ros.memory.visibility import Presence
from vlkng_ros.types import EntityKind, EntityState, FloatArray, Keyframe, Observation, PositionEstimate, Vec3


class EntityRecord(Protocol):
    """What a view knows of an entity while associating."""

    @property
    def entity_id(self) -> str:
        """The id, ``<type>_<num>``."""
        ...

    @property
    def kind(self) -> EntityKind:
        """Object, person, location or event."""
        ...

    @property
    def label(self) -> str:
        """The label given most often."""
        ...

    @property
    def attributes(self) -> Mapping[str, str]:
        """The latest non-empty value of each."""
        ...

    @property
    def map_id(self) -> str:
        """The map that ``position`` is in."""
        ...

    @property
    def position(self) -> PositionEstimate:
        """Best estimate so far; its ``source`` says whether it is more than the robot's own pose."""
        ...

    @property
    def place(self) -> PositionState:
        """What ``position`` comes from: the rays so far, also of an entity whose place is not known yet."""
        ...

    @property
    def track_m(self) -> Vec3 | None:
        """Where the track of ``place`` is, were it known well enough to be a position; None where there is none."""
        ...

    @property
    def presence(self) -> Presence:
        """From where it was seen, and how often it was missed since."""
        ...

    @property
    def state(self) -> EntityState:
        """Whether it is still believed to be where it was last seen."""
        ...

    @property
    def seen_from_m(self) -> Vec3:
        """Base position of the last keyframe that showed it."""
        ...

    @property
    def first_seen_ns(self) -> int:
        """Stamp of the first keyframe that showed it."""
        ...

    @property
    def last_seen_ns(self) -> int:
        """Stamp of the last keyframe that showed it."""
        ...

    @property
    def last_keyframe_id(self) -> int:
        """The last keyframe that showed it."""
        ...

    @property
    def observation_count(self) -> int:
        """How many observations were taken for it."""
        ...

    @property
    def appearance(self) -> FloatArray | None:
        """Running mean of the visual embeddings of its crops, unit length; None where there are none."""
        ...


class View(Protocol):
    """The entities of a view, as an associator may look them up; look-ups cost the same in an old memory."""

    def near(self, position_m: Vec3, radius_m: float, map_id: str) -> Iterable[EntityRecord]:
        """Entities whose position or last point of view lies within ``radius_m``, in order of creation."""
        ...

    def alike_near(
        self, label: str, cosine: float, position_m: Vec3, radius_m: float, map_id: str
    ) -> Iterable[EntityRecord]:
        """Those of ``near`` that are called alike: the similarity of their label to ``label`` is above ``cosine``."""
        ...

    def alike(self, label: str, cosine: float) -> Iterable[EntityRecord]:
        """Entities, wherever they are, with a label whose similarity to ``label`` is above ``cosine``."""
        ...

    def similarities(self, label: str) -> Mapping[str, float]:
        """By any other label (none is missing) the cosine of the text embeddings; 1.0 for equal labels."""
        ...

    def looks_at(self, keyframe: Keyframe, at_m: Vec3) -> Earlier:
        """How often, on earlier visits, a place was looked at from where this keyframe sees it, and when last."""
        ...


class Associator(Protocol):
    """One way to tell what is the same thing.

    One with a true ``reads_captions`` also gets the observations that only captions tell of (``Detection.told``).
    """

    view: str
    """Name of the view it writes."""

    def assign(
        self, keyframe: Keyframe, observations: Sequence[Observation], view: View
    ) -> Sequence[EntityRecord | None]:
        """For each observation the entity it shows, or None for one not seen before.

        Two observations of one keyframe never get the same entity.
        """
        ...


def reads_captions(associator: Associator) -> bool:
    """Whether a view holds what captions tell of: persons, places, things and events without a box."""
    return bool(getattr(associator, "reads_captions", False))
