import os
import signal
import threading
from pathlib import Path

import pytest
from fake_robot import DEADLINE_S

from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes.builder_health import SILENT_S
from vlkng_ros.nodes.managed_node import STATUS_PERIOD_S

S = 1_000_000_000


@pytest.fixture
def start(run_process, memory_path):
    def run(**parameters):
        return run_process(
            "colour_builder.py",
            memory__path=memory_path,
            association__text_encoder="none",
            perception__model="0.05",
            **parameters,
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
        newest = int(memory.frames().ids.max())
    second = start()
    robot.until_heard_by_builder()
    driving = Driving(robot, 500.0)
    driving.start()

    def of_the_second():
        """What the first stored may still be on its way when it is dead."""
        return [stored.keyframe_id for stored in robot.stored if stored.keyframe_id > newest]

    robot.until(lambda: len(of_the_second()) >= 10, "10 keyframes of the new builder")
    driving.stop()
    new = of_the_second()
    assert len(set(new)) == len(new)

    def pending():
        with MemoryReader.open(memory_path) as memory:
            return memory.stats().pending

    robot.until(lambda: pending() == 0, "what the first left undescribed to be described")
    with MemoryReader.open(memory_path) as memory:
        assert memory.stats().keyframes >= before.keyframes + len(new)
        assert len(memory.stats().sessions) == 2
        captions = {keyframe.caption for keyframe in memory.keyframes(acknowledged)}
        assert captions
        assert captions <= {"a red ball", "a green ball", "a blue ball"}
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
    process = start(pose__wait_s=60.0)
    robot.until_heard_by_builder()
    robot.drive(2)

    def waits():
        return {v.key: v.value for v in robot.statuses[-1].values}.get("images waiting for a pose") == "1"

    # The last image waits for a pose or odometry that will not come. It is best effort: lost, it is sent again.
    for _ in range(int(DEADLINE_S)):
        robot.see(110.0)
        with robot.changed:
            if robot.changed.wait_for(waits, 1.5):
                break
    assert waits(), robot.last_status()
    assert process.stop(number) == 0
    with MemoryReader.open(memory_path) as memory:
        # Odometry left the robot where the second keyframe was taken: the image that waited is not worth a third.
        assert [keyframe.stamp_ns for keyframe in memory.keyframes(memory.frames().ids.tolist())] == [100 * S, 101 * S]
        assert memory.image(robot.stored[-1].keyframe_id)[:2] == b"\xff\xd8"


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
