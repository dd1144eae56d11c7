"""Backend ``recorded``, and the recorder that writes what it replays.

A recording is JSONL: one keyframe a line, ``{"version": 1, "stamp_ns": ..., "keyframe_id": ..., "caption": ...,
"detections": [...], "relations": [[subject, predicate, object], ...], "backend": ..., "model": ...}``. Memory and
retrieval can be rebuilt and tuned from it without the model.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from vlkng_ros.errors import ModelOutputError, RecordingError
from vlkng_ros.perception.base import Frame, PerceptionBackend
from vlkng_ros.perception.grounding import ground
from vlkng_ros.perception.perception_json import perception_from_json, perception_to_json
from vlkng_ros.types import Perception

FORMAT_VERSION = 1

_log = logging.getLogger(__name__)


class Recorded:
    """Replays a recording: a frame gets the line of its stamp, else the line without stamp of its keyframe id.

    The whole file is checked when it is opened. Of two lines for one frame the later holds, as a recorder that went
    on after a crash writes some frames again.
    """

    name = "recorded"
    batch_size = 1
    chunked = False

    def __init__(self, path: str | Path) -> None:
        """Opens and checks a recording.

        Raises:
            RecordingError: the file cannot be read, or a line is malformed; the message names it.
        """
        if not str(path):
            raise RecordingError("perception.recording is empty; name the JSONL file that the backend should replay")
        self._path = Path(path).expanduser()
        self.model = str(self._path)
        self.min_score = 0.0
        self.counters: Counter[str] = Counter()
        self._at_stamp: dict[int, int] = {}
        self._at_keyframe: dict[int, int] = {}
        try:
            self._file: BinaryIO = self._path.open("rb")
        except OSError as error:
            raise RecordingError(f"recording {self._path}: cannot be read: {error.strerror}") from error
        try:
            self._index()
        except RecordingError:
            self._file.close()
            raise

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """What was recorded of each frame.

        Raises:
            ModelOutputError: the recording holds nothing about a frame.
        """
        return [self._describe(frame) for frame in frames]

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _describe(self, frame: Frame) -> Perception:
        offset = self._at_stamp.get(frame.stamp_ns, self._at_keyframe.get(frame.keyframe_id))
        if offset is None:
            raise ModelOutputError(
                f"recording {self._path}: no line for the frame at {frame.stamp_ns} ns (keyframe {frame.keyframe_id})"
            )
        self._file.seek(offset)
        return perception_from_json(json.loads(self._file.readline()))

    def _index(self) -> None:
        offset = 0
        for number, line in enumerate(self._file, start=1):
            if line.strip():
                try:
                    stamp_ns, keyframe_id = _check_line(line)
                except ValueError as error:
                    if not line.endswith(b"\n"):
                        # A recorder that was killed leaves half a line; everything before it is whole.
                        _log.warning("recording %s: line %d is cut off and left out", self._path, number)
                        self.counters["cut_off_lines"] += 1
                        break
                    raise RecordingError(f"recording {self._path}, line {number}: {error}") from error
                if stamp_ns is not None:
                    self._at_stamp[stamp_ns] = offset
                elif keyframe_id is not None:
                    self._at_keyframe[keyframe_id] = offset
            offset += len(line)


class Recorder:
    """Another backend, everything it says appended to a recording."""

    def __init__(self, backend: PerceptionBackend, path: str | Path) -> None:
        """Opens the recording for appending; its folder is created where absent.

        Raises:
            RecordingError: it cannot be written.
        """
        self._backend = backend
        self._path = Path(path).expanduser()
        self.name = backend.name
        self.model = backend.model
        self.batch_size = backend.batch_size
        self.chunked = backend.chunked
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # What a robot saw is its owner's, as in the memory.
            self._file = os.fdopen(
                os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "a+b"
            )
            _cut_partial_line(self._file)
        except OSError as error:
            raise RecordingError(f"recording {self._path}: cannot be written: {error.strerror}") from error

    @property
    def counters(self) -> Counter[str]:
        """The wrapped backend's."""
        return self._backend.counters

    @property
    def min_score(self) -> float:
        """The wrapped backend's."""
        return self._backend.min_score

    @min_score.setter
    def min_score(self, value: float) -> None:
        self._backend.min_score = value

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """The wrapped backend's perceptions, recorded.

        Raises:
            ModelError: as the wrapped backend.
        """
        perceptions = self._backend.describe(frames)
        for frame, perception in zip(frames, perceptions, strict=True):
            line = {
                "version": FORMAT_VERSION,
                "stamp_ns": frame.stamp_ns,
                "keyframe_id": frame.keyframe_id,
                **perception_to_json(perception),
            }
            self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        try:
            self._file.flush()
        except OSError as error:
            # A full disk must not cost the perception itself.
            _log.error("recording %s: cannot be written: %s", self._path, error.strerror)
        return perceptions

    def ground(self, frames: Sequence[Frame], phrase: str) -> list[Perception]:
        """Where the wrapped backend finds a phrase; not recorded, since it was not said of the frame unasked.

        Raises:
            ModelError: as the wrapped backend.
        """
        return ground(self._backend, frames, phrase)

    def close(self) -> None:
        """Closes the backend and the recording."""
        self._backend.close()
        self._file.close()


def _check_line(line: bytes) -> tuple[int | None, int | None]:
    """Stamp and keyframe id of a line, after checking all of it."""
    try:
        data: Any = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not JSON: {error}") from error
    perception_from_json(data)
    version = data.get("version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise ValueError(f"version {version!r}; this package reads version {FORMAT_VERSION}")
    keys = [data.get("stamp_ns"), data.get("keyframe_id")]
    for name, value in zip(("stamp_ns", "keyframe_id"), keys, strict=True):
        if value is not None and type(value) is not int:
            raise ValueError(f"{name} must be an integer, got {value!r}")
    if keys == [None, None]:
        raise ValueError("names neither stamp_ns nor keyframe_id")
    return keys[0], keys[1]


def _cut_partial_line(file: BinaryIO) -> None:
    """Drops what follows the last newline: half a line that a killed recorder left."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 65536)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            file.truncate(start + newline + 1)
            return
        end = start
    file.truncate(0)
