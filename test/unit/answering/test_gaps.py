"""How sure it is that something was not seen, where frames are not described."""

from __future__ import annotations

from pathlib import Path

import pytest
from captioned_drives import SECOND, STREET, Seen, open_writer, remember, write

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import Answer, AnswerStatus, Capture, Pose, Question


def drive(path: Path, described: int, pending: int = 0, failed: int = 0) -> None:
    with open_writer(path) as writer:
        write(writer, [Seen(i, float(i), 0.0, f"{STREET} There is a bench.") for i in range(described)])
        for i in range(described, described + pending + failed):
            frame = writer.add_keyframe(Capture(i * SECOND, Pose.planar("map", float(i), 0.0)))
            if i >= described + pending:
                writer.mark_perception_failed(frame.keyframe_id, "broken")


def ask(path: Path, text: str, **how: int) -> Answer:
    with MemoryReader.open(path) as reader:
        return MemoryQuery(reader, None).ask(Question(text, **how))


def test_what_was_not_seen_is_less_sure_where_a_part_was_never_described(tmp_path: Path) -> None:
    whole = remember(tmp_path / "whole.db", [Seen(i, float(i), 0.0, f"{STREET} There is a bench.") for i in range(8)])
    drive(tmp_path / "gaps.db", described=4, pending=3, failed=1)
    sure, unsure = (ask(path, "Where is the elephant?") for path in (whole, tmp_path / "gaps.db"))
    assert (sure.status, sure.text) == (AnswerStatus.NOT_FOUND, "I have not seen elephant.")
    assert unsure.status is AnswerStatus.NOT_FOUND
    told = "I have not seen elephant. But 4 of 8 frames recorded then are not wholly described, and may show it."
    assert unsure.text == unsure.message == told
    assert unsure.confidence <= sure.confidence / 2
    assert ask(tmp_path / "gaps.db", "Is there an elephant?").text.startswith("No, I have not seen elephant. But 4 of")
    assert ask(tmp_path / "gaps.db", "How many elephants are there?").text.startswith("0. I have not seen")


def test_what_was_seen_and_what_is_asked_of_other_times_has_no_gaps(tmp_path: Path) -> None:
    path = tmp_path / "gaps.db"
    drive(path, described=4, pending=4)
    assert "not described" not in ask(path, "Where is the bench?").text
    assert ask(path, "Where is the elephant?", as_of_ns=3 * SECOND).text == "I have not seen elephant."


@pytest.mark.parametrize(("pending", "told"), [(1, False), (400, True)])
def test_a_few_that_wait_for_the_model_are_not_worth_a_word(tmp_path: Path, pending: int, told: bool) -> None:
    path = tmp_path / "long.db"
    drive(path, described=400, pending=pending)
    assert ("about 400 of 800 frames" in ask(path, "Where is the elephant?").text) is told


def test_a_memory_without_any_description_says_so(tmp_path: Path) -> None:
    drive(tmp_path / "none.db", described=0, pending=2)
    answer = ask(tmp_path / "none.db", "Where is the elephant?")
    assert answer.text.endswith("Nothing that was recorded then is described yet.")
    assert answer.confidence == 0.0


def test_what_is_kept_in_summary_only_cannot_be_denied_for_sure(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with open_writer(path) as writer:
        write(writer, [Seen(i, float(i), 0.0, f"{STREET} There is a bench.", labels=("bench",)) for i in range(40)])
        sure = ask(path, "Did you see an elephant?")
        assert writer.summarise(keep=10) == 30
    answer = ask(path, "Did you see an elephant?")
    assert answer.value is False
    assert answer.text.startswith("No, I have not seen elephant. Of what was seen up to ")
    assert answer.text.endswith(" only a summary is kept.")
    assert answer.confidence == pytest.approx(sure.confidence / 4, abs=0.02)
    past = ask(path, "Did you see an elephant?", as_of_ns=20 * SECOND)
    assert past.confidence == 0.0
    assert "only a summary" not in past.message
