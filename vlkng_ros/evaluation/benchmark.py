"""What every benchmark comes down to: recordings of frames, and questions about them with their truth."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.types import NS_PER_S, AnswerKind, Perception, Pose, Vec3

LENGTHS = ("SHORT", "MEDIUM", "LONG")
NOWHERE = Pose("map", (0.0, 0.0, 0.0))
"""Where a frame without a pose is taken to be."""
PICTURES = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """A frame: what was said about it, or else the picture that a backend describes."""

    stamp_ns: int
    pose: Pose
    perception: Perception | None = None
    image: Path | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its truth: a position in metres, minutes ago, minutes, a bool or a text, by kind.

    ``since_ns`` and ``as_of_ns`` bound what may be seen. ``spans`` are the ``(first, last)`` ns in which the answer is
    to be seen, where the benchmark tells. With ``choices`` the truth is one of their letters.
    """

    question_id: str
    recording: str
    text: str
    kind: AnswerKind
    since_ns: int | None
    as_of_ns: int | None
    truth: Vec3 | float | bool | str
    length: str = ""
    category: str = ""
    position_m: Vec3 = (0.0, 0.0, 0.0)
    """Where the asker stands."""
    spans: tuple[tuple[int, int], ...] = ()
    choices: tuple[str, ...] = ()
    other_truths: tuple[str, ...] = ()
    """Further texts that are right."""

    @property
    def key(self) -> str:
        """Names the question within its benchmark."""
        return f"{self.recording}/{self.question_id}"


@dataclass(frozen=True, slots=True)
class Recording:
    """What one memory is made of, and the questions asked of it."""

    name: str
    frames: Sequence[RecordedFrame]
    questions: tuple[Asked, ...]


def load_json(path: Path) -> Any:
    """A JSON file.

    Raises:
        InvalidInputError: it cannot be read, or is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path}: cannot be read as JSON: {error}") from error


def list_of_objects(path: Path) -> list[Mapping[str, Any]]:
    """A JSON file that holds a list of objects.

    Raises:
        InvalidInputError: it holds something else.
    """
    found = load_json(path)
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise InvalidInputError(f"{path}: is not a list of questions")
    return found


def field(path: Path, number: int, entry: Mapping[str, Any], name: str) -> str:
    """A text of one entry, in one line.

    Raises:
        InvalidInputError: it is missing or empty.
    """
    value = entry.get(name)
    if not isinstance(value, (str, int)) or not str(value).strip():
        raise InvalidInputError(f"{path}: question {number} has no '{name}'")
    return " ".join(str(value).split())


def pictures_of(folder: Path, period_s: float) -> list[RecordedFrame]:
    """The pictures of a folder in order of name, ``period_s`` apart; of ``-depth`` and ``-rgb`` files the latter.

    A text file beside a picture with a 4x4 matrix, as OpenEQA's extraction scripts write it, is the camera's pose.
    """
    if not folder.is_dir():
        return []
    files = [f for f in folder.iterdir() if f.suffix.lower() in PICTURES and not f.stem.endswith("-depth")]
    return [
        RecordedFrame(round(i * period_s * NS_PER_S), _pose_beside(file), image=file)
        for i, file in enumerate(sorted(files, key=_by_number))
    ]


def _by_number(file: Path) -> tuple[int, str]:
    digits = "".join(c for c in file.stem if c.isdigit())
    return int(digits or 0), file.name


def _pose_beside(picture: Path) -> Pose:
    import numpy as np

    path = picture.with_name(picture.stem.removesuffix("-rgb") + ".txt")
    if not path.is_file():
        return NOWHERE
    try:
        matrix = np.array(path.read_text(encoding="utf-8").split(), dtype=np.float64).reshape(4, 4)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path}: is not a 4x4 pose: {error}") from error
    if not np.isfinite(matrix).all():
        return NOWHERE  # ScanNet writes -inf where tracking was lost
    return Pose.from_rotation("map", matrix[:3, 3].tolist(), matrix[:3, :3])
