"""A question's target in the memory's words, by a server that is told what to say."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from captioned_drives import Seen, remember
from model_server import ModelServer, running_server, say

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import Answer, AnswerStatus, Question

Ask = Callable[[str], Answer]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running_server() as told:
        yield told


@pytest.fixture
def ask(tmp_path: Path, server: ModelServer) -> Iterator[Ask]:
    frames = [Seen(60.0 * i, 40.0 * i, 0.0, "A room.", (label,)) for i, label in enumerate(["sofa", "defibrillator"])]
    path = remember(tmp_path / "memory.db", frames)
    with MemoryReader.open(path) as reader:
        memory = MemoryQuery(reader, None, RetrievalConfig(rewrite=True, server_url=server.url, model="tiny"))
        yield lambda text: memory.ask(Question(text))


def target(name: object) -> Any:
    return say(json.dumps({"target": name}))


def test_a_word_that_the_memory_does_not_know_is_put_into_its_own(ask: Ask, server: ModelServer) -> None:
    server.will(target("defibrillator"))
    answer = ask("Where is the nearest heart starter?")
    assert (answer.status, answer.keyframes[0].label) == (AnswerStatus.OK, "defibrillator")
    prompt = str(server.requests[0]["messages"][0]["content"])
    assert "Words of the memory: sofa, defibrillator" in prompt
    assert "It is about: heart starter" in prompt
    assert answer.timings_ms["rewrite"] > 0


def test_known_words_need_no_model(ask: Ask, server: ModelServer) -> None:
    assert ask("Where is the sofa?").keyframes[0].label == "sofa"
    assert server.requests == []


@pytest.mark.parametrize("replies", [["unicorn", "a dragon"], [7, ""], ["x" * 81, ["sofa"]]])
def test_a_reply_that_cannot_be_used_leaves_the_question_as_it_is(
    ask: Ask, server: ModelServer, replies: list[object]
) -> None:
    server.will(*(target(reply) for reply in replies))
    answer = ask("Where is the heart starter?")
    assert (answer.status, answer.text) == (AnswerStatus.NOT_FOUND, "I have not seen heart starter.")
    assert answer.message.startswith("asked in the question's own words: ")
    assert len(server.requests) == 2


def test_what_is_not_there_is_denied_in_the_words_of_the_question(ask: Ask, server: ModelServer) -> None:
    server.will(target("unicorn"))
    assert ask("Where is the unicorn?").text == "I have not seen unicorn."
