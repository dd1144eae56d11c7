"""Which keyframe mentions which text: by keyframe, in order of time, and by text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.column import Column

TAIL = 8192
"""Mentions that wait until they are merged into those that are sorted by text."""
LESS = 4
"""Where a window has more mentions than all that are asked for, a quarter of these are enough."""
SHARE_OF_ONE = 2
"""No text takes more than one half of the mentions that are returned."""
EARLIEST = 4
"""Of a text with more than that, one of four is among its first; the others are the latest."""
_FRAME = 0xFFFFFFFF
_NOWHERE = -1
_NOTHING: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class MentionColumns:
    """Mentions as columns, frames ascending."""

    def __init__(self) -> None:
        self._slots = Column(np.int32)
        self._frames = Column(np.int32)
        self._caption = Column(np.bool_)
        self._first_of = Column(np.int32)
        self._last_of = Column(np.int32)
        """The first and the last frame that mentions each text, by slot; ``_NOWHERE`` where none does any more."""
        self.last_frame = -1
        """Frame of the last mention that was added, -1 where there was none."""
        self.unsaid = 0
        """Texts that no frame mentions any more."""
        self._by_slot = _NOTHING
        """Mentions as ``slot << 32 | frame``, sorted: all but the last few."""
        self._starts = np.zeros(1, dtype=np.int64)
        """Where those of each slot begin, and behind the last of them where they end."""
        self._latest: NDArray[np.int64] | None = _NOTHING
        """The last few, sorted likewise; None until they are asked for."""

    def __len__(self) -> int:
        return len(self._slots)

    def extend(
        self, slots: NDArray[np.int32], frames: NDArray[np.int32], caption: NDArray[np.bool_], texts: int
    ) -> None:
        """Add mentions, none of a frame before the last; ``texts`` are how many texts there are then."""
        self._slots.extend(slots)
        self._frames.extend(frames)
        self._caption.extend(caption)
        nowhere = np.full(texts - len(self._first_of), _NOWHERE, dtype=np.int32)
        self._first_of.extend(nowhere)
        self._last_of.extend(nowhere)
        self._last_of.view()[slots] = frames  # of several the last one
        first = self._first_of.view()
        fresh = first[slots] == _NOWHERE
        first[slots[fresh][::-1]] = frames[fresh][::-1]
        self.last_frame = int(frames[-1]) if len(frames) else self.last_frame
        self._count_unsaid()
        self._latest = None
        if len(self) - len(self._by_slot) > TAIL:
            self._merge()

    def drop(self, rows: NDArray[np.intp]) -> None:
        """Take some mentions out, by their places among all."""
        self._merge()
        slots, frames = self._slots.view()[rows], self._frames.view()[rows]
        gone = np.sort((slots.astype(np.int64) << 32) | frames)
        again = np.arange(len(gone)) - np.searchsorted(gone, gone)  # a frame may mention a text more than once
        self._by_slot = np.delete(self._by_slot, np.searchsorted(self._by_slot, gone) + again)
        self._find_starts()
        for column in (self._slots, self._frames, self._caption):
            column.drop(rows)
        touched = np.unique(slots)
        self._first_of.view()[touched] = self._last_of.view()[touched] = _NOWHERE
        left = touched[self._starts[touched] < self._starts[touched + 1]]
        self._first_of.view()[left] = self._by_slot[self._starts[left]] & _FRAME
        self._last_of.view()[left] = self._by_slot[self._starts[left + 1] - 1] & _FRAME
        self._count_unsaid()

    def _count_unsaid(self) -> None:
        self.unsaid = int(np.count_nonzero(self._first_of.view() == _NOWHERE))

    def _merge(self) -> None:
        """Sort what came last in among the others."""
        latest = self._last_few()
        if len(latest) > len(self._by_slot):
            self._by_slot = np.sort(np.concatenate([self._by_slot, latest]))
        else:
            self._by_slot = np.insert(self._by_slot, np.searchsorted(self._by_slot, latest), latest)
        self._find_starts()
        self._latest = _NOTHING

    def _find_starts(self) -> None:
        counts = np.bincount(self._by_slot >> 32, minlength=len(self._first_of))
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def _last_few(self) -> NDArray[np.int64]:
        if self._latest is None:
            start = len(self._by_slot)
            self._latest = np.sort((self._slots.view()[start:].astype(np.int64) << 32) | self._frames.view()[start:])
        return self._latest

    def bounds(self, first: int, last: int) -> tuple[int, int]:
        """Where the mentions of the frames ``[first, last)`` begin and end."""
        # Of the type of what is searched, which would be converted as a whole otherwise.
        low, high = np.searchsorted(self._frames.view(), np.array([first, last], dtype=np.int32))
        return int(low), int(high)

    def part(self, start: int, end: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """Mentions ``[start, end)``: frames, slots, and whether in a caption."""
        return self._frames.view()[start:end], self._slots.view()[start:end], self._caption.view()[start:end]

    def said_of(self, slots: NDArray[np.intp], first: int, last: int) -> NDArray[np.bool_]:
        """Which of some texts the frames ``[first, last)`` mention."""
        begins, ends = self._first_of.view()[slots], self._last_of.view()[slots]
        said = ((begins >= first) & (begins < last)) | ((ends >= first) & (ends < last))
        around = np.flatnonzero((begins < first) & (ends >= last))
        if len(around):
            (low, high), (later, later_end) = self._spans(slots[around], first, last)
            said[around] = (high > low) | (later_end > later)
        return np.asarray(said)

    def of(
        self, slots: NDArray[np.intp], first: int, last: int, start: int, end: int, limit: int | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Mentions of some texts, each once, in the frames ``[first, last)``, whose mentions are ``[start, end)``.

        Where the window has more than ``limit`` at most a quarter of that: those of the first texts, of each at most
        one half of it, of these one of four from the beginning and the others from the end of the window. Without a
        limit all of them.

        Returns their frames, and the places of their texts in ``slots``, ascending.
        """
        if limit is not None and end - start <= limit:
            return self._ranked(slots, start, end)
        (low, high), (later, later_end) = self._spans(slots, first, last)
        early = high - low
        counts = early + later_end - later
        taken = counts
        if limit is not None:
            limit //= LESS
            taken = np.minimum(counts, limit // SHARE_OF_ONE)
            taken = np.clip(np.minimum(taken, limit + taken - np.cumsum(taken)), 0, None)
        ranks = np.repeat(np.arange(len(slots)), taken)
        at = np.arange(len(ranks)) - np.repeat(np.cumsum(taken) - taken, taken)
        left_out = np.repeat(counts - taken, taken)
        at += np.where(at >= np.repeat(taken // EARLIEST, taken), left_out, 0)
        # A text's mentions are those that were sorted in before, and then the last few.
        behind = at - early[ranks]
        sorted_in = np.flatnonzero(behind < 0)
        mentions = np.empty(len(ranks), dtype=np.int64)
        mentions[sorted_in] = self._by_slot[low[ranks[sorted_in]] + at[sorted_in]]
        if len(sorted_in) < len(ranks):
            rest = np.flatnonzero(behind >= 0)
            mentions[rest] = self._last_few()[later[ranks[rest]] + behind[rest]]
        return mentions & _FRAME, ranks

    def _spans(
        self, slots: NDArray[np.intp], first: int, last: int
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Where the mentions of some texts in some frames begin and end: of those sorted in, and of the last few."""
        known = len(self._starts) - 1
        low, high = (self._starts[np.minimum(slots + more, known)] for more in (0, 1))
        # Those of most texts begin in a window that goes up to the present, or lie before it.
        cut = np.flatnonzero(self._first_of.view()[slots] < first)
        low[cut] = np.searchsorted(self._by_slot, slots[cut].astype(np.int64) << 32 | first)
        cut = np.flatnonzero(self._last_of.view()[slots] >= last)
        high[cut] = np.searchsorted(self._by_slot, slots[cut].astype(np.int64) << 32 | last)
        latest, keys = self._last_few(), slots.astype(np.int64) << 32
        return [(low, high), (np.searchsorted(latest, keys | first), np.searchsorted(latest, keys | last))]

    def _ranked(self, slots: NDArray[np.intp], start: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Frames and ranks of those of the mentions ``[start, end)`` that are of ``slots``, by rank."""
        frames, said, _ = self.part(start, end)
        rank = np.full(1 + max(int(said.max(initial=-1)), int(slots.max(initial=-1))), -1, dtype=np.int32)
        rank[slots] = np.arange(len(slots), dtype=np.int32)
        ranks = rank[said]
        kept = np.flatnonzero(ranks >= 0)
        mentions = np.sort((ranks[kept].astype(np.int64) << 32) | frames[kept])
        return mentions & _FRAME, mentions >> 32
