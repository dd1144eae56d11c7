"""The entities about a camera, as the boxes of one keyframe are compared with them.

What does not depend on a box is found once: by label which entities are called alike and how tall such things are, by
entity where the camera would see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.memory.association.likelihood import (
    IMPOSSIBLE,
    Sight,
    appearance,
    geometry,
    new_density,
    sights_of,
    typical_height,
)
from vlkng_ros.memory.bearing import Bearing, CameraView
from vlkng_ros.types import Keyframe, Observation

LIKE_LABEL = 0.5
"""Labels less similar than this are never the same thing; up to ``cosine``, geometry must make up for it."""
UNLIKE_COST = 8.0
FAMILIAR = 0.3
"""What a tenfold number of sightings counts in favour of an entity, in units of log 10."""


class _Candidate(NamedTuple):
    """An entity that a label may name."""

    place: int
    """Among the records."""
    record: EntityRecord
    similarity: float
    sights: list[Sight]
    """Where the camera would see it, were it as tall as what is called so."""
    cost: float
    """Of its being called otherwise."""
    familiar: float
    """In favour of what was seen often."""


class _Called(NamedTuple):
    """What is about that a label may name."""

    candidates: list[_Candidate]
    alike: list[EntityRecord]
    """Those that are called alike."""
    novelty: float
    """Log density of things never seen before."""


class Candidates:
    """Compares boxes with the known entities about a camera; ``cosine`` and ``distance_m`` are ``hybrid``'s."""

    def __init__(
        self,
        keyframe: Keyframe,
        camera: CameraView,
        records: Sequence[EntityRecord],
        view: View,
        cosine: float,
        distance_m: float,
    ) -> None:
        self._keyframe = keyframe
        self._camera = camera
        self._records = records
        self._view = view
        self._cosine = cosine
        self._distance_m = distance_m
        self._places: dict[str, list[int]] = {}
        for place, record in enumerate(records):
            self._places.setdefault(record.label, []).append(place)
        self._names: dict[str, _Called] = {}
        self._sights: dict[int, list[Sight]] = {}

    def alike(self, label: str) -> Sequence[EntityRecord]:
        """Those that are called alike."""
        return self._called(label).alike

    def scores(self, observation: Observation, bearing: Bearing) -> list[float]:
        """For each record the log odds of "this is what it shows" against "a thing never seen before"."""
        detection = observation.detection
        called = self._called(detection.label)
        scores = [IMPOSSIBLE] * len(self._records)
        for place, record, similarity, sights, cost, familiar in called.candidates:
            if detection.kind is not record.kind:
                continue
            if not sights:
                scores[place] = self._nearby(record, similarity)
                continue
            score = geometry(sights, bearing)
            if score > IMPOSSIBLE:
                score -= called.novelty
                score -= cost
                score += familiar
                scores[place] = score + appearance(detection.embedding, record.appearance)
        return scores

    def _called(self, label: str) -> _Called:
        found = self._names.get(label)
        if found is None:
            found = self._names[label] = self._look_up(label)
        return found

    def _look_up(self, label: str) -> _Called:
        likeness = self._view.similarities(label)
        similar = [(known, likeness[known]) for known in self._places if likeness[known] > LIKE_LABEL]
        alike = [
            self._records[place]
            for known, similarity in similar
            if similarity > self._cosine
            for place in self._places[known]
        ]
        typical = typical_height(alike)
        candidates = []
        for known, similarity in similar:
            cost = UNLIKE_COST * max(self._cosine - similarity, 0.0) / max(self._cosine - LIKE_LABEL, 0.01)
            for place in self._places[known]:
                record, sights = self._records[place], self._seen(place)
                if sights:
                    sights = [sight.supposing(typical) for sight in sights]
                    if all(sight.expected is None for sight in sights):
                        continue
                familiar = FAMILIAR * math.log(min(record.observation_count, 20))
                candidates.append(_Candidate(place, record, similarity, sights, cost, familiar))
        return _Called(candidates, alike, math.log(new_density(len(alike))))

    def _seen(self, place: int) -> list[Sight]:
        found = self._sights.get(place)
        if found is None:
            found = self._sights[place] = sights_of(self._records[place], self._camera)
        return found

    def _nearby(self, record: EntityRecord, similarity: float) -> float:
        distance = math.dist(self._keyframe.base_pose.position_m, record.seen_from_m)
        if distance > self._distance_m or similarity <= self._cosine:
            return IMPOSSIBLE
        return similarity + 1.0 - distance / self._distance_m
