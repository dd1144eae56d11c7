import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.camera import GalleryCamera
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.photographs import load_photograph
from vlkng_ros.gallery.render import Renderer
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.gallery.world import Door, Room, World
from vlkng_ros.types import OPTICAL_IN_BODY, Pose

CAMERA_HEIGHT_M = 0.8
AT_BASE = GalleryCamera(mount=Pose("base_link", (0.0, 0.0, CAMERA_HEIGHT_M), OPTICAL_IN_BODY))
FRAME_M = 0.012


def hall(*, with_picture: bool, photograph: str = "card:cup") -> World:
    """A room of 8 m by 6 m, a picture in the middle of its north wall."""
    world = World.from_plan([Room("hall", (0.0, 0.0), (8.0, 6.0))], [])
    return world.hang(photograph, "hall", "north", 4.0) if with_picture else world


def changed(with_picture: World, without: World, base: Pose, camera: GalleryCamera = AT_BASE) -> np.ndarray:
    """Where the picture shows: pixels that differ from the frame without it, shape (h, w)."""
    a, b = Renderer(with_picture, camera).render(base), Renderer(without, camera).render(base)
    return np.abs(a.astype(int) - b).max(axis=2) > 0


@pytest.mark.parametrize(
    ("x_m", "y_m", "yaw_rad"),
    [
        (4.0, 2.0, math.pi / 2),
        (2.0, 3.0, 1.0),
        (6.5, 2.5, 2.2),
        (4.0, 4.0, math.pi / 2),
    ],
)
def test_the_corners_of_a_picture_are_where_a_pinhole_camera_sees_them(x_m: float, y_m: float, yaw_rad: float) -> None:
    base = Pose.planar("map", x_m, y_m, yaw_rad)
    seen = changed(hall(with_picture=True), hall(with_picture=False), base)
    # By hand, without the package's own camera: x right, y down, z forward.
    half_w, half_h = 0.8 + FRAME_M, 0.8 * 320 / 480 + FRAME_M
    expected = []
    for east, up in ((-half_w, half_h), (half_w, half_h), (half_w, -half_h), (-half_w, -half_h)):
        dx, dy, dz = 4.0 + east - x_m, 6.0 - y_m, 1.0 + up - CAMERA_HEIGHT_M
        forward = math.cos(yaw_rad) * dx + math.sin(yaw_rad) * dy
        right = math.sin(yaw_rad) * dx - math.cos(yaw_rad) * dy
        expected.append((320 + 525 * right / forward, 240 - 525 * dz / forward))
    rows, columns = np.nonzero(seen)
    points = np.stack([columns, rows], axis=1).astype(float)
    for corner, (u, v) in zip(((-1, -1), (1, -1), (1, 1), (-1, 1)), expected, strict=True):
        furthest = points[np.argmax(points @ np.array(corner))]
        assert np.abs(furthest - (u, v)).max() <= 1.5, corner


def test_seen_straight_on_at_its_own_scale_a_picture_is_the_photograph() -> None:
    # 600 px on 1.6 m: at this depth a pixel of the photograph is a pixel of the frame.
    depth = 525 * 1.6 / 600
    mount = Pose("base_link", (0.0, 0.0, 1.0), OPTICAL_IN_BODY)
    renderer = Renderer(hall(with_picture=True, photograph="coffee"), GalleryCamera(mount=mount))
    frame = renderer.render(Pose.planar("map", 4.0, 6.0 - depth, math.pi / 2))
    # The principal point is between the middle pixels of the photograph: half a pixel aside.
    photo = load_photograph("coffee").astype(float)
    between = (photo[:-1, :-1] + photo[1:, :-1] + photo[:-1, 1:] + photo[1:, 1:]) / 4
    difference = np.abs(frame[41:440, 21:620].astype(float) - between)
    assert difference.mean() < 1.0
    assert np.quantile(difference, 0.999) < 8.0


def test_a_wall_hides_what_is_behind_it() -> None:
    rooms = [Room("north", (0.0, 3.0), (6.0, 6.0)), Room("south", (0.0, 0.0), (6.0, 3.0))]
    without = World.from_plan(rooms, [])
    with_picture = without.hang("card:cup", "north", "north", 3.0)
    assert not changed(with_picture, without, Pose.planar("map", 3.0, 1.0, math.pi / 2)).any()
    assert changed(with_picture, without, Pose.planar("map", 3.0, 4.0, math.pi / 2)).any()


