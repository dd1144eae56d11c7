"""From a parsed question to places with what speaks for each: preset ``hybrid``, all channels in one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from vlkng_ros.memory.text_index import Cut
from vlkng_ros.memory.words import NUMBERS, terms
from vlkng_ros.retrieval.channels import (
    CONTENT,
    EVERY,
    RELATED_FRAMES,
    RELATED_GAIN,
    Channel,
    StoredRelations,
    without_content,
)
from vlkng_ros.retrieval.clauses import NEEDED_OF_CLAUSE, said_of_thing
from vlkng_ros.retrieval.concepts import other_wordings
from vlkng_ros.retrieval.crops import CropIndex
from vlkng_ros.retrieval.evidence import FrameEvidence, frame_evidence
from vlkng_ros.retrieval.excluding import left_out
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.grammar import Superlative
from vlkng_ros.retrieval.matching import OTHER_WORDING_WEIGHT, Fit, Matcher, Wording
from vlkng_ros.retrieval.motion_phrases import MotionKind
from vlkng_ros.retrieval.phrases import is_clause, is_doing, thing_of
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.ranking import PEAKS, in_order, peaks_of, settled, with_relation
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.types import AnswerKind, Vec3

INDOORS = frozenset(("building", "house", "indoors", "inside", "room"))
OTHER_SIDE = 0.3
"""What evidence outside is worth for something "in the building"."""
TOO_FEW = 0.5
"""Least share left of a frame that shows fewer instances than were asked for."""
RELATION_WEIGHT = 0.5
"""What the words of a related thing weigh against the target's: "the bin near the elephant" has not been seen where
no elephant was, and a bin whose shelf nobody mentioned has."""
THING_WEIGHT = 0.6
"""What the thing alone counts where the question says more of it."""
NEEDED = (0.85, 0.73, 0.68, 0.73)
"""Support that counts as "seen" where the way is asked ("where is the ..."), by number of words looked for (1, 2, 3,
4 and more): what keeps 95 % of things never seen out, fitted on labels of other drives, and no more. Lower ones find
few more of 600 phrases taken from captions, each looked for without the texts that say it, and let more in."""
NEEDED_TOLD = (0.51, 0.51, 0.39, 0.27)
"""The same where the question takes for granted that it was seen ("where did you see ...", "when were you in ...")."""
NEEDED_OTHERWISE = (0.85, 0.85, 0.65, 0.45)
"""And where what was said is asked: a caption that says all of a long description is rare."""
DEFINITE = 0.75
""""Did you see *the* bin?", "what color is *the* bin" presuppose a bin: less of it must be said than of *a* bin."""
_BY_DISTANCE = (Superlative.NEAREST, Superlative.FARTHEST)
SEEN_ALIKE = 0.5
"""What the crop that looks most like the target adds to its frame, as a share of the best evidence by texts."""
CROPS = 32


class HybridSearch:
    """Places where a query's target was seen.

    Args:
        retriever: the memory's index.
        view: identity view whose relations are read; empty for none.
        crops: the visual channel, where there is one.
        channels: those that may speak.
        hidden: slots of texts that do not count (``Matcher``).
    """

    def __init__(
        self,
        retriever: Retriever,
        view: str = "",
        crops: CropIndex | None = None,
        channels: frozenset[Channel] = EVERY,
        hidden: Sequence[int] = (),
    ) -> None:
        self._retriever = retriever
        self._index = retriever.index
        self._channels = channels
        self._crops = crops if Channel.VISUAL in channels else None
        self._relations = StoredRelations(retriever.reader, view) if view and Channel.RELATIONS in channels else None
        self._known: dict[tuple[tuple[Wording, ...], Cut, bool], tuple[Fit, FrameEvidence]] = {}
        self._texts = bool(channels & {Channel.LEXICAL, Channel.DENSE})
        self._hidden = hidden
        self._matcher = Matcher(
            retriever.index,
            retriever.encoded,
            lexical=Channel.LEXICAL in channels or not self._texts,
            dense=Channel.DENSE in channels,
            hidden=hidden,
        )

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Places, in the order that the query's superlative asks for."""
        # How often and how long needs every mention; where and when it is enough to follow some.
        whole = query.times_asked or query.kind is AnswerKind.DURATION or query.most is not None
        fit, evidence = self._evidence_of(wordings_of(query), scene, whole=whole)
        support, needed = self._support(query, fit, scene), needed_support(query)
        total = evidence.total if Channel.TEMPORAL in self._channels else evidence.raw
        scale = scene.scale
        if not self._texts and self._crops is None and self._relations is None:
            total, support = FrameScores.none(), 0.0  # the channels that look have nothing to look at
        if not self._channels & CONTENT:
            total = FrameScores.of_all(without_content(self._channels, scene.positions_m, asker_m))
            evidence = dataclasses.replace(evidence, raw=total, total=total)
            support, needed = 1.0, 0.0
        if query.amount.least > 1:
            shown = np.minimum(evidence.instances.of_each(total.frames) / query.amount.least, 1.0)
            total = total.weighted(TOO_FEW + (1 - TOO_FEW) * shown)
        total, support = self._looking_alike(query, scene, total, support, needed)
        total, support = self._related(query, scene, total, support, scale)
        for phrase in query.excluded:
            total = self._without(total, f"{phrase} {query.target}", scene)
        by = Channel.SPATIAL if query.superlative in _BY_DISTANCE else Channel.TEMPORAL
        superlative = query.superlative if by in self._channels else None
        peaks = peaks_of(total, scene.positions_m, PEAKS, scale, superlative, asker_m)
        peaks = settled(peaks, evidence.raw, scene.positions_m, superlative, scale)
        peaks = in_order(peaks, superlative, scene.positions_m, asker_m)
        return Found(peaks, evidence, total, fit, support, needed)

    def _support(self, query: Query, fit: Fit, scene: Scene) -> float:
        """How much of the target and of what it is related to was said: each by what its words tell."""
        if clause := clause_of(query):
            return said_of_thing(self._index, scene.cut, wordings(clause, loose=False), self._hidden)
        if query.relation is None or is_inside(query.relation.predicate, query.relation.objects[0]):
            return fit.best_support
        said = weight = self._matcher.weight(query.target, scene.cut)
        said *= fit.best_support
        for other in query.relation.objects:
            share = RELATION_WEIGHT * self._matcher.weight(other, scene.cut, query.names)
            weight += share
            said += share * self._evidence_of(wordings(other), scene)[0].best_support
        return said / weight if weight > 0 else fit.best_support

    def _looking_alike(
        self, query: Query, scene: Scene, total: FrameScores, support: float, needed: float
    ) -> tuple[FrameScores, float]:
        """More for frames with a crop that looks like the target; alone, these are the evidence."""
        if self._crops is None or not query.target:
            return total, support
        alike = self._crops.best(query.target, self._index, scene, CROPS)
        if not alike:
            return total, support
        alone = not self._texts
        best, least = alike[0][2], alike[-1][2]
        looks: dict[int, float] = {}
        for frame, _, cosine in alike:
            looks[frame] = max(looks.get(frame, 0.0), (cosine - least) / (best - least) if best > least else 1.0)
        frames = sorted(looks)
        seen = FrameScores(np.array(frames), np.array([looks[frame] for frame in frames]))
        if alone:
            return seen, max(support, needed)
        return FrameScores.sum([total, seen.weighted(SEEN_ALIKE * total.highest)]), support

    def _related(
        self, query: Query, scene: Scene, total: FrameScores, support: float, scale: float
    ) -> tuple[FrameScores, float]:
        """Evidence for a thing where what it is related to is near, or an edge of the memory says so."""
        if Channel.RELATIONS not in self._channels:
            return total, support
        if query.relation is not None:
            for other in query.relation.objects:
                total = self._near(total, query.relation.predicate, other, scene, scale)
        alone = not self._texts and self._crops is None
        if self._relations is None or (query.relation is None and not alone) or not total.highest:
            return total, support
        frames = {int(scene.keyframe_ids[frame]): frame for frame in total.best(RELATED_FRAMES)}
        shown = self._relations.shown(query, [w.text for w in wordings(query.target)], list(frames))
        ends = len(query.relation.objects) if query.relation is not None else 1
        factor = np.zeros(len(total)) if alone else np.ones(len(total))
        for keyframe_id, count in shown.items():
            factor[np.searchsorted(total.frames, frames[keyframe_id])] += RELATED_GAIN * min(count / ends, 1.0)
        return total.weighted(factor), 1.0 if any(count >= ends for count in shown.values()) else support

    def _near(self, total: FrameScores, predicate: str, other: str, scene: Scene, scale: float) -> FrameScores:
        if is_inside(predicate, other):
            inside = np.zeros(len(scene), dtype=np.bool_)
            for stay in self._retriever.stays(scene):
                inside[stay.first : stay.last + 1] = stay.inside
            return total.weighted(np.where(inside[total.frames], 1.0, OTHER_SIDE))
        shown = self._evidence_of(wordings(other), scene)[1].total
        return with_relation(total, shown, scene.positions_m, scale)

    def _evidence_of(self, said: Sequence[Wording], scene: Scene, *, whole: bool = False) -> tuple[Fit, FrameEvidence]:
        """The texts that fit some wordings, and the frames that show them; worked out once."""
        key = (tuple(said), scene.cut, whole)
        if key not in self._known:
            fit = self._matcher.fit(said, scene.cut)
            self._known[key] = fit, frame_evidence(self._index, scene.cut, fit, whole=whole)
        return self._known[key]

    def _without(self, total: FrameScores, phrase: str, scene: Scene) -> FrameScores:
        """Less where a text says the very thing that must not be."""
        fit = self._matcher.fit([Wording(phrase)], scene.cut)
        said = fit.support >= 0.95
        if not said.any():
            return total
        full = Fit(fit.slots[said], fit.scores[said], fit.support[said])
        shown = frame_evidence(self._index, scene.cut, full).total
        return total.weighted(np.where(shown.of_each(total.frames) > 0, 0.5, 1.0))


