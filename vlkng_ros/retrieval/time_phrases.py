"""Time in a question: found in the text without a model, resolved against ``as_of`` as EgoGraph lays down.

"Yesterday" is the day before that of ``as_of``, "2 hours ago" is ``as_of`` - 2 h, and ``[DAYd HH:MM:SS]`` counts days
from the first one remembered, which is day 1 (EgoGraph section 3.2).
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from enum import Enum

from vlkng_ros.memory.words import NUMBERS
from vlkng_ros.retrieval import grammar
from vlkng_ros.types import NS_PER_S

_UNIT_S = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600,
    "day": 86_400, "week": 604_800,
}  # fmt: skip
_NUMBER = (
    r"(?P<{0}>\d+(?:\.\d+)?|half an?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|"
    r"fifteen|twenty|thirty|forty|sixty|a couple of|a few)"
)
_UNIT = r"(?P<{0}>seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?)"
_CLOCK = r"(?P<{0}>\d{{1,2}}(?::\d{{2}}(?::\d{{2}})?)?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)?)"
_PARTS_OF_DAY = {"morning": (5, 12), "noon": (11, 13), "afternoon": (12, 18), "evening": (17, 23), "night": (20, 30)}


class TimeRule(str, Enum):
    """How a phrase becomes a window."""

    AGO = "ago"
    WITHIN = "within"
    DAY = "day"
    CLOCK = "clock"
    BETWEEN = "between"
    BEFORE = "before"
    AFTER = "after"
    STAMP = "stamp"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A phrase and its numbers. ``seconds`` are back from ``as_of`` (AGO, WITHIN) or of the day (clock rules)."""

    rule: TimeRule
    text: str
    seconds: float = 0.0
    end_seconds: float = 0.0
    days_back: int = 0
    """DAY: how many days before that of ``as_of``. STAMP: the memory's day, from 1."""
    date: tuple[int, int, int] = (0, 0, 0)
    """DATE: year, month, day. Year 0 is that of the latest such day; with month 0 it is a day of the week, 1 Monday."""
    onwards: bool = False
    """From then on ("since yesterday"), for rules that else name the time itself."""
    bare_hour: bool = False
    """A clock time without am or pm and below 12: the half of the day is chosen when resolved."""


@dataclass(frozen=True, slots=True)
class Window:
    """``[since_ns, until_ns]``; ``moment_ns`` where the phrase names a point in time."""

    since_ns: int
    until_ns: int
    moment_ns: int | None = None


_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NTH = r"(?:the )?(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"

_PATTERNS = (
    (TimeRule.DATE, re.compile(
        r"\bon (?:(?P<iso>\d{4}-\d{2}-\d{2})"
        rf"|{_NTH.format('d')} (?:of )?(?P<m>{'|'.join(_MONTHS)})(?:,? (?P<y>\d{{4}}))?"
        rf"|(?P<m2>{'|'.join(_MONTHS)}) {_NTH.format('d2')}(?:,? (?P<y2>\d{{4}}))?"
        rf"|(?P<week>{'|'.join(_WEEKDAYS)}))(?![\w:])"
        rf"|(?<=since )(?P<week2>{'|'.join(_WEEKDAYS)})(?![\w:])")),
    (TimeRule.STAMP, re.compile(r"\b(?:at |on )?\[?day ?(?P<day>\d+)(?:[ ,]+"
        r"(?:at )?(?P<clock>\d{1,2}:\d{2}(?::\d{2})?))?\]?")),
    (TimeRule.AGO, re.compile(rf"\b(?:about |around )?{_NUMBER.format('n')} {_UNIT.format('u')} (?:ago|"
        rf"earlier|before now)\b")),
    (TimeRule.WITHIN, re.compile(
        rf"\b(?:in|during|within|over|for) (?:the )?(?:last|past|"
        rf"previous) (?:{_NUMBER.format('n')} )?{_UNIT.format('u')}\b")),
    (TimeRule.BETWEEN, re.compile(rf"\b(?:between|from) {_CLOCK.format('a')} (?:and|to|till|"
        rf"until) {_CLOCK.format('b')}(?![\w:])")),
    (TimeRule.DAY, re.compile(
        r"\b(?:(?P<day>yesterday|today|the day before yesterday)(?: (?P<part>morning|noon|afternoon|evening|"
        r"night))?"
        r"|(?:in |during )?(?P<this>this|last|the) (?P<part2>morning|noon|afternoon|evening|night)|"
        r"(?P<tonight>tonight))\b")),
    (TimeRule.BEFORE, re.compile(rf"\b(?:before|until|till|prior to|by) {_CLOCK.format('a')}(?![\w:])")),
    (TimeRule.AFTER, re.compile(rf"\b(?:after|since|from) {_CLOCK.format('a')}(?: on)?(?![\w:])")),
    (TimeRule.CLOCK, re.compile(r"\b(?:at|around|about) (?P<a>\d{1,2}:\d{2}(?::\d{2})?\s*(?:am|pm)?|"
        r"\d{1,2}\s*(?:am|pm|o'clock))(?![\w:])")),
)  # fmt: skip


