"""Ways to find keyframes by name: ours, and each paper's on the same memory."""

from __future__ import annotations

from collections.abc import Callable

from vlkng_ros.retrieval.channels import EVERY, Channel
from vlkng_ros.retrieval.crops import CropIndex
from vlkng_ros.retrieval.hybrid_search import HybridSearch
from vlkng_ros.retrieval.presets.base import Finder, Preset
from vlkng_ros.retrieval.presets.egograph import EgoGraph
from vlkng_ros.retrieval.presets.embodied_lgr import EmbodiedLGR
from vlkng_ros.retrieval.presets.vgent import Vgent
from vlkng_ros.retrieval.presets.vlkng import (
    ChunkwiseRetrieval,
    FullGraph,
    GraphEnhancedRetrieval,
    GraphRetrieval,
)
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.types import Vec3

PAPERS: dict[str, Callable[[Retriever, str, CropIndex | None], Finder]] = {
    "vlkng-gr": GraphRetrieval,
    "vlkng-ger": GraphEnhancedRetrieval,
    "vlkng-full": FullGraph,
    "vlkng-cwgr": ChunkwiseRetrieval,
    "embodied-lgr": EmbodiedLGR,
    "vgent": Vgent,
    "egograph": EgoGraph,
}
OURS = "hybrid"


class Hybrid(Preset):
    """``hybrid``: all channels of the retriever."""

    view = "hybrid"
    channels = EVERY
    _search: HybridSearch | None = None
    """One for all that a question asks: what it found once it need not again."""

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Places, one for each thing, well supported ones first."""
        if self._search is None:
            self._search = HybridSearch(self.retriever, self.in_view, self.crops, self.channels)
        return self._search.find(query, scene, asker_m)


NAMES = (OURS, *PAPERS)
VIEWS = {OURS: "hybrid", "embodied-lgr": "proximity", "vgent": "text_merge", "egograph": "text_merge"} | {
    name: "stoa" for name in ("vlkng-gr", "vlkng-ger", "vlkng-full")
}
"""The identity view of each preset; ``vlkng-cwgr`` has none."""


ANSWERERS = {"embodied-lgr": "agent", "vgent": "structured"}
"""How a paper's language model answers; the others' in one shot (``llm``)."""


def view_for(retriever: Retriever, preset: str) -> str:
    """The preset's identity view, or where the memory lacks it the one that stands in; empty where there is none.

    A view that is not written any more lacks what was seen since, so one that is complete stands in for it too.
    """
    views = retriever.reader.complete_views()
    wanted = (VIEWS.get(preset, ""), "hybrid", "proximity", *views)
    return next((name for name in wanted if name in views), "")


def finder_for(
    retriever: Retriever, preset: str, crops: CropIndex | None = None, channels: frozenset[Channel] = EVERY
) -> Finder:
    """What finds keyframes for a preset, over its view.

    Args:
        retriever: the memory's index.
        preset: its name.
        crops: the visual channel, where there is one.
        channels: those of ``hybrid`` that may speak.

    Raises:
        KeyError: there is no such preset.
    """
    view = view_for(retriever, preset)
    if preset != OURS:
        return PAPERS[preset](retriever, view, crops)
    found = Hybrid(retriever, view, crops)
    found.channels = channels
    return found


__all__ = ["ANSWERERS", "NAMES", "OURS", "PAPERS", "VIEWS", "Finder", "finder_for", "view_for"]
