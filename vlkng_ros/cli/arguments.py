"""Arguments that several verbs share, read the same way by each."""

from __future__ import annotations

import argparse
import math
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeAlias

from vlkng_ros.config import AssociationConfig, MemoryConfig, Parameter, RobotConfig, parameters_of

NS_PER_S = 1_000_000_000
STAMPS = range(2**63)
"""The times, in ns, that a memory can hold: from 1970 to 2262."""
GOES_ON = "what is done is kept, and the same command goes on from there"
"""What a verb that can be interrupted says then."""
BEGINS_ANEW = "what was brought over so far is in the new memory: remove that, and begin anew"
Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What ``add_subparsers`` returns; argparse has no public name for it."""


def add_memory(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """``--memory``: the database file, by default where the nodes keep theirs."""
    known = parameters_of(MemoryConfig)["path"]
    parser.add_argument(
        "--memory",
        type=path,
        required=required,
        default=None if required else path(str(known.default)),
        metavar="DB",
        help=known.doc.replace("%", "%%") + ("" if required else f" (default: {known.default})"),
    )


def add_robot(parser: argparse.ArgumentParser) -> None:
    """``--robot``, ``--map-id``, ``--frame-id``: whose keyframes these are, and in which map."""
    known = parameters_of(RobotConfig)
    _add(parser, "--robot", known["name"], "NAME")
    _add(parser, "--map-id", known["map_id"], "ID")
    _add(parser, "--frame-id", known["map_frame"], "FRAME")


def add_text_encoder(parser: argparse.ArgumentParser) -> None:
    """``--text-encoder``: what turns words into vectors."""
    known = parameters_of(AssociationConfig)["text_encoder"]
    _add(parser, "--text-encoder", known, "MODEL", "; none: words are compared as words")


def _add(parser: argparse.ArgumentParser, flag: str, known: Parameter, metavar: str, more: str = "") -> None:
    shown = f" (default: {known.default})" if known.default != "" else ""
    text = f"{known.doc}{more}{shown}".replace("%", "%%")
    parser.add_argument(flag, default=known.default, metavar=metavar, help=text)


def path(text: str) -> Path:
    """A path with ``~`` spelt out."""
    if not text:
        raise argparse.ArgumentTypeError("an empty path")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"'{text}': no such user, so no home folder; write the folder out") from None


def stamp(text: str) -> int:
    """A time: integer ns, seconds with a point, or a date and time (``2026-05-01T14:30:00``, UTC without a zone)."""
    value = _nanoseconds(text)
    if value not in STAMPS:
        raise argparse.ArgumentTypeError(f"'{text}' is no time that a memory can hold: they are from 0 (1970) to 2262")
    return value


def _nanoseconds(text: str) -> int:
    try:
        if re.fullmatch(r"[+-]?\d+", text):
            return int(text)
        if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+e\d+)", text):
            return round(float(text) * 1e9)
        moment = datetime.fromisoformat(text.removesuffix("Z") + ("+00:00" if text.endswith("Z") else ""))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return int(moment.replace(microsecond=0).timestamp()) * NS_PER_S + moment.microsecond * 1000
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no time: give integer ns, seconds with a point, or a date such as 2026-05-01T14:30:00"
        ) from None


def amount(text: str) -> int:
    """A whole number, 0 or above."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number, 0 or above")
    return int(text)


def metres(text: str) -> float:
    """A finite number of metres."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of metres")
    return value
