"""Florence-2 through transformers' own class: a tiny checkpoint that knows three photographs."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from checkpoint_cache import checkpoint, torch
from safetensors.torch import load_file, save_file
from skimage import data

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError, ModelNotFoundError, ModelUnavailableError
from vlkng_ros.perception import Frame, PerceptionWorker, open_backend
from vlkng_ros.perception.florence2 import DEFAULT_MODEL, Florence2
from vlkng_ros.perception.torch_runtime import HalvingBatches, pick_device, pick_dtype
from vlkng_ros.types import EntityKind, Perception

PHOTOS = ("coffee", "chelsea", "astronaut")


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest) -> Path:
    return checkpoint(request.config, "tiny_florence2")


@pytest.fixture(scope="module")
def model(folder: Path) -> Florence2:
    return Florence2(PerceptionConfig(model=str(folder), max_new_tokens=64))


def frame(name: str) -> Frame:
    return Frame(1, 0, getattr(data, name)())


def said(perception: Perception) -> tuple[str, list[tuple[str, str]]]:
    return perception.caption, [(d.label, d.region_text) for d in perception.detections]


EXPECTED = {
    "coffee": ("a red mug on a table.", [("cup", "red mug")]),
    "chelsea": ("a tabby cat.", [("cat", "tabby cat")]),
    "astronaut": ("an astronaut in an orange suit.", [("person", ""), ("orange suit", "orange suit")]),
}


def test_three_photographs_give_three_answers_to_one_prompt(model: Florence2) -> None:
    perceptions = model.describe([frame(name) for name in PHOTOS])
    assert {name: said(p) for name, p in zip(PHOTOS, perceptions, strict=True)} == EXPECTED


@pytest.mark.parametrize("name", PHOTOS)
def test_a_frame_alone_gives_the_same_as_in_a_batch(model: Florence2, name: str) -> None:
    assert said(model.describe([frame(name)])[0]) == EXPECTED[name]


def test_boxes_are_in_pixels_of_the_frame(model: Florence2) -> None:
    small = Frame(1, 0, np.ascontiguousarray(data.coffee()[::2, ::2]))
    for each, factor in ((frame("coffee"), 1.0), (small, 0.5)):
        (cup,) = model.describe([each])[0].detections
        assert cup.box_px == pytest.approx([c * factor for c in (173, 13, 411, 239)], abs=2)
        assert cup.score is None


def test_people_are_persons_and_the_source_is_named(model: Florence2, folder: Path) -> None:
    perception = model.describe([frame("astronaut")])[0]
    assert [d.kind for d in perception.detections] == [EntityKind.PERSON, EntityKind.OBJECT]
    assert (perception.backend, perception.model) == ("florence2", str(folder))


def test_a_phrase_is_grounded_where_it_is(model: Florence2) -> None:
    (mug,) = model.ground([frame("coffee")], "a mug")[0].detections
    assert mug.label == "a mug"
    assert mug.box_px == pytest.approx((173, 13, 411, 239), abs=2)


def test_beams_and_token_limit_reach_the_model(folder: Path) -> None:
    short = Florence2(PerceptionConfig(model=str(folder), max_new_tokens=7, num_beams=3))
    perception = short.describe([frame("astronaut")])[0]
    assert "an astronaut in an orange suit".startswith(perception.caption)
    assert perception.detections == ()
    assert short.counters["incomplete_boxes"] >= 1


def test_it_runs_in_bfloat16_where_asked(folder: Path) -> None:
    half = Florence2(PerceptionConfig(model=str(folder), dtype="bfloat16", max_new_tokens=64))
    assert half._net.dtype is torch.bfloat16
    assert said(half.describe([frame("chelsea")])[0])[1][0][0] == "cat"


def test_it_is_loaded_in_the_worker_by_name(folder: Path) -> None:
    config = PerceptionConfig(backend="florence2", model=str(folder), max_new_tokens=64, timeout_s=120.0)
    with PerceptionWorker(config) as worker:
        assert said(worker.submit(frame("chelsea")).result(120)) == EXPECTED["chelsea"]


def test_a_closed_model_says_so(folder: Path) -> None:
    closed = Florence2(PerceptionConfig(model=str(folder)))
    closed.close()
    closed.close()
    with pytest.raises(ModelError, match="was closed"):
        closed.describe([frame("coffee")])


# ------------------------------------------------------------------------------------------ weights


def test_a_model_that_is_not_here_is_named_with_its_command_and_without_asking_a_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("something asked the network")

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("socket.socket.connect", connect)
    monkeypatch.setattr("socket.getaddrinfo", connect)
    with pytest.raises(ModelNotFoundError, match=f"bring them with: vlkng models --fetch {DEFAULT_MODEL}"):
        open_backend(PerceptionConfig(backend="florence2"))


@pytest.mark.parametrize(("name", "reason"), [("./nowhere", "there is no folder"), ("nowhere", "there is no folder")])
def test_a_folder_that_is_not_here_is_named(name: str, reason: str) -> None:
    with pytest.raises(ModelNotFoundError, match=reason):
        Florence2(PerceptionConfig(model=name))


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"holds no config\.json"):
        Florence2(PerceptionConfig(model=str(tmp_path)))


def test_a_cached_model_is_found_by_its_hub_id(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0" * 40
    repository = tmp_path / "models--some--florence"
    shutil.copytree(folder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    model = Florence2(PerceptionConfig(model="some/florence", max_new_tokens=64))
    assert said(model.describe([frame("coffee")])[0]) == EXPECTED["coffee"]
    (repository / "snapshots" / commit / "model.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match="vlkng models --fetch some/florence"):
        Florence2(PerceptionConfig(model="some/florence"))


def test_damaged_weights_are_named(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    (damaged / "model.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(ModelError, match=r"damaged cannot be loaded"):
        Florence2(PerceptionConfig(model=str(damaged)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "bart"}, r"florence2: .* holds a 'bart' model"),
        ({"model_type": "no_such"}, r"florence2: .* cannot be loaded"),
    ],
)
def test_another_kind_of_model_is_refused(folder: Path, tmp_path: Path, changes: dict[str, str], reason: str) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, **changes}))
    with pytest.raises(ModelError, match=reason):
        Florence2(PerceptionConfig(model=str(other)))


def test_weights_under_other_names_are_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    weights = load_file(other / "model.safetensors")
    renamed = {name.replace("vision_tower", "image_tower"): weight for name, weight in weights.items()}
    save_file(renamed, other / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=rf"lacks \d+ of the weights .* use a converted checkpoint .*{DEFAULT_MODEL}"):
        Florence2(PerceptionConfig(model=str(other)))


# ------------------------------------------------------------------------------------------ memory and devices


def out_of_memory_above(size: int, calls: list[int]):
    def work(items: list[int]) -> list[int]:
        calls.append(len(items))
        if len(items) > size:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return [item * 10 for item in items]

    return work


def test_out_of_memory_halves_the_batch_and_keeps_the_order() -> None:
    counters, calls = Counter[str](), list[int]()
    batches = HalvingBatches(counters)
    assert batches.run(out_of_memory_above(2, calls), [1, 2, 3, 4, 5]) == [10, 20, 30, 40, 50]
    assert calls == [5, 2, 2, 1]
    assert counters == {"out_of_memory": 1}
    calls.clear()
    assert batches.run(out_of_memory_above(2, calls), [1, 2, 3]) == [10, 20, 30]
    assert calls == [2, 1], "what did not fit once is not tried again"


def test_a_frame_that_does_not_fit_alone_is_for_later() -> None:
    counters = Counter[str]()
    with pytest.raises(ModelUnavailableError, match="does not suffice for one frame: CUDA out of memory"):
        HalvingBatches(counters).run(out_of_memory_above(0, []), [1, 2, 3])
    assert counters == {"out_of_memory": 2}


def test_devices_and_types_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert [pick_device(d) for d in ("auto", "cpu", "cuda")] == ["cuda", "cpu", "cuda"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert pick_device("auto") == "cpu"
    with pytest.raises(ModelError, match="sees no GPU here"):
        pick_device("cuda")
    assert pick_dtype("auto", "cuda") is torch.float16
    assert pick_dtype("auto", "cpu") is torch.float32
    assert pick_dtype("bfloat16", "cuda") is torch.bfloat16
