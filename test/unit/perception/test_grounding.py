"""Looking for a phrase in a frame."""

from pathlib import Path

import pytest
from checkpoint_cache import checkpoint
from misbehaving_backends import frame
from skimage import data

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.perception import Frame, PerceptionWorker, open_backend
from vlkng_ros.perception.grounding import ground, matches
from vlkng_ros.types import Detection

COFFEE = Frame(1, 0, data.coffee())


@pytest.mark.parametrize(
    ("label", "region_text", "phrase"),
    [
        ("cup", "", "cup"),
        ("cup", "", "a red cup"),
        ("Cup", "", "cups"),
        ("mug", "a red cup on a table", "red cup"),
        ("glass", "", "glass"),
        ("fire extinguisher", "", "a fire extinguisher"),
    ],
)
def test_a_detection_is_what_a_phrase_names(label: str, region_text: str, phrase: str) -> None:
    assert matches(Detection(label, region_text=region_text), phrase)


@pytest.mark.parametrize(
    ("label", "phrase"),
    [
        ("cup", "table"),
        ("fire extinguisher", "fire hydrant"),
        ("fire extinguisher", "bottle"),
        ("cup", "the"),
        ("", "x"),
    ],
)
def test_a_detection_is_not_what_another_phrase_names(label: str, phrase: str) -> None:
    assert not matches(Detection(label), phrase)


def test_a_detector_is_searched_for_its_labels() -> None:
    backend = open_backend(PerceptionConfig(backend="opencv_dnn"))
    (found,) = ground(backend, [COFFEE], "a red cup")
    (nothing,) = ground(backend, [COFFEE], "a fire extinguisher")
    assert [d.label for d in found.detections] == ["cup"]
    assert nothing.detections == ()


def test_florence_is_asked_for_the_phrase_also_when_it_is_recorded(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = checkpoint(request.config, "tiny_florence2")
    recording = tmp_path / "r.jsonl"
    backend = open_backend(PerceptionConfig(backend="florence2", model=str(folder), record=str(recording)))
    (found,) = ground(backend, [COFFEE], "a mug")
    backend.close()
    assert [d.label for d in found.detections] == ["a mug"]
    assert found.detections[0].box_px == pytest.approx((173, 13, 411, 239), abs=2)
    assert recording.read_text() == ""


def test_the_worker_is_asked_between_frames_to_describe() -> None:
    factory = "misbehaving_backends:chunks"
    with PerceptionWorker(PerceptionConfig(batch_wait_s=3600.0), factory=factory) as worker:
        cup, table = worker.ground(frame(), "cups"), worker.ground(frame(), "a table")
        described = [worker.submit(frame(keyframe_id=i)) for i in range(3)]
        assert [d.label for d in cup.result(60).detections] == ["cup"]
        assert table.result(60).detections == ()
        assert all("frames=3" in future.result(60).caption for future in described)
        with pytest.raises(InvalidInputError, match="phrase to look for is empty"):
            worker.ground(frame(), " ")
