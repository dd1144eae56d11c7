"""A memory as node-link JSON, whole enough to be made again from it: keyframes, what was seen in each, and one view.

The file is what ``networkx.node_link_graph(data, edges="edges")`` takes. Entities and keyframes are nodes; an edge of
type ``seen_in`` is an observation (from the entity to the keyframe that shows it), one of type ``relation`` a
relation between entities. The places of the path are entities of the view ``path``; who reads the file finds them anew
from its keyframes. Images and visual embeddings are not in it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from vlkng_ros.types import Entity, Keyframe, Observation, Pose, Relation

FORMAT = "vlkng_ros memory"
VERSION = 1


def write_node_link(
    out: TextIO,
    view: str,
    entities: Iterable[Entity],
    relations: Iterable[Relation],
    keyframes: Iterable[tuple[Keyframe, Sequence[Observation], Mapping[int, str]]],
) -> None:
    """Write a memory; each keyframe comes with its observations and the entity of each by observation id.

    Keyframes come in the order in which they were stored; they are written as they come, one at a time.
    """
    head = {"format": FORMAT, "version": VERSION, "view": view}
    out.write(f'{{"directed": true, "multigraph": true, "graph": {json.dumps(head)},\n"nodes": [\n')
    separator = ""
    for entity in entities:
        out.write(separator + _dump(_entity_node(entity)))
        separator = ",\n"
    edges: list[str] = []
    loose: set[str] = set()
    for keyframe, observations, assigned in keyframes:
        out.write(separator + _dump(_keyframe_node(keyframe)))
        separator = ",\n"
        for observation in observations:
            entity_id = assigned.get(observation.observation_id, "")
            if not entity_id:
                loose.add(f"observation/{observation.observation_id}")
            edges.append(_dump(_seen_in(observation, entity_id)))
    for name in sorted(loose):
        out.write(separator + _dump({"id": name, "type": "unassigned"}))
        separator = ",\n"
    edges += (_dump(_relation_edge(relation)) for relation in relations)
    out.write('\n],\n"edges": [\n' + ",\n".join(edges) + "\n]}\n")


def _dump(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _entity_node(entity: Entity) -> dict[str, object]:
    position = entity.position
    covariance = position.covariance_m2.tolist()
    return {
        "id": entity.entity_id,
        "type": "entity",
        "view": entity.view,
        "kind": entity.kind.value,
        "label": entity.label,
        "labels": dict(entity.labels),
        "attributes": dict(entity.attributes),
        "position_m": list(position.mean_m),
        "covariance_m2": [[c if math.isfinite(c) else None for c in row] for row in covariance],
        "position_source": position.source.value,
        "frame_id": position.frame_id,
        "map_id": position.map_id,
        "first_seen_ns": entity.first_seen_ns,
        "last_seen_ns": entity.last_seen_ns,
        "observation_count": entity.observation_count,
        "state": entity.state.value,
    }


def _keyframe_node(keyframe: Keyframe) -> dict[str, object]:
    intrinsics = keyframe.intrinsics
    return {
        "id": f"keyframe/{keyframe.keyframe_id}",
        "type": "keyframe",
        "stamp_ns": keyframe.stamp_ns,
        "frame_id": keyframe.base_pose.frame_id,
        "base_pose": _pose_values(keyframe.base_pose),
        "camera_pose": _pose_values(keyframe.camera_pose) if keyframe.camera_pose is not None else None,
        "camera": keyframe.camera,
        "session": keyframe.session_id,
        "robot": keyframe.robot,
        "map_id": keyframe.map_id,
        "intrinsics": None
        if intrinsics is None
        else [
            intrinsics.fx,
            intrinsics.fy,
            intrinsics.cx,
            intrinsics.cy,
            intrinsics.width_px,
            intrinsics.height_px,
        ],
        "image_size_px": list(keyframe.image_size_px) if keyframe.image_size_px is not None else None,
        "perception": keyframe.perception.value,
        "caption": keyframe.caption,
    }


def _pose_values(pose: Pose) -> list[float]:
    return [*pose.position_m, *pose.orientation]


def _seen_in(observation: Observation, entity_id: str) -> dict[str, object]:
    detection = observation.detection
    return {
        "source": entity_id or f"observation/{observation.observation_id}",
        "target": f"keyframe/{observation.keyframe_id}",
        "key": f"seen_in/{observation.observation_id}",
        "type": "seen_in",
        "label": detection.label,
        "box_px": list(detection.box_px) if detection.box_px is not None else None,
        "score": detection.score,
        "region_text": detection.region_text,
        "attributes": dict(detection.attributes),
        "kind": detection.kind.value,
        "local_id": detection.local_id,
        "depth_m": detection.depth_m,
        "told": detection.told,
        "backend": observation.backend,
        "model": observation.model,
    }


def _relation_edge(relation: Relation) -> dict[str, object]:
    return {
        "source": relation.subject_id,
        "target": relation.object_id,
        "key": f"relation/{relation.predicate}",
        "type": "relation",
        "predicate": relation.predicate,
        "stamps_ns": list(relation.stamps_ns),
        "keyframes": [f"keyframe/{keyframe_id}" for keyframe_id in relation.keyframe_ids],
    }
