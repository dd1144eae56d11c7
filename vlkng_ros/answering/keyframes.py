"""A draft's frames as ranked keyframes: with pose, the box and entity of what was looked for, and the evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.answering.draft import Draft
from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.concepts import other_wordings
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.types import Entity, Float64Array, Observation, RankedKeyframe

MAX_ENTITIES = 10
NAMED = 0.5
"""Share of the words looked for that a detection must say to be the thing shown."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Keyframes, best first, and the entities that they show of what was looked for, each once."""

    keyframes: tuple[RankedKeyframe, ...]
    entities: tuple[Entity, ...]


def load_ranked(
    retriever: Retriever, query: Query, scene: Scene, draft: Draft, limit: int, as_of_ns: int, view: str
) -> Ranked:
    """The best ``limit`` frames of a draft, loaded. Forgotten ones are passed over."""
    reader = retriever.reader
    named = _Named(query.target)
    evidence = _Evidence(retriever, scene, named)
    best = max((score for _, score in draft.frames), default=1.0) or 1.0
    frames = {int(scene.keyframe_ids[frame]): (frame, score) for frame, score in dict(draft.frames).items()}
    ids = list(frames)
    loaded = reader.seen_in(ids[:limit])
    if len(loaded) < min(limit, len(ids)):
        loaded = reader.seen_in(ids)[:limit]
    shown = {keyframe.keyframe_id: _shown(observations, named) for keyframe, observations in loaded}
    seen = [observation.observation_id for observation in shown.values() if observation is not None]
    names = reader.entities_of(view, seen) if view else {}
    entities: dict[str, Entity] = {}
    keyframes: list[RankedKeyframe] = []
    for keyframe, _ in loaded:
        frame, score = frames[keyframe.keyframe_id]
        observation = shown[keyframe.keyframe_id]
        entity_id = names.get(observation.observation_id, "") if observation is not None else ""
        if entity_id and entity_id not in entities and len(entities) < MAX_ENTITIES:
            try:
                entities[entity_id] = reader.entity(view, entity_id, as_of_ns)
            except NotInMemoryError:
                entity_id = ""
        keyframes.append(
            RankedKeyframe(
                keyframe=keyframe,
                score=min(1.0, score / best),
                label=observation.detection.label if observation is not None else "",
                box_px=observation.detection.box_px if observation is not None else None,
                entity_id=entity_id,
                evidence=evidence.of(frame),
            )
        )
    return Ranked(tuple(keyframes), tuple(entities.values()))


class _Named:
    """How much of what was looked for texts say: the share of the words of the wording that they say most of."""

    def __init__(self, target: str) -> None:
        wordings = (target, *other_wordings(target)) if target else ()
        self.wanted = [words for words in (frozenset(terms(w)) for w in wordings) if words]
        self._known: dict[str, float] = {}

    def share(self, text: str) -> float:
        """Of one text."""
        share = self._known.get(text)
        if share is None:
            words = frozenset(terms(text))
            share = max([len(words & wanted) / len(wanted) for wanted in self.wanted], default=0.0)
            self._known[text] = share
        return share


def _shown(observations: list[Observation], named: _Named) -> Observation | None:
    """The detection that says most of what was looked for; of equals the surest, then the largest."""
    best: tuple[float, float, float, int] | None = None
    shown = None
    for observation in observations:
        detection = observation.detection
        text = f"{detection.label} {detection.region_text}"
        share = named.share(text)
        if share < NAMED:
            continue
        box = detection.box_px
        area = (box[2] - box[0]) * (box[3] - box[1]) if box is not None else 0.0
        key = (share, detection.score or 0.0, area, -observation.observation_id)
        if best is None or key > best:
            best, shown = key, observation
    return shown


class _Evidence:
    """What frames say of what was looked for."""

    def __init__(self, retriever: Retriever, scene: Scene, named: _Named) -> None:
        self._index = retriever.index
        self._first = scene.cut.first
        self._wanted = named.wanted

    def of(self, frame: int) -> tuple[str, ...]:
        """The frame's texts that name what was looked for, best first, else its first one."""
        slots = np.array(list(dict.fromkeys(self._index.texts_of(self._first + frame).tolist())), dtype=np.intp)
        shares = self._shares(slots)
        best = np.argsort(-shares, kind="stable")[:3]
        chosen = slots[best[shares[best] > 0]] if len(slots) else slots
        return tuple(self._index.texts[slot] for slot in (chosen if len(chosen) else slots[:1]).tolist())

    def _shares(self, slots: NDArray[np.intp]) -> Float64Array:
        """How much of what was looked for some texts say."""
        words = self._index.said.of(slots)
        said = {term: np.zeros(len(slots)) for term in frozenset().union(*self._wanted)}
        for term, by in said.items():
            by[words.rows[self._index.said.where(words, (term,))]] = 1.0
        shares = [sum((said[term] for term in wanted), np.zeros(len(slots))) / len(wanted) for wanted in self._wanted]
        return np.max(shares, axis=0) if shares else np.zeros(len(slots))
