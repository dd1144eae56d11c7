"""From a parsed question to ranked keyframes with what speaks for each: the channels of preset ``hybrid``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.memory.words import NUMBERS, terms
from vlkng_ros.retrieval.concepts import other_wordings
from vlkng_ros.retrieval.evidence import FrameEvidence, frame_evidence, with_neighbours
from vlkng_ros.retrieval.follower import IndexFollower
from vlkng_ros.retrieval.matching import OTHER_WORDING_WEIGHT, Encoded, Fit, Matcher, Wording
from vlkng_ros.retrieval.motion_phrases import MotionKind
from vlkng_ros.retrieval.phrases import is_clause, thing_of
from vlkng_ros.retrieval.places import Leaning, Stay, stays
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.ranking import Peaks, in_order, peaks_of, settled, with_relation
from vlkng_ros.types import AnswerKind, Float64Array, FloatArray, TextEncoder, Vec3

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
NEEDED = (0.85, 0.85, 0.75, 0.75)
"""Support that counts as "seen" where the way is asked ("where is the ..."), by number of words looked for (1, 2, 3,
4 and more): what keeps 95 % of things never seen out, fitted on labels of other drives."""
NEEDED_TOLD = (0.51, 0.51, 0.39, 0.27)
"""The same where the question takes for granted that it was seen ("where did you see ...", "when were you in ...")."""
NEEDED_OTHERWISE = (0.85, 0.85, 0.65, 0.45)
"""And where what was said is asked: a caption that says all of a long description is rare."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The part of the memory that a question may see: its frames' columns are counted from ``cut.first``."""

    cut: Cut
    keyframe_ids: NDArray[np.int64]
    stamps_ns: NDArray[np.int64]
    positions_m: FloatArray

    def __len__(self) -> int:
        return len(self.stamps_ns)


@dataclass(frozen=True, slots=True)
class Found:
    """What the memory holds about a target.

    ``peaks`` are places, best first. ``support`` in 0..1 is how much of the target any text says, ``needed`` how
    much of it makes a sighting.
    """

    peaks: Peaks
    evidence: FrameEvidence
    total: Float64Array
    fit: Fit
    support: float
    needed: float


