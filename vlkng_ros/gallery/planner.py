"""Ways through the gallery's doors: what stands in for a planner.

Rooms are rectangles and nothing stands in them, so the shortest way is straight from door to door.
"""

from __future__ import annotations

import itertools
import math

import networkx as nx

from vlkng_ros.errors import NavigationError
from vlkng_ros.gallery.world import Point, World

ROBOT_RADIUS_M = 0.25
DOOR_APPROACH_M = 0.4


class GoalOutsideError(NavigationError):
    """The goal is not in the building."""


class GoalOccupiedError(NavigationError):
    """The robot does not fit at the goal."""


class NoPathError(NavigationError):
    """No door leads from where the robot is to the goal."""


class Planner:
    """Plans on one world; the doors' graph is made once."""

    def __init__(self, world: World) -> None:
        """A planner for ``world``."""
        self._world = world
        self._solid = [wall for wall in world.walls if not wall.is_lintel]
        self._graph = nx.Graph()
        self._by_room: dict[str, list[Point]] = {room.name: [] for room in world.rooms}
        self._sides: list[list[Point]] = []
        """For each door the points before and behind it."""
        for door in world.doors:
            sides = [
                (wall.room, _step(door.centre, wall.start, wall.end))
                for wall in world.walls
                if wall.is_lintel and math.dist(door.centre, _middle(wall.start, wall.end)) < 1e-6
            ]
            for room, side in sides:
                self._by_room[room].append(side)
            self._sides.append([side for _, side in sides])
            for (_, a), (_, b) in itertools.combinations(sides, 2):
                self._graph.add_edge(a, b, length=math.dist(a, b))
        for points in self._by_room.values():
            for a, b in itertools.combinations(points, 2):
                self._graph.add_edge(a, b, length=math.dist(a, b))

    def plan(self, start: Point, goal: Point) -> list[Point]:
        """Points to drive to one after another, the goal last.

        Raises:
            GoalOutsideError: the goal is not in the building.
            GoalOccupiedError: the goal is too near a wall.
            NoPathError: no door leads there, or the robot stands outside.
        """
        room = self._world.room_at(*goal)
        if not room:
            raise GoalOutsideError(f"goal ({goal[0]:.2f}, {goal[1]:.2f}) is outside the building")
        clearance = min(_distance(goal, wall.start, wall.end) for wall in self._solid)
        if clearance < ROBOT_RADIUS_M:
            raise GoalOccupiedError(
                f"goal ({goal[0]:.2f}, {goal[1]:.2f}) is {clearance:.2f} m from a wall; the robot needs "
                f"{ROBOT_RADIUS_M} m"
            )
        here = self._world.room_at(*start)
        if not here:
            raise NoPathError(f"the robot at ({start[0]:.2f}, {start[1]:.2f}) is outside the building")
        before, after = self._links(start, here), self._links(goal, room)
        if here == room and before is after:
            return [goal]
        graph = self._graph.copy()
        # Names apart from door points, which a start or goal may coincide with.
        for name, at, links in (("start", start, before), ("goal", goal, after)):
            for point in links:
                graph.add_edge(name, point, length=math.dist(at, point))
        try:
            through = nx.shortest_path(graph, "start", "goal", weight="length")
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            raise NoPathError(f"no door leads from {here} to {room}") from None
        return [*through[1:-1], goal]

    def _links(self, point: Point, room: str) -> list[Point]:
        """Door points that can be reached from a point in a straight line: its room's, or in a doorway that door's."""
        (x1, y1), (x2, y2) = self._world.room(room).south_west, self._world.room(room).north_east
        inside = min(point[0] - x1, x2 - point[0], point[1] - y1, y2 - point[1])
        if inside >= ROBOT_RADIUS_M or not self._sides:
            return self._by_room[room]
        doors = [math.dist(point, door.centre) for door in self._world.doors]
        return self._sides[doors.index(min(doors))]


def _middle(a: Point, b: Point) -> Point:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


def _step(centre: Point, start: Point, end: Point) -> Point:
    """A step into the room from the middle of its door."""
    length = math.dist(start, end)
    normal = (-(end[1] - start[1]) / length, (end[0] - start[0]) / length)
    return centre[0] + DOOR_APPROACH_M * normal[0], centre[1] + DOOR_APPROACH_M * normal[1]


def _distance(point: Point, start: Point, end: Point) -> float:
    """Distance of a point from a wall."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    along = ((point[0] - start[0]) * dx + (point[1] - start[1]) * dy) / (dx * dx + dy * dy)
    along = min(max(along, 0.0), 1.0)
    return math.dist(point, (start[0] + along * dx, start[1] + along * dy))
