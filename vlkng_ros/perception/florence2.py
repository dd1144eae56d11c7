"""Backend ``florence2``: Florence-2 through transformers' own class (transformers >= 4.57, no remote code)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.boxes import tidy
from vlkng_ros.perception.florence2_output import merge_regions, parse_caption, parse_regions
from vlkng_ros.perception.labels import kind_of
from vlkng_ros.perception.torch_runtime import (
    HalvingBatches,
    free_gpu_memory,
    hide_progress_bars,
    pick_device,
    pick_dtype,
)
from vlkng_ros.perception.weights import find_weights
from vlkng_ros.types import Detection, Perception

DEFAULT_MODEL = "florence-community/Florence-2-base-ft"
MAX_NEW_TOKENS = 512
OBJECTS = "<OD>"
REGIONS = "<DENSE_REGION_CAPTION>"
CAPTION = "<MORE_DETAILED_CAPTION>"
GROUNDING = "<CAPTION_TO_PHRASE_GROUNDING>"


@dataclass(frozen=True, slots=True)
class _Generated:
    """A generated text, special tokens kept."""

    text: str
    cut_off: bool


class Florence2:
    """Detected objects, described regions and a caption of each frame; no scores, the model gives none."""

    name = "florence2"
    chunked = False

    def __init__(self, config: PerceptionConfig) -> None:
        """Loads the model and runs it once.

        Raises:
            ModelNotFoundError: the weights are not on this machine.
            ModelError: they are no Florence-2, or cannot be loaded.
        """
        self.model = config.model or DEFAULT_MODEL
        folder = find_weights(self.model, "florence2")
        self.min_score = config.min_score
        self.counters: Counter[str] = Counter()
        self.device = pick_device(config.device)
        self.batch_size = config.batch_size or (4 if self.device == "cuda" else 1)
        self._dtype = pick_dtype(config.dtype, self.device)
        limit = config.max_new_tokens or MAX_NEW_TOKENS
        self._generation = {"max_new_tokens": limit, "num_beams": config.num_beams, "do_sample": False}
        self._batches = HalvingBatches(self.counters)
        self._processor, self._net = _load(str(folder), self.device, self._dtype)
        self._prompts: dict[str, Any] = {}
        self._answers([CAPTION], self._features([_blank()]), max_new_tokens=2, num_beams=1)

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """Objects, regions and caption of every frame.

        Raises:
            ModelUnavailableError: the GPU's memory does not suffice for one frame.
            ModelError: the model was closed.
        """
        return self._batches.run(self._describe, frames)

    def ground(self, frames: Sequence[Frame], phrase: str) -> list[Perception]:
        """Where a phrase is in every frame; the detections' label is the phrase.

        Florence-2 was trained on phrases that are in the picture and rarely answers with none.

        Raises:
            ModelUnavailableError: the GPU's memory does not suffice for one frame.
            ModelError: the model was closed.
        """
        # Location tokens in the phrase would be read as boxes.
        prompt = GROUNDING + " ".join(phrase.replace("<", " ").replace(">", " ").split())
        return self._batches.run(lambda batch: self._ground(batch, prompt, phrase), frames)

    def close(self) -> None:
        """Frees the model."""
        self._net = self._processor = None
        free_gpu_memory()

    def _describe(self, frames: Sequence[Frame]) -> list[Perception]:
        # The frames are looked at once, and the three tasks answered side by side.
        captions, objects, regions = self._answers([CAPTION, OBJECTS, REGIONS], self._features(frames))
        perceptions: list[Perception] = []
        for frame, caption, found, described in zip(frames, captions, objects, regions, strict=True):
            detections = merge_regions(
                parse_regions(found.text, frame.size_px, self.counters),
                parse_regions(described.text, frame.size_px, self.counters),
            )
            perceptions.append(self._perception(frame, detections, parse_caption(caption.text, caption.cut_off)))
        return perceptions

    def _ground(self, frames: Sequence[Frame], prompt: str, phrase: str) -> list[Perception]:
        perceptions: list[Perception] = []
        (answers,) = self._answers([prompt], self._features(frames))
        for frame, answer in zip(frames, answers, strict=True):
            found = parse_regions(answer.text, frame.size_px, self.counters)
            detections = [
                Detection(phrase, region.box_px, region_text=region.text, kind=kind_of(phrase)) for region in found
            ]
            perceptions.append(self._perception(frame, detections))
        return perceptions

    def _perception(self, frame: Frame, detections: Sequence[Detection], caption: str = "") -> Perception:
        return Perception(caption, tidy(detections, frame.size_px, self.counters), (), self.name, self.model)

    def _features(self, frames: Sequence[Frame]) -> Any:
        """What the vision tower makes of frames: a tensor of shape ``(len(frames), image tokens, width)``."""
        import torch
        from PIL import Image

        if self._net is None:
            raise ModelError("florence2: the model was closed")
        images = [Image.fromarray(frame.image) for frame in frames]
        pixels = self._processor.image_processor(images=images, return_tensors="pt")["pixel_values"]
        with torch.inference_mode():
            output = self._net.get_image_features(pixels.to(self.device, self._dtype))
        return getattr(output, "pooler_output", output)  # an output object from transformers 5 on

    def _answers(self, prompts: Sequence[str], features: Any, **generation: Any) -> list[list[_Generated]]:
        """What the model generates for each prompt (outer list) and the features of each frame (inner list)."""
        import torch

        pad = self._processor.tokenizer.pad_token_id
        rows = [self._prompt_ids(prompt)[0] for prompt in prompts]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
        ids = ids.repeat_interleave(len(features), dim=0)
        mask = (ids != pad).long()
        with torch.inference_mode():
            embedded = self._net.get_input_embeddings()(ids)
            is_image = (ids == self._net.config.image_token_id).unsqueeze(-1)
            embedded = embedded.masked_scatter(is_image, features.repeat(len(prompts), 1, 1).to(embedded.dtype))
            encoded = self._net.get_encoder()(attention_mask=mask, inputs_embeds=embedded)
            options = {**self._generation, **generation}
            generated = self._net.generate(encoder_outputs=encoded, attention_mask=mask, **options)
        texts = self._processor.batch_decode(generated, skip_special_tokens=False)
        # An answer at the limit ends in </s> all the same, the model's configuration forces it; so count.
        lengths = (generated != pad).sum(dim=1).tolist()
        limit = self._generation["max_new_tokens"]
        answers = [_Generated(text, cut_off=length > limit) for text, length in zip(texts, lengths, strict=True)]
        return [answers[start : start + len(features)] for start in range(0, len(answers), len(features))]

    def _prompt_ids(self, prompt: str) -> Any:
        """Token ids of a prompt with the places of the image's tokens, shape ``(1, n)``."""
        from PIL import Image

        if prompt not in self._prompts:
            blank = Image.fromarray(_blank().image)
            ids = self._processor(text=[prompt], images=[blank], return_tensors="pt")["input_ids"].to(self.device)
            if prompt.startswith(GROUNDING):  # there is no end of phrases
                return ids
            self._prompts[prompt] = ids
        return self._prompts[prompt]


