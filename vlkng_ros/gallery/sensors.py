"""What the robot's sensors report along a drive: odometry that drifts, sparse SLAM poses, camera frames, clock.

Readings come in the order in which they reach a subscriber (``at_ns``), which for SLAM poses and frames is later than
the stamp in their header, as on a robot. Equal drives, configurations and seeds give equal readings.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.camera import GalleryCamera
from vlkng_ros.gallery.drive import Drive
from vlkng_ros.gallery.planar import Planar, compose, relative, wrap
from vlkng_ros.types import NS_PER_S, OPTICAL_IN_BODY, Pose

ODOM_FRAME = "odom"
BASE_FRAME = "base_link"
CAMERA_FRAME = "camera_link"
OPTICAL_FRAME = "camera_optical_frame"


@dataclass(frozen=True, slots=True)
class SensorConfig:
    """Rates and noise. Sigmas are of normal distributions; zero makes that sensor perfect.

    The SLAM defaults are those of SLAM Toolbox (a scan is processed after 0.5 m or 0.5 rad) and of the figures on
    identity (2 cm, 0.5 degrees).
    """

    odometry_hz: float = 50.0
    odometry_scale_sigma: float = 0.02
    """Error of wheel size and wheel base: a factor on distance and on angle, drawn once a drive."""
    odometry_walk_m: float = 0.01
    """Random walk of the position, metres for each square root of a metre driven."""
    odometry_walk_rad: float = 0.015
    """Random walk of the heading, radians for each square root of a metre or radian driven."""
    scan_hz: float = 10.0
    slam_distance_m: float = 0.5
    slam_angle_rad: float = 0.5
    slam_position_sigma_m: float = 0.02
    slam_yaw_sigma_rad: float = math.radians(0.5)
    slam_latency_s: float = 0.05
    camera_hz: float = 10.0
    camera_latency_s: float = 0.02
    camera_phase_s: float = 0.007
    """First frame after the start: cameras and wheels do not tick together."""

    def __post_init__(self) -> None:
        if self.odometry_hz <= 0 or self.scan_hz <= 0 or self.camera_hz <= 0:
            raise InvalidInputError("sensor rates must be positive")
        if min(self.slam_latency_s, self.camera_latency_s, self.camera_phase_s) < 0:
            raise InvalidInputError("sensor latencies must not be negative")


@dataclass(frozen=True, slots=True)
class Transform:
    """Pose of ``child`` in ``pose.frame_id``."""

    child: str
    pose: Pose


@dataclass(frozen=True, slots=True)
class ClockReading:
    """Simulated time; the first reading of its instant."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class OdometryReading:
    """Wheel odometry: where the base is in ``odom``, its speed in m/s and turn rate in rad/s."""

    at_ns: int
    stamp_ns: int
    planar: Planar
    speed_mps: float
    turn_radps: float

    @property
    def pose(self) -> Pose:
        """Pose of the base in ``odom``."""
        return Pose.planar(ODOM_FRAME, *self.planar)


@dataclass(frozen=True, slots=True)
class TransformsReading:
    """One message on ``/tf``: odom to base_link and, once SLAM has processed a scan, map to odom."""

    at_ns: int
    stamp_ns: int
    odom_to_base: Planar
    map_to_odom: Planar | None
    map_frame: str

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """The transforms of the message."""
        moved = Transform(BASE_FRAME, Pose.planar(ODOM_FRAME, *self.odom_to_base))
        if self.map_to_odom is None:
            return (moved,)
        return (moved, Transform(ODOM_FRAME, Pose.planar(self.map_frame, *self.map_to_odom)))


@dataclass(frozen=True, slots=True)
class SlamReading:
    """A localised scan, as SLAM Toolbox publishes it on ``/pose``, with its standard deviations."""

    at_ns: int
    stamp_ns: int
    pose: Pose
    position_sigma_m: float
    yaw_sigma_rad: float


@dataclass(frozen=True, slots=True)
class FrameReading:
    """A camera frame: ``base`` is where the robot truly is, for a ``Renderer`` and for scoring."""

    at_ns: int
    stamp_ns: int
    base: Pose


Reading = ClockReading | OdometryReading | TransformsReading | SlamReading | FrameReading


