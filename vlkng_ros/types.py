"""The vocabulary of the package: what is seen, what is remembered, what is asked and answered.

Conventions, everywhere:

- Time is integer nanoseconds, taken from message headers. ``0`` is a time.
- Lengths are metres, angles radians, image coordinates pixels with the origin in the top-left corner.
- Boxes are ``(x1, y1, x2, y2)`` in pixels of the image the detector saw, ``x1 < x2`` and ``y1 < y2``.
- Quaternions are ``(x, y, z, w)``.
- A camera pose is that of its *optical* frame (REP 103): x right, y down, z forward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.errors import PoseError

FloatArray = NDArray[np.float32]
Float64Array = NDArray[np.float64]
Image = NDArray[np.uint8]
"""An RGB image, shape ``(height, width, 3)``."""
BoxPx = tuple[float, float, float, float]
Vec3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

NS_PER_S = 1_000_000_000
FARTHEST_M = 1e8
"""No place on Earth, in whatever frame, is farther from another."""


# ---------------------------------------------------------------------------------------------- geometry


@dataclass(frozen=True, slots=True)
class Pose:
    """A rigid transform: the pose of a thing in ``frame_id``.

    ``position_m`` is ``(x, y, z)``, ``orientation`` a unit quaternion ``(x, y, z, w)``. A quaternion within 1 % of
    unit length is normalised (drivers round to float32).

    Raises:
        PoseError: a number is not finite or beyond ``FARTHEST_M``, or the quaternion is further from unit length.
    """

    frame_id: str
    position_m: Vec3
    orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        numbers = (*self.position_m, *self.orientation)
        if len(self.position_m) != 3 or len(self.orientation) != 4:
            raise PoseError(f"pose in '{self.frame_id}': needs 3 coordinates and a quaternion of 4, got {numbers}")
        if not all(math.isfinite(n) for n in numbers):
            raise PoseError(f"pose in '{self.frame_id}': {numbers} holds NaN or infinity; check the localisation")
        if max(abs(p) for p in self.position_m) > FARTHEST_M:
            raise PoseError(
                f"pose in '{self.frame_id}': {self.position_m} m is no place on Earth; check the localisation"
            )
        norm = math.sqrt(sum(q * q for q in self.orientation))
        if abs(norm - 1.0) > 0.01:
            raise PoseError(
                f"pose in '{self.frame_id}': quaternion {self.orientation} has length {norm:.3g}, not 1; "
                "the publisher must fill in a rotation (no rotation is 0, 0, 0, 1)"
            )
        object.__setattr__(self, "position_m", tuple(float(p) for p in self.position_m))
        object.__setattr__(self, "orientation", tuple(float(q) / norm for q in self.orientation))

    @classmethod
    def planar(cls, frame_id: str, x_m: float, y_m: float, yaw_rad: float = 0.0, z_m: float = 0.0) -> Pose:
        """The pose of a thing that stands on the floor."""
        return cls(frame_id, (x_m, y_m, z_m), (0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2)))

    @classmethod
    def from_rotation(cls, frame_id: str, position_m: Sequence[float], rotation: Float64Array) -> Pose:
        """From a rotation matrix, shape ``(3, 3)`` (Shepperd's method: stable for every rotation)."""
        m = np.asarray(rotation, dtype=np.float64)
        trace = float(np.trace(m))
        i = int(np.argmax([m[0, 0], m[1, 1], m[2, 2], trace]))
        if i == 3:
            q = [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1.0 + trace]
        else:
            j, k = (i + 1) % 3, (i + 2) % 3
            q = [0.0, 0.0, 0.0, m[k, j] - m[j, k]]
            q[i] = 1.0 + m[i, i] - m[j, j] - m[k, k]
            q[j] = m[j, i] + m[i, j]
            q[k] = m[k, i] + m[i, k]
        norm = math.sqrt(sum(float(c) * float(c) for c in q))
        x, y, z, w = (float(c) / norm for c in q)
        px, py, pz = (float(p) for p in position_m)
        return cls(frame_id, (px, py, pz), (x, y, z, w))

    @property
    def yaw_rad(self) -> float:
        """Heading about the vertical axis, in ``(-pi, pi]``."""
        x, y, z, w = self.orientation
        return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

    def rotation(self) -> Float64Array:
        """Rotation matrix, shape ``(3, 3)``: columns are this pose's axes in ``frame_id``."""
        x, y, z, w = self.orientation
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )

    def compose(self, local: Pose) -> Pose:
        """The pose, in this pose's ``frame_id``, of a thing known relative to this pose (``self * local``)."""
        rotation = self.rotation()
        position = rotation @ np.asarray(local.position_m) + np.asarray(self.position_m)
        return Pose.from_rotation(self.frame_id, position.tolist(), rotation @ local.rotation())

    def inverse(self, frame_id: str) -> Pose:
        """The transform the other way; ``frame_id`` names the thing this pose belongs to."""
        back = self.rotation().T
        return Pose.from_rotation(frame_id, (-back @ np.asarray(self.position_m)).tolist(), back)

    def on_floor(self) -> Pose:
        """Same place and heading, without roll and pitch: what a planner for a wheeled robot accepts."""
        return Pose.planar(self.frame_id, self.position_m[0], self.position_m[1], self.yaw_rad, self.position_m[2])

    def distance_m(self, other: Pose) -> float:
        """Straight distance to another pose of the same frame."""
        return math.dist(self.position_m, other.position_m)


