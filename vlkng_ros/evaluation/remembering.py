"""A recording as a memory in a file: one that an interrupted run left is completed, a whole one is taken as is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np

from vlkng_ros.errors import ImageError, InvalidInputError
from vlkng_ros.evaluation.benchmark import RecordedFrame, Recording
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.perception.base import Frame, PerceptionBackend
from vlkng_ros.perception.perceive import describe_or_say_why, read_image
from vlkng_ros.types import Capture, Image, Keyframe, Perception, PerceptionState, TextEncoder

WIDTH_PX = 640
"""Of stored pictures, as the builder keeps them."""


def remember(
    recording: Recording,
    folder: Path,
    encoder: TextEncoder | None,
    associators: Sequence[Associator],
    advance: Callable[[int], object],
    backend: Callable[[], PerceptionBackend] | None = None,
    tell: Callable[[Perception], Perception] = lambda said: said,
) -> Path:
    """The memory of a recording, in ``folder/NAME.db``.

    Args:
        recording: its frames are told in words, or shown in pictures.
        folder: made where it is not there.
        encoder: of texts, or None.
        associators: one a view; a memory that is there gets those that it lacks.
        advance: called with 1 after each frame.
        backend: opens what describes pictures, called where some are not described yet.
        tell: adds what a caption tells of, where frames are told in words.

    Raises:
        InvalidInputError: there are pictures, and no backend to describe them.
        ModelError: the backend cannot be opened, or cannot answer now.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recording.name}.db"
    with MemoryWriter.open(path, encoder=encoder, associators=associators) as writer:
        with MemoryReader.open(path) as reader:
            known = {keyframe.stamp_ns: keyframe for keyframe in reader.keyframes(reader.frames().ids.tolist())}
        if len(known) < len(recording.frames):
            writer.start_session(robot="robot", map_id=recording.name, frame_id=recording.frames[0].pose.frame_id)
        shown: list[tuple[int, RecordedFrame]] = []
        for frame in recording.frames:
            keyframe = known.get(frame.stamp_ns) or _add(writer, frame)
            if keyframe.perception is not PerceptionState.PENDING:
                advance(1)
            elif frame.perception is None:
                shown.append((keyframe.keyframe_id, frame))
            else:
                writer.add_perception(keyframe.keyframe_id, tell(frame.perception))
                writer.associate(keyframe.keyframe_id)
                advance(1)
        if shown:
            _describe(recording.name, writer, shown, backend, advance)
    return path


def _add(writer: MemoryWriter, frame: RecordedFrame) -> Keyframe:
    if frame.image is None:
        return writer.add_keyframe(Capture(frame.stamp_ns, frame.pose))
    image = picture(frame.image)
    size_px = (int(image.shape[1]), int(image.shape[0]))
    done, jpeg = cv2.imencode(".jpg", image[:, :, ::-1])
    if not done:
        raise ImageError(f"{frame.image}: cannot be written as JPEG")
    return writer.add_keyframe(Capture(frame.stamp_ns, frame.pose, image_size_px=size_px), jpeg.tobytes())


def picture(path: Path) -> Image:
    """A picture in the size that is stored and described."""
    image = read_image(path)
    height, width = image.shape[:2]
    if width <= WIDTH_PX:
        return image
    smaller = cv2.resize(image, (WIDTH_PX, round(height * WIDTH_PX / width)), interpolation=cv2.INTER_AREA)
    return np.asarray(smaller, dtype=np.uint8)


def _describe(
    name: str,
    writer: MemoryWriter,
    shown: Sequence[tuple[int, RecordedFrame]],
    backend: Callable[[], PerceptionBackend] | None,
    advance: Callable[[int], object],
) -> None:
    if backend is None:
        raise InvalidInputError(
            f"{name}: {len(shown)} pictures are not described yet; choose a model with --set perception.backend=NAME, "
            "or give captions with --captions"
        )
    model = backend()
    try:
        for start in range(0, len(shown), model.batch_size):
            part = shown[start : start + model.batch_size]
            frames = [Frame(number, f.stamp_ns, picture(f.image)) for number, f in part if f.image is not None]
            for frame, (perception, reason) in zip(frames, describe_or_say_why(model, frames), strict=True):
                if perception is None:
                    writer.mark_perception_failed(frame.keyframe_id, reason)
                else:
                    writer.add_perception(frame.keyframe_id, perception)
                    writer.associate(frame.keyframe_id)
                advance(1)
    finally:
        model.close()