@pytest.mark.parametrize("x_m", [2.2, 2.6, 3.0, 3.4, 3.8])
def test_through_a_door_a_picture_shows_in_exactly_the_columns_that_the_door_leaves_free(x_m: float) -> None:
    rooms = [Room("north", (0.0, 3.0), (6.0, 6.0)), Room("south", (0.0, 0.0), (6.0, 3.0))]
    without = World.from_plan(rooms, [Door((3.0, 3.0))])
    with_picture = without.hang("card:cup", "north", "north", 3.0)
    seen = changed(with_picture, without, Pose.planar("map", x_m, 1.5, math.pi / 2)).any(axis=0)

    def column(east: float, north: float) -> float:
        return 320 + 525 * (east - x_m) / (north - 1.5)

    left = max(column(3.0 - 0.8 - FRAME_M, 6.0), column(2.5, 3.0), 0)
    right = min(column(3.0 + 0.8 + FRAME_M, 6.0), column(3.5, 3.0), 639)
    columns = np.flatnonzero(seen)
    assert np.all(np.diff(columns) == 1)
    assert abs(columns[0] - left) <= 1.01
    assert abs(columns[-1] - right) <= 1.01


def test_a_picture_is_not_seen_from_behind_its_wall() -> None:
    rooms = [Room("west", (0.0, 0.0), (4.0, 4.0)), Room("east", (4.0, 0.0), (8.0, 4.0))]
    without = World.from_plan(rooms, [])
    with_picture = without.hang("card:cup", "west", "east", 2.0)
    assert not changed(with_picture, without, Pose.planar("map", 6.0, 2.0, math.pi)).any()


def test_the_lintel_of_a_door_is_in_front_of_the_room_behind() -> None:
    rooms = [Room("north", (0.0, 3.0), (6.0, 6.0), (0, 255, 0)), Room("south", (0.0, 0.0), (6.0, 3.0), (255, 0, 0))]
    frame = Renderer(World.from_plan(rooms, [Door((3.0, 3.0))]), AT_BASE).render(
        Pose.planar("map", 3.0, 0.1, math.pi / 2)
    )
    # The lintel begins at 2.1 m, seen from 0.8 m and 2.9 m before it; below it are the ceiling and the wall behind.
    row = int(240 - 525 * 1.3 / 2.9)
    assert tuple(frame[row - 2, 320]) == (255, 0, 0)
    assert tuple(frame[row + 3, 320]) != (255, 0, 0)
    assert tuple(frame[230, 320]) == (0, 255, 0)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    x_m=st.floats(0.5, 7.5),
    y_m=st.floats(0.5, 5.2),
    yaw_rad=st.floats(0.2, math.pi - 0.2),
)
def test_the_true_box_of_a_thing_encloses_what_is_drawn_of_it(x_m: float, y_m: float, yaw_rad: float) -> None:
    base = Pose.planar("map", x_m, y_m, yaw_rad)
    seen = changed(hall(with_picture=True), hall(with_picture=False), base)
    boxes = Truth(hall(with_picture=True), AT_BASE).boxes(base, min_visible=0.05, max_distance_m=20.0)
    if not boxes:
        return
    rows, columns = np.nonzero(seen)
    drawn = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], float)
    # The frame around the picture belongs to the drawing, not to the thing.
    margin = 525 * FRAME_M / max(abs(6.0 - y_m) * 0.3, 0.1) + 4
    assert np.abs(np.array(boxes[0].box_px) - drawn).max() <= margin


def test_equal_input_gives_equal_frames() -> None:
    pose = demo_drive().pose(19_000_000_000)
    a, b = Renderer(demo_world()), Renderer(demo_world())
    b.render(demo_drive().pose(5_000_000_000))
    np.testing.assert_array_equal(a.render(pose), b.render(pose))


def test_a_picture_is_drawn_only_while_it_hangs() -> None:
    base = Pose.planar("map", 4.0, 3.0, math.pi / 2)
    without = Renderer(hall(with_picture=False)).render(base)
    renderer = Renderer(hall(with_picture=False).hang("card:cup", "hall", "north", 4.0, since_ns=5, until_ns=9))
    np.testing.assert_array_equal(renderer.render(base, 4), without)
    assert (renderer.render(base, 5) != without).any()
    np.testing.assert_array_equal(renderer.render(base, 9), without)


def test_no_frame_of_the_tour_has_a_hole_between_walls() -> None:
    renderer, drive = Renderer(demo_world()), demo_drive()
    for stamp_ns in range(0, drive.end_ns, 700_000_000):
        camera = renderer.camera.pose(drive.pose(stamp_ns))
        seen, depth = renderer._solid_faces.nearest(np.array(camera.position_m[:2]), renderer.camera.rays(camera))
        assert (seen >= 0).all()
        assert np.isfinite(depth).all()


def test_a_tilted_camera_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="level"):
        GalleryCamera(mount=Pose("base_link", (0.0, 0.0, 1.0)))
