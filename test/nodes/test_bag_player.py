"""bag_player publishes what a bag holds, and a builder that listens makes the memory that ``vlkng build`` makes."""

import shutil
import sys
import threading
from pathlib import Path

import pytest
from rclpy.node import Node
from recorded_drives import bag_drive, ros_messages
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from vlkng_ros.cli import main
from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes.messages import ns_of
from vlkng_ros.nodes.subscriptions import keep_last

cdr, text, write_bag = ros_messages.cdr, ros_messages.text, ros_messages.write_bag
S = 1_000_000_000
SETTINGS = {"keyframe.min_distance_m": 0.45, "keyframe.min_period_s": 0.0, "association.text_encoder": "none"}


class Listener(Node):
    """Hears words as raw bytes, and the clock, in the order in which they came."""

    def __init__(self):
        super().__init__("listener")
        self.words = []
        self.clock = []
        self.changed = threading.Condition()
        qos = keep_last(1000, reliable=True)
        self.create_subscription(String, "words", lambda data: self._note(self.words, data), qos, raw=True)
        self.create_subscription(Clock, "/clock", lambda message: self._note(self.clock, message), qos)

    def _note(self, kept, item):
        with self.changed:
            kept.append(item)
            self.changed.notify_all()

    def heard(self):
        """The words as they were recorded: the middleware fills up to a multiple of four bytes."""
        sizes = (int.from_bytes(data[4:8], "little") for data in self.words)
        return [bytes(data[: 8 + size]) for data, size in zip(self.words, sizes, strict=True)]

    def until(self, holds):
        with self.changed:
            assert self.changed.wait_for(holds, 150.0), f"heard {len(self.words)} words, {len(self.clock)} times"

    def until_heard(self, count):
        self.until(lambda: len(self.words) >= count)


@pytest.fixture
def listener(run_in_thread):
    return run_in_thread(Listener())


def words(count, start_ns=100 * S, step_ns=S // 20):
    return [("/words", start_ns + i * step_ns, text(f"word {i}")) for i in range(count)]


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_every_message_is_published_as_it_was_recorded(tmp_path, run_process, listener, storage):
    write_bag(tmp_path / "bag", words(40), storage=storage)
    player = run_process("bag_player", bag=str(tmp_path / "bag"), rate=4.0)
    listener.until_heard(40)
    assert listener.heard() == [cdr(message) for _, _, message in words(40)]
    assert "played 40 messages" in player.wait_for("played")
    assert player.process.wait(timeout=150.0) == 0
    last = 100 * S + 39 * (S // 20)
    listener.until(lambda: listener.clock and ns_of(listener.clock[-1].clock) == last)
    stamps = [ns_of(message.clock) for message in listener.clock]
    assert stamps == sorted(stamps)
    assert stamps[0] >= 100 * S
    # Between messages 50 ms apart the clock goes on.
    assert len(stamps) > 40


def test_a_bag_that_brings_a_clock_gets_no_other(tmp_path, run_process, listener):
    time = ros_messages.STORE.types["builtin_interfaces/msg/Time"]
    clock = ros_messages.STORE.types["rosgraph_msgs/msg/Clock"]
    ticks = [("/clock", 100 * S + i * S // 10, clock(time(7, i))) for i in range(5)]
    write_bag(tmp_path / "bag", [*words(3), *ticks])
    run_process("bag_player", bag=str(tmp_path / "bag")).wait_for("played 8 messages")
    listener.until(lambda: len(listener.clock) >= 5 and len(listener.words) >= 3)
    assert [(message.clock.sec, message.clock.nanosec) for message in listener.clock] == [(7, i) for i in range(5)]


def test_a_cut_off_bag_is_played_as_far_as_it_goes(tmp_path, run_process, listener):
    write_bag(tmp_path / "bag", words(40))
    path = tmp_path / "bag" / "bag.mcap"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"word 20\x00")])
    player = run_process("bag_player", bag=str(tmp_path / "bag"), rate=10.0)
    player.wait_for("played 20 messages")
    assert "ends in mid-recording; the 20 messages up to there are read" in player.log
    listener.until_heard(20)


def test_a_loop_goes_on_until_it_is_told_to_stop(tmp_path, run_process, listener):
    write_bag(tmp_path / "bag", words(3))
    player = run_process("bag_player", bag=str(tmp_path / "bag"), rate=10.0, loop=True)
    listener.until_heard(7)
    assert player.stop() == 0


def test_types_that_are_not_installed_are_named_and_left_out(tmp_path, run_process, listener):
    write_bag(tmp_path / "bag", words(3))
    content = (tmp_path / "bag" / "bag.mcap").read_bytes()
    other = tmp_path / "other.mcap"
    other.write_bytes(content.replace(b"std_msgs/msg/String", b"odd_msgs/msg/String"))
    player = run_process("bag_player", bag=str(other))
    assert "none of its message types is installed" in player.wait_for("none of its message types")
    assert "/words is not played: odd_msgs/msg/String is not installed" in player.log
    assert player.process.wait(timeout=150.0) == 2


@pytest.mark.parametrize(("name", "says"), [("", "parameter 'bag' is empty"), ("nowhere", "nowhere: no such bag")])
def test_a_bag_that_is_not_there_ends_the_player_with_2(tmp_path, run_process, name, says):
    parameters = {"bag": str(tmp_path / name)} if name else {}
    player = run_process("bag_player", **parameters)
    player.wait_for(says)
    assert player.process.wait(timeout=150.0) == 2


def test_the_command_line_plays_a_bag_too(tmp_path, listener):
    import os
    import subprocess

    write_bag(tmp_path / "bag", [("/spoken", stamp, message) for _, stamp, message in words(5)])
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "vlkng_ros.cli", "replay", str(tmp_path / "bag"), "--remap", "/spoken:=/words"],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    listener.until_heard(5)
    assert listener.heard() == [cdr(message) for _, _, message in words(5)]


