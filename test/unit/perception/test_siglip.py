"""Embeddings of boxes and of the words that look for them: tiny SigLIP and SigLIP2 checkpoints."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from checkpoint_cache import checkpoint, torch
from skimage import data
from tiny_siglip import CAPTIONS

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError, ModelNotFoundError
from vlkng_ros.perception import Frame, open_backend
from vlkng_ros.perception.completed import Completed
from vlkng_ros.perception.siglip import BATCH_SIZE, Siglip
from vlkng_ros.types import Detection, Perception

WHOLE = {
    name: (0.0, 0.0, float(getattr(data, name)().shape[1]), float(getattr(data, name)().shape[0])) for name in CAPTIONS
}


@pytest.fixture(scope="module", params=["siglip", "siglip2"])
def folder(request: pytest.FixtureRequest) -> Path:
    return checkpoint(request.config, "tiny_siglip", request.param)


@pytest.fixture(scope="module")
def model(folder: Path) -> Siglip:
    return Siglip(str(folder))


def test_words_find_the_photograph_they_describe(model: Siglip) -> None:
    pictures = np.concatenate([model.embed_crops(getattr(data, name)(), [WHOLE[name]]) for name in CAPTIONS])
    words = model.encode(list(CAPTIONS.values()))
    assert (words @ pictures.T).argmax(axis=1).tolist() == [0, 1, 2]


def test_words_find_the_box_in_a_picture_of_two_things(model: Siglip) -> None:
    cat = data.chelsea()
    both = np.zeros((512, 451 + 512, 3), dtype=np.uint8)
    both[:300, :451] = cat
    both[:, 451:] = data.astronaut()
    crops = model.embed_crops(both, [(0.0, 0.0, 451.0, 300.0), (451.0, 0.0, 963.0, 512.0)])
    assert (model.encode([CAPTIONS["chelsea"], CAPTIONS["astronaut"]]) @ crops.T).argmax(axis=1).tolist() == [0, 1]


def test_vectors_are_unit_float32_rows(model: Siglip) -> None:
    crops = model.embed_crops(data.coffee(), [WHOLE["coffee"], (10.2, 10.7, 11.1, 11.2)])
    assert crops.shape == (2, model.dimensions) == (2, 64)
    assert crops.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(crops, axis=1), 1.0, atol=1e-5)
    assert model.encode([]).shape == model.embed_crops(data.coffee(), []).shape == (0, 64)


def test_a_crop_alone_gives_the_same_as_among_many(model: Siglip) -> None:
    boxes = [(float(i), float(i), 200.0 + i, 150.0 + i) for i in range(BATCH_SIZE + 3)]
    many = model.embed_crops(data.coffee(), boxes)
    alone = model.embed_crops(data.coffee(), [boxes[-1]])
    np.testing.assert_allclose(many[-1], alone[0], atol=1e-5)


def test_the_encoder_is_named_with_its_size(model: Siglip, folder: Path) -> None:
    assert model.encoder_id == f"{folder.name}:64"


def test_out_of_memory_halves_the_batch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Siglip(str(folder))
    features = model._net.get_image_features

    def features_if_they_fit(**inputs: torch.Tensor) -> object:
        if len(inputs["pixel_values"]) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return features(**inputs)

    monkeypatch.setattr(model._net, "get_image_features", features_if_they_fit)
    assert model.embed_crops(data.coffee(), [WHOLE["coffee"]] * 5).shape == (5, 64)
    assert model.counters == {"out_of_memory": 1}


def test_a_closed_model_says_so(folder: Path) -> None:
    closed = Siglip(str(folder))
    closed.close()
    with pytest.raises(ModelError, match="was closed"):
        closed.encode(["a cat"])


def test_a_model_that_is_not_here_or_of_another_kind_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="vlkng models --fetch google/siglip2-base-patch16-224"):
        Siglip("google/siglip2-base-patch16-224")
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    settings = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**settings, "model_type": "clip"}))
    with pytest.raises(ModelError, match="holds a 'clip' model, not one of siglip, siglip2"):
        Siglip(str(other))


# ------------------------------------------------------------------------------------------ beside detections


class Says:
    name, model, batch_size, chunked, min_score = "says", "none", 1, False, 0.5

    def __init__(self, *detections: Detection, visual_encoder: str = "") -> None:
        self.perception = Perception(detections=detections, visual_encoder=visual_encoder)
        self.counters = Counter[str](dropped=1)

    def describe(self, frames: list[Frame]) -> list[Perception]:
        return [self.perception for _ in frames]

    def close(self) -> None:
        pass


def test_every_box_gets_the_embedding_of_its_crop(model: Siglip) -> None:
    cup, heard, table = (
        Detection("cup", (173.0, 13.0, 411.0, 239.0)),
        Detection("music"),
        Detection("t", WHOLE["coffee"]),
    )
    completed = Completed(Says(cup, heard, table), crops=model)
    (perception,) = completed.describe([Frame(1, 0, data.coffee())])
    expected = model.embed_crops(data.coffee(), [cup.box_px, table.box_px])
    first, second, third = (d.embedding for d in perception.detections)
    np.testing.assert_allclose(first, expected[0], atol=1e-6)
    assert second is None
    np.testing.assert_allclose(third, expected[1], atol=1e-6)
    assert perception.visual_encoder == model.encoder_id
    assert completed.counters["dropped"] == 1


def test_embeddings_that_are_there_are_kept(model: Siglip) -> None:
    replayed = Says(Detection("cup", WHOLE["coffee"]), visual_encoder="other:8")
    (perception,) = Completed(replayed, crops=model).describe([Frame(1, 0, data.coffee())])
    assert perception is replayed.perception


def test_the_configuration_brings_crops_to_any_backend(folder: Path) -> None:
    backend = open_backend(PerceptionConfig(backend="opencv_dnn", crop_model=str(folder)))
    backend.min_score = 0.9
    (perception,) = backend.describe([Frame(1, 0, data.coffee())])
    backend.close()
    (cup,) = perception.detections
    assert cup.embedding is not None
    assert cup.embedding.shape == (64,)
