"""Visual embeddings of boxes, and of the words that look for them: SigLIP and SigLIP2 through transformers.

VL-KnG's GER (section 6.4): every detected box is cropped and embedded when it is seen; a question's text is embedded
by the same model and compared by cosine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlkng_ros.errors import ModelError
from vlkng_ros.perception.torch_runtime import (
    HalvingBatches,
    free_gpu_memory,
    hide_progress_bars,
    image_processor_options,
    pick_device,
    pick_dtype,
)
from vlkng_ros.perception.weights import find_weights
from vlkng_ros.types import BoxPx, FloatArray, Image

MODEL_TYPES = ("siglip", "siglip2")
BATCH_SIZE = 32
TEXT_TOKENS = 64
"""Texts are padded to this length, as in training; shorter padding gives other vectors."""


class Siglip:
    """Pictures and texts to unit vectors of one space. Also a ``TextEncoder``, for visual search."""

    def __init__(self, model: str, *, device: str = "auto", dtype: str = "auto") -> None:
        """Loads ``model``, a hub id or folder.

        Raises:
            ModelNotFoundError: the weights are not on this machine.
            ModelError: they are no SigLIP, or cannot be loaded.
        """
        folder = find_weights(model, "siglip")
        self.model = model
        self.counters: Counter[str] = Counter()
        self.device = pick_device(device)
        self._dtype = pick_dtype(dtype, self.device)
        self._batches = HalvingBatches(self.counters)
        self._net, self._tokenizer, self._image_processor = _load(folder, self.device, self._dtype)
        self.dimensions = int(self.encode(["a"]).shape[1])
        self.encoder_id = f"{model.rstrip('/').rpartition('/')[2]}:{self.dimensions}"

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors of texts, shape ``(len(texts), dimensions)``."""
        return self._rows(self._embed_texts, list(texts))

    def embed_crops(self, image: Image, boxes_px: Sequence[BoxPx]) -> FloatArray:
        """Unit vectors of the parts of an image, shape ``(len(boxes_px), dimensions)``.

        Raises:
            ModelUnavailableError: the GPU's memory does not suffice for one crop.
        """
        return self._rows(self._embed_images, [_crop(image, box) for box in boxes_px])

    def close(self) -> None:
        """Frees the model."""
        self._net = self._tokenizer = self._image_processor = None
        free_gpu_memory()

    def _rows(self, embed: Any, items: list[Any]) -> FloatArray:
        rows: list[FloatArray] = []
        for start in range(0, len(items), BATCH_SIZE):
            rows += self._batches.run(embed, items[start : start + BATCH_SIZE])
        return np.stack(rows) if rows else np.zeros((0, self.dimensions), dtype=np.float32)

    def _embed_texts(self, texts: Sequence[str]) -> list[FloatArray]:
        net = self._loaded()
        inputs = self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=TEXT_TOKENS, return_tensors="pt"
        )
        return self._unit_rows(net.get_text_features, {"input_ids": inputs["input_ids"]})

    def _embed_images(self, crops: Sequence[Any]) -> list[FloatArray]:
        net = self._loaded()
        return self._unit_rows(net.get_image_features, self._image_processor(images=list(crops), return_tensors="pt"))

    def _unit_rows(self, features: Any, inputs: Any) -> list[FloatArray]:
        import torch

        on_device = {name: value.to(self.device) for name, value in inputs.items()}
        if "pixel_values" in on_device:
            on_device["pixel_values"] = on_device["pixel_values"].to(self._dtype)
        with torch.inference_mode():
            output = features(**on_device)
            # transformers 5 returns an output object, 4 the tensor.
            vectors = getattr(output, "pooler_output", output).float()
            unit = torch.nn.functional.normalize(vectors, dim=-1).cpu().numpy()
        return list(unit)

    def _loaded(self) -> Any:
        if self._net is None:
            raise ModelError("siglip: the model was closed")
        return self._net


def open_visual(model: str) -> Siglip | None:
    """The model by hub id or folder that questions are compared to crops with; None where none is named.

    Raises:
        ModelError: it cannot be loaded.
    """
    return Siglip(model) if model else None


def _crop(image: Image, box_px: BoxPx) -> Any:
    from PIL import Image as PilImage

    x1, y1 = int(box_px[0]), int(box_px[1])
    x2, y2 = max(x1 + 1, round(box_px[2])), max(y1 + 1, round(box_px[3]))
    return PilImage.fromarray(np.ascontiguousarray(image[y1:y2, x1:x2]))


def _load(folder: Path, device: str, dtype: Any) -> tuple[Any, Any, Any]:
    try:
        from transformers import AutoConfig, AutoImageProcessor, AutoModel, AutoTokenizer
    except ImportError as error:
        raise ModelError(
            f"siglip: needs transformers ({error}); pip install 'vlkng_ros[florence]' brings it"
        ) from error
    hide_progress_bars()
    try:
        kind = AutoConfig.from_pretrained(folder, local_files_only=True).model_type
        if kind not in MODEL_TYPES:
            raise ModelError(f"siglip: {folder} holds a '{kind}' model, not one of {', '.join(MODEL_TYPES)}")
        net, loading = AutoModel.from_pretrained(folder, dtype=dtype, local_files_only=True, output_loading_info=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        images = AutoImageProcessor.from_pretrained(folder, local_files_only=True, **image_processor_options())
        net.to(device).eval()
    except ModelError:
        raise
    except Exception as error:  # transformers raises whatever its parts raise
        raise ModelError(f"siglip: {folder} cannot be loaded: {type(error).__name__}: {error}") from error
    if loading["missing_keys"]:
        raise ModelError(f"siglip: {folder} lacks {len(loading['missing_keys'])} of the model's weights")
    return net, tokenizer, images
