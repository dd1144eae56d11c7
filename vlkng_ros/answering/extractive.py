"""Answers without a model: one value of the question's kind, from the evidence and the robot's own track."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from vlkng_ros.answering.confidence import absence, confidence
from vlkng_ros.answering.counting import at_once, everything, things_of
from vlkng_ros.answering.describing import describe, then_seen
from vlkng_ros.answering.doubts import doubted, whether_still
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.open_answers import ANYTHING, is_anything, listed, of_anything, of_choices
from vlkng_ros.answering.relating import Relating
from vlkng_ros.answering.several import of_several
from vlkng_ros.answering.sightings import longest, runs_of, seen_in_order
from vlkng_ros.memory.words import COLORS, terms
from vlkng_ros.retrieval.amounts import ANY
from vlkng_ros.retrieval.events import Event, chosen, events_of
from vlkng_ros.retrieval.kinds import things_of_kind
from vlkng_ros.retrieval.motion import standing
from vlkng_ros.retrieval.motion_phrases import Boundary, Motion, MotionKind
from vlkng_ros.retrieval.padding import TRIP
from vlkng_ros.retrieval.phrases import is_doing
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.types import NS_PER_S, AnswerKind, Vec3

EVENT_CONFIDENCE = 0.8
"""Of what the track and the stays tell: right in about so many of the events looked at."""
WAIT_REACH_NS = 120 * NS_PER_S
"""A wait for entering is the longest stop that near to it."""


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

    def draft(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Draft:
        """The answer to a query over a scene that is not empty."""
        return doubted(query, self._drafted(query, scene, asker_m), self._retriever, scene)

    def _drafted(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Draft:
        if query.beyond:
            return Draft(query.kind, None, 0.0, reason=query.beyond)
        if query.kind is AnswerKind.BINARY and query.target in ANYTHING and query.motion is None:
            return is_anything(query, self._retriever, self._finder, scene, asker_m, self._min_confidence)
        if query.than:
            return seen_in_order(query, self._finder, scene, asker_m, self._min_confidence)
        if query.motion is not None and query.motion.kind is MotionKind.MOVE and query.target:
            scene_of_target = self._circumstance(query.motion, scene)
            offset, scene = scene_of_target
            return _shifted(self._of_target(query, scene, asker_m), offset)
        if query.open and not query.choices:
            offset = 0
            if query.motion is not None:
                offset, scene = self._circumstance(query.motion, scene)
            if not len(scene):
                return Draft(query.kind, None, 0.0, reason="nothing was recorded in that time")
            return _shifted(
                of_anything(query, self._retriever, self._finder, scene, asker_m, self._min_confidence), offset
            )
        if query.parts and len(scene):
            return of_several(query, lambda part: self._of_target(part, scene, asker_m))
        if query.choices and (query.motion is None or query.motion.leaves_target):
            return of_choices(query, self._finder, scene, asker_m, self._min_confidence)
        if query.motion is not None and query.motion.kind is not MotionKind.AT_PLACE:
            return self._of_motion(query, query.motion, scene, asker_m)
        return self._of_target(query, scene, asker_m)

    # ------------------------------------------------------------------------------------------ things seen

    def _of_target(self, query: Query, scene: Scene, asker_m: Vec3 | None) -> Draft:
        if not len(scene):
            return Draft(query.kind, None, 0.0, thing=query.target, reason="nothing was recorded in that time")
        if not query.target and query.kind is AnswerKind.POSITION and query.times:
            last = len(scene) - 1
            return Draft(query.kind, last, EVENT_CONFIDENCE, ((last, 1.0),))
        if query.kind is AnswerKind.COUNT and not query.target:
            return everything(query, self._retriever, self._finder, scene)
        if query.kind is AnswerKind.DURATION and query.target in TRIP:
            whole = float(scene.stamps_ns[-1] - scene.stamps_ns[0]) / NS_PER_S
            return Draft(query.kind, whole, EVENT_CONFIDENCE, ((0, 1.0), (len(scene) - 1, 0.9)))
        if query.apart_from:
            return self._relating(scene, asker_m).distance(query)
        if query.kind is AnswerKind.COUNT and (place := self._relating(scene, asker_m).unknown_place(query)):
            return Draft(query.kind, None, 0.0, reason=f"I saw {query.target}, and do not know which place is {place}")
        found = self._finder.find(query, scene, asker_m)
        sure = confidence(found.support, found.needed)
        frames = tuple(zip(found.peaks.frames.tolist(), found.peaks.scores.tolist(), strict=True))
        if query.kind is AnswerKind.BINARY and query.amount != ANY:
            return self._amount(query, scene, found, frames, sure)
        if query.kind is AnswerKind.BINARY:
            return self._binary(query, scene, asker_m, frames, sure)
        unseen = Draft(query.kind, None, absence(sure, len(scene)), frames, thing=query.target)
        if sure < self._min_confidence or not frames:
            return dataclasses.replace(unseen, value=0) if query.kind is AnswerKind.COUNT else unseen
        top = frames[0][0]
        if query.kind is AnswerKind.POSITION:
            return Draft(query.kind, top, sure, frames, thing=query.target)
        if query.kind is AnswerKind.TIME:
            return self._time(query, scene, found, frames, sure)
        if query.kind is AnswerKind.DURATION:
            first, last = longest(runs_of(found.total), scene)
            seconds = float(scene.stamps_ns[last] - scene.stamps_ns[first]) / NS_PER_S
            return Draft(query.kind, seconds, sure, frames, thing=query.target)
        if query.kind is AnswerKind.COUNT:
            return self._count(query, scene, found, frames, sure)
        if query.attribute == "distance" and asker_m is not None:
            away = scene.positions_m[top, :2].astype(np.float64) - np.asarray(asker_m[:2])
            text = f"{float(np.hypot(away[0], away[1])):.1f} m away, where I saw it from"
            return Draft(query.kind, text, sure, frames, thing=query.target)
        if query.attribute in ("after", "before"):
            labels, others = then_seen(query, self._retriever, scene, found)
            text = listed(labels)
            reason = "" if text else f"I do not remember anything {query.attribute} {query.target}"
            return Draft(query.kind, text or None, sure, tuple((f, 1.0) for f in others), reason=reason)
        text = describe(query, self._retriever, scene, found, [frame for frame, _ in frames])
        reason = "" if text else f"I saw {query.target}, and do not remember that of it"
        return Draft(query.kind, text or None, sure, frames, thing=query.target, reason=reason)

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
        known = self._relating(scene, asker_m).thing(query, query.target)
        return whether_still(told, known, self._retriever, self._finder.in_view, scene)

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
            runs = runs_of(found.total)
            best = found.total.best(1)[0]
            run = next(run for run in runs if run[0] <= best <= run[1])
            frame = {Boundary.BEGIN: run[0], Boundary.END: run[1], Boundary.DURING: frame}[query.motion.boundary]
        return Draft(query.kind, int(scene.stamps_ns[frame]), sure, frames, thing=query.target, events=(frame,))

    def _count(
        self, query: Query, scene: Scene, found: Found, frames: tuple[tuple[int, float], ...], sure: float
    ) -> Draft:
        """Occasions, or things: those of the preset's view, and at least as many as a frame shows at once."""
        if query.times_asked:
            count = len(runs_of(found.total))
        else:
            things = 0 if query.relation is not None else things_of(query, self._retriever, self._finder, scene, found)
            count = max(things, at_once(query, self._retriever, scene, found))
            count = count or max(1, *(int(found.evidence.instances.of(frame)) for frame, _ in frames))
        return Draft(query.kind, count, sure, frames, thing=query.target)

    def _amount(
        self, query: Query, scene: Scene, found: Found, frames: tuple[tuple[int, float], ...], sure: float
    ) -> Draft:
        """Whether there were so many."""
        if sure < self._min_confidence or not frames:
            return Draft(query.kind, query.amount.holds(0), absence(sure, len(scene)), (), thing=query.target)
        count = int(self._count(query, scene, found, frames, sure).value or 0)
        yes = query.amount.holds(count) is not query.negated
        also = f"I counted {count}."
        return Draft(query.kind, yes, sure, frames, thing=query.target, events=(frames[0][0],), also=also)

    # ------------------------------------------------------------------------------------------ own doings

    def _of_motion(self, query: Query, motion: Motion, scene: Scene, asker_m: Vec3 | None) -> Draft:
        offset, part = self._circumstance(motion, scene)
        if motion.kind is MotionKind.STOP and motion.before is not None:
            offset, part = 0, scene
        if not len(part):
            return Draft(query.kind, None, EVENT_CONFIDENCE, thing=_doing(motion))
        events = events_of(motion, self._retriever, part)
        event = chosen(events, query.ordinal)
        if motion.leaves_target and query.target:
            event = self._event_at(query, part, events, asker_m)
        answer = _MOTION[query.kind]
        return _shifted(answer(self, query, motion, part, events, event), offset)

    def _is_seen(self, query: Query, scene: Scene) -> bool:
        found = self._finder.find(query, scene, None)
        return confidence(found.support, found.needed) >= self._min_confidence

    def _event_at(self, query: Query, scene: Scene, events: list[Event], asker_m: Vec3 | None) -> Event | None:
        """The event at which the target is best supported, where it is supported at all."""
        found = self._finder.find(query, scene, asker_m)
        if confidence(found.support, found.needed) < self._min_confidence or not events:
            return None
        return max(events, key=lambda event: found.total.between(event.first, event.last).highest)

    def _circumstance(self, motion: Motion, scene: Scene) -> tuple[int, Scene]:
        """The scene after or before another doing, and where it begins in the whole."""
        first, last = 0, len(scene)
        for kind, after in ((motion.after, True), (motion.before, False)):
            if kind is None:
                continue
            found = events_of(Motion(kind), self._retriever, scene)
            if found and after:
                first = found[-1].first
            elif found:
                last = found[0].first
        return first, self._retriever.part(scene, first, max(first, last))

    def _motion_binary(
        self, query: Query, motion: Motion, scene: Scene, events: list[Event], event: Event | None
    ) -> Draft:
        if motion.kind in (MotionKind.INSIDE, MotionKind.OUTSIDE) and query.present:
            yes = bool(events) and events[-1].last == len(scene) - 1
        elif motion.kind is MotionKind.STOP and query.present:
            seen = not query.target or self._is_seen(query, scene)
            yes = seen and standing(scene.positions_m, scene.stamps_ns)
            event = None
        else:
            yes = event is not None
            if motion.kind is MotionKind.LEAVE and not yes:
                yes = bool(events_of(Motion(MotionKind.OUTSIDE), self._retriever, scene))
        frame = event.frame if event is not None else len(scene) - 1
        return Draft(query.kind, yes, EVENT_CONFIDENCE, ((frame, 1.0),), thing=_doing(motion), events=(frame,))

    def _motion_place(
        self, query: Query, motion: Motion, scene: Scene, events: list[Event], event: Event | None
    ) -> Draft:
        if event is None:
            return Draft(query.kind, None, EVENT_CONFIDENCE, thing=_doing(motion))
        others = tuple((e.frame, 0.5) for e in reversed(events) if e is not event)
        return Draft(query.kind, event.frame, EVENT_CONFIDENCE, ((event.frame, 1.0), *others), events=(event.frame,))

    def _motion_time(
        self, query: Query, motion: Motion, scene: Scene, events: list[Event], event: Event | None
    ) -> Draft:
        place = self._motion_place(query, motion, scene, events, event)
        if place.value is None:
            return place
        frame = int(place.value)
        if motion.kind in (MotionKind.INSIDE, MotionKind.OUTSIDE) and event is not None:
            frame = (event.first + event.last) // 2
        return dataclasses.replace(place, value=int(scene.stamps_ns[frame]), events=(frame,))

    def _motion_duration(
        self, query: Query, motion: Motion, scene: Scene, events: list[Event], event: Event | None
    ) -> Draft:
        if motion.kind is MotionKind.STOP and motion.before is not None:
            entered = events_of(Motion(motion.before), self._retriever, scene)
            if entered:
                at = scene.stamps_ns[entered[0].frame]
                events = [e for e in events if abs(int(scene.stamps_ns[e.first] - at)) <= WAIT_REACH_NS]
        if motion.kind in (MotionKind.ENTER, MotionKind.LEAVE):
            wanted = MotionKind.INSIDE if motion.kind is MotionKind.ENTER else MotionKind.OUTSIDE
            events = events_of(Motion(wanted), self._retriever, scene)
        if not events:
            return Draft(query.kind, None, EVENT_CONFIDENCE, thing=_doing(motion))
        if query.present and events[-1].last == len(scene) - 1:
            event = events[-1]
        else:
            event = max(events, key=lambda e: int(scene.stamps_ns[e.last] - scene.stamps_ns[e.first]))
        seconds = float(scene.stamps_ns[event.last] - scene.stamps_ns[event.first]) / NS_PER_S
        return Draft(
            query.kind,
            seconds,
            EVENT_CONFIDENCE,
            ((event.first, 1.0), (event.last, 0.9)),
            events=(event.first, event.last),
        )

    def _motion_count(
        self, query: Query, motion: Motion, scene: Scene, events: list[Event], event: Event | None
    ) -> Draft:
        frames = tuple((e.frame, 1.0) for e in events)
        return Draft(query.kind, len(events), EVENT_CONFIDENCE, frames, events=tuple(e.frame for e in events))

    def _motion_text(
        self, query: Query, motion: Motion, scene: Scene, events: list[Event], event: Event | None
    ) -> Draft:
        if motion.kind is MotionKind.TURN:
            turned = events_of(Motion(MotionKind.TURN), self._retriever, scene)
            first = turned[0] if motion.after is not None and turned else chosen(turned, query.ordinal)
            if first is None:
                return Draft(query.kind, None, EVENT_CONFIDENCE, thing=_doing(motion))
            return Draft(
                query.kind,
                f"I turned {first.direction}",
                EVENT_CONFIDENCE,
                ((first.frame, 1.0),),
                events=(first.frame,),
            )
        place = self._motion_place(query, motion, scene, events, event)
        if place.value is None:
            return place
        sentences = [
            self._retriever.index.texts[slot]
            for slot in self._retriever.index.texts_of(scene.cut.first + int(place.value))
        ]
        return dataclasses.replace(place, value=" ".join(sentences[:3]) or None)


