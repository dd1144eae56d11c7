import math

import pytest

from vlkng_ros.building.map_corrections import MapCorrections
from vlkng_ros.types import Pose


def drifted(k, drift_rad=0.02):
    """Where SLAM believed the robot was at its k-th scan, on a straight drive that it bends by its drift."""
    x = sum(0.5 * math.cos(drift_rad * i) for i in range(k))
    y = sum(0.5 * math.sin(drift_rad * i) for i in range(k))
    return Pose.planar("map", x, y, drift_rad * k)


def truth(k):
    return Pose.planar("map", 0.5 * k, 0.0, 0.0)


def place(pose):
    return pose.position_m[:2]


def drive(corrections, first, last, believed=drifted):
    """Scans ``first`` to ``last``, and halfway between two a keyframe that carries the number of the first."""
    for k in range(first, last):
        corrections.add_pose(k * 1000, believed(k))
        half = believed(k).compose(Pose.planar("base", 0.25, 0.0))
        corrections.add_keyframe(k, k * 1000 + 500, half)


def test_nothing_moves_while_the_map_does_not():
    corrections = MapCorrections()
    drive(corrections, 0, 20)
    assert corrections.update({k: place(drifted(k)) for k in range(20)}) == {}
    drive(corrections, 20, 30)
    assert corrections.update({k: place(drifted(k)) for k in range(30)}) == {}


def test_a_closed_loop_moves_and_turns_keyframes_to_where_they_were():
    corrections = MapCorrections()
    drive(corrections, 0, 40)
    corrections.update({k: place(drifted(k)) for k in range(40)})
    moved = corrections.update({k: place(truth(k)) for k in range(40)})
    before = max(drifted(k).distance_m(truth(k)) for k in range(40))
    assert before > 5.0
    for k in range(3, 37):
        expected = truth(k).compose(Pose.planar("base", 0.25, 0.0))
        assert moved[k][0].distance_m(expected) < 0.03
        assert abs(moved[k][0].yaw_rad) < math.radians(2.0)


def test_a_loop_closed_before_the_vertices_were_first_published_is_noticed_too():
    corrections = MapCorrections()
    drive(corrections, 0, 40)
    moved = corrections.update({k: place(truth(k)) for k in range(40)})
    assert moved[30][0].distance_m(truth(30).compose(Pose.planar("base", 0.25, 0.0))) < 0.03


def test_keyframes_taken_after_the_closure_stay_where_they_are():
    corrections = MapCorrections()
    drive(corrections, 0, 20)
    corrections.update({k: place(truth(k)) for k in range(20)})
    drive(corrections, 20, 40, believed=truth)
    moved = corrections.update({k: place(truth(k)) for k in range(40)})
    assert not {k for k in moved if k > 22}


def test_a_correction_that_was_made_is_not_made_again_and_can_be_taken_back():
    corrections = MapCorrections()
    drive(corrections, 0, 40)
    corrections.update({k: place(drifted(k)) for k in range(40)})
    moved = corrections.update({k: place(truth(k)) for k in range(40)})
    assert corrections.update({k: place(truth(k)) for k in range(40)}).keys() == moved.keys()
    corrections.applied(moved)
    assert corrections.update({k: place(truth(k)) for k in range(40)}) == {}
    back = corrections.update({k: place(drifted(k)) for k in range(40)})
    assert back[30][0].distance_m(drifted(30).compose(Pose.planar("base", 0.25, 0.0))) < 0.01


def test_vertices_of_before_the_start_and_poses_that_overtook_the_graph_do_not_confuse():
    corrections = MapCorrections()
    old = {k: (-10.0 + k, 5.0) for k in range(100)}
    drive(corrections, 0, 20)
    # The graph was made before the newest two scans, and after a hundred that nobody here saw.
    assert corrections.update(old | {100 + k: place(drifted(k)) for k in range(18)}) == {}
    drive(corrections, 20, 40)
    corrections.update(old | {100 + k: place(drifted(k)) for k in range(40)})
    moved = corrections.update(old | {100 + k: place(truth(k)) for k in range(40)})
    for k in (5, 19, 30):
        assert moved[k][0].distance_m(truth(k).compose(Pose.planar("base", 0.25, 0.0))) < 0.03


def test_a_second_pass_through_the_same_place_moves_alone():
    corrections = MapCorrections()
    drive(corrections, 0, 20, believed=truth)
    away = lambda k: Pose.planar("map", 0.5 * (k - 20), 0.6, 0.0)  # noqa: E731
    drive(corrections, 20, 40, believed=away)
    graph = {k: place(truth(k)) for k in range(20)} | {k: place(away(k)) for k in range(20, 40)}
    assert corrections.update(graph) == {}
    closed = graph | {k: place(truth(k - 20)) for k in range(20, 40)}
    moved = corrections.update(closed)
    assert not {k for k in moved if k < 17}
    assert moved[30][0].position_m[1] == pytest.approx(0.0, abs=0.02)


def test_turning_on_the_spot_gives_no_heading_from_nowhere():
    corrections = MapCorrections()
    for k in range(10):
        corrections.add_pose(k * 1000, Pose.planar("map", 0, 0, 0.5 * k))
        corrections.add_keyframe(k, k * 1000 + 500, Pose.planar("map", 0, 0, 0.5 * k + 0.25))
    corrections.update(dict.fromkeys(range(10), (0.0, 0.0)))
    moved = corrections.update(dict.fromkeys(range(10), (1.0, 0.0)))
    assert moved[4][0].position_m == pytest.approx((1.0, 0.0, 0.0))
    assert moved[4][0].yaw_rad == pytest.approx(2.25)


def test_a_forgotten_keyframe_moves_no_more():
    corrections = MapCorrections()
    drive(corrections, 0, 40)
    corrections.forget({20})
    assert set(corrections.update({k: (1.0 + 0.5 * k, 0.0) for k in range(40)})) == set(range(40)) - {20}


def test_the_camera_moves_with_the_base():
    corrections = MapCorrections()
    mount = Pose("base", (0.2, 0.0, 1.0))
    for k in range(20):
        corrections.add_pose(k * 1000, truth(k))
        corrections.add_keyframe(k, k * 1000, truth(k), mount)
    corrections.update({k: place(truth(k)) for k in range(20)})
    base, camera = corrections.update({k: (0.5 * k, 2.0) for k in range(20)})[10]
    assert base.position_m == pytest.approx((5.0, 2.0, 0.0))
    assert camera.position_m == pytest.approx((5.2, 2.0, 1.0))


def test_a_new_session_starts_over():
    corrections = MapCorrections()
    drive(corrections, 0, 40)
    corrections.update({k: place(drifted(k)) for k in range(40)})
    corrections.clear()
    assert corrections.update({k: place(truth(k)) for k in range(40)}) == {}
