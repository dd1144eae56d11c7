import math

import numpy as np

from vlkng_ros.building.keyframe_policy import KeyframePolicy, sharpness
from vlkng_ros.config import KeyframeConfig
from vlkng_ros.types import NS_PER_S, Pose

CONFIG = KeyframeConfig(min_distance_m=0.5, min_angle_rad=0.35, min_period_s=0.25, max_period_s=30.0)


def policy_after_one(config=CONFIG):
    policy = KeyframePolicy(config)
    assert policy.wants(0, Pose.planar("map", 0, 0)) == "first"
    policy.accept(0, Pose.planar("map", 0, 0))
    return policy


def test_a_frame_is_wanted_after_half_a_metre_or_twenty_degrees():
    policy = policy_after_one()
    assert policy.wants(NS_PER_S, Pose.planar("map", 0.49, 0, 0.34)) == ""
    assert policy.wants(NS_PER_S, Pose.planar("map", 0.3, 0.4)) == "moved"
    assert policy.wants(NS_PER_S, Pose.planar("map", 0.1, 0, -0.36)) == "turned"


def test_a_turn_across_the_half_circle_is_a_small_one():
    policy = KeyframePolicy(CONFIG)
    policy.accept(0, Pose.planar("map", 0, 0, math.pi - 0.1))
    assert policy.wants(NS_PER_S, Pose.planar("map", 0, 0, -math.pi + 0.1)) == ""


def test_frames_are_not_wanted_faster_than_the_least_period():
    policy = policy_after_one()
    assert policy.wants(NS_PER_S // 5, Pose.planar("map", 9, 0)) == ""
    assert policy.wants(NS_PER_S // 4, Pose.planar("map", 9, 0)) == "moved"


def test_a_parked_robot_takes_a_frame_now_and_then():
    policy = policy_after_one()
    assert policy.wants(29 * NS_PER_S, Pose.planar("map", 0, 0)) == ""
    assert policy.wants(30 * NS_PER_S, Pose.planar("map", 0, 0)) == "time"
    never = policy_after_one(KeyframeConfig(max_period_s=0.0))
    assert never.wants(3600 * NS_PER_S, Pose.planar("map", 0, 0)) == ""


def test_a_frame_that_was_wanted_but_not_taken_does_not_count():
    policy = policy_after_one()
    assert policy.wants(NS_PER_S, Pose.planar("map", 1, 0)) == "moved"
    assert policy.wants(2 * NS_PER_S, Pose.planar("map", 1.1, 0)) == "moved"


def test_a_new_session_begins_with_a_keyframe():
    policy = policy_after_one()
    policy.reset()
    assert policy.wants(5, Pose.planar("map", 0, 0)) == "first"


def test_a_blurred_image_is_told_from_a_sharp_one():
    rng = np.random.default_rng(0)
    sharp = rng.integers(0, 255, (60, 80, 3), dtype=np.uint8)
    flat = np.full((60, 80, 3), 90, dtype=np.uint8)
    assert sharpness(flat) == 0.0
    assert sharpness(sharp) > 1000.0
    checking = KeyframePolicy(KeyframeConfig(min_sharpness=100.0))
    assert checking.refusal("first", 0, sharp) == ""
    assert checking.refusal("first", 0, flat) == "blurred"
    assert KeyframePolicy(KeyframeConfig()).refusal("first", 0, flat) == ""


def test_what_always_looks_blurred_is_taken_when_it_is_time():
    checking = KeyframePolicy(KeyframeConfig(min_sharpness=100.0, max_period_s=30.0))
    flat = np.full((60, 80, 3), 90, dtype=np.uint8)
    checking.accept(0, Pose.planar("map", 0, 0))
    assert checking.refusal("moved", 29 * NS_PER_S, flat) == "blurred"
    assert checking.refusal("moved", 30 * NS_PER_S, flat) == ""


def picture(brightness=0, visitor=False):
    image = np.tile(np.linspace(40, 160, 320).astype(np.uint8)[None, :, None], (240, 1, 3)) + np.uint8(brightness)
    if visitor:
        image[80:200, 100:160] = 250
    return image


def test_a_parked_robot_takes_a_frame_of_what_changed_before_it_and_none_of_lights_that_dim():
    policy = KeyframePolicy(KeyframeConfig(min_image_change=0.05))
    parked = Pose.planar("map", 0, 0)
    policy.accept(0, parked, picture())
    assert policy.wants(NS_PER_S // 5, parked) == ""
    assert policy.wants(NS_PER_S, parked) == "changed"
    assert policy.refusal("changed", NS_PER_S, picture()) == "unchanged"
    assert policy.refusal("changed", NS_PER_S, picture(brightness=60)) == "unchanged"
    assert policy.refusal("changed", NS_PER_S, picture(visitor=True)) == ""
    policy.accept(NS_PER_S, parked, picture(visitor=True))
    assert policy.refusal("changed", 2 * NS_PER_S, picture(visitor=True)) == "unchanged"
    assert policy.refusal("changed", 2 * NS_PER_S, picture()) == ""


def test_while_the_robot_moves_every_picture_changes_and_says_nothing():
    policy = KeyframePolicy(KeyframeConfig(min_image_change=0.05))
    policy.accept(0, Pose.planar("map", 0, 0), picture())
    assert policy.wants(NS_PER_S, Pose.planar("map", 0.2, 0)) == ""
    assert policy.wants(NS_PER_S, Pose.planar("map", 0, 0, 0.2)) == ""
    off = policy_after_one()
    assert off.wants(NS_PER_S, Pose.planar("map", 0, 0)) == ""
