"""Plain look-ups in a memory: by place, by time, by name, and everything about one thing. No ROS in here."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vlkng_ros.bags.graph_export import entity_row, relation_row, write_graphml
from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import AnswerStatus, Entity, Keyframe, Question, RankedKeyframe, Relation, Vec3

if TYPE_CHECKING:
    from vlkng_ros.answering.ask import MemoryQuery

EVERYWHERE_M = 1e9
MOST_RESULTS = 1000
FRAMES_A_RESULT = 8
"""Keyframes looked through for each entity wanted: one thing is seen in several."""
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Named:
    """What is remembered under a name, best first, with scores in 0..1."""

    entities: list[tuple[Entity, float]]
    keyframes: list[RankedKeyframe]


@dataclass(frozen=True, slots=True)
class Near:
    """What is remembered around a place, nearest first, with distances in metres."""

    entities: list[Entity]
    entity_distances_m: list[float]
    keyframes: list[Keyframe]
    keyframe_distances_m: list[float]


@dataclass(frozen=True, slots=True)
class Around:
    """What was seen around a time, nearest first, and the things those keyframes show."""

    keyframes: list[Keyframe]
    entities: list[Entity]


@dataclass(frozen=True, slots=True)
class Everything:
    """What is remembered of one thing; sightings are newest first."""

    entity: Entity
    sightings: list[RankedKeyframe]
    relations: list[Relation]


def chosen_view(reader: MemoryReader, asked: str, live: str) -> str:
    """The identity view to use: the one asked for, else the builder's, else the first that there is.

    Raises:
        NotInMemoryError: no such view; the message lists those that there are.
    """
    views = reader.views()
    if not asked:
        return live if live in views or not views else views[0]
    if asked not in views:
        raise NotInMemoryError(f"view '{asked}': not in this memory; it has {', '.join(views) or 'none yet'}")
    return asked


def named(
    query: MemoryQuery,
    reader: MemoryReader,
    view: str,
    label: str,
    limit: int,
    *,
    since_ns: int | None = None,
    as_of_ns: int | None = None,
) -> Named:
    """Keyframes that show something of this name, and the entities they show it as.

    Raises:
        InvalidInputError: the name is empty, or the window ends before it begins.
    """
    if not label.strip():
        raise InvalidInputError("label is empty; name what to look for, such as 'red chair'")
    asked = min(MOST_RESULTS, FRAMES_A_RESULT * limit)
    question = Question(f"Where is the {label.strip()}?", since_ns=since_ns, as_of_ns=as_of_ns, max_keyframes=asked)
    answer = query.ask(question)
    if answer.status is not AnswerStatus.OK:
        return Named([], [])
    entities: dict[str, tuple[Entity, float]] = {}
    if view in reader.views():
        for ranked in answer.keyframes:
            keyframe_id = ranked.keyframe.keyframe_id
            assigned = reader.entities_in(view, keyframe_id)
            for observation in reader.observations(keyframe_id):
                detection = observation.detection
                entity_id = assigned.get(observation.observation_id, "")
                shown = (detection.label, detection.box_px) == (ranked.label, ranked.box_px)
                if shown and entity_id and entity_id not in entities and len(entities) < limit:
                    entities[entity_id] = (reader.entity(view, entity_id, as_of_ns), ranked.score)
    return Named(list(entities.values()), list(answer.keyframes[:limit]))


def near(
    reader: MemoryReader,
    view: str,
    position_m: Vec3,
    radius_m: float,
    limit: int,
    *,
    map_id: str = "",
    since_ns: int | None = None,
    as_of_ns: int | None = None,
) -> Near:
    """Entities and keyframes within ``radius_m`` of a place (0: wherever) on one map.

    Args:
        reader: the memory.
        view: whose entities.
        position_m: the place, in the map's frame.
        radius_m: how far from it.
        limit: most of each.
        map_id: the map; empty: that of the newest session.
        since_ns: only what was seen from then on.
        as_of_ns: as if asked then.
    """
    reach_m = radius_m if radius_m > 0 else EVERYWHERE_M
    wanted = None if since_ns is not None else limit
    entities = []
    if view in reader.views():
        entities = reader.near(view, position_m, reach_m, as_of_ns, map_id=map_id or None, limit=wanted)
    entities = [entity for entity in entities if since_ns is None or entity.last_seen_ns >= since_ns][:limit]
    away_m = [float(np.linalg.norm(np.subtract(entity.position.mean_m, position_m))) for entity in entities]
    table = reader.frames()
    of_map = [s.session_id for s in reader.stats().sessions if s.map_id == (map_id or _newest_map(reader))]
    inside = np.isin(table.session, of_map) & _window(table.stamps_ns, since_ns, as_of_ns)
    distances_m = np.linalg.norm(table.position_m - np.asarray(position_m, dtype=np.float32), axis=1)
    found = np.flatnonzero(inside & (distances_m <= reach_m))
    nearest = found[np.argsort(distances_m[found], kind="stable")][:limit]
    keyframes = reader.keyframes(table.ids[nearest].tolist())
    return Near(entities, away_m, keyframes, distances_m[nearest].tolist())


def around(
    reader: MemoryReader, view: str, stamp_ns: int, tolerance_s: float, limit: int, as_of_ns: int | None = None
) -> Around:
    """Keyframes within ``tolerance_s`` of a time (0: the nearest whenever), and the entities they show."""
    table = reader.frames()
    away_ns = np.abs(table.stamps_ns - stamp_ns)
    inside = _window(table.stamps_ns, None, as_of_ns)
    if tolerance_s > 0:
        inside &= away_ns <= round(tolerance_s * 1e9)
    found = np.flatnonzero(inside)
    nearest = found[np.argsort(away_ns[found], kind="stable")][:limit]
    keyframes = reader.keyframes(table.ids[nearest].tolist())
    ids: dict[str, None] = {}
    if view in reader.views():
        for keyframe in keyframes:
            ids |= dict.fromkeys(reader.entities_in(view, keyframe.keyframe_id).values())
    return Around(keyframes, [reader.entity(view, entity_id, as_of_ns) for entity_id in ids])


def everything(reader: MemoryReader, view: str, entity_id: str, limit: int, as_of_ns: int | None = None) -> Everything:
    """One thing with its sightings and relations.

    Raises:
        NotInMemoryError: there is no such thing, or there was none then.
    """
    entity = reader.entity(view, entity_id, as_of_ns)
    sightings = reader.sightings(view, entity_id, as_of_ns=as_of_ns)
    newest = sorted(sightings, key=lambda sighting: (sighting.stamp_ns, sighting.observation_id), reverse=True)
    ranked = []
    for sighting in newest[: limit or None]:
        seen = {o.observation_id: o.detection for o in reader.observations(sighting.keyframe_id)}
        detection = seen.get(sighting.observation_id)
        ranked.append(
            RankedKeyframe(
                keyframe=reader.keyframe(sighting.keyframe_id),
                score=detection.score if detection is not None and detection.score is not None else 0.0,
                label=detection.label if detection is not None else entity.label,
                box_px=detection.box_px if detection is not None else None,
                entity_id=entity_id,
                evidence=(sighting.description,) if sighting.description else (),
            )
        )
    return Everything(entity, ranked, reader.relations(view, entity_id, as_of_ns))


def export(reader: MemoryReader, view: str, form: str, as_of_ns: int | None = None) -> tuple[str, int, int]:
    """A view's graph as text, and how many entities and relations it has.

    Raises:
        InvalidInputError: a format that there is not.
        NotInMemoryError: there is no such view.
    """
    if form not in ("node-link", "graphml"):
        raise InvalidInputError(f"format '{form}': not one of node-link, graphml")
    graph = reader.graph(view, as_of_ns)
    entities = [entity for _, entity in graph.nodes(data="entity")]
    relations = [relation for _, _, relation in graph.edges(data="relation")]
    if form == "graphml":
        out = StringIO()
        write_graphml(out, entities, relations)
        return out.getvalue(), len(entities), len(relations)
    # networkx's node-link layout, which networkx.node_link_graph(data, edges="edges") reads.
    data = {
        "directed": True,
        "multigraph": True,
        "graph": {"view": view},
        "nodes": [entity_row(entity) for entity in entities],
        "edges": [{**(row := relation_row(relation)), "key": row["predicate"]} for relation in relations],
    }
    return json.dumps(data, ensure_ascii=False), len(entities), len(relations)


def write_export(memory: Path, file_name: str, text: str) -> Path:
    """Write an export into the folder ``exports`` beside the memory, whole or not at all.

    Raises:
        InvalidInputError: a name that is more than a plain file name, or a folder that cannot be written to.
    """
    if not FILE_NAME.fullmatch(file_name) or ".." in file_name:
        raise InvalidInputError(
            f"file_name '{file_name}': needs a plain name of letters, digits, '.', '_' and '-'; it goes into "
            f"{memory.parent / 'exports'}"
        )
    folder = memory.parent / "exports"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink():
            raise InvalidInputError(f"{folder} is a link; make it a folder")
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, folder / file_name)
    except OSError as error:
        raise InvalidInputError(f"{folder / file_name}: cannot be written: {error.strerror}") from error
    return folder / file_name


def limit_of(asked: int, default: int) -> int:
    """How many results: what was asked for, within reason; 0 is the default."""
    return min(asked or default, MOST_RESULTS)


def _window(stamps_ns: np.ndarray, since_ns: int | None, as_of_ns: int | None) -> np.ndarray:
    inside = np.ones(len(stamps_ns), dtype=bool)
    if since_ns is not None:
        inside &= stamps_ns >= since_ns
    if as_of_ns is not None:
        inside &= stamps_ns <= as_of_ns
    return inside


def _newest_map(reader: MemoryReader) -> str:
    sessions: Sequence[object] = reader.stats().sessions
    return sessions[-1].map_id if sessions else ""
