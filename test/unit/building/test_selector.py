from circle_drive import seconds

from vlkng_ros.building.keyframe_policy import KeyframePolicy
from vlkng_ros.building.pose_buffer import PoseBuffer
from vlkng_ros.building.selector import FrameSelector, NewSession, Selected
from vlkng_ros.config import KeyframeConfig, PoseConfig
from vlkng_ros.types import Pose

POLICY = KeyframeConfig(min_distance_m=0.5, min_angle_rad=0.35, min_period_s=0.25, max_period_s=30.0)


class Selecting:
    """A selector with a hand-set clock whose choices are all taken."""

    def __init__(self, capacity=8, **pose_changes):
        self.now_s = 0.0
        buffer = PoseBuffer("map", PoseConfig(**pose_changes), pose_topic="/pose")
        self.selector = FrameSelector(buffer, KeyframePolicy(POLICY), clock=lambda: self.now_s, capacity=capacity)

    def pose(self, t, x):
        self.selector.add_pose(seconds(t), Pose.planar("map", x, 0))

    def odometry(self, t, x):
        self.selector.add_odometry(seconds(t), Pose.planar("odom", x, 0))

    def frame(self, t):
        self.selector.add_frame(seconds(t), f"frame {t:g}")

    def take(self):
        taken = []
        while (event := self.selector.take()) is not None:
            if isinstance(event, Selected):
                self.selector.accept(event)
            taken.append(event)
        return taken

    def frames(self):
        return [event.frame for event in self.take()]


def test_frames_become_keyframes_where_the_robot_moved_enough():
    run = Selecting()
    run.pose(10, 0)
    frames = []
    for i in range(21):
        t = 10 + i / 10
        run.odometry(t, i / 10)
        run.frame(t)
        frames += run.frames()
    assert frames == ["frame 10", "frame 10.5", "frame 11", "frame 11.5", "frame 12"]
    assert run.selector.counts == {"frames": 21, "selected": 5, "not_moved": 16}


def test_a_frame_waits_for_its_pose_and_says_what_for():
    run = Selecting(use_odometry=False)
    run.frame(10)
    assert run.frames() == []
    assert run.selector.waiting_for == "no pose received on /pose"
    run.pose(9.9, 0)
    run.pose(10.1, 1)
    (selected,) = run.take()
    assert selected.found.how == "interpolated"
    assert selected.why == "first"
    assert run.selector.waiting_for == ""


def test_waiting_ends_after_the_configured_time():
    run = Selecting(use_odometry=False, wait_s=2.0)
    run.pose(9, 0)
    run.frame(10)
    run.now_s = 1.9
    assert run.frames() == []
    run.now_s = 2.0
    (selected,) = run.take()
    assert selected.found.how == "held"


def test_frames_that_wait_are_thinned_and_the_oldest_are_dropped():
    run = Selecting(capacity=4, wait_s=60.0)
    run.odometry(0, 0)
    for i in range(100):
        run.frame(10 + i / 10)
        run.take()
    assert run.selector.waiting == 4
    assert run.selector.counts["thinned"] == 66
    assert run.selector.counts["dropped_waiting"] == 30
    assert run.selector.counts["frames"] == 100


def test_a_frame_without_any_hope_of_a_pose_is_counted():
    run = Selecting(use_odometry=False)
    run.pose(10, 0)
    run.frame(9.5)
    assert run.frames() == []
    assert run.selector.counts["no_pose"] == 1
    assert run.selector.waiting_for == "the image is older than the first pose on /pose"


def test_repeated_and_late_frames_are_counted_once():
    run = Selecting()
    run.pose(10, 0)
    for t in (10.0, 10.0, 9.9):
        run.frame(t)
    assert run.frames() == ["frame 10"]
    assert run.selector.counts["duplicate"] == 1
    assert run.selector.counts["out_of_order"] == 1


def test_time_that_jumps_back_ends_the_session_and_what_waited_is_decided_first():
    run = Selecting(use_odometry=False)
    run.pose(10, 0)
    run.frame(10)
    run.pose(60, 3)
    run.frame(60.5)
    run.pose(10, 0)
    run.frame(10.0)
    events = run.take()
    assert [event.frame if isinstance(event, Selected) else event for event in events] == [
        "frame 10",
        "frame 60.5",
        NewSession("time jumped back 50.0 s on the pose topic"),
        "frame 10",
    ]


def test_messages_of_before_the_jump_that_come_late_do_not_end_the_new_session():
    run = Selecting()
    for i in range(11):
        run.odometry(59 + i / 10, i / 10)
    run.pose(59.5, 0)
    run.frame(60.0)
    run.take()
    run.odometry(10, 0)
    run.frame(60.03)
    run.frame(10.0)
    run.pose(10, 0)
    events = run.take()
    assert [type(event).__name__ for event in events] == ["NewSession", "Selected"]
    assert events[1].frame == "frame 10"
    assert run.selector.counts["stragglers"] == 1


def test_flushing_decides_on_what_still_waits():
    run = Selecting(use_odometry=False)
    run.pose(10, 0)
    run.frame(11)
    assert run.frames() == []
    run.selector.flush()
    assert run.frames() == ["frame 11"]


def test_each_camera_has_keyframes_of_its_own():
    run = Selecting()
    run.pose(10, 0)
    chosen = []
    for i in range(21):
        t = 10 + i / 10
        run.odometry(t, i / 10)
        run.frame(t)
        run.selector.add_frame(seconds(t), f"rear {t:g}", "rear")
        chosen += [(event.camera, event.frame) for event in run.take()]
    assert [frame for camera, frame in chosen if not camera] == [
        "frame 10", "frame 10.5", "frame 11", "frame 11.5", "frame 12",
    ]  # fmt: skip
    assert [frame for camera, frame in chosen if camera == "rear"] == [
        "rear 10", "rear 10.5", "rear 11", "rear 11.5", "rear 12",
    ]  # fmt: skip


def test_other_thresholds_hold_for_every_camera_at_once():
    run = Selecting()
    run.selector.policy_of("rear")
    run.selector.configure(KeyframeConfig(min_distance_m=7.0))
    assert run.selector.policy.config.min_distance_m == 7.0
    assert run.selector.policy_of("rear").config.min_distance_m == 7.0
    assert run.selector.policy_of("left").config.min_distance_m == 7.0


def test_what_is_a_keyframe_already_is_passed_in_its_turn_and_nothing_comes_between():
    """Frames wait for their poses, so that later ones arrive before the earlier ones are looked at."""

    def drive(run):
        for i in range(5):
            run.frame(10 + i)
        run.pose(10, 0)
        run.pose(14, 2.2)  # 0.55 m from frame to frame
        return run.frames()

    assert drive(Selecting(use_odometry=False)) == ["frame 10", "frame 11", "frame 12", "frame 13", "frame 14"]
    again = Selecting(use_odometry=False)
    again.selector.policy.known = {seconds(10), seconds(11), seconds(13)}
    assert drive(again) == ["frame 12", "frame 14"]
    assert again.selector.policy.passed == 3
