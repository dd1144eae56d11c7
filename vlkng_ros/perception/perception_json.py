"""A perception as JSON and back: what recordings hold and what the worker's process sends."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vlkng_ros.types import BoxPx, Detection, EntityKind, FloatArray, Perception, RelationMention

Json = dict[str, Any]


def perception_to_json(perception: Perception) -> Json:
    """Plain JSON types; fields that hold their default are left out."""
    data: Json = {
        "caption": perception.caption,
        "detections": [_detection_to_json(detection) for detection in perception.detections],
        "relations": [[r.subject, r.predicate, r.object] for r in perception.relations],
        "backend": perception.backend,
        "model": perception.model,
    }
    if perception.summary:
        data["summary"] = perception.summary
    if perception.chunk:
        data["chunk"] = list(perception.chunk)
    if perception.visual_encoder:
        data["visual_encoder"] = perception.visual_encoder
    return data


def perception_from_json(data: object) -> Perception:
    """The perception a mapping of ``perception_to_json`` describes; unknown fields are ignored.

    Raises:
        ValueError: a field is of the wrong type or out of range; the message names it.
    """
    fields = _mapping(data, "the line")
    detections = tuple(
        _detection_from_json(item, f"detections[{i}]")
        for i, item in enumerate(_list(fields.get("detections", []), "detections"))
    )
    relations = tuple(
        _relation_from_json(item, len(detections), f"relations[{i}]")
        for i, item in enumerate(_list(fields.get("relations", []), "relations"))
    )
    chunk = _list(fields.get("chunk", []), "chunk")
    if not all(type(keyframe_id) is int for keyframe_id in chunk):
        raise ValueError("chunk must be a list of keyframe ids")
    return Perception(
        caption=_text(fields, "caption"),
        detections=detections,
        relations=relations,
        backend=_text(fields, "backend"),
        model=_text(fields, "model"),
        summary=_text(fields, "summary"),
        chunk=tuple(chunk),
        visual_encoder=_text(fields, "visual_encoder"),
    )


def _detection_to_json(detection: Detection) -> Json:
    data: Json = {"label": detection.label}
    if detection.box_px is not None:
        data["box_px"] = list(detection.box_px)
    if detection.score is not None:
        data["score"] = detection.score
    if detection.region_text:
        data["region_text"] = detection.region_text
    if detection.attributes:
        data["attributes"] = dict(detection.attributes)
    if detection.kind is not EntityKind.OBJECT:
        data["kind"] = detection.kind.value
    if detection.local_id:
        data["local_id"] = detection.local_id
    if detection.embedding is not None:
        raw = np.ascontiguousarray(detection.embedding, dtype="<f4").tobytes()
        data["embedding_f32"] = base64.b64encode(raw).decode("ascii")
    if detection.depth_m is not None:
        data["depth_m"] = detection.depth_m
    if detection.told:
        data["told"] = True
    return data


def _detection_from_json(item: object, where: str) -> Detection:
    fields = _mapping(item, where)
    label = _text(fields, "label", where)
    if not label:
        raise ValueError(f"{where}.label is empty")
    kind = fields.get("kind", EntityKind.OBJECT.value)
    if kind not in [known.value for known in EntityKind]:
        raise ValueError(f"{where}.kind {kind!r} is not one of {', '.join(known.value for known in EntityKind)}")
    attributes = _mapping(fields.get("attributes", {}), f"{where}.attributes")
    return Detection(
        label=label,
        box_px=_box(fields.get("box_px"), f"{where}.box_px"),
        score=_number(fields.get("score"), f"{where}.score"),
        region_text=_text(fields, "region_text", where),
        attributes={key: _text(attributes, key, f"{where}.attributes") for key in attributes},
        kind=EntityKind(kind),
        local_id=_text(fields, "local_id", where),
        embedding=_embedding(fields.get("embedding_f32"), f"{where}.embedding_f32"),
        depth_m=_number(fields.get("depth_m"), f"{where}.depth_m"),
        told=_flag(fields.get("told", False), f"{where}.told"),
    )


def _relation_from_json(item: object, detections: int, where: str) -> RelationMention:
    parts = _list(item, where)
    if len(parts) != 3 or not isinstance(parts[1], str):
        raise ValueError(f"{where} must be [subject, predicate, object]")
    for index in (parts[0], parts[2]):
        if type(index) is not int or not 0 <= index < detections:
            raise ValueError(f"{where} names detection {index!r}, there are {detections}")
    return RelationMention(parts[0], parts[1], parts[2])


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object, got {type(value).__name__}")
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list, got {type(value).__name__}")
    return value


def _text(fields: Mapping[str, Any], key: str, where: str = "") -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{where + '.' if where else ''}{key} must be a string, got {type(value).__name__}")
    return value


def _number(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{where} must be a finite number, got {value!r}")
    return float(value)


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be true or false, got {value!r}")
    return value


def _box(value: object, where: str) -> BoxPx | None:
    if value is None:
        return None
    corners = [_number(corner, where) for corner in _list(value, where)]
    numbers = [corner for corner in corners if corner is not None]
    if len(numbers) != 4 or len(corners) != 4:
        raise ValueError(f"{where} must be [x1, y1, x2, y2]")
    if numbers[0] >= numbers[2] or numbers[1] >= numbers[3]:
        raise ValueError(f"{where} {numbers} is empty: x1 < x2 and y1 < y2")
    return numbers[0], numbers[1], numbers[2], numbers[3]


def _embedding(value: object, where: str) -> FloatArray | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"{where} must be base64 text")
    try:
        raw = base64.b64decode(value, validate=True)
        vector: FloatArray = np.frombuffer(raw, dtype="<f4").astype(np.float32)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{where} is not base64 of float32 numbers: {error}") from error
    if not np.isfinite(vector).all():
        raise ValueError(f"{where} holds NaN or infinity")
    return vector
