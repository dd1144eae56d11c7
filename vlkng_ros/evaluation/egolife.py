"""EgoLifeQA (Yang et al., CVPR 2025) in its published layout: questions with four choices over a week of captions.

``EgoLifeQA/EgoLifeQA_WHO.json`` is a list of ``ID``, ``query_time`` and ``target_time`` (``{"date": "DAY1", "time":
"11210217"}``: hours, minutes, seconds, frames at 20 a second; a ``time_list`` or several times in one text as well),
``type``, ``question``, ``choice_a`` to ``choice_d`` and ``answer``, a letter. Captions and transcripts are subtitle
files ``EgoLifeCap/DenseCaption/WHO/DAYd/WHO_DAYd_HHMMSSFF.srt`` and ``EgoLifeCap/Transcript/...``, with times from the
one in the file's name. A caption is a keyframe, and what is said until the next one belongs to it: EgoGraph's text
chunks, anchored at their earliest time. Day 1 begins at 0 s. No positions are published: all frames stand at 0, 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.evaluation.benchmark import NOWHERE, Asked, RecordedFrame, Recording, field, list_of_objects
from vlkng_ros.types import NS_PER_S, AnswerKind, Perception

FRAMES_A_SECOND = 20
NEAR_NS = 60 * NS_PER_S
"""A frame within a minute of the target time shows it: half of the two-minute clips that EgoGraph cuts."""
LETTERS = "abcd"
SILENCE_NS = 30 * NS_PER_S
"""Speech this long after a caption is a keyframe of its own."""
_CUE = re.compile(r"(\d+):(\d\d):(\d\d)[,.](\d{1,3})\s*-->")
_NAME = re.compile(r"DAY(\d+)_(\d{8})$")
_TIMES = re.compile(r"DAY(\d+)|(\d{7,8})")


def read_egolife(folder: Path) -> list[Recording]:
    """Every person with questions and subtitles.

    Raises:
        InvalidInputError: the folder is not in that layout.
    """
    found = []
    for path in sorted((folder / "EgoLifeQA").glob("EgoLifeQA_*.json")):
        who = path.stem.removeprefix("EgoLifeQA_")
        frames = list(_frames(folder / "EgoLifeCap", who))
        if frames:
            questions = (_asked(path, who, i, entry) for i, entry in enumerate(list_of_objects(path)))
            found.append(Recording(who, frames, tuple(questions)))
    if not found:
        raise InvalidInputError(
            f"{folder}: holds no EgoLifeQA/EgoLifeQA_WHO.json with subtitles in EgoLifeCap/DenseCaption/WHO/DAY1"
        )
    return found


def _asked(path: Path, who: str, i: int, entry: Mapping[str, Any]) -> Asked:
    letter = field(path, i, entry, "answer").lower().strip(" .()")
    if letter not in tuple(LETTERS):
        raise InvalidInputError(f"{path}: question {i}: answer '{letter}' is none of A, B, C, D")
    query = list(_moments(entry.get("query_time")))
    if not query:
        raise InvalidInputError(f"{path}: question {i} has no 'query_time' such as DAY1 11210217")
    return Asked(
        field(path, i, entry, "ID"),
        who,
        field(path, i, entry, "question"),
        AnswerKind.TEXT,
        None,
        query[0],
        letter.upper(),
        category=str(entry.get("type", "")),
        spans=tuple((at - NEAR_NS, at + NEAR_NS) for at in _moments(entry.get("target_time"))),
        choices=tuple(field(path, i, entry, f"choice_{c}") for c in LETTERS),
    )


def _moments(value: Any) -> Iterator[int]:
    """Every time in ``{"date", "time"}``, ``{"date", "time_list"}`` or a list of them, in ns."""
    if isinstance(value, list):
        for part in value:
            yield from _moments(part)
        return
    if not isinstance(value, dict):
        return
    times = value.get("time", value.get("time_list", ""))
    day = 0
    for found in _TIMES.finditer(f"{value.get('date', '')} {times}"):
        if found[1]:
            day = int(found[1])
        elif day:
            yield moment_ns(day, found[2])


def moment_ns(day: int, clock: str) -> int:
    """Nanoseconds since the beginning of day 1 of ``HHMMSSFF``."""
    clock = clock.zfill(8)
    hours, minutes, seconds, frames = (int(clock[i : i + 2]) for i in range(0, 8, 2))
    whole = ((day - 1) * 24 + hours) * 3600 + minutes * 60 + seconds
    return whole * NS_PER_S + frames * NS_PER_S // FRAMES_A_SECOND


def _frames(folder: Path, who: str) -> Iterator[RecordedFrame]:
    cues = [(at, 0, text) for at, text in _subtitles(folder / "DenseCaption" / who)]
    cues += [(at, 1, text) for at, text in _subtitles(folder / "Transcript" / who)]
    at_ns, said = -1, list[str]()
    for stamp_ns, spoken, text in sorted(cues):
        if said and stamp_ns != at_ns and (not spoken or stamp_ns - at_ns > SILENCE_NS):
            yield _told(at_ns, said)
            said = []
        at_ns = at_ns if said else stamp_ns
        said.append(text if text.endswith((".", "!", "?")) else f"{text}.")
    if said:
        yield _told(at_ns, said)


def _told(stamp_ns: int, said: list[str]) -> RecordedFrame:
    return RecordedFrame(stamp_ns, NOWHERE, Perception(" ".join(said), backend="captions"))


def _subtitles(folder: Path) -> Iterator[tuple[int, str]]:
    """When each subtitle begins, and its text."""
    for path in sorted(folder.glob("DAY*/*.srt")):
        name = _NAME.search(path.stem)
        if name is None:
            raise InvalidInputError(f"{path}: is not named WHO_DAYd_HHMMSSFF.srt")
        begin_ns = moment_ns(int(name[1]), name[2])
        try:
            blocks = re.split(r"\n\s*\n", path.read_text(encoding="utf-8-sig").replace("\r", ""))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"{path}: cannot be read: {error}") from error
        for block in blocks:
            cue = _CUE.search(block)
            text = " ".join(block[block.find("\n", cue.end()) :].split()) if cue and "\n" in block[cue.end() :] else ""
            if cue and text:
                hours, minutes, seconds = int(cue[1]), int(cue[2]), int(cue[3])
                after_ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(cue[4].ljust(3, "0"))
                yield begin_ns + after_ms * 1_000_000, text
