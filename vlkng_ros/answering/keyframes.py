"""A draft's frames as ranked keyframes: with pose, the box and entity of what was looked for, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from vlkng_ros.answering.draft import Draft
from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.rows import SeenBox
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.concepts import other_wordings
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.types import Entity, RankedKeyframe

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
    best = max((score for _, score in draft.frames), default=1.0) or 1.0
    # Two peaks may be of one sighting, and settle on the same frame: the better one counts.
    scores = dict(reversed(draft.frames))
    frames = {int(scene.keyframe_ids[frame]): (frame, scores[frame]) for frame, _ in draft.frames}
    ids = list(frames)
    loaded = reader.seen_in(ids[:limit])
    if len(loaded) < min(limit, len(ids)):
        loaded = reader.seen_in(ids)[:limit]
    shown = {keyframe.keyframe_id: _shown(boxes, named) for keyframe, boxes in loaded}
    seen = [box.observation_id for box in shown.values() if box is not None]
    names = reader.entities_of(view, seen) if view else {}
    entities: dict[str, Entity] = {}
    keyframes: list[RankedKeyframe] = []
    said = _evidence(retriever, scene, [frames[keyframe.keyframe_id][0] for keyframe, _ in loaded], named)
    for (keyframe, _), evidence in zip(loaded, said, strict=True):
        score = frames[keyframe.keyframe_id][1]
        box = shown[keyframe.keyframe_id]
        entity_id = names.get(box.observation_id, "") if box is not None else ""
        if entity_id and entity_id not in entities and len(entities) < MAX_ENTITIES:
            try:
                entities[entity_id] = reader.entity(view, entity_id, as_of_ns)
            except NotInMemoryError:
                entity_id = ""
        keyframes.append(
            RankedKeyframe(
                keyframe=keyframe,
                score=min(1.0, score / best),
                label=box.label if box is not None else "",
                box_px=box.box_px if box is not None else None,
                entity_id=entity_id,
                evidence=evidence,
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


def _shown(boxes: list[SeenBox], named: _Named) -> SeenBox | None:
    """The box that says most of what was looked for; of equals the surest, then the largest, then the first."""
    shares = [named.share(f"{box.label} {box.region_text}") for box in boxes]
    most = max(shares, default=0.0)
    if most < NAMED:
        return None
    alike = [box for box, share in zip(boxes, shares, strict=True) if share == most]
    return max(alike, key=lambda box: (box.score or 0.0, _area(box), -box.observation_id))


def _area(box: SeenBox) -> float:
    return (box.box_px[2] - box.box_px[0]) * (box.box_px[3] - box.box_px[1]) if box.box_px is not None else 0.0


def _evidence(retriever: Retriever, scene: Scene, frames: Sequence[int], named: _Named) -> list[tuple[str, ...]]:
    """Of each frame the texts that name what was looked for, best first, else its first one."""
    index = retriever.index
    said = [list(dict.fromkeys(index.texts_of(scene.cut.first + frame).tolist())) for frame in frames]
    slots = np.array(list(chain.from_iterable(said)), dtype=np.intp)
    shares = iter(index.said.shares(slots, named.wanted).tolist())
    found: list[tuple[str, ...]] = []
    for texts in said:
        share = dict(zip(texts, shares, strict=False))
        chosen = [slot for slot in sorted(texts, key=share.__getitem__, reverse=True)[:3] if share[slot] > 0]
        found.append(tuple(index.texts[slot] for slot in chosen or texts[:1]))
    return found
