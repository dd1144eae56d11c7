"""VL-KnG's association by a language model, whose replies are not to be trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from model_server import ModelServer, hang, running_server, say, send
from scenes import Thing, looking_from, remembered, standing

from vlkng_ros.chat import ChatClient, load_prompt
from vlkng_ros.cli import main
from vlkng_ros.errors import ModelNotFoundError, ModelOutputError
from vlkng_ros.evaluation.identity_oracle import MODEL, Spoilt, answered, serving
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.association.stoa import NEW, ChunkGraph, StoaAssociator, StoaCounts, local_things
from vlkng_ros.memory.association.stoa_chunks import Chunks
from vlkng_ros.memory.association.stoa_model import PROMPTS, StoaModel
from vlkng_ros.types import Capture, Detection, EntityKind, Observation, Perception, Pose

CUP = Detection("cup", (10.0, 10.0, 50.0, 50.0), region_text="a red cup", attributes={"color": "red"})
SECOND_CUP = Detection("cup", (90.0, 10.0, 130.0, 50.0))
CAT = Detection("cat", (200.0, 10.0, 260.0, 50.0))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running_server() as told:
        yield told


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


Frames = list[tuple[float, tuple[Detection, ...]]]
"""Each taken at this x, with these detections."""


def drive(path: Path, frames: Frames, associator: Associator) -> list[list[str]]:
    """Remember frames, and return the entity of each detection."""
    with MemoryWriter.open(path, encoder=None, associators=[associator]) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        for i, (x, found) in enumerate(frames):
            number = writer.add_keyframe(Capture(i * 10**9, Pose.planar("map", x, 0.0))).keyframe_id
            writer.add_perception(number, Perception(detections=found))
            writer.associate(number)
    return entities(path, associator.view)


def remember_by_proximity(path: Path, frames: Frames) -> None:
    drive(path, frames, ProximityAssociator())


def entities(path: Path, view: str = "stoa") -> list[list[str]]:
    with MemoryReader.open(path) as reader:
        return [
            [entity for _, entity in sorted(reader.entities_in(view, number).items())]
            for number in reader.frames().ids.tolist()
        ]


def replying(*replies: Mapping[str, str]) -> tuple[StoaAssociator, list[ChunkGraph]]:
    """An associator that is told these replies, one a chunk of one keyframe, and what it asked."""
    asked: list[ChunkGraph] = []
    left = iter(replies)

    def decide(graph: ChunkGraph) -> Mapping[str, str]:
        asked.append(graph)
        return next(left)

    return StoaAssociator(decide), asked


def test_the_models_word_unites_what_proximity_would_keep_apart(path: Path) -> None:
    stoa, asked = replying({"cup_1": NEW}, {"cup_1": "cup_1"})
    assert drive(path, [(0.0, (CUP,)), (20.0, (CUP,))], stoa) == [["cup_1"], ["cup_1"]]
    assert (stoa.counts.chunks, stoa.counts.decided, stoa.counts.refused) == (2, 2, 0)
    assert asked[1].known_text() == '- cup_1: "cup", color "red"'
    assert asked[1].chunk_text() == '- cup_1: "cup", "a red cup", color "red"'


def test_the_models_word_keeps_apart_what_proximity_would_unite(path: Path) -> None:
    stoa, _ = replying({"cup_1": NEW}, {"cup_1": NEW})
    assert drive(path, [(0.0, (CUP,)), (0.5, (CUP,))], stoa) == [["cup_1"], ["cup_2"]]


@pytest.mark.parametrize(
    ("reply", "refused"),
    [
        ({"cup_1": "cup_9"}, 1),
        ({"cup_1": "cat_1"}, 1),
        ({"cup_1": ""}, 1),
        ({}, 1),
        ({"sofa_1": "cup_1", "cup_1": "cup_1"}, 0),
    ],
    ids=["an id that was not offered", "another type", "an empty id", "nothing said of it", "a local id made up"],
)
def test_a_decision_that_cannot_be_true_falls_back_to_proximity(
    path: Path, reply: dict[str, str], refused: int
) -> None:
    stoa, _ = replying({}, reply)
    assert drive(path, [(0.0, (CUP, CAT)), (0.5, (CUP,))], stoa) == [["cup_1", "cat_1"], ["cup_1"]]
    assert stoa.counts.refused == 2 + refused


def test_two_boxes_of_a_keyframe_never_share_an_entity(path: Path) -> None:
    stoa, _ = replying({"cup_1": NEW}, {"cup_1": "cup_1", "cup_2": "cup_1"})
    assert drive(path, [(0.0, (CUP,)), (0.0, (CUP, SECOND_CUP))], stoa) == [["cup_1"], ["cup_1", "cup_2"]]
    assert stoa.counts.refused == 1


def test_a_new_thing_keeps_its_entity_through_its_chunk(path: Path) -> None:
    remember_by_proximity(path, [(0.0, (CUP, CAT)), (10.0, (CUP,)), (20.0, (CAT, CUP))])
    with MemoryReader.open(path) as reader:
        chunks = Chunks(reader)
        assert [frame.keyframe_id for frame, _ in chunks.starting_at(1)] == [1, 2, 3]
        assert [frame.keyframe_id for frame, _ in chunks.starting_at(2)] == [2, 3]
        stoa = StoaAssociator(lambda graph: dict.fromkeys(graph.things, NEW), chunks.starting_at)
        with MemoryWriter.open(path, encoder=None, associators=[stoa]):
            assert stoa.counts.chunks == 1
    assert entities(path) == [["cup_1", "cat_1"], ["cup_1"], ["cat_1", "cup_1"]]


def test_a_chunks_graph_says_what_was_seen_together() -> None:
    named = Detection("cup", local_id="cup_7", kind=EntityKind.OBJECT)
    _, things = local_things([(_keyframe(1), [Observation(1, 1, named), Observation(2, 1, CAT)])])
    assert list(things) == ["cup_7", "cat_1"]
    assert ChunkGraph(things, {}).chunk_text() == (
        '- cup_7: "cup"; seen together with cat_1\n- cat_1: "cat"; seen together with cup_7'
    )
    assert ChunkGraph(things, {}).known_text() == "(none yet)"


def test_without_a_model_the_view_is_proximitys() -> None:
    looks = looking_from([standing(0.0, y) for y in (-0.5, 0.0, 0.5)], Thing("chair", (4.0, 0.0, 0.6)))
    with remembered(looks, StoaAssociator()) as (_, names), remembered(looks, ProximityAssociator()) as (_, others):
        assert names == others == [["chair_1"]] * 3


def model(server: ModelServer, timeout_s: float = 5.0) -> StoaModel:
    chat = ChatClient(server.url, "tiny", attempts=1, sleep=lambda seconds: None)
    return StoaModel(chat, timeout_s=timeout_s)


def test_the_server_is_asked_with_both_graphs_and_its_reply_is_read(server: ModelServer, path: Path) -> None:
    reply = json.dumps({"objects": [{"local": "cup_1", "global": "cup_1"}, {"local": 3}, "nonsense"]})
    server.will(say('{"objects": []}'), say(f"Sure:\n```json\n{reply}\n```"))
    stoa = StoaAssociator(model(server))
    assert drive(path, [(0.0, (CUP,)), (20.0, (CUP,))], stoa) == [["cup_1"], ["cup_1"]]
    prompt = server.requests[1]["messages"][0]["content"]
    assert '- cup_1: "cup", color "red"' in prompt.split("local id:")[0]
    assert '- cup_1: "cup", "a red cup", color "red"' in prompt.split("local id:")[1]
    assert server.requests[1]["temperature"] == 0.1


@pytest.mark.parametrize("act", [say("I would rather not."), say('{"objects": "cup_1"}'), send(500), send(200, "[]")])
def test_a_server_that_misbehaves_leaves_it_to_proximity(server: ModelServer, path: Path, act) -> None:
    server.will(act)
    stoa = StoaAssociator(model(server))
    assert drive(path, [(0.0, (CUP,)), (0.5, (CUP,)), (20.0, (CUP,))], stoa) == [["cup_1"], ["cup_1"], ["cup_2"]]
    assert (stoa.counts.chunks, stoa.counts.unanswered, stoa.counts.decided) == (3, 3, 0)


def test_a_server_that_never_answers_is_given_up(server: ModelServer, path: Path) -> None:
    server.will(hang)
    stoa = StoaAssociator(model(server, timeout_s=0.05))
    assert drive(path, [(0.5 * i, (CUP,)) for i in range(5)], stoa) == [["cup_1"]] * 5
    assert len(server.requests) == 3
    assert stoa.counts.unanswered == 5


def test_a_model_that_the_server_does_not_have_is_an_error(server: ModelServer, path: Path) -> None:
    server.will(send(404))
    with pytest.raises(ModelNotFoundError, match="has no model 'tiny'"):
        drive(path, [(0.0, (CUP,))], StoaAssociator(model(server)))


def test_a_prompt_of_the_users_takes_the_packaged_ones_place(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "associate.txt").write_text("version: 1\n\nNew: $chunk Known: $known", encoding="utf-8")
    server.will(say('{"objects": []}'))
    chat = ChatClient(server.url, "tiny", attempts=1)
    asked = StoaModel(chat, prompts=str(tmp_path))
    assert asked(ChunkGraph({}, {})) == {}
    assert server.requests[0]["messages"][0]["content"] == "New:  Known: (none yet)"


def test_a_reply_without_decisions_is_no_reply(server: ModelServer) -> None:
    server.will(say("cup_1 is cup_1"))
    with pytest.raises(ModelOutputError, match="no JSON of the kind asked for"):
        model(server)(ChunkGraph({}, {}))


def test_the_command_adds_the_view_and_says_what_the_model_decided(
    server: ModelServer, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remember_by_proximity(path, [(0.0, (CUP,)), (0.5, (CUP,)), (20.0, (CUP, CAT))])
    reply = [{"local": "cup_1", "global": "new"}, {"local": "cat_1", "global": "cup_1"}]
    server.will(say(json.dumps({"objects": reply})))
    arguments = ["associate", "--memory", str(path), "--text-encoder", "none", "--server-url", server.url]
    assert main([*arguments, "--with", "stoa", "--llm", "tiny"]) == 0
    shown = capsys.readouterr().out
    assert "view 'stoa' was added: 2 entities from 4 observations" in shown
    assert "tiny was asked about 1 chunk: 1 decisions taken, 1 refused, 0 chunks without a usable reply" in shown
    assert entities(path) == [["cup_1"], ["cup_1"], ["cup_1", "cat_1"]]
    assert main([*arguments, "--with", "proximity", "--llm", "tiny"]) == 2
    assert "only stoa asks a language model, not proximity" in capsys.readouterr().err


def _keyframe(number: int):
    from scenes import CAMERA

    from vlkng_ros.types import Keyframe, PerceptionState

    base = standing(0.0, 0.0)
    return Keyframe(
        number, 0, base, CAMERA.pose(base), "", 1, "robot", "house", CAMERA.intrinsics, (640, 480), "", False,
        PerceptionState.DONE, 1,
    )  # fmt: skip


def tag(detection: Detection, number: str) -> Detection:
    return replace(detection, region_text="", attributes={"tag": number}, local_id=number.replace(" ", "_"))


def test_with_a_model_that_is_always_right_every_thing_is_one_entity(path: Path) -> None:
    one, other, third = tag(CUP, "cup 7"), tag(SECOND_CUP, "cup 9"), tag(CUP, "cup 3")
    frames: Frames = [(0.5 * i, pair) for i, pair in enumerate([(one, other), (other, third), (third,)] * 5)]
    remember_by_proximity(path, frames)
    with (
        serving(lambda prompt: answered(prompt, Spoilt(), Random(0))) as url,
        ChatClient(url, MODEL) as chat,
        MemoryReader.open(path) as reader,
    ):
        stoa = StoaAssociator(StoaModel(chat), Chunks(reader).starting_at)
        MemoryWriter.open(path, encoder=None, associators=[stoa]).close()
    assert entities(path) == [["cup_1", "cup_2"], ["cup_2", "cup_3"], ["cup_3"]] * 5
    # 15 keyframes are two chunks, each with three things.
    assert stoa.counts == StoaCounts(chunks=2, unanswered=0, decided=6, refused=0)


def test_an_oracle_is_wrong_and_invalid_as_often_as_it_is_told() -> None:
    known = '- cup_1: "cup", tag "cup 7"\n- cup_2: "cup", tag "cup 9"\n- cat_1: "cat", tag "cat 1"'
    chunk = '- a: "cup", tag "cup 9"; seen together with b\n- b: "cup", color "red", tag "cup 3"; seen together with a'
    prompt = load_prompt(PROMPTS, "associate").filled(known=known, chunk=chunk)

    def decided(spoilt: Spoilt) -> list[str]:
        return [d["global"] for d in json.loads(answered(prompt, spoilt, Random(1)))["objects"]]

    assert decided(Spoilt()) == ["cup_2", "new"]
    assert decided(Spoilt(invalid=1.0)) == ["a_of_nowhere", "b_of_nowhere"]
    first, second = decided(Spoilt(wrong=1.0))
    assert first in {"cup_1", "new"}
    assert second in {"cup_1", "cup_2"}
