"""What callbacks leave for the thread that does the work: bounded, in order of arrival, the oldest dropped.

A pose graph takes the place of the one before it, which says nothing that the newer one does not.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import chain


@dataclass(frozen=True, slots=True)
class Event:
    """Something that arrived: its kind (``frame``, ``pose``, ``odometry``, ...), its stamp and itself.

    ``camera`` names the camera of a frame or of intrinsics; empty for the main one.
    """

    kind: str
    stamp_ns: int
    item: object
    arrived_s: float = field(default_factory=time.monotonic)
    camera: str = ""


class Inbox:
    """Events from any thread to one. Images are few and large, the others many and small: each sort has its bound.

    Args:
        frames: most camera frames kept, and most depth images.
        others: most other events kept.
    """

    def __init__(self, frames: int = 8, others: int = 20_000) -> None:
        self.dropped: Counter[str] = Counter()
        """Events lost because the working thread did not keep up, by kind."""
        self._limits = {"frame": frames, "depth": frames, "graph": 1, "": others}
        self._queues: dict[str, deque[tuple[int, Event]]] = {sort: deque() for sort in self._limits}
        self._number = 0
        self._woken = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def put(self, event: Event) -> None:
        """Leave an event; never blocks for long, drops the oldest of its sort when full."""
        sort = event.kind if event.kind in self._limits else ""
        with self._changed:
            queue = self._queues[sort]
            if len(queue) >= self._limits[sort]:
                _, lost = queue.popleft()
                if lost.kind != "graph":
                    self.dropped[lost.kind] += 1
            queue.append((self._number, event))
            self._number += 1
            self._changed.notify()

    def wake(self) -> None:
        """Make a waiting :meth:`take` return at once."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def take(self, timeout_s: float) -> list[Event]:
        """Everything that is there, in order of arrival; waits up to ``timeout_s`` for the first."""
        with self._changed:
            if not self._woken and not len(self):
                self._changed.wait(timeout_s)
            self._woken = False
            events = sorted(chain.from_iterable(self._queues.values()), key=lambda numbered: numbered[0])
            for queue in self._queues.values():
                queue.clear()
        return [event for _, event in events]
