"""Keeps the text index in step with a memory that is being written, and on the disk for the next start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory import Changes, MemoryReader
from vlkng_ros.memory.database import drop_index
from vlkng_ros.memory.index_file import digest_of_frames, digest_of_texts, load_index, save_index
from vlkng_ros.memory.rows import ROLES, MentionTable
from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.types import FloatArray

CAPTION = ROLES.index("caption")
READ_SINGLY = 256
KEPT_FROM = 50_000
"""Mentions from which an index is worth keeping: of fewer it is made anew in a moment."""
KEPT_ANEW = 1.25
"""How much it has to grow to be kept again: what came since is taken over at the next start."""


class IndexFollower:
    """Takes over what a reader's ``refresh`` reports.

    What comes in order of time is appended. A keyframe described after a later one, a session with older stamps, a
    shortened or forgotten keyframe make the index anew: rare, and the only way to keep slots in order of time.

    What was made is kept beside the memory (``memory.index_file``), if it can be; the next start takes it from there.

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
        self._order = -1
        """That of the table whose first keyframes are known to be the index's."""
        self._kept_mentions = 0
        self.index = self._restored() or self._rebuilt()

    def refresh(self) -> Changes:
        """Bring the index up to the memory's newest revision."""
        changes = self._reader.refresh()
        self.follow(changes)
        return changes

    def follow(self, changes: Changes) -> None:
        """Take over some changes that the reader reported."""
        forgotten = changes.forgotten_keyframe_ids or changes.forgotten_text_ids
        if forgotten or (changes.keyframe_ids and not self._append_frames(changes.keyframe_ids)):
            self.index = self._rebuilt()
        elif self.index.mentions > max(KEPT_FROM, KEPT_ANEW * self._kept_mentions):
            self._keep()

    def _append_frames(self, keyframe_ids: Sequence[int]) -> bool:
        """Whether changed keyframes, and what was said of them, could be appended."""
        table = self._reader.frames()
        held = len(self.index.keyframe_ids)
        if table.order != self._order:
            if len(table) < held or not np.array_equal(table.ids[:held], self.index.keyframe_ids):
                return False
            self._order = table.order
        self.index.add_frames(table.ids[held:].copy(), table.stamps_ns[held:].copy())
        return self._take_mentions(keyframe_ids)

    def _take_mentions(self, keyframe_ids: Sequence[int]) -> bool:
        """Whether what was said of changed keyframes could be appended."""
        # Of many, all that came after the first of them are read faster than each by itself.
        few = len(keyframe_ids) <= READ_SINGLY
        said = self._reader.mention_table(min(keyframe_ids, default=1) - 1, keyframe_ids if few else None)
        # Rows come by keyframe, in the order asked for, so each keyframe's are one stretch of the columns.
        ids, starts, counts = np.unique(said.keyframe_ids, return_index=True, return_counts=True)
        stretches = {
            number: (start, start + count)
            for number, start, count in zip(ids.tolist(), starts.tolist(), counts.tolist(), strict=True)
        }
        last = self.index.last_mentioned
        new: list[tuple[int, int, int]] = []
        for keyframe_id in keyframe_ids:
            frame = self.index.frame_of(keyframe_id)
            if frame is None:
                return False
            start, end = stretches.get(keyframe_id, (0, 0))
            known = self.index.texts_of(frame)
            if len(known):
                if [self.index.slot_of(text_id) for text_id in said.text_ids[start:end].tolist()] != known.tolist():
                    return False
            elif end > start and frame < last:
                return False
            elif end > start:
                new.append((frame, start, end))
        new.sort()
        self._append(said, np.concatenate([np.zeros(0, dtype=np.intp), *(np.arange(a, b) for _, a, b in new)]))
        return True

    def _restored(self) -> TextIndex | None:
        """The index that was kept, with all that was committed since; None where there is none that fits."""
        kept = load_index(self._reader.path)
        if kept is None:
            return None
        changes = self._reader.changed_since(kept.revision)
        if changes is None:
            drop_index(self._reader.path)  # it may tell of what was forgotten
            return None
        table = self._reader.frames()
        ids, stamps_ns = table.ids[: kept.keyframes].copy(), table.stamps_ns[: kept.keyframes].copy()
        if digest_of_frames(ids, stamps_ns) != kept.frames:
            return None
        self._read_texts()
        texts = [self._texts.pop(text_id, ("", None)) for text_id in kept.text_ids.tolist()]
        if digest_of_texts(text for text, _ in texts) != kept.texts:
            return None
        index = self.index = TextIndex(self._dimensions)
        index.add_frames(ids, stamps_ns)
        index.restore(kept, texts)
        self._kept_mentions = index.mentions
        return index if self._append_frames(changes) else None

    def _keep(self) -> None:
        """Put the index beside the memory."""
        self._kept_mentions = self.index.mentions
        revision = self._reader.revision
        # What was forgotten meanwhile must not stay in a file that was written from before.
        if save_index(self._reader.path, self.index.stored(revision)) and self._reader.changed_since(revision) is None:
            drop_index(self._reader.path)

    def _rebuilt(self) -> TextIndex:
        self.rebuilds += 1
        table = self._reader.frames()
        self._order = table.order
        index = self.index = TextIndex(self._dimensions)
        index.add_frames(table.ids.copy(), table.stamps_ns.copy())
        self._texts, self._last_text = {}, 0
        if not len(table):
            return index
        said = self._reader.mention_table()
        # By place in time; what was committed since the last refresh is taken over by the next.
        order = np.argsort(table.ids, kind="stable")
        at = np.searchsorted(table.ids[order], said.keyframe_ids)
        at[at == len(order)] = 0
        known = np.flatnonzero(table.ids[order][at] == said.keyframe_ids)
        frames = order[at[known]]
        if len(frames) and (np.diff(frames) < 0).any():
            known = known[np.argsort(frames, kind="stable")]
        self._append(said, known)
        if index.mentions > KEPT_FROM:
            self._keep()
        return index

    def _append(self, said: MentionTable, rows: NDArray[np.intp]) -> None:
        """Put these rows of some mentions behind what the index holds."""
        self._read_texts()
        text_ids = said.text_ids[rows]
        captions = said.roles[rows] == CAPTION
        self.index.add_columns(said.keyframe_ids[rows], text_ids, captions, self._texts)
        for text_id in set(text_ids.tolist()):
            self._texts.pop(text_id, None)

    def _read_texts(self) -> None:
        """Texts that were stored since the last time."""
        for stored in self._reader.texts(self._last_text):
            self._texts[stored.text_id] = (stored.text, stored.vector)
            self._last_text = stored.text_id
