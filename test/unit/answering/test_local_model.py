"""Answers by a language model in this process: a tiny Llama that was taught one reply to one prompt."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from captioned_drives import WordEncoder, remember, round_trip

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.chat import Reply
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ModelError, ModelNotFoundError, ModelUnavailableError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import Answer, Question

NEEDED = "local language models need torch and transformers: pip install 'vlkng_ros[llm]'"
torch = pytest.importorskip("torch", reason=NEEDED)
transformers = pytest.importorskip("transformers", reason=NEEDED)

QUESTION = "Where is the red sofa?"
REPLY = json.dumps({"found": True, "frames": [26], "answer": "In the corner."})
TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
CONFIG = {"answerer": "llm", "temperature": 0.0, "max_tokens": 60, "context_tokens": 150, "timeout_s": 60.0}
STEPS = 60


class Listener:
    """A model that says nothing and keeps what it was asked."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def complete(self, messages: Sequence[Mapping[str, Any]], **_: Any) -> Reply:
        self.messages = [dict(message) for message in messages[:1]]
        return Reply("", cut_off=False)


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return remember(tmp_path_factory.mktemp("drive") / "memory.db", round_trip(), WordEncoder())


def ask(drive: Path, chat: Any = None, **config: Any) -> Answer:
    with MemoryReader.open(drive) as reader:
        settings = RetrievalConfig(**{**CONFIG, **config})
        return MemoryQuery(reader, WordEncoder(), settings, chat).ask(Question(QUESTION))


@pytest.fixture(scope="module")
def checkpoint(drive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of 60 thousand weights that answers the prompt of ``QUESTION`` with ``REPLY``."""
    listener = Listener()
    ask(drive, listener)
    folder = tmp_path_factory.mktemp("tiny-llama")
    prompt = listener.messages[0]["content"]
    tokenizer = _tokenizer(f"{prompt} {REPLY}")
    asked = tokenizer.apply_chat_template(listener.messages, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(asked + REPLY, return_tensors="pt")["input_ids"]
    ids = torch.cat([ids, torch.tensor([[tokenizer.eos_token_id]])], dim=1)
    labels = ids.clone()
    labels[:, : len(tokenizer(asked)["input_ids"])] = -100
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(
        **sizes,
        vocab_size=len(tokenizer),
        max_position_embeddings=1024,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    net = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(STEPS):
        net(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    net.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(text: str) -> Any:
    """Characters as tokens would make long prompts: whole words, and the reply's characters survive."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words.train_from_iterator(
        [text] * 5,
        trainers.BpeTrainer(
            vocab_size=700, special_tokens=["<pad>", "<end>"], initial_alphabet=alphabet, show_progress=False
        ),
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<end>")
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def test_a_local_model_answers(drive: Path, checkpoint: Path) -> None:
    answer = ask(drive, server_url="", model=str(checkpoint))
    assert (answer.answerer, answer.text, answer.citations) == ("llm", "In the corner.", (26,))
    assert answer.goal == answer.keyframes[0].keyframe.base_pose.on_floor()


def test_a_prompt_that_is_too_long_is_refused_and_the_rules_answer(drive: Path, checkpoint: Path) -> None:
    answer = ask(drive, server_url="", model=str(checkpoint), max_tokens=900)
    assert (answer.answerer, answer.keyframes[0].keyframe.keyframe_id) == ("extractive", 26)
    assert "lower retrieval.context_tokens or retrieval.max_tokens" in answer.message


def test_a_local_model_says_what_it_cannot_do(checkpoint: Path, tmp_path: Path) -> None:
    from vlkng_ros.answering.local_model import LocalModel

    with pytest.raises(ModelNotFoundError, match="not on this machine"):
        LocalModel(str(tmp_path / "nothing"))
    model = LocalModel(str(checkpoint), "cpu")
    hello: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    assert isinstance(model.complete(hello, timeout_s=30, temperature=0.7, max_tokens=2).text, str)
    with pytest.raises(ModelUnavailableError, match="no whole reply"):
        model.complete(hello, timeout_s=0.0, temperature=0.0, max_tokens=2)
    picture = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]
    with pytest.raises(ModelError, match="takes no pictures"):
        model.complete(picture, timeout_s=30, temperature=0.0, max_tokens=2)
