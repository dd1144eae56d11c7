"""A batch of questions for ``vlkng ask``: a file with one JSON object a line, read and checked."""

from __future__ import annotations

import codecs
import difflib
import json
import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from vlkng_ros.cli import arguments
from vlkng_ros.errors import InvalidInputError

FIELDS = frozenset({"id", "question", "since_ns", "as_of_ns", "position"})


def read_batch(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a batch file, checked: ``id`` and ``question`` are needed, the rest may be absent or null.

    A line that is no such object has its ``id``, where it can be read, and under ``error`` what is wrong with it.

    Raises:
        InvalidInputError: the file cannot be read.
    """
    try:
        lines = path.read_bytes().removeprefix(codecs.BOM_UTF8).split(b"\n")
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where, line_id = f"{path}, line {number}", None
            try:
                entry = _entry(line, where)
                line_id = _line_id(entry)
                yield _checked(entry, line_id, where)
            except InvalidInputError as error:
                yield {"id": line_id, "error": error}


def _entry(line: bytes, where: str) -> dict[str, Any]:
    try:
        entry = json.loads(line.decode())
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of thousands of digits
        raise InvalidInputError(f"{where}: is not JSON: {error}") from error
    if not isinstance(entry, dict):
        raise InvalidInputError(f"{where}: needs an object with 'id' and 'question', got {type(entry).__name__}")
    return entry


def _line_id(entry: dict[str, Any]) -> str | int | None:
    found = entry.get("id")
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def _checked(entry: dict[str, Any], line_id: str | int | None, where: str) -> dict[str, Any]:
    question = entry.get("question")
    if not isinstance(question, str):
        raise InvalidInputError(f"{where}: 'question' is missing, or no text")
    if line_id is None:
        raise InvalidInputError(f"{where}: 'id' is missing or neither text nor a number")
    unread = [name for name in entry if name not in FIELDS]
    _refuse_misspelt(unread, FIELDS - entry.keys(), where)
    for key in ("since_ns", "as_of_ns"):
        if entry.get(key) is not None and (not isinstance(entry[key], int) or isinstance(entry[key], bool)):
            raise InvalidInputError(f"{where}: '{key}' needs integer nanoseconds, got {entry[key]!r}")
        if entry.get(key) is not None and entry[key] not in arguments.STAMPS:
            raise InvalidInputError(
                f"{where}: '{key}' {entry[key]} is no time that a memory can hold: they are from 0 (1970) to 2262"
            )
    position = entry.get("position")
    if position is not None and not (
        isinstance(position, list) and len(position) == 3 and all(_is_length(c) for c in position)
    ):
        raise InvalidInputError(f"{where}: 'position' needs three finite numbers of metres, got {position!r}")
    since, as_of = entry.get("since_ns"), entry.get("as_of_ns")
    if since is not None and as_of is not None and since > as_of:
        raise InvalidInputError(f"{where}: the time window is empty: since_ns {since} lies after as_of_ns {as_of}")
    return {
        "id": line_id,
        "question": question,
        "since_ns": since,
        "as_of_ns": as_of,
        "position": position,
        "unread": unread,
    }


def _refuse_misspelt(names: Collection[str], absent: Collection[str], where: str) -> None:
    """Unknown fields are the caller's own, unless one looks like a field that is absent: another question is meant."""
    for name in names:
        for meant in difflib.get_close_matches(name.casefold(), sorted(absent), n=1, cutoff=0.7):
            raise InvalidInputError(f"{where}: '{name}' is no field of a question; did you mean '{meant}'?")


def _is_length(value: object) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False
