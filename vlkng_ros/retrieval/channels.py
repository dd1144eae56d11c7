"""The channels of preset ``hybrid``: which may speak, and what those say that do not go by texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache

import numpy as np

from vlkng_ros.errors import ConfigError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.rows import Edge
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval import grammar
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.targets import Relation as Asked
from vlkng_ros.types import Float64Array, FloatArray, Vec3


class Channel(str, Enum):
    """One way to tell which keyframes bear on a question; each can be used alone.

    ``lexical`` and ``dense`` compare words and meaning, ``visual`` looks of boxes. ``spatial`` knows distances: near
    and far, and that one place is one answer; alone it ranks by distance to the asker. ``temporal`` knows time: first
    and last, and that neighbouring frames show the same; alone it ranks the latest first. ``relations`` knows what
    stands beside what; alone it finds frames that show a stored relation of what is looked for.
    """

    LEXICAL = "lexical"
    DENSE = "dense"
    VISUAL = "visual"
    SPATIAL = "spatial"
    TEMPORAL = "temporal"
    RELATIONS = "relations"


EVERY = frozenset(Channel)
CONTENT = frozenset((Channel.LEXICAL, Channel.DENSE, Channel.VISUAL, Channel.RELATIONS))
"""Those that look at what a frame shows; without them every frame is as good but for where and when it is."""
NEARBY_M = 10.0
"""Distance at which the spatial channel alone halves a frame's score."""
RELATED_FRAMES = 40
"""Best frames whose stored relations are looked at."""
RELATED_GAIN = 1.0
"""What a stored relation that says what was asked adds to a frame's evidence, as a share of it."""


def channels_of(names: str) -> frozenset[Channel]:
    """Channels by their names, separated by commas; empty is every one.

    Raises:
        ConfigError: there is no such channel.
    """
    found = set()
    for name in (part.strip() for part in names.split(",")):
        if name and name not in [channel.value for channel in Channel]:
            raise ConfigError(f"there is no channel '{name}'; there are {', '.join(c.value for c in Channel)}")
        if name:
            found.add(Channel(name))
    return frozenset(found) or EVERY


def without_content(channels: frozenset[Channel], positions_m: FloatArray, asker_m: Vec3 | None) -> Float64Array:
    """Scores of frames by where and when they are alone, shape ``(n,)``, in (0, 1]."""
    count = len(positions_m)
    scores = np.ones(count)
    if Channel.SPATIAL in channels and asker_m is not None:
        apart = positions_m[:, :2].astype(np.float64) - np.asarray(asker_m[:2])
        scores *= 1 / (1 + np.hypot(apart[:, 0], apart[:, 1]) / NEARBY_M)
    if Channel.TEMPORAL in channels:
        scores *= np.arange(1, count + 1) / max(count, 1)
    return scores


INVERSE = {"near": "near", "opposite": "opposite", "left of": "right of", "right of": "left of", "on": "under",
           "above": "under", "under": "above", "behind": "in front of", "in front of": "behind"}  # fmt: skip
"""How an edge reads from its object's side; what is inside another has no word for it there."""


class StoredRelations:
    """Edges of a view that say what a question asks.

    Args:
        reader: the memory.
        view: identity view whose edges are read.
    """

    def __init__(self, reader: MemoryReader, view: str) -> None:
        self._reader = reader
        self._view = view
        self._known: dict[int, list[Edge]] = {}

    def shown(self, query: Query, wanted: Sequence[str], keyframe_ids: Sequence[int]) -> dict[int, int]:
        """How many of a relation's ends each keyframe shows in stored relations of the target.

        Args:
            query: its relation is what an edge must say; without one any edge of the target counts.
            wanted: wordings of the target.
            keyframe_ids: where to look.
        """
        names = [frozenset(terms(wording)) for wording in wanted if terms(wording)]
        self._look(keyframe_ids)
        ends = {keyframe_id: self._ends(query, names, keyframe_id) for keyframe_id in keyframe_ids}
        return {keyframe_id: len(said) for keyframe_id, said in ends.items() if said}

    def _ends(self, query: Query, names: list[frozenset[str]], keyframe_id: int) -> set[str]:
        ends: set[str] = set()
        for edge in self._known[keyframe_id]:
            for entity_id in (edge.subject_id, edge.object_id):
                label = type_terms(entity_id)
                if any(name <= label or label <= name for name in names):
                    ends |= _said(query, edge, entity_id)
        return ends

    def beside(self, asked: Asked, keyframe_ids: Sequence[int], *, exact: bool) -> Iterator[tuple[int, list[str]]]:
        """Keyframes with the labels of what each shows in the asked relation to its objects, by stored edges.

        Args:
            asked: the relation and its objects.
            keyframe_ids: where to look.
            exact: only edges that say "next to" where that is asked; what is on a thing is beside it, too.
        """
        self._look(keyframe_ids)
        for keyframe_id in keyframe_ids:
            shown: dict[str, set[str]] = {}
            for edge in self._known[keyframe_id]:
                for entity_id in (edge.subject_id, edge.object_id):
                    shown.setdefault(entity_id, set()).update(_objects(asked, edge, entity_id, exact=exact))
            # Of a thing between two an edge to one of them says enough where none has edges to both.
            most = max((len(objects) for objects in shown.values()), default=0)
            named = [entity_id for entity_id, objects in shown.items() if objects and len(objects) == most]
            yield keyframe_id, list(dict.fromkeys(name.rpartition("_")[0].replace("_", " ") for name in named))

    def _look(self, keyframe_ids: Sequence[int]) -> None:
        missing = [keyframe_id for keyframe_id in keyframe_ids if keyframe_id not in self._known]
        if missing:
            self._known |= self._reader.edges_in(self._view, missing)


def _said(query: Query, edge: Edge, entity_id: str) -> set[str]:
    """Which things that the target is related to in the question an edge relates it to."""
    if query.relation is None:
        return {edge.object_id if edge.subject_id == entity_id else edge.subject_id}
    return _objects(query.relation, edge, entity_id)


def _objects(asked: Asked, edge: Edge, entity_id: str, *, exact: bool = False) -> set[str]:
    """Objects of the asked relation to which an edge relates an entity in that way."""
    outward = edge.subject_id == entity_id
    other = type_terms(edge.object_id if outward else edge.subject_id)
    said = grammar.PREDICATES.get(edge.predicate, edge.predicate)
    said = said if outward else INVERSE.get(said, "")
    # Between two is near both, and whatever stands in any relation is near.
    wanted = "near" if asked.predicate == "between" else asked.predicate
    if said != wanted and (exact or wanted != "near"):
        return set()
    return {name for name in asked.objects if frozenset(terms(name)) & other}


def type_terms(entity_id: str) -> frozenset[str]:
    """Terms of an entity's type; ids are ``<type>_<num>``."""
    return terms_of_type(entity_id.rpartition("_")[0])


@lru_cache(maxsize=4096)
def terms_of_type(name: str) -> frozenset[str]:
    """Terms of a type's name."""
    return frozenset(terms(name.replace("_", " ")))
