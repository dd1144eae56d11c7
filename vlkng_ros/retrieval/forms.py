"""Forms that questions come in: denied, of several things at once, of a pair, of a thing and what it looks like."""

from __future__ import annotations

import re

from vlkng_ros.memory.words import COLORS, NUMBERS, SIZES
from vlkng_ros.retrieval import grammar
from vlkng_ros.retrieval.phrases import is_clause
from vlkng_ros.types import AnswerKind

MAX_PARTS = 5
PART_WORDS = 3
STATES = frozenset(("open", "opened", "closed", "shut", "locked", "empty", "full", "broken", "wet", "dirty", "clean"))
HARDLY_SHOWN = frozenset(
    """
    on off working running ready alive dead asleep awake hungry thirsty tired friendly happy sad angry safe dangerous
    heavy light warm cold hot loud quiet available free occupied charged new old expensive cheap real fake
    """.split()  # noqa: SIM905
)
"""What captions hardly say of a thing: that none said so is no reason to deny it."""
SAID_OF = STATES | HARDLY_SHOWN
"""With colors and sizes, what may be said of a thing at the end of a question without being a part of its name."""

_AUXILIARY = r"(?:did|do|does|is|are|was|were|has|have|had|can|could|will|would|should)"
_DETERMINER = r"(?:the|that|this|those|these|my|your|our|his|her|its|their)"
_SHORT = {"can't": "can", "cannot": "can", "won't": "will"}
_CONTRACTED = re.compile(rf"^(?:({_AUXILIARY})n't|(can't|cannot|won't))\b(?:\s+not\b)?")
_DENIED = re.compile(
    rf"^({_AUXILIARY}\s+(?:{grammar.SUBJECT}|there|{_DETERMINER}\s+[a-z]+(?:\s+(?!that\b|which\b|who\b)[a-z]+)?))"
    r"\s+(?:not|never)\b"
)
_NOWHERE = re.compile(
    rf"^(?:{_AUXILIARY}(?:n't|\s+not)\b|{_AUXILIARY}\s+(?:{grammar.SUBJECT}|there)\s+(?:not|never|no)\b)"
    r"|\b(?:not|never)(?:\s+(?:seen|found|located|visible|there))?$"
)
_PAIRS = (
    re.compile(r"^(?:it\s+)?from\s+(?P<one>.+?)\s+to\s+(?P<other>.+)$"),
    re.compile(r"^between\s+(?P<one>.+?)\s+and\s+(?P<other>.+)$"),
    re.compile(r"^(?P<one>.+?)\s+(?:away\s+)?(?:from|to)\s+(?P<other>.+)$"),
    re.compile(r"^(?P<one>.+?)\s+and\s+(?P<other>.+)$"),
)
_ASKER = re.compile(
    r"^(?:me|us|i|we|it|here|you|(?:the )?robot|(?:my|your)(?: current)? (?:position|location|place)|"
    r"(?:is |am |are )?(?:it|i|we|you)|where (?:i am|we are|you are))$"
)
_REACH = re.compile(
    r"\s(?:(?P<less>within|(?:less|nearer|closer|no more|not more) than|at most|under)|"
    r"(?P<more>(?:more|farther|further) than|over|at least|beyond))\s+(?P<n>\d+(?:\.\d+)?|[a-z]+)\s*"
    r"(?P<unit>met(?:er|re)s?|m|feet|foot|ft|yards?|centimet(?:er|re)s?|cm|"
    r"kilomet(?:er|re)s?|km)\b(?: away)?(?:\s+(?:of|from|to))?"
)
UNITS = {"f": 0.3048, "y": 0.9144, "mi": 1609.344, "in": 0.0254, "c": 0.01, "k": 1000.0}
"""Metres in a unit, by how its name begins; others are metres."""
_UNIT = re.compile(r",? in (?P<unit>met(?:er|re)s?|feet|foot|ft|yards?|miles?|inch(?:es)?|centimet(?:er|re)s?|cm|"
                   r"kilomet(?:er|re)s?|km)$")  # fmt: skip
_SAID_OF = re.compile(
    rf"^(?:is|are|was|were)\s+{_DETERMINER}\s+(?P<thing>[a-z][a-z \-]*?)\s+(?P<said>[a-z]+)$",
)
_ARTICLES = frozenset(("a", "an", "the", "any", "some"))
_ORDER = re.compile(
    rf"^(?P<rest>.+?)\s+(?P<way>after|before|earlier(?= than)|later(?= than)|and then)(?:\s+than)?\s+"
    rf"(?:{grammar.SUBJECT}\s+(?:had\s+|have\s+)?{grammar.SEEING}\s+|(?:seeing|passing|finding|visiting)\s+)?"
    rf"(?P<other>(?:{_DETERMINER}|an?|any)\s+[a-z].*)$"
)
_CLAUSE = re.compile(
    rf"\b(?:who|that|which|whose|whom|when|where|for you|to you|behind you)\b|(?<=[a-z]) {grammar.SUBJECT} "
    rf"(?:had |have )?{grammar.SEEING}\b"
)
_NO_NAME = re.compile(
    r"\b(?:you|we|me|us|they|i|if|whether|would|will|could|should|shall|did|does|do|why|how|what|than|then|ever|"
    r"because|neither|nor|same|(?:any|some)thing(?! to)|nothing|before|after|during|since|until|or|tell|any|some)\b"
    r"|,|\b(?:is|are) (?:this|that|it)$"
)
_BETWEEN_PARTS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+(?:(?:how many|where (?:is|are))\s+)?")
_STARTS_A_PART = re.compile(rf"^(?:{_DETERMINER}|an?|any|some)\s+[a-z]")
_PLURAL = re.compile(r"(?:s|people|men|women|children|mice)$")


