"""The caption files of ReMEmbR and EmbodiedLGR, read and checked.

Such a file is a JSON list, one entry a captioned frame (or a short segment):

- ``time``: seconds, ``position``: ``[x, y, z]`` in metres, ``caption``: text. Needed.
- ``theta``: the robot's yaw in radians, or ``orientation``: a quaternion ``[x, y, z, w]``. Without either the robot
  is taken to face the way it came.
- ``labels``: what an object detector named (Florence-2's ``<OD>``), ``dlabels``: what it said of regions
  (``<DENSE_REGION_CAPTION>``). Lists of text without boxes, in any order.
- ``id``, ``file_start``, ``file_end``: the recording that the frame came from; not kept.
"""

from __future__ import annotations

import difflib
import json
import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlkng_ros.errors import CaptionFileError, PoseError
from vlkng_ros.plurals import singular
from vlkng_ros.types import Detection, Perception, Pose, Quaternion, Vec3

logger = logging.getLogger(__name__)
MIN_TRAVEL_M = 0.1
"""Shorter moves say nothing about the heading: localisation jitters."""

FIELDS = frozenset({"time", "position", "caption", "theta", "orientation", "labels", "dlabels"})
_NS_LIMIT = 2**63
_ABSENT = object()
_ARTICLE = re.compile(r"^(?:a|an|the)\s+", re.IGNORECASE)
_REST = re.compile(
    r"[\s,]+(?:with|on|in|at|against|near|behind|under|over|above|below|beside|by|from|to|for|next|that|which|inside|"
    r"outside|along|across|around|between|through|is|are|attached|parked|standing|sitting|leaning|hanging|walking|"
    r"riding|holding|wearing|facing|leading|lying|driving|displaying|showing)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Where the words about the place and the doings of a thing begin."""


@dataclass(frozen=True, slots=True)
class CaptionedFrame:
    """One entry of a caption file. ``stamp_ns`` is ``round(time * 1e9)``: what comparing ``time * 1e9`` gives."""

    stamp_ns: int
    pose: Pose
    perception: Perception


def read_captions(path: Path, *, frame_id: str = "map") -> list[CaptionedFrame]:
    """Every entry of a caption file in order of time; entries that repeat another word for word are dropped.

    Raises:
        CaptionFileError: no such file, or not in this layout; the message names the entry and the field.
    """
    entries = _load(path)
    _warn_of_misspelt(path, entries)
    checked = sorted((_checked(path, i, entry) for i, entry in enumerate(entries)), key=lambda item: item.stamp_ns)
    frames: list[CaptionedFrame] = []
    heading = _Heading()
    previous: _Entry | None = None
    for item in checked:
        if previous is not None and item.stamp_ns == previous.stamp_ns:
            if item.content == previous.content:
                continue
            raise CaptionFileError(
                f"{path}: entries {previous.index} and {item.index} have the same 'time' and say different things; "
                "a camera has one frame at a time: import each camera's file by itself, with --camera"
            )
        previous = item
        orientation = item.orientation or heading.after(item.position_m)
        try:
            pose = Pose(frame_id, item.position_m, orientation)
        except PoseError as error:
            raise CaptionFileError(f"{path}: entry {item.index}: field 'orientation': {error}") from error
        detections = detections_of(item.labels, item.dlabels)
        frames.append(CaptionedFrame(item.stamp_ns, pose, Perception(item.caption, detections, backend="captions")))
    return frames


def detections_of(labels: Sequence[str], dlabels: Sequence[str]) -> tuple[Detection, ...]:
    """Detections without boxes, from a detector's labels and the texts of regions.

    A label and a region's text often speak of one thing. Without boxes only words can tell: a region text whose
    phrase ends in a label ("black pickup truck parked on a street" and "pickup truck") describes that detection, and
    any other is a detection of its own. Each label and each text is used once, so nothing is counted twice or lost.
    """
    texts: list[str] = [""] * len(labels)
    free = list(range(len(labels)))
    extra: list[Detection] = []
    for text in dlabels:
        phrase = head_phrase(text)
        spoken_of = [i for i in free if f" {singular(phrase.lower())}".endswith(f" {singular(labels[i].lower())}")]
        if spoken_of:
            best = max(spoken_of, key=lambda i: (len(labels[i]), -i))
            texts[best] = text
            free.remove(best)
        else:
            extra.append(Detection(phrase, region_text=text))
    return (*(Detection(label, region_text=text) for label, text in zip(labels, texts, strict=True)), *extra)


def head_phrase(text: str) -> str:
    """The thing a region text is about: "bicycles" of "bicycles leaning on a fence." All of it where that fails."""
    return _REST.sub("", _ARTICLE.sub("", text.rstrip("."))) or text


class _Heading:
    """Faces the way the robot came, from what is behind in time only: a memory must not know its future."""

    def __init__(self) -> None:
        self._from: Vec3 | None = None
        self._yaw_rad = 0.0

    def after(self, position_m: Vec3) -> Quaternion:
        if self._from is None:
            self._from = position_m
        dx, dy = position_m[0] - self._from[0], position_m[1] - self._from[1]
        if math.hypot(dx, dy) >= MIN_TRAVEL_M:
            self._yaw_rad = math.atan2(dy, dx)
            self._from = position_m
        return (0.0, 0.0, math.sin(self._yaw_rad / 2), math.cos(self._yaw_rad / 2))


@dataclass(frozen=True, slots=True)
class _Entry:
    index: int
    stamp_ns: int
    position_m: Vec3
    orientation: Quaternion | None
    caption: str
    labels: tuple[str, ...]
    dlabels: tuple[str, ...]

    @property
    def content(self) -> tuple[object, ...]:
        return self.position_m, self.orientation, self.caption, self.labels, self.dlabels


def _load(path: Path) -> list[Any]:
    try:
        entries = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CaptionFileError(f"{path}: no such file") from None
    except OSError as error:
        raise CaptionFileError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise CaptionFileError(f"{path}: not a caption file: neither text nor JSON") from None
    except json.JSONDecodeError as error:
        raise CaptionFileError(
            f"{path}: not a caption file: not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise CaptionFileError(f"{path}: not a caption file: {error}") from None
    if not isinstance(entries, list):
        raise CaptionFileError(
            f"{path}: not a caption file: needs a JSON list of entries with time, position and caption, "
            f"holds {_kind(entries)}"
        )
    if not entries:
        raise CaptionFileError(f"{path}: an empty list: there is nothing to import")
    return entries


def _warn_of_misspelt(path: Path, entries: Sequence[object]) -> None:
    """What else entries hold is their writer's own, unless it looks like a field of ours that they do not have."""
    told: set[str] = set()
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            continue
        for name in entry.keys() - FIELDS - told:
            told.add(name)
            for meant in difflib.get_close_matches(name.casefold(), sorted(FIELDS - entry.keys()), n=1, cutoff=0.7):
                logger.warning("%s: entry %d: '%s' is not read; did you mean '%s'?", path, index, name, meant)


def _checked(path: Path, index: int, entry: object) -> _Entry:
    where = f"{path}: entry {index}"
    if not isinstance(entry, dict):
        raise CaptionFileError(f"{where}: needs an object with time, position and caption, holds {_kind(entry)}")
    seconds = _number(f"{where}: field 'time'", _field(entry, "time", where))
    if not -_NS_LIMIT < seconds * 1e9 < _NS_LIMIT:
        raise CaptionFileError(f"{where}: field 'time': {seconds:g} is no time in seconds; is it in ns?")
    return _Entry(
        index=index,
        stamp_ns=round(seconds * 1e9),
        position_m=_position(f"{where}: field 'position'", _field(entry, "position", where)),
        orientation=_orientation(where, entry),
        caption=_text(f"{where}: field 'caption'", _field(entry, "caption", where)),
        labels=_texts(f"{where}: field 'labels'", entry.get("labels")),
        dlabels=_texts(f"{where}: field 'dlabels'", entry.get("dlabels")),
    )


def _field(entry: Mapping[str, object], name: str, where: str) -> object:
    value = entry.get(name, _ABSENT)
    if value is _ABSENT:
        raise CaptionFileError(f"{where}: field '{name}' is missing; needed are time, position and caption")
    return value


def _number(where: str, value: object) -> float:
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise CaptionFileError(f"{where}: needs a finite number, holds {_kind(value)}")
    return number


def _position(where: str, value: object) -> Vec3:
    if not isinstance(value, list) or len(value) != 3:
        raise CaptionFileError(f"{where}: needs [x, y, z] in metres, holds {_kind(value)}")
    x, y, z = (_number(where, number) for number in value)
    return x, y, z


def _orientation(where: str, entry: Mapping[str, object]) -> Quaternion | None:
    value = entry.get("orientation")
    if value is not None:
        named = f"{where}: field 'orientation'"
        if not isinstance(value, list) or len(value) != 4:
            raise CaptionFileError(f"{named}: needs a quaternion [x, y, z, w], holds {_kind(value)}")
        x, y, z, w = (_number(named, number) for number in value)
        return x, y, z, w
    if entry.get("theta") is not None:
        yaw_rad = _number(f"{where}: field 'theta'", entry["theta"])
        return 0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2)
    return None


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise CaptionFileError(f"{where}: needs text, holds {_kind(value)}")
    # A lone surrogate is legal JSON and no text: neither SQLite nor a terminal takes it.
    return value.encode("utf-8", "replace").decode("utf-8").strip()


def _texts(where: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise CaptionFileError(f"{where}: needs a list of texts, holds {_kind(value)}")
    return tuple(text for text in (_text(f"{where}[{i}]", item) for i, item in enumerate(value)) if text)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    kind = names.get(type(value))
    if kind is None:
        return repr(value)[:40]
    return f"{kind} of {len(value)}" if isinstance(value, list) else kind
