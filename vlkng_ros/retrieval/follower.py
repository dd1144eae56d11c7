"""Keeps the text index in step with a memory that is being written, and on the disk for the next start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory import Changes, MemoryReader
from vlkng_ros.memory.database import drop_index
from vlkng_ros.memory.index_file import checksums_of, digest_of_frames, load_index, save_index
from vlkng_ros.memory.rows import ROLES, MentionTable
from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.types import FloatArray

CAPTION = ROLES.index("caption")
KEPT_FROM = 50_000
"""Mentions from which an index is worth keeping: of fewer it is made anew in a moment."""
KEPT_ANEW = 0.25
"""The share of mentions that has to be new for it to be kept again: what came since is taken over at the next start."""
MOST_UNSAID = 4096
"""Texts that may be left of what old observations were summed up of, or half of all, before they are cleared away."""
VECTORS_AT_ONCE = 500


class IndexFollower:
    """Takes over what a reader's ``refresh`` reports.

    What comes in order of time is appended, what is no longer kept one by one is taken out, and vectors that texts are
    given later are put in. A keyframe described after a later one, a session with older stamps, and what is forgotten
    make the index anew: rare, and the only way to keep slots in order of time.

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
        self._bare: list[int] = []
        """Texts that have no vector yet, ascending."""
        self._revision = -1
        """The one at which they were looked at."""
        self.rebuilds = 0
        self.alterations = 0
        """How often something that the index knew already became different."""
        self._order = -1
        """That of the table whose first keyframes are known to be the index's."""
        self._unkept = 0
        """Mentions that came since the index was kept."""
        self.index = self._restored() or self._rebuilt()

    def refresh(self) -> Changes:
        """Bring the index up to the memory's newest revision."""
        changes = self._reader.refresh()
        self.follow(changes)
        return changes

    def follow(self, changes: Changes) -> None:
        """Take over some changes that the reader reported."""
        forgotten = changes.forgotten_keyframe_ids or changes.forgotten_text_ids
        fits = not forgotten and (not changes.keyframe_ids or self._append_frames(changes.keyframe_ids))
        if not fits or self.index.unsaid > max(MOST_UNSAID, len(self.index.texts) // 2):
            self.index = self._rebuilt()
        elif self._unkept > KEPT_ANEW * self.index.mentions > KEPT_ANEW * KEPT_FROM:
            self._keep()
        if self._bare and changes.revision != self._revision:
            self._revision = changes.revision
            self._embed_late()

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
        said = self._reader.mention_table(keyframe_ids=keyframe_ids)
        # Rows come by keyframe, in the order asked for, so each keyframe's are one stretch of the columns.
        ids, starts, counts = np.unique(said.keyframe_ids, return_index=True, return_counts=True)
        stretches = {
            number: (start, start + count)
            for number, start, count in zip(ids.tolist(), starts.tolist(), counts.tolist(), strict=True)
        }
        last = self.index.last_mentioned
        new: list[tuple[int, int, int]] = []
        gone: list[int] = []
        for keyframe_id in keyframe_ids:
            frame = self.index.frame_of(keyframe_id)
            if frame is None:
                return False
            start, end = stretches.get(keyframe_id, (0, 0))
            first, known = self.index.rows_of(frame)
            if known:
                slots = [self.index.slot_of(text_id) for text_id in said.text_ids[start:end].tolist()]
                captions = (said.roles[start:end] == CAPTION).tolist()
                lost = _left_out(known, list(zip(slots, captions, strict=True)))
                if lost is None:
                    return False
                gone += [first + place for place in lost]
            elif end > start and frame < last:
                return False
            elif end > start:
                new.append((frame, start, end))
        if gone:
            self.alterations += 1
            self.index.drop_mentions(gone)
        new.sort()
        self._append(said, np.concatenate([np.zeros(0, dtype=np.intp), *(np.arange(a, b) for _, a, b in new)]))
        return True

    def _embed_late(self) -> None:
        """Take over the vectors of texts that were stored without: they are embedded oldest first."""
        if not self._reader.vectors(self._bare[:1]):
            return
        self.alterations += 1
        while self._bare:
            part = self._bare[:VECTORS_AT_ONCE]
            vectors = self._reader.vectors(part)
            for text_id, vector in vectors.items():
                self.index.embed(text_id, vector)
                if text_id in self._texts:
                    self._texts[text_id] = (self._texts[text_id][0], vector)
            self._bare = [text_id for text_id in part if text_id not in vectors] + self._bare[len(part) :]
            if len(vectors) < len(part):
                return

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
        # Of what old observations were summed up of some are gone.
        held = np.array([bool(text) for text, _ in texts], dtype=np.bool_)
        if (checksums_of(text for text, _ in texts) != kept.texts)[held].any():
            return None
        index = self.index = TextIndex(self._dimensions)
        index.add_frames(ids, stamps_ns)
        index.restore(kept, texts)
        return index if self._append_frames(changes) else None

    def _keep(self) -> None:
        """Put the index beside the memory."""
        self._unkept = 0
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
        self._texts, self._last_text, self._bare, self._unkept = {}, 0, [], 0
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
        self._unkept += len(rows)
        self.index.add_columns(said.keyframe_ids[rows], text_ids, captions, self._texts)
        for text_id in set(text_ids.tolist()):
            self._texts.pop(text_id, None)

    def _read_texts(self) -> None:
        """Texts that were stored since the last time."""
        for stored in self._reader.texts(self._last_text):
            self._texts[stored.text_id] = (stored.text, stored.vector)
            self._last_text = stored.text_id
            if stored.vector is None and self._dimensions:
                self._bare.append(stored.text_id)


def _left_out(known: Sequence[object], now: Sequence[object]) -> list[int] | None:
    """Places in ``known`` of what is missing in ``now``; None where that has something else or another order."""
    lost, left = [], list(reversed(now))
    for place, one in enumerate(known):
        if left and left[-1] == one:
            left.pop()
        else:
            lost.append(place)
    return None if left else lost
