"""Forms that compare: more of one than of another, most of all, most often, both together, other than it was."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from vlkng_ros.retrieval import grammar
from vlkng_ros.types import AnswerKind


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things whose numbers are compared: ``more``, ``fewer`` or ``as many`` of ``one`` than of ``other``."""

    way: str
    one: str
    other: str
    occasions: bool = False
    """Whether it is compared how often each was seen, not how many there are."""


class Most(str, Enum):
    """What there is most of at a place, or what is there most often."""

    MANY = "many"
    OFTEN = "often"
    SELDOM = "seldom"
    LONG = "long"
    """Where the robot itself was for most of the time."""


class Together(str, Enum):
    """How two things are asked to be one with the other."""

    PICTURE = "picture"
    PLACE = "place"


class Change(str, Enum):
    """What is asked to have become of things."""

    ANY = "changed"
    GONE = "gone"
    MOVED = "moved"
    NEW = "new"


_THERE = rf"(?:there|{grammar.SUBJECT}(?: (?:ever|also))?(?: {grammar.SEEING})?)"
_WAY = (
    r"(?P<way>more|fewer|less|(?:just |exactly )?as (?:many|much)|(?:the same|an equal) (?:number|amount) of|"
    r"equally many)"
)
_DID = r"(?:is|are|was|were|did|do|have|had)"
_COMPARED = re.compile(rf"^{_DID} {_THERE} {_WAY} (?P<one>[a-z][a-z -]*?) (?:than|as|and) (?P<other>[a-z -]+)$")
_OFTENER = re.compile(
    rf"^(?:is|are|was|were|did|do|have|had) (?:{grammar.SUBJECT} {grammar.SEEING} )?(?P<one>[a-z][a-z -]*?) "
    rf"(?:seen )?(?P<way>more|less|as) often (?:than|as) (?P<other>[a-z -]+)$"
)
_WHICH_MORE = re.compile(
    rf"^(?:(?:what|which)(?: (?:things?|one))?(?: (?:is|are|was|were|did|do|have))?(?: {_THERE})? |"
    rf"(?:is|are|was|were|did|do|have) {_THERE} )(?P<way>more|most|fewer|less|fewest)(?: (?P<often>often)| of)?"
    r"(?: there)?,?:? (?P<one>[a-z][a-z -]*?) or (?:more |fewer )?(?P<other>[a-z -]+)$"
)
_WAYS = {"most": "more", "less": "fewer", "fewest": "fewer"}
_THAN_WHAT = re.compile(rf"^(?:there (?:are|were) |{grammar.SUBJECT} {grammar.SEEING} )")

