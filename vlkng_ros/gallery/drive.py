"""A robot's drive: exact poses at any stamp, within its speed and turn limits."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.planar import Planar, wrap
from vlkng_ros.gallery.world import Point
from vlkng_ros.types import NS_PER_S, Float64Array, Pose

MAX_SPEED_MPS = 1.0
MAX_TURN_RADPS = 1.0


@dataclass(frozen=True, slots=True)
class Go:
    """Turn towards a point and drive there."""

    x_m: float
    y_m: float


@dataclass(frozen=True, slots=True)
class Face:
    """Turn on the spot to a heading, the shorter way round."""

    yaw_rad: float


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn on the spot by an angle, positive to the left; a full turn is a full turn."""

    angle_rad: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Stand still."""

    seconds: float


Step = Go | Face | Turn | Wait


@dataclass(frozen=True)
class Drive:
    """Straight legs and turns on the spot, each at constant speed; parked before the start and after the end.

    ``knots_ns`` ``(n,)`` are the times between legs, ``states`` ``(n, 3)`` the x, y and unwrapped yaw there.
    """

    knots_ns: NDArray[np.int64]
    states: Float64Array
    frame_id: str = "map"
    _knots: list[int] = field(init=False, repr=False, compare=False)
    _states: list[Planar] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_knots", self.knots_ns.tolist())
        object.__setattr__(self, "_states", [tuple(state) for state in self.states.tolist()])

    @classmethod
    def along(
        cls,
        steps: Iterable[Step],
        *,
        start: Point = (0.0, 0.0),
        yaw_rad: float = 0.0,
        start_ns: int = 0,
        speed_mps: float = MAX_SPEED_MPS,
        turn_radps: float = MAX_TURN_RADPS,
        frame_id: str = "map",
    ) -> Drive:
        """The drive that takes these steps one after another.

        Raises:
            InvalidInputError: a speed that is not positive, or a wait that is negative.
        """
        if speed_mps <= 0 or turn_radps <= 0:
            raise InvalidInputError(f"a drive needs positive speeds, got {speed_mps} m/s and {turn_radps} rad/s")
        at_ns, x, y, yaw = start_ns, start[0], start[1], yaw_rad
        knots, states = [start_ns], [(x, y, yaw)]

        def leg(seconds: float) -> None:
            nonlocal at_ns
            if seconds < 0:
                raise InvalidInputError(f"a drive cannot wait for {seconds} s")
            # Rounded up: a leg may take a nanosecond longer, never break the speed limit.
            at_ns += math.ceil(seconds * NS_PER_S)
            if at_ns > knots[-1]:
                knots.append(at_ns)
                states.append((x, y, yaw))

        for step in steps:
            if isinstance(step, Wait):
                leg(step.seconds)
            elif isinstance(step, (Face, Turn)):
                turn = step.angle_rad if isinstance(step, Turn) else wrap(step.yaw_rad - yaw)
                yaw += turn
                leg(abs(turn) / turn_radps)
            else:
                distance = math.dist((x, y), (step.x_m, step.y_m))
                if distance > 1e-9:
                    turn = wrap(math.atan2(step.y_m - y, step.x_m - x) - yaw)
                    yaw += turn
                    leg(abs(turn) / turn_radps)
                    x, y = step.x_m, step.y_m
                    leg(distance / speed_mps)
        return cls(np.asarray(knots, np.int64), np.asarray(states, np.float64), frame_id)

    @property
    def start_ns(self) -> int:
        """When it begins."""
        return int(self.knots_ns[0])

    @property
    def end_ns(self) -> int:
        """When it ends; from then on the robot is parked."""
        return int(self.knots_ns[-1])

    @property
    def length_m(self) -> float:
        """Distance driven."""
        return float(np.linalg.norm(np.diff(self.states[:, :2], axis=0), axis=1).sum())

    def poses_at(self, stamps_ns: NDArray[np.int64]) -> Float64Array:
        """x, y and unwrapped yaw at each stamp, shape ``(n, 3)``."""
        # Differences first: nanoseconds since 1970 do not fit a float64.
        since = (np.asarray(stamps_ns, np.int64) - self.knots_ns[0]).astype(np.float64)
        knots = (self.knots_ns - self.knots_ns[0]).astype(np.float64)
        return np.stack([np.interp(since, knots, self.states[:, i]) for i in range(3)], axis=1)

    def at(self, stamp_ns: int) -> Planar:
        """x, y and unwrapped yaw at a stamp."""
        leg = bisect.bisect_right(self._knots, stamp_ns) - 1
        if leg < 0:
            return self._states[0]
        if leg + 1 >= len(self._knots):
            return self._states[-1]
        part = (stamp_ns - self._knots[leg]) / (self._knots[leg + 1] - self._knots[leg])
        (x1, y1, yaw1), (x2, y2, yaw2) = self._states[leg], self._states[leg + 1]
        return x1 + part * (x2 - x1), y1 + part * (y2 - y1), yaw1 + part * (yaw2 - yaw1)

    def pose(self, stamp_ns: int) -> Pose:
        """The base's true pose at a stamp."""
        return Pose.planar(self.frame_id, *self.at(stamp_ns))

    def velocity(self, stamp_ns: int) -> tuple[float, float]:
        """Forward speed in m/s and turn rate in rad/s at a stamp (of the leg that begins there)."""
        leg = bisect.bisect_right(self._knots, stamp_ns) - 1
        if leg < 0 or leg + 1 >= len(self._knots):
            return 0.0, 0.0
        seconds = (self._knots[leg + 1] - self._knots[leg]) / NS_PER_S
        (x1, y1, yaw1), (x2, y2, yaw2) = self._states[leg], self._states[leg + 1]
        return math.dist((x1, y1), (x2, y2)) / seconds, (yaw2 - yaw1) / seconds

    def then(self, steps: Iterable[Step], at_ns: int, **limits: float) -> Drive:
        """This drive up to ``at_ns`` and from there other steps instead: how a navigation goal takes over.

        ``limits`` are those of ``along``.
        """
        x, y, yaw = self.at(at_ns)
        new = Drive.along(steps, start=(x, y), yaw_rad=yaw, start_ns=at_ns, frame_id=self.frame_id, **limits)
        kept = self.knots_ns < at_ns
        return Drive(
            np.concatenate([self.knots_ns[kept], new.knots_ns]),
            np.concatenate([self.states[kept], new.states]),
            self.frame_id,
        )
