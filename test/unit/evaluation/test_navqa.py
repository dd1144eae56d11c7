import csv
import json
from pathlib import Path

import pytest

from vlkng_ros.cli import main
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.evaluation.navqa import read_navqa

START = 1_673_884_800  # 2023-01-16 08:00:00 in Los Angeles
HEADER = ["UUID", "Seq ID", "Question", "Timestamp \nwith answer", "Type \n(binary, position)", "Text answer",
          "Parsable answer", "Question\nCategory"]  # fmt: skip
QUESTIONS = [
    ("p", "Where is the red sofa?", "8:00:20", "position", "", "[position]"),
    ("t", "When did you see the red sofa?", "8:00:20", "time", "", "[minutes] ago"),
    ("b", "Did you see a red sofa?", "8:00:20", "binary", "", "yes"),
    ("n", "Did you see an elephant?", "8:00:20", "binary", "", "No"),
    ("d", "How long were you in the building?", "8:00:00,8:01:00", "duration", "", "1.5"),
    ("x", "What color is the sofa?", "8:00:20", "text", "It is red", ""),
]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """One sequence of a benchmark in NaVQA's layout: a drive of 20 frames, 4 s apart, 5 m on each."""
    raw, captions = tmp_path / "raw", tmp_path / "captions"
    (raw / "7").mkdir(parents=True)
    (captions / "7").mkdir(parents=True)
    with (raw / "data.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(HEADER)
        for uuid, question, at, kind, text, answer in QUESTIONS:
            writer.writerow([f"7_LONG_{uuid}", "7", question, at, kind, text, answer, "spatial"])
    windows = [
        {"id": f"LONG_{uuid}", "length_category": "LONG", "start_time": float(START), "end_time": float(START + 60)}
        for uuid, *_ in QUESTIONS
    ]
    (raw / "7" / "qa_unfilled.json").write_text(json.dumps({"version": 1, "data": windows}))
    frames = [
        {"time": START + 4.0 * i, "position": [5.0 * i, 0.0, 0.0], "labels": ["sofa"] if i == 5 else [],
         "caption": "A red sofa is in the hall." if i == 5 else "The image shows a wall."}
        for i in range(20)
    ]  # fmt: skip
    (captions / "7" / "captions.json").write_text(json.dumps(frames))
    return tmp_path


def test_the_published_layout_is_read(published: Path) -> None:
    (drive,) = read_navqa(published / "raw", published / "captions")
    by_id = {asked.question_id[-1]: asked for asked in drive.questions}
    assert by_id["p"].truth == (25.0, 0.0, 0.0)  # the last caption before 8:00:20 is that of 8:00:20 itself
    assert by_id["t"].truth == pytest.approx(40 / 60)
    assert (by_id["b"].truth, by_id["n"].truth, by_id["d"].truth) == (True, False, 1.5)
    assert by_id["x"].truth == "It is red"
    assert (by_id["p"].since_ns, by_id["p"].as_of_ns) == (START * 10**9, (START + 60) * 10**9)
    assert by_id["p"].position_m == (75.0, 0.0, 0.0)  # where the robot is at the end of the window


def test_what_is_not_the_layout_is_named(published: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"data\.csv"):
        read_navqa(tmp_path / "nowhere", published / "captions")
    with pytest.raises(InvalidInputError, match="holds no captions"):
        read_navqa(published / "raw", tmp_path)
    (published / "raw" / "data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match="it lacks"):
        read_navqa(published / "raw", published / "captions")


def test_the_command_prints_one_table_and_writes_the_report(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = published / "out"
    command = ["eval", "navqa", str(published / "raw"), "--captions", str(published / "captions"), "--out", str(out),
               "--text-encoder", "none", "--preset", "hybrid", "--preset", "egograph"]  # fmt: skip
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "| figure | hybrid | egograph |" in printed
    assert "| position_within_15m | 1 | 1 |" in printed
    assert "multiple_choice" not in printed
    numbers = json.loads((out / "figures.json").read_text())["hybrid"]["figures"]
    assert (numbers["questions"], numbers["text_n"]) == (6, 1)
    assert numbers["yes_no_accuracy"] == 1.0
    report = (out / "report.md").read_text()
    assert "## Reliability" in report
    # Run again, memory and answers are taken as they are.
    kept = [out / "memories" / "7.db", out / "answers" / "egograph.jsonl"]
    before = [path.read_bytes() for path in kept]
    assert main(command) == 0
    assert capsys.readouterr().out == printed
    assert [path.read_bytes() for path in kept] == before
