"""What the builder's status says while something is wrong, and after it was mended."""

from types import SimpleNamespace

from test_recorder import Recording

from vlkng_ros.building.health import Durations, Level, Rate
from vlkng_ros.building.inbox import Event, Inbox
from vlkng_ros.nodes.builder_health import RECENT_S, BuilderHealth
from vlkng_ros.types import Pose


def camera():
    topic = SimpleNamespace(topic="/image", received=1, delays=Durations(), why_silent=lambda: "nobody publishes it")
    rate = Rate()
    rate.silent_s = lambda now_s, since_s: 0.0
    return SimpleNamespace(image=topic, camera_info=topic, depth=None, rate=rate, callback_cpu=Durations())


class Clock:
    def __init__(self, monkeypatch):
        self.now_s = 1000.0
        monkeypatch.setattr("vlkng_ros.nodes.builder_health.time", SimpleNamespace(monotonic=lambda: self.now_s))


def texts(health):
    return [(problem.level, problem.text) for problem in health.problems()]


def test_a_disk_that_has_space_again_is_no_error_any_more_and_lost_frames_stay_counted(monkeypatch, tmp_path):
    clock, run = Clock(monkeypatch), Recording()
    health = BuilderHealth(run.recorder, Inbox(), [camera()], None, None, tmp_path)
    run.memory.full = True
    for i in range(3):
        run.pose(10 + i, i)
        run.frame(10 + i)
    assert texts(health) == [
        (Level.ERROR, "keyframes cannot be stored, 3 frames lost so far: memory.db: the disk is full")
    ]
    clock.now_s += 100 * RECENT_S
    assert texts(health)[0][0] == Level.ERROR
    run.memory.full = False
    run.pose(13, 3)
    run.frame(13)
    clock.now_s += 1.0
    run.memory.full = True
    run.pose(14, 4)
    run.frame(14)
    run.memory.full = False
    run.pose(15, 5)
    run.frame(15)
    assert texts(health) == [(Level.WARN, "keyframes are stored again; 4 frames could not be and are lost")]
    clock.now_s += RECENT_S
    assert texts(health) == []
    assert health.facts()["frames: lost, not stored"] == 4


def test_descriptions_that_cannot_be_stored_are_said_to_wait_and_no_more_once_they_are(monkeypatch, tmp_path):
    Clock(monkeypatch)
    run = Recording()
    health = BuilderHealth(run.recorder, Inbox(), [camera()], None, None, tmp_path)
    run.pose(10, 0)
    run.frame(10)
    run.memory.full = True
    run.model.reply(0)
    run.recorder.work()
    assert texts(health) == [
        (Level.WARN, "keyframes wait for their description, which is tried again: memory.db: the disk is full")
    ]
    run.memory.full = False
    run.recorder.builder._retry_at_s = 0.0
    run.recorder.work()
    run.model.reply(1)
    run.recorder.work()
    assert texts(health) == []


def test_poses_that_are_all_refused_are_the_reason_that_is_given(monkeypatch, tmp_path):
    clock, run = Clock(monkeypatch), Recording()
    run.recorder.selector._clock = lambda: clock.now_s
    health = BuilderHealth(run.recorder, Inbox(), [camera()], None, None, tmp_path)
    run.frame(10)
    run.recorder.handle(Event("pose", 10_000_000_000, Pose.planar("odom", 0, 0)))
    why = "/pose: pose in frame 'odom', not in 'map'; remap the pose topic or set robot.map_frame"
    why = why.replace("/pose", run.recorder.selector.buffer.pose_topic, 1)
    assert texts(health) == [(Level.WARN, f"1 poses not used, the last 0 s ago: {why}")]
    for second in range(1, 12):
        clock.now_s += 1.0
        run.frame(10 + second)
        said = texts(health)
    assert said == [(Level.WARN, f"no usable pose received ({why}) for 10 s; 2 images waiting, 10 dropped")]


def test_a_disk_that_is_nearly_full_is_said_before_a_frame_is_lost(monkeypatch, tmp_path):
    Clock(monkeypatch)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=150_000_000))
    run = Recording()
    health = BuilderHealth(run.recorder, Inbox(), [camera()], None, None, tmp_path)
    assert texts(health) == [
        (Level.WARN, f"little space is left on the disk of {tmp_path}: 150 MB; free some, or move memory.path")
    ]


def test_the_age_of_the_pose_is_told_in_the_clock_of_the_stamps(monkeypatch, tmp_path):
    Clock(monkeypatch)
    run = Recording()
    health = BuilderHealth(run.recorder, Inbox(), [camera()], None, None, tmp_path)
    assert health.facts()["pose age [s]"] == "no pose yet"
    run.pose(10, 0)
    run.frame(12.5)
    assert health.facts()["pose age [s]"] == 2.5


def test_a_clock_that_was_set_back_is_said_in_words_for_a_while(monkeypatch, tmp_path):
    clock, run = Clock(monkeypatch), Recording()
    health = BuilderHealth(run.recorder, Inbox(), [camera()], None, None, tmp_path)
    for t in (100, 101, 50):
        run.pose(t, t)
        run.frame(t)
    assert texts(health) == [(Level.WARN, "time jumped back 51.0 s on the pose topic: a new session begins")]
    clock.now_s += RECENT_S
    assert texts(health) == []
