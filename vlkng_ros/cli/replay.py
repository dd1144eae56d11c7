"""``vlkng replay``: publish a recording as if the robot were driving again."""

from __future__ import annotations

import argparse
import importlib
import math
import re

from vlkng_ros.cli import arguments
from vlkng_ros.errors import InvalidInputError, VlkngError


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser(
        "replay",
        help="publish a rosbag2 recording, with its clock, into a running ROS graph",
        description="Publish a rosbag2 recording with its own /clock (start the nodes with use_sim_time). Needs ROS 2.",
    )
    parser.add_argument("bag", type=arguments.path, metavar="BAG", help="the bag's folder, or its .mcap or .db3 file")
    parser.add_argument("--rate", type=_rate, default=1.0, metavar="R", help="speed of playing (default: 1.0)")
    parser.add_argument("--loop", action="store_true", help="start again at the end")
    parser.add_argument(
        "--remap",
        type=_remapping,
        action="append",
        default=[],
        metavar="FROM:=TO",
        help="publish a topic under another name; or more",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play the bag."""
    from vlkng_ros.bags.bag import Bag

    with Bag.open(args.bag) as bag:
        # A bag that cannot be read is said before ROS is looked for.
        topics = {topic.name for topic in bag.topics}
    for remap in args.remap:
        name = remap.partition(":=")[0]
        if name.startswith("/") and name not in topics:
            known = ", ".join(sorted(topics))
            raise InvalidInputError(f"--remap {remap}: {args.bag} has no topic {name}; it has {known}")
    try:
        # By name, since nothing but nodes/ depends on nodes/: it is only there where ROS is.
        player = importlib.import_module("vlkng_ros.nodes.bag_player")
    except ImportError as error:
        raise VlkngError(
            f"replay: needs ROS 2, and '{error.name}' cannot be imported; source it first "
            "(. /opt/ros/$ROS_DISTRO/setup.bash, or . scripts/ros_env.sh after make setup)"
        ) from error
    remappings = [argument for remap in args.remap for argument in ("--remap", remap)]
    ros_arguments = ["--ros-args", *remappings] if remappings else []
    return int(player.play_bag(args.bag, rate=args.rate, loop=args.loop, arguments=ros_arguments))


def _remapping(text: str) -> str:
    if not re.fullmatch(r"[~/\w{}]+:=[~/\w{}]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no remapping; give it as /camera/image_raw:=/image")
    return text


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is no speed; needs a number above 0")
    return rate
