"""The building of the demo, and the tour through it that takes about a minute."""

from __future__ import annotations

import math

from vlkng_ros.gallery.drive import Drive, Go, Step, Wait
from vlkng_ros.gallery.world import Door, Point, Room, World

CORRIDOR_Y_M = 4.0
NEARER_M = 0.6
START = (0.8, CORRIDOR_Y_M)


def demo_world() -> World:
    """Five rooms along a corridor, 12 m by 8 m: cat, cup, motorcycle, person, and two pictures of none of these."""
    world = World.from_plan(
        rooms=[
            Room("kitchen", (0.0, 4.8), (4.0, 8.0), (226, 205, 168)),
            Room("living room", (4.0, 4.8), (8.0, 8.0), (184, 200, 178)),
            Room("garage", (8.0, 4.8), (12.0, 8.0), (190, 192, 200)),
            Room("office", (0.0, 0.0), (6.0, 3.2), (176, 194, 214)),
            Room("library", (6.0, 0.0), (12.0, 3.2), (214, 186, 176)),
            Room("corridor", (0.0, 3.2), (12.0, 4.8), (226, 222, 214)),
        ],
        doors=[Door((2.0, 4.8)), Door((6.0, 4.8)), Door((10.0, 4.8)), Door((3.0, 3.2)), Door((9.0, 3.2))],
    )
    return (
        world.hang("coffee", "kitchen", "north", 2.0)
        .hang("chelsea", "living room", "north", 5.6)
        .hang("motorcycle", "garage", "north", 10.2)
        .hang("astronaut", "office", "south", 3.2)
        .hang("china", "library", "south", 8.8)
        .hang("flower", "corridor", "west", CORRIDOR_Y_M, width_m=1.3)
    )


def demo_drive(start_ns: int = 0) -> Drive:
    """Into four of the rooms, kitchen first, and past the library; about a minute."""
    return Drive.along(_tour(), start=START, yaw_rad=0.0, start_ns=start_ns)


def _tour() -> list[Step]:
    return [
        Wait(1.0),
        *_visit((2.0, 5.7), (2.9, 5.7), (2.0, 8.0)),
        *_visit((6.0, 5.4), (6.8, 5.5), (5.6, 8.0)),
        *_visit((10.0, 5.4), (9.1, 5.5), (10.2, 8.0)),
        *_visit((3.0, 2.5), (3.9, 2.4), (3.2, 0.0)),
        Wait(1.0),
    ]


def _visit(inside: Point, aside: Point, picture: Point) -> list[Step]:
    """From the corridor into a room, look at its picture from two places, and back.

    Only what is seen from places that are apart can be told from afar where it is.
    """
    x_m = inside[0]
    toward = math.atan2(picture[1] - aside[1], picture[0] - aside[0])
    nearer = (aside[0] + NEARER_M * math.cos(toward), aside[1] + NEARER_M * math.sin(toward))
    return [Go(x_m, CORRIDOR_Y_M), Go(*inside), Go(*aside), Go(*nearer), Go(*inside), Go(x_m, CORRIDOR_Y_M)]
