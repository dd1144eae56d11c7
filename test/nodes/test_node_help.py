"""What a node's command says without starting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vlkng_ros.config import CONFIGURATIONS, parameters_of

ROOT = Path(__file__).resolve().parents[2]
NODES = dict(zip(("builder_node", "query_node", "gallery_robot", "bag_player"), CONFIGURATIONS, strict=True))


def run(node: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / node), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("node", NODES)
def test_help_tells_what_the_node_is_and_does_not_start_it(node: str) -> None:
    done = run(node, "--help", "--ros-args", "-p", "use_sim_time:=true")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{node}: ")
    assert "\nusage: ros2 " in done.stdout
    told = [line.split()[0] for line in done.stdout.splitlines() if line[:2] == "  " and line[2] != " "]
    assert [name for name in parameters_of(NODES[node]) if name not in told] == []


def test_what_ros_would_pass_over_is_refused() -> None:
    done = run("bag_player", "drive")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bag_player: 'drive' is not understood; ROS arguments stand behind --ros-args; see --help\n"


def test_a_parameter_file_that_is_not_there_is_said_without_a_traceback() -> None:
    done = run("builder_node", "--ros-args", "--params-file", "/nowhere.yaml")
    assert done.returncode == 2
    assert "\nthe ROS arguments cannot be used: " in done.stderr
    assert "/nowhere.yaml" in done.stderr
    assert "Traceback" not in done.stderr
