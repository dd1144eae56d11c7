import math
from dataclasses import replace

import pytest
from circle_drive import CircleDrive, seconds

from vlkng_ros.building.pose_buffer import FoundPose, Never, NotYet, PoseBuffer
from vlkng_ros.building.rotation import turn_between_rad
from vlkng_ros.config import PoseConfig
from vlkng_ros.types import Pose

CONFIG = PoseConfig()


def buffer(**changes):
    return PoseBuffer("map", replace(CONFIG, **changes), pose_topic="/pose", odometry_topic="/odom")


def found(lookup):
    assert isinstance(lookup, FoundPose), lookup
    return lookup


def error_of(lookup, truth):
    pose = found(lookup).pose
    return pose.distance_m(truth), math.degrees(turn_between_rad(pose, truth))


def play(poses, drive, until_s, pose_every_s=0.5, odometry_hz=50.0, start_s=100.0):
    """Odometry and poses up to ``until_s``, in order of time."""
    step = 1.0 / odometry_hz
    count = int((until_s - start_s) / step + 1e-6) + 1
    per_pose = round(pose_every_s * odometry_hz)
    for i in range(count):
        t = start_s + i * step
        if i % per_pose == 0:
            poses.add_pose(seconds(t), drive.pose(t))
        poses.add_odometry(seconds(t), drive.odometry(t))


# ------------------------------------------------------------------------------------------ accuracy


@pytest.mark.parametrize("drift", [0.0, 0.015])
def test_a_moving_robots_pose_is_carried_forward_by_odometry_within_2_cm_and_half_a_degree(drift):
    drive = CircleDrive(drift=drift)
    poses = buffer()
    worst_m, worst_deg = 0.0, 0.0
    clock = 100.0
    for i in range(1, 300):
        # Every image is looked up as soon as the next odometry is there, before the next SLAM pose.
        t = 100.0 + i / 30
        while clock <= t + 0.02:
            if round((clock - 100.0) * 50) % 25 == 0:
                poses.add_pose(seconds(clock), drive.pose(clock))
            poses.add_odometry(seconds(clock), drive.odometry(clock))
            clock += 0.02
        off_m, off_deg = error_of(poses.lookup(seconds(t)), drive.pose(t))
        worst_m, worst_deg = max(worst_m, off_m), max(worst_deg, off_deg)
    assert worst_m <= 0.02
    assert worst_deg <= (0.05 if drift == 0 else 0.5)


@pytest.mark.parametrize("drift", [0.0, 0.05])
def test_between_two_poses_odometrys_shape_is_bent_to_meet_both(drift):
    drive = CircleDrive(drift=drift)
    poses = buffer()
    play(poses, drive, 110.0, pose_every_s=0.5)
    offs = [error_of(poses.lookup(seconds(100 + t / 100)), drive.pose(100 + t / 100)) for t in range(1000)]
    assert max(off for off, _ in offs) <= 0.005
    assert max(off for _, off in offs) <= 0.05


def test_a_turn_on_the_spot_and_a_corner_between_two_poses_are_followed_where_a_straight_line_would_be_wrong():
    poses = buffer()
    poses.add_pose(seconds(10), Pose.planar("map", 0, 0, 0))
    for i in range(101):
        t = i / 50
        x, y, yaw = (t, 0, 0) if t <= 1 else (1, t - 1, math.pi / 2)
        poses.add_odometry(seconds(10 + t), Pose.planar("odom", x, y, yaw))
    poses.add_pose(seconds(12), Pose.planar("map", 1, 1, math.pi / 2))
    off_m, off_deg = error_of(poses.lookup(seconds(11)), Pose.planar("map", 1, 0, 0))
    assert off_m < 1e-9
    assert off_deg < 1e-6


def test_without_odometry_a_pose_between_two_is_interpolated():
    poses = buffer(use_odometry=False)
    poses.add_pose(seconds(10), Pose.planar("map", 0, 0, 0.0))
    poses.add_pose(seconds(11), Pose.planar("map", 1, 0, 0.4))
    lookup = found(poses.lookup(seconds(10.25)))
    assert lookup.how == "interpolated"
    assert lookup.pose.position_m == pytest.approx((0.25, 0, 0))
    assert lookup.pose.yaw_rad == pytest.approx(0.1)


def test_the_image_at_a_poses_stamp_has_exactly_that_pose():
    poses = buffer()
    pose = Pose.planar("map", 1, 2, 0.3)
    poses.add_pose(seconds(10), pose)
    assert poses.lookup(seconds(10)) == FoundPose(pose, "exact")


# ------------------------------------------------------------------------------------------ parked


def test_a_parked_robots_last_pose_holds_however_old_it_is():
    poses = buffer(use_odometry=False)
    pose = Pose.planar("map", 1, 2, 0.3)
    poses.add_pose(seconds(10), pose)
    lookup = poses.lookup(seconds(3610), waited_s=2.0)
    assert lookup == FoundPose(pose, "held", CONFIG.hold_distance_m)


