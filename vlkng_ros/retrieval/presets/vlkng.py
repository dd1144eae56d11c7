"""VL-KnG's retrieval (section 6.3), its visual grounding (6.4) and its ablations (9.1), with model-free fall-backs.

Query-graph alignment by stop words; each object scored by the overlap of query terms with its text (label, region
text, attributes and the phrases that say where it is); scores summed by frame; spatial questions boost frames that
show relations; the top m frames come back with everything they hold. Where the paper lets
a language model answer and re-rank the frames (step 3), ``answering`` does; without one the ranking stands as it is.
"""

from __future__ import annotations

import numpy as np

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.presets.base import Mentions, Preset, cosines, found, keywords, overlap
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Scene
from vlkng_ros.types import Entity, Float64Array, Observation, Relation, Vec3

CHUNK = 8
"""Keyframes of a chunk: b = 8 in all of the paper's experiments."""
SPATIAL_BOOST = 1.5
"""The paper boosts frames with relations for spatial queries and gives no number."""
SCORED_FRAMES = 60
"""Frames, best first by their labels, whose objects are scored in full."""
VISUAL_TOP = 40
"""Crops that look most like the question; the paper gives no number."""
VISUAL_COSINE = 0.5
"""GER's stand-in: cosine of a label above which an object counts as visually alike."""
NEEDED = 0.5
"""Share of the question's terms that one object must have. The paper leaves it to the language model to say that the
frames do not show what is asked for; model-free, half of the terms make a sighting."""


class GraphRetrieval(Preset):
    """``vlkng-gr``: graph-based retrieval."""

    view = "stoa"

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Frames by the summed overlap of their objects with the question."""
        wanted = keywords(query)
        scores = overlap(self.retriever, scene, wanted)
        mentions = Mentions(self.retriever, scene, captions=False)
        said = np.bincount(mentions.frames, weights=scores[mentions.slots], minlength=len(scene)).astype(np.float64)
        total, most = self._by_objects(query, scene, said, frozenset(wanted))
        total, alike = self._alike(query, scene, mentions, total)
        total = self._ranked(total)
        support = max(most / max(1, len(wanted)), alike)
        return found(query, scene, total, scores, support, NEEDED, asker_m)

    def _by_objects(
        self, query: Query, scene: Scene, said: Float64Array, wanted: frozenset[str]
    ) -> tuple[Float64Array, int]:
        """Scores of frames, and the most terms that one object has; those of the frames that say most."""
        total, most = np.zeros(len(scene)), 0
        reader = self.retriever.reader
        spatial = query.relation is not None
        related: dict[str, list[Relation]] = {}
        for frame in np.argsort(-said, kind="stable")[:SCORED_FRAMES].tolist():
            if said[frame] <= 0:
                break
            keyframe_id = int(scene.keyframe_ids[frame])
            names = reader.entities_in(self.in_view, keyframe_id) if self.in_view else {}
            shows_relation = False
            for observation in reader.observations(keyframe_id):
                has = words_of(observation)
                name = names.get(observation.observation_id, "")
                if name:
                    if name not in related:
                        related[name] = self._relations(name, int(scene.stamps_ns[-1]))
                    here = [r for r in related[name] if keyframe_id in r.keyframe_ids]
                    shows_relation = shows_relation or bool(here)
                    has |= {word for relation in here for word in terms(phrase_of(relation, name))}
                count = len(has & wanted)
                most = max(most, count)
                total[frame] += count
            total[frame] *= SPATIAL_BOOST if spatial and shows_relation else 1.0
        return total, most

    def _relations(self, entity_id: str, as_of_ns: int) -> list[Relation]:
        try:
            return self.retriever.reader.relations(self.in_view, entity_id, as_of_ns)
        except NotInMemoryError:
            return []

    def _alike(self, query: Query, scene: Scene, mentions: Mentions, total: Float64Array) -> tuple[Float64Array, float]:
        return total, 0.0

    def _ranked(self, total: Float64Array) -> Float64Array:
        return total


def words_of(observation: Observation) -> set[str]:
    """The terms of an object: its name and its description attributes."""
    detection = observation.detection
    return set(terms(" ".join((detection.label, detection.region_text, *detection.attributes.values()))))


def phrase_of(relation: Relation, entity_id: str) -> str:
    """Where an object is, by one of its relations: "next to table"; entity ids are ``<type>_<num>``."""
    other = relation.object_id if relation.subject_id == entity_id else relation.subject_id
    return f"{relation.predicate} {other.rpartition('_')[0].replace('_', ' ')}"


class GraphEnhancedRetrieval(GraphRetrieval):
    """``vlkng-ger``: GR joined with similarity of the question over the objects' SigLIP2 crops.

    Both scores of a frame are divided by their best, for the paper joins sets and names no weights. Fall-back: where
    the memory holds no crop vectors of ``retrieval.visual_model``, the labels' text embeddings stand in.
    """

    def _alike(self, query: Query, scene: Scene, mentions: Mentions, total: Float64Array) -> tuple[Float64Array, float]:
        share = total / max(float(total.max(initial=0.0)), 1e-9)
        if self.crops is not None and len(self.crops):
            seen = np.zeros(len(scene))
            for frame, _, cosine in self.crops.best(query.whole or query.text, self.retriever.index, scene, VISUAL_TOP):
                seen[frame] = max(seen[frame], cosine)
            return share + seen / max(float(seen.max(initial=0.0)), 1e-9), 0.0
        alike = cosines(self.retriever, scene, [query.target or query.text])
        if alike is None:
            return total, 0.0
        value = mentions.best_of(np.maximum(alike[0] - VISUAL_COSINE, 0), len(scene))
        best = float(value.max(initial=0.0))
        return share + value / (1 - VISUAL_COSINE), best + VISUAL_COSINE if best > 0 else 0.0


class FullGraph(GraphRetrieval):
    """``vlkng-full`` (F): the whole graph is the model's context; frames are ranked as by GR where no model does it."""

    def context(self, query: Query, scene: Scene) -> list[str]:
        """Every node with its attributes, where and when it was seen, and its edges."""
        if not self.in_view:
            return []
        until = int(scene.stamps_ns[-1])
        lines = []
        for entity in self.retriever.reader.entities(self.in_view, until):
            edges = [r for r in self._relations(entity.entity_id, until) if r.subject_id == entity.entity_id]
            lines.append(node_line(entity, edges))
        return lines


def node_line(entity: Entity, edges: list[Relation]) -> str:
    """A node of the graph in one line."""
    told = [f"{name} {value}" for name, value in entity.attributes.items() if value]
    told += [f"{edge.predicate} {edge.object_id}" for edge in edges]
    x, y, _ = entity.position.mean_m
    frames = f"#{entity.first_keyframe_id}..#{entity.last_keyframe_id}"
    return f"{entity.entity_id}: {'; '.join([entity.label, *told])} at x={x:.1f} y={y:.1f}, seen in {frames}"


class ChunkwiseRetrieval(GraphRetrieval):
    """``vlkng-cwgr``: chunk graphs alone, without identity across them.

    A language model is asked chunk by chunk, those of the best frames first, until one answers. Without one, frames
    rank by their chunk, then by themselves.
    """

    view = ""
    clip_frames = CHUNK
    asks_clips = True

    def _ranked(self, total: Float64Array) -> Float64Array:
        chunks = np.arange(len(total)) // CHUNK
        by_chunk = np.bincount(chunks, weights=total)
        best = float(total.max(initial=0.0)) or 1.0
        together = np.where(total > 0, by_chunk[chunks] + total / (2 * best), 0.0)
        return np.asarray(together, dtype=np.float64)
