"""Where a phrase is in a frame, on demand: "is there a fire extinguisher in this picture?"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from vlkng_ros.perception.base import Frame, PerceptionBackend
from vlkng_ros.perception.labels import clean_label
from vlkng_ros.plurals import singular
from vlkng_ros.types import Detection, Perception

_WORD = re.compile(r"\w+")


@runtime_checkable
class Grounds(Protocol):
    """A backend whose model can be asked for a phrase."""

    def ground(self, frames: Sequence[Frame], phrase: str) -> list[Perception]:
        """One perception a frame, its detections those of the phrase.

        Raises:
            ModelError: as ``describe``.
        """
        ...


def ground(backend: PerceptionBackend, frames: Sequence[Frame], phrase: str) -> list[Perception]:
    """Where ``phrase`` is in each frame: by the model where it can be asked, else among what it says by itself.

    Raises:
        ModelError: as the backend's ``describe``.
    """
    if isinstance(backend, Grounds):
        return backend.ground(frames, phrase)
    return [
        replace(said, detections=tuple(d for d in said.detections if matches(d, phrase)), relations=())
        for said in backend.describe(frames)
    ]


def matches(detection: Detection, phrase: str) -> bool:
    """Whether a detection is what a phrase names: its label is part of the phrase, or the phrase of its description.

    Example: a "cup" is "a red cup", and a "mug" described as "a red cup" is a "cup"; neither is a "table".
    """
    asked, label, described = (_words(text) for text in (phrase, detection.label, detection.region_text))
    return bool(asked) and bool(label) and (label <= asked or asked <= label | described)


def _words(text: str) -> frozenset[str]:
    """Words without articles and plural endings."""
    return frozenset(singular(word) if len(word) > 3 else word for word in _WORD.findall(clean_label(text).casefold()))
