"""Frames that wait to be described, each with the future that its submitter holds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from vlkng_ros.errors import ModelError
from vlkng_ros.perception.base import Frame
from vlkng_ros.types import Perception


@dataclass(slots=True, eq=False)
class Entry:
    """A waiting frame: to be described, or to be searched for ``phrase``.

    ``alone`` holds once it was in a batch that failed.
    """

    frame: Frame
    phrase: str = ""
    future: Future[Perception] = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)
    alone: bool = False


class FrameQueue:
    """First in, first out, and of too many the oldest goes. Holds no lock: its owner does."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._entries: deque[Entry] = deque()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def first(self) -> Entry:
        """The entry that is next."""
        return self._entries[0]

    def push(self, entry: Entry) -> Entry | None:
        """Adds an entry; returns the oldest where there was no room for both."""
        oldest = self._entries.popleft() if len(self._entries) >= self.capacity else None
        self._entries.append(entry)
        return oldest

    def take(self, size: int) -> list[Entry]:
        """Up to ``size`` entries that were not cancelled; one that is to be tried alone, or searched, comes alone."""
        batch: list[Entry] = []
        while self._entries and len(batch) < size and not (batch and (self.first.alone or self.first.phrase)):
            entry = self._entries.popleft()
            if _claim(entry):
                batch.append(entry)
                if entry.alone or entry.phrase:
                    break
        return batch

    def put_back(self, batch: Sequence[Entry]) -> None:
        """Puts entries where they were, in front."""
        self._entries.extendleft(reversed(batch))

    def clear(self) -> list[Entry]:
        """Takes everything out."""
        entries = list(self._entries)
        self._entries.clear()
        return entries


def fail(entries: Sequence[Entry], error: ModelError) -> None:
    """Has entries end with an error, those apart that were cancelled."""
    for entry in entries:
        if _claim(entry):
            entry.future.set_exception(error)


def _claim(entry: Entry) -> bool:
    """Whether the future is ours to set; it cannot be cancelled any more then."""
    return entry.future.running() or entry.future.set_running_or_notify_cancel()
