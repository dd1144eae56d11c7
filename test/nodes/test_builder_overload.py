import threading

import pytest
from fake_robot import picture

from vlkng_ros.memory import MemoryReader


class Camera(threading.Thread):
    """30 images a second of a robot that drives fast, with odometry at 50 Hz and a pose every half metre."""

    def __init__(self, robot, speed_m_s=4.0) -> None:
        super().__init__(daemon=True)
        self.images = 0
        self._robot = robot
        self._speed_m_s = speed_m_s
        self._end = threading.Event()
        self._image = picture("red", 480, 640)

    def run(self) -> None:
        tick = 0
        while not self._end.wait(1 / 150):
            t_s = 100.0 + tick / 150
            x_m = self._speed_m_s * tick / 150
            if tick % 3 == 0:
                self._robot.roll(t_s, x_m)
            if tick % 18 == 0:
                self._robot.localise(t_s, x_m)
            if tick % 5 == 0:
                self._robot.see(t_s, self._image)
                self.images += 1
            tick += 1

    def stop(self) -> None:
        self._end.set()
        self.join(timeout=10.0)


@pytest.fixture
def start(run_process, memory_path):
    def run(pause_s, **parameters):
        return run_process(
            "colour_builder.py",
            memory__path=memory_path,
            association__text_encoder="none",
            perception__model=str(pause_s),
            keyframe__queue_size=4,
            **parameters,
        )

    return run


def values(robot):
    return {pair.key: pair.value for pair in robot.statuses[-1].values} if robot.statuses else {}


def test_a_camera_faster_than_the_model_fills_the_memory_with_keyframes_that_are_described_later(
    robot, start, memory_path
):
    process = start(1.0)
    robot.until_heard_by_builder()
    camera = Camera(robot)
    camera.start()
    robot.until(lambda: int(values(robot).get("keyframes left for later", 0)) >= 3, "keyframes left for later")
    robot.until(lambda: int(values(robot).get("keyframes described", 0)) >= 2, "the model to go on")
    # The model's share in flight, a full queue, and those left for later.
    robot.until(lambda: len(robot.stored) >= 15, "15 keyframes")
    camera.stop()
    with MemoryReader.open(memory_path) as memory:
        assert memory.stats().pending > 0
        assert all(memory.image(stored.keyframe_id) for stored in robot.stored)
    assert process.stop() == 0


def test_a_builder_that_ends_with_a_backlog_leaves_it_to_the_next_one(robot, start, memory_path):
    process = start(1.0)
    robot.until_heard_by_builder()
    camera = Camera(robot)
    camera.start()

    def pending():
        with MemoryReader.open(memory_path) as memory:
            return memory.stats().pending

    robot.until(lambda: robot.stored and pending() >= 8, "a backlog")
    camera.stop()
    assert process.stop() == 0
    assert pending() > 0
    second = start(0.01)
    robot.until(lambda: pending() == 0, "the backlog to be described")
    assert second.stop() == 0
