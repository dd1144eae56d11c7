"""Opens what a builder needs, as its configuration says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from vlkng_ros.config import BuilderConfig, MemoryConfig
from vlkng_ros.errors import MemoryLockedError

if TYPE_CHECKING:
    from vlkng_ros.memory import MemoryWriter
    from vlkng_ros.memory.image_retention import ImageLimits
    from vlkng_ros.memory.observation_retention import ObservationLimits

NS_PER_DAY = 86_400_000_000_000
_PAUSE_S = 0.05


def open_writer(config: BuilderConfig, *, wait_s: float = 0.0) -> MemoryWriter:
    """The configured memory with its associators and text encoder.

    Args:
        config: ``memory`` and ``association`` are used.
        wait_s: how long to wait for another writer to let go of it. A builder that is started again while its
            predecessor is ending should not fail for that.

    Raises:
        MemoryFileError: it cannot be opened; ``MemoryLockedError`` where another process still writes to it.
        ModelError: the text encoder cannot be loaded.
    """
    from vlkng_ros.memory import MemoryWriter, open_encoder
    from vlkng_ros.memory.association.registry import open_associators

    encoder = open_encoder(config.association.text_encoder)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return MemoryWriter.open(
                config.memory.path,
                encoder=encoder,
                associators=open_associators(config.association),
                keep_images=config.memory.keep_images,
                image_limits=_image_limits(config.memory),
                observation_limits=_observation_limits(config.memory),
            )
        except MemoryLockedError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE_S)


def _image_limits(config: MemoryConfig) -> ImageLimits:
    from vlkng_ros.memory.image_retention import ImageLimits

    return ImageLimits(
        round(config.keep_images_days * NS_PER_DAY) or None, round(config.keep_images_gb * 1_000_000_000) or None
    )


def _observation_limits(config: MemoryConfig) -> ObservationLimits:
    from vlkng_ros.memory.observation_retention import ObservationLimits

    return ObservationLimits(
        round(config.keep_observations_days * NS_PER_DAY) or None, config.keep_observations or None
    )