def is_inside(predicate: str, other: str) -> bool:
    """Whether a relation says no more than that the target is in a building; a living room is more than that."""
    return predicate == "in" and (other.rpartition(" ")[2] in INDOORS - {"room"} or other == "room")


def wordings(target: str, quoted: tuple[str, ...] = (), *, loose: bool = True) -> list[Wording]:
    """A target, its quoted parts and its other wordings; ``loose`` as ``other_wordings`` has it."""
    named = [Wording(phrase, 0.95) for phrase in quoted if phrase != target]
    return [
        Wording(target),
        *named,
        *(Wording(other, OTHER_WORDING_WEIGHT) for other in other_wordings(target, loose=loose)),
    ]


def wordings_of(query: Query) -> list[Wording]:
    """The wordings of a query's target; of a place or time also the thing without what is said about it.

    Where "the sculpture with the boats" stands, a sculpture is worth going to. Whether there is a man with a straw
    hat is not answered by a man.
    """
    found = wordings(query.target, query.quoted, loose=query.kind is not AnswerKind.BINARY)
    found[1:] = [w for w in found[1:] if not left_out(query.excluded, w.text)]  # "any animal except cats"
    thing = thing_of(query.target)
    if (
        query.kind in (AnswerKind.POSITION, AnswerKind.TIME, AnswerKind.TEXT, AnswerKind.DURATION)
        and thing != query.target
    ):
        found += [Wording(w.text, w.weight * THING_WEIGHT, part=True) for w in wordings(thing)]
    return found


def clause_of(query: Query) -> str:
    """The target of a yes/no question that says more of it than adjectives do; else empty.

    With what it does comes what it does that with or at: "sitting at a desk" is no man who sits, and a desk near him.
    """
    if query.kind is not AnswerKind.BINARY:
        return ""
    if query.relation is not None and is_doing(query.whole):
        return query.whole
    return query.target if thing_of(query.target) != query.target else ""


def needed_support(query: Query) -> float:
    """Support that makes a sighting of the query's target."""
    if clause_of(query):
        return NEEDED_OF_CLAUSE
    words = [term for term in dict.fromkeys(terms(query.target)) if term not in NUMBERS]
    count = len(words) + (2 if is_clause(query.target) else 0)
    table = NEEDED_OTHERWISE
    if query.kind in (AnswerKind.POSITION, AnswerKind.TIME):
        been = query.motion is not None and query.motion.kind is MotionKind.AT_PLACE
        table = NEEDED_TOLD if query.factive or been else NEEDED
    needed = table[min(max(count, 1), len(table)) - 1]
    return needed * (DEFINITE if query.kind in (AnswerKind.BINARY, AnswerKind.TEXT) and query.definite else 1.0)
