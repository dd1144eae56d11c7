"""What is wrong, in words: problems that appear, last and go away, and when to say so."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """How bad it is; the numbers are those of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong now. ``key`` names the sort of problem, ``text`` what to read and do about it."""

    key: str
    text: str
    level: Level = Level.WARN


class ProblemLog:
    """Decides which problems go to the log: new ones at once, lasting ones again from time to time.

    Args:
        repeat_s: a problem that lasts is said again after this long.
    """

    def __init__(self, repeat_s: float = 30.0) -> None:
        self._repeat_s = repeat_s
        self._said_s: dict[str, float] = {}

    def update(self, problems: Iterable[Problem], now_s: float) -> list[Problem]:
        """The problems to log now; call it with all that there are."""
        present = {problem.key: problem for problem in problems}
        self._said_s = {key: said for key, said in self._said_s.items() if key in present}
        due = [p for key, p in present.items() if now_s - self._said_s.get(key, -math.inf) >= self._repeat_s]
        for problem in due:
            self._said_s[problem.key] = now_s
        return due


class Rate:
    """Events a second over the last few seconds, and how long ago the last was."""

    def __init__(self, window_s: float = 5.0) -> None:
        self.total = 0
        self.last_s: float | None = None
        self._window_s = window_s
        self._times: deque[float] = deque(maxlen=4096)

    def tick(self, now_s: float) -> None:
        """An event happened."""
        self.total += 1
        self.last_s = now_s
        self._times.append(now_s)

    def hz(self, now_s: float) -> float:
        """Events a second."""
        while self._times and self._times[0] < now_s - self._window_s:
            self._times.popleft()
        return len(self._times) / self._window_s

    def silent_s(self, now_s: float, since_s: float) -> float:
        """Seconds since the last event, or since ``since_s`` where there was none after it."""
        return now_s - (since_s if self.last_s is None else max(self.last_s, since_s))


class Durations:
    """The last few hundred durations, for their percentiles."""

    def __init__(self, keep: int = 1000) -> None:
        self._seconds: deque[float] = deque(maxlen=keep)

    def add(self, seconds: float) -> None:
        """One more."""
        self._seconds.append(seconds)

    def percentile_ms(self, percent: float) -> float:
        """In milliseconds; 0 where there are none."""
        ordered = sorted(self._seconds)
        return 1e3 * ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0
