"""What a question says besides what it asks: politeness, "at any time", "you happened to", "anyone" for a person.

All of it may stand anywhere and changes nothing about the answer, but left where it is it would become part of the
thing that is looked for, which nobody has ever seen.
"""

from __future__ import annotations

import re

TRIP = frozenset(("trip", "drive", "tour", "journey", "run", "ride", "recording", "video", "mission", "patrol"))
A_TRIP = (
    r"(?:trip|drive|tour|journey|run|walk|ride|way|route|path|travels?|day|visit|mission|patrol|round|recording|video|"
    r"time here)"
)
WHOSE = r"(?:your|the|our|my|this|that)"
_PADDING = (
    re.compile(r",?\s*\b(?:please|kindly)\b,?"),
    re.compile(
        r",?\s*\b(?:at|in|during) (?:any|some|one) (?:given )?(?:time|point|moment|stage|part)s?(?: in time)?"
        rf"(?: (?:of|in|during|on|along) {WHOSE} {A_TRIP})?\b,?"
    ),
    re.compile(rf",?\s*\b(?:during|on|along|throughout) {WHOSE} (?:whole |entire )?{A_TRIP}\b,?"),
    re.compile(r"\b(?:happen(?:ed)?|chanced?|managed?|get|got) to (?=(?:see|notice|find|spot|pass|meet|come)\b)"),
    re.compile(r",?\s*\b(?:by any chance|by chance|perhaps|maybe|possibly|at all|so far|until now|up to now)\b,?"),
    re.compile(r"(?<=[a-z])\s+(?:any ?where|some ?where)$"),
    re.compile(
        r"(?<=[a-z])(?<!second)(?<!minute)(?<!hour)(?<!day)(?<!seconds)(?<!minutes)(?<!hours)(?<!days)(?<! and)"
        r"\s+(?:before|earlier|previously|in the past)$"
    ),
    re.compile(r"\bbe (?:so (?:kind|good|nice)|kind enough)(?: as to| and| to)?\b|\bmind (?=tell|show|say)"),
)
_STILL = re.compile(r"(?<!stand )(?<!standing )(?<!stood )(?<!be )\bstill\b(?! (?:life|image|picture|photo|water)s?\b)")
_STILL_THERE = re.compile(r"\s*\bstill (?:there|here|around|present|in (?:its|the same) place)$")


def without_padding(text: str) -> str:
    """A question, lower-case, without what changes nothing about its answer."""
    for pattern in _PADDING:
        text = pattern.sub(" ", text)
    return text.strip(" ,")


def without_still(text: str) -> tuple[bool, str]:
    """-> (whether it is asked if something is as it was, the question without that)."""
    if not _STILL.search(text):
        return False, text
    return True, " ".join(_STILL.sub(" ", _STILL_THERE.sub("", text)).split())
