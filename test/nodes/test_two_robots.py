"""Two robots in one graph: each in its namespace, nothing of one reaches the other."""

import pytest
from clients import Caller
from colour_builder import ColourBuilder
from fake_robot import FakeRobot
from running_nodes import NodeInThread, overrides

from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes.query_node import QueryNode

ROBOTS = ("left", "right")


@pytest.fixture
def robots():
    made = {name: FakeRobot(name) for name in ROBOTS}
    running = [NodeInThread(robot) for robot in made.values()]
    for entry in running:
        entry.__enter__()
    yield made
    for entry in running:
        entry.__exit__(None, None, None)


def test_each_remembers_and_answers_for_itself(robots, run_in_thread, tmp_path):
    paths = {name: tmp_path / name / "memory.db" for name in ROBOTS}
    for name, robot in robots.items():
        parameters = overrides(
            memory__path=str(paths[name]), association__text_encoder="none", robot__name=name, robot__map_id=name
        )
        run_in_thread(ColourBuilder(namespace=name, parameter_overrides=parameters))
        run_in_thread(QueryNode(namespace=name, parameter_overrides=parameters))
        robot.until_heard_by_builder()
    robots["left"].drive(2, colours=("red",))
    robots["right"].drive(2, start_m=50.0, colours=("green",))
    for name, colour, x_m in (("left", "red", 0.0), ("right", "green", 50.0)):
        robot, caller = robots[name], Caller(robots[name])
        robot.until(lambda c=caller, q=colour: c.ask(f"Did you see a {q} ball?").binary, "the description")
        reply = caller.ask(f"Where is the {colour} ball?")
        assert reply.position.pose.position.x == pytest.approx(x_m, abs=1.1)
        assert not caller.ask(f"Did you see a {'green' if colour == 'red' else 'red'} ball?").binary
        with MemoryReader.open(paths[name]) as memory:
            assert {session.robot for session in memory.stats().sessions} == {name}
            assert len(memory.frames()) == 2
