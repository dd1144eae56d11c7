"""BERT sentence encoders of the MiniLM kind in numpy: for a question, starting is what takes long.

Importing torch, transformers and sentence-transformers takes 5 s and more; this starts in half a second and encodes
a short sentence as fast. Only plain BERT with mean pooling and normalisation (all-MiniLM-L6-v2 and its kin) is taken;
everything else goes through sentence-transformers. Vectors agree with its to 1e-5.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from vlkng_ros.errors import ModelError
from vlkng_ros.types import FloatArray

BATCH_TOKENS = 2048
"""Tokens encoded at once, padding included."""
Weights: TypeAlias = dict[str, FloatArray]


def is_plain_bert(folder: Path) -> bool:
    """Whether a sentence-transformers folder holds a model that this file can run."""
    try:
        config = json.loads((folder / "config.json").read_text())
        modules = json.loads((folder / "modules.json").read_text())
        pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    except (OSError, ValueError):
        return False
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    pooled = {name for name, used in pooling.items() if name.startswith("pooling_mode_") and used is True}
    return (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and kinds == ["Transformer", "Pooling", "Normalize"]
        and pooled == {"pooling_mode_mean_tokens"}
        and all((folder / name).is_file() for name in ("model.safetensors", "tokenizer.json"))
    )


class BertEncoder:
    """A sentence encoder out of a sentence-transformers folder.

    Args:
        folder: for which ``is_plain_bert`` holds.
        name: the encoder's id.

    Raises:
        ModelError: the files cannot be read, or lack a weight.
    """

    def __init__(self, folder: Path, name: str) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        try:
            config = json.loads((folder / "config.json").read_text())
            longest = json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
            self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.enable_truncation(int(longest))
            self._tokenizer.no_padding()
            weights = load_file(str(folder / "model.safetensors"))
            self._weights: Weights = {key.removeprefix("bert."): np.float32(value) for key, value in weights.items()}
            self._layers = [self._layer(i) for i in range(int(config["num_hidden_layers"]))]
            self._heads = int(config["num_attention_heads"])
            self._epsilon = float(config["layer_norm_eps"])
            self.dimensions = int(config["hidden_size"])
            self._embedding = [self._weights[f"embeddings.{part}.weight"] for part in _EMBEDDINGS]
        except Exception as error:
            raise ModelError(f"text encoder '{name}': cannot be loaded from {folder}: {error}") from error
        self.encoder_id = name

    def _layer(self, number: int) -> Weights:
        prefix = f"encoder.layer.{number}."
        found = {key.removeprefix(prefix): value for key, value in self._weights.items() if key.startswith(prefix)}
        query, key, value = (f"attention.self.{part}" for part in ("query", "key", "value"))
        found["qkv.weight"] = np.ascontiguousarray(
            np.concatenate([found[f"{part}.weight"] for part in (query, key, value)]).T
        )
        found["qkv.bias"] = np.concatenate([found[f"{part}.bias"] for part in (query, key, value)])
        for part in ("attention.output.dense", "intermediate.dense", "output.dense"):
            found[f"{part}.weight"] = np.ascontiguousarray(found[f"{part}.weight"].T)
        return found

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, float32, shape ``(len(texts), dimensions)``."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))] if texts else []
        # by length, so that little is padded; the weights are read once a batch, and they are what takes time
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end - start + 1) * len(ids[order[end]]) <= BATCH_TOKENS:
                end += 1
            rows = order[start:end]
            vectors[rows] = self._encode([ids[i] for i in rows])
            start = end
        return vectors

    def _encode(self, texts: Sequence[Sequence[int]]) -> FloatArray:
        """Vectors of a batch of texts, each given by the ids of its tokens; shape ``(n, dimensions)``."""
        lengths = np.array([len(text) for text in texts])
        ids = np.zeros((len(texts), int(lengths.max())), dtype=np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        there = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.float32)
        unseen = np.where(there, np.float32(0), np.float32(-1e9))[:, None, None, :]
        words, positions, types = self._embedding
        hidden = self._norm(words[ids] + positions[: ids.shape[1]] + types[0], self._weights, "embeddings.LayerNorm")
        # One row a token: a product of all texts at once reads the weights once, a stack of products once a text.
        hidden = hidden.reshape(-1, self.dimensions)
        for layer in self._layers:
            attended = self._attention(hidden, layer, unseen) @ layer["attention.output.dense.weight"]
            attended += layer["attention.output.dense.bias"]
            hidden = self._norm(attended + hidden, layer, "attention.output.LayerNorm")
            inner = _gelu(hidden @ layer["intermediate.dense.weight"] + layer["intermediate.dense.bias"])
            outer = inner @ layer["output.dense.weight"] + layer["output.dense.bias"]
            hidden = self._norm(outer + hidden, layer, "output.LayerNorm")
        hidden = hidden.reshape(*ids.shape, self.dimensions)
        pooled = (hidden * there[:, :, None]).sum(axis=1) / lengths[:, None]
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), dtype=np.float32)

    def _attention(self, hidden: FloatArray, layer: Weights, unseen: FloatArray) -> FloatArray:
        count, length, size = len(unseen), unseen.shape[-1], hidden.shape[-1]
        width = size // self._heads
        mixed = (hidden @ layer["qkv.weight"] + layer["qkv.bias"]).reshape(count, length, 3, self._heads, width)
        query, key, value = mixed.transpose(2, 0, 3, 1, 4)
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width)
        scores += unseen
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray((scores @ value).transpose(0, 2, 1, 3).reshape(hidden.shape), dtype=np.float32)

    def _norm(self, hidden: FloatArray, weights: Weights, name: str) -> FloatArray:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self._epsilon)
        return np.asarray(centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"], dtype=np.float32)


_EMBEDDINGS = ("word_embeddings", "position_embeddings", "token_type_embeddings")


def _gelu(values: FloatArray) -> FloatArray:
    from scipy.special import erf

    return np.asarray(0.5 * values * (1.0 + erf(values / math.sqrt(2.0))), dtype=np.float32)