_ROOM = r"(?:room|place|area|part|floor|spot|corridor|hall|hallway|location)"
_MOST = r"(?:the )?(?:most|(?:largest|highest|greatest|biggest) number of)"
_MANY = (
    re.compile(
        rf"^(?:where|(?:in|at|on) (?:which|what) {_ROOM}) (?:is|are|was|were|did|do|have)(?: there| {grammar.SUBJECT}"
        rf"(?: {grammar.SEEING})?)? {_MOST} (?P<thing>(?!of\b|often\b|time\b|recent)[a-z][a-z -]*)$"
    ),
    re.compile(
        rf"^(?:which|what) {_ROOM}(?: (?:of|in) the [a-z]+)? (?:has|had|have|contains?|contained|holds?|held|"
        rf"(?:is|was) the one with|(?:is|was) with) {_MOST} (?P<thing>(?!of\b|often\b)[a-z][a-z -]*)$"
    ),
)
_LONGEST = re.compile(
    rf"^(?:where|(?:in|at) (?:which|what) {_ROOM}) (?:is|are|was|were|did|do|have|has) {grammar.SUBJECT}"
    r"(?: (?:spend|spent|stay|stayed|be|been|stand|stood|wait|waited))? "
    r"(?:(?:the )?most(?: of (?:the|your))? time|(?:the )?longest|most(?: often)?|for (?:the )?longest(?: time)?)$"
)
_OFTEN = re.compile(r"\b(?:the )?(?:most (?:often|frequently|commonly|of the time|number of times|times)|most$)")
_SELDOM = re.compile(
    r"\b(?:the )?(?:least (?:often|frequently|commonly)|most (?:rarely|seldom)|fewest times|least number of times)|"
    r"(?<= )(?:the )?least$"
)
_RARE = re.compile(r"^what (?:is|are|was|were) the (?:rarest|least (?:common|frequent)) (?:thing|object|item)s?\b")
_COMMON = re.compile(r"^what (?:is|are|was|were) the most (?:common|frequent) (?:thing|object|item)s?\b")
_TOGETHER = re.compile(
    r",? (?:(?:ever|both) )?(?:seen |visible |shown )?(?:together|side by side|with each other|at once|"
    r"at the same time|simultaneously)$"
    r"|,? (?:together )?in (?:one|the same) (?P<where>picture|image|frame|photo|view|place|room|spot|building)$"
)
_A_PLACE = ("place", "room", "spot", "building")
_BECAME = r"(?:been |already |completely )*"
_THING = r"(?:the|that|this|my|your|our|his|her|its|a|an) [a-z][a-z -]*?"
_LOST = (
    r"(?:gone|missing|(?<!far )away|disappeared?|vanish(?:ed)?|removed|taken away|no longer there|"
    r"not there any ?more|stolen)"
)
_SHIFTED = r"(?:moved?(?: away| around)?|relocated|displaced|changed? (?:its )?(?:place|position))"
_SAW = rf"(?:(?:{grammar.SUBJECT} )?{grammar.SEEING} |(?:seeing|passing|finding|reaching|meeting) )?"
_INTERVALS = (
    re.compile(
        rf"^how (?:long|much time) (?:did it take|was it|is it|passed|elapsed)(?: (?:you|us|me))?(?: to (?:get|go|"
        rf"drive|come))? from {_SAW}(?P<one>.+?) to {_SAW}(?P<other>.+)$"
    ),
    re.compile(
        r"^how (?:long|much time|many (?:seconds|minutes|hours)) (?:are|were|lie|passed|elapsed|went by|was there|"
        rf"was it|is there|lies|lay)?\s*between {_SAW}(?P<one>.+?) and {_SAW}(?P<other>.+)$"
    ),
    re.compile(
        rf"^how (?:long|much (?:time|later)|many (?:seconds|minutes|hours|days)) after "
        rf"{_SAW}(?P<one>.+?) did {grammar.SUBJECT} {grammar.SEEING} "
        r"(?P<other>.+)$"
    ),
    re.compile(
        rf"^how (?:long|much (?:time|later)) (?:did|was) {_SAW}(?P<other>.+?) (?:seen )?after {_SAW}(?P<one>.+)$"
    ),
)
_CHANGED = (
    (Change.GONE, re.compile(rf"^(?:is|are|was|were|has|have|did) (?P<thing>{_THING}) {_BECAME}{_LOST}$")),
    (Change.MOVED, re.compile(rf"^(?:is|are|was|were|has|have|did) (?P<thing>{_THING}) {_BECAME}{_SHIFTED}$")),
)
_ANYTHING = (
    r"^(?:(?:is|was|are|were|has|have|did) (?:there )?(?:anything|something|any things?)"
    r"|(?:what|which things?)(?:'s)?(?: (?:has|have|is|are|was|were|did))?)(?: there)? "
)
_ANY_CHANGE = (
    (Change.GONE, re.compile(rf"{_ANYTHING}{_BECAME}{_LOST}$")),
    (Change.MOVED, re.compile(rf"{_ANYTHING}{_BECAME}{_SHIFTED}$")),
    (Change.NEW, re.compile(rf"{_ANYTHING}{_BECAME}(?:new|added)$")),
    (Change.ANY, re.compile(rf"{_ANYTHING}{_BECAME}(?:changed?|different|other than (?:before|it was))$")),
)


def comparison_of(text: str) -> Comparison | None:
    """The numbers that a question compares ("are there more cats than cups", "what was there more of, ... or ...")."""
    for pattern in (_WHICH_MORE, _OFTENER, _COMPARED):
        if found := pattern.search(text):
            said = found["way"].rpartition("exactly ")[2]
            way = _WAYS.get(said, said if said in ("more", "fewer") else "as many")
            one, other = (grammar.ARTICLE.sub("", found[name]).strip() for name in ("one", "other"))
            often = pattern is _OFTENER or (pattern is _WHICH_MORE and bool(found["often"]))
            return Comparison(way, one, _THAN_WHAT.sub("", other), often)
    return None


def most_of(text: str) -> tuple[Most | None, str]:
    """-> (most of what is asked for, the question without that)."""
    if _LONGEST.search(text):
        return Most.LONG, ""
    for pattern in _MANY:
        if found := pattern.search(text):
            return Most.MANY, f"where is the {found['thing']}"
    for most, said in ((Most.OFTEN, _COMMON), (Most.SELDOM, _RARE)):
        if said.search(text):
            return most, "what did you see"
    most, found = Most.OFTEN, _OFTEN.search(text)
    if found is None:
        most, found = Most.SELDOM, _SELDOM.search(text)
    if found is None:
        return None, text
    return most, " ".join((text[: found.start()] + " " + text[found.end() :]).split())


def together_of(text: str, kind: AnswerKind) -> tuple[Together | None, str]:
    """-> (how the things that a question names are asked to be together, the question without that)."""
    found = _TOGETHER.search(text) if kind is not AnswerKind.TEXT else None
    if found is None or not re.search(r"\band\b", text[: found.start()]):
        return None, text
    return Together.PLACE if found["where"] in _A_PLACE else Together.PICTURE, text[: found.start()].strip()


def interval_of(text: str) -> tuple[str, ...]:
    """The two things between whose sightings it is asked how much time lay; empty for none."""
    for pattern in _INTERVALS:
        if found := pattern.search(text):
            return tuple(grammar.ARTICLE.sub("", found[name]).strip() for name in ("one", "other"))
    return ()


def change_of(text: str) -> tuple[Change | None, str]:
    """-> (what is asked to have become of something, the thing; empty for anything)."""
    for change, pattern in _ANY_CHANGE:
        if pattern.search(text):
            return change, ""
    for change, pattern in _CHANGED:
        if found := pattern.search(text):
            return change, found["thing"]
    return None, ""
