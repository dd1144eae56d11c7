"""``vlkng associate``: another opinion on what is the same thing, over the observations that a memory holds."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vlkng_ros.cli import arguments
from vlkng_ros.cli.moments import counted
from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.config import BuilderConfig

if TYPE_CHECKING:
    from vlkng_ros.memory.association.base import Associator, EntityRecord, View
    from vlkng_ros.types import Keyframe, Observation


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser(
        "associate",
        help="add a view: entities as another associator tells them apart",
        description="Add a view to a memory: the observations stay, and another associator decides which of them show "
        "the same thing. A view that is there already is brought up to date. Other views are left as they are.",
    )
    arguments.add_memory(parser)
    parser.add_argument("--with", dest="associator", required=True, metavar="NAME", help="such as proximity or hybrid")
    arguments.add_text_encoder(parser)
    add_parameters(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the view."""
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.memory import MemoryReader, MemoryWriter, open_encoder
    from vlkng_ros.memory.association.registry import open_associator

    named = {"association.text_encoder": None if args.text_encoder == "auto" else args.text_encoder}
    config = read_parameters(BuilderConfig, args, named, node="builder_node")
    associator = open_associator(config.association, args.associator)
    with MemoryReader.open(args.memory) as reader:
        keyframes = reader.stats().keyframes
        known = associator.view in reader.views()
    encoder = open_encoder(config.association.text_encoder)
    # Opening a memory brings the views of its associators up to date.
    with (
        progress(f"associate by {args.associator}", keyframes, "keyframes") as advance,
        MemoryWriter.open(args.memory, encoder=encoder, associators=(_Counted(associator, advance),)),
    ):
        pass
    with MemoryReader.open(args.memory) as reader:
        stats = reader.stats()
    print(
        f"{args.memory}: view '{associator.view}' {'is up to date' if known else 'was added'}: "
        f"{counted(stats.entities[associator.view], 'entity')} from {counted(stats.observations, 'observation')}"
    )
    return 0


class _Counted:
    """An associator that says how far it is."""

    def __init__(self, associator: Associator, advance: Callable[[int], object]) -> None:
        from vlkng_ros.memory.association.base import reads_captions

        self.view = associator.view
        self.reads_captions = reads_captions(associator)
        self._associator = associator
        self._advance = advance

    def assign(
        self, keyframe: Keyframe, observations: Sequence[Observation], view: View
    ) -> Sequence[EntityRecord | None]:
        """What the associator decides."""
        decided = self._associator.assign(keyframe, observations, view)
        self._advance(1)
        return decided
