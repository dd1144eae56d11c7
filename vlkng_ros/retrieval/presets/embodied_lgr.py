"""EmbodiedLGR's retrieval: the label tool over the proximity graph, its neighbours, and caption vectors behind it.

The paper's agent has three tools (semantic, positional, temporal; section III-B), which ``answering.agent`` offers a
language model: its semantic one is this retrieval. The model-free fall-back calls the semantic one with
the question's target; time windows and positions of the question have narrowed the scene before. An entity stands
where and when it was last seen, as the paper's nodes do. Where no node is similar enough, captions are searched.
"""

from __future__ import annotations

import numpy as np

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.retrieval.presets.base import Mentions, Preset, found, keywords, needed_for_yes, similarity
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Scene
from vlkng_ros.types import AnswerKind, FloatArray, Vec3

TOP_NODES = 5
"""k of the semantic tool."""
SIMILAR = 0.75
"""delta_E of the published code: labels above it name the same thing."""
NEEDED, NEEDED_FOR_YES = SIMILAR / 2, 0.45
"""Similarity of a caption that is about the question. The paper has no rule for what was never seen: its agent reads
the captions. Model-free, of labels that were never seen 23 % are denied at the first; a yes to more than a name needs
the second, and to a name what is fitted for it."""
NEIGHBOUR_M = 5.0
"""delta_P of the published code: nodes this near are linked."""
NEIGHBOUR_SHARE = 0.5
ENTITIES_A_LABEL = 32


class EmbodiedLGR(Preset):
    """``embodied-lgr``."""

    view = "proximity"

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """The frames at which the most similar nodes were last seen, then those of their neighbours."""
        wanted = keywords(query)
        target = query.target or query.text
        scores = similarity(self.retriever, scene, target, wanted)
        labels = Mentions(self.retriever, scene, captions=False)
        label_scores = labels.best_of(scores, len(scene))
        support = float(label_scores.max(initial=0.0))
        if support < SIMILAR:
            captions = Mentions(self.retriever, scene, captions=True)
            total = captions.best_of(scores, len(scene))
            support = float(total.max(initial=0.0))
            needed = needed_for_yes(query, NEEDED_FOR_YES) if query.kind is AnswerKind.BINARY else NEEDED
            return found(query, scene, total, np.maximum(scores, 0), support, needed, asker_m)
        total = np.zeros(len(scene))
        for frame, score in self._nodes(scene, scores, labels):
            total[frame] = max(total[frame], score)
            apart = scene.positions_m[:, :2] - scene.positions_m[frame, :2]
            near = (apart * apart).sum(axis=1) <= NEIGHBOUR_M**2
            total[near] = np.maximum(total[near], NEIGHBOUR_SHARE * label_scores[near])
        return found(query, scene, total, np.maximum(scores, 0), support, SIMILAR, asker_m)

    def _nodes(self, scene: Scene, scores: FloatArray, labels: Mentions) -> list[tuple[int, float]]:
        """The top nodes as ``(frame last seen, similarity)``; of nodes as similar the latest."""
        slots = np.unique(labels.slots)
        slots = slots[scores[slots] >= SIMILAR]
        slots = slots[np.argsort(-scores[slots], kind="stable")][:TOP_NODES]
        nodes: list[tuple[float, int]] = []
        for slot in slots.tolist():
            for frame in self._last_seen(scene, slot, labels):
                nodes.append((float(scores[slot]), frame))
        nodes.sort(key=lambda node: (-node[0], -node[1]))
        return [(frame, score) for score, frame in nodes[:TOP_NODES]]

    def _last_seen(self, scene: Scene, slot: int, labels: Mentions) -> list[int]:
        """Frames at which the entities of a label were last seen by the scene's end; without a view, its own last."""
        text_id = self.retriever.index.text_id_of(slot)
        reader, frames = self.retriever.reader, []
        as_of_ns = int(scene.stamps_ns[-1])
        for entity_id in reader.labelled(self.in_view, [text_id])[-ENTITIES_A_LABEL:] if self.in_view else []:
            try:
                last_ns = reader.entity(self.in_view, entity_id, as_of_ns).last_seen_ns
            except NotInMemoryError:
                continue
            frame = int(np.searchsorted(scene.stamps_ns, last_ns))
            if frame < len(scene) and int(scene.stamps_ns[frame]) == last_ns:
                frames.append(frame)
        return frames or labels.frames[labels.slots == slot][-1:].tolist()
