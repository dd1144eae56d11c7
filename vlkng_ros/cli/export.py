"""``vlkng export``: a memory for other programs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from vlkng_ros.cli import arguments
from vlkng_ros.errors import InvalidInputError

if TYPE_CHECKING:
    from vlkng_ros.memory import MemoryReader
    from vlkng_ros.types import Entity, Keyframe, Observation, Relation

FORMATS = {
    "json": "node-link JSON, whole enough for 'vlkng import graph'",
    "graphml": "GraphML (Gephi, yEd, networkx)",
    "csv": "entities.csv and relations.csv in a folder",
    "cypher": "statements for Neo4j's cypher-shell",
}


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser("export", help="write a memory as JSON, GraphML, CSV or Cypher")
    arguments.add_memory(parser)
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        required=True,
        help="; ".join(f"{name}: {what}" for name, what in FORMATS.items()),
    )
    parser.add_argument(
        "--output", type=arguments.path, metavar="PATH", help="file, for csv a folder (default: print; csv needs one)"
    )
    parser.add_argument("--view", metavar="NAME", help="whose entities (default: the memory's first view)")
    parser.add_argument("--as-of", type=arguments.stamp, metavar="T", help="as it was at this time (not for json)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the export."""
    from vlkng_ros.memory import MemoryReader

    if args.format == "csv" and args.output is None:
        raise InvalidInputError("export: csv is two files; name a folder with --output")
    if args.format == "json" and args.as_of is not None:
        raise InvalidInputError("export: json holds the whole memory; --as-of is for graphml, csv and cypher")
    with MemoryReader.open(args.memory) as reader, reader.snapshot():
        views = reader.views()
        if args.view and args.view not in views:
            known = ", ".join(views) or "none"
            raise InvalidInputError(f"export: view '{args.view}' is not in {args.memory}; it has {known}")
        view = args.view or next(iter(views), "")
        if args.format == "csv":
            _write_csv(args, reader, view)
        else:
            with _opened(args.output) as out:
                _WRITERS[args.format](out, args, reader, view)
    if args.output is not None:
        print(f"{args.output}: view '{view}' of {args.memory} as {args.format}")
    return 0


def _entities(args: argparse.Namespace, reader: MemoryReader, view: str) -> Iterator[Entity]:
    """Of the view, then the places of the path."""
    yield from _of_view(args, reader, view)
    yield from reader.places(args.as_of)


def _of_view(args: argparse.Namespace, reader: MemoryReader, view: str) -> Iterator[Entity]:
    if view:
        yield from reader.entities(view, as_of_ns=args.as_of)


def _relations(args: argparse.Namespace, reader: MemoryReader, view: str) -> Iterator[Relation]:
    """Every relation once: with its subject; then those of the places."""
    for entity in _of_view(args, reader, view):
        for relation in reader.relations(view, entity.entity_id, as_of_ns=args.as_of):
            if relation.subject_id == entity.entity_id:
                yield relation
    yield from reader.place_relations(_of_view(args, reader, view), args.as_of)


def _keyframes(reader: MemoryReader, view: str) -> Iterator[tuple[Keyframe, Sequence[Observation], Mapping[int, str]]]:
    from vlkng_ros.cli.progress import progress

    ids = sorted(reader.frames().ids.tolist())
    with progress("export", len(ids), "keyframes") as advance:
        for keyframe_id in ids:
            assigned = reader.entities_in(view, keyframe_id) if view else {}
            # What captions tell of is in a view's graph where the view holds it.
            told = reader.observations(keyframe_id, told=True)
            shown = [o for o in told if not o.detection.told or o.observation_id in assigned]
            yield reader.keyframe(keyframe_id), shown, assigned
            advance(1)


def _write_json(out: TextIO, args: argparse.Namespace, reader: MemoryReader, view: str) -> None:
    from vlkng_ros.bags.node_link import write_node_link

    entities, relations = _entities(args, reader, view), _relations(args, reader, view)
    write_node_link(out, view, entities, relations, _keyframes(reader, view))


def _write_graphml(out: TextIO, args: argparse.Namespace, reader: MemoryReader, view: str) -> None:
    from vlkng_ros.bags.graph_export import write_graphml

    write_graphml(out, _entities(args, reader, view), _relations(args, reader, view))


def _write_cypher(out: TextIO, args: argparse.Namespace, reader: MemoryReader, view: str) -> None:
    from vlkng_ros.bags.graph_export import write_cypher

    write_cypher(out, view, _entities(args, reader, view), _relations(args, reader, view))


def _write_csv(args: argparse.Namespace, reader: MemoryReader, view: str) -> None:
    from vlkng_ros.bags.graph_export import write_entities_csv, write_relations_csv

    try:
        args.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{args.output}: cannot be made: {_reason(args.output, error)}") from error
    with _opened(args.output / "entities.csv") as out:
        write_entities_csv(out, _entities(args, reader, view))
    with _opened(args.output / "relations.csv") as out:
        write_relations_csv(out, _relations(args, reader, view))


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    """A file that takes its name only when it is complete, readable by its owner alone as the memory is."""
    if path is None:
        yield sys.stdout
        return
    if _is_memory(path):
        raise InvalidInputError(f"{path}: is a memory, and nothing is written over it; name another file")
    unfinished = path.with_name(path.name + ".part")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as out:
                yield out
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be written: {_reason(path, error)}") from error


def _is_memory(path: Path) -> bool:
    """Whether it is a memory's file, or its log."""
    database = path.with_name(path.name.removesuffix("-wal").removesuffix("-shm"))
    try:
        with database.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _reason(path: Path, error: OSError) -> str:
    """Why a path cannot be written, with what to do."""
    if isinstance(error, FileNotFoundError):
        return f"there is no folder {path.parent}; make it first"
    if isinstance(error, IsADirectoryError):
        return "it is a folder; name a file in it"
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        return "a part of it is a file, and not a folder"
    if isinstance(error, PermissionError):
        return f"{path.parent} is not yours to write to"
    return error.strerror or str(error)


_WRITERS: Mapping[str, Callable[[TextIO, argparse.Namespace, MemoryReader, str], None]] = {
    "json": _write_json,
    "graphml": _write_graphml,
    "cypher": _write_cypher,
}
