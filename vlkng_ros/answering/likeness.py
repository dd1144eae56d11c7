"""What comes nearest to a thing that was not seen: others of its name, which are not said to be it."""

from __future__ import annotations

from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.phrases import head_of
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever

LOOKED_THROUGH = 64
"""Texts that fit best, among which it is looked for one that names such a thing."""


def nearest_to_it(query: Query, retriever: Retriever, found: Found) -> str:
    """A sentence with the text that fits best and names a thing of the same name; empty where none does."""
    head = head_of(query.target)
    if not head or len(terms(query.target)) < 2 or query.excluded:
        return ""
    index = retriever.index
    slots = found.fit.slots[:LOOKED_THROUGH].tolist()
    text = next((index.texts[slot] for slot in slots if head in index.terms_of[slot]), "")
    return f"What comes nearest: {text.rstrip('.')}." if text else ""
