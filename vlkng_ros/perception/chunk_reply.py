"""What a VLM says about a chunk of frames, checked and turned into a perception a frame (VL-KnG step 1).

The reply is untrusted: it is searched for JSON, every field is checked, what is unusable is dropped and counted, and
strings stay strings. A reply in which nothing is usable is refused with a reason that the model can be told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vlkng_ros.chat import find_json
from vlkng_ros.errors import ModelOutputError
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.boxes import clip_box, tidy
from vlkng_ros.perception.labels import clean_label, clean_text, kind_of
from vlkng_ros.types import BoxPx, Detection, Perception, RelationMention

MAX_OBJECTS = 200
ATTRIBUTES = {"color": "colour", "material": "material", "size": "size", "state": "state", "affordances": "affordances"}
"""Fields of the reply, and what they are called in a detection's attributes."""
PREDICATES = frozenset(
    {"left of", "right of", "above", "below", "on", "under", "inside", "in front of", "behind", "next to"}
)
_SYNONYMS = {
    "to the left of": "left of",
    "to the right of": "right of",
    "on top of": "on",
    "over": "above",
    "beneath": "under",
    "in": "inside",
    "beside": "next to",
    "near": "next to",
}
_LOCAL_ID = re.compile(r"[^\W\d_][\w -]*_\d+")
_TEXT = {"type": "string"}
_FRAME = {"type": "integer", "minimum": 1}


