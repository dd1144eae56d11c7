"""The gallery's building: rooms, walls, doors, and pictures on the walls, with the truth about each.

The frame is ``map``: x east, y north, z up, the floor at z = 0. Walls are vertical and have no thickness. Each room
owns its walls, which are seen from inside only, so two rooms that share a wall bring one face each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.photographs import photograph
from vlkng_ros.types import Float64Array, Vec3

Point = tuple[float, float]
Rgb = tuple[int, int, int]

WALL_HEIGHT_M = 2.6
DOOR_HEIGHT_M = 2.1
PICTURE_WIDTH_M = 1.6
PICTURE_CENTRE_HEIGHT_M = 1.0
FOREVER_NS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Room:
    """A rectangular room: ``south_west`` and ``north_east`` corners on the floor, and the colour of its walls."""

    name: str
    south_west: Point
    north_east: Point
    wall_rgb: Rgb = (222, 216, 204)

    def contains(self, x_m: float, y_m: float) -> bool:
        """Whether a point of the floor lies in this room (borders included)."""
        return self.south_west[0] <= x_m <= self.north_east[0] and self.south_west[1] <= y_m <= self.north_east[1]

    @property
    def centre(self) -> Point:
        """The middle of the floor."""
        return (self.south_west[0] + self.north_east[0]) / 2, (self.south_west[1] + self.north_east[1]) / 2

    def side(self, side: str) -> tuple[Point, Point]:
        """Ends of the wall on a ``side`` (north, west, south, east), ordered so that the room is on its left."""
        (x1, y1), (x2, y2) = self.south_west, self.north_east
        sides = {
            "south": ((x1, y1), (x2, y1)),
            "east": ((x2, y1), (x2, y2)),
            "north": ((x2, y2), (x1, y2)),
            "west": ((x1, y2), (x1, y1)),
        }
        if side not in sides:
            raise InvalidInputError(f"room '{self.name}' has no side '{side}'; there are {', '.join(sides)}")
        return sides[side]


@dataclass(frozen=True, slots=True)
class Door:
    """An opening ``width_m`` wide, centred on a point of a wall."""

    centre: Point
    width_m: float = 1.0


@dataclass(frozen=True, slots=True)
class Wall:
    """A face from ``start`` to ``end``, seen from the left of that direction, between two heights."""

    room: str
    start: Point
    end: Point
    rgb: Rgb
    bottom_m: float = 0.0
    top_m: float = WALL_HEIGHT_M

    @property
    def is_lintel(self) -> bool:
        """Whether it only closes the wall above a door."""
        return self.bottom_m > 0.0


@dataclass(frozen=True, slots=True)
class Picture:
    """A photograph on a wall during ``[since_ns, until_ns)``.

    ``centre_m`` is on the wall, ``normal`` the unit vector from the wall into the room. A picture that is moved keeps
    its ``picture_id`` and hangs twice, at different times.
    """

    picture_id: str
    photograph: str
    room: str
    centre_m: Vec3
    normal: Point
    width_m: float
    height_m: float
    since_ns: int = -FOREVER_NS
    until_ns: int = FOREVER_NS

    def hangs_at(self, stamp_ns: int) -> bool:
        """Whether it is on the wall at that time."""
        return self.since_ns <= stamp_ns < self.until_ns

    def points_m(self, fractions: Sequence[Sequence[float]] | Float64Array) -> Float64Array:
        """World points, shape ``(n, 3)``, of points given as fractions of the picture's width and height, ``(n, 2)``.

        ``(0, 0)`` is the corner that a viewer sees top left.
        """
        at = np.asarray(fractions, np.float64)
        # Seen from the room, the picture's left-to-right is the normal turned a quarter to the left.
        right = np.array([-self.normal[1], self.normal[0], 0.0])
        down = np.array([0.0, 0.0, -1.0])
        across, below = (at[:, :1] - 0.5) * self.width_m, (at[:, 1:] - 0.5) * self.height_m
        return np.asarray(np.asarray(self.centre_m) + across * right + below * down)

    def corners_m(self) -> Float64Array:
        """Its corners, shape ``(4, 3)``: top left, top right, bottom right, bottom left as a viewer sees them."""
        return self.points_m([(0, 0), (1, 0), (1, 1), (0, 1)])


@dataclass(frozen=True, slots=True)
class Thing:
    """One labelled thing on a picture: what a memory should know about.

    ``fractions`` is its box as fractions of the picture, ``centre_m`` the middle of that box on the wall.
    """

    thing_id: str
    label: str
    picture: Picture
    fractions: tuple[float, float, float, float]

    @property
    def centre_m(self) -> Vec3:
        """Where it is, in ``map``."""
        x1, y1, x2, y2 = self.fractions
        x, y, z = self.picture.points_m([((x1 + x2) / 2, (y1 + y2) / 2)])[0].tolist()
        return x, y, z

    def corners_m(self) -> Float64Array:
        """Corners of its box on the wall, shape ``(4, 3)``: top left, top right, bottom right, bottom left."""
        x1, y1, x2, y2 = self.fractions
        return self.picture.points_m([(x1, y1), (x2, y1), (x2, y2), (x1, y2)])


@dataclass(frozen=True)
class World:
    """A building with its pictures. Build one with ``World.from_plan``, then ``hang`` pictures."""

    rooms: tuple[Room, ...]
    walls: tuple[Wall, ...]
    doors: tuple[Door, ...] = ()
    pictures: tuple[Picture, ...] = ()
    frame_id: str = "map"
    _rooms_by_name: Mapping[str, Room] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rooms_by_name", {room.name: room for room in self.rooms})

    @classmethod
    def from_plan(cls, rooms: Iterable[Room], doors: Iterable[Door]) -> World:
        """Walls around every room, opened where a door lies on them.

        Raises:
            InvalidInputError: a door that lies on no wall.
        """
        rooms, doors = tuple(rooms), tuple(doors)
        walls = tuple(wall for room in rooms for wall in _walls_of(room, doors))
        for door in doors:
            if not any(wall.is_lintel and _lies_on(door.centre, wall) for wall in walls):
                raise InvalidInputError(f"the door at {door.centre} lies on no wall")
        return cls(rooms=rooms, walls=walls, doors=doors)

    def room(self, name: str) -> Room:
        """The room of that name.

        Raises:
            InvalidInputError: there is none.
        """
        if name not in self._rooms_by_name:
            raise InvalidInputError(f"no room '{name}'; there are {', '.join(self._rooms_by_name)}")
        return self._rooms_by_name[name]

    def room_at(self, x_m: float, y_m: float) -> str:
        """Name of the room at a point of the floor, empty outside."""
        return next((room.name for room in self.rooms if room.contains(x_m, y_m)), "")

    def bounds_m(self) -> tuple[float, float, float, float]:
        """``(x_min, y_min, x_max, y_max)`` of the building."""
        corners = np.array([corner for room in self.rooms for corner in (room.south_west, room.north_east)])
        (x1, y1), (x2, y2) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
        return x1, y1, x2, y2

    def hang(
        self,
        photograph_name: str,
        room: str,
        side: str,
        along: float,
        *,
        picture_id: str = "",
        width_m: float = PICTURE_WIDTH_M,
        centre_height_m: float = PICTURE_CENTRE_HEIGHT_M,
        since_ns: int = -FOREVER_NS,
        until_ns: int = FOREVER_NS,
    ) -> World:
        """This world with one more picture.

        ``along`` is the x (north and south walls) or y (east and west walls) of its centre. ``picture_id`` is the
        photograph's name where none is given.

        Raises:
            InvalidInputError: no such photograph, room or side, or the picture does not fit on the wall there.
        """
        known = photograph(photograph_name)
        start, end = self.room(room).side(side)
        centre = (along, start[1]) if side in ("north", "south") else (start[0], along)
        height_m = width_m * known.height_px / known.width_px
        length = math.dist(start, end)
        normal = (-(end[1] - start[1]) / length, (end[0] - start[0]) / length)
        picture = Picture(
            picture_id or photograph_name, photograph_name, room, (*centre, centre_height_m), normal,
            width_m, height_m, since_ns, until_ns,
        )  # fmt: skip
        if not self._fits(picture):
            raise InvalidInputError(
                f"picture '{picture.picture_id}' ({width_m:.2f} m by {height_m:.2f} m) does not fit on the {side} wall "
                f"of '{room}' at {along:g}: a corner, a door, another picture, the floor or the ceiling is in the way"
            )
        return World(self.rooms, self.walls, self.doors, (*self.pictures, picture), self.frame_id)

    def _fits(self, picture: Picture) -> bool:
        corners = picture.corners_m()
        solid = [wall for wall in self.walls if wall.room == picture.room and not wall.is_lintel]
        on_wall = any(all(_lies_on((x, y), wall) for x, y, _ in corners.tolist()) for wall in solid)
        upright = corners[:, 2].min() >= 0.0 and corners[:, 2].max() <= DOOR_HEIGHT_M
        return on_wall and bool(upright) and not any(_overlap(picture, other) for other in self.pictures)

    def things(self, stamp_ns: int | None = None) -> tuple[Thing, ...]:
        """Every labelled thing, or those on the walls at ``stamp_ns``. ``thing_id`` is ``<picture_id>/<label>``."""
        found = []
        for picture in self.pictures:
            if stamp_ns is not None and not picture.hangs_at(stamp_ns):
                continue
            known = photograph(picture.photograph)
            w, h = known.width_px, known.height_px
            for region in known.regions:
                x1, y1, x2, y2 = region.box_px
                thing_id = f"{picture.picture_id}/{region.label}"
                found.append(Thing(thing_id, region.label, picture, (x1 / w, y1 / h, x2 / w, y2 / h)))
        return tuple(found)

    def labels(self) -> frozenset[str]:
        """Labels that are true somewhere in this world."""
        known = [photograph(picture.photograph) for picture in self.pictures]
        return frozenset(r.label for p in known for r in p.regions) | frozenset(a for p in known for a in p.also)


def _walls_of(room: Room, doors: Sequence[Door]) -> Iterable[Wall]:
    for name in ("south", "east", "north", "west"):
        start, end = room.side(name)
        length = math.dist(start, end)
        direction = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
        # North and south walls get another share of light, so that corners of a room can be told.
        light = 1.0 if name in ("south", "north") else 0.92
        rgb: Rgb = tuple(int(c * light) for c in room.wall_rgb)  # type: ignore[assignment]

        def at(s: float, start: Point = start, direction: Point = direction) -> Point:
            return start[0] + s * direction[0], start[1] + s * direction[1]

        done = 0.0
        whole = Wall(room.name, start, end, rgb)
        openings = sorted(
            ((door.centre[0] - start[0]) * direction[0] + (door.centre[1] - start[1]) * direction[1], door.width_m)
            for door in doors
            if _lies_on(door.centre, whole)
        )
        for middle, width in openings:
            left, right = max(middle - width / 2, 0.0), min(middle + width / 2, length)
            if left > done:
                yield Wall(room.name, at(done), at(left), rgb)
            yield Wall(room.name, at(left), at(right), rgb, bottom_m=DOOR_HEIGHT_M)
            done = right
        if done < length:
            yield Wall(room.name, at(done), end, rgb)


def _lies_on(point: Point, wall: Wall, tolerance_m: float = 1e-6) -> bool:
    (x1, y1), (x2, y2) = wall.start, wall.end
    length = math.dist(wall.start, wall.end)
    along = ((point[0] - x1) * (x2 - x1) + (point[1] - y1) * (y2 - y1)) / length
    aside = ((point[0] - x1) * (y2 - y1) - (point[1] - y1) * (x2 - x1)) / length
    return abs(aside) <= tolerance_m and -tolerance_m <= along <= length + tolerance_m


def _overlap(a: Picture, b: Picture) -> bool:
    if a.room != b.room or a.normal != b.normal or a.since_ns >= b.until_ns or b.since_ns >= a.until_ns:
        return False
    return math.dist(a.centre_m[:2], b.centre_m[:2]) < (a.width_m + b.width_m) / 2
