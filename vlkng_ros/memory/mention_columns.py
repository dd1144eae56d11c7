"""Which keyframe mentions which text: by keyframe, in order of time, and by text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.column import Column


class MentionColumns:
    """Mentions as columns, frames ascending."""

    def __init__(self) -> None:
        self._slots = Column(np.int32)
        self._frames = Column(np.int32)
        self._caption = Column(np.bool_)
        self._by_slot = np.zeros(0, dtype=np.int64)
        """Base of the inverted mentions: ``slot << 32 | frame`` sorted; what came later is scanned."""

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def last_frame(self) -> int:
        """Frame of the last mention, -1 where there is none."""
        return int(self._frames.view()[-1]) if len(self) else -1

    def extend(self, slots: NDArray[np.int32], frames: NDArray[np.int32], caption: NDArray[np.bool_]) -> None:
        """Add mentions; none of a frame before the last."""
        self._slots.extend(slots)
        self._frames.extend(frames)
        self._caption.extend(caption)
        if len(self) - len(self._by_slot) > max(16_384, len(self._by_slot) // 8):
            self.invert()

    def invert(self) -> None:
        """Sort all that is held by text."""
        self._by_slot = np.sort((self._slots.view().astype(np.int64) << 32) | self._frames.view())

    def bounds(self, first: int, last: int) -> tuple[int, int]:
        """Where the mentions of the frames ``[first, last)`` begin and end."""
        # Of the type of what is searched, which would be converted as a whole otherwise.
        low, high = np.searchsorted(self._frames.view(), np.array([first, last], dtype=np.int32))
        return int(low), int(high)

    def part(self, start: int, end: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """Mentions ``[start, end)``: frames, slots, and whether in a caption."""
        return self._frames.view()[start:end], self._slots.view()[start:end], self._caption.view()[start:end]

    def said_of(self, slots: NDArray[np.intp], first: int, last: int, start: int, end: int) -> NDArray[np.bool_]:
        """Which of some texts the frames ``[first, last)``, of the mentions ``[start, end)``, mention."""
        keys = slots.astype(np.int64) << 32
        seen = np.searchsorted(self._by_slot, keys | first) < np.searchsorted(self._by_slot, keys | last)
        later = self._slots.view()[max(len(self._by_slot), start) : end]
        return np.asarray(seen | np.isin(slots, later) if len(later) else seen)

    def of(
        self, slots: NDArray[np.intp], first: int, last: int, start: int, end: int, limit: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Mentions of some texts, each once, in the frames ``[first, last)``, whose mentions are ``[start, end)``.

        At most ``limit``; of a text with more than are left, the latest. Returns their frames, and the places of
        their texts in ``slots``, ascending.
        """
        if end - start <= limit:
            return self._ranked(slots, start, end)
        keys = slots.astype(np.int64) << 32
        low = np.searchsorted(self._by_slot, keys | first)
        high = np.searchsorted(self._by_slot, keys | last)
        counts = high - low
        room = limit - np.concatenate([[0], np.cumsum(counts)[:-1]])
        counts = np.clip(np.minimum(counts, room), 0, None)
        ranks = np.repeat(np.arange(len(slots)), counts)
        starts = np.repeat(high - counts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        frames = (self._by_slot[starts + np.arange(len(ranks))] & 0xFFFFFFFF).astype(np.intp)
        later_frames, later_ranks = self._ranked(slots, max(len(self._by_slot), start), end)
        if not len(later_ranks):
            return frames, ranks
        ranks = np.concatenate([ranks, later_ranks])
        order = np.argsort(ranks, kind="stable")
        return np.concatenate([frames, later_frames])[order], ranks[order]

    def _ranked(self, slots: NDArray[np.intp], start: int, end: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Frames and ranks of those of the mentions ``[start, end)`` that are of ``slots``, by rank."""
        frames, said, _ = self.part(start, end)
        rank = np.full(1 + max(int(said.max(initial=-1)), int(slots.max(initial=-1))), -1, dtype=np.int32)
        rank[slots] = np.arange(len(slots), dtype=np.int32)
        ranks = rank[said]
        kept = np.flatnonzero(ranks >= 0)
        kept = kept[np.argsort(ranks[kept], kind="stable")]
        return frames[kept].astype(np.intp), ranks[kept].astype(np.intp)
