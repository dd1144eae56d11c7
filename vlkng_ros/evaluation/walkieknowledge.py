"""WalkieKnowledge (VL-KnG section 7): 8 walks, 193 questions of four types, each with the frames that answer it.

The paper tells what the annotations hold; the files had not been published when this was written. Read is a folder a
trajectory with ``frames/`` (numbered pictures, or a caption file ``captions.json``) and ``questions.json``, a list of

    {"id", "question", "answer", "type", "intervals": [[first, last], ...]}

with frame numbers counted from 0, both ends included. ``type`` is ``object search``, ``scene description``, ``spatial
relation`` or ``action-place association``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vlkng_ros.bags.caption_file import read_captions
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.evaluation.benchmark import Asked, RecordedFrame, Recording, field, list_of_objects, pictures_of
from vlkng_ros.types import AnswerKind

PERIOD_S = 1.0
"""Where frames state no time."""


def read_walkieknowledge(folder: Path, captions: Path | None = None) -> list[Recording]:
    """Every trajectory of a folder.

    Args:
        folder: with a folder a trajectory.
        captions: a folder with a caption file ``TRAJECTORY.json`` each, in the place of pictures.

    Raises:
        InvalidInputError: the folder is not in that layout.
    """
    found = []
    for path in sorted(folder.glob("*/questions.json")):
        name = path.parent.name
        told = captions / f"{name}.json" if captions is not None else path.with_name("captions.json")
        if told.is_file():
            frames = [RecordedFrame(f.stamp_ns, f.pose, f.perception) for f in read_captions(told)]
        else:
            frames = pictures_of(path.parent / "frames", PERIOD_S)
        if not frames:
            raise InvalidInputError(f"{path.parent}: holds neither pictures in frames/ nor captions.json")
        found.append(Recording(name, frames, tuple(_questions(path, name, frames))))
    if not found:
        raise InvalidInputError(f"{folder}: holds no TRAJECTORY/questions.json")
    return found


def _questions(path: Path, name: str, frames: list[RecordedFrame]) -> Iterator[Asked]:
    for i, entry in enumerate(list_of_objects(path)):
        yield Asked(
            str(entry.get("id", i)),
            name,
            field(path, i, entry, "question"),
            AnswerKind.TEXT,
            None,
            None,
            field(path, i, entry, "answer"),
            category=str(entry.get("type", "")),
            spans=tuple(_spans(path, i, entry, frames)),
        )


def _spans(path: Path, i: int, entry: Mapping[str, Any], frames: list[RecordedFrame]) -> Iterator[tuple[int, int]]:
    intervals = entry.get("intervals")
    for interval in intervals if isinstance(intervals, list) else [intervals]:
        ends = _interval(interval, len(frames))
        if ends is None:
            raise InvalidInputError(
                f"{path}: question {i}: 'intervals' must be a list of [first, last] frames below {len(frames)}"
            )
        yield frames[ends[0]].stamp_ns, frames[ends[1]].stamp_ns


def _interval(value: Any, count: int) -> tuple[int, int] | None:
    if not isinstance(value, list) or len(value) != 2 or not all(type(n) is int for n in value):
        return None
    first, last = value
    return (first, last) if 0 <= first <= last < count else None
