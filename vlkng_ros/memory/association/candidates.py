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


class _Called(NamedTuple):
    """What is about that may be what a label names."""

    similar: list[tuple[int, float]]
    """Places among the records, and the similarity of their labels."""
    alike: list[EntityRecord]
    """Those of them that are called alike."""
    novelty: float
    """Log density of things never seen before."""
    typical: tuple[float, float] | None
    """See ``typical_height``."""


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
        self._called_: dict[str, _Called] = {}
        self._sights: dict[tuple[int, tuple[float, float] | None], list[Sight]] = {}

    def alike(self, label: str) -> Sequence[EntityRecord]:
        """Those that are called alike."""
        return self._called(label).alike

    def scores(self, observation: Observation, bearing: Bearing) -> list[float]:
        """For each record the log odds of "this is what it shows" against "a thing never seen before"."""
        detection = observation.detection
        called = self._called(detection.label)
        scores = [IMPOSSIBLE] * len(self._records)
        for place, similarity in called.similar:
            record = self._records[place]
            if detection.kind is not record.kind:
                continue
            if record.place.track is None:
                scores[place] = self._nearby(record, similarity)
                continue
            score = geometry(self._seen(place, called.typical), bearing)
            if score <= IMPOSSIBLE:
                continue
            score -= called.novelty
            score -= UNLIKE_COST * max(self._cosine - similarity, 0.0) / max(self._cosine - LIKE_LABEL, 0.01)
            score += FAMILIAR * math.log(min(record.observation_count, 20))
            scores[place] = score + appearance(detection.embedding, record.appearance)
        return scores

    def _called(self, label: str) -> _Called:
        found = self._called_.get(label)
        if found is None:
            likeness = self._view.similarities(label)
            similar, alike = [], []
            for known, places in self._places.items():
                similarity = likeness[known]
                if similarity > LIKE_LABEL:
                    similar += [(place, similarity) for place in places]
                if similarity > self._cosine:
                    alike += [self._records[place] for place in places]
            novelty = math.log(new_density(len(alike)))
            found = self._called_[label] = _Called(similar, alike, novelty, typical_height(alike))
        return found

    def _seen(self, place: int, typical: tuple[float, float] | None) -> list[Sight]:
        found = self._sights.get((place, typical))
        if found is None:
            found = self._sights[place, typical] = sights_of(self._records[place], self._camera, typical)
        return found

    def _nearby(self, record: EntityRecord, similarity: float) -> float:
        distance = math.dist(self._keyframe.base_pose.position_m, record.seen_from_m)
        if distance > self._distance_m or similarity <= self._cosine:
            return IMPOSSIBLE
        return similarity + 1.0 - distance / self._distance_m