def test_an_hour_parked_with_odometry_running_does_not_lose_the_place():
    drive = CircleDrive(parked=(103.0, 3703.0))
    poses = buffer()
    play(poses, drive, 103.0)
    for i in range(1, 3600):
        poses.add_odometry(seconds(103 + i), drive.odometry(103 + i))
    for i in range(1, 20):
        t = 3703 + i / 50
        poses.add_odometry(seconds(t), drive.odometry(t))
    off_m, off_deg = error_of(poses.lookup(seconds(3703.3)), drive.pose(3703.3))
    assert off_m < 0.001
    assert off_deg < 0.01


def test_without_odometry_a_robot_that_was_parked_moved_only_before_the_next_pose():
    poses = buffer(use_odometry=False)
    poses.add_pose(seconds(10), Pose.planar("map", 0, 0))
    poses.add_pose(seconds(310), Pose.planar("map", 0.5, 0))
    assert found(poses.lookup(seconds(200))).pose.position_m == (0, 0, 0)
    assert found(poses.lookup(seconds(307.5))).pose.position_m[0] == pytest.approx(0.25)


def test_a_stop_between_two_poses_does_not_move_the_robot():
    drive = CircleDrive(drift=0.05, parked=(100.2, 130.2))
    poses = buffer()
    play(poses, drive, 130.5, pose_every_s=30.5)
    first, last = (found(poses.lookup(seconds(t))).pose for t in (100.3, 130.1))
    assert first.distance_m(last) < 1e-9


def test_a_topic_that_should_never_be_silent_gives_no_held_pose():
    poses = buffer(use_odometry=False, hold_distance_m=0.0)
    poses.add_pose(seconds(10), Pose.planar("map", 1, 2))
    lookup = poses.lookup(seconds(15), waited_s=2.0)
    assert isinstance(lookup, Never)
    assert "/pose stopped 5.0 s before the image" in lookup.reason
    assert "pose.hold_distance_m" in lookup.reason


# ------------------------------------------------------------------------------------------ waiting


def test_an_image_waits_for_the_next_pose_a_bounded_time():
    poses = buffer(use_odometry=False, wait_s=1.5)
    poses.add_pose(seconds(10), Pose.planar("map", 0, 0))
    assert poses.lookup(seconds(10.5), waited_s=1.4) == NotYet("no message on /pose since the image")
    assert found(poses.lookup(seconds(10.5), waited_s=1.5)).how == "held"
    poses.add_pose(seconds(11), Pose.planar("map", 1, 0))
    assert found(poses.lookup(seconds(10.5), waited_s=0.0)).how == "interpolated"


def test_an_image_waits_for_odometry_and_is_held_where_odometry_stopped():
    poses = buffer()
    poses.add_pose(seconds(10), Pose.planar("map", 0, 0))
    for i in range(6):
        poses.add_odometry(seconds(10 + i / 10), Pose.planar("odom", i / 10, 0))
    assert isinstance(poses.lookup(seconds(12)), NotYet)
    lookup = found(poses.lookup(seconds(12), waited_s=2.0))
    assert lookup.how == "held"
    assert lookup.pose.position_m == pytest.approx((0.5, 0, 0))


def test_poses_go_on_after_odometry_died():
    poses = buffer()
    for i in range(10):
        poses.add_odometry(seconds(10 + i / 10), Pose.planar("odom", i / 10, 0))
    for i in range(11):
        poses.add_pose(seconds(10 + i), Pose.planar("map", i, 0))
    assert found(poses.lookup(seconds(18.5))).pose.position_m == pytest.approx((8.5, 0, 0))


def test_without_any_pose_the_reason_names_the_topic():
    poses = buffer(use_odometry=False)
    assert poses.lookup(seconds(10)) == NotYet("no pose received on /pose")
    assert poses.lookup(seconds(10), waited_s=2.0) == Never("no pose received on /pose")


def test_where_every_pose_was_refused_the_reason_is_why():
    poses = buffer(use_odometry=False)
    poses.add_pose(seconds(9), Pose.planar("odom", 0, 0))
    assert poses.lookup(seconds(10)) == NotYet(
        "no usable pose received (/pose: pose in frame 'odom', not in 'map'; remap the pose topic or set "
        "robot.map_frame)"
    )
    poses.refuse("not_a_pose", "/odom: pose in 'odom': holds NaN")
    assert poses.lookup(seconds(10)) == NotYet("no pose received on /pose")


def test_images_before_the_first_pose_are_placed_by_carrying_it_back():
    drive = CircleDrive()
    poses = buffer()
    for i in range(151):
        poses.add_odometry(seconds(100 + i / 50), drive.odometry(100 + i / 50))
    assert isinstance(poses.lookup(seconds(101), waited_s=60.0), NotYet)
    poses.add_pose(seconds(102.5), drive.pose(102.5))
    off_m, off_deg = error_of(poses.lookup(seconds(101)), drive.pose(101))
    assert off_m < 0.001
    assert off_deg < 0.01


