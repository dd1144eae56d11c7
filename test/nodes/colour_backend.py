"""A perception backend for tests: it names the colour of the image.

``perception.model`` is its pause in seconds for each frame; ``load 60`` takes 60 s to load instead.
"""

from __future__ import annotations

import time
from collections import Counter

from vlkng_ros.types import Detection, Perception


class ColourBackend:
    name = "colour"
    batch_size = 1
    chunked = False
    min_score = 0.0

    def __init__(self, config) -> None:
        self.model = config.model or "0"
        if self.model.startswith("load "):
            time.sleep(float(self.model.split()[1]))
        self.counters: Counter[str] = Counter()

    def describe(self, frames):
        return [self._one(frame) for frame in frames]

    def _one(self, frame):
        # A busy model, as far as other processes can tell.
        end = time.monotonic() + float(self.model)
        while time.monotonic() < end:
            sum(range(10_000))
        label = ("red", "green", "blue")[int(frame.image.reshape(-1, 3).mean(axis=0).argmax())]
        height, width = frame.image.shape[:2]
        detection = Detection(f"{label} ball", (width * 0.25, height * 0.25, width * 0.75, height * 0.75), 0.9)
        return Perception(f"a {label} ball", (detection,), backend=self.name, model=self.model)

    def close(self) -> None:
        pass


def open_backend(config):
    return ColourBackend(config)
