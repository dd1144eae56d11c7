"""Qwen2.5-VL and Qwen3-VL through transformers' own classes: tiny checkpoints that know two photographs."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from checkpoint_cache import checkpoint, torch
from skimage import data
from tiny_qwen_vl import CHUNKS, SHOWN, save_prompts

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError, ModelNotFoundError, ModelOutputError
from vlkng_ros.perception import Frame, PerceptionWorker, open_backend
from vlkng_ros.perception.qwen_vl import DEFAULT_MODEL, QwenVl


@pytest.fixture(scope="module", params=["2.5", "3"])
def folder(request: pytest.FixtureRequest) -> Path:
    return checkpoint(request.config, "tiny_qwen_vl", request.param)


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_prompts(tmp_path_factory.mktemp("prompts"))


def config(folder: Path, prompts: Path, **changes: object) -> PerceptionConfig:
    values = {"backend": "qwen_vl", "model": str(folder), "prompts_folder": str(prompts), "temperature": 0.0}
    return PerceptionConfig(**{**values, **changes})


@pytest.fixture(scope="module")
def model(folder: Path, prompts: Path) -> QwenVl:
    return QwenVl(config(folder, prompts))


def frame(name: str, keyframe_id: int = 1) -> Frame:
    return Frame(keyframe_id, 0, getattr(data, name)())


@pytest.mark.parametrize("names", CHUNKS, ids="+".join)
def test_the_pixels_decide_what_is_said_about_each_frame(model: QwenVl, names: tuple[str, ...]) -> None:
    perceptions = model.describe([frame(name, i) for i, name in enumerate(names, start=1)])
    assert [[d.local_id for d in p.detections] for p in perceptions] == [[f"{SHOWN[name]}_1"] for name in names]
    assert {p.caption for p in perceptions} == {" ".join(SHOWN[name] for name in names)}
    assert {p.chunk for p in perceptions} == {(1, 2) if len(names) == 2 else ()}


def test_boxes_are_in_the_units_of_the_model(model: QwenVl) -> None:
    (cup,) = model.describe([frame("coffee")])[0].detections
    thousandths = (20 * 0.6, 20 * 0.4, 60 * 0.6, 40 * 0.4)
    resized = (20 * 600 / 112, 20 * 400 / 56, 60 * 600 / 112, 40 * 400 / 56)  # 600 x 400 was seen as 112 x 56
    assert cup.box_px == pytest.approx(resized if "-2.5-" in model.model else thousandths)


def test_it_is_loaded_in_the_worker_by_name(request: pytest.FixtureRequest, prompts: Path) -> None:
    settings = config(
        checkpoint(request.config, "tiny_qwen_vl", "3"), prompts, timeout_s=120.0, batch_size=2, batch_wait_s=60.0
    )
    with PerceptionWorker(settings) as worker:
        futures = [worker.submit(frame("chelsea", 7)), worker.submit(frame("coffee", 8))]
        assert [future.result(120).detections[0].label for future in futures] == ["cat", "cup"]
        assert futures[0].result(0).chunk == (7, 8)


def test_a_reply_at_the_token_limit_is_cut_off(folder: Path, prompts: Path) -> None:
    short = QwenVl(config(folder, prompts, max_new_tokens=5))
    with pytest.raises(ModelOutputError, match="asked twice"):
        short.describe([frame("coffee")])
    assert short.counters["cut_off_replies"] == 2


def test_out_of_memory_makes_smaller_chunks(folder: Path, prompts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = QwenVl(config(folder, prompts))
    generate = model._net.generate

    def generate_if_it_fits(**inputs: torch.Tensor) -> torch.Tensor:
        if len(inputs["image_grid_thw"]) > 1:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return generate(**inputs)

    monkeypatch.setattr(model._net, "generate", generate_if_it_fits)
    perceptions = model.describe([frame("coffee", 1), frame("chelsea", 2)])
    assert [p.detections[0].label for p in perceptions] == ["cup", "cat"]
    assert {p.chunk for p in perceptions} == {()}
    assert model.counters["out_of_memory"] == 1


def test_torchvision_is_not_needed(model: QwenVl) -> None:
    assert model.describe([frame("coffee")])
    assert "torchvision" not in sys.modules


def test_tokens_named_in_a_prompt_are_text(folder: Path, prompts: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(prompts, mine)
    (mine / "describe_frame.txt").write_text("version: 1\n\nOne <|image_pad|> frame.<|im_end|>")
    model = QwenVl(config(folder, mine))
    model._look_at([frame("coffee")])
    text = model._tokenizer.decode(model._inputs([("user", "One <|image_pad|> frame.<|im_end|>")])["input_ids"][0])
    assert "One < |image_pad|> frame.< |im_end|>" in text


def test_a_closed_model_says_so(folder: Path, prompts: Path) -> None:
    closed = QwenVl(config(folder, prompts))
    closed.close()
    closed.close()
    with pytest.raises(ModelError, match="was closed"):
        closed.describe([Frame(1, 0, np.zeros((64, 64, 3), dtype=np.uint8))])


def test_a_model_that_is_not_here_is_named_with_its_command() -> None:
    with pytest.raises(ModelNotFoundError, match=f"bring them with: vlkng models --fetch {DEFAULT_MODEL}"):
        open_backend(PerceptionConfig(backend="qwen_vl"))


def test_another_kind_of_model_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    settings = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**settings, "model_type": "bert"}))
    with pytest.raises(ModelError, match="holds a 'bert' model, not one of qwen2_5_vl, qwen3_vl"):
        QwenVl(PerceptionConfig(model=str(other)))


def test_a_checkpoint_without_a_chat_template_is_refused(folder: Path, prompts: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    template = (other / "chat_template.jinja").read_text()
    (other / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match="holds no chat template"):
        QwenVl(config(other, prompts))
    (other / "chat_template.json").write_text(json.dumps({"chat_template": template}))
    assert QwenVl(config(other, prompts)).describe([frame("coffee")])[0].detections[0].label == "cup"
