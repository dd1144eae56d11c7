"""Describing a chunk with a VLM: prompt, reply, one retry that tells the model what was wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from vlkng_ros.chat import Reply, load_prompt
from vlkng_ros.errors import ModelOutputError
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.chunk_reply import Source, parse_chunk_reply
from vlkng_ros.types import Perception

CHUNK_SIZE = 8
"""Keyframes described together: VL-KnG's b, best in its table 10."""
PROMPTS = Path(__file__).parent / "prompts"
MAX_NEW_TOKENS = 4096
"""Some 30 things in 8 frames."""
MAX_ECHO_CHARACTERS = 4000

Turn = tuple[str, str]
"""Role (``user`` or ``assistant``) and text; the frames belong to the first."""
Generate = Callable[[Sequence[Frame], Sequence[Turn]], Reply]


class ChunkDescriber:
    """Describes frames through ``generate``, which sends frames and turns to a model and returns its reply."""

    def __init__(
        self,
        generate: Generate,
        source: Source,
        counters: Counter[str],
        *,
        prompts_folder: str = "",
    ) -> None:
        """Reads the prompts.

        Raises:
            ConfigError: a prompt cannot be read or has unknown placeholders.
        """
        self._generate = generate
        self._source = source
        self._counters = counters
        names = ("describe_chunk", "describe_frame", "repair_reply")
        self._chunk_prompt, self._frame_prompt, self._repair_prompt = (
            load_prompt(PROMPTS, name, prompts_folder) for name in names
        )
        self._prompt(CHUNK_SIZE)
        self._repair_prompt.filled(problem="")

    def describe(self, frames: Sequence[Frame], seen_px: Sequence[tuple[int, int]] = ()) -> list[Perception]:
        """A perception a frame; ids of things are common to the chunk.

        ``seen_px`` are the sizes ``(width, height)`` of the pictures as the model saw them, where they were resized.

        Raises:
            ModelOutputError: two replies could not be used. The worker then describes the frames one by one.
            ModelError: as ``generate``.
        """
        turns: list[Turn] = [("user", self._prompt(len(frames)))]
        reply = self._generate(frames, turns)
        try:
            return self._perceptions(reply, frames, seen_px)
        except ModelOutputError as error:
            self._counters["retried_replies"] += 1
            turns += [
                ("assistant", reply.text[:MAX_ECHO_CHARACTERS]),
                ("user", self._repair_prompt.filled(problem=str(error))),
            ]
        try:
            return self._perceptions(self._generate(frames, turns), frames, seen_px)
        except ModelOutputError as error:
            raise ModelOutputError(f"{self._source.backend}: {self._source.model}, asked twice: {error}") from error

    def _perceptions(
        self, reply: Reply, frames: Sequence[Frame], seen_px: Sequence[tuple[int, int]]
    ) -> list[Perception]:
        if reply.cut_off:
            self._counters["cut_off_replies"] += 1
        return parse_chunk_reply(reply.text, frames, self._source, self._counters, seen_px)

    def _prompt(self, frame_count: int) -> str:
        units = "pixels of the picture" if self._source.pixels else "thousandths of the picture's width and height"
        prompt = self._chunk_prompt if frame_count > 1 else self._frame_prompt
        return prompt.filled(frame_count=frame_count, box_units=units)


def writes_pixels(box_units: str, model: str) -> bool:
    """Whether a model writes boxes in pixels; ``auto`` knows that Qwen2.5-VL does and that others do not."""
    if box_units == "auto":
        name = model.casefold().replace("_", "").replace("-", "").replace(":", "")
        return "qwen2.5vl" in name or "qwen25vl" in name
    return box_units == "pixels"
