"""The nodes of a view by what they are called: EgoGraph's entity embeddings, Vgent's global entity set."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import numpy as np

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.retriever import Retriever
from vlkng_ros.types import Entity, FloatArray

BATCH = 256


class Nodes:
    """Every name of every node of a view. Made anew when the memory has changed: for papers, not for robots that drive.

    Args:
        retriever: the memory, and its encoder where there is one.
        view: the view.
    """

    def __init__(self, retriever: Retriever, view: str) -> None:
        self._reader, self._view = retriever.reader, view
        self._by_name: dict[str, list[tuple[int, str]]] = {}
        for entity in retriever.reader.entities(view):
            for name in entity.labels:
                self._by_name.setdefault(name, []).append((entity.first_seen_ns, entity.entity_id))
        self._names = sorted(self._by_name)  # not in order of time: what comes later must not change ties
        self._terms = [frozenset(terms(name)) for name in self._names]
        self._vectors = self._embedded(retriever)

    def _embedded(self, retriever: Retriever) -> FloatArray | None:
        if not self._names or retriever.encoded(self._names[:1]) is None:
            return None
        stored = {
            t.text: t.vector for t in retriever.reader.texts() if t.text in self._by_name and t.vector is not None
        }
        missing = [name for name in self._names if name not in stored]
        for start in range(0, len(missing), BATCH):
            rows = retriever.encoded(missing[start : start + BATCH])
            if rows is not None:
                stored.update(zip(missing[start : start + BATCH], rows, strict=True))
        return np.stack([np.asarray(stored[name], dtype=np.float32) for name in self._names])

    def similarities(self, retriever: Retriever, phrase: str, wanted: list[str]) -> FloatArray:
        """Of each name: its cosine with a phrase; without an encoder the share of the wanted terms that it says."""
        encoded = retriever.encoded([phrase]) if self._vectors is not None else None
        if encoded is not None and self._vectors is not None:
            return np.asarray(self._vectors @ encoded[0], dtype=np.float32)
        count = max(1, len(wanted))
        return np.array([len(said.intersection(wanted)) / count for said in self._terms], dtype=np.float32)

    def best(self, scores: FloatArray, least: float, as_of_ns: int, top: int) -> Iterator[tuple[Entity, float]]:
        """Nodes as they were at a time, with the score of the best name that they had by then; best first.

        Args:
            scores: one a name, as ``similarities`` gives them.
            least: names below it, or equal, are passed over.
            as_of_ns: the time.
            top: number of nodes at most.
        """
        given: set[str] = set()
        for row in np.argsort(-scores, kind="stable").tolist():
            if scores[row] <= least:
                return
            for first_ns, entity_id in self._by_name[self._names[row]]:
                if len(given) == top:
                    return
                if first_ns > as_of_ns or entity_id in given:
                    continue
                try:
                    entity = self._reader.entity(self._view, entity_id, as_of_ns)
                except NotInMemoryError:
                    continue
                if self._names[row] in entity.labels:  # a name that it was given later does not count
                    given.add(entity_id)
                    yield entity, float(scores[row])

    def vector(self, entity: Entity) -> FloatArray | None:
        """The vector of a node's name."""
        if self._vectors is None or entity.label not in self._by_name:
            return None
        row: FloatArray = self._vectors[self._names.index(entity.label)]
        return row


_KNOWN: WeakKeyDictionary[Retriever, dict[str, tuple[int, Nodes]]] = WeakKeyDictionary()


def nodes_of(retriever: Retriever, view: str) -> Nodes:
    """The nodes of a view, kept until the memory changes."""
    known = _KNOWN.setdefault(retriever, {})
    revision = retriever.reader.revision
    if view not in known or known[view][0] != revision:
        known[view] = (revision, Nodes(retriever, view))
    return known[view][1]
