"""Describing image files."""

import json
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest
from skimage import data

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ImageError, ModelOutputError
from vlkng_ros.perception import Frame
from vlkng_ros.perception.perceive import PerceivedImage, describe_or_say_why, perceive, read_image
from vlkng_ros.types import Detection, Perception, RelationMention


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "coffee.png", tmp_path / "chelsea.jpg"]
    for path in paths:
        cv2.imwrite(str(path), getattr(data, path.stem)()[:, :, ::-1])
    return paths


def test_photographs_are_described_in_order(photos: list[Path]) -> None:
    coffee, chelsea = perceive(photos, PerceptionConfig(backend="opencv_dnn"))
    shown = coffee.to_json()
    assert (shown["image"], shown["width"], shown["height"]) == (str(photos[0]), 600, 400)
    assert shown["detections"][0]["label"] == "cup"
    assert chelsea.to_json()["detections"][0]["label"] == "cat"
    assert shown["milliseconds"] > 0
    json.dumps(shown, allow_nan=False)


def test_text_for_people_names_things_boxes_and_relations() -> None:
    cup = Detection("cup", (1.2, 2.0, 3.0, 4.0), score=0.876, region_text="a red mug", attributes={"colour": "red"})
    said = Perception("A mug.", (cup, Detection("table", (0.0, 3.0, 9.0, 9.0))), (RelationMention(0, "on", 1),))
    assert PerceivedImage(Path("a.png"), (640, 480), said, "", 12.3).to_text().splitlines() == [
        "a.png (640x480, 12 ms)",
        "  A mug.",
        "  0.88     1     2     3     4  cup  (a red mug; colour: red)",
        "           0     3     9     9  table",
        "  cup on table",
    ]


class Stubborn:
    name, model, batch_size, chunked, min_score = "stubborn", "none", 3, True, 0.5

    def __init__(self) -> None:
        self.counters = Counter[str]()

    def describe(self, frames: list[Frame]) -> list[Perception]:
        if len(frames) > 1 or frames[0].keyframe_id == 2:
            raise ModelOutputError("nonsense")
        return [Perception(caption=f"frame {frames[0].keyframe_id}")]

    def close(self) -> None:
        pass


def test_a_chunk_that_cannot_be_described_is_described_frame_by_frame() -> None:
    frames = [Frame(i, 0, np.zeros((2, 2, 3), dtype=np.uint8)) for i in (1, 2, 3)]
    assert describe_or_say_why(Stubborn(), frames) == [
        (Perception(caption="frame 1"), ""),
        (None, "nonsense"),
        (Perception(caption="frame 3"), ""),
    ]


def test_an_image_that_could_not_be_described_says_why() -> None:
    image = PerceivedImage(Path("a.png"), (2, 2), None, "nonsense", 1.0)
    assert image.to_json() == {"image": "a.png", "width": 2, "height": 2, "milliseconds": 1.0, "error": "nonsense"}
    assert image.to_text().endswith("\n  nonsense")


def test_grey_and_transparent_pictures_are_read_as_rgb(tmp_path: Path) -> None:
    for name, pixels in (("grey.png", np.full((4, 5), 7, np.uint8)), ("clear.png", np.full((4, 5, 4), 7, np.uint8))):
        cv2.imwrite(str(tmp_path / name), pixels)
        image = read_image(tmp_path / name)
        assert image.shape == (4, 5, 3)
        assert (image == 7).all()


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "cannot be read"), (b"", "is no image"), (b"text", "is no image")]
)
def test_a_file_that_is_no_image_is_named_before_a_model_is_loaded(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "bad.jpg"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ImageError, match=rf"bad\.jpg: {reason}"):
        next(perceive([path], PerceptionConfig(backend="florence2", model="/nowhere")))
