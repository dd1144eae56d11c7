"""Identity as a file states it: the view of an imported memory."""

from __future__ import annotations

from collections.abc import Sequence

from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.types import Keyframe, Observation


class StatedAssociator:
    """Assigns what it was told of the next keyframe; names in the file become entities of this memory.

    Before each ``associate``, ``expect`` the file's names of the keyframe's detections; after it, ``learn`` which
    entities they became.
    """

    reads_captions = True

    def __init__(self, view: str) -> None:
        self.view = view
        self._names: Sequence[str] = ()
        self._entities: dict[str, tuple[str, str]] = {}

    def expect(self, names: Sequence[str]) -> None:
        """The file's name of the entity that each of the next keyframe's detections shows; empty: a new one."""
        self._names = names

    def learn(self, entity_ids: Sequence[str], labels: Sequence[str]) -> None:
        """The entities that the expected names became, and the detections' labels, by which they are found again."""
        for name, entity_id, label in zip(self._names, entity_ids, labels, strict=True):
            if name:
                self._entities.setdefault(name, (entity_id, label))
        self._names = ()

    def assign(
        self, keyframe: Keyframe, observations: Sequence[Observation], view: View
    ) -> Sequence[EntityRecord | None]:
        """For each observation the entity of its stated name, if that was seen before."""
        decided: list[EntityRecord | None] = []
        taken: set[str] = set()
        for name, _ in zip(self._names, observations, strict=True):
            known = self._entities.get(name)
            record = None if known is None or known[0] in taken else _find(view, *known)
            if record is not None:
                taken.add(record.entity_id)
            decided.append(record)
        return decided


def _find(view: View, entity_id: str, label: str) -> EntityRecord | None:
    return next((record for record in view.alike(label, 0.999) if record.entity_id == entity_id), None)
