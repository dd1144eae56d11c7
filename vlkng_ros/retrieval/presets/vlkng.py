"""VL-KnG's retrieval (section 6.3) and its ablations (section 9.1), with model-free fall-backs.

Query-graph alignment by stop words; each object scored by the overlap of query terms with its text (label, region
text; attributes where the backend words them); scores summed by frame; spatial questions boost frames that show
relations; the top m frames come back with everything they hold. Where the paper lets a language model re-rank the
frames, ``answering.llm`` does; without one the ranking stands as it is.
"""

from __future__ import annotations

import numpy as np

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.retrieval.presets.base import Mentions, cosines, found, keywords, overlap
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.types import Float64Array, Vec3

CHUNK = 8
"""Keyframes of a chunk: b = 8 in all of the paper's experiments."""
SPATIAL_BOOST = 1.5
"""The paper boosts frames with relations for spatial queries and gives no number."""
BOOSTED_FRAMES = 60
"""Frames, best first, whose relations are looked up for the boost."""
VISUAL_COSINE = 0.5
"""GER's stand-in: cosine of a label above which an object counts as visually alike."""
NEEDED = 0.5


class GraphRetrieval:
    """``vlkng-gr``: graph-based retrieval."""

    view = "stoa"

    def __init__(self, retriever: Retriever, view: str) -> None:
        self.retriever = retriever
        self.in_view = view

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Frames by the summed overlap of their objects with the question."""
        wanted = keywords(query)
        scores = overlap(self.retriever, scene, wanted)
        mentions = Mentions(self.retriever, scene, captions=False)
        total = np.bincount(mentions.frames, weights=scores[mentions.slots], minlength=len(scene)).astype(np.float64)
        total = self._alike(query, scene, mentions, total)
        total = self._boosted(query, scene, total)
        _, best = mentions.best_of(scores, len(scene))
        support = float(scores[mentions.slots].max(initial=0.0)) / max(1, len(wanted))
        return found(query, scene, total, best, scores, support, NEEDED, asker_m)

    def _alike(self, query: Query, scene: Scene, mentions: Mentions, total: Float64Array) -> Float64Array:
        return total

    def _boosted(self, query: Query, scene: Scene, total: Float64Array) -> Float64Array:
        """Frames that show spatial relations, where the question is spatial."""
        if query.relation is None or not self.in_view:
            return total
        reader = self.retriever.reader
        boosted = np.array(total, dtype=np.float64)
        for frame in np.argsort(-total, kind="stable")[:BOOSTED_FRAMES].tolist():
            keyframe_id = int(scene.keyframe_ids[frame])
            for entity_id in set(reader.entities_in(self.in_view, keyframe_id).values()):
                try:
                    relations = reader.relations(self.in_view, entity_id, int(scene.stamps_ns[-1]))
                except NotInMemoryError:
                    continue
                if any(keyframe_id in relation.keyframe_ids for relation in relations):
                    boosted[frame] *= SPATIAL_BOOST
                    break
        return boosted


class GraphEnhancedRetrieval(GraphRetrieval):
    """``vlkng-ger``: GR joined with similarity over the objects' crops.

    Fall-back: where the memory holds no crop embeddings of a text-image model, the labels' text embeddings stand in.
    """

    def _alike(self, query: Query, scene: Scene, mentions: Mentions, total: Float64Array) -> Float64Array:
        alike = cosines(self.retriever, scene, [query.target or query.text])
        if alike is None:
            return total
        value, _ = mentions.best_of(np.maximum(alike[0] - VISUAL_COSINE, 0), len(scene))
        return total / max(float(total.max(initial=0.0)), 1e-9) + value / (1 - VISUAL_COSINE)


class FullGraph(GraphRetrieval):
    """``vlkng-full`` (F): the whole graph is the context; frames are ranked as by GR where no model does it."""


class ChunkwiseRetrieval(GraphRetrieval):
    """``vlkng-cwgr``: chunk graphs alone, without identity across them: frames rank by their chunk, then themselves."""

    view = ""

    def _boosted(self, query: Query, scene: Scene, total: Float64Array) -> Float64Array:
        chunks = np.arange(len(scene)) // CHUNK
        by_chunk = np.bincount(chunks, weights=total)
        best = float(total.max(initial=0.0)) or 1.0
        together = np.where(total > 0, by_chunk[chunks] + total / (2 * best), 0.0)
        return np.asarray(together, dtype=np.float64)
