"""The building of the demo, and the tour through it that takes about a minute."""

from __future__ import annotations

from vlkng_ros.gallery.drive import Drive, Go, Step, Turn, Wait
from vlkng_ros.gallery.world import Door, Room, World

CORRIDOR_Y_M = 4.0
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
        world.hang("coffee", "kitchen", "north", 2.4)
        .hang("chelsea", "living room", "north", 5.3)
        .hang("motorcycle", "garage", "north", 10.7)
        .hang("astronaut", "office", "south", 3.6)
        .hang("china", "library", "south", 8.2)
        .hang("flower", "corridor", "west", CORRIDOR_Y_M, width_m=1.3)
    )


def demo_drive(start_ns: int = 0) -> Drive:
    """In and out of every room, kitchen first, office last."""
    return Drive.along(_tour(), start=START, yaw_rad=0.0, start_ns=start_ns)


def _tour() -> list[Step]:
    steps: list[Step] = [Wait(1.0)]
    # Door's x, how far in, and how far to look aside, towards the room's picture.
    for x_m, inside_y_m, look_rad in (
        (2.0, 6.0, -0.6),
        (6.0, 5.9, 0.5),
        (10.0, 5.9, -0.5),
        (9.0, 2.1, 0.5),
        (3.0, 2.1, 0.5),
    ):
        steps += [Go(x_m, CORRIDOR_Y_M), Go(x_m, inside_y_m), Turn(look_rad), Turn(-look_rad)]
        steps += [Go(x_m, CORRIDOR_Y_M)]
    return [*steps, Wait(1.0)]
