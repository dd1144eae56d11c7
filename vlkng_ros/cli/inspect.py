"""``vlkng inspect``: what is in a memory."""

from __future__ import annotations

import argparse
import sqlite3
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from vlkng_ros.cli import arguments
from vlkng_ros.cli.terminal import as_json_text, show
from vlkng_ros.moments import NS_PER_S, counted, duration, moment, size

if TYPE_CHECKING:
    from vlkng_ros.memory import MemoryReader
    from vlkng_ros.types import Entity

AT_ONCE = 10_000
"""Keyframes read in one go."""


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser("inspect", help="say what is in a memory and whether it is whole")
    arguments.add_memory(parser)
    parser.add_argument(
        "--top", type=arguments.amount, default=10, metavar="N", help="most frequent labels shown (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what is in the memory; 1 where its file is damaged."""
    from vlkng_ros.memory import MemoryReader

    with MemoryReader.open(args.memory) as reader:
        report = describe(reader, args.memory, args.top)
    if args.json:
        print(as_json_text(report, indent=2))
    else:
        _print(report)
    return 0 if report["health"] == "ok" else 1


def describe(reader: MemoryReader, path: Path, top: int) -> dict[str, Any]:
    """Everything that ``inspect`` says, as JSON values."""
    from vlkng_ros.memory.database import frames_of

    stats = reader.stats()
    labels, kinds = _labels_and_kinds(reader)
    folder = frames_of(reader.path)
    pictures = [entry.stat().st_size for entry in folder.rglob("*.jpg")] if folder.is_dir() else []
    return {
        "path": str(path),
        "schema": stats.schema,
        "revision": stats.revision,
        "keyframes": stats.keyframes,
        "pending": stats.pending,
        "failed": reader.undescribed() - stats.pending,
        "observations": stats.observations,
        "told": reader.told(),
        "texts": stats.texts,
        "oldest_ns": stats.oldest_ns,
        "newest_ns": stats.newest_ns,
        "summarised_until_ns": stats.summarised_until_ns,
        "bounds_m": stats.bounds_m,
        "sessions": [
            {"session_id": one.session_id, "robot": one.robot, "map_id": one.map_id, "frame_id": one.frame_id}
            for one in stats.sessions
        ],
        "views": dict(stats.entities),
        "kinds": {view: dict(found.most_common()) for view, found in kinds.items()},
        "places": [_place(one) for one in sorted(reader.places(), key=_stay_s, reverse=True)[:top]],
        "place_count": len(reader.places()),
        "top_labels": dict(labels.most_common(top)),
        "encoder": stats.encoder_id,
        "texts_without_vector": sum(text.vector is None for text in reader.texts()) if stats.encoder_id else 0,
        "bytes": stats.bytes,
        # Of fewer, what an empty database takes is most of it.
        "bytes_an_observation": round(stats.bytes / stats.observations) if stats.observations >= 1000 else None,
        "images": len(pictures),
        "image_bytes": sum(pictures),
        "images_folder": folder.name,
        "images_missing": max(0, _images_kept(reader) - len(pictures)),
        "health": _health(path),
    }


def _images_kept(reader: MemoryReader) -> int:
    """How many keyframes say that they have an image."""
    ids = reader.frames().ids.tolist()
    parts = (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE))
    return sum(frame.has_image for part in parts for frame in reader.keyframes(part))


def _labels_and_kinds(reader: MemoryReader) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """How often each label was given (in the first view: all views share the observations), and kinds by view."""
    labels: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    for view in reader.views():
        kinds[view] = Counter()
        for entity in reader.entities(view):
            kinds[view][entity.kind.value] += 1
            if len(kinds) == 1:
                labels.update(entity.labels)
    return labels, kinds


def _stay_s(place: Entity) -> int:
    return int(place.attributes["stay_s"])


def _place(place: Entity) -> dict[str, Any]:
    """One location along the path."""
    return {
        "place_id": place.entity_id,
        "label": place.label,
        "map_id": place.position.map_id,
        "position_m": place.position.mean_m,
        "keyframes": place.observation_count,
        "visits": int(place.attributes["visits"]),
        "stay_s": _stay_s(place),
    }


