"""``vlkng perceive`` and ``vlkng models``, with backends that need no weights."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from vlkng_ros.cli import main
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.types import Capture, Pose


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.png"
    assert cv2.imwrite(str(path), np.full((24, 32, 3), 90, np.uint8))
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Says of the first frame that it shows a cat."""
    path = tmp_path / "recording.jsonl"
    cat = {"label": "cat", "box_px": [1, 2, 20, 22], "score": 0.75}
    path.write_text(json.dumps({"version": 1, "keyframe_id": 1, "caption": "A cat.", "detections": [cat]}) + "\n")
    return path


def recorded(recording: Path) -> list[str]:
    return ["--backend", "recorded", "--set", f"perception.recording={recording}"]


def pending_memory(path: Path, picture: Path, count: int) -> Path:
    ok, jpeg = cv2.imencode(".jpg", cv2.imread(str(picture)))
    assert ok
    with MemoryWriter.open(path, encoder=None) as writer:
        writer.start_session(robot="alice", map_id="office", frame_id="map")
        for i in range(count):
            writer.add_keyframe(Capture(i, Pose.planar("map", float(i), 0.0)), bytes(jpeg))
    return path


def test_an_image_is_described(picture: Path, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perceive", str(picture), *recorded(recording)]) == 0
    shown = capsys.readouterr().out
    assert "A cat." in shown
    assert "0.75" in shown
    assert main(["perceive", str(picture), "--json", *recorded(recording)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["image"], said["width"], said["height"]) == (str(picture), 32, 24)
    assert [one["label"] for one in said["detections"]] == ["cat"]


def test_an_image_is_searched_for_a_phrase(picture: Path, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for phrase, found in (("a black cat", ["cat"]), ("dog", [])):
        assert main(["perceive", str(picture), "--json", "--phrase", phrase, *recorded(recording)]) == 0
        assert [one["label"] for one in json.loads(capsys.readouterr().out)["detections"]] == found
    assert main(["perceive", str(picture), "--phrase", "dog", *recorded(recording)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["  A cat.", "  'dog' was not found"]


def test_an_image_that_cannot_be_described_is_said_and_counts(
    picture: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["perceive", str(picture), str(picture), "--json", *recorded(recording)]) == 1
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["caption"] == "A cat."
    assert "no line for the frame" in second["error"]


def test_a_file_that_is_no_image_costs_the_others_nothing(
    tmp_path: Path, picture: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no picture")
    names = [str(tmp_path / "missing.png"), str(picture), str(text)]
    # Images count as keyframes by their place among the names.
    recording.write_text(recording.read_text().replace('"keyframe_id": 1', '"keyframe_id": 2'))
    assert main(["perceive", *names, "--json", *recorded(recording)]) == 1
    shown = capsys.readouterr()
    missing, good, bad = map(json.loads, shown.out.splitlines())
    assert missing == {"image": names[0], "error": f"{names[0]}: cannot be read: No such file or directory"}
    assert (good["image"], good["caption"]) == (names[1], "A cat.")
    assert bad["error"] == f"{names[2]}: is no image that can be read (JPEG, PNG, WebP, BMP, TIFF)"
    assert shown.err.splitlines() == [
        "2 of 3 images could not be described:", f"  {missing['error']}", f"  {bad['error']}",
    ]  # fmt: skip


def test_a_memorys_pending_keyframes_are_described(
    tmp_path: Path, picture: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = pending_memory(tmp_path / "memory.db", picture, 1)
    arguments = ["perceive", "--memory", str(db), *recorded(recording), "--set", "association.text_encoder=none"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{db}: 1 keyframe described\n"
    with MemoryReader.open(db) as reader:
        assert reader.keyframe(1).caption == "A cat."
        assert [entity.label for entity in reader.entities("hybrid")] == ["cat"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{db}: no keyframe waits to be described\n"


def test_a_keyframe_that_cannot_be_described_is_said_and_counts(
    tmp_path: Path, picture: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = pending_memory(tmp_path / "memory.db", picture, 2)
    assert main(["perceive", "--memory", str(db), *recorded(recording), "--set", "association.text_encoder=none"]) == 1
    shown = capsys.readouterr()
    assert shown.out == f"{db}: 1 keyframe described\n"
    assert "1 could not be described, 0 still wait: keyframe 2: " in shown.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name image files, or a memory with --memory"),
        (["a.png", "--memory", "m.db"], "name image files, or a memory with --memory"),
        (["--phrase", "cat", "--memory", "m.db"], "--phrase looks through image files"),
        (["nowhere.png", "--backend", "none"], "nowhere.png: cannot be read"),
        (["m.db", "--backend", "none"], "m.db looks like a memory, which is named as --memory FILE"),
        ([".", "--backend", "none"], "is a folder; name the pictures in it, such as"),
        (["--memory", "nowhere.db", "--backend", "none"], "nowhere.db"),
        (["a.png", "--backend", "magic"], "perception.backend"),
    ],
)
def test_what_cannot_be_described_is_refused(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["perceive", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_picture_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    assert main(["perceive", str(path), "--backend", "none"]) == 2
    assert capsys.readouterr().err.startswith(f"vlkng: {path}: is no image")


def test_models_that_are_missing_are_named_with_what_brings_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "florence"
    arguments = ["models", "--backend", "florence2", "--set", "association.text_encoder=none"]
    assert main([*arguments, "--model", "someone/some-florence"]) == 1
    shown = capsys.readouterr().out
    assert "perception: someone/some-florence" in shown
    assert "not on this machine; bring it with: vlkng models --fetch someone/some-florence" in shown
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    assert main([*arguments, "--model", str(folder), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["where"], said["bytes"], said["missing"]) == (str(folder), 2, False)


def test_a_model_that_is_named_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fetched: list[str] = []
    monkeypatch.setattr("vlkng_ros.perception.models.fetch", fetched.append)
    monkeypatch.setattr("vlkng_ros.perception.models.find_weights", lambda model, role: tmp_path)
    assert main(["models", "--fetch", "some/model"]) == 0
    assert fetched == ["some/model"]
    assert capsys.readouterr().out.splitlines()[0] == "fetched: some/model (licence: not stated)"


def test_a_configuration_without_models_needs_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--backend", "none", "--set", "association.text_encoder=none"]) == 0
    assert capsys.readouterr().out == "this configuration needs no model\n"
