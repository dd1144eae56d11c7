"""Labels as models word them, brought to the form in which they are compared and made into names."""

from __future__ import annotations

import functools
import re

from vlkng_ros.plurals import singular

_NOT_NAME = re.compile(r"\W+")
_IRREGULAR = {
    "people": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "knives": "knife",
    "shelves": "shelf",
    "leaves": "leaf",
    "mice": "mouse",
    "feet": "foot",
    "buses": "bus",
    "glasses": "glasses",
    "scissors": "scissors",
    "stairs": "stairs",
    "jeans": "jeans",
    "trousers": "trousers",
    "headphones": "headphones",
}


@functools.lru_cache(maxsize=65_536)
def normal_form(label: str) -> str:
    """Case-folded, single spaces, the last word singular: ``"Coffee  Cups"`` is ``"coffee cup"``."""
    words = label.casefold().split()
    if not words:
        return ""
    return " ".join((*words[:-1], _singular(words[-1])))


def _singular(word: str) -> str:
    return _IRREGULAR.get(word) or (singular(word) if len(word) > 3 else word)


def type_slug(label: str) -> str:
    """The ``<type>`` of an entity id: ``"Coffee Cups"`` gives ``coffee_cup``; ``thing`` where no letter is left."""
    return _NOT_NAME.sub("_", normal_form(label)).strip("_") or "thing"
