import math

import pytest

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.camera import GalleryCamera
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.gallery.world import Door, Room, World
from vlkng_ros.types import OPTICAL_IN_BODY, Pose

AT_BASE = GalleryCamera(mount=Pose("base_link", (0.0, 0.0, 1.0), OPTICAL_IN_BODY))
NORTH = math.pi / 2


def two_rooms() -> World:
    rooms = [Room("north", (0.0, 3.0), (6.0, 9.0)), Room("south", (0.0, 0.0), (6.0, 3.0))]
    return World.from_plan(rooms, [Door((3.0, 3.0))]).hang("card:cup", "north", "north", 3.0)


def test_a_thing_straight_ahead_has_the_box_that_the_pinhole_gives() -> None:
    (box,) = Truth(two_rooms(), AT_BASE).boxes(Pose.planar("map", 3.0, 5.0, NORTH))
    half_w, half_h = 525 * 0.8 / 4, 525 * 0.8 * 320 / 480 / 4
    assert box.box_px == pytest.approx((320 - half_w, 240 - half_h, 320 + half_w, 240 + half_h))
    assert box.visible == pytest.approx(1.0)
    assert box.distance_m == pytest.approx(4.0)
    assert box.angle_rad == pytest.approx(0.0)


def test_distance_and_angle_are_those_of_the_line_of_sight() -> None:
    (box,) = Truth(two_rooms(), AT_BASE).boxes(Pose.planar("map", 1.0, 7.0, math.pi / 4))
    assert box.distance_m == pytest.approx(2 * math.sqrt(2))
    assert box.angle_rad == pytest.approx(math.pi / 4)


def test_what_the_border_of_the_frame_cuts_counts_as_not_visible() -> None:
    truth = Truth(two_rooms(), AT_BASE)
    # The axis points at the picture's left end: half of it would be beyond the border at half the field of view.
    (box,) = truth.boxes(Pose.planar("map", 3.0 - 0.61, 8.0, NORTH), min_visible=0.1)
    right_end = 525 * (0.61 + 0.8) / 1.0
    assert right_end > 320
    seen = (320 / 525 - (0.61 - 0.8)) / 1.6
    # At 1 m the card is also higher than the frame: 560 px of 480.
    assert box.visible == pytest.approx(seen * 480 / (525 * 1.6 * 320 / 480), abs=0.02)
    assert box.box_px[2] == 640.0
    assert box.box_px[1] == 0.0
    assert box.box_px[3] == 480.0


def test_a_wall_hides_a_thing_and_a_door_shows_a_part_of_it() -> None:
    truth = Truth(two_rooms(), AT_BASE)
    assert truth.boxes(Pose.planar("map", 1.0, 1.5, NORTH), max_distance_m=20) == ()
    (whole,) = truth.boxes(Pose.planar("map", 3.0, 1.5, NORTH), max_distance_m=20)
    assert whole.visible == pytest.approx(1.0)
    (part,) = truth.boxes(Pose.planar("map", 2.4, 1.5, NORTH), min_visible=0.01, max_distance_m=20)
    # Through the door's left jamb, 0.1 m aside at 1.5 m, the line of sight meets the wall 0.5 m aside at 7.5 m.
    assert part.visible == pytest.approx((3.8 - (2.4 + 0.1 * 5)) / 1.6, abs=0.03)


def test_a_thing_is_seen_from_near_and_in_front_only() -> None:
    truth = Truth(two_rooms(), AT_BASE)
    (cup,) = two_rooms().things()
    assert truth.sees(cup, Pose.planar("map", 3.0, 6.0, NORTH))
    assert not truth.sees(cup, Pose.planar("map", 3.0, 6.0, -NORTH))
    assert not truth.sees(cup, Pose.planar("map", 3.0, 3.5, NORTH))  # 5.5 m away
    assert not truth.sees(cup, Pose.planar("map", 0.3, 8.2, 0.4))  # 73 degrees aside


def test_a_goal_that_sees_the_thing_has_no_error() -> None:
    error = Truth(two_rooms(), AT_BASE).goal_error("cup", Pose.planar("map", 3.0, 6.0, NORTH))
    assert (error.thing.thing_id, error.distance_m, error.turn_rad) == ("card:cup/cup", 0.0, 0.0)


def test_a_goal_that_looks_away_must_turn_until_the_thing_is_in_view() -> None:
    error = Truth(two_rooms(), AT_BASE).goal_error("cup", Pose.planar("map", 3.0, 6.0, 0.0))
    assert error.distance_m == 0.0
    # Most of the picture (60 %) is in view before its middle is straight ahead.
    assert NORTH - math.atan(320 / 525) <= error.turn_rad < NORTH


def test_a_goal_behind_a_wall_is_as_far_off_as_the_nearest_place_that_sees_the_thing() -> None:
    error = Truth(two_rooms(), AT_BASE).goal_error("cup", Pose.planar("map", 3.0, 2.0, NORTH))
    # Straight on: the thing is seen from 5 m, 4 m from the wall of the door.
    assert error.distance_m == pytest.approx(2.0, abs=0.11)


def test_a_thing_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInputError, match="no 'dog' in this gallery"):
        Truth(two_rooms()).goal_error("dog", Pose.planar("map", 1.0, 1.0))


def test_the_demo_shows_every_thing_for_at_least_two_seconds_and_the_cup_first() -> None:
    truth, drive = Truth(demo_world()), demo_drive()
    seen = {thing.label: truth.times_seen(thing, drive) for thing in demo_world().things()}
    assert all(len(stamps) >= 20 for stamps in seen.values())
    assert sorted(seen, key=lambda label: seen[label][0])[0] == "cup"
    # Each is in a room of its own: what is seen last is clear.
    assert max(seen["cup"]) < min(seen["cat"])
