"""``vlkng perceive``: what a model sees in pictures, or in the keyframes of a memory that wait to be described."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from vlkng_ros.cli import arguments
from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.moments import counted

if TYPE_CHECKING:
    from vlkng_ros.building.pipeline import MemoryBuilder


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser(
        "perceive",
        help="say what a model sees in pictures, or describe a memory's pending keyframes",
        description="Describe image files, or with --memory the keyframes that no model has described yet.",
    )
    parser.add_argument("images", nargs="*", type=arguments.path, metavar="IMAGE")
    parser.add_argument("--memory", type=arguments.path, metavar="DB", help="describe this memory's pending keyframes")
    parser.add_argument("--backend", metavar="NAME", help="perception.backend")
    parser.add_argument("--model", metavar="MODEL", help="perception.model")
    parser.add_argument("--phrase", default="", metavar="WORDS", help='say only where this is, such as "a red cup"')
    parser.add_argument("--json", action="store_true", help="print one JSON object an image")
    add_parameters(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Describe; 1 where not all of them could be."""
    if bool(args.images) == (args.memory is not None):
        raise InvalidInputError("perceive: name image files, or a memory with --memory")
    if args.phrase and args.memory is not None:
        raise InvalidInputError("perceive: --phrase looks through image files, not through a memory; ask the memory")
    named = {
        "memory.path": str(args.memory) if args.memory is not None else None,
        "perception.backend": args.backend,
        "perception.model": args.model,
    }
    config = read_parameters(BuilderConfig, args, named, node="builder_node")
    if args.memory is None:
        return _describe_images(args, config)
    args.interrupted = arguments.GOES_ON
    return _describe_memory(args, config)


def _describe_images(args: argparse.Namespace, config: BuilderConfig) -> int:
    from vlkng_ros.perception.perceive import perceive

    for path in args.images:
        if path.suffix == ".db":
            raise InvalidInputError(f"perceive: {path} looks like a memory, which is named as --memory FILE")
        if path.is_dir():
            raise InvalidInputError(f"perceive: {path} is a folder; name the pictures in it, such as {path}/*.jpg")
    failed = []
    for image in perceive(args.images, config.perception, args.phrase.strip()):
        print(json.dumps(image.to_json(), ensure_ascii=False) if args.json else image.to_text(), flush=True)
        if image.perception is None:
            failed.append(image)
    if failed:
        reasons = "".join(
            f"\n  {image.error if image.size_px is None else f'{image.path}: {image.error}'}" for image in failed
        )
        print(
            f"{len(failed)} of {counted(len(args.images), 'image')} could not be described:{reasons}", file=sys.stderr
        )
    return 1 if failed else 0


def _describe_memory(args: argparse.Namespace, config: BuilderConfig) -> int:
    from vlkng_ros.building.opening import open_writer
    from vlkng_ros.building.pipeline import MemoryBuilder
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.memory import MemoryReader
    from vlkng_ros.perception import PerceptionWorker

    with MemoryReader.open(args.memory) as reader:
        pending = reader.stats().pending
    if not pending:
        print(f"{args.memory}: no keyframe waits to be described")
        return 0
    with (
        PerceptionWorker(config.perception) as worker,
        open_writer(config) as writer,
        progress("describe", pending, "keyframes") as advance,
    ):
        builder = MemoryBuilder(writer, worker.submit, config, in_flight=worker.in_flight)
        describe_rest(builder, advance)
    left = pending - described(builder)
    print(f"{args.memory}: {counted(builder.counts['described'], 'keyframe')} described")
    if builder.counts["failed"] or left:
        reason = f": {builder.last_error}" if builder.last_error else ""
        print(f"{builder.counts['failed']} could not be described, {left} still wait{reason}", file=sys.stderr)
        return 1
    return 0


def describe_rest(builder: MemoryBuilder, advance: Callable[[int], object]) -> None:
    """Wait until everything is described; what is left where the model cannot be reached stays pending."""
    done = described(builder)
    while not (builder.finish(timeout_s=1.0) or builder.stuck):
        now = described(builder)
        advance(now - done)
        done = now
    advance(described(builder) - done)


def described(builder: MemoryBuilder) -> int:
    """Keyframes that need no more describing."""
    return builder.counts["described"] + builder.counts["failed"]
