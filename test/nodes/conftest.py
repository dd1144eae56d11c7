"""Fixtures of the node tests: one ROS context a file, and nodes that run in threads or in processes of their own."""

from __future__ import annotations

import pytest
import rclpy
from fake_robot import FakeRobot
from running_nodes import NodeInThread, NodeProcess


@pytest.fixture(scope="session", autouse=True)
def ros():
    """ROS for the whole process."""
    rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture
def robot():
    """A robot that publishes what the test tells it to, and hears what the nodes say."""
    robot = FakeRobot()
    with NodeInThread(robot):
        yield robot


@pytest.fixture
def run_in_thread():
    """Runs a node of ours in this process until the test ends."""
    running: list[NodeInThread] = []

    def run(node):
        running.append(NodeInThread(node))
        running[-1].__enter__()
        return node

    yield run
    for entry in reversed(running):
        entry.__exit__(None, None, None)


@pytest.fixture
def run_process():
    """Runs a node in a process of its own until the test ends."""
    running: list[NodeProcess] = []

    def run(script, **parameters):
        running.append(NodeProcess(script, parameters))
        return running[-1]

    yield run
    for process in reversed(running):
        try:
            process.stop()
        finally:
            # Of a test that failed, pytest shows it.
            print(process.log)


@pytest.fixture
def memory_path(tmp_path):
    """Where a test's memory goes."""
    return tmp_path / "memory.db"
