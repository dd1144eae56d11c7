"""When to publish what of a bag: its messages at their own pace, and a clock that keeps ticking between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable

from vlkng_ros.bags.recording import BagMessage
from vlkng_ros.types import NS_PER_S

CLOCK = "/clock"
TICK_S = 0.01


def play(
    recording: Iterable[BagMessage],
    publish: Callable[[BagMessage], None],
    tick: Callable[[int], None],
    *,
    rate: float = 1.0,
    stop: threading.Event | None = None,
    now_s: Callable[[], float] = time.monotonic,
) -> int:
    """Publish a recording; returns how many messages that were.

    Args:
        recording: messages in the order in which they were received.
        publish: called with each message when it is due.
        tick: called with recorded time in ns: before each message, and at least every 10 ms between them.
        rate: recorded seconds in a real one.
        stop: ends playing when set.
        now_s: steady seconds.
    """
    stop = stop or threading.Event()
    count = 0
    start: tuple[int, float] | None = None
    for message in recording:
        if start is None:
            start = (message.stamp_ns, now_s())
        first_ns, first_s = start
        while not stop.is_set():
            elapsed_ns = round((now_s() - first_s) * rate * NS_PER_S)
            ahead_ns = message.stamp_ns - first_ns - elapsed_ns
            if ahead_ns <= 0:
                break
            tick(first_ns + elapsed_ns)
            stop.wait(min(TICK_S, ahead_ns / NS_PER_S / rate))
        if stop.is_set():
            break
        tick(message.stamp_ns)
        publish(message)
        count += 1
    return count


def brings_a_clock(topics: Collection[str]) -> bool:
    """Whether a bag was recorded in simulated time and holds the clock of its stamps; another would contradict it."""
    return CLOCK in topics
