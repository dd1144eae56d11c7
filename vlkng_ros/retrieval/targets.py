"""What a question is about: the phrase to look for, less its grammar, and how it stands to a second thing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from vlkng_ros.retrieval import grammar
from vlkng_ros.types import AnswerKind


@dataclass(frozen=True, slots=True)
class Relation:
    """A second thing that the target stands to: ``predicate`` is one of ``near``, ``between``, ``on``, ``in`` ..."""

    predicate: str
    objects: tuple[str, ...]
    said: str = field(default="", compare=False)
    """The predicate in the question's words: "next to" is nearer than "near"."""


_YOU_SAW = re.compile(
    r"(?<=[a-z]) (?:that |which |who )?(?:(?:did|do|have|had|has|can|could) )?"
    rf"{grammar.SUBJECT} (?:have |had |just |ever )*{grammar.SEEING}$"
)
"""Whose the seeing was says nothing of the thing ("the first vehicle you saw")."""
_STANDS = re.compile(r"(?<=[a-z]) (?:parked|hanging|lying|sitting|stored|kept|mounted|installed|hidden)$")
"""How it is there says nothing of the thing whose place is asked."""
_USED = re.compile(
    r"^(?P<rest>(?P<thing>(?:[a-z'-]+ )*?(?P<last>[a-z-]+)) to [a-z]+) (?:at|on|in|from|with|out of|under|into)$"
)
"""What a thing is for ("a table to sit at"); of something it is all that is asked."""
_SOMETHING = frozenset(("something", "anything", "somewhere", "anywhere", "thing", "place", "room", "area", "spot"))


def phrase_of(text: str, kind: AnswerKind, requested: bool) -> str:
    """The target with its relation: the question less its grammar."""
    allowed = kind is AnswerKind.BINARY and re.match(r"(?:can|could|may|should)\b", text) is not None
    if kind is AnswerKind.TEXT:
        text = grammar.WH_AUX.sub("", text)
    elif not requested:
        text = grammar.BE.sub("", text)
    text = _USED.sub(lambda found: found["rest" if found["last"] in _SOMETHING else "thing"], text)
    before = ""
    while text != before:
        before = text
        text = grammar.LEAD.sub("", text)
        text = grammar.BE.sub("", text)
        text = text if kind is AnswerKind.TEXT or allowed else grammar.TRAVEL.sub("", text)
        text = grammar.SOMEWHERE.sub("", text)
        text = re.sub(r"^(?:(?:if|whether)(?:\s+there\s+(?:is|are|was|were))?|use|buy|grab)\s+", "", text)
        text = grammar.TAIL.sub("", text)
        text = re.sub(r"\s+(?:is|are|was|were)(?: the)?$", "", text)
        text = _YOU_SAW.sub("", text)
        text = _STANDS.sub("", text) if kind is AnswerKind.POSITION else text
        text = re.sub(r"\s+in$", "", text) if kind is AnswerKind.POSITION else text
        text = re.sub(r"^(?:to|of|for|at|in|on|into|where|with)\s+", "", text)
        text = grammar.ARTICLE.sub("", text).strip(" ,'-")
    if kind in (AnswerKind.TEXT, AnswerKind.COUNT) and (aside := grammar.ASIDE.search(text)):
        text = grammar.TAIL.sub("", " ".join((text[: aside.start()] + " " + text[aside.end() :]).split())).strip()
        text = re.sub(r"\s+(?:go(?: through)?|going|enter|driving|walking|drive|walk|on|doing)$", "", text)
        text = re.sub(r"\s+(?:go(?: through)?|going|enter|driving|walking|drive|walk|on|doing)$", "", text)
    if kind is AnswerKind.POSITION:
        text = grammar.ITS_PLACE.sub(r"\1", text)
    return "" if text in grammar.VAGUE else text


def related(phrase: str) -> tuple[str, Relation | None]:
    """Splits "the bin near the stairs" in two; "with" and "of" stay, for they describe the thing itself."""
    found = grammar.RELATION.search(f" {phrase}")
    if not found:
        return phrase, None
    if found.start() == 0:
        return grammar.ARTICLE.sub("", found["object"].strip()), None
    target = phrase[: found.start() - 1].strip()
    if not target:
        return phrase, None
    if found["predicate"] == "in" and grammar.WORN.search(found["object"]):
        return phrase, None
    if target in grammar.VAGUE:
        return grammar.ARTICLE.sub("", found["object"].strip()), None
    target = re.sub(r"\s+(?:is|are|was|were)$", "", target)
    return target, relation_of(found)


def relation_of(found: re.Match[str]) -> Relation:
    """The relation that ``grammar.RELATION`` found."""
    said = " ".join(found["predicate"].split())
    objects = re.split(r"\s+and\s+", found["object"]) if said == "between" else [found["object"]]
    names = tuple(grammar.ARTICLE.sub("", part.strip()) for part in objects if part.strip())
    return Relation(grammar.PREDICATES.get(said, said), names, said)
