"""Answers about several things at once: "how many cats and cups", "where is the cat and the dog"."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from vlkng_ros.answering.draft import Draft
from vlkng_ros.retrieval.query import Query
from vlkng_ros.types import AnswerKind


def of_several(query: Query, answered: Callable[[Query], Draft]) -> Draft:
    """One value for all: the sum of counts, the place of the first that was seen, yes where each was seen.

    Args:
        query: its ``parts`` are the things.
        answered: the answer for one of them.
    """
    drafts = [(part, answered(dataclasses.replace(query, target=part, whole=part, parts=()))) for part in query.parts]
    sure = min(draft.confidence for _, draft in drafts)
    frames = tuple(frame for _, draft in drafts if draft.value for frame in draft.frames) or drafts[0][1].frames
    if query.kind is AnswerKind.COUNT:
        total = sum(int(draft.value or 0) for _, draft in drafts)
        each = ", ".join(f"{part}: {draft.value or 0}" for part, draft in drafts)
        return Draft(query.kind, total, sure, frames, also=f"Of these {each}.")
    unseen = [part for part, draft in drafts if draft.value is None or draft.value is False]
    missed = f"I have not seen {' or '.join(unseen)}." if unseen else ""
    if query.kind is AnswerKind.BINARY:
        yes = not unseen
        thing = " or ".join(unseen) if unseen else " and ".join(query.parts)
        sure = max(draft.confidence for part, draft in drafts if part in unseen) if unseen else sure
        return Draft(query.kind, yes, sure, frames, thing=thing)
    found = [(part, draft) for part, draft in drafts if draft.value is not None]
    if not found:
        return dataclasses.replace(drafts[0][1], thing=" or ".join(unseen))
    others = [part for part, _ in found[1:]]
    more = f"I saw {' and '.join(others)} too." if others else ""
    return dataclasses.replace(found[0][1], also=f"{missed} {more}".strip())
