"""``vlkng import captions``: what a caption file becomes, and that a wrong one changes nothing."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vlkng_ros
from vlkng_ros.cli import main
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.types import Capture, PerceptionState, Pose

ROOT = Path(vlkng_ros.__file__).parent.parent
START_S = 1673884185.689107


def drive(count: int = 6) -> list[dict[str, Any]]:
    """A robot that drives along x, two seconds and one metre a frame, past a cat that is seen twice."""
    return [
        {
            "id": f"{i}.pkl",
            "file_start": f"{i}.pkl",
            "file_end": f"{i}.pkl",
            "time": START_S + 2.0 * i,
            "position": [1.0 * i, 0.5, 0.0],
            "caption": f"The image shows corridor number {i}. There is a door.",
            "labels": ["cat", "door"] if i in (1, 2) else ["door"],
            "dlabels": ["tabby cat on a sofa", "exit sign"] if i == 2 else [],
        }
        for i in range(count)
    ]


def write(folder: Path, content: object, name: str = "captions.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def run(*arguments: object) -> int:
    return main([*map(str, arguments), "--text-encoder", "none"])


def fingerprint(folder: Path) -> dict[str, str]:
    """Content of every file beside the memory that holds something, the lock and SQLite's shared memory apart."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith((".lock", "-shm")) and path.stat().st_size
    }


def test_a_caption_file_becomes_keyframes_with_what_was_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "memory.db"
    source = write(tmp_path, drive())
    assert run("import", "captions", source, "--memory", db, "--map-id", "campus", "--frame-id", "site") == 0
    assert capsys.readouterr().out == f"{db}: 6 keyframes and 9 detections from {source}\n"
    with MemoryReader.open(db) as reader:
        frames = reader.keyframes(reader.frames().ids.tolist())
        assert [frame.stamp_ns for frame in frames] == [round((START_S + 2.0 * i) * 1e9) for i in range(6)]
        assert [frame.base_pose.position_m for frame in frames] == [(1.0 * i, 0.5, 0.0) for i in range(6)]
        assert {(frame.map_id, frame.base_pose.frame_id, frame.has_image) for frame in frames} == {
            ("campus", "site", False)
        }
        assert frames[3].caption == "The image shows corridor number 3. There is a door."
        assert all(frame.perception is PerceptionState.DONE for frame in frames)
        seen = [observation.detection for observation in reader.observations(frames[2].keyframe_id)]
        assert [(d.label, d.region_text, d.box_px) for d in seen] == [
            ("cat", "tabby cat on a sofa", None),
            ("door", "", None),
            ("exit sign", "exit sign", None),
        ]
        cats = [entity for entity in reader.entities("hybrid") if entity.label == "cat"]
        assert [(cat.observation_count, cat.first_keyframe_id, cat.last_keyframe_id) for cat in cats] == [(2, 2, 3)]
        roles = {mention.role for mention in reader.mentions()}
        assert roles == {"caption", "label", "region"}


