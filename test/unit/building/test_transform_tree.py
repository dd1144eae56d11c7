"""Frames over time: chains are followed, interpolated, and never guessed."""

from __future__ import annotations

import math

import pytest

from vlkng_ros.building.transform_tree import TransformTree
from vlkng_ros.types import NS_PER_S, Pose

CAMERA = Pose("base_link", (0.2, 0.0, 0.4), (-0.5, 0.5, -0.5, 0.5))


@pytest.fixture
def tree() -> TransformTree:
    """A robot that drives along x by 1 m/s in odom, whose origin stands at (10, 0) in the map, turned left."""
    tree = TransformTree()
    tree.add(0, "camera", CAMERA, fixed=True)
    for second in range(5):
        tree.add(second * NS_PER_S, "base_link", Pose.planar("odom", 1.0 * second, 0.0))
    for second in range(0, 5, 2):
        tree.add(second * NS_PER_S, "odom", Pose.planar("map", 10.0, 0.0, math.pi / 2))
    return tree


def test_a_chain_is_composed_and_interpolated(tree: TransformTree) -> None:
    base = tree.lookup("map", "base_link", NS_PER_S * 5 // 2)
    assert base is not None
    assert base.frame_id == "map"
    assert base.position_m == pytest.approx((10.0, 2.5, 0.0))
    camera = tree.lookup("map", "camera", NS_PER_S)
    assert camera is not None
    assert camera.position_m == pytest.approx((10.0, 1.2, 0.4))
    assert camera.rotation()[:, 2] == pytest.approx([0.0, 1.0, 0.0])


def test_a_fixed_transform_holds_at_all_times(tree: TransformTree) -> None:
    assert tree.lookup("base_link", "camera", -99) == tree.lookup("base_link", "camera", 10**18)
    assert tree.newest_ns("base_link", "camera") == 0


def test_what_is_outside_the_known_time_is_not_guessed(tree: TransformTree) -> None:
    assert tree.lookup("map", "base_link", -1) is None
    assert tree.lookup("map", "base_link", 5 * NS_PER_S) is None
    assert tree.newest_ns("map", "base_link") == 4 * NS_PER_S


def test_frames_that_are_not_connected_have_no_transform(tree: TransformTree) -> None:
    assert tree.lookup("map", "gripper", NS_PER_S) is None
    assert tree.lookup("earth", "base_link", NS_PER_S) is None
    assert tree.lookup("camera", "map", NS_PER_S) is None
    assert tree.newest_ns("earth", "base_link") is None
    assert tree.frames == ["base_link", "camera", "map", "odom"]


def test_a_frame_is_in_itself(tree: TransformTree) -> None:
    assert tree.lookup("map", "map", 7) == Pose("map", (0.0, 0.0, 0.0))


def test_a_loop_of_parents_ends() -> None:
    tree = TransformTree()
    tree.add(0, "a", Pose("b", (0.0, 0.0, 0.0)))
    tree.add(0, "b", Pose("a", (0.0, 0.0, 0.0)))
    assert tree.lookup("map", "a", 0) is None


def test_a_new_parent_replaces_the_old_one(tree: TransformTree) -> None:
    tree.add(0, "camera", Pose("arm", (1.0, 0.0, 0.0)), fixed=True)
    assert tree.lookup("base_link", "camera", 0) is None
    assert tree.lookup("arm", "camera", 0) == Pose("arm", (1.0, 0.0, 0.0))


def test_what_moves_can_be_forgotten(tree: TransformTree) -> None:
    tree.clear_moving()
    assert tree.lookup("map", "base_link", NS_PER_S) is None
    assert tree.lookup("base_link", "camera", NS_PER_S) is not None
