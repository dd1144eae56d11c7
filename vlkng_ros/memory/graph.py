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

    def places(self, as_of_ns: int | None = None) -> list[Entity]:
        """Locations along the path."""
        ...

    def place_relations(self, entities: Iterable[Entity], as_of_ns: int | None = None) -> list[Relation]:
        """Edges between places, and from entities to theirs."""
        ...


def build_graph(source: EntitySource, view: str, as_of_ns: int | None) -> networkx.MultiDiGraph[str]:
    """Nodes with the attribute ``entity``; edges keyed by predicate with the attribute ``relation``."""
    graph = _build_entities(source, view, as_of_ns)
    _add_places(source, graph, as_of_ns)
    return graph


def _build_entities(source: EntitySource, view: str, as_of_ns: int | None) -> networkx.MultiDiGraph[str]:
    import networkx  # takes a tenth of a second, and most readers never ask for a graph

    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(view=view)
    for entity in source.entities(view, as_of_ns):
        graph.add_node(entity.entity_id, entity=entity)
    for entity_id in list(graph):
        _add_edges(graph, source.relations(view, entity_id, as_of_ns))
    return graph


def _add_places(source: EntitySource, graph: networkx.MultiDiGraph[str], as_of_ns: int | None) -> list[str]:
    """Add the places of the path and what is in them; returns their names."""
    entities = [entity for _, entity in graph.nodes(data="entity")]
    places = source.places(as_of_ns)
    for place in places:
        graph.add_node(place.entity_id, entity=place)
    _add_edges(graph, source.place_relations(entities, as_of_ns))
    return [place.entity_id for place in places]


def _add_edges(graph: networkx.MultiDiGraph[str], relations: Iterable[Relation]) -> None:
    for relation in relations:
        if relation.subject_id in graph and relation.object_id in graph:
            graph.add_edge(relation.subject_id, relation.object_id, key=relation.predicate, relation=relation)


class ViewGraph:
    """The present graph of a view: entities are kept up with what a refresh reports, places when they are asked for."""

    def __init__(self, source: EntitySource, view: str) -> None:
        self._source = source
        self._view = view
        self._graph = _build_entities(source, view, None)
        self._places: list[str] | None = None

    def whole(self) -> networkx.MultiDiGraph[str]:
        """The graph; where something changed since, its places and their edges are made anew."""
        if self._places is None:
            self._places = _add_places(self._source, self._graph, None)
        return self._graph

    def update(self, changed: Iterable[str], gone: Iterable[str]) -> None:
        """Take over changed entities with their edges, and drop those that are gone; places are dropped."""
        graph = self._graph
        graph.remove_nodes_from(self._places or ())
        self._places = None
        for entity_id in gone:
            if entity_id in graph:
                graph.remove_node(entity_id)
        changed = list(changed)
        for entity_id in changed:
            graph.add_node(entity_id, entity=self._source.entity(self._view, entity_id))
        for entity_id in changed:
            edges = [
                *graph.out_edges(entity_id, keys=True),
                *graph.in_edges(entity_id, keys=True),
            ]
            graph.remove_edges_from(edges)
            _add_edges(graph, self._source.relations(self._view, entity_id))