def _health(path: Path) -> str:
    """``ok``, or what SQLite's integrity check finds first."""
    found = ""
    # On read-only media SQLite opens only what it may take as unchanging.
    for options in ("mode=ro", "mode=ro&immutable=1"):
        try:
            connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{options}", uri=True)
            try:
                found = " ".join(str(connection.execute("PRAGMA quick_check(1)").fetchone()[0]).split())
                return found if found == "ok" else f"{found}; bring what can be read into a new one: vlkng salvage"
            finally:
                connection.close()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            found = str(error)
            if "unable to open" not in found and "readonly" not in found:
                break
    return found


def _print(report: dict[str, Any]) -> None:
    lines = [
        ("memory", f"{report['path']} (schema {report['schema']}, revision {report['revision']})"),
        ("keyframes", _keyframes(report)),
        ("time", _time(report)),
        ("area", _area(report)),
        ("places", _places(report)),
        ("sessions", f"{len(report['sessions'])}: {_sessions(report)}" if report["sessions"] else "none"),
        ("observations", _observations(report)),
        *((f"view {name}", _view(report, name)) for name in report["views"]),
        ("top labels", ", ".join(f"{label} {count}" for label, count in report["top_labels"].items()) or "none"),
        ("text encoder", _encoder(report)),
        ("size", _size(report)),
        ("health", report["health"]),
    ]
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        show(f"{name:<{width}}  {text}")


def _keyframes(report: dict[str, Any]) -> str:
    failed = f", {report['failed']} that could not be described, or only in part" if report["failed"] else ""
    return f"{report['keyframes']}, {report['pending']} not described yet{failed}"


def _observations(report: dict[str, Any]) -> str:
    told = report["told"]
    seen = f" ({report['observations'] - told} seen, {told} told by captions)" if told else ""
    return f"{report['observations']}{seen}, in {counted(report['texts'], 'text')}{_summarised(report)}"


def _time(report: dict[str, Any]) -> str:
    oldest_ns, newest_ns = report["oldest_ns"], report["newest_ns"]
    if oldest_ns is None:
        return "none"
    return f"{moment(oldest_ns)} to {moment(newest_ns)} ({duration(newest_ns - oldest_ns)})"


def _summarised(report: dict[str, Any]) -> str:
    until_ns = report["summarised_until_ns"]
    return "" if until_ns is None else f"; older ones, up to {moment(until_ns)}, in summary only"


def _area(report: dict[str, Any]) -> str:
    if report["bounds_m"] is None:
        return "none"
    low, high = report["bounds_m"]
    across = f"{high[0] - low[0]:.1f} x {high[1] - low[1]:.1f} m"
    return f"{across}: x {_m(low[0])} to {_m(high[0])}, y {_m(low[1])} to {_m(high[1])}"


def _m(coordinate: float) -> str:
    return f"{round(coordinate, 1) + 0.0:.1f}"  # no minus before a nought


def _places(report: dict[str, Any]) -> str:
    """How many, and where the robot spent most time."""
    shown = [
        f"{one['label']} at x {_m(one['position_m'][0])}, y {_m(one['position_m'][1])} "
        f"({counted(one['visits'], 'visit')}, {duration(one['stay_s'] * NS_PER_S)})"
        for one in report["places"][:3]
    ]
    return f"{report['place_count']} along the way; longest at {'; '.join(shown)}" if shown else "none"


def _sessions(report: dict[str, Any]) -> str:
    places = Counter((one["robot"], one["map_id"]) for one in report["sessions"])
    often = places.most_common(5)
    shown = [f"{robot} in map '{map_id}'" + (f" x {times}" if times > 1 else "") for (robot, map_id), times in often]
    return ", ".join(shown) + (", ..." if len(places) > len(shown) else "")


def _view(report: dict[str, Any], name: str) -> str:
    kinds = ", ".join(f"{kind} {count}" for kind, count in report["kinds"].get(name, {}).items())
    return counted(report["views"][name], "entity") + (f": {kinds}" if kinds else "")


def _encoder(report: dict[str, Any]) -> str:
    if report["encoder"] is None:
        return "none: words are compared as words"
    without = report["texts_without_vector"]
    if not without:
        return str(report["encoder"])
    return f"{report['encoder']}; {counted(without, 'text')} written without it: vlkng associate embeds them"


def _size(report: dict[str, Any]) -> str:
    each = report["bytes_an_observation"]
    database = size(report["bytes"]) + (f" ({each} B an observation)" if each is not None else "")
    images = f"{database}, {counted(report['images'], 'image')} of {size(report['image_bytes'])}"
    lost = report["images_missing"]
    return f"{images}; {lost} more are not in {report['images_folder']}" if lost else images
