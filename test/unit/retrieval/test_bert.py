import json
from pathlib import Path

import numpy as np
import pytest

from vlkng_ros.errors import ModelError
from vlkng_ros.memory.bert import BertEncoder, is_plain_bert

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *["a", "red", "door", "the", "cat", "sits", "on", "blue", "chair"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny sentence-transformers model with random weights, written by the real libraries."""
    torch = pytest.importorskip("torch", reason="without torch there is nothing to compare with")
    transformers = pytest.importorskip("transformers", reason="without transformers there is nothing to compare with")
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("model")
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=16,
    )  # fmt: skip
    model = transformers.BertModel(config)
    for parameter in model.parameters():  # biases and norms too: they start as zeros and ones
        parameter.data += 0.3 * torch.randn_like(parameter)
    model.save_pretrained(path)
    (path / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "decoder": None,
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }  # fmt: skip
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    (path / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    kinds = ("Transformer", "Pooling", "Normalize")
    (path / "modules.json").write_text(json.dumps([{"type": f"sentence_transformers.models.{kind}"} for kind in kinds]))
    (path / "1_Pooling").mkdir()
    (path / "1_Pooling" / "config.json").write_text(
        '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}'
    )
    return path


TEXTS = ["a red door", "the cat sits on the blue chair", "a", "the unknown thing", "cat " * 30]


def test_vectors_are_those_of_torch(folder: Path) -> None:
    import torch
    from transformers import BertModel

    encoder = BertEncoder(folder, "tiny")
    ours = encoder.encode(TEXTS)
    model = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    for text, vector in zip(TEXTS, ours, strict=True):
        ids = encoder._tokenizer.encode(text).ids
        assert len(ids) <= 8
        with torch.no_grad():
            pooled = model(torch.tensor([ids])).last_hidden_state.mean(dim=1)[0]
        np.testing.assert_allclose(vector, (pooled / pooled.norm()).numpy(), atol=1e-5)


def test_a_text_has_the_same_vector_in_any_company(folder: Path) -> None:
    encoder = BertEncoder(folder, "tiny")
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-6)
    assert encoder.encode([]).shape == (0, 32)


def test_other_kinds_of_model_are_left_to_their_library(folder: Path, tmp_path: Path) -> None:
    assert is_plain_bert(folder)
    assert not is_plain_bert(tmp_path)
    for name, change in (
        ("config.json", {"model_type": "mpnet"}),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}),
        ("modules.json", []),
    ):
        original = (folder / name).read_text()
        content = json.loads(original)
        (folder / name).write_text(json.dumps({**content, **change} if isinstance(content, dict) else change))
        assert not is_plain_bert(folder)
        (folder / name).write_text(original)


def test_a_damaged_folder_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be loaded from .*nowhere"):
        BertEncoder(tmp_path / "nowhere", "gone")
