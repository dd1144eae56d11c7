"""EgoGraph's retrieval (section 3.2): the top k = 40 of nodes, of edges and of text chunks by similarity, t <= t_q.

Nodes are the entities of the view that is merged by text, with Table 1's types, each with its times and what was said
of it then (eq. 5); chunks are sentences of captions. An edge is as similar as the mean of its ends' vectors, without an
encoder as the words of subject, predicate and object. The scene ends at t_q, which is eq. 6. "Last" and "first" take
the latest and earliest of equally good frames, as the paper's temporal rules do.

With a language model the nodes, the edges and what recurring edges tell go into its context, and it must cite times.
Model-free, frames rank by what is anchored at them; asked for what is usual, by what recurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.presets.base import Mentions, Preset, found, keywords, needed_for_yes, similarity
from vlkng_ros.retrieval.presets.habits import Conclusion, conclusions
from vlkng_ros.retrieval.presets.nodes import nodes_of
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Scene
from vlkng_ros.retrieval.stamps import stamp
from vlkng_ros.types import AnswerKind, Entity, Float64Array, FloatArray, Relation, Vec3

TOP_K = 40
"""k of nodes, of edges and of chunks (section 4.2)."""
NEEDED, NEEDED_FOR_YES = 0.4, 0.5
"""Similarity below which nothing retrieved is about the question. The paper retrieves the top k whatever they are, and
its model says when they do not answer. Model-free, of labels that were never seen 18 % are denied at 0.4; a yes to
more than a name needs 0.5, and to a name what is fitted for it."""
NODE = 0.9
"""What a node or edge is worth at its times beside what was said of it at that very time."""
TOLD = 4
"""Times of a node or edge that a model is told, each with what was said then; longer histories are summarised."""
SUMMARISED = 100
"""Times of a node that are looked at: beyond it the paper summarises."""
USUAL = re.compile(r"\b(usually|often|normally|typically|habits?|always|like to|likes to|every day|how many days)\b")


class EgoGraph(Preset):
    """``egograph``."""

    view = "text_merge"
    cites_times = True

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Frames at which the retrieved nodes, edges and chunks are anchored."""
        wanted = keywords(query)
        scores = similarity(self.retriever, scene, query.whole or query.text, wanted)
        kept: FloatArray = np.zeros(scene.cut.slots, dtype=np.float32)
        for captions in (False, True):
            mentions = Mentions(self.retriever, scene, captions=captions)
            slots = np.unique(mentions.slots)
            slots = slots[np.argsort(-scores[slots], kind="stable")][:TOP_K]
            kept[slots] = np.maximum(scores[slots], 0)
        mentions = Mentions(self.retriever, scene, captions=True)
        total = mentions.best_of(kept, len(scene))
        if self.in_view:
            nodes = self._nodes(query, scene)
            self._anchor(total, scene, nodes)
            for score, relation in self._edges(query, nodes, scene):
                for keyframe_id in relation.keyframe_ids:
                    _raise(total, self._place(scene, keyframe_id), NODE * score)
            if USUAL.search(query.text.lower()):
                for usual in self._conclusions(nodes, scene):
                    for keyframe_id in usual.keyframe_ids:
                        _raise(total, self._place(scene, keyframe_id), 1.0)
        support = float(total.max(initial=0.0))
        needed = needed_for_yes(query, NEEDED_FOR_YES) if query.kind is AnswerKind.BINARY else NEEDED
        return found(query, scene, total, kept, support, needed, asker_m)

    def context(self, query: Query, scene: Scene) -> list[str]:
        """What recurs, nodes and edges with their times, best first."""
        if not self.in_view:
            return []
        nodes = self._nodes(query, scene)
        lines = [f"{usual.kind}: {usual.text}" for usual in self._conclusions(nodes, scene)]
        lines += [self._node_line(entity, scene) for entity, _ in nodes]
        lines += [self._edge_line(relation, scene) for _, relation in self._edges(query, nodes, scene)]
        return lines

    def _node_line(self, entity: Entity, scene: Scene) -> str:
        until = int(scene.stamps_ns[-1])
        history = self.retriever.reader.history(self.in_view, entity.entity_id, None, until, TOLD)
        told = "; ".join(f"{self._stamp(entry.first_ns)} {entry.description}" for entry in history.entries)
        attributes = ", ".join(f"{name}={value}" for name, value in entity.attributes.items() if value)
        head = f"{entity.kind.value} {entity.entity_id}: {entity.label}{f' ({attributes})' if attributes else ''}"
        return f"{head}, seen {history.count} times: {told}"

    def _edge_line(self, relation: Relation, scene: Scene) -> str:
        said = self.retriever.reader.descriptions(self.in_view, relation)
        pairs = list(zip(relation.stamps_ns, said, strict=True))[-TOLD:]
        told = "; ".join(f"{self._stamp(stamp_ns)} {text}".strip() for stamp_ns, text in pairs)
        return f"{relation.subject_id} {relation.predicate} {relation.object_id}: {told}"

    def _stamp(self, stamp_ns: int) -> str:
        return stamp(stamp_ns, int(self.retriever.reader.frames().stamps_ns[0]))

    def _nodes(self, query: Query, scene: Scene) -> list[tuple[Entity, float]]:
        nodes = nodes_of(self.retriever, self.in_view)
        scores = nodes.similarities(self.retriever, query.whole or query.text, keywords(query))
        return list(nodes.best(scores, 0.0, int(scene.stamps_ns[-1]), TOP_K))

    def _anchor(self, total: Float64Array, scene: Scene, nodes: list[tuple[Entity, float]]) -> None:
        """Raises the frames at which nodes were seen, T_v, to what the nodes are worth."""
        since, until = int(scene.stamps_ns[0]), int(scene.stamps_ns[-1])
        reader = self.retriever.reader
        for entity, score in nodes:
            for sighting in reader.sightings(self.in_view, entity.entity_id, since, until, SUMMARISED):
                _raise(total, self._place(scene, sighting.keyframe_id), NODE * score)

    def _edges(self, query: Query, nodes: list[tuple[Entity, float]], scene: Scene) -> list[tuple[float, Relation]]:
        """The top edges of the retrieved nodes, with their similarity."""
        ends = {entity.entity_id: entity for entity, _ in nodes}
        wanted = keywords(query)
        encoded = self.retriever.encoded([query.whole or query.text])
        scored = []
        for relation in self._relations(ends, scene):
            pair = [self._end(ends, i, scene) for i in (relation.subject_id, relation.object_id)]
            if pair[0] is None or pair[1] is None:
                continue
            said = terms(f"{pair[0].label} {relation.predicate} {pair[1].label}")
            score = len(set(said).intersection(wanted)) / max(1, len(wanted))
            if encoded is not None:
                index = nodes_of(self.retriever, self.in_view)
                vectors = [v for v in map(index.vector, (pair[0], pair[1])) if v is not None]
                mean = np.sum(vectors, axis=0) if vectors else np.zeros_like(encoded[0])
                score = float(mean @ encoded[0]) / max(float(np.linalg.norm(mean)), 1e-9)
            scored.append((score, relation))
        return sorted((s for s in scored if s[0] > 0), key=lambda item: -item[0])[:TOP_K]

    def _relations(self, ends: dict[str, Entity], scene: Scene) -> Iterator[Relation]:
        """Every edge of some nodes, once."""
        given: set[tuple[str, str, str]] = set()
        for entity_id in list(ends):
            for relation in self.retriever.reader.relations(self.in_view, entity_id, int(scene.stamps_ns[-1])):
                key = (relation.subject_id, relation.predicate, relation.object_id)
                if key not in given:
                    given.add(key)
                    yield relation

    def _end(self, ends: dict[str, Entity], entity_id: str, scene: Scene) -> Entity | None:
        if entity_id not in ends:
            try:
                ends[entity_id] = self.retriever.reader.entity(self.in_view, entity_id, int(scene.stamps_ns[-1]))
            except NotInMemoryError:
                return None
        return ends[entity_id]

    def _conclusions(self, nodes: list[tuple[Entity, float]], scene: Scene) -> list[Conclusion]:
        ends = {entity.entity_id: entity for entity, _ in nodes}
        relations = list(self._relations(ends, scene))
        for relation in relations:
            for entity_id in (relation.subject_id, relation.object_id):
                self._end(ends, entity_id, scene)
        oldest_ns = int(self.retriever.reader.frames().stamps_ns[0])
        return conclusions(relations, ends, int(scene.stamps_ns[-1]), oldest_ns)

    def _place(self, scene: Scene, keyframe_id: int) -> int | None:
        frame = self.retriever.index.frame_of(keyframe_id)
        return frame - scene.cut.first if frame is not None and scene.cut.first <= frame < scene.cut.last else None


def _raise(total: Float64Array, frame: int | None, score: float) -> None:
    if frame is not None:
        total[frame] = max(total[frame], score)
