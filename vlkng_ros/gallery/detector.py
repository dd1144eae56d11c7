"""A detector that knows the truth and gets it wrong the way real ones do, and keyframes of a drive seen by it.

Clean worlds flatter: box edges jitter and things are missed, each drawn from the seed and the frame's stamp alone, so
that a frame's detections do not depend on which frames were looked at before.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.drive import Drive
from vlkng_ros.gallery.planar import Planar, compose, relative, wrap
from vlkng_ros.gallery.sensors import (
    FrameReading,
    OdometryReading,
    SensorConfig,
    SlamReading,
    sensor_readings,
)
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.types import BoxPx, Capture, Detection, EntityKind, Pose


@dataclass(frozen=True, slots=True)
class SimulatedDetection:
    """A detection and the thing it truly shows; ``thing_id`` is empty for a false one."""

    detection: Detection
    thing_id: str


@dataclass(frozen=True)
class SimulatedDetector:
    """Detections of a gallery without looking at pixels.

    ``jitter`` is the standard deviation of each box edge, as a fraction of the box's width or height; ``missed`` the
    probability that a visible thing is not reported; ``false_boxes`` how many boxes of nothing a frame has on
    average, with a label of this world.
    """

    truth: Truth
    seed: int = 0
    jitter: float = 0.05
    missed: float = 0.2
    false_boxes: float = 0.0
    min_visible: float = 0.4
    max_distance_m: float = 5.0
    max_angle_rad: float = math.radians(65.0)
    _labels: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (self.jitter >= 0 and 0 <= self.missed <= 1 and self.false_boxes >= 0):
            raise InvalidInputError("a simulated detector needs jitter >= 0, 0 <= missed <= 1 and false_boxes >= 0")
        labels = sorted({thing.label for thing in self.truth.world.things()})
        object.__setattr__(self, "_labels", tuple(labels))

    def detect(self, base: Pose, stamp_ns: int) -> tuple[SimulatedDetection, ...]:
        """What it reports of the frame taken with the robot truly at ``base``."""
        # Frames a second apart or an hour apart must not share a stream; SeedSequence takes words of any size.
        rng = np.random.default_rng([self.seed, 4, abs(stamp_ns)])
        found = []
        for box in self.truth.boxes(base, stamp_ns, min_visible=self.min_visible, max_distance_m=self.max_distance_m):
            noise, draw, score = rng.standard_normal(4), float(rng.random()), float(rng.uniform(0.55, 0.99))
            if draw < self.missed or box.angle_rad > self.max_angle_rad:
                continue
            jittered = self._jittered(box.box_px, noise.tolist())
            kind = EntityKind.PERSON if box.thing.label == "person" else EntityKind.OBJECT
            detection = Detection(box.thing.label, jittered, score, kind=kind)
            found.append(SimulatedDetection(detection, box.thing.thing_id))
        for _ in range(int(rng.poisson(self.false_boxes)) if self._labels else 0):
            found.append(SimulatedDetection(self._false_box(rng), ""))
        return tuple(found)

    def _jittered(self, box: BoxPx, noise: list[float]) -> BoxPx:
        k = self.truth.camera.intrinsics
        x1, y1, x2, y2 = box
        dx, dy = self.jitter * (x2 - x1), self.jitter * (y2 - y1)
        left, right = sorted((x1 + dx * noise[0], x2 + dx * noise[2]))
        top, bottom = sorted((y1 + dy * noise[1], y2 + dy * noise[3]))
        left, right = max(min(left, k.width_px - 1.0), 0.0), min(max(right, 1.0), float(k.width_px))
        top, bottom = max(min(top, k.height_px - 1.0), 0.0), min(max(bottom, 1.0), float(k.height_px))
        return left, top, max(right, left + 0.5), max(bottom, top + 0.5)

    def _false_box(self, rng: np.random.Generator) -> Detection:
        k = self.truth.camera.intrinsics
        width, height = float(rng.uniform(40, 200)), float(rng.uniform(40, 200))
        x1, y1 = float(rng.uniform(0, k.width_px - width)), float(rng.uniform(0, k.height_px - height))
        label = self._labels[int(rng.integers(len(self._labels)))]
        kind = EntityKind.PERSON if label == "person" else EntityKind.OBJECT
        return Detection(label, (x1, y1, x1 + width, y1 + height), float(rng.uniform(0.5, 0.7)), kind=kind)


@dataclass(frozen=True, slots=True)
class SimulatedKeyframe:
    """A keyframe as a builder would make it: ``capture`` has the estimated poses, ``true_base`` where it really was."""

    capture: Capture
    true_base: Pose
    detections: tuple[SimulatedDetection, ...]


def simulated_keyframes(
    drive: Drive,
    detector: SimulatedDetector,
    config: SensorConfig | None = None,
    *,
    seed: int = 0,
    min_distance_m: float = 0.5,
    min_angle_rad: float = 0.35,
    min_period_s: float = 0.25,
) -> Iterator[SimulatedKeyframe]:
    """Keyframes of a drive with detections, their poses as noisy as a robot's.

    The pose at a frame's stamp is the last SLAM pose carried forward by odometry.
    """
    camera = detector.truth.camera
    k = camera.intrinsics
    odometry: deque[OdometryReading] = deque(maxlen=1000)
    slam: SlamReading | None = None
    last: tuple[int, Pose] | None = None
    for reading in sensor_readings(drive, config, seed=seed, parked_s=0.5):
        if isinstance(reading, OdometryReading):
            odometry.append(reading)
        elif isinstance(reading, SlamReading):
            slam = reading
        elif isinstance(reading, FrameReading) and slam is not None and odometry[-1].stamp_ns >= reading.stamp_ns:
            at_scan, at_frame = _odometry_at(odometry, slam.stamp_ns), _odometry_at(odometry, reading.stamp_ns)
            x, y, _ = slam.pose.position_m
            estimate = compose((x, y, slam.pose.yaw_rad), relative(at_scan, at_frame))
            base = Pose.planar(slam.pose.frame_id, *estimate)
            if last is not None:
                near = base.distance_m(last[1]) < min_distance_m
                straight = abs(wrap(base.yaw_rad - last[1].yaw_rad)) < min_angle_rad
                if (near and straight) or reading.stamp_ns - last[0] < min_period_s * 1e9:
                    continue
            last = (reading.stamp_ns, base)
            size = (k.width_px, k.height_px)
            capture = Capture(
                reading.stamp_ns, base, camera.pose(base), intrinsics=camera.intrinsics, image_size_px=size
            )
            yield SimulatedKeyframe(capture, reading.base, detector.detect(reading.base, reading.stamp_ns))


def _odometry_at(readings: deque[OdometryReading], stamp_ns: int) -> Planar:
    """Odometry at a stamp, between the two readings around it."""
    after = readings[-1]
    for before in reversed(readings):
        if before.stamp_ns <= stamp_ns:
            span = after.stamp_ns - before.stamp_ns
            part = (stamp_ns - before.stamp_ns) / span if span else 0.0
            x, y, yaw = relative(before.planar, after.planar)
            return compose(before.planar, (part * x, part * y, part * yaw))
        after = before
    return after.planar
