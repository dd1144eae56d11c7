"""The photographs that hang in the gallery, and what is on them.

The pixels come out of installed packages (scikit-image, scikit-learn) and are read as files: their own loaders import
a lot and may download. What is on a photograph is written down here, in COCO's words, because that is the truth that
detections are compared with.
"""

from __future__ import annotations

import functools
import importlib.util
import zlib
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from vlkng_ros.errors import ImageError, InvalidInputError
from vlkng_ros.types import BoxPx, Image

CARD_PREFIX = "card:"
CARD_SIZE_PX = (480, 320)


@dataclass(frozen=True, slots=True)
class Region:
    """One thing on a photograph: its label and its box in pixels of the photograph."""

    label: str
    box_px: BoxPx


@dataclass(frozen=True, slots=True)
class Photograph:
    """A photograph and the truth about it.

    ``regions`` are the things a robot is expected to remember. ``also`` are labels that are true of the photograph
    as well (a saucer is a bowl of sorts): a detector that reports them is not wrong, but nothing depends on it.
    """

    name: str
    package: str
    file: str
    width_px: int
    height_px: int
    regions: tuple[Region, ...] = ()
    also: frozenset[str] = frozenset()
    credit: str = ""


CATALOGUE: dict[str, Photograph] = {
    photograph.name: photograph
    for photograph in (
        Photograph(
            "coffee", "skimage", "data/coffee.png", 600, 400,
            regions=(Region("cup", (170.0, 14.0, 405.0, 300.0)),),
            also=frozenset({"bowl", "dining table", "spoon"}),
            credit="Rachel Michetti, Pikolo Espresso Bar; CC0",
        ),
        Photograph(
            "chelsea", "skimage", "data/chelsea.png", 451, 300,
            regions=(Region("cat", (5.0, 0.0, 400.0, 298.0)),),
            credit="Stefan van der Walt; CC0",
        ),
        Photograph(
            "astronaut", "skimage", "data/astronaut.png", 512, 512,
            regions=(Region("person", (10.0, 10.0, 372.0, 510.0)),),
            also=frozenset({"airplane"}),
            credit="NASA; public domain",
        ),
        Photograph(
            "motorcycle", "skimage", "data/motorcycle_left.png", 741, 500,
            regions=(Region("motorcycle", (100.0, 70.0, 682.0, 448.0)),),
            also=frozenset({"bench", "chair", "bicycle"}),
            credit="Middlebury 2014 stereo benchmark",
        ),
        Photograph(
            "horse", "skimage", "data/horse.png", 400, 328,
            regions=(Region("horse", (16.0, 8.0, 392.0, 316.0)),),
            credit="Andreas Preuss; public domain",
        ),
        Photograph(
            "rocket", "skimage", "data/rocket.jpg", 640, 427,
            credit="SpaceX; public domain",
        ),
        Photograph(
            "china", "sklearn", "datasets/images/china.jpg", 640, 427,
            also=frozenset({"boat"}),
            credit="danielbuechele; CC BY 2.0",
        ),
        Photograph(
            "flower", "sklearn", "datasets/images/flower.jpg", 640, 427,
            also=frozenset({"potted plant"}),
            credit="vultilion; CC BY 2.0",
        ),
    )
}  # fmt: skip


def photograph(name: str) -> Photograph:
    """The photograph of that name; ``card:<label>`` is a plain card that stands for a thing with that label.

    Raises:
        InvalidInputError: there is none of that name.
    """
    if name.startswith(CARD_PREFIX) and len(name) > len(CARD_PREFIX):
        width_px, height_px = CARD_SIZE_PX
        box: BoxPx = (0.0, 0.0, float(width_px), float(height_px))
        return Photograph(name, "", "", width_px, height_px, (Region(name.removeprefix(CARD_PREFIX), box),))
    if name not in CATALOGUE:
        raise InvalidInputError(
            f"no photograph '{name}' in the gallery; there are {', '.join(CATALOGUE)}, and {CARD_PREFIX}<label>"
        )
    return CATALOGUE[name]


@functools.lru_cache(maxsize=256)
def load_photograph(name: str) -> Image:
    """The pixels of a photograph, RGB, shape ``(height_px, width_px, 3)``; read-only, because it is shared.

    Raises:
        InvalidInputError: there is none of that name.
        ImageError: the package that brings it is not installed, or its file is missing or damaged.
    """
    known = photograph(name)
    image = _read(known) if known.package else _card(known)
    if image.shape != (known.height_px, known.width_px, 3):
        raise ImageError(
            f"photograph '{name}': {known.package} has it with shape {image.shape}, not "
            f"({known.height_px}, {known.width_px}, 3); install the extra 'demo' again: pip install 'vlkng_ros[demo]'"
        )
    image.setflags(write=False)
    return image


def _read(known: Photograph) -> Image:
    # find_spec of a top-level name does not import it.
    spec = importlib.util.find_spec(known.package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise ImageError(
            f"photograph '{known.name}': package '{known.package}' is not installed; "
            "install the extra 'demo': pip install 'vlkng_ros[demo]'"
        )
    path = Path(folders[0]) / known.file
    data = path.read_bytes() if path.is_file() else b""
    decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if decoded is None:
        raise ImageError(
            f"photograph '{known.name}': {path} is missing or damaged; "
            "install the extra 'demo' again: pip install --force-reinstall 'vlkng_ros[demo]'"
        )
    return np.asarray(cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB), np.uint8)


def _card(known: Photograph) -> Image:
    label = known.name.removeprefix(CARD_PREFIX)
    # crc32, not hash(): the colour must be the same in every process.
    seed = zlib.crc32(label.encode())
    colour = tuple(int(90 + (seed >> shift) % 120) for shift in (0, 8, 16))
    image = np.full((known.height_px, known.width_px, 3), colour, np.uint8)
    (width, height), _ = cv2.getTextSize(label, cv2.FONT_HERSHEY_SIMPLEX, 1.0, 2)
    scale = 0.8 * known.width_px / max(width, 1)
    origin = (int(known.width_px * 0.1), int(known.height_px / 2 + scale * height / 2))
    cv2.putText(image, label, origin, cv2.FONT_HERSHEY_SIMPLEX, scale, (255, 255, 255), 3, cv2.LINE_AA)
    return image
