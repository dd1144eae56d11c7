"""The same thing is what is called alike and was seen from nearby (EmbodiedLGR, section III-A)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.memory.labels import normal_form
from vlkng_ros.types import EntityKind, Keyframe, Observation


class _Known(NamedTuple):
    distance_m: float
    order: int
    record: EntityRecord


class ProximityAssociator:
    """Robot positions within ``distance_m`` (delta_P) and label cosine above ``cosine`` (delta_E).

    Of ``k`` detections that are called alike and ``h`` entities known nearby, ``min(k, h)`` are refreshed, the nearest
    first, and ``k - h`` created; fewer detections than entities delete nothing. The defaults are the published code's.
    Equal labels are matched first (case and plural apart), then similar ones, so that in one frame a mug does not take
    the cup's place before the cup is looked at. Without an encoder only equal labels match.
    """

    view = "proximity"

    def __init__(self, distance_m: float = 5.0, cosine: float = 0.75) -> None:
        self.distance_m = distance_m
        self.cosine = cosine

    def assign(
        self, keyframe: Keyframe, observations: Sequence[Observation], view: View
    ) -> Sequence[EntityRecord | None]:
        """For each observation the entity it refreshes, or None for one to create."""
        decided: list[EntityRecord | None] = [None] * len(observations)
        free = self._known_nearby(keyframe, view)
        if not free:
            return decided
        similarity = {
            label: {known: view.label_similarity(label, known) for known in free}
            for label in {observation.detection.label for observation in observations}
        }
        for exact in (True, False):
            for index, observation in enumerate(observations):
                if decided[index] is not None:
                    continue
                label = observation.detection.label
                alike = {known: score for known, score in similarity[label].items() if score > self.cosine}
                if exact:
                    alike = {known: s for known, s in alike.items() if normal_form(known) == normal_form(label)}
                decided[index] = _take_nearest(free, alike, observation.detection.kind)
        return decided

    def _known_nearby(self, keyframe: Keyframe, view: View) -> dict[str, list[_Known]]:
        """Entities last seen from within ``distance_m`` of the robot, by label, the nearest first."""
        here = keyframe.base_pose.position_m
        nearby: dict[str, list[_Known]] = {}
        for order, record in enumerate(view.near(here, self.distance_m, keyframe.map_id)):
            distance = math.dist(record.seen_from_m, here)
            if distance <= self.distance_m:
                nearby.setdefault(record.label, []).append(_Known(distance, order, record))
        for known in nearby.values():
            known.sort(key=lambda item: item[:2])
        return nearby


def _take_nearest(free: dict[str, list[_Known]], alike: dict[str, float], kind: EntityKind) -> EntityRecord | None:
    """The nearest entity with one of these labels, taken out; of those as near the more alike, then the older."""
    best: tuple[float, float, int] | None = None
    chosen: tuple[str, _Known] | None = None
    for label, score in alike.items():
        known = next((item for item in free[label] if item.record.kind is kind), None)
        if known is None:
            continue
        rank = (known.distance_m, -score, known.order)
        if best is None or rank < best:
            best, chosen = rank, (label, known)
    if chosen is None:
        return None
    free[chosen[0]].remove(chosen[1])
    return chosen[1].record
