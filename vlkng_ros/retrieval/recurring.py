"""Times that come again: "every morning", "usually at night", "on how many days"."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.retrieval import grammar
from vlkng_ros.retrieval.time_phrases import PARTS_OF_DAY, WEEKDAYS
from vlkng_ros.types import NS_PER_S

DAY_S = 86_400
WEEK_S = 7 * DAY_S
MONDAY_S = 4 * DAY_S
"""The first Monday of the epoch, which began on a Thursday."""
USUAL = 0.5
"""What is usual holds for more than this share of the times."""
_PERIODS = {"hour": (3600, 0, 3600), "day": (DAY_S, 0, DAY_S), "week": (WEEK_S, MONDAY_S, WEEK_S)}
_NAMES = "|".join((*_PERIODS, *PARTS_OF_DAY, *WEEKDAYS))
_EVERY = re.compile(
    rf"\b(?:(?:on|in|at|during) )?(?:(?:the|your) )?(?P<all>every|each)(?: single)? (?P<name>{_NAMES}|time)\b"
    rf"|\b(?P<daily>daily|hourly|weekly)$"
    rf"|^(?:on|in|for|during|at)? ?how many (?:different )?(?P<number>day|week|{'|'.join((*PARTS_OF_DAY, *WEEKDAYS))})s"
    r"\b(?! (?:ago|are|is|were|was|passed|lie)\b)"
)
_DAILY = {"daily": "day", "hourly": "hour", "weekly": "week"}
_USUAL = re.compile(r"\b(?P<how>usually|normally|generally|typically|always|regularly)\b")
_IN_THE = re.compile(rf"\b(?:in|on|at|during) (?:the )?(?P<name>{'|'.join((*PARTS_OF_DAY, *WEEKDAYS))})s?$")


@dataclass(frozen=True, slots=True)
class Recurring:
    """A time that comes again every ``period_s``, for ``length_s`` from ``start_s`` on, local time since 1970."""

    name: str
    period_s: int
    start_s: int
    length_s: int
    usual: bool = False
    """Whether most of the times are enough."""
    counted: bool = False
    """Whether it is asked at how many of the times."""

    def numbers(self, stamps_ns: NDArray[np.int64], zone: dt.tzinfo | None = None) -> NDArray[np.int64]:
        """Which of the times each stamp is in, numbered in their order, shape ``(n,)``; -1 where it is in none.

        Args:
            stamps_ns: in order of time.
            zone: of days and hours; None is the machine's. That of the last stamp holds for all.
        """
        if not len(stamps_ns):
            return np.zeros(0, dtype=np.int64)
        last = dt.datetime.fromtimestamp(int(stamps_ns[-1]) / NS_PER_S, zone or dt.timezone.utc)
        offset = (last if zone is not None else last.astimezone()).utcoffset() or dt.timedelta()
        seconds = stamps_ns // NS_PER_S + round(offset.total_seconds()) - self.start_s
        number, within = np.divmod(seconds, self.period_s)
        return np.where(within < self.length_s, number, -1)


def recurring_of(text: str) -> tuple[Recurring | None, str]:
    """-> (the time that comes again which a lower-case question asks about, the question without that).

    "Every time" has no length: ``period_s`` is then 0.
    """
    if found := _EVERY.search(text):
        name = found["name"] or found["number"] or _DAILY[found["daily"]]
        rest = f"how many times {text[found.end() :]}" if found["number"] else _cut(text, found)
        return _named(name, counted=bool(found["number"])), rest
    if not (found := _USUAL.search(text)) or not grammar.AUXILIARY.search(text):
        return None, text
    rest, always = _cut(text, found), found["how"] == "always"
    when = _IN_THE.search(rest)
    name = when["name"] if when else "time" if always else "day"
    return _named(name, usual=not always), _cut(rest, when) if when else rest


def _named(name: str, *, usual: bool = False, counted: bool = False) -> Recurring:
    if name in PARTS_OF_DAY:
        start, end = (hour * 3600 for hour in PARTS_OF_DAY[name])
        period = (DAY_S, start, end - start)
    elif name in WEEKDAYS:
        period = (WEEK_S, MONDAY_S + DAY_S * WEEKDAYS.index(name), DAY_S)
    else:
        period = _PERIODS.get(name, (0, 0, 0))
    return Recurring(name, *period, usual=usual, counted=counted)


def _cut(text: str, found: re.Match[str]) -> str:
    return " ".join((text[: found.start()] + " " + text[found.end() :]).split())
