"""What a perception backend is, and how the configured one is opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ConfigError, ImageError
from vlkng_ros.types import Image, Perception


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A keyframe's pixels: ``image`` is RGB, uint8, shape ``(height, width, 3)``.

    Raises:
        ImageError: the array is not such an image.
    """

    keyframe_id: int
    stamp_ns: int
    image: Image

    def __post_init__(self) -> None:
        image = np.asarray(self.image)
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
            raise ImageError(
                f"keyframe {self.keyframe_id}: perception needs an RGB image of shape (height, width, 3) and type "
                f"uint8, got {image.shape} of {image.dtype}"
            )

    @property
    def size_px(self) -> tuple[int, int]:
        """``(width, height)``."""
        return int(self.image.shape[1]), int(self.image.shape[0])


class PerceptionBackend(Protocol):
    """A model, loaded and warmed up, that says what is in frames. Used from one thread."""

    name: str
    """The backend's name in the configuration."""
    model: str
    """Hub id, folder or file of the weights; stored with every observation."""
    batch_size: int
    """Frames that ``describe`` likes to get at once."""
    chunked: bool
    """Whether the frames of a batch are described together, as one chunk; the worker then waits for it to fill."""
    min_score: float
    """Detections below are dropped, where the model gives scores. May be set at any time."""

    @property
    def counters(self) -> Counter[str]:
        """What was mended or dropped since the backend was opened, by reason."""
        ...

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """One perception a frame, in order; boxes in pixels of the frame's image.

        Raises:
            ModelUnavailableError: not now, but the same frames can be tried again later.
            ModelError: these frames cannot be described.
        """
        ...

    def close(self) -> None:
        """Frees the model. Closing twice is harmless."""
        ...


class NoPerception:
    """Backend ``none``: keyframes are remembered with their pose and picture alone."""

    name = "none"
    model = ""
    batch_size = 1
    chunked = False

    def __init__(self) -> None:
        self.min_score = 0.0
        self.counters: Counter[str] = Counter()

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """An empty perception a frame."""
        return [Perception(backend=self.name) for _ in frames]

    def close(self) -> None:
        """Nothing to free."""


def open_backend(config: PerceptionConfig) -> PerceptionBackend:
    """The configured backend, loaded and warmed up.

    Raises:
        ConfigError: there is no such backend.
        ModelNotFoundError: its weights are not on this machine; the message names the command that brings them.
        ModelError: it cannot be loaded.
    """
    opener = _OPENERS.get(config.backend)
    if opener is None:
        raise ConfigError(f"perception.backend: '{config.backend}' is not one of {', '.join(sorted(_OPENERS))}")
    backend = opener(config)
    # A recording was completed when it was made; "none" has nothing to complete.
    if config.backend not in ("recorded", "none"):
        from vlkng_ros.perception.completed import completed

        backend = completed(backend, config)
    if config.record:
        from vlkng_ros.perception.recorded import Recorder

        backend = Recorder(backend, config.record)
    return backend


def _opencv_dnn(config: PerceptionConfig) -> PerceptionBackend:
    from vlkng_ros.perception.opencv_dnn import OpenCvDnn

    return OpenCvDnn.from_config(config)


def _florence2(config: PerceptionConfig) -> PerceptionBackend:
    from vlkng_ros.perception.florence2 import Florence2

    return Florence2(config)


def _qwen_vl(config: PerceptionConfig) -> PerceptionBackend:
    from vlkng_ros.perception.qwen_vl import QwenVl

    return QwenVl(config)


def _vlm_server(config: PerceptionConfig) -> PerceptionBackend:
    from vlkng_ros.perception.vlm_server import VlmServer

    return VlmServer(config)


def _recorded(config: PerceptionConfig) -> PerceptionBackend:
    from vlkng_ros.perception.recorded import Recorded

    return Recorded(config.recording)


# Backends import their libraries only when opened: a robot without torch can still run the small detector.
_OPENERS: Mapping[str, Callable[[PerceptionConfig], PerceptionBackend]] = {
    "florence2": _florence2,
    "opencv_dnn": _opencv_dnn,
    "qwen_vl": _qwen_vl,
    "vlm_server": _vlm_server,
    "recorded": _recorded,
    "none": lambda config: NoPerception(),
}
