"""The one rule by which an English plural is taken off; what it cannot know, each of its callers lists."""

from __future__ import annotations


def singular(word: str) -> str:
    """A lower-case word without a regular plural's ending: ``"boxes"`` is ``"box"``, ``"ties"`` is ``"tie"``."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
