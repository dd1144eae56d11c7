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
NUMBER = (
    r"(?P<{0}>\d+(?:\.\d+)?|half(?: an?)?|(?:a )?quarter(?: of an?)?|an?|one|two|three|four|five|six|seven|eight|"
    r"nine|ten|twelve|fifteen|twenty|thirty|forty|sixty|a couple of|a few)"
)
UNIT = r"(?P<{0}>seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?)"
_CLOCK = (
    r"(?P<{0}>\d{{1,2}}(?::\d{{2}}(?::\d{{2}})?)?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)?|"
    r"(?:12 )?noon|midday|midnight)"
)
_BACK = rf"{NUMBER.format('n')} {UNIT.format('u')} (?:ago|earlier|back|before now)\b"
PARTS_OF_DAY = {"morning": (5, 12), "noon": (11, 13), "afternoon": (12, 18), "evening": (17, 23), "night": (20, 30)}
"""Hours in which a part of the day begins and ends."""
EARLY_S = 7 * 3600.0
"""A clock time of a day before it, without am or pm, is one of the afternoon."""
AT_S, AROUND_S, NOON_S = 60.0, 900.0, 3600.0
"""How far from a clock time what is said to be "at" it may be, what is "around" it, and what is at noon or midnight."""


class TimeRule(str, Enum):
    """How a phrase becomes a window."""

    AGO = "ago"
    EARLIER = "earlier"
    FIRST = "first"
    WITHIN = "within"
    DAY = "day"
    CLOCK = "clock"
    BETWEEN = "between"
    BEFORE = "before"
    AFTER = "after"
    STAMP = "stamp"
    DATE = "date"
    WEEK = "week"


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A phrase and its numbers.

    ``seconds`` are back from ``as_of`` (AGO, EARLIER, WITHIN), from the oldest keyframe on (FIRST), or of the day.
    """

    rule: TimeRule
    text: str
    seconds: float = 0.0
    end_seconds: float = 0.0
    days_back: int = 0
    """DAY: how many days before that of ``as_of``, WEEK: how many weeks. STAMP: the memory's day, from 1. DATE: 1 where
    a day of the week is the last one before that of ``as_of``."""
    date: tuple[int, int, int] = (0, 0, 0)
    """DATE: year, month, day. Year 0 is that of the latest such day; with month 0 it is a day of the week, 1 Monday."""
    onwards: bool = False
    """From then on ("since yesterday"), for rules that else name the time itself."""
    bare_hour: bool = False
    """A clock time without am or pm and below 12: the half of the day is chosen when resolved."""
    slack_s: float = AT_S
    """CLOCK: how far from it still counts."""
    day: TimePhrase | None = None
    """Clock rules: the DAY or DATE that the time is of ("yesterday at 10:15"); else it is the latest that has come."""


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
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NTH = r"(?:the )?(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"

_PATTERNS = (
    (TimeRule.DATE, re.compile(
        r"\bon (?:(?P<iso>\d{4}-\d{2}-\d{2})"
        rf"|{_NTH.format('d')} (?:of )?(?P<m>{'|'.join(_MONTHS)})(?:,? (?P<y>\d{{4}}))?"
        rf"|(?P<m2>{'|'.join(_MONTHS)}) {_NTH.format('d2')}(?:,? (?P<y2>\d{{4}}))?"
        rf"|(?P<week>{'|'.join(WEEKDAYS)}))(?![\w:])"
        rf"|(?:(?<=since )|\blast )(?P<week2>{'|'.join(WEEKDAYS)})(?![\w:])")),
    (TimeRule.STAMP, re.compile(r"\b(?:at |on )?\[?day ?(?P<day>\d+)(?:[ ,]+"
        r"(?:at )?(?P<clock>\d{1,2}:\d{2}(?::\d{2})?))?\]?")),
    (TimeRule.WITHIN, re.compile(
        rf"\b(?:(?:no|not) (?:more|longer|earlier) than|(?:in )?less than|under|at (?:the )?most|within|up to) "
        rf"{_BACK}")),
    (TimeRule.EARLIER, re.compile(
        rf"\b(?:more than|over|at least|longer than|earlier than|(?:no|not) less than) {_BACK}")),
    (TimeRule.AGO, re.compile(rf"\b(?:about |around )?{_BACK}")),
    (TimeRule.WITHIN, re.compile(
        rf"\b(?:in|during|within|over|for) (?:the )?(?:last|past|"
        rf"previous) (?:{NUMBER.format('n')} )?{UNIT.format('u')}\b")),
    (TimeRule.FIRST, re.compile(
        rf"\b(?:in|during|within|over|for) (?:the )?first (?:{NUMBER.format('n')} )?{UNIT.format('u')}\b")),
    (TimeRule.BETWEEN, re.compile(rf"\b(?:between|from) {_CLOCK.format('a')} (?:and|to|till|"
        rf"until) {_CLOCK.format('b')}(?![\w:])")),
    (TimeRule.DAY, re.compile(
        r"\b(?:(?P<day>yesterday|today|the day before yesterday)(?: (?P<part>morning|noon|afternoon|evening|"
        r"night))?"
        r"|(?:in |during )?(?P<this>this|last|the) (?P<part2>morning|noon|afternoon|evening|night)|"
        r"(?P<tonight>tonight))\b")),
    (TimeRule.WEEK, re.compile(r"\b(?P<which>this|last|(?:on|at|over|during) the(?: last)?) week(?P<end>end)?\b")),
    (TimeRule.BEFORE, re.compile(rf"\b(?:before|until|till|prior to|by) {_CLOCK.format('a')}(?![\w:])")),
    (TimeRule.AFTER, re.compile(rf"\b(?:after|since|from) {_CLOCK.format('a')}(?: on)?(?![\w:])")),
    (TimeRule.CLOCK, re.compile(r"\b(?P<near>at|around|about) (?:about |around )?"
        r"(?P<a>\d{1,2}:\d{2}(?::\d{2})?\s*(?:am|pm)?|\d{1,2}\s*(?:am|pm|o'clock)|"
        r"(?:12 )?noon|midday|midnight)(?![\w:])")),
)  # fmt: skip


_OF_A_DAY = (TimeRule.CLOCK, TimeRule.BETWEEN, TimeRule.BEFORE, TimeRule.AFTER)
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
    day = next((p for p in found if p.rule in (TimeRule.DAY, TimeRule.DATE) and not p.onwards), None)
    found = [replace(p, day=day) if p.rule in _OF_A_DAY else p for p in found]
    return tuple(found), text.strip(" ,")


def _phrase(rule: TimeRule, match: re.Match[str]) -> TimePhrase | None:
    said = match.group().strip()
    if rule in (TimeRule.AGO, TimeRule.EARLIER, TimeRule.FIRST, TimeRule.WITHIN):
        return TimePhrase(rule, said, seconds=number_of(match["n"]) * seconds_in(match["u"]))
    if rule is TimeRule.DATE:
        return _date(said, match)
    if rule is TimeRule.WEEK:
        back = 1 if match["which"] == "last" and not match["end"] else 0
        return TimePhrase(rule, said, 5 * 86400.0 if match["end"] else 0.0, 7 * 86400.0, back)
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
        start, end = PARTS_OF_DAY.get(part, (0, 24))
        return TimePhrase(rule, said, seconds=start * 3600.0, end_seconds=end * 3600.0, days_back=days)
    try:
        first, bare = _clock(match["a"])
        second, bare_end = _clock(match["b"]) if rule is TimeRule.BETWEEN else (0.0, False)
    except ValueError:
        return None
    if rule is TimeRule.BETWEEN and second <= first:
        second += 12 * 3600.0 if bare_end and second + 12 * 3600.0 > first else 24 * 3600.0
    slack = AT_S
    if rule is TimeRule.CLOCK:
        slack = NOON_S if match["a"].isalpha() else AT_S if match["near"] == "at" else AROUND_S
    return TimePhrase(rule, said, seconds=first, end_seconds=second, bare_hour=bare, slack_s=slack)


def _date(said: str, match: re.Match[str]) -> TimePhrase | None:
    if week := match["week"] or match["week2"]:
        last = int(said.startswith("last"))
        return TimePhrase(TimeRule.DATE, said, days_back=last, date=(0, 0, WEEKDAYS.index(week) + 1))
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


def seconds_in(unit: str) -> float:
    """Of the unit that ``UNIT`` found."""
    return _UNIT_S[unit.rstrip("s") or "s"]


def number_of(word: str | None) -> float:
    """What ``NUMBER`` found."""
    if word is None:
        return 1.0
    if word.startswith("half"):
        return 0.5
    if "quarter" in word:
        return 0.25
    if word in ("a couple of", "a few"):
        return 2.0 if "couple" in word else 3.0
    return float(word) if word[0].isdigit() else float(NUMBERS[word])


def _clock(text: str) -> tuple[float, bool]:
    """-> (seconds of the day, whether am or pm is open)."""
    if text.isalpha() or text.endswith("noon"):
        return (0.0 if text == "midnight" else 12 * 3600.0), False
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
    if phrase.rule is TimeRule.FIRST:
        return Window(oldest_ns, oldest_ns + round(phrase.seconds * NS_PER_S))
    if phrase.rule is TimeRule.EARLIER:
        return Window(oldest_ns, as_of_ns - round(phrase.seconds * NS_PER_S))
    if phrase.rule is TimeRule.WITHIN:
        return Window(as_of_ns - round(phrase.seconds * NS_PER_S), as_of_ns)
    if phrase.rule in (TimeRule.DAY, TimeRule.DATE):
        day, last = _day_of(phrase, midnight), phrase.end_seconds or 86400.0
        return Window(at(day, phrase.seconds), min(as_of_ns, at(day, last)))
    if phrase.rule is TimeRule.WEEK:
        monday = midnight - dt.timedelta(days=midnight.weekday() + 7 * phrase.days_back)
        if at(monday, phrase.seconds) > as_of_ns:
            monday -= dt.timedelta(days=7)  # "on the weekend", asked on a Tuesday
        return Window(at(monday, phrase.seconds), min(as_of_ns, at(monday, phrase.end_seconds)))
    if phrase.rule is TimeRule.STAMP:
        first = dt.datetime.fromtimestamp(oldest_ns / NS_PER_S, now.tzinfo).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        day = first + dt.timedelta(days=phrase.days_back - 1)
        if phrase.seconds < 0:
            return Window(at(day, 0), min(as_of_ns, at(day, 86400)))
        moment = at(day, phrase.seconds)
        return Window(moment - 30 * NS_PER_S, min(as_of_ns, moment + 30 * NS_PER_S), moment)
    if phrase.day is not None:
        midnight = _day_of(phrase.day, midnight)
        if phrase.day.end_seconds > 86400 and phrase.seconds < phrase.day.seconds:
            midnight += dt.timedelta(days=1)  # "last night at 2 am" was the day after
    start = at(midnight, phrase.seconds)
    if phrase.bare_hour and phrase.day is not None:
        part = (phrase.day.seconds, phrase.day.end_seconds or 86400.0)
        half_later = part[0] <= phrase.seconds + 43200 < part[1]
        inside = part[0] <= phrase.seconds < part[1] and phrase.seconds >= EARLY_S
        shift = 43200 if half_later and not inside else 0
    elif phrase.bare_hour and start + 12 * 3600 * NS_PER_S <= as_of_ns:
        shift = 12 * 3600  # "between 1 and 2", asked in the evening: the latest such time that has passed
    elif start > as_of_ns and phrase.rule is not TimeRule.BEFORE and phrase.day is None:
        shift = -86400
    else:
        shift = 0
    start += shift * NS_PER_S
    if phrase.rule is TimeRule.CLOCK:
        slack = round(phrase.slack_s * NS_PER_S)
        return Window(start - slack, min(as_of_ns, start + slack), start)
    if phrase.rule is TimeRule.BEFORE:
        return Window(oldest_ns, min(start, as_of_ns))
    if phrase.rule is TimeRule.AFTER:
        return Window(start, as_of_ns)
    return Window(start, min(as_of_ns, at(midnight, phrase.end_seconds) + shift * NS_PER_S))


def _day_of(phrase: TimePhrase, today: dt.datetime) -> dt.datetime:
    """Midnight of a DAY, or of a DATE; without a year the latest that has come."""
    if phrase.rule is TimeRule.DAY:
        return today - dt.timedelta(days=phrase.days_back)
    year, month, day = phrase.date
    if not month:
        return today - dt.timedelta(days=(today.weekday() + 1 - day) % 7 or 7 * phrase.days_back)
    for earlier in range(8):  # 29 February may be eight years back
        try:
            found = today.replace(year=year or today.year - earlier, month=month, day=day)
        except ValueError:
            continue
        if year or found <= today:
            return found
    return today.replace(year=1970, month=1, day=1)
