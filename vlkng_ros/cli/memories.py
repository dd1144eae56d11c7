"""Opening a memory to write, as every verb that writes does it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vlkng_ros.memory import MemoryWriter


def open_writer(args: argparse.Namespace) -> MemoryWriter:
    """The memory of ``--memory`` with the default associator and the encoder of ``--text-encoder``."""
    from vlkng_ros.memory import MemoryWriter, open_encoder
    from vlkng_ros.memory.association.proximity import Proximity

    return MemoryWriter.open(args.memory, encoder=open_encoder(args.text_encoder), associators=(Proximity(),))