def positive(text: str) -> str:
    """A question whether something is not so as the question whether it is: "haven't you seen", "did you not see"."""
    text = _CONTRACTED.sub(lambda found: found[1] or _SHORT[found[2]], text)
    return _DENIED.sub(r"\1", text)


def asks_where_not(text: str, kind: AnswerKind) -> bool:
    """Whether it is asked where or when something is not, by what follows the question word: nothing remembers that."""
    times = (AnswerKind.POSITION, AnswerKind.TIME, AnswerKind.DURATION)
    return kind in times and _NOWHERE.search(text) is not None


def unit_of(text: str) -> tuple[str, str]:
    """-> (the text without the unit in which a distance is asked, that unit)."""
    found = _UNIT.search(text)
    return (text[: found.start()], found["unit"]) if found else (text, "")


def reach_of(text: str) -> tuple[float, str]:
    """-> (the metres within or beyond which something is asked to be, the text with "near" or "far from" for that)."""
    found = _REACH.search(text)
    number = found["n"] if found else ""
    if found is None or not (number[0].isdigit() or number in NUMBERS):
        return 0.0, text
    metres = (float(number) if number[0].isdigit() else NUMBERS[number]) * in_metres(found["unit"])
    near = " far from " if found["more"] else " near "
    rest = text[found.end() :].strip() or "me"
    return metres, f"{text[: found.start()].strip()}{near}{rest}"


def in_metres(unit: str) -> float:
    """How many metres a unit of length is, by its name."""
    return next((size for name, size in UNITS.items() if unit.startswith(name)), 1.0)


def pair_of(text: str) -> tuple[str, str]:
    """-> the things whose distance is asked; the second is empty where it is the asker's."""
    for pattern in _PAIRS:
        if found := pattern.search(text):
            one, other = found["one"].strip(), found["other"].strip()
            if _ASKER.search(other):
                return one, ""
            return (other, "") if _ASKER.search(one) else (one, other)
    return text, ""


def said_of(text: str) -> tuple[str, str]:
    """-> the thing and what it is asked to look like ("is the cat red"); both empty for any other question."""
    found = _SAID_OF.search(text)
    if found is None or found["said"] not in COLORS | SIZES | SAID_OF:
        return "", ""
    return found["thing"], found["said"]


def order_of(text: str) -> tuple[str, str, str]:
    """-> (the question without it, ``after`` or ``before``, the thing that comes first or last); empty for none.

    "Did you see the cup before the person" asks which of two things was seen first.
    """
    found = _ORDER.search(text)
    if found is None:
        return text, "", ""
    return (
        found["rest"],
        {"earlier": "before", "and then": "before", "later": "after"}.get(found["way"], found["way"]),
        found["other"],
    )


def is_unclear(phrase: str) -> bool:
    """Whether a target still holds words of the question itself ("you", "if", "why"): then it is not understood."""
    thing = _CLAUSE.split(phrase, maxsplit=1)[0]
    return _NO_NAME.search(thing) is not None


def parts_of(phrase: str, kind: AnswerKind, *, at_once: bool = False) -> tuple[str, ...]:
    """The things of "the cat and the dog", "cats and cups"; empty for one thing ("salt and pepper shaker").

    Args:
        phrase: the target.
        kind: what is asked.
        at_once: whether it is asked for them together, so that there must be several.
    """
    if kind not in (AnswerKind.POSITION, AnswerKind.COUNT, AnswerKind.BINARY) and not at_once:
        return ()
    pieces = [piece for piece in _BETWEEN_PARTS.split(phrase) if piece]
    if not 2 <= len(pieces) <= MAX_PARTS:
        return ()
    if at_once:
        apart = True
    elif kind is AnswerKind.COUNT:
        apart = all(_PLURAL.search(piece) for piece in pieces)
    else:
        apart = all(_STARTS_A_PART.search(piece) for piece in pieces[1:])
    names = [grammar.ARTICLE.sub("", piece).strip() for piece in pieces]
    if not apart or any(len(n.split()) > PART_WORDS or is_clause(n) or grammar.RELATION.search(n) for n in names):
        return ()
    return tuple(names)


def choices_of(text: str, kind: AnswerKind) -> tuple[tuple[str, ...], str]:
    """-> (the alternatives of "is it a cat or a dog", the text without them)."""
    if kind not in (AnswerKind.TEXT, AnswerKind.BINARY) or not (found := grammar.CHOICE.search(text)):
        return (), text
    left, right = [word for word in found[1].split() if word != "either"], found[2].split()
    right = right[1:] if right[0] in _ARTICLES and len(right) > 1 else right
    cut = max((i for i, word in enumerate(left) if word in _ARTICLES), default=-1) + 1
    wide = len(left) - cut
    if cut == 0 or wide > len(right):  # "is the door open or closed": as many words as the other one has
        wide = min(len(left), len(right))
    rest = f"{text[: found.start()]} {' '.join(left[: len(left) - wide])}"
    rest = re.sub(r"(?:\b(?:an?|the|any|some)\b|[\s,])+$", "", rest)
    return (" ".join(left[len(left) - wide :]), " ".join(right)), " ".join(rest.split())
