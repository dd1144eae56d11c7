"""How the benchmarks tell time: by the clock on the wall, or, on a machine that others use too, by CPU time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

CLOCK = "VLKNG_BENCH_CLOCK"
"""Environment variable: ``cpu`` counts what a process computes, without waits for others and for the disk."""


def now() -> float:
    """Seconds since some moment."""
    return time.process_time() if os.environ.get(CLOCK) == "cpu" else time.perf_counter()


def clocked(calls: Sequence[Callable[[], object]]) -> list[float]:
    """Milliseconds of each call."""
    times = []
    for call in calls:
        start = now()
        call()
        times.append(1e3 * (now() - start))
    return times
