"""A bag is played at its own pace, with a clock that never stands still and never runs back."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from vlkng_ros.bags.playback import brings_a_clock, play
from vlkng_ros.bags.recording import BagMessage

S = 1_000_000_000


class Time:
    """Steady time that passes only while something waits for it."""

    def __init__(self) -> None:
        self.now = 50.0
        self.stopped_after = float("inf")

    def now_s(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.is_set()

    def is_set(self) -> bool:
        return self.now - 50.0 > self.stopped_after


def message(seconds: float) -> BagMessage:
    return BagMessage("/words", "std_msgs/msg/String", 1000 * S + round(seconds * S), b"")


def played(
    times: list[float], rate: float = 1.0, stopped_after: float = float("inf")
) -> tuple[list[float], list[int], int]:
    """When each message was published (real seconds since the start), every tick, and how many it were."""
    time = Time()
    time.stopped_after = stopped_after
    published: list[float] = []
    ticks: list[int] = []
    count = play(
        [message(seconds) for seconds in times],
        lambda _: published.append(time.now - 50.0),
        ticks.append,
        rate=rate,
        stop=time,  # type: ignore[arg-type]
        now_s=time.now_s,
    )
    return published, ticks, count


@pytest.mark.parametrize("rate", [0.5, 1.0, 4.0])
def test_messages_keep_their_distance_in_time(rate: float) -> None:
    published, _, count = played([0.0, 0.5, 0.5, 2.0], rate)
    assert published == pytest.approx([0.0, 0.5 / rate, 0.5 / rate, 2.0 / rate], abs=1e-6)
    assert count == 4


def test_the_clock_goes_on_between_messages_and_never_back() -> None:
    _, ticks, _ = played([0.0, 1.0])
    assert ticks == sorted(ticks)
    assert ticks[0] == 1000 * S
    assert ticks[-1] == 1001 * S
    assert max(later - earlier for earlier, later in pairwise(ticks)) <= S // 100 + 1


def test_a_machine_that_lags_behind_plays_on_without_waiting() -> None:
    published, _, count = played([0.0, 0.0, 0.0])
    assert (published, count) == ([0.0, 0.0, 0.0], 3)


def test_playing_can_be_stopped_in_a_pause() -> None:
    published, _, count = played([0.0, 1.0, 100.0], stopped_after=2.0)
    assert len(published) == count == 2


def test_an_empty_bag_is_over_at_once() -> None:
    assert play([], lambda _: None, lambda _: None, stop=threading.Event()) == 0


def test_a_recorded_clock_is_not_contradicted() -> None:
    assert brings_a_clock(["/pose", "/clock"])
    assert not brings_a_clock(["/pose"])
