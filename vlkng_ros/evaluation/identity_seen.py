"""Drives whose frames a real detector looks at: photographs on the walls, several of a kind, with the truth beside.

What the detector reports is matched to what truly shows there; its own misses, wrong words and boxes of nothing stay
as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vlkng_ros.evaluation.identity_drive import IdentityDrive
from vlkng_ros.gallery.detector import SimulatedDetection, SimulatedDetector, SimulatedKeyframe, simulated_keyframes
from vlkng_ros.gallery.generate import PHOTOGRAPHS, generate_gallery
from vlkng_ros.gallery.render import Renderer
from vlkng_ros.gallery.truth import TrueBox, Truth
from vlkng_ros.gallery.world import FOREVER_NS
from vlkng_ros.perception.base import Frame, PerceptionBackend
from vlkng_ros.types import BoxPx, Detection

MIN_OVERLAP = 0.3
"""Intersection over union with a thing's true box from which on a detection of its label shows it."""


def photograph_drive(seed: int, *, things: int = 15, laps: int = 3) -> IdentityDrive:
    """Six rooms with photographs; between the laps two are moved and two taken away."""
    gallery = generate_gallery(seed, things=things, laps=laps, moved=2, removed=2, added=0, photographs=PHOTOGRAPHS)
    hung = Counter(thing.thing_id for thing in gallery.world.things())
    moved = tuple(name for name, times in hung.items() if times > 1)
    removed = tuple(
        thing.thing_id
        for thing in gallery.world.things()
        if thing.picture.until_ns < FOREVER_NS and thing.thing_id not in moved
    )
    return IdentityDrive(gallery.world, gallery.drive, moved, removed, seed)


def detected_keyframes(drive: IdentityDrive, backend: PerceptionBackend) -> Iterator[SimulatedKeyframe]:
    """The drive's keyframes, poses as noisy as ever, with what ``backend`` sees in the rendered frames."""
    truth, renderer = Truth(drive.world), Renderer(drive.world)
    for number, keyframe in enumerate(simulated_keyframes(drive.drive, SimulatedDetector(truth), seed=drive.seed), 1):
        stamp_ns = keyframe.capture.stamp_ns
        image = renderer.render(keyframe.true_base, stamp_ns)
        (perception,) = backend.describe([Frame(number, stamp_ns, image)])
        boxes = truth.boxes(keyframe.true_base, stamp_ns, min_visible=0.1, max_distance_m=20.0)
        found = tuple(matched(perception.detections, boxes))
        yield replace(keyframe, detections=found)


def matched(detections: Sequence[Detection], boxes: Sequence[TrueBox]) -> Iterator[SimulatedDetection]:
    """Each detection with the thing of its label that it overlaps most; every thing is shown by one at most."""
    left = list(boxes)
    for detection in detections:
        best: tuple[float, TrueBox] | None = None
        for box in left:
            if box.thing.label == detection.label and detection.box_px is not None:
                shared = overlap(detection.box_px, box.box_px)
                if shared >= MIN_OVERLAP and (best is None or shared > best[0]):
                    best = (shared, box)
        if best is not None:
            left.remove(best[1])
        yield SimulatedDetection(detection, best[1].thing.thing_id if best is not None else "")


def overlap(a: BoxPx, b: BoxPx) -> float:
    """Intersection over union of two boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return width * height / (areas - width * height)
