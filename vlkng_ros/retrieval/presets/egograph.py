"""EgoGraph's retrieval (section 3.2): the top k = 40 of entities, edges and text chunks by similarity, t <= t_q.

Entities are labels and region texts, chunks the sentences of captions, each anchored at its times (eq. 5). The scene
ends at t_q, which is eq. 6. The model-free fall-back ranks the frames that the retrieved texts are anchored at; "last"
and "first" take the latest and the earliest of them, as the paper's temporal rules do.
"""

from __future__ import annotations

import numpy as np

from vlkng_ros.retrieval.presets.base import Mentions, found, keywords, similarity
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.types import FloatArray, Vec3

TOP_K = 40
"""k of nodes, and as many of chunks."""
NEEDED = 0.4
"""Similarity below which nothing retrieved is about the question."""


class EgoGraph:
    """``egograph``."""

    view = "text_merge"

    def __init__(self, retriever: Retriever, view: str) -> None:
        self.retriever = retriever
        self.in_view = view

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Frames at which the retrieved nodes and chunks are anchored."""
        wanted = keywords(query)
        scores = similarity(self.retriever, scene, query.whole or query.text, wanted)
        kept: FloatArray = np.zeros(scene.cut.slots, dtype=np.float32)
        for captions in (False, True):
            mentions = Mentions(self.retriever, scene, captions=captions)
            slots = np.unique(mentions.slots)
            slots = slots[np.argsort(-scores[slots], kind="stable")][:TOP_K]
            kept[slots] = np.maximum(scores[slots], 0)
        mentions = Mentions(self.retriever, scene, captions=True)
        total, best = mentions.best_of(kept, len(scene))
        support = float(total.max(initial=0.0))
        return found(query, scene, total, best, kept, support, NEEDED, asker_m)
