"""The chunks of a memory that is associated anew: those that a model described together, else every 8 keyframes."""

from __future__ import annotations

from vlkng_ros.memory.association.stoa import CHUNK_KEYFRAMES, Frames
from vlkng_ros.memory.reader import MemoryReader
from vlkng_ros.memory.spans import CHUNK
from vlkng_ros.types import PerceptionState


class Chunks:
    """Chunks as ``reader`` sees them now; what is described later is not in them."""

    def __init__(self, reader: MemoryReader) -> None:
        self._reader = reader
        self._ids = set(reader.frames().ids.tolist())
        # Local ids hold within what was described together, so such a chunk is never put together with another.
        self._spans = {number: span.keyframe_ids for span in reader.spans(CHUNK) for number in span.keyframe_ids}

    def starting_at(self, keyframe_id: int) -> Frames:
        """The described keyframes from this one to the end of its chunk, each with its observations, in order."""
        together = self._spans.get(keyframe_id)
        if together is None:
            end = (keyframe_id - 1) // CHUNK_KEYFRAMES * CHUNK_KEYFRAMES + CHUNK_KEYFRAMES
            together = tuple(number for number in range(keyframe_id, end + 1) if number not in self._spans)
        ids = [number for number in together if number >= keyframe_id and number in self._ids]
        return [
            (frame, self._reader.observations(frame.keyframe_id))
            for frame in self._reader.keyframes(ids)
            if frame.perception is PerceptionState.DONE
        ]
