"""Answers without a model: one value of the question's kind, from the evidence and the robot's own track."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from vlkng_ros.answering.changes import of_change, whether_still
from vlkng_ros.answering.confidence import absence, confidence
from vlkng_ros.answering.counting import compared, counted, everything
from vlkng_ros.answering.describing import describe, then_seen
from vlkng_ros.answering.distances import BY_DISTANCE, distance, from_asker, near_asker, ordered
from vlkng_ros.answering.doings import EVENT_CONFIDENCE, Doings
from vlkng_ros.answering.doubts import doubted
from vlkng_ros.answering.draft import Draft, shifted
from vlkng_ros.answering.likeness import nearest_to_it
from vlkng_ros.answering.most import longest_stay, place_of_most, seen_most, seen_so_often, whether_most
from vlkng_ros.answering.open_answers import ANYTHING, is_anything, listed, of_anything, of_choices
from vlkng_ros.answering.recurring import at_each
from vlkng_ros.answering.relating import Relating
from vlkng_ros.answering.several import of_several
from vlkng_ros.answering.sightings import clear_runs, runs_of, seconds_of, seen_in_order, time_between
from vlkng_ros.answering.together import of_together
from vlkng_ros.answering.wording import span
from vlkng_ros.memory.words import COLORS, terms
from vlkng_ros.retrieval.amounts import ANY
from vlkng_ros.retrieval.comparing import Most
from vlkng_ros.retrieval.excluding import unheard
from vlkng_ros.retrieval.grammar import NEAR, ORDINAL_TIME, PREDICATES
from vlkng_ros.retrieval.kinds import things_of_kind
from vlkng_ros.retrieval.lasting import Lasting
from vlkng_ros.retrieval.motion_phrases import Boundary, MotionKind
from vlkng_ros.retrieval.padding import TRIP
from vlkng_ros.retrieval.phrases import is_doing
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.retrieval.targets import Relation
from vlkng_ros.types import NS_PER_S, AnswerKind, Vec3

_THINGS_NEAR = re.compile(
    r"^(?:how many|(?:is|are|was|were) there .+) (?:things|objects|items) (?:are |were |is )?(?:there )?"
    r"(?P<how>near|next to|beside|around|close to|by|on top of|on|under|below|above|behind|in front of)\b"
)
_STANDS = re.compile(rf"(?:ones? )?{NEAR}\b")
"""What must not be true of a thing is where it stands ("not near the cup"): nothing looks for that."""
_THE_NEAREST = re.compile(
    r"\bthe (?P<which>(?:near|clos|farth|furth)est)(?: (?:thing|one|object)| (?:to|from) \w+)?[ ?.!]*$"
)
"""Whether a thing is the one that is nearest of all."""


class Extractive:
    """The answerer ``extractive``.

    Args:
        retriever: index, scenes and stays of the memory.
        finder: the preset's ranking of keyframes.
        min_confidence: below it a thing was not seen.
    """

    def __init__(self, retriever: Retriever, finder: Finder, min_confidence: float) -> None:
        self._retriever = retriever
        self._finder = finder
        self._min_confidence = min_confidence
        self._doings = Doings(retriever, finder, min_confidence)

    def draft(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Draft:
        """The answer to a query over a scene that is not empty."""
        draft = doubted(query, self._drafted(query, scene, asker_m), self._retriever, scene)
        unknown = unheard(query.excluded, self._retriever.index, scene.cut) if draft.value is not None else []
        if not unknown:
            return draft
        return dataclasses.replace(draft, also=f"{draft.also} Nothing I saw was called {' or '.join(unknown)}.".strip())

    def _drafted(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Draft:
        if query.beyond:
            return Draft(query.kind, None, 0.0, reason=query.beyond)
        if apart := next((phrase for phrase in query.excluded if _STANDS.match(phrase)), ""):
            return Draft(query.kind, None, 0.0, reason=f"I do not understand 'not {apart}'")
        if query.every is not None and len(scene):
            return at_each(query, query.every, self._finder, scene, asker_m, self._min_confidence)
        if query.lasting is not None:
            return self._lasted(query, query.lasting, scene, asker_m)
        if query.compared or query.change or query.together or query.most or query.order == "until":
            return self._comparing(query, scene, asker_m)
        if query.kind is AnswerKind.BINARY and query.target in ANYTHING and query.motion is None:
            return is_anything(query, self._retriever, self._finder, scene, asker_m, self._min_confidence)
        if query.than:
            return seen_in_order(query, self._finder, scene, asker_m, self._min_confidence)
        if query.motion is not None and query.motion.kind is MotionKind.MOVE and query.target:
            offset, scene = self._doings.circumstance(query.motion, scene)
            return shifted(self._of_target(query, scene, asker_m), offset)
        if query.open and query.times_asked and len(scene):
            return seen_so_often(query, self._relating(scene, asker_m))
        if query.open and not query.choices:
            offset = 0
            if query.motion is not None:
                offset, scene = self._doings.circumstance(query.motion, scene)
            if not len(scene):
                return Draft(query.kind, None, 0.0, reason="nothing was recorded in that time")
            told = of_anything(query, self._retriever, self._finder, scene, asker_m, self._min_confidence)
            if query.kind is AnswerKind.POSITION and isinstance(told.value, str):
                also = f"That is {told.value}. {told.also}".strip()
                told = dataclasses.replace(told, value=told.frames[0][0], also=also)
            return shifted(told, offset)
        if query.parts and len(scene):
            return of_several(query, lambda part: self._of_target(part, scene, asker_m))
        if query.choices and (query.motion is None or query.motion.leaves_target):
            return of_choices(query, self._retriever, self._finder, scene, asker_m, self._min_confidence)
        if query.motion is not None and query.motion.kind is not MotionKind.AT_PLACE:
            return self._doings.answered(query, query.motion, scene, asker_m)
        return self._of_target(query, scene, asker_m)

    def _comparing(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Draft:
        """How things compare to each other, to other times and to all there is."""
        if not len(scene):
            return Draft(query.kind, None, 0.0, reason="nothing was recorded in that time")
        if query.compared is not None:
            return compared(query.compared, query.kind, lambda thing, often: self._how_many(thing, often, scene))
        if query.order == "until":
            return time_between(query, self._finder, scene, asker_m, self._min_confidence)
        relating = self._relating(scene, asker_m)
        if query.change is not None:
            return of_change(query, relating)
        if query.together is not None:
            return of_together(query, relating)
        if query.most is Most.LONG:
            return longest_stay(query, relating)
        if query.open:
            return seen_most(query, relating)
        if query.kind is AnswerKind.BINARY:
            return whether_most(query, relating)
        draft = self._of_target(query, scene, asker_m)
        return place_of_most(query, relating, draft) if query.kind is AnswerKind.POSITION else draft

    def _how_many(self, thing: str, occasions: bool, scene: Scene) -> Draft:
        asked = Query(f"how many {thing}", AnswerKind.COUNT, thing, thing, times_asked=occasions)
        return doubted(asked, self._of_target(asked, scene, None), self._retriever, scene)

    # ------------------------------------------------------------------------------------------ things seen

    def _of_target(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Draft:
        if not len(scene):
            return Draft(query.kind, None, 0.0, thing=query.target, reason="nothing was recorded in that time")
        if not query.target and query.kind is AnswerKind.POSITION and query.times:
            last = len(scene) - 1
            return Draft(query.kind, last, EVENT_CONFIDENCE, ((last, 1.0),))
        if near := _THINGS_NEAR.search(query.text.lower()):
            return self._things_near(query, near["how"], scene, asker_m)
        if query.kind is AnswerKind.COUNT and not query.target:
            return everything(query, self._retriever, self._finder, scene)
        if query.kind is AnswerKind.DURATION and query.target in TRIP:
            whole = float(scene.stamps_ns[-1] - scene.stamps_ns[0]) / NS_PER_S
            return Draft(query.kind, whole, EVENT_CONFIDENCE, ((0, 1.0), (len(scene) - 1, 0.9)))
        if query.apart_from:
            return distance(query, self._relating(scene, asker_m))
        if query.attribute == "distance":
            return from_asker(query, self._relating(scene, asker_m))
        if query.kind is AnswerKind.COUNT and (place := self._relating(scene, asker_m).unknown_place(query)):
            return Draft(query.kind, None, 0.0, reason=f"I saw {query.target}, and do not know which place is {place}")
        if query.kind is AnswerKind.POSITION and not query.target and query.superlative in BY_DISTANCE:
            asked = dataclasses.replace(query, open=True)
            placed = of_anything(asked, self._retriever, self._finder, scene, asker_m, self._min_confidence)
            return dataclasses.replace(placed, value=placed.frames[0][0]) if placed.frames else placed
        found = self._finder.find(query, scene, asker_m)
        sure = confidence(found.support, found.needed)
        frames = tuple(zip(found.peaks.frames.tolist(), found.peaks.scores.tolist(), strict=True))
        if query.kind is AnswerKind.BINARY and query.amount != ANY:
            return self._amount(query, scene, found, frames, sure)
        if query.kind is AnswerKind.BINARY:
            return self._binary(query, scene, asker_m, frames, sure)
        besides = f" other than {' or '.join(query.excluded)}" if query.excluded else ""
        thing = query.target if query.relation is None else query.whole
        unseen = Draft(query.kind, None, absence(sure, len(scene)), frames, thing=f"{thing}{besides}".strip())
        if sure < self._min_confidence or not frames:
            if query.kind is AnswerKind.COUNT:
                return dataclasses.replace(unseen, value=0)
            return dataclasses.replace(unseen, also=nearest_to_it(query, self._retriever, found))
        if query.ordinal > 1 and query.motion is None and ORDINAL_TIME.search(query.text.lower()):
            runs = runs_of(found.total)
            if len(runs) < query.ordinal:
                reason = f"I saw {query.target} {len(runs)} time{'s' if len(runs) > 1 else ''}"
                return Draft(query.kind, None, 0.0, frames, reason=reason)
            frames = ((runs[query.ordinal - 1][0], frames[0][1]), *frames)
        top = frames[0][0]
        if query.kind is AnswerKind.POSITION:
            draft = Draft(query.kind, top, sure, frames, thing=query.target)
            return ordered(query, self._relating(scene, asker_m), draft)
        if query.kind is AnswerKind.TIME:
            return self._time(query, scene, found, frames, sure)
        if query.kind is AnswerKind.DURATION:
            return self._duration(query, scene, found, frames, sure)
        if query.kind is AnswerKind.COUNT:
            return counted(query, self._retriever, self._finder, scene, found, frames, sure)
        if query.attribute in ("after", "before"):
            labels, others = then_seen(query, self._retriever, scene, found)
            text = listed(labels)
            reason = "" if text else f"I do not remember anything {query.attribute} {query.target}"
            return Draft(query.kind, text or None, sure, tuple((f, 1.0) for f in others), reason=reason)
        text = describe(query, self._retriever, scene, found, [frame for frame, _ in frames])
        reason = "" if text else f"I saw {query.target}, and do not remember that of it"
        draft = Draft(query.kind, text or None, sure, frames, thing=query.target, reason=reason)
        return ordered(query, self._relating(scene, asker_m), draft)

    def _things_near(self, query: Query, how: str, scene: Scene, asker_m: Vec3 | None) -> Draft:
        """Things of any kind beside another one are named, not counted: of most it is not known where they stand."""
        to = Relation(PREDICATES.get(how, how), (query.target,), how)
        asked = dataclasses.replace(query, kind=AnswerKind.TEXT, target="", open=True, relation=to, amount=ANY)
        draft = of_anything(asked, self._retriever, self._finder, scene, asker_m, self._min_confidence)
        known = f"; I know of {draft.value}" if draft.value is not None else ""
        reason = f"I do not know how many things are {how} {query.target}{known}"
        return Draft(query.kind, None, 0.0, draft.frames, reason=reason)

    def _relating(self, scene: Scene, asker_m: Vec3 | None) -> Relating:
        return Relating(self._retriever, self._finder, scene, asker_m, self._min_confidence)

    def _binary(
        self, query: Query, scene: Scene, asker_m: Vec3 | None, frames: tuple[tuple[int, float], ...], sure: float
    ) -> Draft:
        """Whether it was seen and, where the question says how it stands to another thing, whether it stands so."""
        seen = sure >= self._min_confidence and bool(frames)
        if query.relation is not None and (unknown := self._relating(scene, asker_m).unknown_place(query)):
            reason = f"I saw {query.target}, and do not know which place is {unknown}"
            return Draft(query.kind, None, 0.0, frames, reason=reason)
        thing = query.target if query.relation is None else query.whole
        if query.excluded and things_of_kind(query.target):
            thing = f"{thing} other than {' or '.join(query.excluded)}"
        also = ""
        if seen and query.relation is not None and not is_doing(query.whole):
            judged = self._relating(scene, asker_m).judged(query, query.relation)
            if judged is not None and judged.yes is None:
                return Draft(query.kind, None, 0.0, frames, reason=judged.also)
            if judged is not None:
                also = judged.also
                if not judged.yes:
                    told = Draft(query.kind, query.negated, sure, frames, thing=thing, denied=query.negated)
                    return dataclasses.replace(told, also=also, events=(frames[0][0],))
        if seen and query.superlative in BY_DISTANCE and (asked := _THE_NEAREST.search(query.text.lower())):
            return Draft(query.kind, None, 0.0, frames, reason=f"I saw {query.target}; ask me what is {asked['which']}")
        if seen and query.superlative in BY_DISTANCE and asker_m is not None and not query.described:
            near, also = near_asker(query, self._relating(scene, asker_m))
            if not near:
                told = Draft(query.kind, query.negated, sure, frames, thing=thing, denied=query.negated, also=also)
                return dataclasses.replace(told, events=(frames[0][0],))
        if query.described and (not seen or not terms(query.described)):
            thing_alone = query.target.removeprefix(query.described).strip()
            looked = self._looks(query, thing_alone, scene, asker_m)
            if looked is not None:
                return looked
            return Draft(query.kind, None, absence(sure, len(scene)), frames, thing=thing_alone)
        sure = sure if seen else absence(sure, len(scene))
        told = Draft(query.kind, seen is not query.negated, sure, frames, thing=thing, denied=query.negated, also=also)
        if not (seen and query.still) or query.negated:
            return told
        relating = self._relating(scene, asker_m)
        return whether_still(told, relating.thing(query, query.target), relating)

    def _looks(self, query: Query, thing: str, scene: Scene, asker_m: Vec3 | None) -> Draft | None:
        """Of a thing that was not seen to look as is asked: what it looks like, if it was seen at all."""
        alone = dataclasses.replace(query, target=thing, whole=thing, described="", kind=AnswerKind.TEXT)
        color = dataclasses.replace(alone, attribute="color")
        told = self._of_target(color if query.described in COLORS else alone, scene, asker_m)
        if not told.frames or (told.value is None and not told.reason):
            return None
        if query.described in COLORS and told.value is not None:
            also = f"I saw {told.value} {thing}."
            return Draft(query.kind, False, told.confidence, told.frames, thing=query.target, also=also)
        reason = f"I saw {thing}, and do not remember whether it is {query.described}"
        return Draft(query.kind, None, 0.0, told.frames, reason=reason)

    def _time(
        self, query: Query, scene: Scene, found: Found, frames: tuple[tuple[int, float], ...], sure: float
    ) -> Draft:
        frame = frames[0][0]
        if query.motion is not None and query.motion.kind is MotionKind.AT_PLACE:
            boundary, runs = query.motion.boundary, clear_runs(found, stays=True)
            if query.ordinal > len(runs):
                reason = f"I was at {query.target} {len(runs)} time{'s' if len(runs) > 1 else ''}"
                return Draft(query.kind, None, 0.0, frames, reason=reason)
            # Evidence that hardly ever ends tells nothing of the end.
            still = runs[-1][1] == len(scene) - 1 and runs[-1][0] > len(scene) // 2
            if boundary is Boundary.END and still and query.ordinal in (0, -1, len(runs)):
                if len(runs) == 1 or query.ordinal == len(runs):
                    return Draft(query.kind, None, 0.0, frames, reason=f"I have not left {query.target} yet")
                runs = runs[:-1]
            run = runs[query.ordinal - 1 if query.ordinal > 0 else -1]  # without a word for it the latest
            frame = {Boundary.BEGIN: run[0], Boundary.END: run[1], Boundary.DURING: frame}[boundary]
        return Draft(query.kind, int(scene.stamps_ns[frame]), sure, frames, thing=query.target, events=(frame,))

    def _duration(
        self, query: Query, scene: Scene, found: Found, frames: tuple[tuple[int, float], ...], sure: float
    ) -> Draft:
        """How long it was seen, or the robot was there: altogether, unless the longest time is asked for."""
        sessions = self._retriever.reader.frames().session[scene.cut.first : scene.cut.last]
        breaks = (np.flatnonzero(np.diff(sessions)) + 1).tolist()
        stayed = query.motion is not None and query.motion.kind is MotionKind.AT_PLACE
        runs = clear_runs(found, stays=stayed, breaks=breaks)
        seconds = seconds_of(runs, scene)
        also = "" if len(runs) < 2 else f"The longest of {len(runs)} times." if query.longest else f"{len(runs)} times."
        value = max(seconds) if query.longest else sum(seconds)
        return Draft(query.kind, value, sure, frames, thing=query.target, also=also)

    def _lasted(self, query: Query, lasting: Lasting, scene: Scene, asker_m: Vec3 | None) -> Draft:
        """Whether it lasted so long."""
        asked = dataclasses.replace(query, kind=AnswerKind.DURATION, lasting=None)
        ever = self._drafted(asked, scene, asker_m)
        if not isinstance(ever.value, float):
            value = None if ever.reason else query.negated
            told = dataclasses.replace(ever, kind=query.kind, value=value, denied=query.negated)
            return dataclasses.replace(told, events=(len(scene) - 1,)) if query.motion is not None else told
        yes = lasting.least_s <= ever.value <= lasting.most_s
        also = f"It was {span(ever.value)}."
        events = ever.events or tuple(frame for frame, _ in ever.frames[:1])
        told = dataclasses.replace(ever, kind=query.kind, value=yes is not query.negated, thing="", also=also)
        return dataclasses.replace(told, events=events)

    def _amount(
        self, query: Query, scene: Scene, found: Found, frames: tuple[tuple[int, float], ...], sure: float
    ) -> Draft:
        """Whether there were so many."""
        if sure < self._min_confidence or not frames:
            return Draft(query.kind, query.amount.holds(0), absence(sure, len(scene)), (), thing=query.target)
        draft = counted(query, self._retriever, self._finder, scene, found, frames, sure)
        if draft.value is None:
            return draft
        count = int(draft.value)
        yes = query.amount.holds(count) is not query.negated
        also = f"I counted {count}."
        return Draft(query.kind, yes, sure, frames, thing=query.target, events=(frames[0][0],), also=also)
