"""The same thing is what is described alike, wherever it is: Vgent's cross-clip merging, EgoGraph's node merging.

Vgent names the entities of each clip of ``K = 64`` frames and unites those of different clips whose text embeddings
have a cosine above ``tau = 0.7``; EgoGraph merges "based on textual embedding similarity" without naming a threshold,
so it shares Vgent's. Within a clip two names are two entities: the model that gave both saw them side by side.

Of several things that are called alike in one keyframe, each gets an entity of its own, so a view holds as many
entities of a kind as were ever seen at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlkng_ros.memory.association.base import EntityRecord, View
from vlkng_ros.types import Keyframe, Observation

_EQUAL = 1.0 - 1e-6


class TextMergeAssociator:
    """``cosine`` is tau, ``clip_keyframes`` is K; keyframes are counted by their ids."""

    view = "text_merge"
    reads_captions = True

    def __init__(self, cosine: float = 0.7, clip_keyframes: int = 64) -> None:
        self.cosine = cosine
        self.clip_keyframes = clip_keyframes

    def assign(
        self, keyframe: Keyframe, observations: Sequence[Observation], view: View
    ) -> Sequence[EntityRecord | None]:
        """For each observation the entity that is described most alike, or None for one to create."""
        decided: list[EntityRecord | None] = [None] * len(observations)
        taken: set[str] = set()
        # Equal labels first: else a "mug" could take the cup's entity before the cup is looked at.
        for least in (_EQUAL, self.cosine):
            for index, observation in enumerate(observations):
                if decided[index] is None:
                    found = self._most_alike(keyframe, observation, view, least, taken)
                    if found is not None:
                        decided[index] = found
                        taken.add(found.entity_id)
        return decided

    def _most_alike(
        self, keyframe: Keyframe, observation: Observation, view: View, least: float, taken: set[str]
    ) -> EntityRecord | None:
        detection = observation.detection
        best: tuple[float, EntityRecord] | None = None
        for record in view.alike(detection.label, least):
            if record.entity_id in taken or record.kind is not detection.kind:
                continue
            if least < _EQUAL and self._clip(record.last_keyframe_id) == self._clip(keyframe.keyframe_id):
                continue
            similarity = view.similarities(detection.label)[record.label]
            if best is None or similarity > best[0]:
                best = (similarity, record)
        return None if best is None else best[1]

    def _clip(self, keyframe_id: int) -> int:
        return (keyframe_id - 1) // self.clip_keyframes
