"""What is added to every backend's perceptions: relations from geometry, embeddings of boxes, what captions tell of."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.perception.base import Frame, PerceptionBackend
from vlkng_ros.perception.grounding import ground
from vlkng_ros.perception.relations import relations_of
from vlkng_ros.perception.siglip import Siglip
from vlkng_ros.perception.told import Teller
from vlkng_ros.types import Perception

BUDGET_SHARE = 0.9
"""Of the worker's time-out: what a language model says of captions must not cost the frame."""


def completed(backend: PerceptionBackend, config: PerceptionConfig) -> PerceptionBackend:
    """The backend with what the configuration adds to it.

    Raises:
        ModelError: the crop model cannot be loaded, or the captions' server cannot be used; the backend is closed.
    """
    try:
        crops = Siglip(config.crop_model, device=config.device, dtype=config.dtype) if config.crop_model else None
        return Completed(
            backend,
            geometric_relations=config.geometric_relations,
            crops=crops,
            teller=_teller(config),
            timeout_s=config.timeout_s,
        )
    except Exception:  # whatever it was goes on; the detector's weights and connections must not stay behind
        backend.close()
        raise


def _teller(config: PerceptionConfig) -> Teller | None:
    """Warmed up; None for detectors, which write no captions."""
    if config.backend == "opencv_dnn" or config.captions == "none":
        return None
    teller = Teller(config)
    teller.warm_up()
    return teller


class Completed:
    """Another backend, its perceptions completed."""

    def __init__(
        self,
        backend: PerceptionBackend,
        *,
        geometric_relations: bool = False,
        crops: Siglip | None = None,
        teller: Teller | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """Wraps ``backend``; ``crops`` embeds its boxes, ``teller`` takes its captions apart.

        ``timeout_s`` is what a frame may take altogether, a chunk counting as one.
        """
        self._backend = backend
        self._geometric_relations = geometric_relations
        self._crops = crops
        self._teller = teller
        self._timeout_s = timeout_s
        self.name = backend.name
        self.model = backend.model
        self.batch_size = backend.batch_size
        self.chunked = backend.chunked

    @property
    def counters(self) -> Counter[str]:
        """The wrapped backend's, the crop model's and the teller's."""
        parts = [part.counters for part in (self._crops, self._teller) if part is not None]
        return sum(parts, start=self._backend.counters + Counter())

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
        begin_s = time.monotonic()
        perceptions = self._backend.describe(frames)
        perceptions = [self._complete(frame, said) for frame, said in zip(frames, perceptions, strict=True)]
        if self._teller is None:
            return perceptions
        # The worker gives every frame of a batch its time, but a chunk is one.
        allowed_s = self._timeout_s * (1 if self.chunked else len(frames))
        return self._teller.tell(perceptions, BUDGET_SHARE * allowed_s - (time.monotonic() - begin_s))

    def ground(self, frames: Sequence[Frame], phrase: str) -> list[Perception]:
        """Where the wrapped backend finds a phrase; not completed.

        Raises:
            ModelError: as the wrapped backend.
        """
        return ground(self._backend, frames, phrase)

    def close(self) -> None:
        """Frees the models and closes connections."""
        self._backend.close()
        if self._crops is not None:
            self._crops.close()
        if self._teller is not None:
            self._teller.close()

    def _complete(self, frame: Frame, said: Perception) -> Perception:
        if self._geometric_relations and not said.relations:
            said = replace(said, relations=relations_of(said.detections))
        boxes = [d.box_px for d in said.detections if d.box_px is not None]
        if self._crops is None or not boxes or said.visual_encoder:
            return said
        vectors = iter(self._crops.embed_crops(frame.image, boxes))
        detections = tuple(d if d.box_px is None else replace(d, embedding=next(vectors)) for d in said.detections)
        return replace(said, detections=detections, visual_encoder=self._crops.encoder_id)
