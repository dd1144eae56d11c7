"""Every benchmark's published layout, from folders written by hand, through the command."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from model_server import running_server, say

from vlkng_ros.cli import main
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.evaluation.egolife import moment_ns, read_egolife
from vlkng_ros.evaluation.multiple_choice import by_words
from vlkng_ros.evaluation.openeqa import read_openeqa
from vlkng_ros.evaluation.text_answers import mark_in, overlap, percent
from vlkng_ros.evaluation.walkieknowledge import read_walkieknowledge
from vlkng_ros.memory import MemoryReader

NS = 10**9
EPISODE = "hm3d-v0/000-hm3d-BFRyYbPCCPE"


def figures_of(out: Path, run: str = "hybrid") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "figures.json").read_text())[run]["figures"]
    return found


@pytest.fixture
def openeqa(tmp_path: Path) -> Path:
    """One episode of 40 pictures; the second half is red, and the last one's pose is known."""
    frames = tmp_path / "data" / "frames" / EPISODE
    frames.mkdir(parents=True)
    for i in range(40):
        cv2.imwrite(str(frames / f"{i:05d}-rgb.png"), np.full((8, 12, 3), (0, 0, 250 if i >= 20 else 0), np.uint8))
        cv2.imwrite(str(frames / f"{i:05d}-depth.png"), np.zeros((8, 12), np.uint8))
    np.savetxt(frames / "00039.txt", [[1, 0, 0, 2.5], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]])
    base = {"category": "attribute recognition", "episode_history": EPISODE}
    questions = [
        {**base, "question_id": "a", "question": "What color is the sofa?", "answer": "Red"},
        {**base, "question_id": "b", "question": "Where is the sofa?", "answer": "In the hall",
         "extra_answers": ["by the window"]},
        {**base, "question_id": "c", "question": "Where?", "answer": "?", "episode_history": "scannet-v0/none"},
    ]  # fmt: skip
    (tmp_path / "data" / "open-eqa-v0.json").write_text(json.dumps(questions))
    return tmp_path


def test_openeqa_takes_32_frames_of_an_episode(openeqa: Path) -> None:
    (recording,) = read_openeqa(openeqa)
    assert recording.name == "hm3d-v0-000-hm3d-BFRyYbPCCPE"
    assert len(recording.frames) == 32
    names = [frame.image.name for frame in recording.frames if frame.image is not None]
    assert (names[0], names[-1]) == ("00000-rgb.png", "00039-rgb.png")
    assert recording.frames[-1].pose.position_m == (2.5, 1.0, 0.0)
    assert len(read_openeqa(openeqa / "data", frames=0)[0].frames) == 40
    assert [(q.question_id, q.truth, q.other_truths) for q in recording.questions] == [
        ("a", "Red", ()),
        ("b", "In the hall", ("by the window",)),
    ]


