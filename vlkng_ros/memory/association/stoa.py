"""VL-KnG's spatiotemporal object association (section 6.2): a language model tells what is the same thing, by chunks.

For every chunk of 8 keyframes a decision function gets the chunk's graph and the part of the view's graph that comes
into question, and names for each thing of the chunk a known entity or none. Its word is not trusted: an entity that
was not offered, one of another type, and one that two boxes of a keyframe would share are refused. What is refused,
what it said nothing of, and everything where it fails is decided by the rule of ``proximity``.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vlkng_ros.errors import ModelOutputError, ModelUnavailableError
from vlkng_ros.memory.association.base import Associator, EntityRecord, View
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.association.untaken import Untaken
from vlkng_ros.memory.labels import type_slug
from vlkng_ros.types import EntityKind, Keyframe, Observation

logger = logging.getLogger(__name__)

CHUNK_KEYFRAMES = 8
"""b in the paper."""
CANDIDATES_M, MAX_CANDIDATES = 25.0, 60
"""Entities seen from within this distance come into question, the nearest ones."""
LIKE_LABEL = 0.5
"""Cosine of labels above which two words may name one type."""
GIVE_UP_AFTER = 3
"""Chunks without any reply after which the model is not asked again."""
NEW = "new"

Frames = Sequence[tuple[Keyframe, Sequence[Observation]]]


@dataclass(slots=True)
class LocalThing:
    """A thing of a chunk: its boxes under one local id."""

    local_id: str
    label: str
    kind: EntityKind
    descriptions: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    keyframe_ids: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ChunkGraph:
    """What a decision is made from: the chunk's things by local id, and the entities that come into question by id."""

    things: Mapping[str, LocalThing]
    known: Mapping[str, EntityRecord]

    def chunk_text(self) -> str:
        """A line a thing, with what it was seen together with."""
        return "\n".join(self._lines())

    def known_text(self) -> str:
        """A line an entity."""
        lines = (_line(name, r.label, "", r.attributes) for name, r in self.known.items())
        return "\n".join(lines) or "(none yet)"

    def _lines(self) -> Iterator[str]:
        for name, thing in self.things.items():
            others = [o for o, other in self.things.items() if o != name and other.keyframe_ids & thing.keyframe_ids]
            together = f"; seen together with {', '.join(others)}" if others else ""
            yield _line(name, thing.label, "; ".join(thing.descriptions), thing.attributes) + together


Decide = Callable[[ChunkGraph], Mapping[str, str]]
"""Local id -> global id or ``NEW``; raises ``ModelUnavailableError`` or ``ModelOutputError``."""


@dataclass(slots=True)
class StoaCounts:
    """What became of the model's decisions."""

    chunks: int = 0
    unanswered: int = 0
    """Chunks for which there was no usable reply, or nobody to ask."""
    decided: int = 0
    refused: int = 0
    """Things of chunks whose decision was taken, and was not."""


