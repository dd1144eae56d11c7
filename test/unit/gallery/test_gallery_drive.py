import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.drive import Drive, Face, Go, Turn, Wait
from vlkng_ros.gallery.planner import ROBOT_RADIUS_M

S = 1_000_000_000
NOW = 1_764_000_000_123_456_789


def test_poses_are_exact_on_legs_and_turns() -> None:
    drive = Drive.along([Go(2.0, 0.0), Face(math.pi / 2), Wait(1.0), Go(2.0, 3.0)], start_ns=NOW)
    assert drive.at(NOW + S // 2) == pytest.approx((0.5, 0.0, 0.0))
    assert drive.at(NOW + 2 * S) == pytest.approx((2.0, 0.0, 0.0), abs=1e-8)
    turned = NOW + 2 * S + S
    assert drive.at(turned) == pytest.approx((2.0, 0.0, 1.0))
    assert drive.end_ns - NOW == pytest.approx((2.0 + math.pi / 2 + 1.0 + 3.0) * S, abs=10)
    assert drive.at(drive.end_ns - S) == pytest.approx((2.0, 2.0, math.pi / 2))
    assert drive.length_m == pytest.approx(5.0)


def test_the_robot_is_parked_before_the_start_and_after_the_end() -> None:
    drive = Drive.along([Go(1.0, 1.0)], start_ns=NOW)
    assert drive.at(NOW - 5 * S) == (0.0, 0.0, 0.0)
    assert drive.at(drive.end_ns + 5 * S) == pytest.approx((1.0, 1.0, math.pi / 4))
    assert drive.velocity(NOW - 1) == (0.0, 0.0)
    assert drive.velocity(drive.end_ns) == (0.0, 0.0)


def test_it_turns_the_shorter_way_unless_told_by_how_much() -> None:
    assert Drive.along([Face(-3.0)], yaw_rad=3.0).at(10 * S)[2] == pytest.approx(math.tau - 3.0)
    assert Drive.along([Turn(-math.tau)]).at(7 * S)[2] == pytest.approx(-math.tau)


places = st.floats(-20.0, 20.0)
steps = st.one_of(
    st.builds(Go, places, places),
    st.builds(Face, st.floats(-7.0, 7.0)),
    st.builds(Turn, st.floats(-7.0, 7.0)),
    st.builds(Wait, st.floats(0.0, 5.0)),
)


@given(st.lists(steps, max_size=12), st.integers(0, NOW))
def test_no_drive_breaks_the_limits(taken: list, start_ns: int) -> None:
    drive = Drive.along(taken, start_ns=start_ns)
    stamps = np.arange(drive.start_ns, drive.end_ns + S, S // 10, dtype=np.int64)
    states = drive.poses_at(stamps)
    assert np.linalg.norm(np.diff(states[:, :2], axis=0), axis=1).max(initial=0) <= 0.1 + 1e-6
    assert np.abs(np.diff(states[:, 2])).max(initial=0) <= 0.1 + 1e-6
    for stamp in stamps[:50].tolist():
        speed, turn = drive.velocity(stamp)
        assert speed <= 1.0 + 1e-6
        assert abs(turn) <= 1.0 + 1e-6


def test_one_pose_and_many_poses_agree() -> None:
    drive = demo_drive(NOW)
    stamps = np.arange(drive.start_ns - S, drive.end_ns + S, 777_777_777, dtype=np.int64)
    np.testing.assert_allclose(drive.poses_at(stamps), [drive.at(stamp) for stamp in stamps.tolist()], atol=1e-9)


def test_a_new_goal_takes_over_from_where_the_robot_is() -> None:
    drive = Drive.along([Go(4.0, 0.0)], start_ns=NOW)
    changed = drive.then([Go(1.0, 1.0)], NOW + S)
    for stamp in (NOW, NOW + S // 2, NOW + S):
        assert changed.at(stamp) == pytest.approx(drive.at(stamp))
    assert changed.at(changed.end_ns) == pytest.approx((1.0, 1.0, math.pi / 2))


@pytest.mark.parametrize(("speed", "turn"), [(0.0, 1.0), (1.0, -1.0)])
def test_limits_that_are_not_positive_are_refused(speed: float, turn: float) -> None:
    with pytest.raises(InvalidInputError, match="positive speeds"):
        Drive.along([], speed_mps=speed, turn_radps=turn)


def test_a_wait_of_less_than_nothing_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="cannot wait"):
        Drive.along([Wait(-1.0)])


def test_the_demo_takes_about_a_minute_and_never_touches_a_wall() -> None:
    world, drive = demo_world(), demo_drive()
    assert 50 * S <= drive.end_ns - drive.start_ns <= 80 * S
    solid = [wall for wall in world.walls if not wall.is_lintel]
    for x, y, _ in drive.poses_at(np.arange(0, drive.end_ns, S // 10, dtype=np.int64)).tolist():
        for wall in solid:
            a, span = np.array(wall.start), np.subtract(wall.end, wall.start)
            along = np.clip(np.dot(np.subtract((x, y), a), span) / np.dot(span, span), 0.0, 1.0)
            assert np.linalg.norm(np.subtract((x, y), a + along * span)) > ROBOT_RADIUS_M
