"""A view as a networkx graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import networkx

from vlkng_ros.types import Entity, Relation


class EntitySource(Protocol):
    """What a graph is made from."""

    def entity(self, view: str, entity_id: str, as_of_ns: int | None = None) -> Entity:
        """One entity."""
        ...

    def entities(self, view: str, as_of_ns: int | None = None) -> Iterator[Entity]:
        """Every entity, in order of creation."""
        ...

    def relations(self, view: str, entity_id: str, as_of_ns: int | None = None) -> list[Relation]:
        """Edges from and to one entity."""
        ...


def build_graph(source: EntitySource, view: str, as_of_ns: int | None) -> networkx.MultiDiGraph[str]:
    """Nodes with the attribute ``entity``; edges keyed by predicate with the attribute ``relation``."""
    import networkx  # takes a tenth of a second, and most readers never ask for a graph

    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(view=view)
    for entity in source.entities(view, as_of_ns):
        graph.add_node(entity.entity_id, entity=entity)
    for entity_id in list(graph):
        _add_edges(graph, source.relations(view, entity_id, as_of_ns))
    return graph


def _add_edges(graph: networkx.MultiDiGraph[str], relations: Iterable[Relation]) -> None:
    for relation in relations:
        if relation.subject_id in graph and relation.object_id in graph:
            graph.add_edge(relation.subject_id, relation.object_id, key=relation.predicate, relation=relation)


class ViewGraph:
    """The present graph of a view, kept up with what a refresh reports."""

    def __init__(self, source: EntitySource, view: str) -> None:
        self._source = source
        self._view = view
        self.graph = build_graph(source, view, None)

    def update(self, changed: Iterable[str], gone: Iterable[str]) -> None:
        """Take over changed entities with their edges, and drop those that are gone."""
        for entity_id in gone:
            if entity_id in self.graph:
                self.graph.remove_node(entity_id)
        changed = list(changed)
        for entity_id in changed:
            self.graph.add_node(entity_id, entity=self._source.entity(self._view, entity_id))
        for entity_id in changed:
            edges = [
                *self.graph.out_edges(entity_id, keys=True),
                *self.graph.in_edges(entity_id, keys=True),
            ]
            self.graph.remove_edges_from(edges)
            _add_edges(self.graph, self._source.relations(self._view, entity_id))
