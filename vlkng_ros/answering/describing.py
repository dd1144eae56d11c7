"""Descriptions of things, taken from what was said of them."""

from __future__ import annotations

import re

from vlkng_ros.memory.words import COLORS, stem, tokens
from vlkng_ros.retrieval.phrases import head_of
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene

_SIDE = re.compile(r"\b(left|right)(?:-hand)? side\b|\bon the (left|right)\b")


def describe(query: Query, retriever: Retriever, scene: Scene, found: Found, frames: list[int]) -> str:
    """What the best frames say of the target: the attribute asked for, else the sentence that says most.

    Empty where they say nothing.
    """
    said = [text for frame in frames[:5] for text, _ in retriever.best_sentences(scene, found, frame)]
    for choice in query.choices:
        if any(set(map(stem, tokens(choice))) <= set(map(stem, tokens(text))) for text in said):
            return choice
    if query.attribute == "color":
        return color_of(query.target, said)
    if query.attribute == "side":
        sides = [found_side[1] or found_side[2] for text in said if (found_side := _SIDE.search(text.lower()))]
        return f"on the {sides[0]} side" if sides else ""
    return said[0] if said else ""


def color_of(target: str, said: list[str]) -> str:
    """The color word that stands nearest before the target's head in the first sentence where one does."""
    heads = {head_of(target), *(stem(word) for word in tokens(target) if word not in COLORS)}
    for text in said:
        words = tokens(text)
        for place, word in enumerate(words):
            if stem(word) not in heads:
                continue
            before = [w for w in words[max(0, place - 4) : place] if w in COLORS]
            if before:
                return before[-1]
    return ""
