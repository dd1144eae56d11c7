"""What the robot itself did: where it turned, stopped, entered and left, and how long it was inside."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from vlkng_ros.answering.confidence import confidence
from vlkng_ros.answering.draft import Draft, shifted
from vlkng_ros.answering.sightings import seconds_of
from vlkng_ros.retrieval.events import Event, chosen, events_of
from vlkng_ros.retrieval.motion import standing
from vlkng_ros.retrieval.motion_phrases import Motion, MotionKind
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.types import NS_PER_S, AnswerKind, Vec3

EVENT_CONFIDENCE = 0.8
"""Of what the track and the stays tell: right in about so many of the events looked at."""
WAIT_REACH_NS = 120 * NS_PER_S
"""A wait for entering is the longest stop that near to it."""


class Doings:
    """Answers about the robot's own doings, from its track and the stays.

    Args:
        retriever: index, scenes and stays of the memory.
        finder: the preset's ranking of keyframes.
        min_confidence: below it a thing was not seen.
    """

    def __init__(self, retriever: Retriever, finder: Finder, min_confidence: float) -> None:
        self._retriever = retriever
        self._finder = finder
        self._min_confidence = min_confidence

    def answered(self, query: Query, motion: Motion, scene: Scene, asker_m: Vec3 | None) -> Draft:
        """The answer to a question about a doing."""
        offset, part = self.circumstance(motion, scene)
        if motion.kind is MotionKind.STOP and motion.before is not None:
            offset, part = 0, scene
        if not len(part):
            return Draft(query.kind, None, EVENT_CONFIDENCE, thing=_doing(motion))
        events = events_of(motion, self._retriever, part)
        event = chosen(events, query.ordinal)
        if motion.leaves_target and query.target:
            event = self._event_at(query, part, events, asker_m)
        answer = _MOTION[query.kind]
        return shifted(answer(self, query, motion, part, events, event), offset)

    def _is_seen(self, query: Query, scene: Scene) -> bool:
        found = self._finder.find(query, scene, None)
        return confidence(found.support, found.needed) >= self._min_confidence

    def _event_at(self, query: Query, scene: Scene, events: list[Event], asker_m: Vec3 | None) -> Event | None:
        """The event at which the target is best supported, where it is supported at all."""
        found = self._finder.find(query, scene, asker_m)
        if confidence(found.support, found.needed) < self._min_confidence or not events:
            return None
        return max(events, key=lambda event: found.total.between(event.first, event.last).highest)

    def circumstance(self, motion: Motion, scene: Scene) -> tuple[int, Scene]:
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
            yes = (seen and standing(scene.positions_m, scene.stamps_ns)) is not motion.denied
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
        seconds = seconds_of([(e.first, e.last) for e in events], scene)
        longest = seconds.index(max(seconds))
        now = query.present and events[-1].last == len(scene) - 1
        chosen_one = len(events) - 1 if now else longest
        event = events[chosen_one]
        one = now or query.longest or motion.before is not None  # a wait before something is one of the stops
        also = f"{len(events)} times." if len(events) > 1 and not one else ""
        return Draft(
            query.kind,
            seconds[chosen_one] if one else sum(seconds),
            EVENT_CONFIDENCE,
            ((event.first, 1.0), (event.last, 0.9)),
            events=(event.first, event.last),
            also=also,
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


_MOTION: dict[AnswerKind, Callable[[Doings, Query, Motion, Scene, list[Event], Event | None], Draft]] = {
    AnswerKind.BINARY: Doings._motion_binary,
    AnswerKind.POSITION: Doings._motion_place,
    AnswerKind.TIME: Doings._motion_time,
    AnswerKind.DURATION: Doings._motion_duration,
    AnswerKind.COUNT: Doings._motion_count,
    AnswerKind.TEXT: Doings._motion_text,
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