_MOTION: dict[AnswerKind, Callable[[Extractive, Query, Motion, Scene, list[Event], Event | None], Draft]] = {
    AnswerKind.BINARY: Extractive._motion_binary,
    AnswerKind.POSITION: Extractive._motion_place,
    AnswerKind.TIME: Extractive._motion_time,
    AnswerKind.DURATION: Extractive._motion_duration,
    AnswerKind.COUNT: Extractive._motion_count,
    AnswerKind.TEXT: Extractive._motion_text,
}


def _doing(motion: Motion) -> str:
    return {
        MotionKind.ENTER: "entering a building",
        MotionKind.LEAVE: "leaving a building",
        MotionKind.INSIDE: "being in a building",
        MotionKind.OUTSIDE: "being outside",
        MotionKind.TURN: f"turning {motion.direction}".strip(),
        MotionKind.STOP: "stopping",
    }.get(motion.kind, "doing that")


def _shifted(draft: Draft, offset: int) -> Draft:
    """A draft over a part of a scene as one over the whole."""
    if not offset:
        return draft
    value = draft.value
    if draft.kind is AnswerKind.POSITION and value is not None:
        value = int(value) + offset
    frames = tuple((frame + offset, score) for frame, score in draft.frames)
    return dataclasses.replace(draft, value=value, frames=frames, events=tuple(f + offset for f in draft.events))