def _object(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


REPLY_SCHEMA: Mapping[str, Any] = _object(
    ["objects", "relations", "frames", "summary"],
    objects={
        "type": "array",
        "items": _object(
            ["id", "type", "boxes"],
            id=_TEXT,
            type=_TEXT,
            description=_TEXT,
            color=_TEXT,
            material=_TEXT,
            size=_TEXT,
            state=_TEXT,
            affordances={"type": "array", "items": _TEXT},
            boxes={
                "type": "array",
                "items": _object(
                    ["frame", "box"],
                    frame=_FRAME,
                    box={"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4},
                ),
            },
        ),
    },
    relations={
        "type": "array",
        "items": _object(
            ["subject", "predicate", "object"],
            subject=_TEXT,
            predicate={"type": "string", "enum": sorted(PREDICATES)},
            object=_TEXT,
            frames={"type": "array", "items": _FRAME},
        ),
    },
    frames={"type": "array", "items": _object(["frame", "caption"], frame=_FRAME, caption=_TEXT)},
    summary=_TEXT,
)
"""The reply's form as JSON schema, for servers that can bind a model to one."""


@dataclass(slots=True)
class _FrameParts:
    size_px: tuple[int, int]
    seen_px: tuple[int, int]
    detections: list[Detection] = field(default_factory=list)
    caption: str = ""


@dataclass(frozen=True, slots=True)
class _NamedRelation:
    """A relation between ids; ``frames`` empty means every frame that shows both."""

    subject: str
    predicate: str
    object: str
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Who said it, and how it writes boxes: ``pixels``, else thousandths of the image."""

    backend: str
    model: str
    pixels: bool = False


def parse_chunk_reply(
    reply: str,
    frames: Sequence[Frame],
    source: Source,
    counters: Counter[str],
    seen_px: Sequence[tuple[int, int]] = (),
) -> list[Perception]:
    """A perception for every frame of the chunk, in order.

    ``seen_px`` are the sizes ``(width, height)`` that pixels refer to, where the model saw resized pictures.

    Counts ``repaired_replies``, ``malformed_objects``, ``malformed_ids``, ``duplicate_ids``, ``malformed_boxes``,
    ``malformed_relations`` and what ``boxes.tidy`` counts.

    Raises:
        ModelOutputError: no JSON with an ``objects`` list, or objects of which none is usable.
    """
    data, repaired = find_json(reply, lambda value: isinstance(value, dict) and isinstance(value.get("objects"), list))
    if repaired:
        counters["repaired_replies"] += 1
    parts = [
        _FrameParts(frame.size_px, seen)
        for frame, seen in zip(frames, seen_px or [frame.size_px for frame in frames], strict=True)
    ]
    objects = data["objects"][:MAX_OBJECTS]
    owners: dict[str, str] = {}
    problems: list[str] = []
    for item in objects:
        if problem := _add_object(item, parts, owners, source, counters):
            counters["malformed_objects"] += 1
            problems.append(problem)
    if problems and len(problems) == len(objects):
        raise ModelOutputError(f"none of its {len(objects)} objects can be used; the first: {problems[0]}")
    _add_captions(data.get("frames"), parts)
    summary = clean_text(_string(data, "summary"))
    relations = _checked_relations(data.get("relations"), owners, counters)
    chunk = tuple(frame.keyframe_id for frame in frames) if len(frames) > 1 else ()
    perceptions: list[Perception] = []
    for number, (frame, part) in enumerate(zip(frames, parts, strict=True), start=1):
        detections = tidy(part.detections, frame.size_px, counters)
        perceptions.append(
            Perception(
                caption=part.caption or summary,
                detections=detections,
                relations=_relations_in(number, relations, detections),
                backend=source.backend,
                model=source.model,
                summary=summary if chunk else "",
                chunk=chunk,
            )
        )
    return perceptions


def _add_object(
    item: object,
    parts: Sequence[_FrameParts],
    owners: dict[str, str],
    source: Source,
    counters: Counter[str],
) -> str:
    """Adds the object's detections to the frames that show it; returns why it cannot be used, or nothing."""
    if not isinstance(item, dict):
        return f"an object must be a JSON object, not {type(item).__name__}"
    label = clean_label(_string(item, "type"))
    if not label:
        return 'an object lacks its "type"'
    local_id = clean_text(_string(item, "id"), 80)
    if not _LOCAL_ID.fullmatch(local_id):
        counters["malformed_ids"] += 1
        local_id = ""
    elif owners.setdefault(local_id, label) != label:  # another kind of thing has that id already
        counters["duplicate_ids"] += 1
        local_id = ""
    known = len(parts)
    placed = 0
    for number, corners in _boxes_by_frame(item.get("boxes")):
        box = _box_px(corners, parts[number - 1], source.pixels) if 1 <= number <= known else None
        if box is None:
            counters["malformed_boxes"] += 1
            continue
        part = parts[number - 1]
        taken = bool(local_id) and any(other.local_id == local_id for other in part.detections)
        if taken:  # one thing cannot be in two places: the second keeps its box and loses its name
            counters["duplicate_ids"] += 1
        part.detections.append(
            Detection(
                label=label,
                box_px=box,
                region_text=clean_text(_string(item, "description"), 500),
                attributes=_attributes(item),
                kind=kind_of(label),
                local_id="" if taken else local_id,
            )
        )
        placed += 1
    return "" if placed else f'object "{local_id or label}" has no usable box; frames are 1 to {known}'


def _boxes_by_frame(value: object) -> list[tuple[int, list[Any]]]:
    """Frame numbers with corners, from ``[{"frame": 1, "box": [...]}]`` or ``{"1": [...]}``."""
    if isinstance(value, dict):
        value = [{"frame": key, "box": box} for key, box in value.items()]
    found: list[tuple[int, list[Any]]] = []
    for entry in _items(value):
        if isinstance(entry, dict):
            number, corners = _frame_number(entry.get("frame")), entry.get("box", entry.get("bbox_2d"))
            found.append((number, corners if isinstance(corners, list) else []))
        else:
            found.append((0, []))
    return found


def _box_px(corners: list[Any], part: _FrameParts, pixels: bool) -> BoxPx | None:
    numbers = [float(c) for c in corners if isinstance(c, int | float) and not isinstance(c, bool)]
    if len(numbers) != 4 or len(corners) != 4:
        return None
    if pixels:
        units: tuple[float, float] = part.seen_px
    elif max(numbers) > 1000.0 or min(numbers) < 0.0:
        return None  # written in some other unit: better no box than a wrong one
    else:
        units = (1.0, 1.0) if max(numbers) <= 1.0 else (1000.0, 1000.0)
    width, height = part.size_px
    scale_x, scale_y = width / units[0], height / units[1]
    return clip_box(
        (numbers[0] * scale_x, numbers[1] * scale_y, numbers[2] * scale_x, numbers[3] * scale_y), width, height
    )


def _attributes(item: Mapping[str, Any]) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, attribute in ATTRIBUTES.items():
        value = item.get(name)
        text = ", ".join(str(entry) for entry in value if isinstance(entry, str)) if isinstance(value, list) else value
        if isinstance(text, str) and clean_text(text, 200).casefold() not in ("", "unknown", "none", "n/a"):
            attributes[attribute] = clean_text(text, 200)
    return attributes


def _add_captions(value: object, parts: Sequence[_FrameParts]) -> None:
    for entry in _items(value):
        if isinstance(entry, dict):
            number = _frame_number(entry.get("frame"))
            if 1 <= number <= len(parts):
                parts[number - 1].caption = clean_text(_string(entry, "caption"))


def _checked_relations(value: object, known: Mapping[str, str], counters: Counter[str]) -> list[_NamedRelation]:
    """Relations with a predicate of ours between two different things that the reply lists."""
    relations: list[_NamedRelation] = []
    for item in _items(value):
        fields = item if isinstance(item, dict) else {}
        subject, target = _string(fields, "subject"), _string(fields, "object")
        predicate = clean_text(_string(fields, "predicate"), 40).casefold().replace("_", " ")
        predicate = _SYNONYMS.get(predicate, predicate)
        if predicate not in PREDICATES or subject == target or subject not in known or target not in known:
            counters["malformed_relations"] += 1
            continue
        frames = tuple(_frame_number(number) for number in _items(fields.get("frames")))
        relations.append(_NamedRelation(subject, predicate, target, frames))
    return relations


def _relations_in(
    number: int, relations: Sequence[_NamedRelation], detections: Sequence[Detection]
) -> tuple[RelationMention, ...]:
    """The relations that frame ``number`` shows: both things are in it, and it is among the frames named, if any."""
    index = {detection.local_id: i for i, detection in enumerate(detections) if detection.local_id}
    shown = [
        RelationMention(index[relation.subject], relation.predicate, index[relation.object])
        for relation in relations
        if relation.subject in index and relation.object in index and (not relation.frames or number in relation.frames)
    ]
    return tuple(dict.fromkeys(shown))


def _frame_number(value: object) -> int:
    """A frame's number; 0, which no frame has, where it is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:9])
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _string(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _items(value: object) -> list[Any]:
    return value[:MAX_OBJECTS] if isinstance(value, list) else []
