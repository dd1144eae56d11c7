"""Tiny checkpoints, made once and kept in pytest's cache until what makes them changes."""

import hashlib
import importlib
import shutil
from pathlib import Path

import pytest

NEEDED = "tests of local models need torch and transformers: pip install 'vlkng_ros[florence]'"
torch = pytest.importorskip("torch", reason=NEEDED)
transformers = pytest.importorskip("transformers", reason=NEEDED)
HERE = Path(__file__).parent


def checkpoint(config: pytest.Config, module: str, *arguments: str) -> Path:
    """The folder that ``module.save(folder, *arguments)`` fills."""
    sources = [HERE / f"{module}.py", HERE / "tiny_tokenizer.py"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    digest.update(repr((arguments, torch.__version__, transformers.__version__)).encode())
    folder = config.cache.mkdir("tiny-checkpoints") / f"{'-'.join((module, *arguments))}-{digest.hexdigest()[:12]}"
    if not folder.is_dir():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        importlib.import_module(module).save(unfinished, *arguments)
        unfinished.rename(folder)
    return folder