class Sensors:
    """The readings of one drive, taken piece by piece, so that the drive may change ahead of what was read."""

    def __init__(self, config: SensorConfig | None = None, *, seed: int = 0, start_ns: int = 0) -> None:
        """Sensors that are switched on at ``start_ns``."""
        self.config = config or SensorConfig()
        self._odometry_rng = np.random.default_rng([seed, 1])
        self._slam_rng = np.random.default_rng([seed, 2])
        scale = self.config.odometry_scale_sigma
        self._distance_scale = 1.0 + scale * float(self._odometry_rng.standard_normal())
        self._angle_scale = 1.0 + scale * float(self._odometry_rng.standard_normal())
        self._start_ns = start_ns
        self._ticks = 0
        self._frames = 0
        self._next_scan_ns = start_ns
        self._true: Planar | None = None
        self._odometry: Planar = (0.0, 0.0, 0.0)
        self._processed: Planar | None = None
        self._map_to_odom: Planar | None = None
        # Readings under way to their subscriber: (at, order of creation, reading).
        self._under_way: list[tuple[int, int, Reading]] = []
        self._created = 0

    def until(self, drive: Drive, until_ns: int) -> Iterator[Reading]:
        """Every reading not yet taken that arrives by ``until_ns``, in order of arrival.

        The drive may differ from the last call's only after that call's ``until_ns``.
        """
        while True:
            tick_ns = self._start_ns + round(self._ticks * NS_PER_S / self.config.odometry_hz)
            frame_s = self.config.camera_phase_s + self._frames / self.config.camera_hz
            frame_ns = self._start_ns + round(frame_s * NS_PER_S)
            nearest_ns = min(tick_ns, frame_ns)
            # A reading arrives at its stamp or later, so what arrives before the next stamp is complete.
            while self._under_way and self._under_way[0][0] <= min(until_ns, nearest_ns - 1):
                yield heapq.heappop(self._under_way)[2]
            if nearest_ns > until_ns:
                return
            if tick_ns <= frame_ns:
                self._tick(drive, tick_ns)
                self._ticks += 1
            else:
                at_ns = frame_ns + round(self.config.camera_latency_s * NS_PER_S)
                self._send(FrameReading(at_ns, frame_ns, drive.pose(frame_ns)))
                self._frames += 1

    def localised(self) -> Planar | None:
        """Where localisation believes the base is in the map, by its last scan and odometry; None before the first."""
        return None if self._map_to_odom is None else compose(self._map_to_odom, self._odometry)

    def _send(self, reading: Reading) -> None:
        heapq.heappush(self._under_way, (reading.at_ns, self._created, reading))
        self._created += 1

    def _tick(self, drive: Drive, now_ns: int) -> None:
        true = drive.at(now_ns)
        if self._true is not None:
            self._odometry = compose(self._odometry, self._measured(relative(self._true, true)))
        self._true = true
        speed, turn = drive.velocity(now_ns)
        self._send(ClockReading(now_ns))
        measured = (speed * self._distance_scale, turn * self._angle_scale)
        self._send(OdometryReading(now_ns, now_ns, self._odometry, *measured))
        self._send(TransformsReading(now_ns, now_ns, self._odometry, self._map_to_odom, drive.frame_id))
        if now_ns >= self._next_scan_ns:
            self._next_scan_ns += round(NS_PER_S / self.config.scan_hz)
            self._scan(true, now_ns, drive.frame_id)

    def _measured(self, step: Planar) -> Planar:
        """The step between two ticks, in the base's frame, as the wheels report it."""
        rng, config = self._odometry_rng, self.config
        x, y, yaw = step
        distance = math.hypot(x, y)
        walk_m = config.odometry_walk_m * math.sqrt(distance)
        walk_rad = config.odometry_walk_rad * math.sqrt(distance + abs(yaw))
        noise = rng.standard_normal(3).tolist()
        return (
            x * self._distance_scale + walk_m * noise[0],
            y * self._distance_scale + walk_m * noise[1],
            yaw * self._angle_scale + walk_rad * noise[2],
        )

    def _scan(self, true: Planar, now_ns: int, frame_id: str) -> None:
        config = self.config
        # SLAM Toolbox measures its thresholds by odometry, and always processes the first scan.
        if self._processed is not None:
            moved = math.dist(self._processed[:2], self._odometry[:2])
            turned = abs(wrap(self._odometry[2] - self._processed[2]))
            if moved < config.slam_distance_m and turned < config.slam_angle_rad:
                return
        self._processed = self._odometry
        noise = self._slam_rng.standard_normal(3).tolist()
        estimate = (
            true[0] + config.slam_position_sigma_m * noise[0],
            true[1] + config.slam_position_sigma_m * noise[1],
            true[2] + config.slam_yaw_sigma_rad * noise[2],
        )
        self._map_to_odom = compose(estimate, relative(self._odometry, (0.0, 0.0, 0.0)))
        pose = Pose.planar(frame_id, *estimate)
        at_ns = now_ns + round(config.slam_latency_s * NS_PER_S)
        self._send(SlamReading(at_ns, now_ns, pose, config.slam_position_sigma_m, config.slam_yaw_sigma_rad))


def sensor_readings(
    drive: Drive, config: SensorConfig | None = None, *, seed: int = 0, parked_s: float = 0.0
) -> Iterator[Reading]:
    """Every reading of a drive and of ``parked_s`` seconds after it, in order of arrival."""
    sensors = Sensors(config, seed=seed, start_ns=drive.start_ns)
    return sensors.until(drive, drive.end_ns + round(parked_s * NS_PER_S))


def static_transforms(camera: GalleryCamera) -> tuple[Transform, ...]:
    """What belongs on ``/tf_static``: base_link to camera_link, and camera_link to its optical frame."""
    optical = Pose(CAMERA_FRAME, (0.0, 0.0, 0.0), OPTICAL_IN_BODY)
    body = Pose(BASE_FRAME, camera.mount.position_m, camera.mount.orientation).compose(optical.inverse(OPTICAL_FRAME))
    return (Transform(CAMERA_FRAME, body), Transform(OPTICAL_FRAME, optical))
