"""The default associator: bearing, apparent size, triangulated place and appearance decide together.

Each known entity near the robot predicts where its box should be, how tall, and how sure it is of that. A detection is
the entity whose prediction makes it most likely, if that is likelier than a thing never seen before; all detections
of a keyframe are matched at once, one to one. So two identical chairs side by side stay two, and one chair seen from
two ends of a room stays one.

What is left over may be a thing that was carried here. Of the entities that are called the same, one is the likelier
the surer it is that it is not where it was, and the longer there was time to carry it: after it was seen there last and
this place was seen without it, and before it was missed. It is taken for the one only where it was missed and stands
out against all others, those too where nobody looked since, and against a new thing.

A robot whose calibration or poses are wrong shows it: boxes miss their predictions by more than they should. How much
more, pooled over what is around, is a factor on the variance of every box (the variance factor of geodesy), so that a
wrong focal length makes few things into many no more than it must. And where a standing robot sees something of a kind
at ever other places of its image, as when a person walks about, that is not ever another one.

Detections without a box, and cameras without intrinsics, fall back to the rule of ``proximity``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from vlkng_ros.memory import track as tracking
from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.memory.association.candidates import Candidates, Outline
from vlkng_ros.memory.association.likelihood import appearance, log_height, typical_height
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.association.untaken import Untaken
from vlkng_ros.memory.bearing import Bearing, CameraView, bearing_of, camera_view
from vlkng_ros.memory.visibility import Presence, expected
from vlkng_ros.types import NS_PER_S, BoxPx, Float64Array, Keyframe, Observation, Vec3

RADIUS_M = 10.0
"""Entities further from the camera are not looked at."""
CARRIED_M = 25.0
"""Things are not looked for further away than this when they may have been carried here."""
CARRIED_EVERY_S, LONG_AGO_S = 2000.0, 600.0
"""How long a thing stays where it is, on average, as far as a robot has to expect it; a longer time in which it may
have been carried off makes that no likelier."""
NEW_S, LOOKED_AT, MAX_LOOKS = 450.0, 1.6, 3
"""A thing that was never seen before is as likely as one that may have been carried here within so many seconds; and by
how much less that is, as a logarithm, for each of the first looks at its place on earlier visits: it would have been
seen 4 times in 5."""
MOVED_DOUBT = 0.4
"""Odds of all other candidates together against the best one, above which it is not believed."""
MISFIT, MISFIT_POWER, MAX_MISFIT = 0.8, 8.0, 10.0
"""Mean squared normalised residual from which on boxes are doubted (it is 0.6 where calibration and poses are as good
as stated), the power to which the excess is taken, since what misses by most was refused and is not in the mean, and
the greatest factor on a variance."""
MISFIT_WEIGHT = 50.0
"""Measurements' worth of belief in the calibration."""
CROWD = 4
"""Things of a kind that a robot may know from one standpoint alone, each in another direction."""


class HybridAssociator:
    """See the module. ``distance_m`` and ``cosine`` are those of the proximity rule; ``cosine`` makes labels alike."""

    def __init__(self, *, distance_m: float = 5.0, cosine: float = 0.75, view: str = "hybrid") -> None:
        self.view = view
        self.distance_m = distance_m
        self.cosine = cosine
        self._proximity = ProximityAssociator(distance_m, cosine)
        self._outlines: dict[str, Outline] = {}

    def assign(
        self, keyframe: Keyframe, observations: Sequence[Observation], view: View
    ) -> Sequence[EntityRecord | None]:
        """For each observation the entity that it most likely shows, or None for a new one."""
        camera = camera_view(keyframe)
        if not observations or camera is None:
            return self._proximity.assign(keyframe, observations, view)
        bearings = [bearing_of(camera, o.detection) for o in observations]
        seen = [(i, bearing) for i, bearing in enumerate(bearings) if bearing is not None]
        decided: list[EntityRecord | None] = [None] * len(observations)
        if seen:
            records = list(view.near(camera.centre_m, RADIUS_M, keyframe.map_id))
            doubt = misfit(records)
            seen = [(i, bearing.doubted(doubt)) for i, bearing in seen]
            boxes = [(observations[i].detection, bearing) for i, bearing in seen]
            about = Candidates(keyframe, camera, boxes, self._outlined(records), view, self.cosine, self.distance_m)
            for (i, _), j in zip(seen, match(about.scores()), strict=True):
                decided[i] = records[j] if j >= 0 else None
            left = {i: bearing for i, bearing in seen if decided[i] is None}
            self._find_moved(keyframe, camera, observations, left, decided, view)
            for i in left:
                if decided[i] is None:
                    alike = about.alike(observations[i].detection.label)
                    decided[i] = _one_of_a_crowd(camera, observations[i], alike, decided)
        self._assign_unseen(keyframe, observations, [i for i, b in enumerate(bearings) if b is None], decided, view)
        return decided

    def _outlined(self, records: Iterable[EntityRecord]) -> list[Outline]:
        """The outlines of entities: kept from one keyframe to the next, which shows most of them as they were."""
        known, self._outlines = self._outlines, {}
        for record in records:
            outline = known.get(record.entity_id)
            if outline is None or outline.record is not record:
                outline = Outline(record)
            self._outlines[record.entity_id] = outline
        return list(self._outlines.values())

    def _assign_unseen(
        self,
        keyframe: Keyframe,
        observations: Sequence[Observation],
        left: Sequence[int],
        decided: list[EntityRecord | None],
        view: View,
    ) -> None:
        """Decides detections without a box by the rule of ``proximity``, over what is not taken yet."""
        if left:
            free = Untaken(view, {record.entity_id for record in decided if record is not None})
            chosen = self._proximity.assign(keyframe, [observations[i] for i in left], free)
            for i, record in zip(left, chosen, strict=True):
                decided[i] = record

    def _find_moved(
        self,
        keyframe: Keyframe,
        camera: CameraView,
        observations: Sequence[Observation],
        left: Mapping[int, Bearing],
        decided: list[EntityRecord | None],
        view: View,
    ) -> None:
        """Gives the observations ``left`` over to entities that were carried here, where the evidence says so."""
        taken = {record.entity_id for record in decided if record is not None}
        boxes = [o.detection.box_px for o in observations if o.detection.box_px is not None]
        for i, bearing in left.items():
            detection = observations[i].detection
            label, here = detection.label, camera.centre_m
            candidates = [
                (record, _presence(record, camera, boxes, keyframe.stamp_ns))
                for record in view.alike_near(label, self.cosine, here, CARRIED_M, keyframe.map_id)
                if record.entity_id not in taken
                and record.kind is detection.kind
                and record.last_seen_ns < keyframe.stamp_ns
            ]
            if not any(presence.missed_twice for _, presence in candidates):
                continue
            likely = supposed_place(bearing, [record for record, _ in candidates])
            earlier = view.looks_at(keyframe, likely)
            weights = [
                came_here(keyframe.stamp_ns, max(record.last_seen_ns, earlier.last_ns), record.last_seen_ns, presence)
                * math.exp(appearance(detection.embedding, record.appearance))
                for record, presence in candidates
            ]
            best = max(range(len(candidates)), key=weights.__getitem__)
            record, presence = candidates[best]
            new = NEW_S * math.exp(-LOOKED_AT * min(earlier.looks, MAX_LOOKS))
            if presence.missed_twice and sum(weights) - weights[best] + new <= MOVED_DOUBT * weights[best]:
                decided[i] = record
                taken.add(record.entity_id)


