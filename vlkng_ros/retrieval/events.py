"""The robot's own doings as events of a scene: when it entered, left, turned, stopped."""

from __future__ import annotations

from dataclasses import dataclass

from vlkng_ros.retrieval.motion import AROUND_RAD, stops, turns
from vlkng_ros.retrieval.motion_phrases import Motion, MotionKind
from vlkng_ros.retrieval.places import Stay
from vlkng_ros.retrieval.retriever import Retriever, Scene


@dataclass(frozen=True, slots=True)
class Event:
    """Something the robot did: at ``frame``, in frames ``[first, last]`` of the scene."""

    kind: MotionKind
    frame: int
    first: int
    last: int
    angle_rad: float = 0.0

    @property
    def direction(self) -> str:
        """``left``, ``right`` or ``around``; empty where it is no turn."""
        if self.kind is not MotionKind.TURN:
            return ""
        return "around" if abs(self.angle_rad) >= AROUND_RAD else "left" if self.angle_rad > 0 else "right"


def events_of(motion: Motion, retriever: Retriever, scene: Scene) -> list[Event]:
    """Events of the kind that a question is about, in order of time.

    Of being inside or outside these are the stays; of entering and leaving the first frame on the other side.
    """
    if not len(scene):
        return []
    kind = motion.kind
    if kind is MotionKind.TURN:
        found = [Event(kind, turn.frame, turn.first, turn.last, turn.angle_rad) for turn in turns(scene.positions_m)]
        return [event for event in found if _matches(event, motion.direction)]
    if kind is MotionKind.STOP:
        return [Event(kind, s.first, s.first, s.last) for s in stops(scene.positions_m, scene.stamps_ns)]
    if kind is MotionKind.START:
        return [Event(kind, 0, 0, 0)]
    if kind is MotionKind.MOVE:
        last = len(scene) - 1
        return [Event(kind, last, 0, last)]
    if kind in (MotionKind.INSIDE, MotionKind.OUTSIDE):
        wanted = kind is MotionKind.INSIDE
        return [Event(kind, s.first, s.first, s.last) for s in retriever.stays(scene) if s.inside is wanted]
    if kind in (MotionKind.ENTER, MotionKind.LEAVE):
        return [Event(kind, s.first, s.first, s.last) for s in borders(retriever.stays(scene), kind)]
    return []


def borders(found: list[Stay], kind: MotionKind) -> list[Stay]:
    """Stays that begin by entering (or leaving) a building within the scene."""
    return [stay for stay in found[1:] if stay.inside is (kind is MotionKind.ENTER)]


def _matches(event: Event, direction: str) -> bool:
    if not direction:
        return True
    if direction == "around":
        return abs(event.angle_rad) >= AROUND_RAD
    return (event.angle_rad > 0) is (direction == "left")


def chosen(events: list[Event], ordinal: int) -> Event | None:
    """The event an ordinal names; without one the latest. None where there are not so many."""
    if not events:
        return None
    if ordinal > 0:
        return events[ordinal - 1] if ordinal <= len(events) else None
    return events[-1]