_SINCE = re.compile(r"\b(?:ever since|since|from)\s*$")


def find_time_phrases(text: str) -> tuple[tuple[TimePhrase, ...], str]:
    """-> (the phrases of a lower-case text, the text without them)."""
    if grammar.AGO_QUESTION.search(text):
        return (), text
    found: list[TimePhrase] = []
    for rule, pattern in _PATTERNS:
        match = pattern.search(text)
        if match is None:
            continue
        phrase = _phrase(rule, match)
        if phrase is not None:
            since = (
                _SINCE.search(text[: match.start()]) if rule in (TimeRule.DAY, TimeRule.DATE, TimeRule.AGO) else None
            )
            found.append(phrase if since is None else replace(phrase, onwards=True))
            start = match.start() if since is None else since.start()
            text = " ".join((text[:start] + " " + text[match.end() :]).split())
    return tuple(found), text.strip(" ,")


def _phrase(rule: TimeRule, match: re.Match[str]) -> TimePhrase | None:
    said = match.group().strip()
    if rule in (TimeRule.AGO, TimeRule.WITHIN):
        return TimePhrase(rule, said, seconds=_number(match["n"]) * _UNIT_S[match["u"].rstrip("s") or "s"])
    if rule is TimeRule.DATE:
        return _date(said, match)
    if rule is TimeRule.STAMP:
        clock = _clock(match["clock"])[0] if match["clock"] else -1.0
        return TimePhrase(rule, said, seconds=clock, days_back=int(match["day"]))
    if rule is TimeRule.DAY:
        part = match["part"] or match["part2"] or ("night" if match["tonight"] else "")
        if match["this"] == "the" and part == "night":
            return None  # "at the night": a condition of light, not a day
        days = {"yesterday": 1, "the day before yesterday": 2}.get(match["day"] or "", 0)
        if match["this"] == "last":
            days = 1
        start, end = _PARTS_OF_DAY.get(part, (0, 24))
        return TimePhrase(rule, said, seconds=start * 3600.0, end_seconds=end * 3600.0, days_back=days)
    try:
        first, bare = _clock(match["a"])
        second = _clock(match["b"])[0] if rule is TimeRule.BETWEEN else 0.0
    except ValueError:
        return None
    if rule is TimeRule.BETWEEN and bare and second < first:
        second += 12 * 3600.0
    return TimePhrase(rule, said, seconds=first, end_seconds=second, bare_hour=bare)


def _date(said: str, match: re.Match[str]) -> TimePhrase | None:
    if week := match["week"] or match["week2"]:
        return TimePhrase(TimeRule.DATE, said, date=(0, 0, _WEEKDAYS.index(week) + 1))
    if match["iso"]:
        year, month, day = map(int, match["iso"].split("-"))
    else:
        year, day = int(match["y"] or match["y2"] or 0), int(match["d"] or match["d2"])
        month = _MONTHS.index(match["m"] or match["m2"]) + 1
    try:
        dt.date(year or 2000, month, day)  # a leap year: any day that there is
    except ValueError:
        return None
    return TimePhrase(TimeRule.DATE, said, date=(year, month, day))


def _number(word: str | None) -> float:
    if word is None:
        return 1.0
    if word.startswith("half"):
        return 0.5
    if word in ("a couple of", "a few"):
        return 2.0 if "couple" in word else 3.0
    return float(word) if word[0].isdigit() else float(NUMBERS[word])


