"""What recurring edges tell: EgoGraph's conclusions (section 3.1.1), "Jack and playing the piano, again and again".

The paper lets a language model conclude whenever an edge gets a new time. By rule: an edge that was seen on two days
or more, three times or more, is a habit where it ties a person to an event, a relationship between two persons, and
else a custom. Frames that follow each other show one occasion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vlkng_ros.types import NS_PER_S, Entity, EntityKind, Relation

DAYS, OCCASIONS = 2, 3
APART_NS = 600 * NS_PER_S
"""Times further apart are two occasions."""
DAY_NS = 86_400 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Something that keeps happening: its kind, a sentence, and one time and keyframe of each occasion."""

    kind: str
    text: str
    stamps_ns: tuple[int, ...]
    keyframe_ids: tuple[int, ...]


def conclusions(
    relations: Iterable[Relation], entities: Mapping[str, Entity], as_of_ns: int, oldest_ns: int
) -> list[Conclusion]:
    """What edges tell that recurred by a time, most often first.

    Args:
        relations: edges of a view; each is taken once.
        entities: their ends, by id; edges with another end are passed over.
        as_of_ns: later times are not looked at.
        oldest_ns: when the memory begins; days are counted from that day on.
    """
    first_day = oldest_ns // DAY_NS
    found: dict[tuple[str, str, str], Conclusion] = {}
    for relation in relations:
        subject, target = entities.get(relation.subject_id), entities.get(relation.object_id)
        if subject is None or target is None:
            continue
        seen = [(s, k) for s, k in zip(relation.stamps_ns, relation.keyframe_ids, strict=True) if s <= as_of_ns]
        occasions = [at for i, at in enumerate(seen) if i == 0 or at[0] - seen[i - 1][0] > APART_NS]
        days = sorted({stamp // DAY_NS - first_day + 1 for stamp, _ in occasions})
        if len(days) < DAYS or len(occasions) < OCCASIONS:
            continue
        kinds = (subject.kind, target.kind)
        kind = "custom"
        if kinds == (EntityKind.PERSON, EntityKind.PERSON):
            kind = "relationship"
        elif EntityKind.PERSON in kinds and EntityKind.EVENT in kinds:
            kind = "habit"
        when = ", ".join(f"DAY{day}" for day in days)
        text = f"{subject.label} {relation.predicate} {target.label}, {len(occasions)} times ({when})"
        key = (relation.subject_id, relation.predicate, relation.object_id)
        found[key] = Conclusion(kind, text, tuple(s for s, _ in occasions), tuple(k for _, k in occasions))
    return sorted(found.values(), key=lambda c: (-len(c.stamps_ns), c.text))