class StoaAssociator:
    """See the module.

    Args:
        decide: who is asked; None: nobody, so that ``proximity`` decides all.
        chunk_from: the described keyframes from one up to the end of its chunk, in order; None: the keyframe alone.
        fall_back: decides what ``decide`` does not.
    """

    view = "stoa"

    def __init__(
        self,
        decide: Decide | None = None,
        chunk_from: Callable[[int], Frames] | None = None,
        fall_back: Associator | None = None,
    ) -> None:
        self.counts = StoaCounts()
        self._decide = decide
        self._chunk_from = chunk_from
        self._fall_back = fall_back or ProximityAssociator()
        self._silent = 0
        self._chunk: set[int] = set()
        self._local: dict[int, str] = {}
        """Observation -> local id, of the chunk under way."""
        self._entity: dict[str, str] = {}
        """Local id -> entity id, likewise."""
        self._created: tuple[Keyframe, list[int]] | None = None
        """Observations of the last keyframe that became new entities, in their order."""

    def assign(
        self, keyframe: Keyframe, observations: Sequence[Observation], view: View
    ) -> Sequence[EntityRecord | None]:
        """For each observation the entity that it was decided to show, or None for a new one."""
        self._learn_created(view)
        if keyframe.keyframe_id not in self._chunk:
            self._begin_chunk(keyframe, observations, view)
        decided: list[EntityRecord | None] = [None] * len(observations)
        nearby = {record.entity_id: record for record in self._near(keyframe, view)} if self._entity else {}
        left, taken = [], set[str]()
        for index, observation in enumerate(observations):
            local_id = self._local.get(observation.observation_id, "")
            entity_id = self._entity.get(local_id, "")
            if entity_id == NEW:
                continue
            record = nearby.get(entity_id)
            if record is None or entity_id in taken:
                left.append(index)
            else:
                decided[index] = record
                taken.add(entity_id)
        if left:
            free = Untaken(view, taken)
            chosen = self._fall_back.assign(keyframe, [observations[i] for i in left], free)
            for index, record in zip(left, chosen, strict=True):
                decided[index] = record
        self._created = (
            keyframe,
            [o.observation_id for o, record in zip(observations, decided, strict=True) if record is None],
        )
        return decided

    def _learn_created(self, view: View) -> None:
        """Which entities the last keyframe's new observations became: they were made in the order of the observations.

        From then on a local id means that entity for the rest of its chunk.
        """
        if self._created is None:
            return
        keyframe, observations = self._created
        self._created = None
        made = [
            record
            for record in view.near(keyframe.base_pose.position_m, 0.01, keyframe.map_id)
            if record.last_keyframe_id == keyframe.keyframe_id and record.observation_count == 1
        ]
        if len(made) == len(observations):
            for observation_id, record in zip(observations, made, strict=True):
                local_id = self._local.get(observation_id)
                if local_id is not None and self._entity.get(local_id) == NEW:
                    self._entity[local_id] = record.entity_id

    def _begin_chunk(self, keyframe: Keyframe, observations: Sequence[Observation], view: View) -> None:
        frames = [] if self._chunk_from is None else list(self._chunk_from(keyframe.keyframe_id))
        if not frames or frames[0][0].keyframe_id != keyframe.keyframe_id:
            frames = [(keyframe, observations)]
        self._chunk = {frame.keyframe_id for frame, _ in frames}
        self._local, things = local_things(frames)
        self._entity = {}
        if not things:
            return
        self.counts.chunks += 1
        known = {record.entity_id: record for record in self._candidates(keyframe, things, view)}
        replied = self._ask(ChunkGraph(things, known))
        if replied is None:
            self.counts.unanswered += 1
            return
        self._entity = checked(replied, things, known, view)
        self.counts.decided += len(self._entity)
        self.counts.refused += len(things) - len(self._entity)

    def _ask(self, graph: ChunkGraph) -> Mapping[str, str] | None:
        if self._decide is None or self._silent >= GIVE_UP_AFTER:
            return None
        try:
            replied = self._decide(graph)
        except ModelOutputError as error:
            logger.warning("stoa: a chunk falls back to proximity: %s", error)
            return None
        except ModelUnavailableError as error:
            self._silent += 1
            more = "; it is not asked again" if self._silent >= GIVE_UP_AFTER else ""
            logger.warning("stoa: a chunk falls back to proximity: %s%s", error, more)
            return None
        self._silent = 0
        return replied

    def _candidates(self, keyframe: Keyframe, things: Mapping[str, LocalThing], view: View) -> list[EntityRecord]:
        similarities = [view.similarities(label) for label in {thing.label for thing in things.values()}]
        near = [
            record
            for record in self._near(keyframe, view)
            if any(similar[record.label] > LIKE_LABEL for similar in similarities)
        ]
        here = keyframe.base_pose.position_m
        return sorted(near, key=lambda record: math.dist(record.seen_from_m, here))[:MAX_CANDIDATES]

    def _near(self, keyframe: Keyframe, view: View) -> list[EntityRecord]:
        return list(view.near(keyframe.base_pose.position_m, CANDIDATES_M, keyframe.map_id))


def local_things(frames: Frames) -> tuple[dict[int, str], dict[str, LocalThing]]:
    """A chunk's things by local id, and each observation's local id.

    Where the model gave no local ids, the n-th thing of a label from the left is taken to be one thing in the chunk's
    keyframes.
    """
    local: dict[int, str] = {}
    things: dict[str, LocalThing] = {}
    for keyframe, observations in frames:
        counts: dict[str, int] = {}
        in_order = sorted(observations, key=lambda o: o.detection.box_px[0] if o.detection.box_px else 0.0)
        for observation in in_order:
            detection = observation.detection
            slug = type_slug(detection.label)
            counts[slug] = counts.get(slug, 0) + 1
            name = detection.local_id or f"{slug}_{counts[slug]}"
            thing = things.get(name)
            if thing is not None and keyframe.keyframe_id in thing.keyframe_ids:
                continue  # A local id that a keyframe has twice names one of them only.
            if thing is None:
                thing = things[name] = LocalThing(name, detection.label, detection.kind)
            thing.keyframe_ids.add(keyframe.keyframe_id)
            if detection.region_text and detection.region_text not in thing.descriptions:
                thing.descriptions.append(detection.region_text)
            thing.attributes.update({key: value for key, value in detection.attributes.items() if value})
            local[observation.observation_id] = name
    return local, things


def checked(
    replied: Mapping[str, str], things: Mapping[str, LocalThing], known: Mapping[str, EntityRecord], view: View
) -> dict[str, str]:
    """The part of a reply that can be true: local id -> entity id or ``NEW``."""
    accepted: dict[str, str] = {}
    for local_id, thing in things.items():
        entity_id = replied.get(local_id)
        if entity_id == NEW:
            accepted[local_id] = NEW
            continue
        record = known.get(entity_id) if entity_id is not None else None
        if record is None or record.kind is not thing.kind:
            continue
        if view.similarities(thing.label)[record.label] <= LIKE_LABEL:
            continue
        rivals = (things[other] for other, taken in accepted.items() if taken == entity_id)
        if any(rival.keyframe_ids & thing.keyframe_ids for rival in rivals):
            continue
        accepted[local_id] = record.entity_id
    return accepted


def _line(name: str, label: str, description: str, attributes: Mapping[str, str]) -> str:
    said = [json.dumps(text[:200], ensure_ascii=False) for text in (label, description) if text]
    said += [f"{key} {json.dumps(value[:80], ensure_ascii=False)}" for key, value in attributes.items() if value]
    return f"- {name}: {', '.join(said)}"
