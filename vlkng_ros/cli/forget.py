"""``vlkng forget``: take things out of a memory for good."""

from __future__ import annotations

import argparse
import sys

from vlkng_ros.cli import arguments
from vlkng_ros.cli.terminal import show, visible
from vlkng_ros.errors import InvalidInputError, MemoryLockedError
from vlkng_ros.moments import counted, moment


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser(
        "forget",
        help="take things out of a memory for good",
        description="Take things out of a memory for good: out of the file, its images and its indexes. What is named "
        "is combined: a label with --since forgets it from then on. Times and areas alone take whole keyframes.",
    )
    arguments.add_memory(parser)
    parser.add_argument("--label", metavar="NAME", help="everything that was called so")
    parser.add_argument("--entity", action="append", default=[], metavar="ID", help="one thing, such as cup_3, or more")
    parser.add_argument("--view", metavar="NAME", help="the view that --entity is of; needed where there are several")
    parser.add_argument("--since", type=arguments.stamp, metavar="T", help="from this time on (ns, s or a date)")
    parser.add_argument("--until", type=arguments.stamp, metavar="T", help="up to this time")
    parser.add_argument(
        "--area",
        type=arguments.metres,
        nargs=4,
        metavar=("X_MIN", "Y_MIN", "X_MAX", "Y_MAX"),
        help="what was seen from, or stands in, this part of the map, in metres",
    )
    parser.add_argument("--map-id", metavar="ID", help="the map that --area is in (default: the newest session's)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, forget, and say what is gone."""
    from vlkng_ros.cli.memories import bring_up_to_date
    from vlkng_ros.memory import MemoryReader, MemoryWriter

    what = _named(args)
    bring_up_to_date(args.memory)
    with MemoryReader.open(args.memory) as reader:
        stats = reader.stats()
    if not args.yes and not _agreed(f"Forget {what} in {args.memory} ({counted(stats.keyframes, 'keyframe')})?"):
        print("nothing was forgotten")
        return 1
    try:
        writer = MemoryWriter.open(args.memory, encoder=None)
    except MemoryLockedError as error:
        raise MemoryLockedError(
            f'{error}: ros2 service call /builder_node/forget vlkng_ros/srv/Forget "{{label: ...}}"'
        ) from error
    with writer:
        gone = writer.forget(
            view=args.view,
            entity_ids=tuple(args.entity),
            label=args.label,
            since_ns=args.since,
            until_ns=args.until,
            area=tuple(args.area) if args.area is not None else None,
            map_id=args.map_id,
        )
    if not gone:
        show(f"{args.memory}: there was nothing of {what}")
        return 0
    show(
        f"{args.memory}: forgot {what}: {counted(gone.observations, 'observation')}, "
        f"{counted(gone.keyframes, 'keyframe')}, {counted(gone.images, 'image')}, {counted(gone.texts, 'text')}"
    )
    for view, count in gone.entities.items():
        show(f"view {view}: {counted(count, 'entity')} gone")
    return 0


def _named(args: argparse.Namespace) -> str:
    parts = [f"'{args.label}'"] if args.label is not None else []
    parts += [", ".join(args.entity)] if args.entity else []
    if not parts:
        parts.append("everything")
    parts += [f"since {moment(args.since)}"] if args.since is not None else []
    parts += [f"until {moment(args.until)}"] if args.until is not None else []
    if args.area is not None:
        x_min, y_min, x_max, y_max = args.area
        parts.append(f"in x {x_min:g} to {x_max:g} m, y {y_min:g} to {y_max:g} m")
    if parts == ["everything"]:
        raise InvalidInputError("forget: name a --label, --entity, --since, --until or --area; nothing was forgotten")
    return " ".join(parts)


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInputError("forget: there is no terminal to ask on; say --yes if you are sure")
    return input(visible(f"{question} It cannot be undone. [y/N] ")).strip().lower() in ("y", "yes")