def remembered(db):
    """What a memory holds of keyframes and things, without the ids of sessions and unnamed maps."""
    with MemoryReader.open(db) as reader:
        frames = reader.keyframes(reader.frames().ids.tolist())
        things = [
            (e.entity_id, e.observation_count, e.first_seen_ns, e.last_seen_ns, e.position.source, e.position.mean_m)
            for e in reader.entities("hybrid")
        ]
    return frames, things


def test_building_from_a_bag_gives_the_memory_of_the_live_builder(tmp_path, run_process, robot):
    """Where live dropped nothing: on a machine that did not keep up, the bag is played again, slower.

    ``robot`` only listens to the builder's status here: what it stored before it was discovered, no listener hears.
    """
    names = {"/camera/image_raw": "/image", "/camera/camera_info": "/camera_info"}
    recorded = [(names.get(topic, topic), stamp, message) for topic, stamp, message in bag_drive.messages()]
    write_bag(tmp_path / "bag", recorded)
    recording = bag_drive.write_recording(tmp_path / "recording.jsonl")
    built = tmp_path / "built.db"
    model = {**SETTINGS, "perception.backend": "recorded", "perception.recording": str(recording)}
    settings = [part for name, value in model.items() for part in ("--set", f"{name}={value}")]
    assert main(["build", str(tmp_path / "bag"), "--memory", str(built), *settings]) == 0
    expected, expected_things = remembered(built)
    assert [thing[0] for thing in expected_things] == ["cat_1", "door_1"]

    def dropped_nothing():
        told = {pair.key: pair.value for pair in robot.statuses[-1].values} if robot.statuses else {}
        return told.get("images received") == str(len(bag_drive.picture_times())) and not any(
            key.startswith(("dropped:", "frames: dropped", "frames: no_pose")) for key in told
        )

    parameters = {name.replace(".", "__"): value for name, value in model.items()}
    for rate in (2.0, 0.5):
        live = tmp_path / f"live_{rate}.db"
        # The player comes first and waits for the builder, which has a model to load.
        player = run_process("bag_player", bag=str(tmp_path / "bag"), rate=rate, wait_for_topic="image",
                             wait_for_subscribers_s=300.0)  # fmt: skip
        player.wait_for("waiting for somebody to listen to image")
        builder = run_process("builder_node", memory__path=str(live), use_sim_time=True,
                              camera__qos_reliability="reliable", **parameters)  # fmt: skip
        player.wait_for("played", timeout_s=300.0)
        with robot.changed:
            if robot.changed.wait_for(dropped_nothing, 10.0):
                break
        builder.stop()
        robot.statuses.clear()
    robot.until(lambda: len(remembered(live)[0]) >= len(expected), "the keyframes")
    robot.until(lambda: all(frame.caption for frame in remembered(live)[0]), "the descriptions")
    builder.stop()
    got, things = remembered(live)
    assert [frame.stamp_ns for frame in got] == [frame.stamp_ns for frame in expected]
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.base_pose.distance_m(theirs.base_pose) < 0.005
        assert (mine.intrinsics, mine.caption) == (theirs.intrinsics, theirs.caption)
    for mine, theirs in zip(things, expected_things, strict=True):
        assert mine[:-1] == theirs[:-1]
        assert mine[-1] == pytest.approx(theirs[-1], abs=0.05)
    shutil.rmtree(tmp_path / "bag")
