"""What a question leaves out ("an animal that is not a cat"): every name of it, and whether the memory heard of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.concepts import other_wordings


@lru_cache(maxsize=1024)
def _names(phrase: str) -> tuple[frozenset[str], ...]:
    said = (phrase, *other_wordings(phrase, loose=False))
    return tuple(name for name in (frozenset(terms(text)) for text in said) if name)


def left_out(excluded: Sequence[str], text: str) -> bool:
    """Whether a text names what is left out, by any of its names: "no feline" leaves out cats."""
    words = frozenset(terms(text)) if excluded else frozenset()
    return any(name <= words for phrase in excluded for name in _names(phrase))


def unheard(excluded: Sequence[str], index: TextIndex, cut: Cut) -> list[str]:
    """Those of the phrases that are left out which the memory never heard, by none of their names."""
    return [
        phrase
        for phrase in excluded
        if not any(all(index.knows(term, cut) for term in name) for name in _names(phrase))
    ]
