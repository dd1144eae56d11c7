"""Caption files into a memory: a keyframe without an image an entry, with everything said about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from vlkng_ros.bags.caption_file import CaptionedFrame
from vlkng_ros.types import Capture, Keyframe, Perception, PerceptionState


class KeyframeSink(Protocol):
    """The part of a memory's writer that an import needs."""

    def start_session(self, *, robot: str, map_id: str, frame_id: str) -> int:
        """Begin a drive; the keyframes that follow belong to it."""
        ...

    def add_keyframe(self, capture: Capture, jpeg: bytes | None = None) -> Keyframe:
        """Remember a frame, description pending."""
        ...

    def add_perception(self, keyframe_id: int, perception: Perception) -> object:
        """Remember what was said about it."""
        ...

    def associate(self, keyframe_id: int) -> object:
        """Decide which things it shows."""
        ...


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import did, in keyframes: new ones, ones that an interrupted import left undescribed, known ones."""

    added: int
    completed: int
    known: int
    detections: int


def import_captions(
    frames: Sequence[CaptionedFrame],
    sink: KeyframeSink,
    *,
    robot: str,
    map_id: str,
    camera: str,
    known: Mapping[int, Keyframe] | None = None,
    tell: Callable[[Perception], Perception] = lambda said: said,
    advance: Callable[[int], object] = lambda _: None,
) -> ImportSummary:
    """Write the frames, each acknowledged before the next; what is known already is not written again.

    Args:
        frames: in order of time, as ``read_captions`` returns them.
        sink: the memory.
        robot: name stored with the session.
        map_id: the map that the positions are in.
        camera: name stored with every keyframe.
        known: the memory's keyframes of this camera, by stamp. An import that was interrupted is taken up again.
        tell: adds what a caption tells of.
        advance: called with 1 after each frame.
    """
    known = known or {}
    added = completed = skipped = detections = 0
    for frame in frames:
        keyframe = known.get(frame.stamp_ns)
        if keyframe is None:
            if not added:
                sink.start_session(robot=robot, map_id=map_id, frame_id=frame.pose.frame_id)
            keyframe = sink.add_keyframe(Capture(frame.stamp_ns, frame.pose, camera=camera))
            added += 1
        elif keyframe.perception is PerceptionState.DONE:
            skipped += 1
            advance(1)
            continue
        else:
            completed += 1
        sink.add_perception(keyframe.keyframe_id, tell(frame.perception))
        sink.associate(keyframe.keyframe_id)
        detections += len(frame.perception.detections)
        advance(1)
    return ImportSummary(added, completed, skipped, detections)
