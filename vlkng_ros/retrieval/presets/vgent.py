"""Vgent's retrieval: clips of K = 64 frames, keywords against entities above theta = 0.5, N = 20 clips, r = 5 verified.

Entities are those of the view that is merged by text at tau = 0.7: a keyword that is similar to an entity's name above
theta makes every clip that shows the entity a candidate, whatever it was called there. Candidates are re-ranked by the
similarities of what they show, summed over the keywords.

With a language model ``answering.structured`` divides the question and verifies it clip by clip, on the frames
themselves where the model takes pictures. The model-free fall-back verifies by what was said: a sub-query is a keyword,
and a clip passes it where an entity or a text of it is similar above theta. Within the clips kept, frames rank by how
much of the keywords they show.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.retrieval.presets.base import Mentions, Preset, cosines, found, keywords
from vlkng_ros.retrieval.presets.nodes import nodes_of
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Scene
from vlkng_ros.types import Float64Array, FloatArray, Vec3

CLIP = 64
"""K: frames of a clip."""
THETA = 0.5
"""theta: similarity of a keyword and an entity that makes its clips candidates."""
CANDIDATES = 20
"""N: clips kept by re-ranking."""
KEPT = 5
"""r: clips kept by verification."""
NEEDED = 0.5
"""Share of the keywords that something must show. The paper drops clips that pass no sub-query and has no rule for what
is then left unanswered; model-free, half of the keywords make a sighting. (That one clip shows them together was tried
and denies no more of what was never seen.)"""
ENTITIES_A_WORD = 64
"""Entities of a keyword that are followed, most similar first."""
FRAMES_A_CLIP = 8
"""Frames of a clip that a model is shown; the paper shows all 64 to video models."""
SIGHTINGS = 256
"""Of an entity, newest first."""


class Vgent(Preset):
    """``vgent``."""

    view = "text_merge"
    clip_frames = CLIP

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Frames of the verified clips, by the keywords they show."""
        words = keywords(query)
        scores = self._by_keyword(words, scene)
        mentions = Mentions(self.retriever, scene, captions=True)
        clips = _clips(scene)
        by_frame = self._by_frame(scores, mentions, scene)
        kept = verified(self._by_clip(words, by_frame, clips, scene))
        total = by_frame.sum(axis=0) * kept[clips]
        together = scores.sum(axis=0) if len(words) else np.zeros(scene.cut.slots, dtype=np.float32)
        support = float((by_frame > 0).any(axis=1).mean()) if len(words) else 0.0
        return found(query, scene, total, np.maximum(together, 0), support, NEEDED, asker_m)

    def candidates(self, query: Query, scene: Scene, ranked: list[int]) -> list[int]:
        """The best frames of each of the N clips, which a model verifies; the best clip's first."""
        words = keywords(query)
        scores = self._by_keyword(words, scene)
        clips = _clips(scene)
        by_frame = self._by_frame(scores, Mentions(self.retriever, scene, captions=True), scene)
        shown = by_frame.sum(axis=0)
        found: list[int] = []
        for clip in best_clips(self._by_clip(words, by_frame, clips, scene)).tolist():
            frames = np.flatnonzero(clips == clip)
            best = frames[np.argsort(-shown[frames], kind="stable")][:FRAMES_A_CLIP]
            found += best[shown[best] > 0].tolist() or best[:1].tolist()
        return found

    def _by_frame(self, scores: FloatArray, mentions: Mentions, scene: Scene) -> Float64Array:
        """What each frame says of each keyword, shape ``(keywords, frames)``: 0 where it is not above theta."""
        by_frame = np.zeros((len(scores), len(scene)))
        for row, score in enumerate(scores):
            by_frame[row] = mentions.best_of(np.where(score > THETA, score, 0), len(scene))
        return by_frame

    def _by_keyword(self, words: list[str], scene: Scene) -> FloatArray:
        """Similarity of each keyword to each text, shape ``(keywords, slots)``: 1 where the text says the word."""
        similar = cosines(self.retriever, scene, words)
        scores = similar if similar is not None else np.zeros((len(words), scene.cut.slots), dtype=np.float32)
        for row, word in enumerate(words):
            scores[row, self.retriever.index.postings(word, scene.cut).slots] = 1.0
        return scores

    def _by_clip(self, words: list[str], by_frame: Float64Array, clips: NDArray[np.intp], scene: Scene) -> Float64Array:
        """What each clip shows of each keyword, shape ``(keywords, clips)``, entities included."""
        best = np.zeros((len(words), int(clips[-1]) + 1 if len(clips) else 0))
        for row, values in enumerate(by_frame):
            np.maximum.at(best[row], clips, values)
        if not self.in_view or not len(clips):
            return best
        nodes = nodes_of(self.retriever, self.in_view)
        index, reader = self.retriever.index, self.retriever.reader
        since, until = int(scene.stamps_ns[0]), int(scene.stamps_ns[-1])
        for row, word in enumerate(words):
            similar = nodes.similarities(self.retriever, word, [word])
            for entity, score in nodes.best(similar, THETA, until, ENTITIES_A_WORD):
                for sighting in reader.sightings(self.in_view, entity.entity_id, since, until, SIGHTINGS):
                    frame = index.frame_of(sighting.keyframe_id)
                    if frame is not None and scene.cut.first <= frame < scene.cut.last:
                        clip = int(clips[frame - scene.cut.first])
                        best[row, clip] = max(best[row, clip], score)
        return best


def _clips(scene: Scene) -> NDArray[np.intp]:
    """Clip of each frame, counted from the scene's first; clips begin at multiples of K of the memory's frames."""
    return np.arange(scene.cut.first, scene.cut.last) // CLIP - scene.cut.first // CLIP


def best_clips(by_clip: Float64Array) -> NDArray[np.intp]:
    """The N clips that a keyword leads to with the highest summed similarity, best first; ``by_clip`` as below."""
    order = np.argsort(-by_clip.sum(axis=0), kind="stable")[:CANDIDATES]
    return np.asarray(order[(by_clip[:, order] > 0).any(axis=0)], dtype=np.intp)


def verified(by_clip: Float64Array) -> NDArray[np.bool_]:
    """Which clips are kept: of the N best by summed similarity those that answer most sub-queries, at most r.

    Args:
        by_clip: similarity of what a clip shows to a keyword, 0 where it is not above theta; ``(keywords, clips)``.
    """
    order, passed = best_clips(by_clip), (by_clip > 0).sum(axis=0)
    order = order[np.argsort(-passed[order], kind="stable")][:KEPT]
    kept = np.zeros(by_clip.shape[1], dtype=np.bool_)
    kept[order] = True
    return kept
