"""What "it" and "there" stand for, where the sentence before names it: "I lost my cup. Did you see it?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vlkng_ros.retrieval import grammar

_IT = re.compile(
    rf"\b(?P<before>{grammar.SEEING}|near|beside|next to|far from|to|with|"
    r"(?:how far|what colou?r|where|when) (?:is|are|was|were)|"
    r"^(?:is|are|was|were)(?= \w+ (?:still|there|gone|near|next to|on|in|under|far)\b)) "
    r"(?:it|them|they|him|her|he|she|that one)\b"
)
_NAMED = re.compile(
    r"\b(?:my|your|our|his|her|their|the|an?|some|any|that|this) (?P<thing>[a-z][a-z -]*?)"
    r"(?=$|[?!.,;]| (?:is|are|was|were|somewhere|anywhere|here|there|yesterday|today|around|in|on|at|near|and)\b)"
)


def resolved(text: str, before: Sequence[str]) -> str:
    """A sentence that asks, with what the last sentence before it is about in the place of "it" or "there"."""
    named = next((found["thing"] for part in reversed(before) if (found := _NAMED.search(part))), "")
    if not named:
        return text
    if grammar.THERE.search(text):
        return f"take me to the {named}"
    if grammar.GO_WHERE.search(text):
        return f"where is the {named}"
    return _IT.sub(lambda found: f"{found['before']} the {named}", text, count=1)
