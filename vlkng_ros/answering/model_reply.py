"""What a language model may reply, and how it becomes an answer: data that is checked, never trusted."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from vlkng_ros.errors import ModelOutputError
from vlkng_ros.types import AnswerKind

_VALUES: Mapping[AnswerKind, tuple[str, dict[str, Any]]] = {
    AnswerKind.DURATION: ("seconds", {"type": "number", "minimum": 0}),
    AnswerKind.BINARY: ("yes", {"type": "boolean"}),
    AnswerKind.COUNT: ("count", {"type": "integer", "minimum": 0}),
}
MAX_FRAMES = 20
MAX_ANSWER = 1000
EXAMPLE = "one short sentence"
"""What the packaged prompts put in the answer's place, and small models give back."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A checked reply. ``frames`` are keyframe ids that were retrieved, best first.

    ``value`` is None for positions and times, which are those of the first frame.
    """

    found: bool
    frames: tuple[int, ...]
    value: float | bool | int | str | None
    answer: str


def schema_for(kind: AnswerKind, frames: Collection[int] = ()) -> dict[str, Any]:
    """JSON schema of a final reply.

    Args:
        kind: of the question.
        frames: ids of the keyframes that it may cite; empty where they are not known yet.
    """
    cited = {"type": "integer", "enum": sorted(frames)} if frames else {"type": "integer"}
    least = 1 if frames and kind not in _VALUES else 0
    most = min(MAX_FRAMES, len(frames)) or MAX_FRAMES  # small models repeat one frame for as long as they may
    properties: dict[str, Any] = {
        "found": {"type": "boolean"},
        "frames": {"type": "array", "items": cited, "minItems": least, "maxItems": most},
    }
    if kind in _VALUES:
        name, value = _VALUES[kind]
        properties[name] = value
    properties["answer"] = {"type": "string"}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def value_hint(kind: AnswerKind) -> str:
    """How the value is named in a prompt, with the comma that follows; empty where the first frame is the value."""
    hints = {
        AnswerKind.DURATION: '"seconds": a number, ',
        AnswerKind.BINARY: '"yes": true or false, ',
        AnswerKind.COUNT: '"count": a whole number, ',
    }
    return hints.get(kind, "")


def is_final(value: Any) -> bool:
    """Whether a JSON value looks like a final reply."""
    return isinstance(value, dict) and isinstance(value.get("found"), bool)


_TIME = re.compile(r"\[DAY\d+ \d\d:\d\d:\d\d\]")


def times_in(text: str) -> frozenset[str]:
    """Every ``[DAYd HH:MM:SS]`` of a text."""
    return frozenset(_TIME.findall(text))


def checked(
    value: Mapping[str, Any], kind: AnswerKind, retrieved: Collection[int], times: Collection[str] | None = None
) -> Decision:
    """A final reply as a decision.

    Args:
        value: the reply.
        kind: of the question.
        retrieved: ids of the keyframes that were shown.
        times: those that were shown, where the answer must cite some of them and no others.

    Raises:
        ModelOutputError: a field is missing or of another type, no cited frame was retrieved, or a time was made up.
    """
    cited = value.get("frames")
    if not isinstance(cited, list) or not all(isinstance(n, int) and not isinstance(n, bool) for n in cited):
        raise ModelOutputError("'frames' must be a list of frame numbers")
    frames = tuple(dict.fromkeys(n for n in cited if n in retrieved))[:MAX_FRAMES]
    answer = value.get("answer")
    if not isinstance(answer, str):
        raise ModelOutputError("'answer' must be a sentence")
    answer = " ".join(answer.split())[:MAX_ANSWER]
    answer = "" if answer.strip(".").lower() == EXAMPLE else answer
    if not value["found"] and kind is not AnswerKind.BINARY:
        return Decision(False, frames, None, answer)
    if not frames and (kind in (AnswerKind.POSITION, AnswerKind.TIME) or cited):
        raise ModelOutputError("none of 'frames' is a frame that was shown")
    if times is not None:
        cited_times = times_in(answer)
        if not cited_times <= set(times):
            raise ModelOutputError(f"'answer' cites {min(cited_times - set(times))}, which no frame has")
        if frames and not cited_times:
            raise ModelOutputError("'answer' must name the time of what it relies on, as [DAYd HH:MM:SS]")
    if kind is AnswerKind.TEXT:
        if not answer:
            raise ModelOutputError("'answer' is empty")
        return Decision(True, frames, answer, answer)
    if kind not in _VALUES:
        return Decision(True, frames, None, answer)
    name, _ = _VALUES[kind]
    return Decision(True, frames, _typed(value.get(name), name, kind), answer)


def _typed(value: Any, name: str, kind: AnswerKind) -> float | bool | int:
    if kind is AnswerKind.BINARY and isinstance(value, bool):
        return value
    if not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value) and value >= 0:
        if kind is AnswerKind.DURATION:
            return float(value)
        if kind is AnswerKind.COUNT and float(value).is_integer():
            return int(value)
    raise ModelOutputError(f"'{name}' has the wrong type: {value!r}")
