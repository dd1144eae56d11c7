"""What the launch files start, seen through stand-ins for launch and launch_ros (PyPI has neither)."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML

from vlkng_ros.config import BagPlayerConfig, BuilderConfig, QueryConfig, from_values, parameters_of

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = set(re.findall(r"^  scripts/(\w+)$", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE))
BESIDE_CONFIG = {"use_sim_time", "autostart"}


@dataclass
class Context:
    launch_configurations: dict[str, str] = field(default_factory=dict)


@dataclass
class DeclareLaunchArgument:
    name: str
    default_value: str | None = None
    description: str = ""


@dataclass
class LaunchConfiguration:
    name: str

    def perform(self, context: Context) -> str:
        return context.launch_configurations[self.name]


class Node(SimpleNamespace):
    """Keeps the arguments it was made with."""


@dataclass(frozen=True)
class ParameterValue:
    value: str
    value_type: type


@dataclass
class OpaqueFunction:
    function: Callable[[Context], list[Node]]


@dataclass
class PythonLaunchDescriptionSource:
    path: str


class IncludeLaunchDescription:
    def __init__(self, source: PythonLaunchDescriptionSource, launch_arguments: Any = ()) -> None:
        self.path = Path(source.path)
        self.arguments = dict(launch_arguments)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, dict[str, object]] = {
        "launch": {"LaunchDescription": list},
        "launch.actions": {
            "DeclareLaunchArgument": DeclareLaunchArgument,
            "IncludeLaunchDescription": IncludeLaunchDescription,
            "OpaqueFunction": OpaqueFunction,
        },
        "launch.launch_description_sources": {"PythonLaunchDescriptionSource": PythonLaunchDescriptionSource},
        "launch.substitutions": {"LaunchConfiguration": LaunchConfiguration},
        "launch_ros": {},
        "launch_ros.actions": {"Node": Node},
        "launch_ros.parameter_descriptions": {"ParameterValue": ParameterValue},
        "ament_index_python": {},
        "ament_index_python.packages": {"get_package_share_directory": lambda name: str(ROOT)},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)


def _launch(name: str, given: Mapping[str, str], context: Context | None = None) -> list[Node]:
    """The nodes that ``ros2 launch vlkng_ros NAME given...`` would start."""
    context = context or Context(dict(given))
    path = ROOT / "launch" / name
    spec = importlib.util.spec_from_file_location(path.stem.replace(".", "_"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    nodes: list[Node] = []
    for action in module.generate_launch_description():
        if isinstance(action, DeclareLaunchArgument):
            assert action.description
            if action.name not in context.launch_configurations:
                assert action.default_value is not None, f"argument {action.name} is required"
                context.launch_configurations[action.name] = action.default_value
        elif isinstance(action, IncludeLaunchDescription):
            context.launch_configurations.update(action.arguments)
            nodes += _launch(action.path.name, {}, context)
        else:
            nodes += action.function(context)
    return nodes


def _own_parameters(node: Node) -> dict[str, object]:
    assert isinstance(node.parameters[-1], dict)
    return {name: _evaluated(value) for name, value in node.parameters[-1].items() if name not in BESIDE_CONFIG}


def _evaluated(value: object) -> object:
    """As launch_ros does it: of bare text it reads what YAML makes of it."""
    if isinstance(value, ParameterValue):
        return value.value_type(value.value)
    return YAML(typ="safe").load(value) if isinstance(value, str) else value


def test_both_nodes_start_by_themselves_with_the_installed_parameter_file() -> None:
    nodes = _launch("memory.launch.py", {})
    assert [(node.executable, node.name) for node in nodes] == [
        ("builder_node", "builder_node"),
        ("query_node", "query_node"),
    ]
    assert {node.executable for node in nodes} <= PROGRAMS
    for node in nodes:
        assert Path(node.parameters[0]).is_file()
        assert node.parameters[1] == {"use_sim_time": False, "autostart": True}
        assert node.remappings == []
        assert node.respawn is False
    assert [node.respawn for node in _launch("memory.launch.py", {"respawn": "true"})] == [True, True]


def test_topics_are_remapped_and_the_compressed_image_goes_along() -> None:
    given = {"image": "/camera/image_raw", "pose": "/amcl_pose", "namespace": "robot1"}
    builder, _ = _launch("memory.launch.py", given)
    assert builder.namespace == "robot1"
    assert dict(builder.remappings) == {
        "image": "/camera/image_raw",
        "image/compressed": "/camera/image_raw/compressed",
        "pose": "/amcl_pose",
    }


def test_what_is_given_overrides_the_parameter_file_under_names_that_exist() -> None:
    given = {
        "memory": "/data/m.db",
        "map_id": "office",
        "robot_name": "r1",
        "backend": "none",
        "action": "/r1/navigate_to_pose",
        "use_sim_time": "true",
        "autostart": "false",
    }
    builder, query = _launch("memory.launch.py", given)
    assert builder.parameters[-1]["use_sim_time"] is True
    assert builder.parameters[-1]["autostart"] is False
    built = from_values(BuilderConfig, _own_parameters(builder))
    asked = from_values(QueryConfig, _own_parameters(query))
    assert (built.memory.path, built.robot.map_id, built.robot.name) == ("/data/m.db", "office", "r1")
    assert (asked.memory.path, asked.robot.map_id, asked.robot.name) == ("/data/m.db", "office", "r1")
    assert built.perception.backend == "none"
    assert asked.navigation.action == "/r1/navigate_to_pose"


def test_a_map_named_by_a_number_stays_text() -> None:
    builder, query = _launch("memory.launch.py", {"map_id": "12", "robot_name": "007"})
    for node, kind in ((builder, BuilderConfig), (query, QueryConfig)):
        robot = from_values(kind, _own_parameters(node)).robot
        assert (robot.map_id, robot.name) == ("12", "007")


def test_one_node_can_be_left_out_and_another_interpreter_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/robot")
    (query,) = _launch("memory.launch.py", {"builder": "false", "python": "~/vlkng_venv/bin/python"})
    assert (query.executable, query.prefix) == ("query_node", "/home/robot/vlkng_venv/bin/python")


def test_replay_plays_the_bag_and_puts_both_nodes_on_its_clock(tmp_path: Path) -> None:
    nodes = _launch("replay.launch.py", {"bag": str(tmp_path / "drive"), "rate": "2", "image": "/camera/image_raw"})
    assert [node.executable for node in nodes] == ["builder_node", "query_node", "bag_player"]
    assert all(node.parameters[-1]["use_sim_time"] is True for node in nodes[:2])
    assert dict(nodes[0].remappings)["image"] == "/camera/image_raw"
    (player,) = nodes[2].parameters
    assert (player["bag"], player["rate"], player["loop"]) == (str(tmp_path / "drive"), 2.0, False)
    # Loading a model takes longer than discovery; nothing of the bag may be over by then.
    assert player["wait_for_topic"] == "/camera/image_raw"
    assert player["wait_for_subscribers_s"] >= 300
    assert {"bag", "rate", "loop", "wait_for_topic", "wait_for_subscribers_s"} <= parameters_of(BagPlayerConfig).keys()
    assert nodes[2].executable in PROGRAMS
