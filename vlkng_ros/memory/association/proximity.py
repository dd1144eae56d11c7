"""The same thing is what is called alike and was seen from nearby (EmbodiedLGR, section III-A)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.memory.labels import normal_form
from vlkng_ros.types import Keyframe, Observation


class ProximityAssociator:
    """Robot positions within ``distance_m`` (delta_P) and label cosine above ``cosine`` (delta_E).

    Of ``k`` detections that are called alike and ``h`` entities known nearby, ``min(k, h)`` are refreshed, the nearest
    first, and ``k - h`` created; fewer detections than entities delete nothing. The defaults are the published code's.
    Where the label has no embedding, equal labels count (case and plural apart).
    """

    view = "proximity"

    def __init__(self, distance_m: float = 5.0, cosine: float = 0.75) -> None:
        self.distance_m = distance_m
        self.cosine = cosine

    def assign(
        self, keyframe: Keyframe, observations: Sequence[Observation], view: View
    ) -> Sequence[EntityRecord | None]:
        """For each observation the entity it refreshes, or None for one to create."""
        here = keyframe.base_pose.position_m
        free: dict[str, tuple[float, int, EntityRecord]] = {}
        for order, record in enumerate(view.near(here, self.distance_m, keyframe.map_id)):
            distance = math.dist(record.seen_from_m, here)
            if distance <= self.distance_m:
                free[record.entity_id] = (distance, order, record)
        known_labels = {record.label for _, _, record in free.values()}
        decided: list[EntityRecord | None] = [None] * len(observations)
        alike: dict[str, dict[str, float]] = {}
        # Equal labels first: else a "mug" could take the cup's place before the cup is looked at.
        for exact in (True, False):
            for index, observation in enumerate(observations):
                if decided[index] is not None or not free:
                    continue
                label, kind = observation.detection.label, observation.detection.kind
                if label not in alike:
                    alike[label] = {other: view.label_similarity(label, other) for other in known_labels}
                similarity = alike[label]
                best: tuple[float, float, int] | None = None
                for distance, order, record in free.values():
                    score = similarity[record.label]
                    if record.kind is not kind or score <= self.cosine:
                        continue
                    if exact and normal_form(record.label) != normal_form(label):
                        continue
                    rank = (distance, -score, order)
                    if best is None or rank < best:
                        best, decided[index] = rank, record
                chosen = decided[index]
                if chosen is not None:
                    del free[chosen.entity_id]
        return decided
