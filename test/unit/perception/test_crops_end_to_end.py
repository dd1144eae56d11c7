"""Crops from a camera frame to an answer: embedded in the pipeline, stored, and found again by words and by entity."""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from checkpoint_cache import checkpoint
from skimage import data
from tiny_siglip import CAPTIONS

from vlkng_ros.building.pipeline import MemoryBuilder
from vlkng_ros.config import BuilderConfig, MemoryConfig
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.perception.base import Frame, NoPerception
from vlkng_ros.perception.completed import Completed
from vlkng_ros.perception.siglip import Siglip
from vlkng_ros.types import NS_PER_S, Capture, Detection, Image, Perception, Pose

SHOWN = ("coffee", "chelsea", "astronaut", "chelsea")
SIDE_PX = 200


def scene(name: str) -> Image:
    """A photograph in the left half of a frame, and nothing in its right half."""
    import cv2

    image = np.full((SIDE_PX, 2 * SIDE_PX, 3), 127, dtype=np.uint8)
    image[:, :SIDE_PX] = cv2.resize(getattr(data, name)(), (SIDE_PX, SIDE_PX), interpolation=cv2.INTER_AREA)
    return image


class FindsSomething(NoPerception):
    """Boxes the photograph, and cannot tell what it shows."""

    name = "finds_something"

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        return [
            Perception("", (Detection("thing", (0.0, 0.0, float(SIDE_PX), float(SIDE_PX)), 0.9),), backend=self.name)
            for _ in frames
        ]


@pytest.fixture(scope="module")
def siglip(request: pytest.FixtureRequest) -> Siglip:
    return Siglip(str(checkpoint(request.config, "tiny_siglip", "siglip")), device="cpu")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, siglip: Siglip) -> Path:
    path = tmp_path_factory.mktemp("crops") / "memory.db"
    backend = Completed(FindsSomething(), crops=siglip)

    def describe(frame: Frame) -> Future[Perception]:
        said: Future[Perception] = Future()
        said.set_result(backend.describe([frame])[0])
        return said

    with MemoryWriter.open(path, encoder=None, associators=[ProximityAssociator()]) as writer:
        builder = MemoryBuilder(writer, describe, BuilderConfig(memory=MemoryConfig(jpeg_quality=95)))
        builder.start_session("house")
        for second, name in enumerate(SHOWN):
            # The cat is seen twice from one place; everything else is far away from everything else.
            at = Pose.planar("map", 20.0 * SHOWN.index(name), 0.0)
            builder.add(Capture(second * NS_PER_S, at), scene(name))
        assert builder.finish(60.0)
    return path


@pytest.mark.parametrize("name", CAPTIONS)
def test_words_find_the_keyframe_whose_crop_they_describe(memory: Path, siglip: Siglip, name: str) -> None:
    (asked,) = siglip.encode([CAPTIONS[name]])
    with MemoryReader.open(memory) as reader:
        crops = list(reader.crops())
        assert {crop.encoder_id for crop in crops} == {siglip.encoder_id}
        best = max(crops, key=lambda crop: float(crop.vector @ asked))
        assert SHOWN[best.keyframe_id - 1] == name


def test_an_entity_keeps_the_mean_of_its_crops_and_its_best_one(memory: Path, siglip: Siglip) -> None:
    (cat,) = siglip.encode([CAPTIONS["chelsea"]])
    with MemoryReader.open(memory) as reader:
        looks = {e.entity_id: reader.appearance("proximity", e.entity_id) for e in reader.entities("proximity")}
        assert [(looked.crops, looked.encoder_id) for looked in looks.values() if looked is not None] == [
            (1, siglip.encoder_id),
            (2, siglip.encoder_id),
            (1, siglip.encoder_id),
        ]
        found = max(looks.values(), key=lambda looked: float(looked.mean @ cat) if looked is not None else -1.0)
        assert found is not None
        assert found.best_keyframe_id in (2, 4)
        assert found.best_box_px == (0.0, 0.0, float(SIDE_PX), float(SIDE_PX))
        assert np.linalg.norm(found.mean) == pytest.approx(1.0, abs=1e-5)
        before = reader.appearance("proximity", "thing_2", as_of_ns=NS_PER_S)
        assert before is not None
        assert (before.crops, before.best_keyframe_id) == (1, 2)
