"""Parameters of a configuration on the command line: a ROS parameter file, and single ones with ``--set``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from vlkng_ros.cli import arguments
from vlkng_ros.config import Parameter, from_values, parameters_of
from vlkng_ros.errors import ConfigError

ConfigT = TypeVar("ConfigT")


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """``--params-file`` and ``--set``."""
    parser.add_argument(
        "--params-file", type=arguments.path, metavar="FILE.yaml", help="parameters as the nodes read them from a file"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="one parameter, such as keyframe.min_distance_m=1.0; may be given again",
    )


def read_parameters(
    config: type[ConfigT], args: argparse.Namespace, named: Mapping[str, object], *, node: str
) -> ConfigT:
    """The configuration: defaults, then the file's section of ``node``, then ``--set``, then options of their own.

    Raises:
        ConfigError: a file that cannot be read, a name that is not known, or a value that is refused.
    """
    known = parameters_of(config)
    values: dict[str, object] = {}
    if args.params_file is not None:
        values.update((name, value) for name, value in _from_file(args.params_file, node) if name != "use_sim_time")
    for setting in args.set:
        name, separator, text = setting.partition("=")
        if not separator:
            raise ConfigError(f"--set {setting}: needs NAME=VALUE, such as keyframe.min_distance_m=1.0")
        values[name] = _typed(known[name], text) if name in known else text
    values.update((name, value) for name, value in named.items() if value is not None)
    return from_values(config, values)


def _typed(parameter: Parameter, text: str) -> object:
    if parameter.type is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if parameter.type in (int, float):
        try:
            return parameter.type(text)
        except ValueError:
            return text
    return text


def _from_file(path: Path, node: str) -> Iterator[tuple[str, object]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, YAMLError) as error:
        raise ConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, Mapping):
        raise ConfigError(f"{path}: not a ROS parameter file: needs '{node}: ros__parameters: ...'")
    for section in ("/**", "/*", node, f"/{node}", f"/**/{node}"):
        inside = content.get(section)
        if isinstance(inside, Mapping) and isinstance(inside.get("ros__parameters"), Mapping):
            yield from _flat(inside["ros__parameters"], "")


def _flat(values: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
