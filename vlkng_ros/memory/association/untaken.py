"""A view without the entities that a keyframe's other observations have taken already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.memory.looks import Earlier
from vlkng_ros.types import Keyframe, Vec3


class Untaken:
    """``View`` of the others."""

    def __init__(self, view: View, taken: AbstractSet[str]) -> None:
        self._view = view
        self._taken = taken

    def near(self, position_m: Vec3, radius_m: float, map_id: str) -> Iterable[EntityRecord]:
        """See ``View``."""
        return (r for r in self._view.near(position_m, radius_m, map_id) if r.entity_id not in self._taken)

    def alike_near(
        self, label: str, cosine: float, position_m: Vec3, radius_m: float, map_id: str
    ) -> Iterable[EntityRecord]:
        """See ``View``."""
        found = self._view.alike_near(label, cosine, position_m, radius_m, map_id)
        return (r for r in found if r.entity_id not in self._taken)

    def alike(self, label: str, cosine: float) -> Iterable[EntityRecord]:
        """See ``View``."""
        return (r for r in self._view.alike(label, cosine) if r.entity_id not in self._taken)

    def similarities(self, label: str) -> Mapping[str, float]:
        """See ``View``."""
        return self._view.similarities(label)

    def looks_at(self, keyframe: Keyframe, at_m: Vec3) -> Earlier:
        """See ``View``."""
        return self._view.looks_at(keyframe, at_m)
