"""Answers through a real HTTP server that is told what to say."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from captioned_drives import SECOND, WordEncoder, open_writer, remember, round_trip
from model_server import ModelServer, hang, running_server, say, send

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.answering.context import described
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ConfigError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval.presets import ANSWERERS, NAMES
from vlkng_ros.types import Answer, AnswerStatus, Capture, Detection, Perception, Pose, Question, RelationMention


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return remember(tmp_path_factory.mktemp("drive") / "memory.db", round_trip(), WordEncoder())


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running_server() as told:
        yield told


Ask = Callable[..., Answer]


@pytest.fixture
def ask(drive: Path, server: ModelServer) -> Iterator[Ask]:
    with MemoryReader.open(drive) as reader:

        def ask_(answerer: str, text: str, **config: Any) -> Answer:
            settings = RetrievalConfig(answerer=answerer, server_url=server.url, model="tiny", **config)
            return MemoryQuery(reader, WordEncoder(), settings).ask(Question(text, preset=settings.preset))

        yield ask_


def reply(**fields: object) -> Any:
    return say(json.dumps({"found": True, "answer": "It is there.", **fields}))


def asked(server: ModelServer, request: int = -1, message: int = -1) -> str:
    return str(server.requests[request]["messages"][message]["content"])


def test_the_model_chooses_among_the_retrieved_frames(ask: Ask, server: ModelServer) -> None:
    # The rules put the yellow hydrant of frame 55 (keyframe 56) first; the model prefers the red one.
    server.will(reply(frames=[11, 56], answer="At the red hydrant."))
    answer = ask("llm", "Where did you last see a fire hydrant?")
    assert (answer.status, answer.answerer, answer.text) == (AnswerStatus.OK, "llm", "At the red hydrant.")
    assert [r.keyframe.keyframe_id for r in answer.keyframes][:2] == [11, 56]
    assert answer.value == answer.keyframes[0].keyframe.base_pose
    assert answer.goal == answer.keyframes[0].keyframe.base_pose.on_floor()
    assert answer.citations == (11, 56)
    assert answer.timings_ms["model"] > 0


def test_the_model_is_shown_frames_with_time_place_and_things(ask: Ask, server: ModelServer) -> None:
    server.will(reply(frames=[26]))
    ask("llm", "When did you see the sofa?")
    shown = asked(server)
    assert "[#26] [DAY1 00:00:50] at x=12.0 y=38.0. objects: sofa (sofa_1)." in shown
    assert "A red sofa stands in the corner." in shown
    assert "NOW is [DAY1 00:01:58]" in shown
    assert server.requests[-1]["temperature"] == 0.7
    assert server.requests[-1]["response_format"]["json_schema"]["schema"]["required"] == ["found", "frames", "answer"]


def test_values_are_the_frames_or_the_models(ask: Ask, server: ModelServer) -> None:
    server.will(reply(frames=[26]))
    assert ask("llm", "When did you see the sofa?").value == 50 * SECOND
    server.will(reply(frames=[26], yes=True))
    assert ask("llm", "Did you see the sofa?").value is True
    server.will(reply(frames=[], yes=False, found=False))
    assert ask("llm", "Did you see the sofa?").value is False
    server.will(reply(frames=[26], count=3))
    assert ask("llm", "How many sofas did you see?").value == 3


def test_not_found_is_an_answer(ask: Ask, server: ModelServer) -> None:
    server.will(say('{"found": false, "frames": [], "answer": "no"}'))
    answer = ask("llm", "Where is the sofa?")
    assert (answer.status, answer.value, answer.goal) == (AnswerStatus.NOT_FOUND, None, None)
    assert answer.text == "I have not seen sofa."


def test_an_unusable_reply_is_asked_for_once_more_with_the_reason(ask: Ask, server: ModelServer) -> None:
    server.will(reply(frames=[999]), reply(frames=[26]))
    answer = ask("llm", "Where is the sofa?")
    assert (answer.answerer, answer.keyframes[0].keyframe.keyframe_id) == ("llm", 26)
    assert len(server.requests) == 2
    assert "none of 'frames' is a frame that was shown" in asked(server)


@pytest.mark.parametrize(
    "act", [say("I think it is by the door."), say(""), say('{"found": "maybe"}'), send(500), send(403)]
)
@pytest.mark.parametrize("answerer", ["llm", "agent", "structured"])
def test_when_the_model_fails_the_rules_answer_and_say_so(
    ask: Ask, server: ModelServer, answerer: str, act: Any
) -> None:
    server.will(act)
    answer = ask(answerer, "Where is the sofa?", timeout_s=5.0)
    assert (answer.status, answer.answerer) == (AnswerStatus.OK, "extractive")
    assert answer.keyframes[0].keyframe.keyframe_id == 26
    assert answer.message.startswith("answered without the language model: ")


def test_a_model_that_is_too_slow_is_not_waited_for(ask: Ask, server: ModelServer) -> None:
    server.will(hang)
    answer = ask("llm", "Where is the sofa?", timeout_s=0.2)
    assert (answer.answerer, answer.keyframes[0].keyframe.keyframe_id) == ("extractive", 26)
    assert answer.timings_ms["model"] < 5_000


def test_the_agent_searches_until_it_knows(ask: Ask, server: ModelServer) -> None:
    server.will(
        say('{"tool": "search_label", "text": "red sofa"}'),
        say('Let me look. {"tool": "get_entity", "entity": "sofa_1"}'),
        say('{"tool": "search_time", "from_s": 60, "to_s": 50}'),
        say('{"tool": "search_position", "x": 0, "y": 20, "radius": 3}'),
        say('{"tool": "search_relation", "entity": "sofa_1"}'),
        reply(frames=[26, 11], answer="In the hallway."),
    )
    answer = ask("agent", "Where is the red sofa?")
    assert (answer.answerer, answer.text) == ("agent", "In the hallway.")
    assert answer.citations == (26, 11)
    results = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "user"][1:]
    assert "[#26]" in results[0]
    assert results[1].startswith("sofa_1: sofa at x=12.0 y=38.0")
    assert "[#30]" in results[2]
    assert "[#11]" in results[3]
    assert len(results) == 5


def test_the_agent_may_cite_only_what_a_tool_showed(ask: Ask, server: ModelServer) -> None:
    server.will(reply(frames=[26]), say('{"tool": "search_label", "text": "sofa"}'), reply(frames=[26]))
    answer = ask("agent", "Where is the sofa?")
    assert answer.answerer == "agent"
    assert "none of 'frames' is a frame that was shown" in server.requests[1]["messages"][-1]["content"]


def test_the_agents_steps_are_counted(ask: Ask, server: ModelServer) -> None:
    server.will(say('{"tool": "search_label", "text": "sofa"}'))
    answer = ask("agent", "Where is the sofa?", max_steps=3)
    assert answer.answerer == "extractive"
    assert len(server.requests) == 3
    assert "no answer within 3 tool calls" in answer.message


@pytest.mark.parametrize(
    "call",
    ['{"tool": "delete_all"}', '{"tool": "search_label"}', '{"tool": "search_position", "x": "a", "y": 0, "radius": 1}',
     '{"tool": "search_time", "from_s": NaN, "to_s": 0}'],
)  # fmt: skip
def test_a_call_that_makes_no_sense_is_explained(ask: Ask, server: ModelServer, call: str) -> None:
    server.will(say(call), say('{"tool": "search_label", "text": "sofa"}'), reply(frames=[26]))
    assert ask("agent", "Where is the sofa?").answerer == "agent"
    assert "cannot be used" in server.requests[1]["messages"][-1]["content"]


def test_divide_and_verify_keeps_what_passes(ask: Ask, server: ModelServer) -> None:
    def act(handler: Any) -> None:
        content = json.dumps(server.requests[-1]["messages"])
        if "Split the question" in content:
            text = '{"checks": ["Is there a fire hydrant?", "Is it red?"]}'
        elif "pass them" in content:
            red = "red fire hydrant" in content
            text = json.dumps({"answers": ["yes", "yes"] if red else ["no", "no"]})
        else:
            text = json.dumps({"found": True, "frames": [11], "answer": "There."})
        say(text)(handler)

    server.will(act)
    answer = ask("structured", "Where is the red fire hydrant?")
    assert (answer.answerer, answer.keyframes[0].keyframe.keyframe_id) == ("structured", 11)
    final = asked(server)
    assert "[#11] Is there a fire hydrant? yes; Is it red? yes" in final
    assert "[#46]" not in final


def test_vgent_verifies_clips_on_their_frames(server: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_writer(path, WordEncoder()) as writer:
        for i in range(130):
            pose = Pose.planar("map", float(i), 0.0)
            frame = writer.add_keyframe(Capture(i * SECOND, pose), b"jpeg%d" % i)
            writer.add_perception(frame.keyframe_id, Perception("A red sofa." if i in (3, 5, 70) else "A wall."))
    server.will(
        say('{"checks": ["Is there a sofa?"]}'),
        say('{"answers": ["no"]}'),
        say('{"answers": ["yes"]}'),
        reply(frames=[71]),
    )
    config = RetrievalConfig(answerer="structured", server_url=server.url, model="tiny", show_images=True)
    with MemoryReader.open(path) as reader:
        asking = Question("Where is the red sofa?", preset="vgent")
        answer = MemoryQuery(reader, WordEncoder(), config).ask(asking)
    assert (answer.answerer, answer.citations) == ("structured", (71,))
    first, second = (request["messages"][0]["content"] for request in server.requests[1:3])
    # K = 64: keyframes 4 and 6 are one clip, seen together; 71 is in the next.
    pictures = [part["image_url"]["url"].rpartition(",")[2] for part in first if part["type"] == "image_url"]
    assert sorted(base64.b64decode(picture) for picture in pictures) == [b"jpeg3", b"jpeg5"]
    assert [part["type"] for part in second] == ["image_url", "text"]
    final = asked(server)
    assert "[#71] Is there a sofa? yes" in final
    assert "[#4]" not in final


@pytest.mark.parametrize("preset", NAMES)
def test_every_preset_works_with_the_model_of_its_paper(ask: Ask, server: ModelServer, preset: str) -> None:
    def act(handler: Any) -> None:
        content = json.dumps(server.requests[-1]["messages"])
        if "with tools" in content and len(server.requests) == 1:
            text = '{"tool": "search_label", "text": "red sofa"}'
        elif "Split the question" in content:
            text = '{"checks": ["Is there a red sofa?"]}'
        elif "pass them" in content:
            text = '{"answers": ["yes"]}'
        else:
            text = json.dumps({"found": True, "frames": [26], "answer": "In the corner, [DAY1 00:00:50]."})
        say(text)(handler)

    server.will(act)
    answer = ask(ANSWERERS.get(preset, "llm"), "Where is the red sofa?", preset=preset)
    assert (answer.preset, answer.answerer) == (preset, ANSWERERS.get(preset, "llm"))
    assert answer.citations == (26,)
    assert answer.goal == answer.keyframes[0].keyframe.base_pose.on_floor()


def test_cwgr_asks_chunk_by_chunk_until_one_answers(ask: Ask, server: ModelServer) -> None:
    nothing = say('{"found": false, "frames": [], "answer": ""}')
    server.will(nothing, reply(frames=[56]))
    answer = ask("llm", "Where is the fire hydrant?", preset="vlkng-cwgr")
    # Hydrants are in keyframes 11 and 56, in the second and the seventh chunk of eight.
    shown = [re.findall(r"^\[#(\d+)\]", asked(server, request=i), re.MULTILINE) for i in (0, 1)]
    assert shown == [["11"], ["56"]]
    assert len(server.requests) == 2
    assert (answer.answerer, answer.citations) == ("llm", (56,))


def test_egograph_tells_the_graph_and_wants_times(ask: Ask, server: ModelServer) -> None:
    server.will(reply(frames=[26], answer="In the corner."), reply(frames=[26], answer="Seen at [DAY1 00:00:50]."))
    answer = ask("llm", "Where is the sofa?", preset="egograph")
    assert answer.text == "Seen at [DAY1 00:00:50]."
    shown = asked(server, request=0)
    assert "object sofa_1: sofa" in shown.partition("Graph:\n")[2]
    assert "name the time of every event you rely on, as [DAYd HH:MM:SS]" in shown
    assert "must name the time" in asked(server)


def test_notes_take_half_of_the_budget_and_no_more(ask: Ask, server: ModelServer) -> None:
    server.will(reply(frames=[26]))
    ask("llm", "Where is the sofa?", preset="vlkng-full", context_tokens=100)
    frames, _, graph = asked(server).partition("Frames:\n")[2].partition("\n\nQuestion")[0].partition("Graph:\n")
    assert 0 < len(graph) <= 200
    assert 0 < len(frames) <= 200


def test_a_model_must_be_named(drive: Path) -> None:
    with MemoryReader.open(drive) as reader, pytest.raises(ConfigError, match=r"retrieval\.model is empty"):
        MemoryQuery(reader, None, RetrievalConfig(answerer="llm"))


def test_the_users_prompts_take_the_packaged_ones_places(ask: Ask, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text("version: 7\n\nMY PROMPT $now $frames $question $value")
    server.will(reply(frames=[26]))
    ask("llm", "Where is the sofa?", prompts=str(tmp_path))
    assert asked(server).startswith("MY PROMPT [DAY1 00:01:58]")


def test_a_model_is_told_how_the_things_of_a_frame_stand_and_of_no_other(tmp_path: Path) -> None:
    with open_writer(tmp_path / "memory.db") as writer:
        for second, edges in ((0, (RelationMention(0, "on", 1),)), (1, ())):
            keyframe = writer.add_keyframe(Capture(second * SECOND, Pose.planar("map", 0.0, 0.0, 0.0)))
            shown = (Detection("cup"), Detection("table"))
            writer.add_perception(keyframe.keyframe_id, Perception("A room.", shown, edges, backend="told"))
            writer.associate(keyframe.keyframe_id)
    with MemoryReader.open(tmp_path / "memory.db") as reader:
        first, second_one = (described(reader, reader.keyframe(number), 0, "proximity") for number in (1, 2))
    told = "at x=0.0 y=0.0. objects: cup (cup_1), table (table_1)."
    assert first == f"[#1] [DAY1 00:00:00] {told} relations: cup_1 on table_1. A room."
    assert second_one == f"[#2] [DAY1 00:00:01] {told} A room."
