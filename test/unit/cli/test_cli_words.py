"""Times, amounts and sizes as people write and read them."""

from __future__ import annotations

import argparse

import pytest

from vlkng_ros.cli import arguments
from vlkng_ros.moments import counted, duration, moment, size

S = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "stamp_ns"),
    [
        ("0", 0),
        ("1673884185689107000", 1673884185689107000),
        ("1673884185.5", 1673884185500000000),
        ("12.", 12 * S),
        ("2023-01-16T15:49:45Z", 1673884185 * S),
        ("2023-01-16T15:49:45", 1673884185 * S),
        ("2023-01-16T16:49:45.689107+01:00", 1673884185 * S + 689107000),
        ("2023-01-16", 1673827200 * S),
        ("1970-01-01T00:00:00.500", S // 2),
    ],
)
def test_a_time_can_be_written_in_several_ways(text: str, stamp_ns: int) -> None:
    assert arguments.stamp(text) == stamp_ns


@pytest.mark.parametrize("text", ["", "noon", "nan", "inf", "1e999", "2023-13-01", "12:00", "0x10", "1_000"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no time: give integer ns"):
        arguments.stamp(text)


@pytest.mark.parametrize("text", ["-5", "-0.5", "1969-12-31T23:59:59.500", "1e30", "99999999999999999999"])
def test_a_time_that_no_memory_can_hold_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"they are from 0 \(1970\) to 2262"):
        arguments.stamp(text)


@pytest.mark.parametrize("text", ["", "far", "nan", "inf"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no number of metres"):
        arguments.metres(text)


def test_a_path_may_begin_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/robot")
    assert str(arguments.path("~/memory.db")) == "/home/robot/memory.db"
    with pytest.raises(argparse.ArgumentTypeError, match="an empty path"):
        arguments.path("")


def test_a_stamp_is_a_date_unless_it_counts_from_a_start() -> None:
    assert moment(1673884185689107000) == "2023-01-16 15:49:45 UTC"
    assert moment(12_500_000_000) == "12.500 s"


@pytest.mark.parametrize(
    ("span_ns", "text"),
    [(0, "0.0 s"), (59 * S, "59.0 s"), (820 * S, "13 min 40 s"), (3600 * S, "1 h"), (90_000 * S, "1 d 1 h")],
)
def test_a_duration_is_said_in_its_two_largest_units(span_ns: int, text: str) -> None:
    assert duration(span_ns) == text


def test_amounts_are_said_as_people_say_them() -> None:
    assert [size(n) for n in (0, 999, 1500, 2_060_000, 3_000_000_000_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "2.1 MB",
        "3.0 TB",
    ]
    assert [counted(1, "entity"), counted(2, "entity"), counted(0, "keyframe")] == [
        "1 entity",
        "2 entities",
        "0 keyframes",
    ]
