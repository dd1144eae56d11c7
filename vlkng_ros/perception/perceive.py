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
    size_px: tuple[int, int]
    perception: Perception | None
    error: str
    milliseconds: float
    """Time the model took for it; of a batch, its share."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        data: dict[str, Any] = {
            "image": str(self.path),
            "width": self.size_px[0],
            "height": self.size_px[1],
            "milliseconds": round(self.milliseconds, 1),
        }
        if self.perception is None:
            return {**data, "error": self.error}
        return {**data, **perception_to_json(self.perception)}

    def to_text(self) -> str:
        """Lines for a person to read."""
        lines = [f"{self.path} ({self.size_px[0]}x{self.size_px[1]}, {self.milliseconds:.0f} ms)"]
        if self.perception is None:
            return "\n".join([*lines, f"  {self.error}"])
        said = self.perception
        lines += [f"  {said.caption}"] if said.caption else []
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

    All files are read before the model is loaded, so that a mistyped name costs no wait.

    Raises:
        ImageError: a file is not there or is no image.
        ModelError: the backend cannot be opened, or cannot answer now.
    """
    images = [read_image(path) for path in paths]
    backend = open_backend(config)
    try:
        for start in range(0, len(paths), backend.batch_size):
            frames = [
                Frame(number + 1, number, images[number])
                for number in range(start, min(start + backend.batch_size, len(paths)))
            ]
            begin = time.perf_counter()
            described = describe_or_say_why(backend, frames, phrase)
            share_ms = (time.perf_counter() - begin) * 1e3 / len(frames)
            for frame, (perception, error) in zip(frames, described, strict=True):
                yield PerceivedImage(paths[frame.stamp_ns], frame.size_px, perception, error, share_ms)
    finally:
        backend.close()


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
