"""NaVQA (NVIDIA ReMEmbR) in its published layout: ``data.csv`` and ``SEQ/qa_unfilled.json``, beside caption files.

Times of day in ``data.csv`` are America/Los_Angeles. A position's truth is the robot's position at the last caption
before the annotated time; what lies outside a question's window does not exist for it.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from vlkng_ros.bags.caption_file import CaptionedFrame, read_captions
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.evaluation.benchmark import Asked, RecordedFrame, Recording
from vlkng_ros.types import NS_PER_S, AnswerKind, Vec3

ZONE = "America/Los_Angeles"


def read_navqa(folder: Path, captions: Path) -> list[Recording]:
    """Every sequence of a NaVQA folder for which there are captions.

    Args:
        folder: with ``data.csv`` and a folder a sequence.
        captions: with a folder a sequence that holds one caption file.

    Raises:
        InvalidInputError: the folder is not in that layout, or no sequence has captions.
    """
    rows = _rows(folder / "data.csv")
    found: list[Recording] = []
    for name in sorted({row["sequence"] for row in rows}):
        files = sorted((captions / name).glob("*.json"))
        if not files:
            continue
        frames = read_captions(files[0])
        windows = _windows(folder / name / "qa_unfilled.json")
        asked = tuple(_questions([row for row in rows if row["sequence"] == name], windows, frames))
        recorded = [RecordedFrame(f.stamp_ns, f.pose, f.perception) for f in frames]
        found.append(Recording(name, recorded, asked))
    if not found:
        raise InvalidInputError(f"{captions}: holds no captions of any sequence in {folder / 'data.csv'}")
    return found


_COLUMNS = {"uuid": "id", "seq id": "sequence", "question": "question", "timestamp with answer": "time",
            "text answer": "text", "parsable answer": "answer"}  # fmt: skip


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as opened:
            table = list(csv.DictReader(opened))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"{path}: cannot be read: {error}") from error
    rows = []
    for raw in table:
        row = {"type": ""}
        for column, value in raw.items():
            name = " ".join(str(column).lower().split())
            row["type" if name.startswith("type") else _COLUMNS.get(name, name)] = " ".join(str(value or "").split())
        rows.append(row)
    missing = {"id", "sequence", "question", "time", "answer"} - (rows[0].keys() if rows else set())
    if missing:
        raise InvalidInputError(f"{path}: is not NaVQA's table; it lacks {', '.join(sorted(missing))}")
    return rows


def _windows(path: Path) -> dict[str, tuple[str, int, int]]:
    """By question id: length, first and last ns of what may be seen."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["data"]
        return {
            entry["id"]: (
                entry["length_category"],
                round(entry["start_time"] * NS_PER_S),
                round(entry["end_time"] * NS_PER_S),
            )
            for entry in entries
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"{path}: is not NaVQA's list of windows: {error!r}") from error


def _questions(
    rows: Sequence[Mapping[str, str]], windows: Mapping[str, tuple[str, int, int]], frames: Sequence[CaptionedFrame]
) -> Iterator[Asked]:
    stamps = np.array([frame.stamp_ns for frame in frames], dtype=np.int64)
    for row in rows:
        window = windows.get(row["id"]) or next((w for i, w in windows.items() if row["id"].endswith(i)), None)
        if window is None:
            continue
        length, since_ns, as_of_ns = window
        kind = AnswerKind(row["type"].strip().lower() or "text")
        here = frames[max(0, int(np.searchsorted(stamps, as_of_ns, side="right")) - 1)].pose.position_m
        truth = _truth(kind, row, as_of_ns, stamps, frames)
        yield Asked(
            row["id"], row["sequence"], row["question"], kind, since_ns, as_of_ns, truth, length=length, position_m=here
        )


def _truth(
    kind: AnswerKind,
    row: Mapping[str, str],
    as_of_ns: int,
    stamps: np.ndarray[tuple[int], np.dtype[np.int64]],
    frames: Sequence[CaptionedFrame],
) -> Vec3 | float | bool | str:
    if kind is AnswerKind.BINARY:
        return row["answer"].strip().lower().startswith("yes")
    if kind is AnswerKind.TEXT:
        return row.get("text") or row["answer"]
    if kind is AnswerKind.DURATION:
        number = re.search(r"\d+(?:\.\d+)?", row["answer"])
        return float(number[0]) if number else 0.0
    at_ns = _clock_ns(row["time"], as_of_ns)
    if kind is AnswerKind.TIME:
        return (as_of_ns - at_ns) / (60 * NS_PER_S)
    return frames[max(0, int(np.searchsorted(stamps, at_ns, side="right")) - 1)].pose.position_m


def _clock_ns(text: str, as_of_ns: int) -> int:
    """A time of day on the day of ``as_of_ns``."""
    found = re.search(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", text)
    if found is None:
        raise InvalidInputError(f"'{text}' is no time of day")
    day = dt.datetime.fromtimestamp(as_of_ns / NS_PER_S, ZoneInfo(ZONE))
    hour, minute, second = (int(part or 0) for part in found.groups())
    return round(day.replace(hour=hour % 24, minute=minute, second=second, microsecond=0).timestamp() * NS_PER_S)
