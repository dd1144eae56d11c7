"""``vlkng salvage``: what can be read of a damaged memory, into a new one."""

from __future__ import annotations

import argparse
from itertools import islice

from vlkng_ros.cli import arguments
from vlkng_ros.cli.terminal import show
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.moments import counted

MOST_NAMES = 20


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser(
        "salvage",
        help="bring what can be read of a damaged memory into a new one",
        description="Read a damaged memory keyframe by keyframe into a new one. The damaged file stays as it is. "
        "Keyframes whose description is lost are kept, and wait to be described anew; identity is decided again.",
    )
    parser.add_argument("damaged", type=arguments.path, metavar="DAMAGED.db")
    arguments.add_memory(parser, required=True)
    arguments.add_text_encoder(parser)
    parser.set_defaults(run=run, interrupted=arguments.BEGINS_ANEW)


def run(args: argparse.Namespace) -> int:
    """Salvage; 1 where something was lost."""
    from tqdm import tqdm

    from vlkng_ros.building.opening import open_writer
    from vlkng_ros.config import AssociationConfig, BuilderConfig, MemoryConfig
    from vlkng_ros.memory.salvaging import check_salvageable, salvage

    if args.memory.exists():
        raise InvalidInputError(f"{args.memory}: is there already; salvage into a new memory")
    check_salvageable(args.damaged)
    association = AssociationConfig(text_encoder=args.text_encoder)
    config = BuilderConfig(memory=MemoryConfig(path=str(args.memory)), association=association)
    with open_writer(config) as writer, tqdm(desc="salvage", unit=" keyframes", disable=None) as bar:

        def advance(done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        found = salvage(args.damaged, writer, advance)
    print(
        f"{args.memory}: {counted(found.keyframes, 'keyframe')}, {found.described} of them described, "
        f"{counted(found.observations, 'observation')} and {counted(found.images, 'image')} from {args.damaged}"
    )
    if found.shortened:
        print(f"of {found.shortened} descriptions a part is lost, and there is no image to describe them from anew")
    if found.lost_keyframes or found.lost_descriptions:
        print(
            f"not there or not readable: {counted(found.lost_keyframes, 'keyframe')}, and what "
            f"{found.lost_descriptions} more show; `vlkng perceive --memory {args.memory}` describes those with images"
        )
    if found.unplaced:
        names = ", ".join(f"{label} {count}" for label, count in islice(found.unplaced.items(), MOST_NAMES))
        more = ", ..." if len(found.unplaced) > MOST_NAMES else ""
        show(f"not brought over, since it is lost when and where it was seen: {names}{more}")
    return 1 if found.lost_keyframes or found.lost_descriptions or found.shortened else 0