def test_a_caption_at_as_of_is_inside_and_the_next_is_not(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    assert run("import", "captions", write(tmp_path, drive()), "--memory", db) == 0
    as_of_ns = drive()[1]["time"] * 1e9
    with MemoryReader.open(db) as reader:
        stamps = reader.frames().stamps_ns.tolist()
    assert [stamp_ns <= as_of_ns for stamp_ns in stamps] == [True, True, False, False, False, False]


def test_a_file_is_not_imported_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "memory.db"
    source = write(tmp_path, drive())
    run("import", "captions", source, "--memory", db)
    before = fingerprint(tmp_path)
    capsys.readouterr()
    assert run("import", "captions", source, "--memory", db) == 0
    assert capsys.readouterr().out == f"{db}: all 6 frames of {source} are in the memory already; nothing to do\n"
    run("import", "captions", source, "--memory", db, "--map-id", "office")
    assert "are in the memory already (in map 'unnamed-1'); nothing to do" in capsys.readouterr().out
    assert fingerprint(tmp_path) == before


def test_a_file_that_grew_is_imported_from_where_it_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grown, whole = tmp_path / "grown.db", tmp_path / "whole.db"
    run("import", "captions", write(tmp_path, drive(4)), "--memory", grown)
    assert run("import", "captions", write(tmp_path, drive(6)), "--memory", grown) == 0
    assert "4 of its 6 frames were in the memory already and are not repeated" in capsys.readouterr().out
    run("import", "captions", write(tmp_path, drive(6)), "--memory", whole)
    with MemoryReader.open(grown) as one, MemoryReader.open(whole) as other:
        assert one.frames().stamps_ns.tolist() == other.frames().stamps_ns.tolist()
        assert [frame.base_pose for frame in one.keyframes(one.frames().ids.tolist())] == [
            frame.base_pose for frame in other.keyframes(other.frames().ids.tolist())
        ]
        assert {frame.map_id for frame in one.keyframes(one.frames().ids.tolist())} == {"unnamed-1"}
        assert list(one.entities("hybrid")) != []
        assert [e.observation_count for e in one.entities("hybrid")] == [
            e.observation_count for e in other.entities("hybrid")
        ]


def test_an_interrupted_import_is_completed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "memory.db"
    with MemoryWriter.open(db, encoder=None) as writer:
        writer.start_session(robot="robot", map_id="", frame_id="map")
        writer.add_keyframe(Capture(round(START_S * 1e9), Pose("map", (0.0, 0.5, 0.0))))
    assert run("import", "captions", write(tmp_path, drive()), "--memory", db) == 0
    assert "1 of them complete an interrupted import" in capsys.readouterr().out
    with MemoryReader.open(db) as reader:
        assert reader.stats().keyframes == 6
        assert reader.stats().pending == 0


def test_two_cameras_may_see_at_the_same_time(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    source = write(tmp_path, drive())
    run("import", "captions", source, "--memory", db, "--camera", "left")
    assert run("import", "captions", source, "--memory", db, "--camera", "right") == 0
    with MemoryReader.open(db) as reader:
        assert reader.stats().keyframes == 12


WRONG = {
    "no time": [{key: value for key, value in drive()[0].items() if key != "time"}],
    "a position of two": [{**drive()[0], "position": [1.0, 2.0]}],
    "a label that is a number": [*drive(), {**drive()[0], "time": 5.0, "labels": [5]}],
    "NaN": '[{"time": NaN, "position": [0, 0, 0], "caption": "a"}]',
    "no list": {"frames": drive()},
    "no JSON": "PK\x03\x04",
    "nothing": "[]",
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_file_changes_nothing(tmp_path: Path, content: object, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "memory.db"
    run("import", "captions", write(tmp_path, drive()), "--memory", db)
    wrong = write(tmp_path, content, "wrong.json")
    before = fingerprint(tmp_path)
    capsys.readouterr()
    assert run("import", "captions", wrong, "--memory", db) == 2
    assert fingerprint(tmp_path) == before
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"vlkng: {wrong}: ")
    assert shown.err.count("\n") == 1
    assert run("import", "captions", wrong, "--memory", tmp_path / "new" / "other.db") == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\x00" + b"\x00" * 4000, b""])
def test_a_memory_that_is_not_ours_is_left_alone(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "memory.db"
    db.write_bytes(content)
    assert run("import", "captions", write(tmp_path, drive()), "--memory", db) == 2
    assert db.read_bytes() == content
    assert capsys.readouterr().err.startswith(f"vlkng: {db}: ")


def test_a_memory_that_is_being_written_is_left_to_its_writer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "memory.db"
    with MemoryWriter.open(db, encoder=None):
        assert run("import", "captions", write(tmp_path, drive()), "--memory", db) == 2
    assert "is writing to this memory; stop it first" in capsys.readouterr().err
    with MemoryReader.open(db) as reader:
        assert reader.stats().keyframes == 0


def test_the_command_itself_exits_with_2_and_one_line(tmp_path: Path) -> None:
    wrong = write(tmp_path, WRONG["a position of two"])
    done = subprocess.run(
        [sys.executable, "-m", "vlkng_ros.cli", "import", "captions", str(wrong), "--memory", str(tmp_path / "m.db")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"vlkng: {wrong}: entry 0: field 'position': needs [x, y, z] in metres, holds a list of 2\n"
    assert not (tmp_path / "m.db").exists()
