import json
from pathlib import Path

import pytest
from captioned_drives import SECOND, Seen, WordEncoder, remember, round_trip

from vlkng_ros.answering.wording import span
from vlkng_ros.cli import main


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return remember(tmp_path_factory.mktemp("drive") / "memory.db", round_trip(), WordEncoder())


def vlkng(memory: Path, *args: str) -> int:
    return main(["ask", "--memory", str(memory), "--text-encoder", "none", *args])


def test_a_person_reads_answer_place_and_frames(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vlkng(memory, "Where is the red sofa?") == 0
    out = capsys.readouterr().out
    assert out.startswith("At x=12.0 y=38.0 m in 'map', 68 seconds before the newest keyframe. I saw: A red sofa")
    assert "confidence" in out
    assert "goal: x=12.00 y=38.00" in out
    assert "of map 'house'" in out
    assert "sofa [10, 20, 110, 220]" in out


def test_json_holds_everything(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vlkng(memory, "--json", "When did you last see the sofa?") == 0
    reply = json.loads(capsys.readouterr().out)
    assert (reply["status"], reply["kind"], reply["value"]) == ("ok", "time", {"stamp_ns": 50 * SECOND})
    assert reply["frames"][0]["keyframe_id"] == 26
    assert reply["goal"]["map_id"] == "house"
    assert reply["timings_ms"]["total"] == reply["latency_ms"]


@pytest.mark.parametrize(
    "then", ["30.0", "30000000000", "1970-01-01T00:00:30", "1970-01-01T00:00:30Z", "1970-01-01T01:00:30+01:00"]
)
def test_times_are_seconds_nanoseconds_or_iso(memory: Path, capsys: pytest.CaptureFixture[str], then: str) -> None:
    assert vlkng(memory, "--as-of", then, "--json", "Where are you now?") == 0
    assert json.loads(capsys.readouterr().out)["frames"][0]["stamp_ns"] == 30 * SECOND


def test_the_askers_position_decides_what_is_nearest(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vlkng(memory, "--position", "0", "0", "0", "--json", "Where is the nearest fire hydrant?") == 0
    assert json.loads(capsys.readouterr().out)["frames"][0]["keyframe_id"] == 11


def test_a_batch_is_answered_in_order(memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = tmp_path / "questions.jsonl"
    lines = [
        {"id": "b", "question": "Where is the nearest fire hydrant?", "since_ns": 0, "as_of_ns": 118 * SECOND,
         "position": [0, 0, 0]},
        {"id": 7, "question": "Did you see an elephant?", "since_ns": None},
        {"id": "c", "question": "When did you enter the building?", "as_of_ns": 118 * SECOND},
        {"id": "d", "question": "Where is the elephant?"},
    ]  # fmt: skip
    batch.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    assert vlkng(memory, "--batch", str(batch)) == 0
    replies = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [reply["id"] for reply in replies] == ["b", 7, "c", "d"]
    assert [reply["status"] for reply in replies] == ["ok", "ok", "ok", "not_found"]
    assert replies[0]["value"] == {"position": replies[0]["frames"][0]["position"]}
    assert replies[1]["value"] == {"yes": False}
    assert list(replies[2]["value"]) == ["stamp_ns"]
    assert replies[3]["value"] is None
    assert set(replies[0]) == {"id", "status", "answer", "kind", "value", "confidence", "frames", "latency_ms"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "is not JSON"),
        ("[1]", "needs an object"),
        ('{"id": "a"}', "'question' is missing"),
        ('{"id": "a", "question": "?"}', "the question holds no words"),
        ('{"id": "a", "question": "\U0001f431"}', "the question holds no words"),
        ('{"id": "a", "question": ""}', "the question is empty"),
        ('{"question": "Where?"}', "'id' is missing"),
        ('{"id": "a", "question": "Where?", "as_of_ns": 1.5}', "'as_of_ns' needs integer nanoseconds"),
        ('{"id": "a", "question": "Where?", "position": [1, 2]}', "'position' needs three finite numbers"),
        ('{"id": "a", "question": "Where?", "position": [1, 2, NaN]}', "'position' needs three finite numbers"),
        ('{"id": "a", "question": "Where?", "since_ns": 2, "as_of_ns": 1}', "window is empty"),
        ('{"id": "a", "question": "Where?", "as_of_ns": 16738841856891070000000000}', "no time that a memory can hold"),
        ('{"id": "a", "question": "Where?", "since_ns": -1}', "'since_ns' -1 is no time that a memory can hold"),
        ('{"id": "a", "question": "Where?", "as_of_ns": 1' + "0" * 5000 + "}", "is not JSON"),
        ('{"id": "a", "question": "Where?", "position": [0, 0, 1' + "0" * 400 + "]}", "three finite numbers"),
    ],
)
def test_a_bad_line_is_named_and_all_others_are_answered(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, reason: str
) -> None:
    batch = tmp_path / "questions.jsonl"
    fine = '{"id": "fine", "question": "Where is the sofa?"}\n'
    batch.write_text(f"{fine}\n{line}\n{fine}")
    assert vlkng(memory, "--batch", str(batch)) == 1
    printed = capsys.readouterr()
    replies = [json.loads(reply) for reply in printed.out.splitlines()]
    assert [reply["status"] for reply in replies] == ["ok", "invalid", "ok"]
    assert set(replies[1]) == {*replies[0], "error"}
    assert replies[1]["id"] == ("a" if line.startswith('{"id": "a"') and "0" * 5000 not in line else None)
    assert reason in replies[1]["error"]
    assert "1 of 3 lines" in printed.err


def test_a_line_of_broken_bytes_is_named_and_all_others_are_answered(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = tmp_path / "questions.jsonl"
    fine = b'{"id": "fine", "question": "Where is the sofa?"}\n'
    batch.write_bytes(fine + b'{"id": "a", "question": "Where is the caf\xff?"}\n' + fine)
    assert vlkng(memory, "--batch", str(batch)) == 1
    replies = [json.loads(reply) for reply in capsys.readouterr().out.splitlines()]
    assert [reply["status"] for reply in replies] == ["ok", "invalid", "ok"]


def test_a_misspelt_field_is_refused_and_a_field_of_the_callers_own_is_said_not_to_be_read(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = tmp_path / "questions.jsonl"
    question = {"id": 1, "question": "Where is the red sofa?"}
    lines = (
        {**question, "as_of": 5 * SECOND},
        {**question, "truth": 7},
        {**question, "as_of_ns": None, "as_off_ns": 1},
    )
    batch.write_text("\n".join(json.dumps(line) for line in lines))
    assert vlkng(memory, "--batch", str(batch)) == 1
    out, err = capsys.readouterr()
    replies = [json.loads(line) for line in out.splitlines()]
    assert [reply["status"] for reply in replies] == ["invalid", "ok", "ok"]
    assert replies[0]["error"] == f"{batch}, line 1: 'as_of' is no field of a question; did you mean 'as_of_ns'?"
    assert f"vlkng: {batch}: not read: 'as_off_ns', 'truth'\n" in err


def test_a_line_that_cannot_be_asked_has_an_error_and_the_rest_goes_on(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = tmp_path / "questions.jsonl"
    questions = ["Where is the sofa?", "Where is the " + "x" * 12_000, "Where is the bench\u2028?"]
    lines = [json.dumps({"id": i, "question": q}, ensure_ascii=False) for i, q in enumerate(questions)]
    batch.write_text("\n".join(lines), encoding="utf-8-sig")
    assert vlkng(memory, "--batch", str(batch)) == 1
    printed = capsys.readouterr()
    before, refused, after = [json.loads(line) for line in printed.out.split("\n") if line]
    assert (before["status"], after["status"]) == ("ok", "ok")
    assert set(refused) == {*before, "error"}
    assert (refused["id"], refused["status"], refused["value"], refused["frames"]) == (1, "invalid", None, [])
    assert "characters, and at most" in refused["error"]
    assert "1 of 3 lines" in printed.err


def test_what_a_caption_says_neither_steers_the_terminal_nor_fills_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    caption = "A green kettle \x1b[2J\x9b31m stands" + " here" * 10_000
    frames = [
        Seen(1.0, 0.0, 0.0, caption, ("kettle \x1b]0;mine\x07",)),
        Seen(9.0, 9.0, 9.0, "On a lawn" + ", wet" * 9000),
    ]
    spoilt = remember(tmp_path / "memory.db", frames)
    for question in ("Where is the kettle?", "Describe the lawn."):
        assert vlkng(spoilt, question) == 0
        out = capsys.readouterr().out
        assert out.splitlines()[0].endswith("...")
        assert len(out) < 2000
        assert "kettle" not in question or "A green kettle \\x1b[2J\\x9b31m stands here" in out
        assert not set(out) & set("\x1b\x9b\x07")
        assert vlkng(spoilt, "--json", question) == 0
        out = capsys.readouterr().out
        assert len(json.loads(out)["answer"]) < 600
        assert len(str(json.loads(out)["value"])) < 600
        assert not set(out) & set("\x1b\x9b\x07")
    assert main(["inspect", "--memory", str(spoilt)]) == 0
    assert "kettle \\x1b]0;mine\\x07 1" in capsys.readouterr().out
    assert main(["forget", "--memory", str(spoilt), "--label", "kettle \x1b]0;mine\x07", "--yes"]) == 0
    assert "forgot 'kettle \\x1b]0;mine\\x07'" in capsys.readouterr().out


@pytest.mark.parametrize(("seconds", "words"), [(0.6, "1 second"), (1.4, "1 second"), (2.0, "2 seconds")])
def test_one_second_is_not_plural(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_bad_input_is_refused_in_words(memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a memory")
    for args, words in (
        ([str(tmp_path / "none.db"), "Where?"], "none.db"),
        ([str(other), "Where?"], "notes.txt"),
        ([str(memory), ""], "empty"),
        ([str(memory), "???"], "holds no words"),
        ([str(memory)], "--batch"),
        ([str(memory), "--batch", str(tmp_path / "gone.jsonl")], "gone.jsonl"),
        ([str(memory), "--since", "9.0", "--as-of", "8.0", "Where is it?"], "window is empty"),
    ):
        assert main(["ask", "--text-encoder", "none", "--memory", *args]) == 2
        assert words in capsys.readouterr().err
    assert other.read_text() == "not a memory"


@pytest.mark.parametrize(
    "args",
    [
        ["--as-of", "noon"],
        ["--as-of", "9000-01-01"],
        ["--since", "1" * 26],
        ["--position", "1", "2", "nan"],
        ["--max-keyframes", "0"],
    ],
)
def test_bad_options_are_refused(memory: Path, args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        vlkng(memory, *args, "Where is the sofa?")
    assert ended.value.code == 2
    assert args[0] in capsys.readouterr().err
