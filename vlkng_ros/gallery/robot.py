"""The robot of the gallery: it drives its tour, goes where it is sent, and reports what its sensors see."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from vlkng_ros.errors import PoseError
from vlkng_ros.gallery.drive import Drive, Face, Go, Step
from vlkng_ros.gallery.planner import Planner
from vlkng_ros.gallery.sensors import Reading, SensorConfig, Sensors
from vlkng_ros.gallery.world import World
from vlkng_ros.types import NS_PER_S, Pose


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of the present drive."""

    distance_m: float
    seconds: float


class SimulatedRobot:
    """Time passes only through ``until``; a new goal changes the drive from the present on."""

    def __init__(self, world: World, tour: Drive, sensors: SensorConfig | None = None, *, seed: int = 0) -> None:
        """A robot that stands at the tour's start at the tour's start time."""
        self.world = world
        self.drive = tour
        self.now_ns = tour.start_ns
        self.navigating = False
        self._planner = Planner(world)
        self._sensors = Sensors(sensors, seed=seed, start_ns=tour.start_ns)

    @property
    def true_pose(self) -> Pose:
        """Where it really is."""
        return self.drive.pose(self.now_ns)

    @property
    def estimated_pose(self) -> Pose:
        """Where its localisation believes it is; the truth before the first scan."""
        estimate = self._sensors.localised()
        return Pose.planar(self.drive.frame_id, *estimate) if estimate is not None else self.true_pose

    @property
    def parked(self) -> bool:
        """Whether the drive is over."""
        return self.now_ns >= self.drive.end_ns

    def until(self, stamp_ns: int) -> Iterator[Reading]:
        """Let time pass up to ``stamp_ns``; what the sensors report meanwhile, in order of arrival."""
        self.now_ns = max(self.now_ns, stamp_ns)
        yield from self._sensors.until(self.drive, self.now_ns)

    def go_to(self, goal: Pose) -> Remaining:
        """Leave what it was doing and drive to a goal in the map, through the doors.

        Raises:
            PoseError: the goal is in another frame.
            NavigationError: it cannot get there; it goes on with what it was doing.
        """
        if goal.frame_id.lstrip("/") != self.drive.frame_id:
            raise PoseError(f"goal is in frame '{goal.frame_id}'; this robot drives in '{self.drive.frame_id}'")
        here = self.true_pose
        points = self._planner.plan((here.position_m[0], here.position_m[1]), goal.position_m[:2])
        steps: list[Step] = [*(Go(x, y) for x, y in points), Face(goal.yaw_rad)]
        self.drive = self.drive.then(steps, self.now_ns)
        self.navigating = True
        return self.remaining()

    def stop(self) -> None:
        """Stand still where it is."""
        self.drive = self.drive.then([], self.now_ns)
        self.navigating = False

    def remaining(self) -> Remaining:
        """How far and how long it still has to drive."""
        x, y, _ = self.drive.at(self.now_ns)
        left = self.drive.states[self.drive.knots_ns > self.now_ns, :2]
        points = [(x, y), *((float(px), float(py)) for px, py in left)]
        distance = math.fsum(math.dist(a, b) for a, b in itertools.pairwise(points))
        return Remaining(distance, max(self.drive.end_ns - self.now_ns, 0) / NS_PER_S)
