"""What a memory hands out besides the vocabulary: tables, changes, counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.types import BoxPx, FloatArray


@dataclass(frozen=True, slots=True)
class KeyframeTable:
    """Columns of every keyframe, sorted by ``(stamp_ns, id)``; read-only, replaced at each refresh that changes it."""

    ids: NDArray[np.int64]
    """Shape ``(n,)``."""
    stamps_ns: NDArray[np.int64]
    """Shape ``(n,)``."""
    position_m: FloatArray
    """Base positions, shape ``(n, 3)``."""
    session: NDArray[np.int64]
    """Shape ``(n,)``."""
    order: int = 0
    """Tables of one order begin with the same keyframes: each holds those of the ones before it, and then others."""

    def __len__(self) -> int:
        return len(self.ids)


class SeenBox(NamedTuple):
    """What an observation is called and where in the image it is."""

    observation_id: int
    label: str
    region_text: str
    score: float | None
    box_px: BoxPx | None


class Edge(NamedTuple):
    """A relation that a keyframe shows, between two entities of a view."""

    subject_id: str
    predicate: str
    object_id: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different since the last look. Names and ids appear once; what was made and forgotten since, nowhere."""

    revision: int
    keyframe_ids: tuple[int, ...] = ()
    """New, described, moved or shortened keyframes, ascending."""
    entities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By view: new or changed entities, in order of creation."""
    forgotten_keyframe_ids: tuple[int, ...] = ()
    forgotten_entities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forgotten_text_ids: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(
            self.keyframe_ids
            or self.entities
            or self.forgotten_keyframe_ids
            or self.forgotten_entities
            or self.forgotten_text_ids
        )


@dataclass(frozen=True, slots=True)
class Session:
    """A drive: keyframes of one robot in one map."""

    session_id: int
    robot: str
    map_id: str
    frame_id: str


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """What is in a memory."""

    revision: int
    schema: int
    keyframes: int
    pending: int
    """Keyframes that no model has described yet."""
    observations: int
    entities: Mapping[str, int]
    """By view."""
    texts: int
    oldest_ns: int | None
    newest_ns: int | None
    bounds_m: tuple[tuple[float, float, float], tuple[float, float, float]] | None
    """Lowest and highest corner of the robot's path, all maps together."""
    bytes: int
    """Database and write-ahead log; images apart."""
    encoder_id: str | None
    sessions: tuple[Session, ...]
    summarised_until_ns: int | None = None
    """Of keyframes up to this time only a summary of what they show is kept; None where everything is."""


@dataclass(frozen=True, slots=True)
class StoredText:
    """A string that a question can find, with its vector by the memory's encoder (unit length, shape ``(d,)``)."""

    text_id: int
    text: str
    vector: FloatArray | None


ROLES = ("caption", "label", "region")


@dataclass(frozen=True, slots=True)
class Mention:
    """A text in a keyframe. ``role`` is ``caption``, ``label`` or ``region``; captions have observation 0."""

    keyframe_id: int
    text_id: int
    role: str
    observation_id: int


@dataclass(frozen=True, slots=True)
class MentionTable:
    """Mentions as columns, each of shape ``(n,)``: what an index of a whole memory takes in."""

    keyframe_ids: NDArray[np.int64]
    text_ids: NDArray[np.int64]
    roles: NDArray[np.int64]
    """Positions in ``ROLES``."""
    observation_ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keyframe_ids)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Consecutive sightings told as one."""

    first_ns: int
    last_ns: int
    count: int
    description: str


@dataclass(frozen=True, slots=True)
class History:
    """An entity's sightings in a bounded number of entries; the first and the last sighting stand alone."""

    count: int
    """Of all sightings."""
    entries: tuple[HistoryEntry, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Keyframes that belong together, with what they show altogether (VL-KnG's chunks, Vgent's clips)."""

    span_id: int
    """0 for one that is not stored."""
    kind: str
    keyframe_ids: tuple[int, ...]
    first_ns: int
    last_ns: int
    summary: str


@dataclass(frozen=True, slots=True)
class Crop:
    """The visual embedding of one observation; ``encoder_id`` says what made it."""

    observation_id: int
    keyframe_id: int
    stamp_ns: int
    encoder_id: str
    vector: FloatArray
    """Unit length, shape ``(d,)``."""


@dataclass(frozen=True, slots=True, eq=False)
class Appearance:
    """What an entity looks like: compare ``mean`` with a text's or a crop's vector by the same encoder."""

    encoder_id: str
    mean: FloatArray
    """Running mean of its crops' embeddings, unit length, shape ``(d,)``."""
    crops: int
    """Over how many."""
    best_observation_id: int
    best_keyframe_id: int
    """Whose image, cut to the box, shows it best."""
    best_box_px: BoxPx | None


@dataclass(frozen=True, slots=True)
class ForgetSummary:
    """What ``forget`` took out of the memory."""

    revision: int
    keyframes: int
    observations: int
    entities: Mapping[str, int]
    """By view: entities that are gone altogether."""
    images: int
    texts: int

    def __bool__(self) -> bool:
        return bool(self.keyframes or self.observations or self.images or self.texts)
