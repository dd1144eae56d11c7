"""Where a model's files are on this machine. Nothing here, or anywhere else while a robot runs, asks a hub."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from vlkng_ros.errors import ModelNotFoundError


def find_weights(model: str, needed_by: str) -> Path:
    """The folder of a model given as a folder or a hub id; ids are looked up in the Hugging Face cache.

    Raises:
        ModelNotFoundError: it is not on this machine; the message names the command that brings it.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelNotFoundError(f"{needed_by}: {folder} holds no config.json; is it a saved model's folder?")
        return folder
    if not looks_like_hub_id(model):
        raise ModelNotFoundError(f"{needed_by}: there is no folder {folder}")
    cached = cached_snapshot(model)
    if cached is None:
        raise ModelNotFoundError(
            f"{needed_by}: the weights of '{model}' are not on this machine; bring them with: {fetch_command(model)} "
            "(or set the model to a folder that holds them)"
        )
    return cached


def looks_like_hub_id(model: str) -> bool:
    """Whether a name is ``owner/name`` and not a path."""
    parts = model.split("/")
    return len(parts) == 2 and all(parts) and not model.startswith((".", "~", os.sep))


def fetch_command(model: str) -> str:
    """The command that brings a model's weights."""
    client = "" if importlib.util.find_spec("huggingface_hub") else "pip install 'vlkng_ros[florence]' && "
    return f"{client}vlkng models --fetch {model}"


def cached_snapshot(hub_id: str) -> Path | None:
    """The cached files of a hub id, None where they are not all there."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        # Newer clients check a snapshot against the repository's listing: ask for what a model cannot do without.
        needed = ["config.json", "*.safetensors"]
        folder = Path(snapshot_download(hub_id, local_files_only=True, allow_patterns=needed))
    except LocalEntryNotFoundError:
        return None
    # A download that was broken off leaves the small files and no weights.
    has_weights = any(folder.glob("*.safetensors")) or any(folder.glob("*.bin"))
    return folder if has_weights and (folder / "config.json").is_file() else None
