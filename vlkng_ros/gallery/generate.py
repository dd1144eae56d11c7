"""Bigger galleries from a seed: many rooms, things that look alike, several laps, things that move in between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.drive import Drive, Go, Step, Turn
from vlkng_ros.gallery.photographs import CARD_PREFIX, CATALOGUE
from vlkng_ros.gallery.world import FOREVER_NS, Door, Rgb, Room, World

LABELS = (
    "chair", "bottle", "potted plant", "book", "clock", "vase",
    "laptop", "backpack", "umbrella", "bicycle", "tv", "couch",
)  # fmt: skip
"""What hangs in generated galleries as cards (see ``photographs.photograph``), in COCO's words."""
PHOTOGRAPHS = tuple(name for name, photograph in CATALOGUE.items() if photograph.regions)
_CORRIDOR_M = 2.0
_ATTEMPTS = 400


@dataclass(frozen=True, slots=True)
class Gallery:
    """A world, the drive through it, and when each lap ends; things change between laps only."""

    world: World
    drive: Drive
    lap_ends_ns: tuple[int, ...]


def generate_gallery(
    seed: int,
    *,
    rooms: int = 6,
    things: int = 40,
    laps: int = 3,
    moved: int = 3,
    removed: int = 2,
    added: int = 2,
    photographs: Sequence[str] | None = None,
    start_ns: int = 0,
) -> Gallery:
    """A building of ``rooms`` rooms on both sides of a corridor, with ``things`` pictures on its walls.

    The robot visits every room ``laps`` times and turns once around in each. After the first lap, one change at a
    time and spread over the remaining laps' starts, ``moved`` pictures hang elsewhere (in another room, with the same
    ``picture_id``), ``removed`` ones are gone and ``added`` ones are new (these count among ``things``).
    ``photographs`` are the names to draw from: cards with ``LABELS`` and the catalogue's photographs where None, so
    that every label occurs several times.

    Raises:
        InvalidInputError: counts that do not go together, or more pictures than the walls hold.
    """
    if rooms < 2 or laps < 1 or things < moved + removed + added:
        raise InvalidInputError("a generated gallery needs 2 rooms, 1 lap, and at least as many things as change")
    if laps < 2 and moved + removed + added:
        raise InvalidInputError("things change between laps: moved, removed and added need at least 2 laps")
    rng = np.random.default_rng([seed, 3])
    world, doors = _building(rng, rooms)
    drive, lap_ends_ns = _tour(rng, world, doors, laps, start_ns)
    names = list(photographs or (*(CARD_PREFIX + label for label in LABELS), *PHOTOGRAPHS))
    chosen = [names[int(i)] for i in rng.integers(len(names), size=things)]
    changes = [lap_ends_ns[i % max(laps - 1, 1)] for i in range(moved + removed + added)]
    # The first ones change; they are drawn at random anyway.
    for index, name in enumerate(chosen):
        since_ns, until_ns, again = -FOREVER_NS, FOREVER_NS, False
        if index < moved:
            until_ns, again = changes[index], True
        elif index < moved + removed:
            until_ns = changes[index]
        elif index < moved + removed + added:
            since_ns = changes[index]
        picture_id = f"p{index:03d}"
        world = _hang_somewhere(rng, world, name, picture_id, since_ns, until_ns, not_in="")
        if again:
            old_room = world.pictures[-1].room
            world = _hang_somewhere(rng, world, name, picture_id, until_ns, FOREVER_NS, not_in=old_room)
    return Gallery(world, drive, lap_ends_ns)


def _building(rng: np.random.Generator, count: int) -> tuple[World, list[Door]]:
    plan, doors = [], []
    ends = [0.0, 0.0]
    for index in range(count):
        north = index % 2 == 0
        side = 0 if north else 1
        width, depth = float(rng.uniform(4.0, 6.0)), float(rng.uniform(3.5, 5.0))
        x1, x2 = ends[side], ends[side] + width
        ends[side] = x2
        rgb: Rgb = tuple(int(c) for c in rng.integers(165, 230, size=3))  # type: ignore[assignment]
        if north:
            plan.append(Room(f"room {index + 1}", (x1, _CORRIDOR_M), (x2, _CORRIDOR_M + depth), rgb))
        else:
            plan.append(Room(f"room {index + 1}", (x1, -depth), (x2, 0.0), rgb))
        doors.append(Door(((x1 + x2) / 2, _CORRIDOR_M if north else 0.0), 1.0))
    plan.append(Room("corridor", (0.0, 0.0), (max(ends), _CORRIDOR_M)))
    return World.from_plan(plan, doors), doors


def _tour(
    rng: np.random.Generator, world: World, doors: list[Door], laps: int, start_ns: int
) -> tuple[Drive, tuple[int, ...]]:
    middle_y = _CORRIDOR_M / 2
    start = (0.8, middle_y)
    drive = Drive.along([], start=start, start_ns=start_ns)
    lap_ends = []
    for _ in range(laps):
        steps: list[Step] = []
        for index in rng.permutation(len(doors)).tolist():
            x = doors[index].centre[0]
            room = world.rooms[index].centre
            inside = (x, room[1] + float(rng.uniform(-0.5, 0.5)))
            around = math.tau if rng.random() < 0.5 else -math.tau
            steps += [Go(x, middle_y), Go(*inside), Turn(around), Go(x, middle_y)]
        drive = drive.then([*steps, Go(*start)], drive.end_ns)
        lap_ends.append(drive.end_ns)
    return drive, tuple(lap_ends)


def _hang_somewhere(
    rng: np.random.Generator, world: World, name: str, picture_id: str, since_ns: int, until_ns: int, not_in: str
) -> World:
    for _ in range(_ATTEMPTS):
        room = world.rooms[int(rng.integers(len(world.rooms)))]
        side = ("north", "south", "east", "west")[int(rng.integers(4))]
        width_m = float(rng.uniform(0.7, 1.2))
        (x1, y1), (x2, y2) = room.side(side)
        low, high = sorted((x1, x2) if side in ("north", "south") else (y1, y2))
        along = float(rng.uniform(low, high))
        if room.name == not_in:
            continue
        try:
            return world.hang(
                name, room.name, side, along,
                picture_id=picture_id, width_m=width_m, since_ns=since_ns, until_ns=until_ns,
            )  # fmt: skip
        except InvalidInputError:
            continue
    raise InvalidInputError(f"no free wall for picture {picture_id} of {len(world.pictures)}; use more rooms")
