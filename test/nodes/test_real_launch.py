"""The launch files under the real ``ros2 launch``, where there is one; PyPI has none."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys

import pytest
from clients import Caller
from fake_robot import FakeRobot
from recorded_drives import bag_drive, ros_messages
from running_nodes import NodeInThread

from vlkng_ros.memory import MemoryReader

pytestmark = pytest.mark.skipif(
    shutil.which("ros2") is None or importlib.util.find_spec("launch_ros") is None,
    reason="needs ros2 launch: apt install ros-$ROS_DISTRO-ros2launch; PyPI has neither launch nor ros2cli",
)
PARAMETERS = "/**:\n  ros__parameters:\n    association.text_encoder: none\n    keyframe.min_period_s: 0.0\n"


@pytest.fixture
def launch(tmp_path):
    """Launches a file of ours; the returned function presses Ctrl-C and gives the exit status."""
    (tmp_path / "params.yaml").write_text(PARAMETERS)
    running = []

    def start(file, **arguments):
        given = {"python": sys.executable, "params_file": tmp_path / "params.yaml", "backend": "none", **arguments}
        command = ["ros2", "launch", "vlkng_ros", file, *(f"{name}:={value}" for name, value in given.items())]
        # A group of its own, so that Ctrl-C reaches what a terminal's would.
        with (tmp_path / "launch.log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        running.append(process)

        def stop():
            os.killpg(process.pid, signal.SIGINT)
            return process.wait(timeout=40), (tmp_path / "launch.log").read_text()

        return stop

    yield start
    for process in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=40)


def test_both_nodes_run_in_a_namespace_with_remapped_topics_and_end_with_ctrl_c(launch, tmp_path):
    db = tmp_path / "memory.db"
    stop = launch("memory.launch.py", namespace="r1", image="/r1/image", map_id="office", robot_name="r1", memory=db)
    robot = FakeRobot("r1")
    with NodeInThread(robot):
        robot.until_heard_by_builder()
        robot.drive(2)
        # Without a model nothing was described, but the question is answered.
        told = "I have not seen red ball. Nothing that was recorded then is described yet."
        assert Caller(robot).ask("Where is the red ball?").message == told
        names = {
            "/" + "/".join(filter(None, (ns.strip("/"), name))) for name, ns in robot.get_node_names_and_namespaces()
        }
        assert {"/r1/builder_node", "/r1/query_node"} <= names
    status, log = stop()
    assert status == 0, log
    assert log.count("process has finished cleanly") == 2, log
    with MemoryReader.open(db) as memory:
        assert len(memory.frames()) == 2
        assert {(session.map_id, session.robot) for session in memory.stats().sessions} == {("office", "r1")}


def test_a_bag_is_played_becomes_a_memory_and_is_asked_about(launch, tmp_path, robot):
    db, bag, recording = tmp_path / "memory.db", tmp_path / "bag", tmp_path / "recording.jsonl"
    ros_messages.write_bag(bag, bag_drive.messages())
    bag_drive.write_recording(recording)
    (tmp_path / "params.yaml").write_text(f"{PARAMETERS}    perception.recording: {recording}\n")
    stop = launch("replay.launch.py", bag=bag, rate=3, image="/camera/image_raw", camera_info="/camera/camera_info",
                  map_id="office", memory=db, backend="recorded")  # fmt: skip
    robot.until(lambda: len(robot.stored) >= 13, "the bag's keyframes")
    robot.until(lambda: Caller(robot).ask("Did you see a cat?").binary, "the answer")
    status, log = stop()
    assert status == 0, log
    assert "played" in log
