"""A memory as questions see it: its index, scenes, stays inside and outside, and what was found in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.text_index import Cut, TextIndex
from vlkng_ros.retrieval.evidence import FrameEvidence
from vlkng_ros.retrieval.follower import IndexFollower
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.matching import Encoded, Fit
from vlkng_ros.retrieval.places import Leaning, Stay, stays
from vlkng_ros.retrieval.ranking import Peaks, scale_of
from vlkng_ros.types import FloatArray, TextEncoder


@dataclass(frozen=True)
class Scene:
    """The part of the memory that a question may see: its frames' columns are counted from ``cut.first``."""

    cut: Cut
    keyframe_ids: NDArray[np.int64]
    stamps_ns: NDArray[np.int64]
    positions_m: FloatArray

    def __len__(self) -> int:
        return len(self.stamps_ns)

    def frame_of(self, keyframe_id: int, index: TextIndex) -> int | None:
        """A keyframe's place in it, or None where it is not there."""
        frame = index.frame_of(keyframe_id)
        return frame - self.cut.first if frame is not None and self.cut.first <= frame < self.cut.last else None

    @cached_property
    def scale(self) -> float:
        """What distances of ``ranking`` are multiplied by."""
        return scale_of(self.positions_m)


@dataclass(frozen=True, slots=True)
class Found:
    """What the memory holds about a target.

    ``peaks`` are places, best first. ``support`` in 0..1 is how much of the target any text says, ``needed`` how
    much of it makes a sighting.
    """

    peaks: Peaks
    evidence: FrameEvidence
    total: FrameScores
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
        self._given = encoder
        self._revision = -1
        """That at which it was looked whose vectors the memory has."""
        self._open()

    def _open(self) -> None:
        """Make everything that depends on whose vectors the memory has."""
        self._encoder_id = self.reader.encoder_id
        usable = self._given is not None and self._given.encoder_id == self._encoder_id
        encoder = self._given if usable else None
        self._follower = IndexFollower(self.reader, encoder.dimensions if encoder is not None else 0)
        self.encoded = Encoded(encoder)
        self._renew()

    def _renew(self) -> None:
        self._leaning = Leaning(self.index, self.encoded)
        self._known_as = (self._follower.index, self._follower.alterations)

    @property
    def index(self) -> TextIndex:
        """The text index as of the last refresh."""
        return self._follower.index

    def refresh(self) -> None:
        """Follow the memory."""
        changes = self._follower.refresh()
        if changes.revision != self._revision:
            self._revision = changes.revision
            if self.reader.encoder_id != self._encoder_id:
                self._open()
        if (self._follower.index, self._follower.alterations) != self._known_as:
            self._renew()

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

    def best_sentences(self, scene: Scene, found: Found, frame: int, limit: int = 3) -> list[tuple[str, float]]:
        """Texts of a frame of the scene that speak most for the target: ``(text, support)``, best first."""
        place = {int(slot): i for i, slot in enumerate(found.fit.slots)}
        said = self.index.texts_of(scene.cut.first + frame)
        ranked = sorted({place[int(slot)] for slot in said if int(slot) in place})
        return [(self.index.texts[int(found.fit.slots[i])], float(found.fit.support[i])) for i in ranked[:limit]]
