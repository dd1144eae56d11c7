"""From photographs to preset ``vlkng-ger``: crops embedded when seen, found by the words of a question."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from checkpoint_cache import checkpoint
from skimage import data
from tiny_siglip import CAPTIONS

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.config import PerceptionConfig
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.perception import Frame
from vlkng_ros.perception.base import NoPerception
from vlkng_ros.perception.completed import Completed
from vlkng_ros.perception.siglip import Siglip, open_visual
from vlkng_ros.types import Capture, Detection, FloatArray, Perception, Pose, Question


class Boxes(NoPerception):
    """Sees a picture wherever it looks, and knows no more of it."""

    name = "boxes"

    def describe(self, frames: list[Frame]) -> list[Perception]:  # type: ignore[override]
        return [Perception("", (Detection("picture", (0.0, 0.0, *map(float, f.size_px))),)) for f in frames]


class AsTaught:
    """The model's words with their articles: so small a one takes "tabby cat" for another thing than "a tabby cat"."""

    def __init__(self, visual: Siglip) -> None:
        self.encoder_id, self.dimensions = visual.encoder_id, visual.dimensions
        self._visual = visual

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return self._visual.encode([c for text in texts for c in CAPTIONS.values() if c.endswith(text)])


def test_a_photograph_is_found_by_its_looks(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    model = str(checkpoint(pytestconfig, "tiny_siglip", "siglip2"))
    visual = open_visual(model)
    assert visual is not None
    backend = Completed(Boxes(), geometric_relations=False, crops=visual)
    path = tmp_path / "memory.db"
    with MemoryWriter.open(path, encoder=None, associators=(ProximityAssociator(),)) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        for i, name in enumerate(CAPTIONS):
            keyframe = writer.add_keyframe(Capture(i * 10**9, Pose.planar("map", 20.0 * i, 0.0)))
            image = np.ascontiguousarray(getattr(data, name)())
            (said,) = backend.describe([Frame(keyframe.keyframe_id, keyframe.stamp_ns, image)])
            writer.add_perception(keyframe.keyframe_id, said)
            writer.associate(keyframe.keyframe_id)
    with MemoryReader.open(path) as reader:
        memory = MemoryQuery(reader, None, visual=AsTaught(visual))
        for i, caption in enumerate(CAPTIONS.values()):
            answer = memory.ask(Question(f"Where is {caption}?", preset="vlkng-ger"))
            assert answer.keyframes[0].keyframe.keyframe_id == i + 1
            # By words alone nothing is known of what the pictures show.
            assert memory.ask(Question(f"Where is {caption}?", preset="vlkng-gr")).keyframes == ()


def test_without_a_model_there_is_no_visual_search() -> None:
    assert open_visual(PerceptionConfig().crop_model) is None
