"""Things as a memory holds them: the frames and the entities that are called so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.channels import terms_of_type
from vlkng_ros.retrieval.hybrid_search import wordings
from vlkng_ros.retrieval.retriever import Found
from vlkng_ros.types import Entity


@dataclass(frozen=True, slots=True)
class Thing:
    """What a memory holds of a phrase: ``located`` are its entities that have a place of their own."""

    phrase: str
    sure: float
    seen: bool
    found: Found
    entity_ids: tuple[str, ...]
    located: tuple[Entity, ...]

    @property
    def frames(self) -> tuple[tuple[int, float], ...]:
        """Frames that show it, best first, with scores."""
        peaks = self.found.peaks
        return tuple(zip(peaks.frames.tolist(), peaks.scores.tolist(), strict=True))


def names_of(phrase: str) -> list[frozenset[str]]:
    """The words of each wording of a phrase."""
    return [name for name in (frozenset(terms(wording.text)) for wording in wordings(phrase)) if name]


def is_called(type_: str, names: list[frozenset[str]]) -> bool:
    """Whether a type of entities is what one of some names says, a sort of it, or what it is a sort of."""
    label = terms_of_type(type_)
    return any(name <= label or label <= name for name in names)


def same_map(a: Entity, b: Entity) -> bool:
    """Whether the places of two entities are of one map."""
    return (a.position.map_id, a.position.frame_id) == (b.position.map_id, b.position.frame_id)


def closest(one: Thing, other: Thing) -> tuple[float, Entity, Entity] | None:
    """The two entities of two things that stand closest, with their distance; None where they have no places."""
    if not one.located or not other.located:
        return None
    mine, others = (np.array([e.position.mean_m for e in thing.located]) for thing in (one, other))
    away = np.linalg.norm(mine[:, None] - others[None], axis=-1)
    for at in np.argsort(away, axis=None, kind="stable").tolist():
        a, b = one.located[at // len(others)], other.located[at % len(others)]
        if a.entity_id != b.entity_id and same_map(a, b):
            return float(away.flat[at]), a, b
    return None
