"""Describing image files: what ``vlkng perceive`` does, to try a backend without a robot."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ImageError, ModelOutputError
from vlkng_ros.perception.base import Frame, PerceptionBackend, open_backend
from vlkng_ros.perception.grounding import ground
from vlkng_ros.perception.perception_json import perception_to_json
from vlkng_ros.types import Image, Perception


@dataclass(frozen=True, slots=True)
class PerceivedImage:
    """An image file and what a backend said about it, or why it could not."""

    path: Path
    size_px: tuple[int, int] | None
    """None where the file could not be read."""
    perception: Perception | None
    error: str
    milliseconds: float
    """Time the model took for it; of a batch, its share."""
    phrase: str = ""
    """What it was searched for; empty where it was described."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        data: dict[str, Any] = {"image": str(self.path)}
        if self.size_px is not None:
            data |= {"width": self.size_px[0], "height": self.size_px[1]}
            data["milliseconds"] = round(self.milliseconds, 1)
        if self.perception is None:
            return {**data, "error": self.error}
        return {**data, **perception_to_json(self.perception)}

    def to_text(self) -> str:
        """Lines for a person to read."""
        if self.size_px is None:
            return self.error
        lines = [f"{self.path} ({self.size_px[0]}x{self.size_px[1]}, {self.milliseconds:.0f} ms)"]
        if self.perception is None:
            return "\n".join([*lines, f"  {self.error}"])
        said = self.perception
        lines += [f"  {said.caption}"] if said.caption else []
        if not said.detections and (self.phrase or not said.caption):
            lines.append(f"  '{self.phrase}' was not found" if self.phrase else "  nothing was found")
        for detection in said.detections:
            score = "    " if detection.score is None else f"{detection.score:4.2f}"
            box = "" if detection.box_px is None else " ".join(f"{round(corner):5d}" for corner in detection.box_px)
            extra = [detection.region_text] if detection.region_text not in ("", detection.label) else []
            extra += [f"{name}: {value}" for name, value in detection.attributes.items()]
            lines.append(f"  {score} {box:23s}  {detection.label}{'  (' + '; '.join(extra) + ')' if extra else ''}")
        for relation in said.relations:
            subject, target = said.detections[relation.subject].label, said.detections[relation.object].label
            lines.append(f"  {subject} {relation.predicate} {target}")
        return "\n".join(lines)


def perceive(paths: Sequence[Path], config: PerceptionConfig, phrase: str = "") -> Iterator[PerceivedImage]:
    """Describes image files, in order and in the batches that the backend likes; or searches them for ``phrase``.

    A file that cannot be read says why in its place. All are looked at before the model is loaded, so that names that
    are all mistyped cost no wait.

    Raises:
        ImageError: no file is an image.
        ModelError: the backend cannot be opened, or cannot answer now.
    """
    problems = [read for read in map(_read, paths) if isinstance(read, str)]
    if len(problems) == len(paths):
        raise ImageError("; ".join(problems))
    backend = open_backend(config)
    try:
        batch: list[tuple[Path, Image | str]] = []
        first = 0
        for number, path in enumerate(paths, start=1):
            batch.append((path, _read(path)))
            images = sum(not isinstance(read, str) for _, read in batch)
            if images == backend.batch_size or number == len(paths):
                yield from _describe(backend, batch, first, phrase)
                batch, first = [], number
    finally:
        backend.close()


def _read(path: Path) -> Image | str:
    """The image, or why there is none."""
    try:
        return read_image(path)
    except ImageError as error:
        return str(error)


def _describe(
    backend: PerceptionBackend, batch: Sequence[tuple[Path, Image | str]], first: int, phrase: str
) -> Iterator[PerceivedImage]:
    frames = [Frame(first + i + 1, first + i, read) for i, (_, read) in enumerate(batch) if not isinstance(read, str)]
    begin = time.perf_counter()
    described = iter(describe_or_say_why(backend, frames, phrase) if frames else ())
    share_ms = (time.perf_counter() - begin) * 1e3 / max(1, len(frames))
    for path, read in batch:
        if isinstance(read, str):
            yield PerceivedImage(path, None, None, read, 0.0)
        else:
            perception, error = next(described)
            yield PerceivedImage(path, (read.shape[1], read.shape[0]), perception, error, share_ms, phrase)


def describe_or_say_why(
    backend: PerceptionBackend, frames: Sequence[Frame], phrase: str = ""
) -> list[tuple[Perception | None, str]]:
    """Each frame's perception, or None and why; a chunk that cannot be described is described frame by frame.

    With ``phrase``, where that is in each frame.

    Raises:
        ModelError: what is not about these frames.
    """
    try:
        said = ground(backend, frames, phrase) if phrase else backend.describe(frames)
        return [(perception, "") for perception in said]
    except ModelOutputError as error:
        if len(frames) == 1:
            return [(None, str(error))]
    return [described for frame in frames for described in describe_or_say_why(backend, [frame], phrase)]


def read_image(path: Path) -> Image:
    """An image file as RGB, shape ``(height, width, 3)``.

    Raises:
        ImageError: it is not there, or no image that OpenCV reads.
    """
    import cv2
    import numpy as np

    try:
        content = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise ImageError(f"{path}: cannot be read: {error.strerror or error}") from error
    decoded = cv2.imdecode(content, cv2.IMREAD_COLOR) if len(content) else None
    if decoded is None:
        raise ImageError(f"{path}: is no image that can be read (JPEG, PNG, WebP, BMP, TIFF)")
    image: Image = np.ascontiguousarray(decoded[:, :, ::-1])
    return image
