"""Where a plain "no" would say more than the memory knows: questions half understood, and what may have changed."""

from __future__ import annotations

import re

import numpy as np

from vlkng_ros.answering.draft import Draft
from vlkng_ros.memory.words import COLOR_STEMS, SIZE_STEMS, stem, terms
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.types import AnswerKind

PLACES = frozenset(map(stem, ("room", "place", "floor", "area", "building", "corridor", "hallway", "street")))
"""Where a robot always is one of: that none was named does not make their number 0."""


_BEEN = re.compile(
    r"^(?:have|had|were|are|did|do) (?:you|i|we|the robot) (?:ever |also |already )?"
    r"(?:been(?: (?:in|to|at|inside))?|visit(?:ed)?|in|at|inside|near|enter(?:ed)?"
    r"|(?:go|gone|come|get|drive|walk)(?: back)? (?:in|to|into|inside))\b"
)
"""Whether the robot was somewhere."""
_EACH = re.compile(
    r"\b(?:in|on|at|near|with|of|inside) (?P<all>(?:every|each|all(?: of)?) (?:the )?[a-z]+)$"
    r"|^(?:does|do|has|have|is) (?P<all2>(?:every|each) [a-z]+)\b"
)
"""Of all of a kind nothing is known: there may be others."""
_NTH = re.compile(r"^(?:second|third|fourth|fifth)\b")
_PRONOUN = re.compile(r"^(?:it|that|this|these|those|they|them|him|her|he|she|one|ones)$")
_IT = re.compile(r"^(?:is|was) it\b|^(?:are|were) we\b|^(?:am|was) i\b")
"""The weather, the light, and what else no thing is asked for."""


_ORDER = re.compile(r"\b(?:after|before) (?:the|a|an)\b")
"""An order of sightings in the middle of what is looked for: one of the two would be found, and not this one."""


def doubted(query: Query, draft: Draft, retriever: Retriever, scene: Scene) -> Draft:
    """The draft, or that it is not known.

    What was not understood was not looked for either, a place that nobody named may be one that the robot was in, and
    what labels do not say of the things that they name (a color, a doing) may be so or not.
    """
    reason = _doubt(query, draft, retriever, scene)
    return Draft(query.kind, None, 0.0, draft.frames, reason=reason) if reason else draft


def _doubt(query: Query, draft: Draft, retriever: Retriever, scene: Scene) -> str:
    """Why a draft is not to be believed; empty where it is."""
    if query.kind is AnswerKind.BINARY and draft.value and (each := _EACH.search(query.text.lower().rstrip(" ?.!"))):
        return f"I do not know of {each['all'] or each['all2']}"
    if _NTH.search(query.target) and draft.value in (None, 0, False) and not draft.reason:
        return f"I do not count things of a kind in their order, and do not know which is the {query.target}"
    if query.kind is AnswerKind.BINARY and draft.value and " the same " in query.text.lower() and not query.together:
        return f"I saw {query.target}, and do not know whether it was the same"
    told = draft.reason or draft.events or (draft.also and draft.value is not None)
    denied = draft.value in (None, 0) and not (told or query.negated)
    if query.unclear and (denied or query.kind is AnswerKind.COUNT):
        return f"I do not understand '{query.whole}'"
    if query.unclear and query.kind in (AnswerKind.POSITION, AnswerKind.TIME) and _ORDER.search(query.target):
        return f"I do not understand '{query.whole}'; ask me when I saw each"
    if denied and _PRONOUN.match(query.target):
        return f"I do not know what '{query.target}' is"
    named = query.target or query.choices or query.parts or query.motion or query.open
    if denied and query.kind is AnswerKind.BINARY and not named:
        return "I do not know what you mean"
    if not denied or query.kind not in (AnswerKind.BINARY, AnswerKind.COUNT) or not query.target:
        return ""
    if query.kind is AnswerKind.COUNT and PLACES.issuperset(terms(query.target)) and not query.parts:
        return f"I do not know how many {query.target}: nothing I saw was called so"
    asked = query.text.lower()
    if query.kind is AnswerKind.BINARY and _IT.search(asked) and query.superlative is None:
        return "I do not know: nothing I saw tells"
    if query.kind is AnswerKind.BINARY and _BEEN.search(asked):
        return f"I do not know: nothing I saw was called {query.target}"
    if query.relation or query.choices or query.parts:
        return ""
    name = _named(query, retriever, scene)
    return f"I saw {name}, and do not know about '{query.target}'" if name else ""


def _named(query: Query, retriever: Retriever, scene: Scene) -> str:
    """What labels name of a target that says more; empty where there are captions, which would have said the rest."""
    index = retriever.index
    _, slots, caption = index.mentions_in(scene.cut)
    if caption.any():
        return ""
    wanted = frozenset(terms(query.target))
    if wanted and wanted <= COLOR_STEMS | SIZE_STEMS:  # "anything red"
        return "things"
    labels = [int(slot) for slot in np.unique(slots)]
    return next((index.texts[slot] for slot in labels if frozenset() < frozenset(index.terms_of[slot]) < wanted), "")
