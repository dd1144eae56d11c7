"""A described keyframe as association sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vlkng_ros.types import Keyframe, Observation


@dataclass(frozen=True, slots=True)
class Scene:
    """A described keyframe with what was observed in it."""

    keyframe: Keyframe
    observations: Sequence[Observation]
    described: int
    """Number of its description: the order of association."""
    first_observation: int
    whole: bool
    """Whether all that was seen in it is still there, so that what is not was not seen."""
    visual_encoder: int
    """Term of what made the detections' embeddings; 0 where nothing did."""


def seen_in(scene: Scene) -> Scene:
    """The scene without what only its caption tells of."""
    if not any(o.detection.told for o in scene.observations):
        return scene
    return replace(scene, observations=[o for o in scene.observations if not o.detection.told])
