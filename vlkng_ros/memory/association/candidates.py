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
    APPEARANCE_BOUND,
    IMPOSSIBLE,
    PLACED,
    Sight,
    appearance,
    geometry,
    new_density,
    sights_of,
    typical_height,
)
from vlkng_ros.memory.bearing import Bearing, CameraView
from vlkng_ros.types import EntityKind, Keyframe, Observation

LIKE_LABEL = 0.5
"""Labels less similar than this are never the same thing; up to ``cosine``, geometry must make up for it."""
UNLIKE_COST = 8.0
FAMILIAR = 0.3
"""What a tenfold number of sightings counts in favour of an entity, in units of log 10."""


class _Candidate(NamedTuple):
    """An entity about the camera."""

    place: int
    """Among the records."""
    record: EntityRecord
    kind: EntityKind
    sights: list[Sight]
    """Where the camera would see it; none where nothing but the robot's place is known of it."""
    familiar: float
    """In favour of what was seen often."""


class _Namesakes(NamedTuple):
    """Entities with one label."""

    records: list[EntityRecord]
    settled: list[_Candidate]
    """Those that the camera may see, and of which a typical height tells nothing more."""
    open: list[_Candidate]
    """Those of which it does."""


class _Called(NamedTuple):
    """What is about that a label may name."""

    candidates: list[tuple[float, float, list[_Candidate]]]
    """After the similarity of the labels and the cost of being called otherwise."""
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
        self._range = max(cosine - LIKE_LABEL, 0.01)
        self._namesakes: dict[str, _Namesakes] = {}
        self._called: dict[str, _Called] = {}

    def alike(self, label: str) -> Sequence[EntityRecord]:
        """Those that are called alike."""
        return self._what_is_called(label).alike

    def scores(self, observation: Observation, bearing: Bearing) -> list[float]:
        """For each record the log odds of "this is what it shows" against "a thing never seen before".

        Where the latter is likelier for certain, it may be ``IMPOSSIBLE``.
        """
        detection = observation.detection
        called = self._what_is_called(detection.label)
        scores = [IMPOSSIBLE] * len(self._records)
        most = PLACED if detection.embedding is None else PLACED + APPEARANCE_BOUND
        for similarity, cost, candidates in called.candidates:
            least = called.novelty + cost - most
            for place, record, kind, sights, familiar in candidates:
                if detection.kind is not kind:
                    continue
                if not sights:
                    scores[place] = self._nearby(record, similarity)
                    continue
                score = geometry(sights, bearing, least - familiar)
                if score > IMPOSSIBLE:
                    score -= called.novelty
                    score -= cost
                    score += familiar
                    scores[place] = score + appearance(detection.embedding, record.appearance)
        return scores

    def _what_is_called(self, label: str) -> _Called:
        found = self._called.get(label)
        if found is None:
            found = self._called[label] = self._look_up(label)
        return found

    def _look_up(self, label: str) -> _Called:
        likeness = self._view.similarities(label)
        similar = [
            (similarity, self._all_called(known))
            for known in self._places
            if (similarity := likeness[known]) > LIKE_LABEL
        ]
        alike = [record for similarity, those in similar if similarity > self._cosine for record in those.records]
        typical = typical_height(alike)
        candidates = []
        for similarity, those in similar:
            cost = 0.0 if similarity >= self._cosine else UNLIKE_COST * (self._cosine - similarity) / self._range
            supposed = [c._replace(sights=[sight.supposing(typical) for sight in c.sights]) for c in those.open]
            candidates.append((similarity, cost, those.settled + supposed))
        return _Called(candidates, alike, math.log(new_density(len(alike))))

    def _all_called(self, label: str) -> _Namesakes:
        found = self._namesakes.get(label)
        if found is None:
            found = self._namesakes[label] = _Namesakes([], [], [])
            for place in self._places[label]:
                record = self._records[place]
                sights = sights_of(record, self._camera)
                familiar = FAMILIAR * math.log(min(record.observation_count, 20))
                candidate = _Candidate(place, record, record.kind, sights, familiar)
                found.records.append(record)
                if [sight for sight in sights if sight.open]:
                    found.open.append(candidate)
                elif not sights or [sight for sight in sights if sight.size is not None]:
                    found.settled.append(candidate)
        return found

    def _nearby(self, record: EntityRecord, similarity: float) -> float:
        distance = math.dist(self._keyframe.base_pose.position_m, record.seen_from_m)
        if distance > self._distance_m or similarity <= self._cosine:
            return IMPOSSIBLE
        return similarity + 1.0 - distance / self._distance_m
