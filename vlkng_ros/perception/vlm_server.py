"""Backend ``vlm_server``: a vision-language model behind any OpenAI-compatible server.

vLLM, Ollama, llama.cpp or a cloud: frames go as JPEG data URLs, a chunk of them in one request.
"""

from __future__ import annotations

import base64
import logging
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from vlkng_ros.chat import ChatClient, Reply
from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ConfigError, ModelError, ModelNotFoundError, ModelUnavailableError
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.chunk import CHUNK_SIZE, MAX_NEW_TOKENS, ChunkDescriber, Turn, writes_pixels
from vlkng_ros.perception.chunk_reply import REPLY_SCHEMA, Source
from vlkng_ros.types import Perception

JPEG_QUALITY = 85
PIXEL_STEP = 28
"""Qwen2.5-VL's patches of 14 pixels, merged two by two."""
PROBE_TIMEOUT_S = 2.0
BUDGET_SHARE = 0.9
"""Of the worker's time-out: a server that is slow is reported by us before the worker takes us for hung."""

_log = logging.getLogger(__name__)


class VlmServer:
    """Chunks described by a model on a server. A server that is away at the start is waited for later, not now."""

    name = "vlm_server"
    chunked = True

    def __init__(self, config: PerceptionConfig) -> None:
        """Connects.

        Raises:
            ConfigError: no model is named.
            ModelNotFoundError: the server does not have the model; the message names those it has.
            ModelError: the address or a prompt cannot be used, or httpx is not installed.
        """
        if not config.model:
            raise ConfigError("vlm_server: perception.model is empty; set it to the name the server knows the model by")
        self.model = config.model
        self.batch_size = config.batch_size or CHUNK_SIZE
        self.min_score = config.min_score
        self.counters: Counter[str] = Counter()
        self._config = config
        self._deadline = 0.0
        self._pixels = writes_pixels(config.box_units, config.model)
        source = Source(self.name, self.model, self._pixels)
        self._describer = ChunkDescriber(
            self._generate,
            source,
            self.counters,
            prompts_folder=config.prompts_folder,
        )
        self._client = ChatClient(config.server_url, config.model, api_key_env=config.api_key_env)
        self._probe()

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """The frames described as one chunk, within ``timeout_s``.

        Raises:
            ModelUnavailableError: the server is away, overloaded or too slow, refuses the key, or has lost the model:
                none of it is the frames' fault.
            ModelOutputError: two replies could not be used.
            ModelError: the server refuses the request.
        """
        self._deadline = time.monotonic() + BUDGET_SHARE * self._config.timeout_s
        return self._describer.describe(frames, [sent_size_px(frame, self._pixels) for frame in frames])

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _probe(self) -> None:
        try:
            models = self._client.models(PROBE_TIMEOUT_S)
        except ModelUnavailableError as error:
            _log.warning("%s; frames wait until it is there", error)
        except ModelError as error:
            _log.info("cannot list the server's models: %s", error)
        else:
            if models and self.model not in models:
                self._client.close()
                known = ", ".join(models[:20])
                raise ModelNotFoundError(
                    f"vlm_server: {self._config.server_url} has no model '{self.model}'; it has: {known}"
                )

    def _generate(self, frames: Sequence[Frame], turns: Sequence[Turn]) -> Reply:
        try:
            return self._client.complete(
                chat_messages(frames, turns, self._pixels),
                timeout_s=max(0.1, self._deadline - time.monotonic()),
                temperature=self._config.temperature,
                max_tokens=self._config.max_new_tokens or MAX_NEW_TOKENS,
                schema=REPLY_SCHEMA,
            )
        except ModelNotFoundError as error:
            raise ModelUnavailableError(str(error)) from error


def chat_messages(frames: Sequence[Frame], turns: Sequence[Turn], pixels: bool = False) -> list[dict[str, Any]]:
    """Turns as chat messages, the frames before the first one's text, each under its number."""
    (first_role, first_text), *rest = turns
    parts: list[dict[str, Any]] = []
    for number, frame in enumerate(frames, start=1):
        parts.append({"type": "text", "text": f"Frame {number}:"})
        parts.append({"type": "image_url", "image_url": {"url": _data_url(frame, sent_size_px(frame, pixels))}})
    parts.append({"type": "text", "text": first_text})
    messages: list[dict[str, Any]] = [{"role": first_role, "content": parts}]
    return messages + [{"role": role, "content": text} for role, text in rest]


def sent_size_px(frame: Frame, pixels: bool) -> tuple[int, int]:
    """Size ``(width, height)`` that a frame is sent in.

    Models that write boxes in pixels mean those of the picture after they resized it, to multiples of 28; so it is
    sent in such a size, and nothing is left to resize.
    """
    if not pixels:
        return frame.size_px
    width, height = frame.size_px
    return max(1, round(width / PIXEL_STEP)) * PIXEL_STEP, max(1, round(height / PIXEL_STEP)) * PIXEL_STEP


def _data_url(frame: Frame, size_px: tuple[int, int]) -> str:
    import cv2

    image = frame.image if size_px == frame.size_px else cv2.resize(frame.image, size_px, interpolation=cv2.INTER_AREA)
    encoded, jpeg = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not encoded:
        raise ModelError(f"vlm_server: the image of keyframe {frame.keyframe_id} cannot be encoded as JPEG")
    return "data:image/jpeg;base64," + base64.b64encode(jpeg.tobytes()).decode("ascii")
