"""Poses, boxes and vectors as the bytes that are stored: exact, in as few bytes as that takes."""

from __future__ import annotations

import functools
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.types import BoxPx, FloatArray, Pose, Quaternion, Vec3

P = ParamSpec("P")
T = TypeVar("T")
_POSE = struct.Struct("<7d")
_SHORTS = struct.Struct("<4H")
_FLOATS = struct.Struct("<4f")
_DOUBLES = struct.Struct("<4d")


class BrokenRowError(ValueError):
    """A row holds what no writer wrote."""


def reads_rows(function: Callable[P, T]) -> Callable[P, T]:
    """For what makes something of a row: whatever it cannot do with it, the row is broken.

    Raises:
        BrokenRowError: instead of the error itself; ``database.explained`` turns it into damage of the memory.
    """

    @functools.wraps(function)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (ArithmeticError, LookupError, TypeError, ValueError, struct.error, InvalidInputError) as error:
            raise BrokenRowError(str(error)) from error

    return reading


def pack_pose(pose: Pose) -> bytes:
    """Position and quaternion, 56 bytes."""
    return _POSE.pack(*pose.position_m, *pose.orientation)


def unpack_pose(frame_id: str, data: bytes) -> Pose:
    """The inverse of ``pack_pose``, bit for bit: a stored pose is not normalised a second time."""
    x, y, z, *q = _POSE.unpack(data)
    pose = object.__new__(Pose)
    position: Vec3 = (x, y, z)
    orientation: Quaternion = (q[0], q[1], q[2], q[3])
    object.__setattr__(pose, "frame_id", frame_id)
    object.__setattr__(pose, "position_m", position)
    object.__setattr__(pose, "orientation", orientation)
    return pose


def position_of(data: bytes) -> Vec3:
    """The position of a packed pose."""
    x, y, z, *_ = _POSE.unpack(data)
    return (x, y, z)


def pack_box(box: BoxPx | None) -> bytes | None:
    """8 bytes for whole pixels, 16 for what float32 holds exactly, else 32."""
    if box is None:
        return None
    x1, y1, x2, y2 = box
    if min(x1, y1, x2, y2) >= 0 and max(x1, y1, x2, y2) <= 65_535:
        a, b, c, d = int(x1), int(y1), int(x2), int(y2)
        if a == x1 and b == y1 and c == x2 and d == y2:
            return _SHORTS.pack(a, b, c, d)
    elif max(map(abs, box)) >= 1e30:
        return _DOUBLES.pack(x1, y1, x2, y2)
    floats = _FLOATS.pack(x1, y1, x2, y2)
    return floats if _FLOATS.unpack(floats) == (x1, y1, x2, y2) else _DOUBLES.pack(x1, y1, x2, y2)


def unpack_box(data: bytes | None) -> BoxPx | None:
    """The inverse of ``pack_box``."""
    if data is None:
        return None
    if len(data) == _SHORTS.size:
        a, b, c, d = _SHORTS.unpack(data)
        return (float(a), float(b), float(c), float(d))
    x1, y1, x2, y2 = (_FLOATS if len(data) == _FLOATS.size else _DOUBLES).unpack(data)
    return (x1, y1, x2, y2)


def pack_vector(vector: FloatArray) -> bytes:
    """float16: the angle between unit vectors stays within 0.001 rad."""
    return np.asarray(vector, dtype=np.float16).tobytes()


def pack_vectors(vectors: FloatArray) -> list[bytes]:
    """The rows of a matrix, each as ``pack_vector`` packs it."""
    return [row.tobytes() for row in np.asarray(vectors, dtype=np.float16)]


def unpack_vector(data: bytes) -> FloatArray:
    """A unit vector, float32, shape ``(d,)``."""
    vector = np.frombuffer(data, dtype=np.float16).astype(np.float32)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector


def unpack_vectors(data: Sequence[bytes | None]) -> list[FloatArray | None]:
    """Many at once, each as ``unpack_vector`` gives it; None stays None."""
    known = [item for item in data if item is not None]
    if not known or len({len(item) for item in known}) > 1:
        return [None if item is None else unpack_vector(item) for item in data]
    matrix = np.frombuffer(b"".join(known), dtype=np.float16).reshape(len(known), -1).astype(np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    rows = iter(matrix / np.where(lengths > 0, lengths, np.float32(1)))
    return [None if item is None else next(rows) for item in data]


def pack_attributes(attributes: Mapping[str, str]) -> str:
    """JSON with sorted keys, non-empty values only; the empty string where there are none."""
    kept = {str(key): str(value) for key, value in attributes.items() if value} if attributes else None
    return json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":")) if kept else ""


def unpack_attributes(text: str) -> dict[str, str]:
    """The inverse of ``pack_attributes``."""
    return dict(json.loads(text)) if text else {}
