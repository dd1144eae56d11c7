"""What is said in several files of the package is said the same."""

from __future__ import annotations

import ast
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import vlkng_ros

ROOT = Path(__file__).resolve().parents[2]
CMAKE = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
PACKAGE_XML = ElementTree.parse(ROOT / "package.xml").getroot()


def test_one_version_is_named_everywhere() -> None:
    assert PACKAGE_XML.findtext("version") == vlkng_ros.__version__
    newest = re.search(r"^(\d+\.\d+\.\d+) \(", (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest.group(1) == vlkng_ros.__version__


@pytest.mark.parametrize("folder", ["msg", "srv"])
def test_every_interface_is_built(folder: str) -> None:
    listed = set(re.findall(rf"^  ({folder}/\w+\.{folder})$", CMAKE, re.MULTILINE))
    assert listed == {f"{folder}/{path.name}" for path in (ROOT / folder).iterdir()}


def test_every_program_is_installed_and_runs_a_module_that_exists() -> None:
    programs = re.findall(r"^  scripts/(\w+)$", CMAKE, re.MULTILINE)
    assert {"builder_node", "query_node", "gallery_robot", "bag_player", "vlkng"} <= set(programs)
    for name in programs:
        path = ROOT / "scripts" / name
        assert path.stat().st_mode & 0o111, f"{path} is not executable"
        imported = re.search(r"^from (vlkng_ros[\w.]+) import main$", path.read_text(), re.MULTILINE)
        assert imported is not None, f"{path} starts nothing"
        module = ROOT.joinpath(*imported.group(1).split("."))
        assert module.with_suffix(".py").is_file() or (module / "__init__.py").is_file(), f"{name}: {module} is absent"


def test_every_ros_package_that_is_imported_is_a_dependency() -> None:
    declared = {element.text for element in PACKAGE_XML if element.tag.endswith("depend")}
    names = {"tf2_ros": "tf2_ros_py", "yaml": "python3-yaml"}
    imported = set()
    for path in (ROOT / "vlkng_ros" / "nodes").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.split(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
    libraries = {"rclpy", "tf2_ros", "cv_bridge"}
    ros = {name for name in imported if name in libraries or name.endswith(("_msgs", "_interfaces", "_srvs"))}
    assert {names.get(name, name) for name in ros} <= declared


def test_the_shell_environment_keeps_dds_on_this_machine() -> None:
    text = (ROOT / "scripts" / "ros_env.sh").read_text(encoding="utf-8")
    assert "ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST" in text
