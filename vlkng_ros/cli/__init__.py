"""``vlkng``: the command line. A verb is a file of this package with ``add_parser(subparsers)`` and ``run(args)``.

Verbs import what they need inside ``run``, so that ``vlkng --help`` does not wait for numpy or a model library.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from vlkng_ros import __version__
from vlkng_ros.cli.terminal import visible
from vlkng_ros.errors import VlkngError

VERBS = (
    "ask",
    "import_",
    "build",
    "inspect",
    "forget",
    "export",
    "salvage",
    "associate",
    "perceive",
    "models",
    "replay",
    "eval_",
)
"""The files of this package that are verbs, in the order in which ``vlkng --help`` lists them."""

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


def build_parser() -> argparse.ArgumentParser:
    """The parser with every verb that is installed."""
    parser = Parser(prog="vlkng", description="A robot's memory of what it saw: build it, ask it, take it along.")
    parser.add_argument("--version", action="version", version=f"vlkng {__version__}")
    parser.add_argument("--verbose", action="store_true", help="also print what is being done, to stderr")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for verb in VERBS:
        name = f"{__name__}.{verb}"
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name).add_parser(subparsers)
    return parser


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, not lost below the usage."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is; exit status 2."""
        if "unrecognized arguments" in message and ".db" in message:
            message += " (a memory is named as --memory FILE)"
        self.exit(2, visible(f"{self.prog}: {message}; see {self.prog} --help") + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        Its exit status: 0, 1 where a part of it could not be done, 2 where the input cannot be used (the reason is on
        stderr), 130 after Ctrl-C and 141 when whoever reads the output went away.
    """
    # Before NumPy is imported: its products are small here, and on a busy machine OpenBLAS's threads wait for each
    # other, spinning, for longer than they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    args = build_parser().parse_args(argv)
    logging.basicConfig(
        level=logging.INFO if args.verbose else logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr
    )
    try:
        status = int(args.run(args))
        sys.stdout.flush()
        return status
    except VlkngError as error:
        print(visible(f"vlkng: {error}"), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        # Where something is begun, what becomes of it.
        print("; ".join(filter(None, ("vlkng: interrupted", getattr(args, "interrupted", "")))), file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        # A path of the caller's that cannot be read or written, or a disk that stdout is written to; whatever else has
        # no path is a fault of ours, and shows.
        if error.filename:
            where = str(error.filename)
        elif error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = "the output cannot be written"
            _abandon_stdout()
        else:
            raise
        print(visible(f"vlkng: {where}: {error.strerror}"), file=sys.stderr)
        return VlkngError.exit_code


def _abandon_stdout() -> None:
    """Keep the interpreter from flushing what cannot be written once more when it exits."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
