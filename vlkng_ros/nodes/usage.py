"""What a node's command says instead of starting: its help, and which arguments ROS would silently pass over."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rclpy.utilities import remove_ros_args

from vlkng_ros.config import parameters_of
from vlkng_ros.errors import VlkngError

WIDTH = 120
LAUNCH = "ros2 launch vlkng_ros memory.launch.py image:=/camera/image_raw pose:=/pose odom:=/odom map_id:=office"
"""Starts both nodes of a memory."""


@dataclass(frozen=True)
class Usage:
    """A node as its ``--help`` tells of it."""

    about: str
    """What it is: its module's docstring."""
    parameters: type
    """Its configuration."""
    launch: str
    """The command that starts it with what it works with."""

    def text(self, command: str) -> str:
        """The whole help."""
        parts = [
            self.about.strip().replace("``", ""),
            f"usage: {self.launch}\n   or: {command} --ros-args -p NAME:=VALUE -r TOPIC:=TOPIC --params-file FILE.yaml",
            f"Parameters (defaults); with their ranges in {_file()}:",
        ]
        for parameter in parameters_of(self.parameters).values():
            told = f"{parameter.name} ({parameter.default!r}): {parameter.doc}"
            parts.append(textwrap.fill(told, WIDTH, initial_indent="  ", subsequent_indent="      "))
        return "\n\n".join(parts[:3]) + "\n" + "\n".join(parts[3:])


def status_instead(usage: Usage, arguments: Sequence[str] | None) -> int | None:
    """The exit status of a command that only asks for help, or holds what ROS does not take; None where it is to run.

    ROS itself looks at nothing before ``--ros-args``: ``-p NAME:=VALUE`` there would be no parameter and no error.
    """
    command, given = sys.argv[0], sys.argv[1:] if arguments is None else arguments
    try:
        own = remove_ros_args(list(given))
    except RuntimeError:  # such as a parameter file that is not there, which ``rclpy.init`` says too
        return None
    if not own:
        return None
    if own[0] in ("-h", "--help"):
        with contextlib.suppress(BrokenPipeError), open(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as out:
            out.write(usage.text(command) + "\n")
        return 0
    name = Path(command).name
    print(f"{name}: '{own[0]}' is not understood; ROS arguments stand behind --ros-args; see --help", file=sys.stderr)
    return VlkngError.exit_code


def _file() -> Path:
    """The parameter file with every default."""
    source = Path(__file__).resolve().parents[2]
    with contextlib.suppress(PackageNotFoundError):
        source = Path(get_package_share_directory("vlkng_ros"))
    return source / "config" / "vlkng.yaml"
