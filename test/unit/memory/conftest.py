"""A memory in a folder of its own, for each test."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from remembered_drives import WordEncoder

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.association.proximity import ProximityAssociator


def ram_folder() -> Path:
    """A folder where fsync is cheap, for tests that commit thousands of times; the caller removes it."""
    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="vlkng-", dir=root))


@pytest.fixture
def path() -> Iterator[Path]:
    """Where a test's memory is or will be."""
    folder = ram_folder()
    yield folder / "memory.db"
    shutil.rmtree(folder, ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes minutes, unless it is asked for."""
    if "soak" not in str(config.getoption("-m")):
        left_out = [item for item in items if item.get_closest_marker("soak") is not None]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


OpenWriter = Callable[..., MemoryWriter]


@pytest.fixture
def open_writer(path: Path) -> Iterator[OpenWriter]:
    """Opens the test's memory for writing with the proximity view; closes what is left open."""
    opened: list[MemoryWriter] = []

    def open_(
        *, associators: tuple[Associator, ...] | None = None, encoder: WordEncoder | None = None, session: bool = True
    ) -> MemoryWriter:
        chosen = (ProximityAssociator(),) if associators is None else associators
        writer = MemoryWriter.open(path, encoder=encoder, associators=chosen)
        if session:
            writer.start_session(robot="robot", map_id="house", frame_id="map")
        opened.append(writer)
        return writer

    yield open_
    for writer in opened:
        writer.close()


@pytest.fixture
def open_reader(path: Path) -> Iterator[Callable[[], MemoryReader]]:
    """Opens the test's memory for reading; closes what is left open."""
    opened: list[MemoryReader] = []

    def open_() -> MemoryReader:
        opened.append(MemoryReader.open(path))
        return opened[-1]

    yield open_
    for reader in opened:
        reader.close()