def test_an_image_older_than_the_first_pose_has_none_without_odometry():
    poses = buffer(use_odometry=False)
    poses.add_pose(seconds(10), Pose.planar("map", 0, 0))
    assert poses.lookup(seconds(9)) == Never("the image is older than the first pose on /pose")


def test_a_pose_from_before_odometry_began_is_carried_with_the_distance_it_may_be_off():
    poses = buffer()
    poses.add_pose(seconds(5), Pose.planar("map", 2, 0))
    for i in range(11):
        poses.add_odometry(seconds(10 + i / 10), Pose.planar("odom", i / 10, 0))
    lookup = found(poses.lookup(seconds(10.55)))
    assert lookup.pose.position_m == pytest.approx((2.55, 0, 0))
    assert lookup.uncertainty_m == CONFIG.hold_distance_m


# ------------------------------------------------------------------------------------------ bad messages


def test_late_and_repeated_poses_are_used_and_counted():
    poses = buffer(use_odometry=False)
    poses.add_pose(seconds(10), Pose.planar("map", 0, 0))
    poses.add_pose(seconds(12), Pose.planar("map", 2, 0))
    poses.add_pose(seconds(11), Pose.planar("map", 1, 1))
    assert not poses.add_pose(seconds(12), Pose.planar("map", 2, 0))
    assert found(poses.lookup(seconds(11))).pose.position_m == (1, 1, 0)
    assert poses.refused == {"out_of_order": 1, "duplicate": 1}


def test_a_pose_in_another_frame_is_refused_with_what_to_do():
    poses = buffer()
    assert not poses.add_pose(seconds(10), Pose.planar("odom", 0, 0))
    assert poses.refused["frame_id"] == 1
    assert poses.last_problem == (
        "/pose: pose in frame 'odom', not in 'map'; remap the pose topic or set robot.map_frame"
    )
    assert poses.newest_pose_ns is None


def test_a_leading_slash_is_the_same_frame():
    assert buffer().add_pose(seconds(10), Pose.planar("/map", 0, 0))


def test_stamps_of_two_clocks_are_told_apart():
    poses = buffer()
    poses.add_pose(seconds(1.7e9), Pose.planar("map", 0, 0))
    lookup = poses.lookup(seconds(12))
    assert isinstance(lookup, Never)
    assert "use_sim_time" in lookup.reason


def test_odometry_that_starts_over_is_not_carried_across_the_jump():
    poses = buffer()
    poses.add_pose(seconds(10), Pose.planar("map", 1, 0))
    for i in range(10):
        poses.add_odometry(seconds(10 + i / 50), Pose.planar("odom", 50 + i / 50, 0))
    poses.add_odometry(seconds(10.2), Pose.planar("odom", 0, 0))
    poses.add_odometry(seconds(10.22), Pose.planar("odom", 0.02, 0))
    assert poses.refused["odometry_jump"] == 1
    assert "odometry started over" in poses.last_problem
    lookup = found(poses.lookup(seconds(10.21)))
    assert lookup.pose.position_m[0] == pytest.approx(1.01, abs=0.011)
    assert lookup.uncertainty_m == CONFIG.hold_distance_m


def test_after_a_loop_closure_images_are_placed_in_the_corrected_map():
    poses = buffer()
    for i in range(101):
        poses.add_odometry(seconds(10 + i / 50), Pose.planar("odom", i / 50, 0))
    poses.add_pose(seconds(10), Pose.planar("map", 0, 0))
    poses.add_pose(seconds(12), Pose.planar("map", 5, 3))
    assert found(poses.lookup(seconds(11))).pose.position_m == pytest.approx((4, 3, 0))


# ------------------------------------------------------------------------------------------ bounds


def test_the_buffer_stays_bounded():
    poses = buffer(buffer_s=10.0)
    for i in range(20_000):
        t = 100 + i / 50
        poses.add_odometry(seconds(t), Pose.planar("odom", i / 50, 0))
        if i % 25 == 0:
            poses.add_pose(seconds(t), Pose.planar("map", i / 50, 0))
    assert len(poses._odometry) <= 600
    assert len(poses._poses) <= 120
    assert len(poses._anchors) <= 400


def test_the_latest_pose_is_carried_to_the_newest_odometry():
    poses = buffer()
    assert poses.latest() is None
    poses.add_pose(seconds(10), Pose.planar("map", 1, 0, math.pi / 2))
    poses.add_odometry(seconds(10), Pose.planar("odom", 0, 0))
    poses.add_odometry(seconds(10.5), Pose.planar("odom", 0.4, 0))
    assert found(poses.latest()).pose.position_m == pytest.approx((1, 0.4, 0))


def test_a_new_session_forgets_everything():
    poses = buffer()
    poses.add_pose(seconds(10), Pose.planar("map", 1, 0))
    poses.add_odometry(seconds(10), Pose.planar("odom", 1, 0))
    poses.clear()
    assert poses.latest() is None
    assert poses.lookup(seconds(10)) == NotYet("no pose received on /pose")
