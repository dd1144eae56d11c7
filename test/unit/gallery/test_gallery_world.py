import numpy as np
import pytest

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.demo_world import demo_world
from vlkng_ros.gallery.world import Door, Room, World


def two_rooms() -> World:
    rooms = [Room("west", (0.0, 0.0), (4.0, 3.0)), Room("east", (4.0, 0.0), (8.0, 3.0))]
    return World.from_plan(rooms, [Door((4.0, 1.5))])


def test_a_door_opens_the_wall_of_both_its_rooms() -> None:
    lintels = [wall for wall in two_rooms().walls if wall.is_lintel]
    assert [wall.room for wall in lintels] == ["west", "east"]
    for wall in lintels:
        assert sorted([wall.start, wall.end]) == [(4.0, 1.0), (4.0, 2.0)]


def test_walls_and_lintels_close_every_room() -> None:
    for room in demo_world().rooms:
        (x1, y1), (x2, y2) = room.south_west, room.north_east
        walls = [wall for wall in demo_world().walls if wall.room == room.name]
        length = sum(np.linalg.norm(np.subtract(wall.end, wall.start)) for wall in walls)
        assert length == pytest.approx(2 * (x2 - x1) + 2 * (y2 - y1))


def test_a_door_in_the_open_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"door at \(2.0, 1.5\) lies on no wall"):
        World.from_plan([Room("hall", (0.0, 0.0), (4.0, 3.0))], [Door((2.0, 1.5))])


@pytest.mark.parametrize(
    ("side", "along", "top_left", "top_right"),
    [
        ("north", 2.0, (1.2, 3.0), (2.8, 3.0)),
        ("south", 2.0, (2.8, 0.0), (1.2, 0.0)),
        ("west", 1.5, (0.0, 0.7), (0.0, 2.3)),
    ],
)
def test_a_picture_is_the_right_way_round_for_who_stands_in_its_room(
    side: str, along: float, top_left: tuple[float, float], top_right: tuple[float, float]
) -> None:
    picture = two_rooms().hang("coffee", "west", side, along).pictures[0]
    corners = picture.corners_m()
    height = 1.6 * 400 / 600
    np.testing.assert_allclose(corners[0], (*top_left, 1.0 + height / 2))
    np.testing.assert_allclose(corners[1], (*top_right, 1.0 + height / 2))
    np.testing.assert_allclose(corners[2], (*top_right, 1.0 - height / 2))
    np.testing.assert_allclose(corners[3], (*top_left, 1.0 - height / 2))


def test_a_thing_lies_where_its_box_is_on_the_picture() -> None:
    world = two_rooms().hang("coffee", "west", "north", 2.0)
    (cup,) = world.things()
    assert cup.thing_id == "coffee/cup"
    # The box (170, 14, 405, 300) of 600 by 400 px, 1.6 m wide, top left at x = 1.2.
    scale = 1.6 / 600
    assert cup.centre_m == pytest.approx((1.2 + scale * 287.5, 3.0, 1.0 + scale * (200 - 157)))


@pytest.mark.parametrize(
    ("room", "side", "along", "reason"),
    [
        ("west", "east", 1.5, "a door"),
        ("west", "north", 0.5, "a corner"),
    ],
)
def test_a_picture_in_a_door_or_around_a_corner_is_refused(room: str, side: str, along: float, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=f"does not fit.*{reason}"):
        two_rooms().hang("coffee", room, side, along)


def test_pictures_may_not_overlap_unless_at_different_times() -> None:
    world = two_rooms().hang("coffee", "west", "north", 1.5, until_ns=10)
    with pytest.raises(InvalidInputError, match="another picture"):
        world.hang("chelsea", "west", "north", 2.5)
    later = world.hang("chelsea", "west", "north", 2.5, since_ns=10)
    assert [thing.label for thing in later.things(9)] == ["cup"]
    assert [thing.label for thing in later.things(10)] == ["cat"]


@pytest.mark.parametrize(("name", "message"), [("attic", "no room 'attic'"), ("west", "no side 'up'")])
def test_unknown_rooms_and_sides_are_named(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        two_rooms().hang("coffee", name, "up", 1.0)


def test_the_demo_has_one_of_each_thing_that_it_asks_for() -> None:
    labels = [thing.label for thing in demo_world().things()]
    assert sorted(labels) == ["cat", "cup", "motorcycle", "person"]