def test_openeqa_is_described_asked_and_marked(
    openeqa: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = tmp_path / "said.jsonl"
    seen = {"version": 1, "caption": "A red sofa is in the hall.", "detections": [{"label": "sofa"}]}
    said = [{**seen, "stamp_ns": i * NS} for i in range(40)]
    recorded.write_text("".join(json.dumps(line) + "\n" for line in said))
    out = tmp_path / "out"
    with running_server() as server:
        server.will(say("Hello!"), say("Your mark: 5"), say('{"mark": 2}'))
        command = ["eval", "openeqa", str(openeqa), "--out", str(out), "--text-encoder", "none", "--judge", "tiny",
                   "--judge-url", server.url, "--set", "perception.backend=recorded",
                   "--set", f"perception.recording={recorded}"]  # fmt: skip
        assert main(command) == 0
        asked = str(server.requests[1]["messages"][0]["content"])
    assert "Question: What color is the sofa?\nRight answer: Red\n" in asked
    assert "| llm_match | 62.5 |" in capsys.readouterr().out
    found = figures_of(out)
    assert (found["questions"], found["text_n"], found["llm_match"]) == (2, 2, 62.5)
    with MemoryReader.open(out / "memories" / "hm3d-v0-000-hm3d-BFRyYbPCCPE.db") as reader:
        assert (reader.stats().keyframes, reader.stats().pending) == (32, 0)
        assert reader.image(1) is not None


def test_pictures_need_a_model_or_captions(openeqa: Path, tmp_path: Path) -> None:
    command = ["eval", "openeqa", str(openeqa), "--out", str(tmp_path / "out"), "--text-encoder", "none"]
    assert main([*command, "--set", "perception.backend=none"]) == 2


def test_walkieknowledge_has_frames_that_answer(tmp_path: Path) -> None:
    walk = tmp_path / "walks" / "park"
    walk.mkdir(parents=True)
    captions = [{"time": 10.0 + 2 * i, "position": [float(i), 0.0, 0.0], "caption": "A red bench." if 4 <= i <= 5 else
                 "A path.", "labels": ["bench"] if 4 <= i <= 5 else []} for i in range(10)]  # fmt: skip
    (walk / "captions.json").write_text(json.dumps(captions))
    question = {"id": 3, "question": "Where is the red bench?", "answer": "in the park", "type": "object search",
                "intervals": [[4, 5]]}  # fmt: skip
    (walk / "questions.json").write_text(json.dumps([question]))
    (recording,) = read_walkieknowledge(tmp_path / "walks")
    assert recording.questions[0].spans == ((18 * NS, 20 * NS),)
    out = tmp_path / "out"
    assert main(["eval", "walkieknowledge", str(tmp_path / "walks"), "--out", str(out), "--text-encoder", "none"]) == 0
    assert (figures_of(out)["retrieval_at_1"], figures_of(out)["mrr_at_5"]) == (1.0, 1.0)
    (walk / "questions.json").write_text(json.dumps([{**question, "intervals": [[4, 10]]}]))
    with pytest.raises(InvalidInputError, match="question 0: 'intervals'"):
        read_walkieknowledge(tmp_path / "walks")


SUBTITLES = {
    "DenseCaption/A1_JAKE/DAY1/A1_JAKE_DAY1_11000000.srt":
        "1\n00:09:42,100 --> 00:09:45,000\nI pick up a screwdriver\n\n"
        "2\n00:20:00,000 --> 00:20:04,000\nI drink some\ncoffee\n",
    "Transcript/A1_JAKE/DAY1/A1_JAKE_DAY1_11000000.srt":
        "1\n00:09:44,000 --> 00:09:45,000\nAlice: Give me the hammer.\n",
    "DenseCaption/A1_JAKE/DAY2/A1_JAKE_DAY2_09000000.srt": "1\n00:00:01,000 --> 00:00:02,000\nTasha sings\n",
}  # fmt: skip


@pytest.fixture
def egolife(tmp_path: Path) -> Path:
    for name, text in SUBTITLES.items():
        (tmp_path / "EgoLifeCap" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "EgoLifeCap" / name).write_text(text)
    base = {"type": "EventRecall", "answer": "B", "choice_a": "Tasha", "choice_b": "Alice", "choice_c": "Shure",
            "choice_d": "Lucia", "query_time": {"date": "DAY1", "time": "12000000"}}  # fmt: skip
    questions = [
        {**base, "ID": "1", "question": "Who asked for the hammer?",
         "target_time": {"date": "DAY1", "time": "11094400"}},
        {**base, "ID": "2", "question": "Who sings?", "answer": "A", "query_time": {"date": "DAY2", "time": "10000000"},
         "target_time": {"time": "DAY1_11200000 DAY2_09000110"}},
    ]  # fmt: skip
    (tmp_path / "EgoLifeQA").mkdir()
    (tmp_path / "EgoLifeQA" / "EgoLifeQA_A1_JAKE.json").write_text(json.dumps(questions))
    return tmp_path


def test_egolife_anchors_speech_at_the_caption_before(egolife: Path) -> None:
    (recording,) = read_egolife(egolife)
    assert [(f.stamp_ns, f.perception.caption) for f in recording.frames if f.perception is not None] == [
        (40_182_100_000_000, "I pick up a screwdriver. Alice: Give me the hammer."),
        (40_800 * NS, "I drink some coffee."),
        ((24 * 3600 + 9 * 3600 + 1) * NS, "Tasha sings."),
    ]
    first, second = recording.questions
    assert (first.as_of_ns, first.truth, first.choices[1]) == (12 * 3600 * NS, "B", "Alice")
    assert first.spans == (((40_184 - 60) * NS, (40_184 + 60) * NS),)
    assert len(second.spans) == 2
    assert moment_ns(2, "09000110") == (33 * 3600 + 1) * NS + NS // 2  # frame 10 of 20


def test_egolife_is_multiple_choice_by_words_or_a_model(
    egolife: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["eval", "egolife", str(egolife), "--out", str(out), "--text-encoder", "none", "--preset", "egograph"]
    assert main(command) == 0
    assert "| multiple_choice | 1 |" in capsys.readouterr().out
    assert figures_of(out, "egograph")["without_the_model"] is None  # there was none
    with running_server() as server:
        wrong = say('{"found": true, "frames": [1], "answer": "Shure"} {"choice": "C"}')
        server.will(wrong)
        assert main([*command, "--llm", "tiny", "--server-url", server.url]) == 0
        shown = [str(request["messages"][-1]["content"]) for request in server.requests]
    # Other settings than before: asked anew.
    assert figures_of(out, "egograph")["multiple_choice"] == 0.0
    assert any(
        "A. Tasha\nB. Alice\nC. Shure\nD. Lucia" in text and "NOW is" not in text.split("A. Tasha")[1] for text in shown
    )


def test_a_choice_is_the_one_whose_own_words_were_said(egolife: Path) -> None:
    question = read_egolife(egolife)[0].questions[0]
    assert by_words(question, ["Alice: Give me the hammer.", "Tasha sings."], None) == 1
    assert by_words(question, ["Nobody is here."], None) == 0


@pytest.mark.parametrize(
    ("reply", "mark"), [("4", 4), ("Your mark: 2", 2), ('{"mark": 5}', 5), ('```json\n{"mark": "3"}\n```', 3)]
)
def test_marks_are_read(reply: str, mark: int) -> None:
    assert mark_in(reply) == mark


def test_openeqas_scale_and_the_overlap_of_words(openeqa: Path) -> None:
    assert [percent(mark) for mark in (1, 3, 5)] == [0.0, 50.0, 100.0]
    question = read_openeqa(openeqa)[0].questions[1]
    assert overlap(question, "by a window") == 1.0
    assert overlap(question, "upstairs") == 0.0
