"""What a label says about the kind of thing."""

from __future__ import annotations

import re

from vlkng_ros.types import EntityKind

MAX_LABEL_CHARACTERS = 200
MAX_TEXT_CHARACTERS = 2000
PERSON_WORDS = frozenset(
    {"person", "people", "man", "men", "woman", "women", "boy", "boys", "girl", "girls", "child", "children"}
    | {"kid", "kids", "baby", "human", "humans", "pedestrian", "pedestrians", "student", "students", "worker"}
    | {"workers", "cyclist", "skater", "guy", "lady", "gentleman", "player"}
)
_ARTICLE = re.compile(r"^(?:an?|the|some)\s+", re.IGNORECASE)
_END_OF_HEAD = re.compile(
    r"\b(?:in|on|at|of|with|near|by|from|behind|under|who|that|wearing|holding|riding|standing|sitting|walking|"
    r"running|looking|using|carrying|playing|talking|lying)\b"
)


def clean_text(text: str, limit: int = MAX_TEXT_CHARACTERS) -> str:
    """One line of printable characters, of bounded length: what a model said is kept as text and nothing more."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    return line[:limit]


def clean_label(text: str) -> str:
    """A label as it is remembered: one line of bounded length, without article or closing full stop."""
    return _ARTICLE.sub("", clean_text(text))[:MAX_LABEL_CHARACTERS].strip(" .,:;\"'")


def kind_of(label: str) -> EntityKind:
    """PERSON where the phrase's head noun is one ("woman in a red coat", not "woman's coat" or "human face")."""
    head = _END_OF_HEAD.split(label.casefold(), maxsplit=1)[0].split()
    return EntityKind.PERSON if head and head[-1] in PERSON_WORDS else EntityKind.OBJECT
