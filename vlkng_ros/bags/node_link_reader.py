"""Reads the node-link JSON that ``node_link`` writes, as a file that may have been edited by anyone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vlkng_ros.bags.node_link import FORMAT, VERSION
from vlkng_ros.errors import GraphFileError, PoseError
from vlkng_ros.types import (
    Capture,
    Detection,
    EntityKind,
    Intrinsics,
    Perception,
    PerceptionState,
    Pose,
    RelationMention,
)

T = TypeVar("T")
_NEEDED = {str: "text", int: "an integer", list: "a list", dict: "an object"}


@dataclass(frozen=True, slots=True)
class GraphKeyframe:
    """A keyframe of a graph file. ``perception`` is None where none was stored.

    ``entities`` names, for each detection, the entity that it shows; empty where the view had not decided.
    """

    capture: Capture
    session: int
    robot: str
    map_id: str
    perception: Perception | None
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphFile:
    """What a graph file holds: ``view`` and its keyframes in the order in which they were stored."""

    view: str
    keyframes: tuple[GraphKeyframe, ...]


def read_node_link(path: Path) -> GraphFile:
    """Read and check a file that ``write_node_link`` wrote.

    Raises:
        GraphFileError: no such file, another format, or a node or edge that does not hold together; it is named.
    """
    data = _load(path)
    view = _value(f"{path}: graph", data["graph"], "view", str)
    frames: dict[str, dict[str, Any]] = {}
    for i, node in enumerate(data["nodes"]):
        if _value(f"{path}: node {i}", node, "type", str) == "keyframe":
            frames[_value(f"{path}: node {i}", node, "id", str)] = node
    seen: dict[str, list[tuple[int, str, dict[str, Any]]]] = {name: [] for name in frames}
    related: dict[str, list[tuple[str, str, str]]] = {name: [] for name in frames}
    for i, edge in enumerate(data["edges"]):
        where = f"{path}: edge {i}"
        kind = _value(where, edge, "type", str)
        source, target = _value(where, edge, "source", str), _value(where, edge, "target", str)
        if kind == "seen_in":
            if target not in seen:
                raise GraphFileError(f"{where}: 'target' is '{target}', and there is no such keyframe")
            order = _value(where, edge, "key", str).rpartition("/")[2]
            if not order.isdigit():
                raise GraphFileError(f"{where}: 'key' is '{edge['key']}'; needs seen_in/NUMBER")
            seen[target].append((int(order), "" if source.startswith("observation/") else source, edge))
        elif kind == "relation":
            for name in _value(where, edge, "keyframes", list):
                if name not in related:
                    raise GraphFileError(f"{where}: 'keyframes' holds '{name}', and there is no such keyframe")
                related[name].append((source, _value(where, edge, "predicate", str), target))
        else:
            raise GraphFileError(f"{where}: 'type' is '{kind}'; needs seen_in or relation")
    found = [
        _keyframe(f"{path}: {name}", node, sorted(seen[name], key=lambda item: item[0]), related[name])
        for name, node in frames.items()
    ]
    return GraphFile(view, tuple(found))


def _load(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise GraphFileError(f"{path}: no such file") from None
    except OSError as error:
        raise GraphFileError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise GraphFileError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("graph"), dict) or data["graph"].get("format") != FORMAT:
        raise GraphFileError(f"{path}: not a memory: needs node-link JSON as 'vlkng export --format json' writes it")
    if data["graph"].get("version") != VERSION:
        raise GraphFileError(f"{path}: version {data['graph'].get('version')!r} of the format; this reads {VERSION}")
    for name in ("nodes", "edges"):
        if not isinstance(data.get(name), list) or not all(isinstance(item, dict) for item in data[name]):
            raise GraphFileError(f"{path}: '{name}' must be a list of objects")
    return data


def _keyframe(
    where: str,
    node: dict[str, Any],
    seen: Sequence[tuple[int, str, dict[str, Any]]],
    related: Sequence[tuple[str, str, str]],
) -> GraphKeyframe:
    frame_id = _value(where, node, "frame_id", str)
    size = _numbers(where, node, "image_size_px", 2)
    base = _pose(where, node, "base_pose", frame_id)
    if base is None:
        raise GraphFileError(f"{where}: 'base_pose' is missing")
    capture = Capture(
        stamp_ns=_value(where, node, "stamp_ns", int),
        base_pose=base,
        camera_pose=_pose(where, node, "camera_pose", frame_id),
        camera=_value(where, node, "camera", str),
        intrinsics=_intrinsics(where, node),
        image_size_px=(int(size[0]), int(size[1])) if size else None,
    )
    entities = tuple(entity for _, entity, _ in seen)
    perception = None
    if _value(where, node, "perception", str) == PerceptionState.DONE.value:
        edges = [edge for _, _, edge in seen]
        perception = Perception(
            caption=_value(where, node, "caption", str),
            detections=tuple(_detection(where, edge) for edge in edges),
            relations=tuple(
                RelationMention(entities.index(subject), predicate, entities.index(target))
                for subject, predicate, target in related
                if subject in entities and target in entities
            ),
            backend=_value(where, edges[0], "backend", str) if edges else "",
            model=_value(where, edges[0], "model", str) if edges else "",
        )
    return GraphKeyframe(
        capture,
        _value(where, node, "session", int),
        _value(where, node, "robot", str),
        _value(where, node, "map_id", str),
        perception,
        entities,
    )


def _detection(where: str, edge: dict[str, Any]) -> Detection:
    box = _numbers(where, edge, "box_px", 4)
    attributes = _value(where, edge, "attributes", dict)
    if not all(isinstance(value, str) for value in attributes.values()):
        raise GraphFileError(f"{where}: 'attributes' must be texts")
    kind = _value(where, edge, "kind", str)
    if kind not in {known.value for known in EntityKind}:
        raise GraphFileError(f"{where}: 'kind' is '{kind}'; needs one of {', '.join(k.value for k in EntityKind)}")
    return Detection(
        label=_value(where, edge, "label", str),
        box_px=(box[0], box[1], box[2], box[3]) if box else None,
        score=_optional_number(where, edge, "score"),
        region_text=_value(where, edge, "region_text", str),
        attributes=attributes,
        kind=EntityKind(kind),
        local_id=_value(where, edge, "local_id", str),
        depth_m=_optional_number(where, edge, "depth_m"),
        told=edge.get("told") is True,
    )


def _intrinsics(where: str, node: dict[str, Any]) -> Intrinsics | None:
    values = _numbers(where, node, "intrinsics", 6)
    if not values:
        return None
    fx, fy, cx, cy, width, height = values
    return Intrinsics(fx, fy, cx, cy, int(width), int(height))


def _pose(where: str, node: dict[str, Any], name: str, frame_id: str) -> Pose | None:
    values = _numbers(where, node, name, 7)
    if not values:
        return None
    x, y, z, qx, qy, qz, qw = values
    try:
        return Pose(frame_id, (x, y, z), (qx, qy, qz, qw))
    except PoseError as error:
        raise GraphFileError(f"{where}: '{name}': {error}") from error


def _value(where: str, item: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = item.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise GraphFileError(f"{where}: '{name}' must be {_NEEDED[kind]}, is {str(value)[:40]!r}")
    return value


def _numbers(where: str, item: Mapping[str, Any], name: str, count: int) -> list[float]:
    values = item.get(name)
    if values is None:
        return []
    if not isinstance(values, list) or len(values) != count or not all(_is_number(value) for value in values):
        raise GraphFileError(f"{where}: '{name}' must be {count} finite numbers")
    return [float(value) for value in values]


def _optional_number(where: str, item: Mapping[str, Any], name: str) -> float | None:
    value = item.get(name)
    if value is not None and not _is_number(value):
        raise GraphFileError(f"{where}: '{name}' must be a finite number")
    return None if value is None else float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
