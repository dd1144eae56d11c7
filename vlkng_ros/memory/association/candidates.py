"""The entities about a camera, as the boxes of one keyframe are compared with them.

What does not depend on the camera is found once for an entity as it is. What does not depend on a box is found once a
keyframe: by label which entities are called alike and how tall such things are, by entity where the camera would see
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.memory.association.likelihood import (
    APPEARANCE_BOUND,
    IMPOSSIBLE,
    PLACED,
    UNLIKELY,
    Sight,
    appearance,
    geometry,
    log_height,
    new_density,
    tracks_of,
    typical_height,
)
from vlkng_ros.memory.association.outlook import Outlook, row_of
from vlkng_ros.memory.bearing import Bearing, CameraView
from vlkng_ros.memory.projection import Track
from vlkng_ros.memory.track import takes_height, with_height
from vlkng_ros.types import Detection, Float64Array, Keyframe

LIKE_LABEL = 0.5
"""Labels less similar than this are never the same thing; up to ``cosine``, geometry must make up for it."""
UNLIKE_COST = 8.0
FAMILIAR = 0.3
"""What a tenfold number of sightings counts in favour of an entity, in units of log 10."""


class Outline:
    """What of an entity, as long as it stays as it is, does not depend on who looks at it."""

    __slots__ = ("familiar", "label", "log_height", "open", "record", "rows", "settled")

    def __init__(self, record: EntityRecord) -> None:
        self.record = record
        self.label = record.label
        tracks = tracks_of(record.place)
        self.open = [item for item in tracks if takes_height(item[0])]
        """Tracks of which knowing how tall such things are would tell more, each with the doubt against it."""
        self.settled = [item for item in tracks if not takes_height(item[0])]
        """The others."""
        self.rows = b"".join([row_of(track) for track, _ in self.settled])
        """The others as ``Outlook`` takes them."""
        self.log_height = log_height(record.place)
        self.familiar = FAMILIAR * math.log(min(record.observation_count, 20))
        """In favour of what was seen often."""


class Called:
    """What is about that a label may name."""

    def __init__(self, number: int, costs: Float64Array, alike: Sequence[Outline]) -> None:
        self.number = number
        """Among what the boxes of the keyframe are called, from 1 on."""
        self.costs = costs
        """By entity the cost of being called otherwise; infinite where the labels are too unlike."""
        self.alike = alike
        """Those that are called alike."""
        self.novelty = math.log(new_density(len(alike)))
        """Log density of things never seen before."""

    @cached_property
    def typical(self) -> tuple[float, float] | None:
        """How tall such things are."""
        return typical_height([outline.log_height for outline in self.alike])


class Candidates:
    """Compares boxes with the known entities about a camera; ``cosine`` and ``distance_m`` are ``hybrid``'s."""

    def __init__(
        self,
        keyframe: Keyframe,
        camera: CameraView,
        seen: Sequence[tuple[Detection, Bearing]],
        outlines: Sequence[Outline],
        view: View,
        cosine: float,
        distance_m: float,
    ) -> None:
        self._keyframe = keyframe
        self._camera = camera
        self._seen = seen
        self._outlines = outlines
        self._view = view
        self._cosine = cosine
        self._distance_m = distance_m
        self._called = self._look_up(dict.fromkeys(detection.label for detection, _ in seen))

    def alike(self, label: str) -> Iterable[EntityRecord]:
        """Those that are called like one of the boxes."""
        return (outline.record for outline in self._called[label].alike)

    def scores(self) -> Float64Array:
        """For each box and each entity the log odds of "this is what it shows" against "a thing never seen before".

        Where the latter is likelier for certain, it may be ``IMPOSSIBLE``.
        """
        scores = np.full((len(self._seen), len(self._outlines)), IMPOSSIBLE)
        for (i, place), sights in self._sights().items():
            (detection, bearing), outline = self._seen[i], self._outlines[place]
            score = geometry(sights, bearing)
            if score > IMPOSSIBLE and detection.kind is outline.record.kind:
                called = self._called[detection.label]
                score -= called.novelty
                score -= float(called.costs[place])
                score += outline.familiar
                scores[i, place] = score + appearance(detection.embedding, outline.record.appearance)
        for place, outline in enumerate(self._outlines):
            if not outline.settled and not outline.open:
                scores[:, place] = [self._nearby(outline.record, detection) for detection, _ in self._seen]
        return scores

    def _sights(self) -> dict[tuple[int, int], list[Sight]]:
        """By box and entity the tracks that a box may show rather than something new."""
        tracks = [(place, *item) for place, outline in enumerate(self._outlines) for item in outline.settled]
        rows = [outline.rows for outline in self._outlines]
        by_label = [0] * len(tracks)
        open_ = [(place, *item) for place, outline in enumerate(self._outlines) for item in outline.open]
        for like in self._called.values():
            # Each label has its own idea of how tall such things are.
            supposed = _supposed(open_, like)
            tracks += supposed
            rows += [row_of(track) for _, track, _ in supposed]
            by_label += [like.number] * len(supposed)
        outlook = Outlook(b"".join(rows), self._camera)
        front = [tracks[number] for number in outlook.front.tolist()]
        if not front:
            return {}
        # Below this no score is positive.
        called = [self._called[detection.label] for detection, _ in self._seen]
        most = [[like.novelty - _most(detection)] for like, (detection, _) in zip(called, self._seen, strict=True)]
        needed = np.stack([like.costs for like in called]) + most - [outline.familiar for outline in self._outlines]
        needed = np.maximum(needed, UNLIKELY)[:, [place for place, *_ in front]]
        of = np.array(by_label)[outlook.front]
        enough = outlook.highest([bearing for _, bearing in self._seen]) >= needed
        enough &= (of == 0) | (of == [[like.number] for like in called])
        sights: dict[int, Sight] = {}
        found: dict[tuple[int, int], list[Sight]] = {}
        for i, j in zip(*(axis.tolist() for axis in np.nonzero(enough)), strict=True):
            place, track, doubt = front[j]
            sight = sights.get(j)
            if sight is None:
                sight = sights[j] = Sight(self._outlines[place].record, track, self._camera, doubt)
            found.setdefault((i, place), []).append(sight)
        return found

    def _look_up(self, labels: Iterable[str]) -> dict[str, Called]:
        known: dict[str, list[Outline]] = {}
        for outline in self._outlines:
            known.setdefault(outline.label, []).append(outline)
        numbers = {name: number for number, name in enumerate(known)}
        label_of = np.array([numbers[outline.label] for outline in self._outlines], dtype=np.intp)
        likeness = [self._view.similarities(label) for label in labels]
        similar = np.array([[like[name] for name in known] for like in likeness])
        unlike = UNLIKE_COST * (self._cosine - similar) / max(self._cosine - LIKE_LABEL, 0.01)
        costs = np.where(similar > LIKE_LABEL, np.where(similar >= self._cosine, 0.0, unlike), math.inf)[:, label_of]
        alike: list[list[Outline]] = [[] for _ in likeness]
        groups = list(known.values())
        for i, j in zip(*(axis.tolist() for axis in np.nonzero(similar > max(self._cosine, LIKE_LABEL))), strict=True):
            alike[i] += groups[j]
        return {label: Called(i + 1, costs[i], alike[i]) for i, label in enumerate(labels)}

    def _nearby(self, record: EntityRecord, detection: Detection) -> float:
        similarity = self._view.similarities(detection.label)[record.label]
        distance = math.dist(self._keyframe.base_pose.position_m, record.seen_from_m)
        alike = similarity > max(self._cosine, LIKE_LABEL) and detection.kind is record.kind
        return similarity + 1.0 - distance / self._distance_m if alike and distance <= self._distance_m else IMPOSSIBLE


def _supposed(tracks: Iterable[tuple[int, Track, float]], like: Called) -> list[tuple[int, Track, float]]:
    """Tracks of unknown height, of what a label may name, as if they were as tall as is usual of it."""
    typical = like.typical
    return [
        (place, track if typical is None else with_height(track, typical), doubt)
        for place, track, doubt in tracks
        if like.costs[place] < math.inf
    ]


def _most(detection: Detection) -> float:
    """What may count in favour of an entity beside the box."""
    return PLACED if detection.embedding is None else PLACED + APPEARANCE_BOUND
