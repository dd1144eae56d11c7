"""What is added to every backend's perceptions: relations from geometry, embeddings of the boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from vlkng_ros.perception.base import Frame, PerceptionBackend
from vlkng_ros.perception.grounding import ground
from vlkng_ros.perception.relations import relations_of
from vlkng_ros.perception.siglip import Siglip
from vlkng_ros.types import Perception


class Completed:
    """Another backend, its perceptions completed."""

    def __init__(
        self, backend: PerceptionBackend, *, geometric_relations: bool = False, crops: Siglip | None = None
    ) -> None:
        """Wraps ``backend``; ``crops`` embeds its boxes."""
        self._backend = backend
        self._geometric_relations = geometric_relations
        self._crops = crops
        self.name = backend.name
        self.model = backend.model
        self.batch_size = backend.batch_size
        self.chunked = backend.chunked

    @property
    def counters(self) -> Counter[str]:
        """The wrapped backend's and the crop model's."""
        return self._backend.counters + (self._crops.counters if self._crops is not None else Counter())

    @property
    def min_score(self) -> float:
        """The wrapped backend's."""
        return self._backend.min_score

    @min_score.setter
    def min_score(self, value: float) -> None:
        self._backend.min_score = value

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """The wrapped backend's perceptions, completed.

        Raises:
            ModelError: as the wrapped backend, or the crops cannot be embedded now.
        """
        perceptions = self._backend.describe(frames)
        return [self._complete(frame, said) for frame, said in zip(frames, perceptions, strict=True)]

    def ground(self, frames: Sequence[Frame], phrase: str) -> list[Perception]:
        """Where the wrapped backend finds a phrase; not completed.

        Raises:
            ModelError: as the wrapped backend.
        """
        return ground(self._backend, frames, phrase)

    def close(self) -> None:
        """Frees both models."""
        self._backend.close()
        if self._crops is not None:
            self._crops.close()

    def _complete(self, frame: Frame, said: Perception) -> Perception:
        if self._geometric_relations and not said.relations:
            said = replace(said, relations=relations_of(said.detections))
        boxes = [d.box_px for d in said.detections if d.box_px is not None]
        if self._crops is None or not boxes or said.visual_encoder:
            return said
        vectors = iter(self._crops.embed_crops(frame.image, boxes))
        detections = tuple(d if d.box_px is None else replace(d, embedding=next(vectors)) for d in said.detections)
        return replace(said, detections=detections, visual_encoder=self._crops.encoder_id)