def came_here(now_ns: int, since_ns: int, last_seen_ns: int, presence: Presence) -> float:
    """How likely it is that a thing was carried here, against its being where it was, in seconds.

    Who carries a thing does so at once. So it was after ``since_ns``, when it was last seen where it was and nothing
    was seen here, and before it was missed, if it was. Of things that are missed, the more likely it is that one was
    not just overlooked, the likelier, until it is certain that it was carried off, here or elsewhere.
    """
    until_ns = presence.missing_ns if presence.missed_twice else now_ns
    seconds = [min(max((until_ns - ns) / NS_PER_S, 1.0), LONG_AGO_S) for ns in (since_ns, last_seen_ns)]
    return seconds[0] / (seconds[1] / CARRIED_EVERY_S + math.exp(-presence.evidence))


def supposed_place(bearing: Bearing, alike: Sequence[EntityRecord]) -> Vec3:
    """Where a thing is that was seen once, if it is as tall as those of its kind."""
    track, typical = tracking.start(bearing), typical_height(log_height(record.place) for record in alike)
    return tracking.place(track if typical is None else tracking.with_height(track, typical))


def misfit(records: Iterable[EntityRecord]) -> float:
    """The factor, 1 or more, by which boxes hereabouts miss their predictions by more than stated, on the variance."""
    squared, count = MISFIT * MISFIT_WEIGHT, MISFIT_WEIGHT
    for record in records:
        track = record.place.track
        if track is not None:
            squared += track.surprise
            count += track.surprise_count
    return min(math.pow(max(squared / count / MISFIT, 1.0), MISFIT_POWER), MAX_MISFIT)


def match(scores: Float64Array) -> list[int]:
    """For each row the column it is matched with, -1 for none: one to one, positive scores only, greatest sum."""
    gain = np.maximum(scores, 0.0)
    chosen = [-1] * len(scores)
    if gain.any():
        for i, j in zip(*linear_sum_assignment(gain, maximize=True), strict=True):
            if gain[i, j] > 0:
                chosen[int(i)] = int(j)
    return chosen


def _one_of_a_crowd(
    camera: CameraView, observation: Observation, alike: Iterable[EntityRecord], decided: Sequence[EntityRecord | None]
) -> EntityRecord | None:
    """What was seen last of a crowd that is known from this standpoint alone, or None where there is no crowd."""
    kind = observation.detection.kind
    crowd = [record for record in alike if record.kind is kind and record.presence.seen_only_from(camera)]
    if len(crowd) < CROWD:
        return None
    taken = {record.entity_id for record in decided if record is not None}
    free = [record for record in crowd if record.entity_id not in taken]
    return max(free, key=lambda record: record.last_seen_ns, default=None)


def _presence(record: EntityRecord, camera: CameraView, boxes: Sequence[BoxPx], stamp_ns: int) -> Presence:
    """How it is missed at its place, this keyframe included."""
    if expected(record.presence, record.place, camera, boxes):
        return record.presence.missed(camera, stamp_ns, record.place.known_m)
    return record.presence
