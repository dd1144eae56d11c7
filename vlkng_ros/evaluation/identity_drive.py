"""A drive through a gallery with many things of few kinds, some of which are moved or taken away between laps.

Identity is easy where everything is there once. Here every room has several things of kinds that other rooms have
too, some of them side by side, and what changes does so while the robot is parked between two laps. Boxes, misses and
poses are as noisy as the gallery's sensors and detector make them (DESIGN section 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.detector import SimulatedDetector, SimulatedKeyframe, simulated_keyframes
from vlkng_ros.gallery.drive import Drive, Go, Step, Turn, Wait
from vlkng_ros.gallery.photographs import CARD_PREFIX
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.gallery.world import Door, Picture, Room, World
from vlkng_ros.types import Pose

ROOMS = ("kitchen", "lounge", "studio", "office", "library", "workshop")
CORRIDOR = "corridor"
SIDES = ("north", "east", "south", "west")
PAIRED = ("chair", "monitor", "plant")
"""Kinds that each room has two of."""
COMMON = ("clock", "poster", "mirror", "shelf", "lamp", "extinguisher", "calendar", "radiator")
UNIQUE = ("piano", "aquarium", "fireplace", "map of the world")
WIDTHS_M = {"piano": 1.5, "aquarium": 1.2, "fireplace": 1.4, "map of the world": 1.5, "clock": 0.5, "poster": 0.9,
            "mirror": 0.8, "shelf": 1.2, "lamp": 0.5, "extinguisher": 0.4, "calendar": 0.5, "radiator": 1.1,
            "chair": 0.7, "monitor": 0.6, "plant": 0.6}  # fmt: skip
MIN_GAP_M = 0.1
PARKED_S = 60.0
_TRIES = 500


@dataclass(frozen=True)
class IdentityDrive:
    """A world whose things change between laps, and the drive through it.

    ``moved`` and ``removed`` name things (``thing_id``); a moved one keeps its id.
    """

    world: World
    drive: Drive
    moved: tuple[str, ...]
    removed: tuple[str, ...]
    seed: int

    @classmethod
    def make(
        cls,
        seed: int,
        *,
        laps: int = 3,
        pairs: int = 3,
        pairs_apart_m: float | None = None,
        moved: int = 2,
        removed: int = 2,
    ) -> IdentityDrive:
        """Six rooms on a corridor, 40 things.

        Args:
            seed: of everything that is drawn.
            laps: times that the robot goes through all rooms.
            pairs: rooms in which two things of a kind hang side by side.
            pairs_apart_m: distance of their middles; None: 0.7 to 1.1 m, as drawn. What is too wide for it is narrowed.
            moved: things carried elsewhere before each further lap.
            removed: things taken away before each further lap.
        """
        rng = np.random.default_rng([seed, 11])
        drives, start_ns = [], 0
        steps: list[Step] = []
        for _ in range(laps):
            steps += [*_lap(rng), Wait(PARKED_S)]
            drives.append(Drive.along(steps, start=(0.8, 6.0), start_ns=start_ns))
        world = _furnished(rng, pairs, pairs_apart_m)
        changed: dict[str, list[str]] = {"moved": [], "removed": []}
        untouched = sorted(picture.picture_id for picture in world.pictures)
        for lap in drives[:-1]:
            at_ns = lap.end_ns - int(PARKED_S * 1e9 / 2)
            chosen = rng.permutation(untouched).tolist()[: moved + removed]
            untouched = [name for name in untouched if name not in chosen]
            for name in chosen:
                old = next(picture for picture in world.pictures if picture.picture_id == name)
                world = _taken_down(world, old, at_ns)
                if name in chosen[:moved]:
                    world = _hung_elsewhere(world, old, at_ns, rng)
                label = old.photograph.removeprefix(CARD_PREFIX)
                changed["moved" if name in chosen[:moved] else "removed"].append(f"{name}/{label}")
        return cls(world, drives[-1], tuple(changed["moved"]), tuple(changed["removed"]), seed)

    def keyframes(self, detector: SimulatedDetector | None = None) -> Iterator[SimulatedKeyframe]:
        """The keyframes of the drive; ``detector`` replaces the default noise."""
        detector = detector or SimulatedDetector(Truth(self.world), seed=self.seed)
        return simulated_keyframes(self.drive, detector, seed=self.seed)


def miscalibrated(
    keyframes: Iterable[SimulatedKeyframe], *, focal: float = 1.0, mount_deg: tuple[float, float, float] = (0, 0, 0)
) -> Iterator[SimulatedKeyframe]:
    """The same pictures, remembered with a wrong calibration.

    Args:
        keyframes: what the robot sees.
        focal: factor on the focal lengths.
        mount_deg: turn of the mount about the camera's axes right, down and forward.
    """
    half = [math.radians(angle) / 2 for angle in mount_deg]
    turn = Pose("camera", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    for axis, angle in enumerate(half):
        x, y, z = (math.sin(angle) if i == axis else 0.0 for i in range(3))
        turn = turn.compose(Pose("camera", (0.0, 0.0, 0.0), (x, y, z, math.cos(angle))))
    for keyframe in keyframes:
        capture = keyframe.capture
        intrinsics, camera = capture.intrinsics, capture.camera_pose
        if intrinsics is not None:
            intrinsics = replace(intrinsics, fx=intrinsics.fx * focal, fy=intrinsics.fy * focal)
        if camera is not None:
            camera = camera.compose(turn)
        yield replace(keyframe, capture=replace(capture, intrinsics=intrinsics, camera_pose=camera))


def building() -> World:
    """Three rooms of 5 m by 5 m on either side of a corridor."""
    corners = [(x, y) for y in (7.0, 0.0) for x in (0.0, 5.0, 10.0)]
    rooms = [Room(name, (x, y), (x + 5.0, y + 5.0)) for name, (x, y) in zip(ROOMS, corners, strict=True)]
    doors = [Door((x, y), 1.1) for x in (2.5, 7.5, 12.5) for y in (5.0, 7.0)]
    return World.from_plan([*rooms, Room(CORRIDOR, (0.0, 5.0), (15.0, 7.0))], doors)


def _furnished(rng: np.random.Generator, pairs: int, pairs_apart_m: float | None) -> World:
    """Six things a room and four in the corridor."""
    world = building()
    counts: dict[str, int] = {}

    def name(kind: str) -> str:
        counts[kind] = counts.get(kind, 0) + 1
        return f"{kind} {counts[kind]}"

    unique = rng.permutation(UNIQUE).tolist()
    for index, room in enumerate(ROOMS):
        pair = PAIRED[index % len(PAIRED)]
        if index < pairs:
            world = _hang_pair(world, room, (name(pair), name(pair)), pair, rng, pairs_apart_m)
        else:
            for _ in range(2):
                world = _hang_somewhere(world, room, name(pair), pair, rng)
        kinds = rng.permutation(COMMON).tolist()[: 4 - (index < len(unique))]
        for kind in [*unique[index : index + 1], *kinds]:
            world = _hang_somewhere(world, room, name(kind), kind, rng)
    for kind in rng.permutation(COMMON).tolist()[:4]:
        world = _hang_somewhere(world, CORRIDOR, name(kind), kind, rng)
    return world


def _width_m(kind: str, rng: np.random.Generator) -> float:
    return WIDTHS_M[kind] * float(rng.uniform(0.9, 1.1))


def _hang_pair(
    world: World, room: str, names: tuple[str, str], kind: str, rng: np.random.Generator, apart_m: float | None
) -> World:
    for _ in range(_TRIES):
        width, gap = _width_m(kind, rng), float(rng.uniform(0.1, 0.4))
        if apart_m is not None:
            width = min(width, apart_m - MIN_GAP_M)
            gap = apart_m - width
        side, along, height = str(rng.choice(SIDES)), _along(world, room, rng), _height(width, rng)
        try:
            both = world
            for picture_id, at in zip(names, (along, along + width + gap), strict=True):
                both = both.hang(
                    CARD_PREFIX + kind, room, side, at, picture_id=picture_id, width_m=width, centre_height_m=height
                )
        except InvalidInputError:
            continue
        return both
    raise InvalidInputError(f"no wall of '{room}' has space for two of '{kind}'")


def _hang_somewhere(
    world: World,
    room: str,
    picture_id: str,
    kind: str,
    rng: np.random.Generator,
    width_m: float = 0.0,
    since_ns: int = 0,
) -> World:
    for _ in range(_TRIES):
        width = width_m or _width_m(kind, rng)
        side, along, height = str(rng.choice(SIDES)), _along(world, room, rng), _height(width, rng)
        try:
            return world.hang(
                CARD_PREFIX + kind, room, side, along,
                picture_id=picture_id, width_m=width, centre_height_m=height, since_ns=since_ns,
            )  # fmt: skip
        except InvalidInputError:
            continue
    raise InvalidInputError(f"no wall of '{room}' has space for '{picture_id}'")


def _along(world: World, room: str, rng: np.random.Generator) -> float:
    """An x or a y somewhere on the walls of a room; whether it fits there is for ``World.hang`` to say."""
    (x1, y1), (x2, y2) = world.room(room).south_west, world.room(room).north_east
    return float(rng.uniform(x1, x2) if rng.random() < 0.5 else rng.uniform(y1, y2))


def _height(width_m: float, rng: np.random.Generator) -> float:
    """Height of a card's middle, so that it hangs between the floor and a door's lintel."""
    half = width_m / 3
    return float(rng.uniform(max(half + 0.05, 0.5), min(2.05 - half, 1.4)))


def _taken_down(world: World, picture: Picture, at_ns: int) -> World:
    pictures = tuple(replace(p, until_ns=at_ns) if p == picture else p for p in world.pictures)
    return World(world.rooms, world.walls, world.doors, pictures, world.frame_id)


def _hung_elsewhere(world: World, old: Picture, at_ns: int, rng: np.random.Generator) -> World:
    """Half the time in the same room, and at least 2 m from where it was."""
    kind = old.photograph.removeprefix(CARD_PREFIX)
    for _ in range(_TRIES):
        room = old.room if rng.random() < 0.5 else str(rng.choice(ROOMS))
        new = _hang_somewhere(world, room, old.picture_id, kind, rng, old.width_m, at_ns)
        if math.dist(new.pictures[-1].centre_m, old.centre_m) >= 2.0:
            return new
    raise InvalidInputError(f"no other place for '{old.picture_id}'")


def _lap(rng: np.random.Generator) -> list[Step]:
    """In and out of every room with a look around in each, not quite the same way twice."""
    steps: list[Step] = []
    for x, y, north in ((2.5, 9.5, 1), (7.5, 9.5, 1), (12.5, 9.5, 1), (12.5, 2.5, -1), (7.5, 2.5, -1), (2.5, 2.5, -1)):
        aside, ahead = rng.uniform(-0.3, 0.3), rng.uniform(-0.4, 0.4)
        turn = math.tau if rng.random() < 0.5 else -math.tau
        steps += [
            Go(x, 6.0 + float(rng.uniform(-0.3, 0.3))),
            Go(x + float(aside), y - north * 1.2 + float(ahead)),
            Turn(turn / 3),
            Go(x - float(aside), y + north * 1.2),
            Turn(turn * 2 / 3),
            Go(x, y),
            Go(x, 6.0),
        ]
    return [*steps, Go(0.8, 6.0)]
