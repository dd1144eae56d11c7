"""Small BERT sentence encoders (all-MiniLM and its kind) in NumPy.

A question's embedding takes 10 ms and loading torch for it takes eight seconds, which a command line cannot afford.
The arithmetic is BERT's (Devlin et al. 2019), pooled as sentence-transformers does: the mean over tokens, made unit
length. Vectors agree with torch's to 1e-6. Each batch is computed without padding, so that a text's vector hardly
depends on its neighbours (1e-7).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vlkng_ros.errors import ModelError
from vlkng_ros.types import FloatArray

TOKENS_AT_ONCE = 1024
"""Rows of one matrix product: more texts at once gain little and need more memory."""


def is_supported(folder: Path) -> bool:
    """Whether a sentence-transformers folder holds a BERT with mean pooling and a fast tokenizer."""
    config, pooling = _json(folder / "config.json"), _json(folder / "1_Pooling" / "config.json")
    modules = _json(folder / "modules.json")
    types = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules] if isinstance(modules, list) else []
    return (
        isinstance(config, dict)
        and config.get("model_type") == "bert"
        and config.get("hidden_act", "gelu") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and isinstance(pooling, dict)
        and [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on]
        == ["pooling_mode_mean_tokens"]
        and types in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
        and (folder / "tokenizer.json").is_file()
        and (folder / "model.safetensors").is_file()
    )


@dataclass(frozen=True, slots=True)
class _Dense:
    """An affine map: ``weight`` has shape ``(inputs, outputs)``."""

    weight: FloatArray
    bias: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        y: FloatArray = x @ self.weight
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class _Norm:
    gain: FloatArray
    bias: FloatArray
    epsilon: float

    def __call__(self, x: FloatArray) -> FloatArray:
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + self.epsilon)
        x *= self.gain
        x += self.bias
        return x


@dataclass(frozen=True, slots=True)
class _Layer:
    query_key_value: _Dense
    attended: _Dense
    attended_norm: _Norm
    wide: _Dense
    narrow: _Dense
    norm: _Norm


class BertEncoder:
    """A BERT sentence encoder from a sentence-transformers folder that ``is_supported``.

    Args:
        folder: the model.
        encoder_id: name and version.

    Raises:
        ModelError: the folder's weights are not those of its configuration.
    """

    def __init__(self, folder: Path, encoder_id: str) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self.encoder_id = encoder_id
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            limits = _json(folder / "sentence_bert_config.json") or {}
            self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            longest = int(limits.get("max_seq_length") or config["max_position_embeddings"])
            self._tokenizer.enable_truncation(min(longest, int(config["max_position_embeddings"])))
            self._heads = int(config["num_attention_heads"])
            self._load(load_file(str(folder / "model.safetensors")), config)
        except Exception as error:  # files that were edited or cut off fail in each library's own way
            raise ModelError(f"text encoder '{encoder_id}': cannot be loaded from {folder}: {error!r}") from error
        self.dimensions = int(self._words.shape[1])

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, float32, shape ``(len(texts), dimensions)``."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        start = 0
        while start < len(tokens):
            end, count = start + 1, len(tokens[start])
            while end < len(tokens) and count + len(tokens[end]) <= TOKENS_AT_ONCE:
                count += len(tokens[end])
                end += 1
            vectors[start:end] = self._vectors(tokens[start:end])
            start = end
        return vectors

    def _load(self, weights: dict[str, Any], config: dict[str, Any]) -> None:
        prefix = "" if "embeddings.word_embeddings.weight" in weights else "bert."
        epsilon = float(config.get("layer_norm_eps", 1e-12))

        def take(name: str) -> FloatArray:
            return np.asarray(weights[prefix + name], dtype=np.float32)

        def dense(*names: str) -> _Dense:
            weight = np.concatenate([take(f"{name}.weight") for name in names])
            return _Dense(np.ascontiguousarray(weight.T), np.concatenate([take(f"{name}.bias") for name in names]))

        def norm(name: str) -> _Norm:
            return _Norm(take(f"{name}.weight"), take(f"{name}.bias"), epsilon)

        self._words = take("embeddings.word_embeddings.weight")
        # Every token of a lone sentence is of type 0.
        types = take("embeddings.token_type_embeddings.weight")
        self._positions: FloatArray = take("embeddings.position_embeddings.weight") + types[0]
        self._embedded = norm("embeddings.LayerNorm")
        self._layers = []
        for i in range(int(config["num_hidden_layers"])):
            layer = f"encoder.layer.{i}"
            attention = f"{layer}.attention"
            self._layers.append(
                _Layer(
                    dense(*(f"{attention}.self.{part}" for part in ("query", "key", "value"))),
                    dense(f"{attention}.output.dense"),
                    norm(f"{attention}.output.LayerNorm"),
                    dense(f"{layer}.intermediate.dense"),
                    dense(f"{layer}.output.dense"),
                    norm(f"{layer}.output.LayerNorm"),
                )
            )

    def _vectors(self, tokens: Sequence[Sequence[int]]) -> FloatArray:
        """The texts' vectors; all tokens pass the dense layers together, attention is within each text."""
        lengths = [len(ids) for ids in tokens]
        ends = np.cumsum(lengths)
        spans = [slice(int(end) - length, int(end)) for end, length in zip(ends, lengths, strict=True)]
        places = np.concatenate([np.arange(length) for length in lengths])
        x = self._embedded(self._words[np.concatenate(tokens).astype(np.int64)] + self._positions[places])
        for layer in self._layers:
            mixed = layer.query_key_value(x)
            context = np.concatenate([self._attend(mixed[span]) for span in spans])
            x = layer.attended_norm(layer.attended(context) + x)
            x = layer.norm(layer.narrow(_gelu(layer.wide(x))) + x)
        means = np.stack([x[span].mean(axis=0) for span in spans])
        unit: FloatArray = means / np.linalg.norm(means, axis=1, keepdims=True)
        return unit

    def _attend(self, mixed: FloatArray) -> FloatArray:
        """Multi-head attention of one text; ``mixed`` is its queries, keys and values, shape ``(n, 3 d)``."""
        length, width = mixed.shape[0], mixed.shape[1] // 3
        size = width // self._heads
        query, key, value = (
            mixed[:, i * width : (i + 1) * width].reshape(length, self._heads, size).transpose(1, 0, 2)
            for i in range(3)
        )
        scores = query @ key.transpose(0, 2, 1)
        scores *= np.float32(size**-0.5)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        joined: FloatArray = (scores @ value).transpose(1, 0, 2).reshape(length, width)
        return joined


def _gelu(x: FloatArray) -> FloatArray:
    """``x * (1 + erf(x / sqrt 2)) / 2`` with erf to 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    z = np.abs(x)
    z *= np.float32(0.7071067811865476)
    t = np.float32(1.0) / (np.float32(1.0) + np.float32(0.3275911) * z)
    series = t * np.float32(1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series += np.float32(coefficient)
        series *= t
    np.square(z, out=z)
    np.negative(z, out=z)
    np.exp(z, out=z)
    series *= z
    # erf(|x|) is 1 - series, and odd.
    half: FloatArray = np.copysign(np.float32(1.0) - series, x)
    half += np.float32(1.0)
    half *= x
    half *= np.float32(0.5)
    return half


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
