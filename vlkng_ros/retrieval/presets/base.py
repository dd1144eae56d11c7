"""What a paper's retrieval needs of the memory, and what it hands to an answerer."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.words import NUMBERS, terms
from vlkng_ros.retrieval.crops import CropIndex
from vlkng_ros.retrieval.evidence import FrameEvidence
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.hybrid_search import DEFINITE
from vlkng_ros.retrieval.matching import Fit
from vlkng_ros.retrieval.phrases import is_clause
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.ranking import Peaks, in_order, order_of
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.types import AnswerKind, Float64Array, FloatArray, Vec3

MODEL_FRAMES = 20
"""Frames a model may be shown, where a paper does not say; the budget of tokens may end sooner."""

NEEDED_OF_A_NAME = (0.53, 0.65, 0.69)
"""Cosine of a name of 1, 2 and 3 words above which a text is about it, for papers that have no rule for what was never
seen. Of three NaVQA drives, on names of captions and labels without the texts that say them and on labels of the other
drives, the mean of those found and those denied is 0.79, 0.69 and 0.81 on a drive left out; at 0.5 for all it is 0.69,
0.65 and 0.69. What is best for a drive differs by no more than 0.01, 0.05 and 0.02 between them."""


class Finder(Protocol):
    """Ranks the keyframes of a scene for a query."""

    view: str
    """The identity view that the paper's graph is made of."""
    in_view: str
    """That, or what stands in for it in this memory; empty for none."""
    clip_frames: int
    """Frames that a model verifies together."""
    asks_clips: bool
    """Whether a model is asked clip by clip, and not of all frames at once."""
    cites_times: bool
    """Whether a model must name the time of all it relies on."""

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Frames that bear on the query, best first."""
        ...

    def context(self, query: Query, scene: Scene) -> list[str]:
        """What a model is told beside the frames: lines, most important first."""
        ...

    def candidates(self, query: Query, scene: Scene, ranked: list[int]) -> list[int]:
        """The scene's frames that a model is shown, best first; ``ranked`` are those that the answer ranks."""
        ...


class Preset:
    """What finders have in common.

    Args:
        retriever: the memory's index.
        view: the view that is there.
        crops: the visual channel, where there is one.
    """

    view = ""
    clip_frames = 1
    asks_clips = False
    cites_times = False

    def __init__(self, retriever: Retriever, view: str, crops: CropIndex | None = None) -> None:
        self.retriever = retriever
        self.in_view = view
        self.crops = crops

    def context(self, query: Query, scene: Scene) -> list[str]:
        """Nothing beside the frames."""
        return []

    def candidates(self, query: Query, scene: Scene, ranked: list[int]) -> list[int]:
        """The best of those that the answer ranks."""
        return ranked[:MODEL_FRAMES]


def keywords(query: Query) -> list[str]:
    """The question's words less stop words and numbers, as stems, each once: VL-KnG's and Vgent's keywords."""
    phrase = query.whole or query.target or query.text
    return [term for term in dict.fromkeys(terms(phrase)) if term not in NUMBERS]


def needed_for_yes(query: Query, otherwise: float) -> float:
    """Similarity that a yes needs: of short names what was fitted, of longer phrases what is given."""
    count = len([term for term in dict.fromkeys(terms(query.target)) if term not in NUMBERS])
    if not 1 <= count <= len(NEEDED_OF_A_NAME) or is_clause(query.target) or query.relation is not None:
        return otherwise
    return NEEDED_OF_A_NAME[count - 1]


class Mentions:
    """Mentions of a scene as columns: ``frames`` counted from its first, ``slots`` of their texts.

    Args:
        retriever: whose index is read.
        scene: the window.
        captions: sentences of captions too, not only what was detected.
    """

    def __init__(self, retriever: Retriever, scene: Scene, *, captions: bool) -> None:
        frames, slots, caption = retriever.index.mentions_in(scene.cut)
        kept = np.ones(len(frames), dtype=np.bool_) if captions else ~caption
        self.frames: NDArray[np.intp] = (frames[kept] - scene.cut.first).astype(np.intp)
        self.slots: NDArray[np.intp] = slots[kept].astype(np.intp)

    def best_of(self, scores: FloatArray, count: int) -> Float64Array:
        """Per frame the highest score above 0 of its texts, shape ``(count,)``."""
        best = np.zeros(count)
        np.maximum.at(best, self.frames, scores[self.slots])
        return best


def cosines(retriever: Retriever, scene: Scene, phrases: list[str]) -> FloatArray | None:
    """Cosine of every text known at the scene's end with each phrase, shape ``(p, slots)``; None without an encoder."""
    dense = retriever.index.dense
    vectors = retriever.encoded(phrases) if dense is not None and phrases else None
    if vectors is None or dense is None:
        return None
    return np.asarray(vectors @ dense.all_rows(scene.cut.slots).T, dtype=np.float32)


def overlap(retriever: Retriever, scene: Scene, wanted: list[str]) -> FloatArray:
    """How many of the wanted terms each text known at the scene's end says, shape ``(slots,)``."""
    counts = np.zeros(scene.cut.slots, dtype=np.float32)
    for term in wanted:
        counts[retriever.index.postings(term, scene.cut).slots] += 1
    return counts


def similarity(retriever: Retriever, scene: Scene, phrase: str, wanted: list[str]) -> FloatArray:
    """Cosine of every text with a phrase; without an encoder the share of the wanted terms that it says."""
    similar = cosines(retriever, scene, [phrase])
    if similar is not None:
        return np.asarray(similar[0], dtype=np.float32)
    return np.asarray(overlap(retriever, scene, wanted) / max(1, len(wanted)), dtype=np.float32)


def found(
    query: Query,
    scene: Scene,
    total: Float64Array,
    scores: FloatArray,
    support: float,
    needed: float,
    asker_m: Vec3 | None,
) -> Found:
    """A paper's ranking in the form that answerers take: every frame for itself.

    Of equals the earlier one counts, or which of them the query's superlative asks for.

    Args:
        query: whose superlative orders equally good frames.
        scene: the window.
        total: score of each frame.
        scores: score of each text known.
        support: how much of the query the best text says, in 0..1.
        needed: how much of that makes a sighting; less where a yes/no question takes it for granted.
        asker_m: where the asker stands.
    """
    frames = np.flatnonzero(total > 0)
    key = order_of(frames, query.superlative, scene.positions_m, asker_m)
    frames = frames[np.lexsort((frames if key is None else key, -total[frames]))][:40]
    peaks = Peaks(frames, total[frames])
    peaks = in_order(peaks, query.superlative, scene.positions_m, asker_m)
    slots = np.flatnonzero(scores > 0)
    slots = slots[np.argsort(-scores[slots], kind="stable")][:256]
    fit = Fit(slots, scores[slots], np.full(len(slots), support, dtype=np.float32))
    needed *= DEFINITE if query.kind is AnswerKind.BINARY and query.definite else 1.0
    shown = FrameScores.of_all(total)
    each = FrameEvidence(shown, shown, FrameScores(shown.frames, np.ones(len(shown))))
    return Found(peaks, each, shown, fit, support, needed)
