"""Runs that are interrupted, changed and asked again."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from captioned_drives import SECOND, round_trip

from vlkng_ros.chat.client import Reply
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ModelUnavailableError
from vlkng_ros.evaluation.benchmark import NOWHERE, Asked, RecordedFrame, Recording
from vlkng_ros.evaluation.remembering import remember
from vlkng_ros.evaluation.running import Models, ask_all, log_of
from vlkng_ros.evaluation.scores import Judged, figures
from vlkng_ros.evaluation.text_answers import Judge
from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import AnswerKind, Detection, Perception, Pose

CONFIG = RetrievalConfig()


@pytest.fixture
def recording() -> Recording:
    frames = [
        RecordedFrame(
            seen.stamp_ns,
            Pose.planar("map", seen.x_m, seen.y_m),
            Perception(seen.caption, tuple(Detection(label) for label in seen.labels)),
        )
        for seen in round_trip()
    ]
    questions = (
        Asked("p", "trip", "Where is the red sofa?", AnswerKind.POSITION, None, 118 * SECOND, (12.0, 38.0, 0.0)),
        Asked("x", "trip", "What color is the sofa?", AnswerKind.TEXT, None, 118 * SECOND, "red"),
    )
    return Recording("trip", frames, questions)


def run(recording: Recording, out: Path, config: RetrievalConfig = CONFIG, **more: Any) -> tuple[list[Judged], int]:
    """What was judged, and how many questions were asked for it."""
    path = remember(recording, out / "memories", None, (ProximityAssociator(),), lambda n: None)
    log = log_of(out, "hybrid", config, "test", "", **more)
    known = sum(log.get(asked) is not None for asked in recording.questions)
    judged = ask_all(recording, path, Models(), {"hybrid": (config, log)}, lambda n: None)["hybrid"]
    return judged, len(recording.questions) - known


def test_what_is_answered_is_not_asked_again_unless_told_to_or_settings_change(
    recording: Recording, tmp_path: Path
) -> None:
    first, asked = run(recording, tmp_path)
    assert (asked, first[0].error) == (2, 0.0)
    log = tmp_path / "answers" / "hybrid.jsonl"
    # Interrupted in the middle of the second answer's line.
    log.write_text(log.read_text()[:-30])
    assert run(recording, tmp_path)[1] == 1
    again, asked = run(recording, tmp_path)
    assert (asked, again[0]) == (0, first[0])
    assert run(recording, tmp_path, again=True)[1] == 2
    assert run(recording, tmp_path, dataclasses.replace(CONFIG, min_confidence=0.9))[1] == 2


def test_a_memory_that_was_interrupted_is_completed(recording: Recording, tmp_path: Path) -> None:
    part = dataclasses.replace(recording, frames=recording.frames[:20])
    views = (ProximityAssociator(),)
    remember(part, tmp_path, None, views, lambda n: None)
    advanced: list[int] = []
    path = remember(recording, tmp_path, None, views, advanced.append)
    with MemoryReader.open(path) as reader:
        assert (reader.stats().keyframes, reader.stats().pending) == (60, 0)
    assert sum(advanced) == 60


def test_frames_without_positions_are_retrieved_one_by_one(tmp_path: Path) -> None:
    said = ["I drink coffee." if i % 7 == 0 else "I walk." for i in range(30)]
    frames = [RecordedFrame(i * 600 * SECOND, NOWHERE, Perception(text)) for i, text in enumerate(said)]
    asked = Asked("q", "day", "When did I drink coffee?", AnswerKind.TEXT, None, None, "?", spans=((0, 0),))
    ((judged,), _) = run(Recording("day", frames, (asked,)), tmp_path)
    assert (judged.rank, judged.precision) == (1, 0.2)  # of five frames with coffee, the first


class NoJudge:
    def complete(self, *_: Any, **__: Any) -> Any:
        raise ModelUnavailableError("away")


def test_without_its_judge_an_answer_is_not_marked(
    recording: Recording, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = remember(recording, tmp_path, None, (ProximityAssociator(),), lambda n: None)
    log = log_of(tmp_path, "hybrid", CONFIG, "test", "judge")
    models = Models(judge=Judge(NoJudge()))
    _, text = ask_all(recording, path, models, {"hybrid": (CONFIG, log)}, lambda n: None)["hybrid"]
    assert (text.mark, text.right) == (None, None)
    assert "trip/x is not marked: away" in caplog.text
    told = figures([text])
    assert (told["llm_match"], told["llm_match_unmarked"]) == (None, 1)
    models = Models(judge=Judge(Marks()))  # it came back: what was left unmarked is asked again, and nothing else
    place, text = ask_all(recording, path, models, {"hybrid": (CONFIG, log)}, lambda n: None)["hybrid"]
    assert (text.mark, text.unmarked, place.mark) == (5, False, None)
    ask_all(recording, path, Models(judge=Judge(NoJudge())), {"hybrid": (CONFIG, log)}, lambda n: None)
    assert caplog.text.count("is not marked") == 1


class Marks:
    """A judge that finds all of it right; its schema holds the marks there are."""

    def complete(self, *_: Any, schema: Any, **__: Any) -> Reply:
        assert schema["properties"]["mark"]["enum"] == [1, 2, 3, 4, 5]
        return Reply('{"mark": 5}', cut_off=False)


def test_where_the_model_never_answered_the_table_says_so(recording: Recording, tmp_path: Path) -> None:
    path = remember(recording, tmp_path, None, (ProximityAssociator(),), lambda n: None)
    config = dataclasses.replace(CONFIG, answerer="llm", model="tiny")
    log = log_of(tmp_path, "hybrid", config, "test", "")
    judged = ask_all(recording, path, Models(chat=NoJudge()), {"hybrid": (config, log)}, lambda n: None)["hybrid"]
    assert figures(judged)["without_the_model"] == 1.0
