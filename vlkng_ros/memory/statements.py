"""A caption's sentence as evidence: what it says is there, what it says is not, and whether that is far away."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vlkng_ros.memory.words import is_content, stem, terms, tokens

_DENIAL = re.compile(
    r"\b(?:no|without(?: any)?|not any|neither|nor|(?:is|are|was|were|does|do|has|have)(?:n't| not)|free of|"
    r"absence of|lack of|lacks|devoid of)"
    r"\b(?: other| visible| any)?\s+([^.;:]*)"
)
_DENIAL_END = re.compile(
    r",(?! (?:or|nor|and no)\b)|\b(?:but|except|other than|while|although|though|only|"
    r"and (?:there|the|it|a|an|is|are)\b)"
)
_FAR = re.compile(
    r"\b(?:in the (?:far )?(?:background|distance)|far away|(?:can be|is|are) seen through|"
    r"through the (?:window|windows|glass|door|doors)|reflection)\b"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a text says.

    ``said`` are terms of what is there, in order, ``denied`` those of what is not; ``far`` where all of it is in the
    background. ``words`` are the stems of all its words.
    """

    said: tuple[str, ...]
    denied: frozenset[str]
    far: bool
    words: tuple[str, ...]


def statement(text: str) -> Statement:
    """What a sentence, label or region text says.

    "There are no cars or people visible" denies cars and persons; "a street with no cars, but a bench" has a bench.
    """
    lowered = text.lower()
    denied: set[str] = set()
    kept = lowered
    for found in _DENIAL.finditer(lowered) if denies(lowered) else ():
        rest = found[1]
        end = _DENIAL_END.search(rest)
        denied_part = rest[: end.start()] if end else rest
        denied.update(terms(denied_part))
        kept = kept.replace(denied_part, " ", 1) if denied_part.strip() else kept
    heard = tokens(lowered)
    words = tuple(map(stem, heard))
    if kept is lowered:
        said = tuple([word for token, word in zip(heard, words, strict=True) if is_content(token)])
    else:
        said = tuple(terms(kept))
    return Statement(said, frozenset(denied.difference(said)), is_far(lowered), words)


def denies(lowered: str) -> bool:
    """Whether a lower-case text says that something is not there."""
    return _may_deny(lowered) and _DENIAL.search(lowered) is not None


def is_far(lowered: str) -> bool:
    """Whether a lower-case text puts all that it says in the background."""
    return _may_be_far(lowered) and _FAR.search(lowered) is not None


# What a sentence must hold for the patterns to be worth trying: most hold none, and an index reads every sentence.


def _may_deny(lowered: str) -> bool:
    return (
        "no" in lowered
        or "without" in lowered
        or "n't" in lowered
        or "neither" in lowered
        or "free of" in lowered
        or "absence" in lowered
        or "lack" in lowered
        or "devoid" in lowered
    )


def _may_be_far(lowered: str) -> bool:
    return (
        "background" in lowered
        or "distance" in lowered
        or "far away" in lowered
        or "seen through" in lowered
        or "through the" in lowered
        or "reflection" in lowered
    )
