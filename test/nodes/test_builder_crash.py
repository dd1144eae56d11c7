import os
import signal
import threading
from pathlib import Path

import pytest

from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes.builder_health import SILENT_S
from vlkng_ros.nodes.managed_node import STATUS_PERIOD_S


@pytest.fixture
def start(run_process, memory_path):
    def run():
        return run_process(
            "colour_builder.py",
            memory__path=memory_path,
            association__text_encoder="none",
            perception__model="0.05",
        )

    return run


def model_process(pid):
    """The process that runs the model: the builder's only child."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    (child,) = [int(child) for tasks in children for child in tasks.read_text().split()]
    return child


class Driving(threading.Thread):
    """Drives on and on, 20 steps a second, until told to stop."""

    def __init__(self, robot, start_s) -> None:
        super().__init__(daemon=True)
        self._robot, self._start_s = robot, start_s
        self._end = threading.Event()

    def run(self) -> None:
        step = 0
        while not self._end.wait(0.05):
            self._robot.drive_past(self._start_s + step, float(step), ("red", "green", "blue")[step % 3])
            step += 1

    def stop(self) -> None:
        self._end.set()
        self.join(timeout=10.0)


def test_nothing_acknowledged_is_lost_when_the_builder_is_killed_and_a_new_one_goes_on(robot, start, memory_path):
    first = start()
    robot.until_heard_by_builder()
    driving = Driving(robot, 100.0)
    driving.start()
    robot.until(lambda: len(robot.stored) >= 20, "20 keyframes")
    first.kill()
    driving.stop()
    acknowledged = [stored.keyframe_id for stored in robot.stored]
    with MemoryReader.open(memory_path) as memory:
        kept = memory.keyframes(acknowledged)
        assert [keyframe.keyframe_id for keyframe in kept] == acknowledged
        assert all(memory.image(keyframe_id)[:2] == b"\xff\xd8" for keyframe_id in acknowledged)
        before = memory.stats()
    second = start()
    robot.until_heard_by_builder()
    driving = Driving(robot, 500.0)
    driving.start()
    robot.until(lambda: len(robot.stored) >= len(acknowledged) + 10, "10 keyframes of the new builder")
    driving.stop()
    new = [stored.keyframe_id for stored in robot.stored[len(acknowledged) :]]
    assert min(new) > max(acknowledged)

    def pending():
        with MemoryReader.open(memory_path) as memory:
            return memory.stats().pending

    robot.until(lambda: pending() == 0, "what the first left undescribed to be described")
    with MemoryReader.open(memory_path) as memory:
        assert memory.stats().keyframes >= before.keyframes + len(new)
        assert len(memory.stats().sessions) == 2
        captions = {keyframe.caption for keyframe in memory.keyframes(acknowledged)}
        assert captions == {"a red ball", "a green ball", "a blue ball"}
    assert second.stop() == 0


def test_a_builder_is_told_to_end_while_its_model_loads_and_does(run_process, memory_path):
    process = run_process(
        "colour_builder.py", memory__path=memory_path, association__text_encoder="none", perception__model="load 600"
    )
    process.wait_for("loading the model")
    assert process.stop() == 0


def test_a_wrong_topic_is_said_in_the_log_within_10_s(run_process, memory_path):
    process = run_process("builder_node", memory__path=memory_path, perception__backend="none")
    line = process.wait_for("no image received on /image for")
    assert SILENT_S + STATUS_PERIOD_S < 10
    assert "[WARN]" in line
    assert "nobody publishes it" in line
    assert process.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_builder_that_is_told_to_end_stores_what_had_arrived(robot, start, memory_path, number):
    process = start()
    robot.until_heard_by_builder()
    robot.drive(2)
    # The last image waits for a pose or odometry that will not come.
    robot.see(110.0)
    robot.until_status("active")
    robot.until(
        lambda: {v.key: v.value for v in robot.statuses[-1].values}.get("images waiting for a pose") == "1",
        "the image to wait",
    )
    assert process.stop(number) == 0
    with MemoryReader.open(memory_path) as memory:
        assert len(memory.frames()) == 2
        assert memory.stats().pending == 0 or memory.stats().keyframes == 2
    robot.until(lambda: len(robot.stored) == 2, "nothing more")


def test_a_model_whose_process_is_killed_is_started_again_and_everything_is_described(robot, start, memory_path):
    process = start()
    robot.until_heard_by_builder()
    robot.drive(1)
    model = model_process(process.process.pid)
    os.kill(model, signal.SIGKILL)
    robot.drive(2, start_s=110.0, start_m=10.0)

    def pending():
        with MemoryReader.open(memory_path) as memory:
            return memory.stats().pending

    robot.until(lambda: pending() == 0, "the descriptions")
    robot.until(
        lambda: {v.key: v.value for v in robot.statuses[-1].values}.get("model restarts") == "1", "the restart counted"
    )
