"""A process that may read a folder and not write to it, whoever runs the tests."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection

from vlkng_ros.errors import VlkngError
from vlkng_ros.memory import MemoryReader, MemoryWriter

NOBODY = 65534


def open_both_ways(path: str, pipe: Connection) -> None:
    """Say what reading and what writing a memory comes to."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    said = []
    try:
        with MemoryReader.open(path) as reader:
            count = reader.entity("proximity", "cup_1").observation_count
            said.append(f"read {len(reader.frames())} {count}")
    except VlkngError as error:
        said.append(f"{type(error).__name__} {error}")
    try:
        MemoryWriter.open(path, encoder=None)
    except VlkngError as error:
        said.append(f"{type(error).__name__} {error}")
    pipe.send(said)
    pipe.close()