OPTICAL_IN_BODY: Quaternion = (-0.5, 0.5, -0.5, 0.5)
"""Rotation of an optical frame whose camera looks along the body's x axis (REP 103)."""


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """Pinhole camera: focal lengths and principal point in pixels of an image of ``width_px`` by ``height_px``."""

    fx: float
    fy: float
    cx: float
    cy: float
    width_px: int
    height_px: int

    def scaled_to(self, width_px: int, height_px: int) -> Intrinsics:
        """The same camera after its image was resized."""
        sx, sy = width_px / self.width_px, height_px / self.height_px
        return Intrinsics(self.fx * sx, self.fy * sy, self.cx * sx, self.cy * sy, width_px, height_px)


# ---------------------------------------------------------------------------------------------- perception


class EntityKind(str, Enum):
    """EgoGraph's four types (Table 1)."""

    OBJECT = "object"
    PERSON = "person"
    LOCATION = "location"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Detection:
    """One thing a model reported in one frame.

    ``box_px`` and ``score`` are None where the model gives none (captions carry no boxes, Florence-2 no scores).
    ``attributes`` holds colour, material, size, state, affordances as the model worded them.
    """

    label: str
    box_px: BoxPx | None = None
    score: float | None = None
    region_text: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    kind: EntityKind = EntityKind.OBJECT
    local_id: str = ""
    """The model's own id of the thing within a chunk, ``<type>_<num>``; empty where it gives none."""
    embedding: FloatArray | None = None
    """Visual embedding of the crop, unit length, shape ``(d,)``."""
    depth_m: float | None = None
    """Distance along the optical axis where a depth image was at hand."""
    told: bool = False
    """Known from the caption's words alone, as EgoGraph and Vgent know things; only views made of captions hold it."""


@dataclass(frozen=True, slots=True)
class RelationMention:
    """A relation between two detections of one keyframe, by their index in its detections."""

    subject: int
    predicate: str
    object: int


@dataclass(frozen=True, slots=True)
class Perception:
    """Everything a backend said about one keyframe."""

    caption: str = ""
    detections: tuple[Detection, ...] = ()
    relations: tuple[RelationMention, ...] = ()
    backend: str = ""
    model: str = ""
    summary: str = ""
    """What the chunk that this keyframe was described in shows altogether; empty where it was described alone."""
    chunk: tuple[int, ...] = ()
    """Ids of the keyframes described together: ``local_id`` names the same thing in all of them."""
    visual_encoder: str = ""
    """What made the detections' embeddings; vectors of different encoders are never compared."""
    incomplete: str = ""
    """Why a part of it is missing; empty where it is whole."""


