"""What a target phrase is about: the thing, its head, and what else is said of it."""

from __future__ import annotations

import re

from vlkng_ros.memory.words import terms

_HEAD_END = re.compile(
    r"\b(?:with|of|that|which|who|whose|where|in|on|at|near|for|by|from|to|under|behind|between|holding|wearing|riding|trying|"
    r"carrying|go|goes|going|walk|walks|run|runs|ride|rides|sit|sits|stand|stands|open|opens|opening|talking|chatting|standing|sitting|walking|hanging|parked|next|while|and)\b"
)


def head_of(phrase: str) -> str:
    """The term that names the thing: the last one before "with", "of", "that" ...; empty for a phrase without one."""
    cut = _HEAD_END.search(phrase)
    before = phrase[: cut.start()] if cut else phrase
    found = terms(before) or terms(phrase)
    return found[-1] if found else ""


def is_clause(phrase: str) -> bool:
    """Whether a phrase says more of the thing than adjectives do ("with ...", "trying to ...")."""
    return _HEAD_END.search(phrase) is not None


def thing_of(phrase: str) -> str:
    """A phrase up to what is said about the thing ("with ...", "of ..."); the phrase itself where that is all."""
    found = _HEAD_END.search(phrase)
    thing = phrase[: found.start()].strip() if found else phrase
    return thing if terms(thing) else phrase
