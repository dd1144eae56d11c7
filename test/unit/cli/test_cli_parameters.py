"""Parameters reach a command from a file, from --set and from options, and wrong ones are named."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import ConfigError


def read(arguments: list[str], **named: object) -> BuilderConfig:
    parser = argparse.ArgumentParser()
    add_parameters(parser)
    return read_parameters(BuilderConfig, parser.parse_args(arguments), named, node="builder_node")


FILE = """
/**:
  ros__parameters:
    use_sim_time: true
    keyframe: {min_distance_m: 2, max_period_s: 10.0}
builder_node:
  ros__parameters:
    keyframe.min_distance_m: 3.0
    robot:
      map_id: office
query_node:
  ros__parameters:
    robot.map_id: elsewhere
"""


def test_defaults_hold_where_nothing_is_said() -> None:
    assert read([]) == BuilderConfig()


def test_a_file_is_read_as_the_node_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(FILE)
    config = read(["--params-file", str(path)])
    assert (config.keyframe.min_distance_m, config.keyframe.max_period_s) == (3.0, 10.0)
    assert config.robot.map_id == "office"


def test_set_goes_over_the_file_and_an_option_over_both(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(FILE)
    arguments = ["--params-file", str(path), "--set", "robot.map_id=garage", "--set", "keyframe.queue_size=7"]
    config = read([*arguments, "--set", "memory.keep_images=false"])
    assert (config.robot.map_id, config.keyframe.queue_size, config.memory.keep_images) == ("garage", 7, False)
    assert read(arguments, **{"robot.map_id": "attic", "robot.name": None}).robot.map_id == "attic"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--set", "keyframe.min_distance=1"],
            r"unknown parameter 'keyframe.min_distance'; did you mean keyframe.min_dist",
        ),
        (["--set", "keyframe.queue_size=many"], "'keyframe.queue_size': needs a whole number, got 'many'"),
        (["--set", "keyframe.queue_size=0"], "'keyframe.queue_size': 0 is below 1"),
        (["--set", "memory.keep_images=yes"], "'memory.keep_images': needs true or false, got 'yes'"),
        (["--set", "keyframe"], "--set keyframe: needs NAME=VALUE"),
        (["--set", "keyframe.min_distance_m=nan"], "needs a finite number"),
    ],
)
def test_a_wrong_setting_is_named(arguments: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read(arguments)


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"- a", "not a ROS parameter file"), (b"{[", "not YAML"), (b"\xff\xfe", "not YAML"), (None, "cannot be read")],
)
def test_a_wrong_file_is_named(tmp_path: Path, content: bytes | None, says: str) -> None:
    path = tmp_path / "params.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as refused:
        read(["--params-file", str(path)])
    assert "params.yaml" in str(refused.value)
