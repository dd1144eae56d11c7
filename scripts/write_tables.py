#!/usr/bin/env python3
"""Write what is said in the code once more where users look: the tables of README.md, and config/vlkng.yaml.

    make docs                          writes both
    scripts/write_tables.py --check    exit status 1 where they are out of date

A table stands in README.md between ``<!-- NAME: made by make docs -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vlkng_ros.cli import build_parser
from vlkng_ros.config import (
    BagPlayerConfig,
    BuilderConfig,
    GalleryRobotConfig,
    Parameter,
    QueryConfig,
    parameters_of,
)

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
CONFIG = ROOT / "config" / "vlkng.yaml"


# ----------------------------------------------------------------------------------------------- parameters


def value_text(value: object) -> str:
    """A value as YAML that rcl reads with the type meant: floats keep their point, texts are quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = f"{value:.9f}".rstrip("0")
        return f"{text}0" if text.endswith(".") else text
    return json.dumps(value)


def limits_text(parameter: Parameter) -> str:
    """Range, choices and whether it can change while the node runs."""
    parts = []
    if parameter.low is not None or parameter.high is not None:
        low = "" if parameter.low is None else f"{parameter.low:g}"
        high = "" if parameter.high is None else f"{parameter.high:g}"
        parts.append(f"{low} to {high}".strip() + (f" {parameter.unit}" if parameter.unit else ""))
    if parameter.choices:
        parts.append(", ".join(parameter.choices))
    return "; ".join(parts)


def by_node() -> dict[str, list[Parameter]]:
    """Parameters by who has them: builder and query node, one of them, the others."""
    builder, query = parameters_of(BuilderConfig), parameters_of(QueryConfig)
    return {
        "both": [p for name, p in builder.items() if name in query],
        "builder_node": [p for name, p in builder.items() if name not in query],
        "query_node": [p for name, p in query.items() if name not in builder],
        "gallery_robot": list(parameters_of(GalleryRobotConfig).values()),
        "bag_player": list(parameters_of(BagPlayerConfig).values()),
    }


def config_yaml() -> str:
    """The parameter file: every parameter with its default."""
    lines = [
        "# Every parameter with its default, made from vlkng_ros/config.py by make docs. Copy it, keep what you",
        "# change, and hand it over: ros2 launch vlkng_ros memory.launch.py params_file:=FILE, or",
        "# vlkng build --params-file FILE.",
        "# Parameters marked 'live' can change while the node runs.",
    ]
    for who, parameters in by_node().items():
        lines += ["", "/**:" if who == "both" else f"/**/{who}:", "  ros__parameters:"]
        open_groups: list[str] = []
        for parameter in parameters:
            *groups, name = parameter.name.split(".")
            if groups != open_groups:
                shared = next((i for i, (a, b) in enumerate(zip(groups, open_groups, strict=False)) if a != b), 0)
                lines += [f"{'  ' * (depth + 2)}{groups[depth]}:" for depth in range(shared, len(groups))]
                open_groups = groups
            indent = "  " * (len(groups) + 2)
            limits = limits_text(parameter) or parameter.unit
            about = parameter.doc + (f" [{limits}]" if limits else "") + (" (live)" if parameter.live else "")
            lines += [f"{indent}# {line}" for line in wrapped(about, 116 - len(indent))]
            lines.append(f"{indent}{name}: {value_text(parameter.default)}")
    return "\n".join(lines) + "\n"


def wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` characters."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


def parameter_table() -> list[str]:
    """Every parameter, as rows."""
    rows = []
    for who, parameters in by_node().items():
        for parameter in parameters:
            limits = limits_text(parameter) or parameter.unit
            about = parameter.doc + (" *(live)*" if parameter.live else "")
            name, default = f"`{parameter.name}`", f"`{value_text(parameter.default)}`"
            rows.append((name, who.removesuffix("_node"), default, limits, about))
    return table(("parameter", "node", "default", "range", "what"), rows)


# ----------------------------------------------------------------------------------------------- everything else


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    cells = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]


def interface_table(folder: str) -> list[str]:
    """Every message or service with the sentence that its file opens with."""
    rows = []
    for path in sorted((ROOT / folder).iterdir()):
        about = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("#").strip()
        rows.append((f"[`{path.stem}`]({folder}/{path.name})", about))
    return table(("message" if folder == "msg" else "service", "what"), rows)


def command_table() -> list[str]:
    """Every verb of the command line, verbs of verbs too."""
    return table(("command", "what"), [(f"`vlkng {name}`", about) for name, about in commands(build_parser(), "")])


def commands(parser: argparse.ArgumentParser, prefix: str) -> Iterator[tuple[str, str]]:
    """Full names and help lines of a parser's verbs."""
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        about = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, inner in action.choices.items():
            below = list(commands(inner, f"{prefix}{name} "))
            yield from below or [(f"{prefix}{name}", about.get(name, ""))]


TABLES = {
    "parameters": parameter_table,
    "services": lambda: interface_table("srv"),
    "messages": lambda: interface_table("msg"),
    "commands": command_table,
}


def with_tables(text: str) -> str:
    """README.md with its tables made anew."""
    for name, make in TABLES.items():
        begin = f"<!-- {name}: made by make docs -->"
        pattern = re.compile(re.escape(begin) + r".*?<!-- end -->", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"{README.name}: table '{name}' needs the lines '{begin}' and '<!-- end -->'")
        made = "\n".join([begin, *make(), "<!-- end -->"])
        text = pattern.sub(made.replace("\\", "\\\\"), text)
    return text


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description="Write the tables of README.md, and config/vlkng.yaml.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where one is out of date")
    check = parser.parse_args().check
    stale = []
    for path, wanted in ((README, with_tables(README.read_text(encoding="utf-8"))), (CONFIG, config_yaml())):
        if not path.exists() or path.read_text(encoding="utf-8") != wanted:
            stale.append(path.name)
            if not check:
                path.write_text(wanted, encoding="utf-8")
    if stale:
        print(f"{', '.join(stale)}: {'out of date; run make docs' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
