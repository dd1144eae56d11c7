"""What a target phrase is about: the thing, its head, and what else is said of it."""

from __future__ import annotations

import re

from vlkng_ros.memory.words import terms

_HEAD_END = re.compile(
    r"\b(?:with|of|that|which|who|whose|where|in|on|at|near|for|by|from|to|under|behind|between|holding|wearing|riding|trying|"
    r"carrying|go|goes|going|walk|walks|run|runs|ride|rides|sit|sits|stand|stands|open|opens|opening|talking|chatting|standing|sitting|walking|hanging|parked|next|while|and)\b"
)


_ACTOR = re.compile(
    r"\b(?:persons?|people|man|men|woman|women|guys?|girls?|boys?|child|children|kids?|students?|lady|ladies|someone|"
    r"somebody|workers?|officers?|guards?|dogs?|cats?|birds?|cars?|trucks?|bus|buses)\s+"
    r"(?P<doing>(?!building|parking|crossing|painting|clothing)[a-z]{2,}ing)\b"
)
_DOING = re.compile(r"(?!standing|hanging|leaning|lying)[a-z]+ing\b")


def clause_start(phrase: str) -> int | None:
    """Where a phrase begins to say more of the thing than adjectives do ("with ...", "drinking ..."), if it does."""
    starts = [found.start() for found in (_HEAD_END.search(phrase),) if found]
    starts += [found.start("doing") for found in (_ACTOR.search(phrase),) if found]
    return min(starts, default=None)


def is_doing(phrase: str) -> bool:
    """Whether what it says of the thing is something that it does ("a man sitting at a desk"), not where it is."""
    start = clause_start(phrase)
    return start is not None and _DOING.match(phrase, start) is not None


def head_of(phrase: str) -> str:
    """The term that names the thing: the last one before "with", "of", "that" ...; empty for a phrase without one."""
    found = terms(phrase[: clause_start(phrase)]) or terms(phrase)
    return found[-1] if found else ""


def is_clause(phrase: str) -> bool:
    """Whether a phrase says more of the thing than adjectives do ("with ...", "trying to ...")."""
    return clause_start(phrase) is not None


def thing_of(phrase: str) -> str:
    """A phrase up to what is said about the thing ("with ...", "of ..."); the phrase itself where that is all."""
    thing = phrase[: clause_start(phrase)].strip()
    return thing if terms(thing) else phrase
