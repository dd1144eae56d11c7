"""Keeps the text index in step with a memory that is being written."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from vlkng_ros.memory import Changes, MemoryReader
from vlkng_ros.memory.text_index import MentionRow, TextIndex
from vlkng_ros.types import FloatArray


class IndexFollower:
    """Takes over what a reader's ``refresh`` reports.

    What comes in order of time is appended. A keyframe described after a later one, a session with older stamps, a
    shortened or forgotten keyframe make the index anew: rare, and the only way to keep slots in order of time.

    Args:
        reader: the memory; used from the caller's thread only.
        dimensions: length of the memory's vectors; 0 to go without.
    """

    def __init__(self, reader: MemoryReader, dimensions: int) -> None:
        self._reader = reader
        self._dimensions = dimensions
        self._texts: dict[int, tuple[str, FloatArray | None]] = {}
        """Texts stored and not indexed yet: their first mention may be committed later."""
        self._last_text = 0
        self.rebuilds = 0
        self.index = self._rebuilt()

    def refresh(self) -> Changes:
        """Bring the index up to the memory's newest revision."""
        changes = self._reader.refresh()
        self.follow(changes)
        return changes

    def follow(self, changes: Changes) -> None:
        """Take over some changes that the reader reported."""
        if changes.forgotten_keyframe_ids or changes.forgotten_text_ids:
            self.index = self._rebuilt()
            return
        if not changes.keyframe_ids:
            return
        table = self._reader.frames()
        held = len(self.index.keyframe_ids)
        if len(table) < held or not np.array_equal(table.ids[:held], self.index.keyframe_ids):
            self.index = self._rebuilt()
            return
        self.index.add_frames(table.ids[held:].copy(), table.stamps_ns[held:].copy())
        if not self._take_mentions(changes.keyframe_ids):
            self.index = self._rebuilt()

    def _take_mentions(self, keyframe_ids: Sequence[int]) -> bool:
        """Whether what was said of changed keyframes could be appended."""
        said: dict[int, list[MentionRow]] = {}
        for mention in self._reader.mentions(keyframe_ids=keyframe_ids):
            row = MentionRow(mention.keyframe_id, mention.text_id, mention.role == "caption")
            said.setdefault(mention.keyframe_id, []).append(row)
        last = self.index.last_mentioned
        new: list[tuple[int, list[MentionRow]]] = []
        for keyframe_id in keyframe_ids:
            frame = self.index.frame_of(keyframe_id)
            rows = said.get(keyframe_id, [])
            if frame is None:
                return False
            known = self.index.texts_of(frame)
            if len(known):
                if [self.index.slot_of(row.text_id) for row in rows] != known.tolist():
                    return False
            elif rows and frame < last:
                return False
            elif rows:
                new.append((frame, rows))
        self._load_texts()
        new.sort(key=lambda item: item[0])
        self._append([row for _, rows in new for row in rows])
        return True

    def _rebuilt(self) -> TextIndex:
        self.rebuilds += 1
        table = self._reader.frames()
        index = self.index = TextIndex(self._dimensions)
        index.add_frames(table.ids.copy(), table.stamps_ns.copy())
        self._texts, self._last_text = {}, 0
        frames: list[tuple[int, MentionRow]] = []
        for mention in self._reader.mentions():
            frame = index.frame_of(mention.keyframe_id)
            if frame is not None:
                frames.append((frame, MentionRow(mention.keyframe_id, mention.text_id, mention.role == "caption")))
        if any(a[0] > b[0] for a, b in itertools.pairwise(frames)):
            frames.sort(key=lambda item: item[0])
        self._load_texts()
        self._append([row for _, row in frames])
        return index

    def _append(self, rows: list[MentionRow]) -> None:
        self.index.add_mentions(rows, self._texts)
        for text_id in {row.text_id for row in rows}:
            self._texts.pop(text_id, None)

    def _load_texts(self) -> None:
        for stored in self._reader.texts(self._last_text):
            self._texts[stored.text_id] = (stored.text, stored.vector)
            self._last_text = stored.text_id
