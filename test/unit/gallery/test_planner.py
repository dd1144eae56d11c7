import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlkng_ros.errors import PoseError
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.planner import ROBOT_RADIUS_M, GoalOccupiedError, GoalOutsideError, NoPathError, Planner
from vlkng_ros.gallery.robot import SimulatedRobot
from vlkng_ros.gallery.sensors import FrameReading, OdometryReading
from vlkng_ros.gallery.world import Door, Room, World
from vlkng_ros.types import Pose

WORLD = demo_world()
S = 1_000_000_000


def free_place(number: int, across: float, up: float) -> tuple[float, float]:
    room = WORLD.rooms[number]
    (x1, y1), (x2, y2) = room.south_west, room.north_east
    margin = ROBOT_RADIUS_M + 0.01
    return x1 + margin + across * (x2 - x1 - 2 * margin), y1 + margin + up * (y2 - y1 - 2 * margin)


def doorway(number: int, across: float, through: float) -> tuple[float, float]:
    x, y = WORLD.doors[number].centre
    return x + 0.24 * across, y + 0.3 * through


doorways = st.builds(doorway, st.integers(0, len(WORLD.doors) - 1), st.floats(-1, 1), st.floats(-1, 1))
places = doorways | st.builds(free_place, st.integers(0, len(WORLD.rooms) - 1), st.floats(0, 1), st.floats(0, 1))


@settings(deadline=None, max_examples=300)
@given(places, places)
def test_every_free_place_is_reached_without_touching_a_wall(
    start: tuple[float, float], goal: tuple[float, float]
) -> None:
    path = [start, *Planner(WORLD).plan(start, goal)]
    assert path[-1] == goal
    solid = [wall for wall in WORLD.walls if not wall.is_lintel]
    starts = np.array([wall.start for wall in solid])
    spans = np.array([wall.end for wall in solid]) - starts
    for a, b in itertools.pairwise(path):
        points = np.linspace(a, b, 30)
        along = ((points[:, None] - starts) * spans).sum(2) / (spans**2).sum(1)
        nearest = starts + np.clip(along, 0, 1)[..., None] * spans
        assert np.linalg.norm(points[:, None] - nearest, axis=2).min() >= ROBOT_RADIUS_M - 1e-9


def test_the_way_within_a_room_is_straight() -> None:
    assert Planner(WORLD).plan((1.0, 6.0), (3.0, 7.0)) == [(3.0, 7.0)]


def test_the_way_to_another_room_leads_through_both_doors() -> None:
    # From the kitchen (door at x = 2) to the living room (door at x = 6), along the corridor.
    path = Planner(WORLD).plan((2.0, 6.0), (6.0, 6.0))
    np.testing.assert_allclose(path, [(2.0, 5.2), (2.0, 4.4), (6.0, 4.4), (6.0, 5.2), (6.0, 6.0)])


def test_a_goal_in_a_doorway_is_reached_from_both_sides() -> None:
    planner = Planner(WORLD)
    assert planner.plan((6.0, 6.0), (6.0, 4.82))[-1] == (6.0, 4.82)
    # From the corridor's far end not along the wall, but by way of the point before the door.
    path = planner.plan((0.8, 3.6), (6.02, 4.82))
    np.testing.assert_allclose(path, [(6.0, 4.4), (6.02, 4.82)])
    assert planner.plan((6.02, 4.82), (0.8, 3.6))[-1] == (0.8, 3.6)


def test_goals_outside_and_in_walls_are_told_apart() -> None:
    planner = Planner(WORLD)
    with pytest.raises(GoalOutsideError, match="outside the building"):
        planner.plan((1.0, 6.0), (30.0, 6.0))
    with pytest.raises(GoalOccupiedError, match=r"0\.10 m from a wall"):
        planner.plan((1.0, 6.0), (3.0, 7.9))


def test_a_room_without_a_door_is_not_reached() -> None:
    rooms = [Room("hall", (0.0, 0.0), (4.0, 4.0)), Room("vault", (4.0, 0.0), (8.0, 4.0)), Room("den", (0, 4), (4, 8))]
    planner = Planner(World.from_plan(rooms, [Door((2.0, 4.0))]))
    with pytest.raises(NoPathError, match="no door leads from hall to vault"):
        planner.plan((2.0, 2.0), (6.0, 2.0))
    with pytest.raises(NoPathError, match="outside"):
        planner.plan((20.0, 2.0), (2.0, 2.0))


def test_the_robot_drives_where_it_is_sent_and_arrives_exactly() -> None:
    robot = SimulatedRobot(WORLD, demo_drive())
    list(robot.until(7 * S))
    before = robot.true_pose
    remaining = robot.go_to(Pose.planar("map", 6.0, 6.0, 1.0))
    assert robot.true_pose == before
    assert remaining.distance_m > before.distance_m(Pose.planar("map", 6.0, 6.0))
    list(robot.until(robot.now_ns + round(remaining.seconds * S) - S))
    assert not robot.parked
    assert robot.remaining().seconds == pytest.approx(1.0, abs=1e-3)
    readings = list(robot.until(robot.now_ns + 3 * S))
    assert robot.parked
    assert robot.true_pose.position_m == pytest.approx((6.0, 6.0, 0.0))
    assert robot.true_pose.yaw_rad == pytest.approx(1.0)
    # Parked, its sensors go on.
    assert [r for r in readings if isinstance(r, FrameReading) and r.stamp_ns > robot.drive.end_ns]
    assert [r for r in readings if isinstance(r, OdometryReading) and r.stamp_ns > robot.drive.end_ns]
    assert robot.estimated_pose.distance_m(robot.true_pose) < 0.3


def test_a_stopped_robot_stays_where_it_is() -> None:
    robot = SimulatedRobot(WORLD, demo_drive())
    list(robot.until(5 * S))
    robot.go_to(Pose.planar("map", 6.0, 6.0))
    list(robot.until(8 * S))
    here = robot.true_pose
    robot.stop()
    list(robot.until(20 * S))
    assert robot.parked
    assert not robot.navigating
    assert robot.true_pose.distance_m(here) == pytest.approx(0.0, abs=1e-9)


def test_a_goal_that_cannot_be_reached_changes_nothing() -> None:
    robot = SimulatedRobot(WORLD, demo_drive())
    list(robot.until(5 * S))
    drive = robot.drive
    with pytest.raises(GoalOutsideError):
        robot.go_to(Pose.planar("map", 99.0, 0.0))
    with pytest.raises(PoseError, match="frame 'odom'"):
        robot.go_to(Pose.planar("odom", 1.0, 1.0))
    assert robot.drive is drive
    assert not robot.navigating


def test_what_remains_shrinks_to_nothing() -> None:
    robot = SimulatedRobot(WORLD, demo_drive())
    robot.go_to(Pose.planar("map", 10.0, 6.0, math.pi / 2))
    last = math.inf
    while not robot.parked:
        remaining = robot.remaining()
        assert remaining.distance_m <= last
        last = remaining.distance_m
        list(robot.until(robot.now_ns + S // 2))
    assert robot.remaining().distance_m == 0.0
    assert robot.remaining().seconds == 0.0
