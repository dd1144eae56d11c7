"""The robot's own doings in a question: entering and leaving, turning, stopping, starting, being somewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from vlkng_ros.types import AnswerKind


class MotionKind(str, Enum):
    """What the robot did."""

    ENTER = "enter"
    LEAVE = "leave"
    INSIDE = "inside"
    OUTSIDE = "outside"
    TURN = "turn"
    STOP = "stop"
    START = "start"
    MOVE = "move"
    AT_PLACE = "at_place"
    """Being on, in or at a place that only captions know ("the brick sidewalk"); the place is the target."""


class Boundary(str, Enum):
    """Which end of a stay at a place is meant."""

    BEGIN = "begin"
    END = "end"
    DURING = "during"


@dataclass(frozen=True, slots=True)
class Motion:
    """A doing. ``direction`` of a turn is ``left``, ``right``, ``around`` or empty."""

    kind: MotionKind
    direction: str = ""
    boundary: Boundary = Boundary.DURING
    before: MotionKind | None = None
    """The doing that this one came before ("wait for entering the building")."""
    after: MotionKind | None = None
    """The doing that this one came after ("turn after leaving the building")."""
    denied: bool = False
    """Whether it is asked if the robot does not do it ("are you moving": it does not stand)."""
    leaves_target: bool = False
    """The question also names a thing to look for ("stop in front of the building")."""


_INDOORS = (
    r"(?:(?:the|a|an|that|this|any|your|first|second|third|last)\s+)*(?:[a-z]+\s+)?(?:building|"
    r"buildings|house|home|mall|office building|premises|indoors?|inside)"
)
_ENTER_VERB = (
    r"(?:enter(?:ed|ing|s)?|(?:go|went|gone|going|walk(?:ed|ing)?|drive|drove|driving|get|got|getting|come|"
    r"came|coming|move[d]?|"
    r"let you|step(?:ped)?)\s+(?:back\s+)?(?:in(?:to|side)?(?: of)?))"
)
_LEAVE_VERB = (
    r"(?:leav(?:e|es|ing)|left|exit(?:ed|ing|s)?|(?:go|went|gone|going|walk(?:ed|ing)?|drive|drove|driving|"
    r"get|got|getting|come|came|coming|"
    r"move[d]?|let(?:ting)? you|step(?:ped)?)\s+(?:back\s+)?(?:out(?:side)?(?: of)?|off(?: of)?))"
)
_ENTER = re.compile(
    rf"\b{_ENTER_VERB}\s+{_INDOORS}\b|\b(?:go|went|gone|going|get|got|come|came)\s+(?:indoors|"
    rf"inside)\b"
)
_LEAVE = re.compile(
    rf"\b{_LEAVE_VERB}\s+{_INDOORS}\b|\b(?:go|went|gone|going|get|got|come|"
    rf"came)\s+(?:outdoors?|outside)\b"
)
_INSIDE = re.compile(
    rf"\b(?:am|are|is|was|were|be|been|being|stay(?:ed)?|spen[dt](?: time)?|you|i|we)\s+(?:still\s+|"
    rf"currently\s+)?(?:in|inside|within)\s+{_INDOORS}\b"
    rf"|\b(?:am|are|is|was|were|be|been|stay(?:ed)?|you|i|we)\s+(?:still\s+|currently\s+)?(?:indoors?|"
    rf"inside)\b(?!\s+(?:the|a|an|my|your)\b)"
)
_OUTSIDE = re.compile(
    rf"\b(?:am|are|is|was|were|be|been|being|stay(?:ed)?|spen[dt](?: time)?|you|i|we)\s+(?:still\s+|currently\s+)?"
    rf"(?:outdoors?|outside|out)(?:\s+(?:of\s+)?{_INDOORS})?$"
)
_TURN = re.compile(
    r"\b(?:(?:turn(?:ed|ing)?|u-turn)\b(?:\s+(?P<way>left|right|around|round|back))?(?:\s+around)?(?!\s+(?:on|"
    r"off)\b)|turns?\b|u-turns?\b|"
    r"(?:turn|turned|go|went|drive|drove)\s+(?P<way2>left|right))"
)
_STOP = re.compile(
    r"\b(?:stop(?:ped|ping|s)?|halt(?:ed)?|stand(?:ing)? still|stood still|wait(?:ed|ing|s)?|"
    r"paus(?:e|ed|ing)|pull(?:ed)? over)\b(?!\s+sign)"
)
_START = re.compile(r"^(?:(?:did|do|have)\s+)?(?:you|i|we|the robot)?\s*(?:start(?:ed)?|begin|began|begun|"
    r"come from|came from|set off|depart(?:ed)?)\b"
                    r"|\b(?:starting|start|initial|beginning) (?:point|position|place|location)\b|"
                    r"\bwhere you (?:started|began)\b")  # fmt: skip
_AFTER = re.compile(
    rf"\b(?:after|since|once|(?:when|as)(?=\s+(?:you|i|we)\b))\s+(?:(?:you|i|"
    rf"we)\s+)?(?:have\s+|had\s+)?(?:(?P<leave>{_LEAVE_VERB}\s+{_INDOORS})|(?P<enter>{_ENTER_VERB}\s+{_INDOORS}))"
)
_BEFORE = re.compile(
    rf"\b(?P<purpose>to|for)?(?(purpose)|(?:before|until|till|prior to))\s+(?:(?:you|i|"
    rf"we)\s+)?(?:(?P<leave>{_LEAVE_VERB}\s+{_INDOORS})|(?P<enter>{_ENTER_VERB}\s+{_INDOORS}))"
)
_ON_PLACE = re.compile(
    r"^(?:did\s+|do\s+|have\s+|were\s+|was\s+|are\s+|am\s+|is\s+)?(?:you|i|we|the robot)\s+(?:(?:last|first|"
    r"ever|just)\s+)?(?P<verb>"
    r"(?:get|got|go|went|drive|drove|move[d]?|step(?:ped)?|turn(?:ed)?)\s+(?:off|out)(?:\s+of)?|leave|left|"
    r"exit(?:ed)?|"
    r"cross(?:ed|ing)?|(?:pass|passed|drive|drove|go|went|walk|walked)\s+(?:through|across|over|along|down|by|"
    r"on|onto)|"
    r"enter(?:ed)?|(?:get|got|go|went)\s+(?:on|onto|into|in|to)|reach(?:ed)?|arrive[d]?\s+(?:at|in)|"
    r"(?:been\s+)?(?:in|on|at|inside|near)|drive|drove|driving|travel(?:ed)?)\s+(?P<place>(?:the|a|an|that|"
    r"this)\s+.+)$"
)
_MOVING = re.compile(
    r"^(?:are|is|am) (?:you|i|we|the robot) (?:still |currently |now )?(?:moving|driving|going|in motion|under way)"
    r"(?: (?:around|along|right now|now|currently|at the moment))*$"
)
_OTHERS = re.compile(
    r"\b(?:person|people|persons?|man|men|woman|women|guys?|girls?|boys?|child|children|kids?|students?|someone|"
    r"somebody|cars?|dogs?|cats?|they|he|she)\b"
)
"""Who else may enter and leave."""
_OWN_DOINGS = frozenset((AnswerKind.POSITION, AnswerKind.TIME, AnswerKind.DURATION, AnswerKind.COUNT))


def find_motion(text: str, kind: AnswerKind) -> tuple[Motion | None, str]:
    """-> (what the robot did, the text that still names a target).

    A doing is the question's subject only where the robot or the asker does it: "the person who opened the door when
    you left the building" asks for a person, with the leaving as its time.
    """
    after, before, rest = _circumstances(text)
    clause = _main_clause(rest)
    if kind is AnswerKind.BINARY and _MOVING.search(clause):
        return Motion(MotionKind.STOP, after=after, before=before, denied=True), ""
    if found := _START.search(clause):
        return Motion(MotionKind.START, after=after, before=before), ""
    for motion, pattern in ((MotionKind.LEAVE, _LEAVE), (MotionKind.ENTER, _ENTER)):
        if found := pattern.search(clause):
            boundary = Boundary.END if motion is MotionKind.LEAVE else Boundary.BEGIN
            if _robot_does(clause, found) or (kind in _OWN_DOINGS and not _OTHERS.search(clause[: found.start()])):
                return Motion(motion, boundary=boundary, after=after, before=before), ""
    for motion, pattern in ((MotionKind.INSIDE, _INSIDE), (MotionKind.OUTSIDE, _OUTSIDE)):
        if found := pattern.search(clause):
            return Motion(motion, after=after, before=before), ""
    if (found := _TURN.search(clause)) and (
        _robot_does(clause, found) or found.group().startswith(("turns", "u-turn", "turn"))
    ):
        way = found["way"] or found["way2"] or ("around" if found.group().startswith("u-turn") else "")
        if not re.search(rf"\b(?:person|man|woman|someone|car|people)\b.*{re.escape(found.group())}", clause):
            return Motion(
                MotionKind.TURN,
                direction={"round": "around", "back": "around"}.get(way, way),
                after=after,
                before=before,
            ), ""
    if (found := _STOP.search(clause)) and _robot_does(clause, found):
        target = re.sub(r"^\s*(?:at|in front of|near|next to|by|on|in|for|beside)\s+", "", clause[found.end() :])
        target = re.sub(r"\b(?:right now|now|currently|at the moment)\b", "", target).strip()
        return Motion(MotionKind.STOP, after=after, before=before, leaves_target=bool(target)), target or ""
    if (found := _ON_PLACE.search(clause)) and kind in (AnswerKind.TIME, AnswerKind.DURATION, AnswerKind.POSITION):
        verb = found["verb"]
        leaving = re.match(r"(?:get|got|go|went|drive|drove|move|step|turn)\w* (?:off|out)|leave|left|exit", verb)
        entering = re.match(r"enter|(?:get|got|go|went) (?:on|onto|into|in|to)|reach|arrive", verb)
        boundary = Boundary.END if leaving else Boundary.BEGIN if entering else Boundary.DURING
        return Motion(MotionKind.AT_PLACE, boundary=boundary, after=after, before=before), found["place"]
    if kind is AnswerKind.POSITION and re.fullmatch(
        r"(?:(?:am|are|were|was|is)\s+)?(?:i|you|we|"
        r"the robot)(?:\s+(?:am|are|were|was))?(?:\s+(?:on|in|at))?(?:\s+(?:right )?now)?",
        clause,
    ):
        return Motion(MotionKind.MOVE, after=after, before=before), ""
    if after or before:
        return Motion(MotionKind.MOVE, after=after, before=before, leaves_target=True), rest
    return None, rest


def _circumstances(text: str) -> tuple[MotionKind | None, MotionKind | None, str]:
    """Doings named only to say when: -> (after, before, the text without them)."""
    after = before = None
    if (found := _AFTER.search(text)) and found.start() > 0:
        after = MotionKind.LEAVE if found["leave"] else MotionKind.ENTER
        text = (text[: found.start()] + " " + text[found.end() :]).strip()
    if (found := _BEFORE.search(text)) and found.start() > 0:
        # "holding the door for you to enter" is a purpose, and only of waiting a time too
        if not found["purpose"] or _STOP.search(text[: found.start()]):
            before = MotionKind.LEAVE if found["leave"] else MotionKind.ENTER
        text = (text[: found.start()] + " " + text[found.end() :]).strip()
    return after, before, " ".join(text.split())


def _main_clause(text: str) -> str:
    """The part before a relative clause about something else than a place or the robot itself."""
    found = re.search(r"\b(?:who|that|which)\b(?!\s+(?:you|i|we)\b)", text)
    return text[: found.start()].strip() if found and found.start() > 0 else text


def _robot_does(clause: str, found: re.Match[str]) -> bool:
    """Whether the robot or the asker is the subject of what was found."""
    before = clause[: found.start()]
    return bool(re.search(r"\b(?:you|i|we|the robot|u)\b", before)) or not before.strip()