def _load(folder: str, device: str, dtype: Any) -> tuple[Any, Any]:
    try:
        from transformers import AutoConfig, AutoProcessor, Florence2ForConditionalGeneration
    except ImportError as error:
        raise ModelError(
            f"florence2: needs transformers >= 4.57 ({error}); install it with: pip install 'vlkng_ros[florence]'"
        ) from error
    hide_progress_bars()
    try:
        kind = AutoConfig.from_pretrained(folder, local_files_only=True).model_type
        if kind != "florence2":
            raise ModelError(f"florence2: {folder} holds a '{kind}' model")
        net, loading = Florence2ForConditionalGeneration.from_pretrained(
            folder, dtype=dtype, local_files_only=True, output_loading_info=True
        )
        processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
        net.to(device).eval()
    except ModelError:
        raise
    except Exception as error:  # transformers raises whatever its parts raise
        raise ModelError(f"florence2: {folder} cannot be loaded: {type(error).__name__}: {error}") from error
    if loading["missing_keys"]:
        # Microsoft's own repositories hold the same model under other names, for code of theirs that we do not run.
        raise ModelError(
            f"florence2: {folder} lacks {len(loading['missing_keys'])} of the weights that transformers' class has; "
            f"use a converted checkpoint such as {DEFAULT_MODEL}"
        )
    return processor, net


def _blank() -> Frame:
    return Frame(0, 0, np.zeros((64, 64, 3), dtype=np.uint8))