class TextEncoder(Protocol):
    """Sentences to unit vectors."""

    encoder_id: str
    """Name and version; vectors of different encoders are never compared."""
    dimensions: int

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Returns shape ``(len(texts), dimensions)``, rows of unit length."""
        ...


# ---------------------------------------------------------------------------------------------- memory


@dataclass(frozen=True, slots=True)
class Capture:
    """A camera frame with its pose: what the builder selects and the memory turns into a keyframe."""

    stamp_ns: int
    base_pose: Pose
    camera_pose: Pose | None = None
    camera: str = "camera"
    intrinsics: Intrinsics | None = None
    image_size_px: tuple[int, int] | None = None
    """``(width, height)`` of the image that detectors see."""


class PerceptionState(str, Enum):
    """Whether a keyframe has been described yet."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A remembered camera frame."""

    keyframe_id: int
    stamp_ns: int
    base_pose: Pose
    camera_pose: Pose | None
    camera: str
    session_id: int
    robot: str
    map_id: str
    intrinsics: Intrinsics | None
    image_size_px: tuple[int, int] | None
    caption: str
    has_image: bool
    perception: PerceptionState
    revision: int


@dataclass(frozen=True, slots=True)
class Observation:
    """A stored detection: a fact, never changed and stored once."""

    observation_id: int
    keyframe_id: int
    detection: Detection
    backend: str = ""
    model: str = ""


class PositionSource(str, Enum):
    """How a position was obtained, worst first."""

    ROBOT = "robot"
    TRIANGULATED = "triangulated"
    DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class PositionEstimate:
    """Where an entity is, in ``frame_id`` of map ``map_id``. ``covariance_m2`` has shape ``(3, 3)``."""

    frame_id: str
    map_id: str
    mean_m: Vec3
    covariance_m2: Float64Array
    source: PositionSource


class EntityState(str, Enum):
    """Whether an entity is believed to be where it was last seen."""

    PRESENT = "present"
    MOVED = "moved"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of a view: one thing, as that view's associator sees it."""

    view: str
    entity_id: str
    """``<type>_<num>``, never reused."""
    kind: EntityKind
    label: str
    """The label it was given most often."""
    labels: Mapping[str, int]
    attributes: Mapping[str, str]
    position: PositionEstimate
    first_seen_ns: int
    last_seen_ns: int
    first_keyframe_id: int
    last_keyframe_id: int
    observation_count: int
    state: EntityState = EntityState.PRESENT
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge of a view: paired times and descriptions (EgoGraph eq. 3), one a keyframe that shows it."""

    subject_id: str
    predicate: str
    object_id: str
    stamps_ns: tuple[int, ...]
    keyframe_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sighting:
    """One entry of an entity's history: T_v and D_v paired (EgoGraph eq. 5)."""

    stamp_ns: int
    keyframe_id: int
    observation_id: int
    description: str


# ---------------------------------------------------------------------------------------------- questions


class AnswerKind(str, Enum):
    """What a question asks for; an answer has exactly one value of its kind."""

    POSITION = "position"
    TIME = "time"
    DURATION = "duration"
    BINARY = "binary"
    COUNT = "count"
    TEXT = "text"


class AnswerStatus(str, Enum):
    """How asking went."""

    OK = "ok"
    NOT_FOUND = "not_found"
    EMPTY_MEMORY = "empty_memory"
    INVALID = "invalid"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a memory.

    ``as_of_ns`` None means the newest stamp of the memory, ``since_ns`` None its oldest. ``asker`` is where the
    person or robot asking stands, for "nearest to me"; None means the newest keyframe's base pose.
    """

    text: str
    since_ns: int | None = None
    as_of_ns: int | None = None
    asker: Pose | None = None
    preset: str = "hybrid"
    max_keyframes: int = 5


@dataclass(frozen=True, slots=True)
class RankedKeyframe:
    """A keyframe that bears on the question, best first in an answer, with what speaks for it."""

    keyframe: Keyframe
    score: float
    label: str = ""
    box_px: BoxPx | None = None
    entity_id: str = ""
    evidence: tuple[str, ...] = ()


AnswerValue = Pose | int | float | bool | str
"""By kind: position a Pose, time an int of ns, duration a float of s, binary a bool, count an int, text a str."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the memory replies. ``value`` is None unless ``status`` is OK."""

    status: AnswerStatus
    message: str
    kind: AnswerKind
    text: str
    value: AnswerValue | None
    confidence: float
    keyframes: tuple[RankedKeyframe, ...] = ()
    entities: tuple[Entity, ...] = ()
    citations: tuple[int, ...] = ()
    """Ids of the keyframes the text rests on; each is among ``keyframes``."""
    goal: Pose | None = None
    """Planar base pose of the best keyframe, for the planner."""
    goal_map_id: str = ""
    preset: str = ""
    answerer: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
