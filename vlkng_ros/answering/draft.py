"""What an answerer decides, before keyframes are loaded and words are found for it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from vlkng_ros.types import AnswerKind


@dataclass(frozen=True, slots=True)
class Draft:
    """A decision over a scene.

    ``value`` is by kind: position the scene's frame whose pose answers, time an int of ns, duration a float of s,
    binary a bool, count an int, text a str; None where the memory does not know. ``frames`` are the scene's frames
    that bear on it, best first, each with its score.
    """

    kind: AnswerKind
    value: int | float | bool | str | None
    confidence: float
    frames: tuple[tuple[int, float], ...] = ()
    reason: str = ""
    """How the value was come by, as a clause: "I was inside from ... to ..."."""
    thing: str = ""
    """What was looked for, for "I have not seen ..."."""
    events: tuple[int, ...] = field(default=())
    """Frames at which the robot did what was asked about, where that is the answer."""
    denied: bool = False
    """Whether it was asked if there was none: a yes then has seen nothing."""
    also: str = ""
    """What a person is told after the answer, as sentences."""


def shifted(draft: Draft, offset: int) -> Draft:
    """A draft over a part of a scene as one over the whole."""
    if not offset:
        return draft
    value = draft.value
    if draft.kind is AnswerKind.POSITION and value is not None:
        value = int(value) + offset
    frames = tuple((frame + offset, score) for frame, score in draft.frames)
    return dataclasses.replace(draft, value=value, frames=frames, events=tuple(f + offset for f in draft.events))
