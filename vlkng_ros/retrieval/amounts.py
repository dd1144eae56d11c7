"""How many of a thing a question asks for: "more than one cat", "exactly two", "fewer than 3", "several"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vlkng_ros.memory.words import NUMBERS

FEW = {"few": 3, "several": 3, "couple": 2}
"""What is said of more than one; the least that it means."""
_NUMBER = r"(?P<n>\d+|[a-z]+)"
_BOUNDS = (
    (re.compile(rf"\b(?:more than|greater than|(?:over|above)(?! an?\b))\s+{_NUMBER}\s+(?=[a-z])"), 1, None),
    (re.compile(rf"\b(?:at least|no (?:less|fewer) than|(?:a )?minimum of)\s+{_NUMBER}\s+(?=[a-z])"), 0, None),
    (re.compile(r"\b(?P<n>\d+|[a-z]+) or more\s+(?=[a-z])"), 0, None),
    (re.compile(rf"\b(?:fewer than|less than)\s+{_NUMBER}\s+(?=[a-z])"), None, -1),
    (re.compile(rf"\b(?:at most|no more than|not more than|up to|(?:a )?maximum of)\s+{_NUMBER}\s+(?=[a-z])"), None, 0),
    (re.compile(rf"\b(?:exactly|precisely|just|only)\s+{_NUMBER}\s+(?=[a-z])"), 0, 0),
)
_MORE = re.compile(r"\b(?:any |some )?(?:(?:more|other|further|additional)(?= [a-z]+s\b)|another(?= [a-z]))\s+")
_OCCASIONS = re.compile(
    r"\s*\b(?:(?P<only>only|just|exactly) )?(?:(?P<than>more than )?(?P<once>once|twice|thrice)"
    r"|(?P<least>at least |more than )?(?P<n>\d+|[a-z]+) times"
    r"|(?P<single>(?:one|a single) time))\b"
)
_ONCE = {"once": 1, "twice": 2, "thrice": 3}
_LEADING = re.compile(rf"^(?:an? )?{_NUMBER}\s+(?:of (?:the |them )?)?(?=[a-z])")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least and most of a thing; 0 and None leave an end open."""

    least: int = 0
    most: int | None = None

    def holds(self, count: int) -> bool:
        """Whether so many are as many as are asked for."""
        return self.least <= count and (self.most is None or count <= self.most)


ANY = Bounds()
"""As many as there are."""


def bounds_of(text: str) -> tuple[Bounds, str]:
    """-> (how many are asked for, the text without that)."""
    for pattern, more, fewer in _BOUNDS:
        found = pattern.search(text)
        number = _value(found["n"]) if found else 0
        if found and number:
            least = 0 if more is None else number + more
            most = None if fewer is None else number + fewer
            return Bounds(least, most), text[: found.start()] + text[found.end() :]
    return ANY, text


def others_of(text: str) -> tuple[Bounds, str]:
    """-> (two at least, where it is asked if there are more or others, the text without that)."""
    found = _MORE.search(text)
    return (Bounds(2), text[: found.start()] + text[found.end() :]) if found else (ANY, text)


def occasions_of(text: str, *, exactly: bool = False) -> tuple[Bounds, str]:
    """-> (on how many occasions something was seen: "twice", "at least 3 times"; the text without that).

    Args:
        text: the question.
        exactly: whether "twice" is no more than that: of what was seen "twice", which is seen once more is none.
    """
    found = _OCCASIONS.search(text)
    number = (_ONCE.get(found["once"]) or (1 if found["single"] else _value(found["n"]))) if found else 0
    if found is None or not number:
        return ANY, text
    more = (found["than"] or found["least"] or "").startswith("more")
    most = number if (found["only"] or exactly) and not (more or found["least"]) else None
    return Bounds(number + more, most), text[: found.start()] + text[found.end() :]


def leading(phrase: str) -> tuple[int, str]:
    """-> (the least number that a phrase begins with, the phrase without it): "two red cars", "several cats"."""
    found = _LEADING.search(phrase)
    number = _value(found["n"]) if found else 0
    return (number, phrase[found.end() :]) if found and number > 1 - found["n"].isdigit() else (0, phrase)


def _value(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS.get(word) or FEW.get(word, 0)
