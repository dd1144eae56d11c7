"""The same thing is what is called alike and was seen from nearby (EmbodiedLGR, section III-A)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.memory.labels import normal_form
from vlkng_ros.types import EntityKind, Keyframe, Observation, Vec3

_Known = tuple[float, int, EntityRecord]
"""Distance in metres, order of creation, and the entity."""


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
        here = keyframe.base_pose.position_m
        called: dict[str, list[tuple[int, EntityRecord]]] = {}
        for order, record in enumerate(view.near(here, self.distance_m, keyframe.map_id)):
            called.setdefault(record.label, []).append((order, record))
        alike: dict[str, dict[str, float]] = {}
        for label in {observation.detection.label for observation in observations}:
            similar = view.similarities(label)
            likeness = zip(called, map(similar.__getitem__, called), strict=True)
            alike[label] = {known: cosine for known, cosine in likeness if cosine > self.cosine}
        free = {known: self._nearest_first(called[known], here) for known in set().union(*alike.values())}
        for exact in (True, False):
            for index, observation in enumerate(observations):
                if decided[index] is not None:
                    continue
                label = observation.detection.label
                likes = alike[label]
                if exact:
                    likes = {known: s for known, s in likes.items() if normal_form(known) == normal_form(label)}
                decided[index] = _take_nearest(free, likes, observation.detection.kind)
        return decided

    def _nearest_first(self, known: Iterable[tuple[int, EntityRecord]], here: Vec3) -> list[_Known]:
        """Those last seen from within ``distance_m`` of the robot."""
        away = [(math.dist(record.seen_from_m, here), order, record) for order, record in known]
        return sorted(item for item in away if item[0] <= self.distance_m)


def _take_nearest(free: dict[str, list[_Known]], alike: dict[str, float], kind: EntityKind) -> EntityRecord | None:
    """The nearest entity with one of these labels, taken out; of those as near the more alike, then the older."""
    best: tuple[float, float, int] | None = None
    chosen: tuple[str, _Known] | None = None
    for label, score in alike.items():
        known = next((item for item in free[label] if item[2].kind is kind), None)
        if known is None:
            continue
        rank = (known[0], -score, known[1])
        if best is None or rank < best:
            best, chosen = rank, (label, known)
    if chosen is None:
        return None
    free[chosen[0]].remove(chosen[1])
    return chosen[1][2]
