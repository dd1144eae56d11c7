"""What is documented is what there is: both directions, for everything a user can name."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from vlkng_ros.cli import build_parser, main
from vlkng_ros.config import (
    BagPlayerConfig,
    BuilderConfig,
    GalleryRobotConfig,
    QueryConfig,
    from_values,
    parameters_of,
)
from vlkng_ros.retrieval.query import parse
from vlkng_ros.types import AnswerKind

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIG = ROOT / "config" / "vlkng.yaml"
NODES = ROOT / "vlkng_ros" / "nodes"
KINDS: dict[str, type[Any]] = {
    "builder_node": BuilderConfig,
    "query_node": QueryConfig,
    "gallery_robot": GalleryRobotConfig,
    "bag_player": BagPlayerConfig,
}


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_tables", ROOT / "scripts" / "write_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _section(title: str) -> str:
    begin = README.index(f"\n### {title}\n")
    end = re.search(r"^##", README[begin + 5 :], re.MULTILINE)
    return README[begin : begin + 5 + end.start()] if end else README[begin:]


def _first_cells(title: str) -> set[str]:
    cells = re.findall(r"^\| ([^|]*\S) +\|", _section(title), re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, object]:
    out: dict[str, object] = {}
    for name, value in values.items():
        out |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return out


def test_readme_and_parameter_file_are_as_make_docs_writes_them(tables: ModuleType) -> None:
    assert tables.with_tables(README) == README, "run make docs"
    assert tables.config_yaml() == CONFIG.read_text(encoding="utf-8"), "run make docs"


@pytest.mark.parametrize("node", KINDS)
def test_parameter_file_holds_every_parameter_of_a_node_with_its_default(node: str) -> None:
    content = YAML(typ="safe").load(CONFIG)
    assert set(content) == {"/**", *(f"/**/{name}" for name in KINDS)}
    kind = KINDS[node]
    known = parameters_of(kind)
    values = _flat(content[f"/**/{node}"]["ros__parameters"])
    if node in ("builder_node", "query_node"):
        values |= _flat(content["/**"]["ros__parameters"])
    assert sorted(values) == sorted(known)
    assert {name: (type(value), value) for name, value in values.items()} == {
        name: (parameter.type, parameter.default) for name, parameter in known.items()
    }
    assert from_values(kind, values) == kind()


def test_every_parameter_is_in_the_readme_and_no_other() -> None:
    assert _first_cells("Parameters") == {name for kind in KINDS.values() for name in parameters_of(kind)}


def test_every_service_and_message_is_in_the_readme_and_no_other() -> None:
    assert _first_cells("Services") == {path.stem for path in (ROOT / "srv").iterdir()}
    assert _first_cells("Messages") == {path.stem for path in (ROOT / "msg").iterdir()}


def test_every_topic_that_a_node_makes_up_is_in_the_readme() -> None:
    services = {"~/" + re.sub(r"(?<!^)(?=[A-Z])", "_", path.stem).lower() for path in (ROOT / "srv").iterdir()}
    named = _first_cells("Topics") | services
    simulation = {"gallery_robot.py", "bag_player.py"}
    missing = [
        f"{path.name}: {name}"
        for path in sorted(NODES.rglob("*.py"))
        if path.name not in simulation
        for name in re.findall(r'"(~/\w+)"', path.read_text(encoding="utf-8"))
        if name not in named
    ]
    assert missing == []


def test_every_topic_in_the_readme_is_in_a_node() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in NODES.rglob("*.py"))
    assert [name for name in sorted(_first_cells("Topics")) if f'"{name}"' not in source] == []


def test_every_command_is_in_the_readme_and_no_other(tables: ModuleType) -> None:
    verbs = {f"vlkng {name}" for name, _ in tables.commands(tables.build_parser(), "")}
    assert _first_cells("Command line") == verbs


def test_every_command_says_what_it_does(tables: ModuleType) -> None:
    assert [name for name, about in tables.commands(tables.build_parser(), "") if not about] == []


def test_every_extra_is_in_the_readme_and_no_other() -> None:
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    assigned = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    extras = assigned["EXTRAS"]
    assert isinstance(extras, ast.Dict)
    assert _first_cells("Extras") == {key.value for key in extras.keys if isinstance(key, ast.Constant)}


def test_every_question_of_the_readme_is_of_the_kind_that_it_says() -> None:
    begin = README.index("\n## What you can ask\n")
    rows = re.findall(r"^\| (\w+) \| (\*.+) \|$", README[begin : README.index("\n## ", begin + 1)], re.MULTILINE)
    asked = [(kind, question) for kind, cell in rows for question in re.findall(r"\*([^*]+)\*", cell)]
    assert {kind for kind, _ in asked} == {kind.value for kind in AnswerKind}
    assert [(kind, question) for kind, question in asked if parse(question).kind.value != kind] == []


def test_every_message_that_troubleshooting_quotes_is_one_of_ours() -> None:
    begin = README.index("\n## It does not work\n")
    cells = re.findall(r"^\| ([^|]+) \|", README[begin : README.index("\n## ", begin + 1)], re.MULTILINE)
    quoted = {part.strip() for cell in cells for text in re.findall(r"`([^`]+)`", cell) for part in text.split("...")}
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for folder, pattern in (("vlkng_ros", "*.py"), ("msg", "*.msg"))
        for path in (ROOT / folder).rglob(pattern)
    )
    foreign = {
        "error: externally-managed-environment",
        "ModuleNotFoundError: vlkng_ros.msg",
        "compiled using NumPy 1.x cannot be run in NumPy 2",
    }
    assert sorted(text for text in quoted - foreign if text not in source) == []


def test_every_picture_and_file_that_the_readme_links_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_make_target_in_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^(\w+):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE))
    assert named
    assert named <= targets


# ------------------------------------------------------------------------------------------ commands


def _shell_lines() -> list[str]:
    """Every command in the README's bash blocks, continued lines joined, comments left out."""
    blocks = re.findall(r"^```bash\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    joined = "\n".join(blocks).replace("\\\n", " ")
    lines = [re.sub(r"\s+# .*", "", line).strip() for line in joined.splitlines()]
    return [command.strip() for line in lines for command in line.split(" && ") if command]


def test_every_vlkng_command_in_the_readme_has_these_arguments() -> None:
    commands = [line for line in _shell_lines() if re.match(r"(\S*/)?vlkng ", line)]
    assert len(commands) >= 4
    for command in commands:
        build_parser().parse_args(shlex.split(command)[1:])


def test_every_launch_command_in_the_readme_gives_arguments_that_there_are() -> None:
    launched = [line for line in _shell_lines() if line.startswith("ros2 launch vlkng_ros ")]
    launched += re.findall(r"`(ros2 launch vlkng_ros [^`]+)`", README)
    assert len(launched) >= 4
    memory = set(re.findall(r'^    \("(\w+)", ', (ROOT / "launch" / "memory.launch.py").read_text(), re.MULTILINE))
    for command in launched:
        _, _, _, file, *arguments = shlex.split(command)
        own = re.findall(r'^    \("(\w+)", ', (ROOT / "launch" / file).read_text(encoding="utf-8"), re.MULTILINE)
        given = {argument.partition(":=")[0] for argument in arguments if ":=" in argument}
        assert given <= memory | set(own)
    named = set(re.findall(r"`(\w+):=[^`]*`", README)) - {"use_sim_time"}
    assert named <= memory | {"params_file"}


def test_every_service_call_in_the_readme_names_fields_that_there_are() -> None:
    calls = re.findall(r'ros2 service call /(\w+)_node/(\w+) vlkng_ros/srv/(\w+)(?: "\{(.*?)\}")?', README)
    assert len(calls) >= 3
    for _, name, kind, fields in calls:
        assert re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower() == name
        request = (ROOT / "srv" / f"{kind}.srv").read_text(encoding="utf-8").partition("\n---")[0]
        assert set(re.findall(r"(\w+): ", fields)) <= set(re.findall(r"^\S+ (\w+)", request, re.MULTILINE))


def test_the_turtlebots_parameter_file_is_what_sed_makes_of_ours() -> None:
    (old, new) = re.findall(r"sed -i 's/(.*?)/(.*?)/' ~/vlkng.yaml", README)[0]
    config = CONFIG.read_text(encoding="utf-8")
    assert config.count(old) == 1
    changed = YAML(typ="safe").load(config.replace(old, new))
    assert changed["/**/builder_node"]["ros__parameters"]["camera"]["extrinsics"] == "tf"


def test_the_readmes_caption_file_becomes_a_memory_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (content,) = re.findall(r"^```json\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "captions.json").write_text(content)
    monkeypatch.chdir(tmp_path)
    for line in [line for line in _shell_lines() if line.startswith(("vlkng import captions", "vlkng ask"))]:
        assert main([*shlex.split(line)[1:], "--text-encoder", "none"]) == 0
    shown = capsys.readouterr().out
    assert "2 keyframes" in shown
    assert "x=1.0 y=0.5 m" in shown
