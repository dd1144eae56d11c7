"""How long something lasted, as a question has it: "for more than 10 seconds", "at a time"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vlkng_ros.retrieval.time_phrases import NUMBER, UNIT, number_of, seconds_in

_FOR = re.compile(
    rf"\bfor (?:(?P<more>more than|over|at least|longer than|(?:no|not) less than)|"
    rf"(?P<less>less than|under|at (?:the )?most|no (?:more|longer) than|not (?:more|longer) than|up to|only))? ?"
    rf"(?:about |around )?{NUMBER.format('n')} {UNIT.format('u')}\b(?! (?:ago|earlier|before|back)\b)"
    rf"|\b(?P<longer>longer|more) than {NUMBER.format('n2')} {UNIT.format('u2')}\b(?! (?:ago|earlier|before|back)\b)"
)
_AT_A_TIME = re.compile(
    r"\b(?:(?:the |for the )?longest(?: time)?|at (?:a|one|any one) (?:time|stretch)|in one (?:go|piece)|in a row|"
    r"at once|without (?:a |any )?(?:break|pause|interruption)s?|continuously|uninterrupted(?:ly)?)\b"
)
_ALTOGETHER = re.compile(r"\s*\b(?:in total|altogether|all together|in all|all in all|overall|combined|in sum)$")


@dataclass(frozen=True, slots=True)
class Lasting:
    """Seconds that something lasted, at least and at most."""

    least_s: float
    most_s: float = float("inf")


def lasting_of(text: str) -> tuple[Lasting | None, str]:
    """-> (for how long a yes/no question asks whether something lasted, the question without that)."""
    found = _FOR.search(text)
    if found is None:
        return None, text
    seconds = number_of(found["n"] or found["n2"]) * seconds_in(found["u"] or found["u2"])
    rest = " ".join((text[: found.start()] + " " + text[found.end() :]).split())
    return (Lasting(0.0, seconds) if found["less"] else Lasting(seconds)), rest


def at_a_time(text: str) -> tuple[bool, str]:
    """-> (whether the longest of several times is asked for, not all of them, the question without that)."""
    rest = " ".join(_AT_A_TIME.sub(" ", _ALTOGETHER.sub("", text)).split())
    return _AT_A_TIME.search(text) is not None, rest
