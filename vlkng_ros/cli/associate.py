"""``vlkng associate``: another opinion on what is the same thing, over the observations that a memory holds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vlkng_ros.cli import arguments
from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.config import BuilderConfig, RetrievalConfig, parameters_of
from vlkng_ros.errors import ConfigError
from vlkng_ros.moments import counted

if TYPE_CHECKING:
    from vlkng_ros.memory import MemoryReader, MemoryWriter
    from vlkng_ros.memory.association.base import Associator, EntityRecord, View
    from vlkng_ros.types import Keyframe, Observation


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser(
        "associate",
        help="add a view: entities as another associator tells them apart",
        description="Add a view to a memory: the observations stay, and another associator decides which of them show "
        "the same thing. A view that is there already is brought up to date. Other views are left as they are. Texts "
        "that were written without this text encoder get their vectors.",
    )
    arguments.add_memory(parser)
    parser.add_argument(
        "--with", dest="associator", required=True, metavar="NAME", help="hybrid, proximity, stoa or text_merge"
    )
    known = parameters_of(RetrievalConfig)["server_url"]
    parser.add_argument("--llm", metavar="NAME", help="stoa: language model that decides, as its server knows it")
    parser.add_argument("--server-url", default=known.default, metavar="URL", help=known.doc)
    parser.add_argument("--prompts", default="", metavar="DIR", help="stoa: folder with a prompt associate.txt")
    arguments.add_text_encoder(parser)
    add_parameters(parser)
    parser.set_defaults(run=run, interrupted=arguments.GOES_ON)


def run(args: argparse.Namespace) -> int:
    """Write the view."""
    from vlkng_ros.cli.memories import bring_up_to_date
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.memory import MemoryReader, MemoryWriter, open_encoder
    from vlkng_ros.memory.association.registry import open_associator
    from vlkng_ros.memory.association.stoa import StoaAssociator

    named = {"association.text_encoder": None if args.text_encoder == "auto" else args.text_encoder}
    config = read_parameters(BuilderConfig, args, named, node="builder_node")
    if args.llm and args.associator != "stoa":
        raise ConfigError(f"--llm {args.llm}: only stoa asks a language model, not {args.associator}")
    if args.associator == "stoa" and not args.llm:
        print("stoa without --llm: no model decides, so the view is what proximity makes of it", file=sys.stderr)
    associator = open_associator(config.association, args.associator)
    bring_up_to_date(args.memory)
    with MemoryReader.open(args.memory) as reader:
        keyframes = reader.stats().keyframes
        known = associator.view in reader.views()
        if args.llm:
            associator = _asking(args, reader, associator)
        encoder = open_encoder(config.association.text_encoder)
        # Opening a memory brings the views of its associators up to date.
        with (
            progress(f"associate by {args.associator}", keyframes, "keyframes") as advance,
            MemoryWriter.open(args.memory, encoder=encoder, associators=(_Counted(associator, advance),)) as writer,
        ):
            embedded = _embed(writer, reader.stats().texts)
            reader.close()  # before the writer, which leaves one file to copy where it is the last to close
    with MemoryReader.open(args.memory) as reader:
        stats = reader.stats()
    print(
        f"{args.memory}: view '{associator.view}' {'is up to date' if known else 'was added'}: "
        f"{counted(stats.entities[associator.view], 'entity')} from {counted(stats.observations, 'observation')}"
    )
    if embedded:
        print(f"{counted(embedded, 'text')} had no vector by the text encoder, and can be found by meaning now")
    if args.llm and isinstance(associator, StoaAssociator):
        counts = associator.counts
        print(
            f"{args.llm} was asked about {counted(counts.chunks, 'chunk')}: {counts.decided} decisions taken, "
            f"{counts.refused} refused, {counted(counts.unanswered, 'chunk')} without a usable reply; proximity "
            "decided the rest"
        )
    return 0


def _embed(writer: MemoryWriter, texts: int) -> int:
    """Embed what was written without this text encoder; returns how many texts."""
    from vlkng_ros.cli.progress import progress

    embedded = writer.embed_missing()
    if embedded:
        with progress("embed", texts, "texts") as advance:
            advance(embedded)
            while done := writer.embed_missing():
                advance(done)
                embedded += done
    return embedded


def _asking(args: argparse.Namespace, reader: MemoryReader, fall_back: Associator) -> Associator:
    """``stoa`` with the language model of ``--llm`` and the chunks of the memory."""
    from vlkng_ros.answering.language_model import open_chat, require_answer
    from vlkng_ros.memory.association.stoa import StoaAssociator
    from vlkng_ros.memory.association.stoa_chunks import Chunks
    from vlkng_ros.memory.association.stoa_model import StoaModel

    chat = open_chat(RetrievalConfig(model=args.llm, server_url=args.server_url))
    # What the view was made without stays undecided, so a server that is not there is said before.
    require_answer(chat)
    return StoaAssociator(StoaModel(chat, prompts=args.prompts), Chunks(reader).starting_at, fall_back)


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
