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
from vlkng_ros.memory.association.outlook import Outlook, as_tall_as, row_of, table_of
from vlkng_ros.memory.bearing import Bearing, CameraView
from vlkng_ros.memory.projection import Track
from vlkng_ros.memory.track import takes_height, with_height
from vlkng_ros.types import Detection, Float64Array, Keyframe

LIKE_LABEL = 0.5
"""Labels less similar than this are never the same thing; up to ``cosine``, geometry must make up for it."""
UNLIKE_COST = 8.0
ANY = -1
"""For boxes of any label."""
FAMILIAR = 0.3
"""What a tenfold number of sightings counts in favour of an entity, in units of log 10."""


class Outline:
    """What of an entity, as long as it stays as it is, does not depend on who looks at it."""

    __slots__ = ("familiar", "label", "log_height", "open", "open_rows", "record", "rows", "settled")

    def __init__(self, record: EntityRecord) -> None:
        self.record = record
        self.label = record.label
        tracks = tracks_of(record.place)
        self.settled = [item for item in tracks if not takes_height(item[0])]
        """Tracks, each with the doubt against it."""
        self.open = [item for item in tracks if takes_height(item[0])]
        """Those of which knowing how tall such things are would tell more."""
        self.rows, self.open_rows = (b"".join([row_of(track) for track, _ in of]) for of in (self.settled, self.open))
        """The tracks as ``Outlook`` takes them."""
        self.log_height = log_height(record.place)
        self.familiar = FAMILIAR * math.log(min(record.observation_count, 20))
        """In favour of what was seen often."""


class Called:
    """What is about that a label may name."""

    def __init__(self, number: int, alike: Sequence[Outline]) -> None:
        self.number = number
        """Among what the boxes of the keyframe are called."""
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
        self._called, self._costs = self._look_up(list(dict.fromkeys(detection.label for detection, _ in seen)))

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
                score -= float(self._costs[called.number, place])
                score += outline.familiar
                scores[i, place] = score + appearance(detection.embedding, outline.record.appearance)
        for place in [i for i, outline in enumerate(self._outlines) if not (outline.rows or outline.open_rows)]:
            scores[:, place] = [self._nearby(self._outlines[place].record, detection) for detection, _ in self._seen]
        return scores

    def _sights(self) -> dict[tuple[int, int], list[Sight]]:
        """By box and entity the tracks that a box may show rather than something new."""
        shown, table = self._shown()
        outlook = Outlook(table, self._camera)
        front = [shown[number] for number in outlook.front.tolist()]
        if not front:
            return {}
        called = [self._called[detection.label] for detection, _ in self._seen]
        named = np.array([like.number for like in called])
        most = [[like.novelty - _most(detection)] for like, (detection, _) in zip(called, self._seen, strict=True)]
        # Below this no score is positive.
        needed = self._costs[named] + most - [outline.familiar for outline in self._outlines]
        needed = np.maximum(needed, UNLIKELY)[:, [place for place, *_ in front]]
        labels = np.array([label for *_, label in front])
        enough = outlook.highest([bearing for _, bearing in self._seen]) >= needed
        enough &= (labels == ANY) | (labels == named[:, None])
        sights: dict[int, Sight] = {}
        found: dict[tuple[int, int], list[Sight]] = {}
        for i, j in zip(*(axis.tolist() for axis in np.nonzero(enough)), strict=True):
            place, track, doubt, label = front[j]
            sight = sights.get(j)
            if sight is None:
                typical = None if label == ANY else called[i].typical
                track = track if typical is None else with_height(track, typical)
                record = self._outlines[place].record
                sight = sights[j] = Sight(record, track, self._camera, outlook.expectation(j), doubt)
            found.setdefault((i, place), []).append(sight)
        return found

    def _shown(self) -> tuple[list[tuple[int, Track, float, int]], Float64Array]:
        """Tracks, each with its entity, the doubt against it and the label of a box that it is for, and their table."""
        outlines = self._outlines
        shown = [(place, *item, ANY) for place, outline in enumerate(outlines) for item in outline.settled]
        table = table_of([outline.rows for outline in outlines])
        open_ = [(place, *item) for place, outline in enumerate(outlines) for item in outline.open]
        if not open_:
            return shown, table
        # Things of unknown height are taken to be as tall as those that a label names: for each label another one.
        labels, rows = np.nonzero(np.isfinite(self._costs[:, [place for place, *_ in open_]]))
        supposed = table_of([outline.open_rows for outline in outlines])[rows]
        heights = np.array([called.typical or (math.nan, math.nan) for called in self._called.values()])[labels]
        known = np.isfinite(heights[:, 0])
        supposed[known] = as_tall_as(supposed[known], heights[known])
        shown += [(*open_[row], label) for label, row in zip(labels.tolist(), rows.tolist(), strict=True)]
        return shown, np.concatenate((table, supposed))

    def _look_up(self, labels: Sequence[str]) -> tuple[dict[str, Called], Float64Array]:
        """What labels may name, and by label and entity what it costs to be called otherwise.

        That is infinite where two labels are too unlike.
        """
        known: dict[str, list[Outline]] = {}
        for outline in self._outlines:
            known.setdefault(outline.label, []).append(outline)
        numbers = {name: number for number, name in enumerate(known)}
        label_of = np.array([numbers[outline.label] for outline in self._outlines], dtype=np.intp)
        likeness = [self._view.similarities(label) for label in labels]
        similar = np.array([[*map(like.__getitem__, known)] for like in likeness])
        alike: list[list[Outline]] = [[] for _ in likeness]
        groups = list(known.values())
        for i, j in zip(*(axis.tolist() for axis in np.nonzero(similar > max(self._cosine, LIKE_LABEL))), strict=True):
            alike[i] += groups[j]
        called = {label: Called(i, alike[i]) for i, label in enumerate(labels)}
        unlike = UNLIKE_COST * (self._cosine - similar) / max(self._cosine - LIKE_LABEL, 0.01)
        costs = np.where(similar > LIKE_LABEL, np.where(similar >= self._cosine, 0.0, unlike), math.inf)
        return called, costs[:, label_of]

    def _nearby(self, record: EntityRecord, detection: Detection) -> float:
        similarity = self._view.similarities(detection.label)[record.label]
        distance = math.dist(self._keyframe.base_pose.position_m, record.seen_from_m)
        alike = similarity > max(self._cosine, LIKE_LABEL) and detection.kind is record.kind
        return similarity + 1.0 - distance / self._distance_m if alike and distance <= self._distance_m else IMPOSSIBLE


def _most(detection: Detection) -> float:
    """What may count in favour of an entity beside the box."""
    return PLACED if detection.embedding is None else PLACED + APPEARANCE_BOUND
