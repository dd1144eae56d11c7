"""Backend ``qwen_vl``: Qwen2.5-VL and Qwen3-VL through transformers, on this machine.

The tokenizer and the image processor are loaded by themselves: the combined processor also loads one for videos,
which needs torchvision, and we have no use for it.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlkng_ros.chat import Reply
from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.chunk import CHUNK_SIZE, MAX_NEW_TOKENS, ChunkDescriber, Turn, writes_pixels
from vlkng_ros.perception.chunk_reply import Source
from vlkng_ros.perception.torch_runtime import (
    HalvingBatches,
    free_gpu_memory,
    hide_progress_bars,
    image_processor_options,
    pick_device,
    pick_dtype,
)
from vlkng_ros.perception.weights import find_weights
from vlkng_ros.types import Perception

DEFAULT_MODEL = "Qwen/Qwen2.5-VL-3B-Instruct"
MODEL_TYPES = ("qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe")
IMAGE_TOKEN = "<|image_pad|>"


class QwenVl:
    """Chunks described by a Qwen vision-language model."""

    name = "qwen_vl"
    chunked = True

    def __init__(self, config: PerceptionConfig) -> None:
        """Loads the model and runs it once.

        Raises:
            ModelNotFoundError: the weights are not on this machine.
            ModelError: they are no Qwen-VL of these kinds, or cannot be loaded.
            ConfigError: a prompt cannot be used.
        """
        self.model = config.model or DEFAULT_MODEL
        folder = find_weights(self.model, self.name)
        self.min_score = config.min_score
        self.counters: Counter[str] = Counter()
        self.batch_size = config.batch_size or CHUNK_SIZE
        self.device = pick_device(config.device)
        self._dtype = pick_dtype(config.dtype, self.device)
        self._limit = config.max_new_tokens or MAX_NEW_TOKENS
        self._generation = _generation(config)
        self._net, self._tokenizer, self._image_processor = _load(folder, self.device, self._dtype)
        self._template = _chat_template(self._tokenizer, folder)
        self._takes_token_types = "mm_token_type_ids" in inspect.signature(self._net.forward).parameters
        self._batches = HalvingBatches(self.counters)
        self._pixels: dict[str, Any] = {}
        pixels = writes_pixels(config.box_units, self._net.config.model_type)
        self._describer = ChunkDescriber(
            self._generate,
            Source(self.name, self.model, pixels),
            self.counters,
            prompts_folder=config.prompts_folder,
        )
        self._warm_up()

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """The frames described as one chunk; as several smaller ones where the GPU's memory does not suffice.

        Raises:
            ModelUnavailableError: the GPU's memory does not suffice for one frame.
            ModelOutputError: two replies could not be used.
            ModelError: the model was closed.
        """
        return self._batches.run(self._describe, frames)

    def close(self) -> None:
        """Frees the model."""
        self._net = self._tokenizer = self._image_processor = None
        self._pixels = {}
        free_gpu_memory()

    def _describe(self, frames: Sequence[Frame]) -> list[Perception]:
        self._look_at(frames)
        patch = self._image_processor.patch_size
        # Qwen2.5-VL writes pixels of the picture as it was resized for it.
        seen = [(int(w) * patch, int(h) * patch) for _, h, w in self._pixels["image_grid_thw"].tolist()]
        return self._describer.describe(frames, seen)

    def _look_at(self, frames: Sequence[Frame]) -> None:
        """Prepares the frames' pixels for the turns that follow."""
        from PIL import Image

        if self._net is None:
            raise ModelError("qwen_vl: the model was closed")
        self._pixels = dict(
            self._image_processor(images=[Image.fromarray(frame.image) for frame in frames], return_tensors="pt")
        )

    def _generate(self, frames: Sequence[Frame], turns: Sequence[Turn]) -> Reply:
        import torch

        inputs = self._inputs(turns)
        length = inputs["input_ids"].shape[1]
        with torch.inference_mode():
            generated = self._net.generate(**inputs, max_new_tokens=self._limit, **self._generation)[0, length:]
        text: str = self._tokenizer.decode(generated, skip_special_tokens=True)
        return Reply(text, cut_off=len(generated) >= self._limit)

    def _inputs(self, turns: Sequence[Turn]) -> dict[str, Any]:
        """Token ids with as many image tokens for each frame as it has merged patches, and the frames' pixels."""
        text = self._tokenizer.apply_chat_template(
            _messages(len(self._pixels["image_grid_thw"]), turns),
            chat_template=self._template,
            tokenize=False,
            add_generation_prompt=True,
        )
        before, *parts = text.split(IMAGE_TOKEN)
        counts = (self._pixels["image_grid_thw"].prod(dim=1) // self._image_processor.merge_size**2).tolist()
        if len(parts) != len(counts):
            raise ModelError(f"qwen_vl: the chat template of {self.model} placed {len(parts)} of {len(counts)} images")
        expanded = before + "".join(IMAGE_TOKEN * n + part for n, part in zip(counts, parts, strict=True))
        encoded = self._tokenizer(expanded, return_tensors="pt", add_special_tokens=False)
        inputs = {"input_ids": encoded.input_ids, "attention_mask": encoded.attention_mask, **self._pixels}
        if self._takes_token_types:
            inputs["mm_token_type_ids"] = (encoded.input_ids == self._net.config.image_token_id).long()
        on_device = {name: value.to(self.device) for name, value in inputs.items()}
        on_device["pixel_values"] = on_device["pixel_values"].to(self._dtype)
        return on_device

    def _warm_up(self) -> None:
        blank = Frame(0, 0, np.zeros((64, 64, 3), dtype=np.uint8))
        limit, self._limit = self._limit, 2
        self._look_at([blank])
        self._generate([blank], [("user", "Look.")])
        self._limit = limit


def _generation(config: PerceptionConfig) -> dict[str, Any]:
    options: dict[str, Any] = {"num_beams": config.num_beams, "do_sample": config.temperature > 0}
    if config.temperature > 0:
        options["temperature"] = config.temperature
    else:
        options |= {"temperature": None, "top_p": None, "top_k": None}  # else transformers warns about them
    return options


def _messages(frame_count: int, turns: Sequence[Turn]) -> list[dict[str, Any]]:
    (first_role, first_text), *rest = turns
    content: list[dict[str, str]] = []
    for number in range(1, frame_count + 1):
        content += [{"type": "text", "text": f"Frame {number}:"}, {"type": "image"}]
    content.append({"type": "text", "text": _without_image_tokens(first_text)})
    messages: list[dict[str, Any]] = [{"role": first_role, "content": content}]
    for role, text in rest:
        messages.append({"role": role, "content": [{"type": "text", "text": _without_image_tokens(text)}]})
    return messages


def _without_image_tokens(text: str) -> str:
    """Text that was read in a picture, or that a model wrote, may name tokens; it must not act as them."""
    return text.replace("<|", "< |")


def _chat_template(tokenizer: Any, folder: Path) -> str:
    """The template, wherever this version of the checkpoint keeps it."""
    if isinstance(tokenizer.chat_template, str):
        return tokenizer.chat_template
    jinja, old = folder / "chat_template.jinja", folder / "chat_template.json"
    if jinja.is_file():
        return jinja.read_text(encoding="utf-8")
    if old.is_file():
        return str(json.loads(old.read_text(encoding="utf-8"))["chat_template"])
    raise ModelError(f"qwen_vl: {folder} holds no chat template")


def _load(folder: Path, device: str, dtype: Any) -> tuple[Any, Any, Any]:
    try:
        from transformers import AutoConfig, AutoImageProcessor, AutoModelForImageTextToText, AutoTokenizer
    except ImportError as error:
        raise ModelError(
            f"qwen_vl: needs transformers >= 4.57 ({error}); install it with: pip install 'vlkng_ros[qwen]'"
        ) from error
    hide_progress_bars()
    try:
        kind = AutoConfig.from_pretrained(folder, local_files_only=True).model_type
        if kind not in MODEL_TYPES:
            raise ModelError(f"qwen_vl: {folder} holds a '{kind}' model, not one of {', '.join(MODEL_TYPES)}")
        net, loading = AutoModelForImageTextToText.from_pretrained(
            folder, dtype=dtype, local_files_only=True, output_loading_info=True
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        image_processor = AutoImageProcessor.from_pretrained(folder, local_files_only=True, **image_processor_options())
        net.to(device).eval()
    except ModelError:
        raise
    except Exception as error:  # transformers raises whatever its parts raise
        raise ModelError(f"qwen_vl: {folder} cannot be loaded: {type(error).__name__}: {error}") from error
    if loading["missing_keys"]:
        raise ModelError(f"qwen_vl: {folder} lacks {len(loading['missing_keys'])} of the model's weights")
    return net, tokenizer, image_processor
