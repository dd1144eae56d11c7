"""Vgent's retrieval: clips of K = 64 frames, keywords against entities above theta = 0.5, N = 20 clips, r = 5 verified.

The model-free fall-back verifies by the captions: a sub-query is a keyword, and a clip passes where a text of it says
the keyword or is similar above theta. (With a video model the frames themselves are looked at:
``answering.structured``.) Within the clips kept, frames rank by how many keywords they show.
"""

from __future__ import annotations

import numpy as np

from vlkng_ros.retrieval.presets.base import Mentions, cosines, found, keywords
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.types import FloatArray, Vec3

CLIP = 64
"""K: frames of a clip."""
THETA = 0.5
"""theta: similarity of a keyword and an entity that makes its clips candidates."""
CANDIDATES = 20
"""N: clips kept by re-ranking."""
KEPT = 5
"""r: clips kept by verification."""
NEEDED = 0.5


class Vgent:
    """``vgent``."""

    view = "text_merge"

    def __init__(self, retriever: Retriever, view: str) -> None:
        self.retriever = retriever
        self.in_view = view

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Frames of the verified clips, by the keywords they show."""
        words = keywords(query)
        scores = self._by_keyword(words, scene)
        mentions = Mentions(self.retriever, scene, captions=True)
        clips = (np.arange(scene.cut.first, scene.cut.last) // CLIP) - scene.cut.first // CLIP
        by_frame = np.zeros((len(words), len(scene)))
        for row, score in enumerate(scores):
            by_frame[row], _ = mentions.best_of(np.where(score > THETA, score, 0), len(scene))
        kept = self._verified(by_frame, clips)
        total = by_frame.sum(axis=0) * kept[clips]
        together = scores.sum(axis=0) if len(words) else np.zeros(scene.cut.slots, dtype=np.float32)
        _, best = mentions.best_of(np.maximum(together, 0), len(scene))
        support = float((by_frame > 0).any(axis=1).mean()) if len(words) else 0.0
        return found(query, scene, total, best, np.maximum(together, 0), support, NEEDED, asker_m)

    def _by_keyword(self, words: list[str], scene: Scene) -> FloatArray:
        """Similarity of each keyword to each text, shape ``(keywords, slots)``: 1 where the text says the word."""
        similar = cosines(self.retriever, scene, words)
        scores = similar if similar is not None else np.zeros((len(words), scene.cut.slots), dtype=np.float32)
        for row, word in enumerate(words):
            scores[row, self.retriever.index.postings(word, scene.cut).slots] = 1.0
        return scores

    def _verified(self, by_frame: np.ndarray[tuple[int, int], np.dtype[np.float64]], clips: np.ndarray) -> np.ndarray:
        """Which clips are kept: of the N best by summed similarity those that answer most sub-queries, at most r."""
        count = int(clips[-1]) + 1 if len(clips) else 0
        best = np.zeros((len(by_frame), count))
        for row, values in enumerate(by_frame):
            np.maximum.at(best[row], clips, values)
        relevance, passed = best.sum(axis=0), (best > 0).sum(axis=0)
        order = np.argsort(-relevance, kind="stable")[:CANDIDATES]
        order = order[passed[order] > 0]
        order = order[np.argsort(-passed[order], kind="stable")][:KEPT]
        kept = np.zeros(count, dtype=np.bool_)
        kept[order] = True
        return kept