def _clock(text: str) -> tuple[float, bool]:
    """-> (seconds of the day, whether am or pm is open)."""
    half = re.search(r"(a|p)\.?m", text)
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    hour, minute, second = (*numbers, 0, 0)[:3]
    if hour > 24 or minute > 59 or second > 59 or (half and not 1 <= hour <= 12):
        raise ValueError(text)
    if half:
        hour = hour % 12 + (12 if half[1] == "p" else 0)
    return hour * 3600.0 + minute * 60.0 + second, half is None and 1 <= hour < 12


def resolve(phrase: TimePhrase, as_of_ns: int, oldest_ns: int, zone: dt.tzinfo | None = None) -> Window:
    """The window that a phrase names, never past ``as_of_ns``.

    Args:
        phrase: what ``find_time_phrases`` found.
        as_of_ns: EgoGraph's t_q, the "now" of the question.
        oldest_ns: stamp of the first keyframe: where day 1 is.
        zone: time zone of days and clock times; None is the machine's.
    """
    if phrase.onwards:
        return Window(resolve(replace(phrase, onwards=False), as_of_ns, oldest_ns, zone).since_ns, as_of_ns)
    now = dt.datetime.fromtimestamp(as_of_ns / NS_PER_S, zone or dt.timezone.utc)
    if zone is None:
        now = now.astimezone()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)

    def at(day: dt.datetime, seconds: float) -> int:
        return round((day + dt.timedelta(seconds=seconds)).timestamp() * NS_PER_S)

    if phrase.rule is TimeRule.AGO:
        moment = as_of_ns - round(phrase.seconds * NS_PER_S)
        slack = round(max(2.0, 0.1 * phrase.seconds) * NS_PER_S)
        return Window(moment - slack, min(as_of_ns, moment + slack), moment)
    if phrase.rule is TimeRule.WITHIN:
        return Window(as_of_ns - round(phrase.seconds * NS_PER_S), as_of_ns)
    if phrase.rule is TimeRule.DAY:
        day = midnight - dt.timedelta(days=phrase.days_back)
        return Window(at(day, phrase.seconds), min(as_of_ns, at(day, phrase.end_seconds)))
    if phrase.rule is TimeRule.DATE:
        day = _day_of(phrase.date, midnight)
        return Window(at(day, 0), min(as_of_ns, at(day, 86400)))
    if phrase.rule is TimeRule.STAMP:
        first = dt.datetime.fromtimestamp(oldest_ns / NS_PER_S, now.tzinfo).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        day = first + dt.timedelta(days=phrase.days_back - 1)
        if phrase.seconds < 0:
            return Window(at(day, 0), min(as_of_ns, at(day, 86400)))
        moment = at(day, phrase.seconds)
        return Window(moment - 30 * NS_PER_S, min(as_of_ns, moment + 30 * NS_PER_S), moment)
    start = at(midnight, phrase.seconds)
    if phrase.bare_hour and start + 12 * 3600 * NS_PER_S <= as_of_ns:
        shift = 12 * 3600  # "between 1 and 2", asked in the evening: the latest such time that has passed
    elif start > as_of_ns and phrase.rule is not TimeRule.BEFORE:
        shift = -86400
    else:
        shift = 0
    start += shift * NS_PER_S
    if phrase.rule is TimeRule.CLOCK:
        return Window(start - 60 * NS_PER_S, min(as_of_ns, start + 60 * NS_PER_S), start)
    if phrase.rule is TimeRule.BEFORE:
        return Window(oldest_ns, min(start, as_of_ns))
    if phrase.rule is TimeRule.AFTER:
        return Window(start, as_of_ns)
    return Window(start, min(as_of_ns, at(midnight, phrase.end_seconds) + shift * NS_PER_S))


def _day_of(date: tuple[int, int, int], today: dt.datetime) -> dt.datetime:
    """Midnight of a day; without a year the latest that has come."""
    year, month, day = date
    if not month:
        return today - dt.timedelta(days=(today.weekday() + 1 - day) % 7)
    for earlier in range(8):  # 29 February may be eight years back
        try:
            found = today.replace(year=year or today.year - earlier, month=month, day=day)
        except ValueError:
            continue
        if year or found <= today:
            return found
    return today.replace(year=1970, month=1, day=1)