class Retriever:
    """Finds keyframes. One reader, one thread.

    Args:
        reader: the memory.
        encoder: that of the memory, or None to go by words alone; one with another ``encoder_id`` is not used.
    """

    def __init__(self, reader: MemoryReader, encoder: TextEncoder | None) -> None:
        self.reader = reader
        known = reader.stats().encoder_id
        usable = encoder is not None and known is not None and encoder.encoder_id == known
        self._encoder = encoder if usable else None
        self._follower = IndexFollower(reader, self._encoder.dimensions if self._encoder is not None else 0)
        self.encoded = Encoded(self._encoder)
        self._leaning = Leaning(self.index, self.encoded)

    @property
    def index(self) -> TextIndex:
        """The text index as of the last refresh."""
        return self._follower.index

    def refresh(self) -> None:
        """Follow the memory."""
        before = self._follower.index
        self._follower.refresh()
        if self._follower.index is not before:
            self._leaning = Leaning(self.index, self.encoded)

    def scene(self, since_ns: int | None, as_of_ns: int | None) -> Scene:
        """The frames in ``[since_ns, as_of_ns]``; None leaves an end open."""
        table = self.reader.frames()
        cut = self.index.cut(since_ns, as_of_ns)
        part = slice(cut.first, cut.last)
        return Scene(cut, table.ids[part], table.stamps_ns[part], table.position_m[part])

    def part(self, scene: Scene, first: int, last: int) -> Scene:
        """Frames ``[first, last)`` of a scene."""
        frames = slice(first, last)
        cut = self.index.narrowed(scene.cut, first, last)
        return Scene(cut, scene.keyframe_ids[frames], scene.stamps_ns[frames], scene.positions_m[frames])

    def stays(self, scene: Scene) -> list[Stay]:
        """Stays inside and outside of buildings."""
        return stays(self._leaning.of_frames(scene.cut), scene.stamps_ns)

    def find(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Found:
        """Places where the query's target was seen, in the order its superlative asks for."""
        matcher = Matcher(self.index, self.encoded)
        fit = matcher.fit(wordings_of(query), scene.cut)
        evidence = frame_evidence(self.index, scene.cut, fit)
        total = evidence.total
        if query.min_count > 1:
            shown = np.minimum(evidence.instances / query.min_count, 1.0)
            total = total * (TOO_FEW + (1 - TOO_FEW) * shown)
        if query.relation is not None:
            for other in query.relation.objects:
                total = self._related(total, query.relation.predicate, other, scene, matcher)
        for phrase in query.excluded:
            total = self._without(total, f"{phrase} {query.target}", scene, matcher)
        peaks = peaks_of(total, scene.positions_m, scene.stamps_ns)
        peaks = settled(peaks, evidence.raw, scene.positions_m, query.superlative)
        peaks = in_order(peaks, query.superlative, scene.positions_m, scene.stamps_ns, asker_m)
        return Found(peaks, evidence, total, fit, self._support(query, fit, scene, matcher), needed_support(query))

    def _support(self, query: Query, fit: Fit, scene: Scene, matcher: Matcher) -> float:
        """How much of the target and of what it is related to was said: each by what its words tell."""
        if query.relation is None or is_inside(query.relation.predicate, query.relation.objects[0]):
            return fit.best_support
        said = weight = matcher.weight(query.target, scene.cut)
        said *= fit.best_support
        for other in query.relation.objects:
            share = RELATION_WEIGHT * matcher.weight(other, scene.cut, query.names)
            weight += share
            said += share * matcher.fit(wordings(other), scene.cut).best_support
        return said / weight if weight > 0 else fit.best_support

    def _related(self, total: Float64Array, predicate: str, other: str, scene: Scene, matcher: Matcher) -> Float64Array:
        if is_inside(predicate, other):
            inside = np.zeros(len(scene), dtype=np.bool_)
            for stay in self.stays(scene):
                inside[stay.first : stay.last + 1] = stay.inside
            return total * np.where(inside, 1.0, OTHER_SIDE)
        fit = matcher.fit(wordings(other), scene.cut)
        return with_relation(total, frame_evidence(self.index, scene.cut, fit).total, scene.positions_m)

    def _without(self, total: Float64Array, phrase: str, scene: Scene, matcher: Matcher) -> Float64Array:
        """Less where a text says the very thing that must not be."""
        fit = matcher.fit([Wording(phrase)], scene.cut)
        said = fit.support >= 0.95
        if not said.any():
            return total
        full = Fit(fit.slots[said], fit.scores[said], fit.support[said])
        shown = frame_evidence(self.index, scene.cut, full).raw > 0
        return total * np.where(with_neighbours(shown.astype(np.float64), scene.stamps_ns) > 0, 0.5, 1.0)

    def best_sentences(self, scene: Scene, found: Found, frame: int, limit: int = 3) -> list[tuple[str, float]]:
        """Texts of a frame of the scene that speak most for the target: ``(text, support)``, best first."""
        place = {int(slot): i for i, slot in enumerate(found.fit.slots)}
        said = self.index.texts_of(scene.cut.first + frame)
        ranked = sorted({place[int(slot)] for slot in said if int(slot) in place})
        return [(self.index.texts[int(found.fit.slots[i])], float(found.fit.support[i])) for i in ranked[:limit]]


def is_inside(predicate: str, other: str) -> bool:
    """Whether a relation says no more than that the target is in a building."""
    return predicate == "in" and other.rpartition(" ")[2] in INDOORS


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
    thing = thing_of(query.target)
    if (
        query.kind in (AnswerKind.POSITION, AnswerKind.TIME, AnswerKind.TEXT, AnswerKind.DURATION)
        and thing != query.target
    ):
        found += [Wording(w.text, w.weight * THING_WEIGHT, part=True) for w in wordings(thing)]
    return found


def needed_support(query: Query) -> float:
    """Support that makes a sighting of the query's target."""
    words = [term for term in dict.fromkeys(terms(query.target)) if term not in NUMBERS]
    count = len(words) + (2 if is_clause(query.target) else 0)
    table = NEEDED_OTHERWISE
    if query.kind in (AnswerKind.POSITION, AnswerKind.TIME):
        been = query.motion is not None and query.motion.kind is MotionKind.AT_PLACE
        table = NEEDED_TOLD if query.factive or been else NEEDED
    return table[min(max(count, 1), len(table)) - 1]
