"""What was said about which keyframe: BM25 and dense vectors over deduplicated sentences and labels, cut in time.

A text is stored once, in the slot that its first mention gives it, so that slots ascend in time: everything that was
known at ``as_of`` is a prefix of every array here, found by bisection, and document frequencies, lengths and
candidates are exactly those of a memory that ended then. Mentions are sorted by keyframe.

The document is the text, not the keyframe: "a few people walk on the sidewalk" counts once however often it was said.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.column import Column
from vlkng_ros.memory.dense_index import DenseIndex
from vlkng_ros.memory.index_file import StoredIndex, checksums_of, digest_of_frames
from vlkng_ros.memory.mention_columns import MentionColumns
from vlkng_ros.memory.postings import SHORT, PostingLists, Postings
from vlkng_ros.memory.said import Said, Vocabulary
from vlkng_ros.memory.slot_sets import Slots, union
from vlkng_ros.memory.word_order import WordOrder
from vlkng_ros.memory.words import near_spellings
from vlkng_ros.types import FloatArray

K1 = 0.4
"""Term frequency saturates at once: a caption that says "tree" twice has not seen more trees."""
B = 0.75


_VECTORS_AT_ONCE = 4096
FOLLOWS_NS = 10_000_000_000
"""Keyframes further apart in time than 10 s are no neighbours."""
MARKED = 16_384
"""Mentions of a window up to which its texts are gone through one by one."""
COMPARED = 65_536
"""Texts up to which every one is compared by meaning, and beyond which the latest of them are."""
LABELS_COMPARED = 16_384
"""Of older texts those that are little more than a label: things are called what they were always called. What long
sentences say is found by their words."""


class Cut(NamedTuple):
    """What a question may see: slots below ``slots``, frames in ``[first, last)``, their mentions."""

    slots: int
    first: int
    last: int
    mention_first: int
    mention_last: int

    @property
    def frames(self) -> int:
        """Number of keyframes."""
        return self.last - self.first


class TextIndex:
    """Grows in order of time: frames first, then what was said of them; it refuses what comes out of order.

    Args:
        dimensions: length of the vectors; 0 where there is no encoder.
    """

    def __init__(self, dimensions: int = 0) -> None:
        self.dense = DenseIndex(dimensions) if dimensions else None
        self._stamps_ns = Column(np.int64)
        self._keyframe_ids = Column(np.int64)
        self._follows = Column(np.bool_)
        self.texts: list[str] = []
        self._slot_of: dict[int, int] = {}
        self._text_ids = array("q")
        self._frame_of: dict[int, int] = {}
        self._first_ns = array("q")
        self._lengths = Column(np.int32)
        self._length_sums = Column(np.int64)
        """Lengths of texts summed up to each slot: the mean length of a prefix is one division."""
        self._far = Column(np.bool_)
        self._labels = Column(np.int32)
        """Slots of the texts that are little more than a label."""
        self.vocabulary = Vocabulary()
        self._terms = PostingLists(self.vocabulary)
        self._mentions = MentionColumns()
        self.said = WordOrder(self.vocabulary)
        """The terms of what texts say is there, by slot."""
        self.heard = WordOrder(self.vocabulary)
        """The stems of all words, function words too."""
        self._denials: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
        """Slots, and the terms that they deny."""

    @property
    def stamps_ns(self) -> NDArray[np.int64]:
        """When each keyframe was taken, ascending, shape ``(n,)``."""
        return self._stamps_ns.view()

    @property
    def keyframe_ids(self) -> NDArray[np.int64]:
        """Shape ``(n,)``."""
        return self._keyframe_ids.view()

    @property
    def follows(self) -> NDArray[np.bool_]:
        """Whether each keyframe was taken within ``FOLLOWS_NS`` of the one before, shape ``(n,)``."""
        return self._follows.view()

    @property
    def terms_of(self) -> WordOrder:
        """The terms of what a text says is there: ``terms_of[slot]``."""
        return self.said

    # ------------------------------------------------------------------------------------------ growing

    @property
    def last_mentioned(self) -> int:
        """Frame of the last mention, -1 where there is none: mentions of earlier frames are refused."""
        return self._mentions.last_frame

    @property
    def mentions(self) -> int:
        """How many it holds."""
        return len(self._mentions)

    @property
    def unsaid(self) -> int:
        """How many of its texts no keyframe mentions any more."""
        return self._mentions.unsaid

    def frame_of(self, keyframe_id: int) -> int | None:
        """Place of a keyframe in the order of time, or None."""
        return self._frame_of.get(keyframe_id)

    def add_frames(self, keyframe_ids: NDArray[np.int64], stamps_ns: NDArray[np.int64]) -> None:
        """Add keyframes, all later than those held by ``(stamp, id)``; both arrays of shape ``(n,)``."""
        if not len(keyframe_ids):
            return
        base = len(self.keyframe_ids)
        held = (int(self.stamps_ns[-1]), int(self.keyframe_ids[-1])) if base else None
        if held is not None and (int(stamps_ns[0]), int(keyframe_ids[0])) <= held:
            raise ValueError(f"keyframe {keyframe_ids[0]} at {stamps_ns[0]} ns is not later than {held}")
        before_ns = np.concatenate([self.stamps_ns[-1:] if base else stamps_ns[:1] - 2 * FOLLOWS_NS, stamps_ns[:-1]])
        self._follows.extend(stamps_ns - before_ns <= FOLLOWS_NS)
        self._keyframe_ids.extend(keyframe_ids)
        self._stamps_ns.extend(stamps_ns)
        self._frame_of.update(zip(keyframe_ids.tolist(), range(base, len(self.keyframe_ids)), strict=True))

    def add_columns(
        self,
        keyframe_ids: NDArray[np.int64],
        text_ids: NDArray[np.int64],
        captions: NDArray[np.integer[Any]],
        texts: Mapping[int, tuple[str, FloatArray | None]],
    ) -> None:
        """Add what was said of keyframes.

        Args:
            keyframe_ids: of frames held, in order of time and none before ``last_mentioned``, shape ``(n,)``.
            text_ids: what was said of each; slots follow the order of first mention.
            captions: whether in a caption.
            texts: text and vector by text id, of every id that is named for the first time.

        Raises:
            ValueError: a keyframe comes before one that was mentioned already.
        """
        if not len(keyframe_ids):
            return
        frames = np.fromiter(map(self._frame_of.__getitem__, keyframe_ids.tolist()), np.int32, len(keyframe_ids))
        before = np.concatenate([[self.last_mentioned], frames[:-1]])
        if (frames < before).any():
            early = keyframe_ids[int(np.argmax(frames < before))]
            raise ValueError(f"keyframe {early} comes before the last one mentioned")
        distinct, first, inverse = np.unique(text_ids, return_index=True, return_inverse=True)
        order = np.argsort(first)
        slots = np.zeros(len(distinct), dtype=np.int32)
        new: list[int] = []
        for place, text_id in zip(order.tolist(), distinct[order].tolist(), strict=True):
            slot = self._slot_of.get(text_id)
            if slot is None:
                slot = self._slot_of[text_id] = len(self._slot_of)
                new.append(place)
            slots[place] = slot
        if new:
            self._add_texts(distinct[new], self.stamps_ns[frames[first[new]]], texts)
        self._mentions.extend(slots[inverse], frames, captions.astype(np.bool_), len(self.texts))

    def drop_mentions(self, rows: Sequence[int]) -> None:
        """Take out what is no longer kept of keyframes: mentions by their places, of ``rows_of``.

        A text that none is left of is found no more, and takes up room until the index is made anew.
        """
        self._mentions.drop(np.array(rows, dtype=np.intp))

    def embed(self, text_id: int, vector: FloatArray) -> None:
        """Give a text that has none its vector."""
        if self.dense is not None and text_id in self._slot_of:
            self.dense.replace(self._slot_of[text_id], vector)

    def stored(self, revision: int) -> StoredIndex:
        """What ``restore`` needs to make it again; ``revision`` is the operation up to which it goes."""
        frames, slots, caption = self._mentions.part(0, len(self._mentions))
        denied_rows, denied = (np.concatenate([np.zeros(0, dtype=np.int32), *part]) for part in self._denials)
        said = Said(*self.said.columns(), *self.heard.columns(), denied, denied_rows, self._far.view())
        return StoredIndex(
            revision,
            digest_of_frames(self.keyframe_ids, self.stamps_ns),
            checksums_of(self.texts),
            len(self.keyframe_ids),
            np.array(self._text_ids, dtype=np.int64),
            np.array(self._first_ns, dtype=np.int64),
            self.vocabulary.words,
            said,
            slots,
            frames,
            caption,
        )

    def restore(self, stored: StoredIndex, texts: Sequence[tuple[str, FloatArray | None]]) -> None:
        """Take over what was stored, in an index that holds its frames and nothing else.

        Args:
            stored: an index of these keyframes.
            texts: its texts with their vectors, by slot.
        """
        self.vocabulary.numbers(stored.vocabulary)
        self._slot_of = {text_id: slot for slot, text_id in enumerate(stored.text_ids.tolist())}
        self._text_ids.extend(stored.text_ids.tolist())
        self._first_ns.extend(stored.first_ns.tolist())
        self._take(texts, stored.said)
        mentions = (stored.mention_slots, stored.mention_frames, stored.mention_caption)
        self._mentions.extend(*mentions, len(self.texts))

    def _add_texts(
        self,
        text_ids: NDArray[np.int64],
        first_ns: NDArray[np.int64],
        texts: Mapping[int, tuple[str, FloatArray | None]],
    ) -> None:
        held = [texts[text_id] for text_id in text_ids.tolist()]
        said = Said.of([text for text, _ in held], self.vocabulary)
        self._text_ids.extend(text_ids.tolist())
        self._first_ns.extend(first_ns.tolist())
        self._take(held, said)

    def _take(self, held: Sequence[tuple[str, FloatArray | None]], said: Said) -> None:
        """Texts with their vectors, in the next slots, and what they say."""
        first = len(self.texts)
        self.texts += [text for text, _ in held]
        self._terms.append(first, said)
        self.said.append(said.terms, said.term_counts)
        self.heard.append(said.words, said.word_counts)
        if len(said.denied):
            self._denials[0].append(said.denied_rows + np.int32(first))
            self._denials[1].append(said.denied)
        self._far.extend(said.far)
        self._labels.extend((first + np.flatnonzero(said.term_counts <= SHORT)).astype(np.int32))
        lengths = np.maximum(said.term_counts, 1)
        before = int(self._length_sums.view()[-1]) if first else 0
        self._lengths.extend(lengths)
        self._length_sums.extend(before + np.cumsum(lengths, dtype=np.int64))
        if self.dense is not None:
            nothing = np.zeros(self.dense.dimensions, dtype=np.float32)
            for start in range(0, len(held), _VECTORS_AT_ONCE):
                part = held[start : start + _VECTORS_AT_ONCE]
                self.dense.append(np.stack([nothing if vector is None else vector for _, vector in part]))

    # ------------------------------------------------------------------------------------------ asking

    def cut(self, since_ns: int | None = None, as_of_ns: int | None = None) -> Cut:
        """The part of the memory in ``[since_ns, as_of_ns]``; None leaves an end open."""
        first = 0 if since_ns is None else int(np.searchsorted(self.stamps_ns, since_ns, side="left"))
        last = len(self.stamps_ns) if as_of_ns is None else int(np.searchsorted(self.stamps_ns, as_of_ns, side="right"))
        slots = len(self.texts) if as_of_ns is None else bisect_right(self._first_ns, as_of_ns)
        return Cut(slots, first, max(first, last), *self._mentions.bounds(first, max(first, last)))

    def narrowed(self, cut: Cut, first: int, last: int) -> Cut:
        """The frames ``[first, last)`` of a cut; what is known at its end stays known."""
        first, last = cut.first + first, cut.first + last
        return Cut(cut.slots, first, last, *self._mentions.bounds(first, last))

    def postings(self, term: str, cut: Cut) -> Postings:
        """Texts known at the cut that mention a term."""
        return self._terms.of(term, cut.slots)

    def document_frequency(self, term: str, cut: Cut) -> int:
        """Number of texts known at the cut that mention a term."""
        return self._terms.document_frequency(term, cut.slots)

    def knows(self, term: str, cut: Cut) -> bool:
        """Whether the term was said by then."""
        return self._terms.knows(term, cut.slots)

    def spellings(self, term: str, cut: Cut) -> tuple[str, ...]:
        """Terms known at the cut that this one, which is not, may be a misspelling of; the most frequent first."""
        known = self._terms.terms_with_initial(term[:1], cut.slots)
        return tuple(sorted(near_spellings(term, known), key=lambda t: (-self.document_frequency(t, cut), t))[:4])

    def idf(self, document_frequency: int, cut: Cut) -> float:
        """Robertson-Sparck Jones with +1 inside the logarithm, as Lucene has it: never negative."""
        return math.log(1.0 + (cut.slots - document_frequency + 0.5) / (document_frequency + 0.5))

    def mean_length(self, cut: Cut) -> float:
        """Mean number of terms of the texts known at the cut."""
        return float(self._length_sums.view()[cut.slots - 1]) / cut.slots if cut.slots else 1.0

    def length_norms(self, slots: NDArray[np.integer[Any]], cut: Cut) -> NDArray[np.float32]:
        """BM25's ``k1 * (1 - b + b * length / mean length)`` of some texts."""
        lengths = self._lengths.view()[slots]
        # Few lengths occur, and a norm is looked up faster than worked out.
        norms = K1 * (1 - B + B * np.arange(int(lengths.max(initial=0)) + 1) / self.mean_length(cut))
        return np.asarray(norms.astype(np.float32)[lengths])

    def far(self, slots: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Which of some texts put what they mention in the background."""
        return np.asarray(self._far.view()[slots])

    def bm25(self, terms: Sequence[str], cut: Cut) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Okapi BM25 of the texts that mention any of these terms: ``(slots ascending, scores)``."""
        scores = np.zeros(cut.slots, dtype=np.float32)
        for term in dict.fromkeys(terms):
            found = self.postings(term, cut)
            weight = self.idf(len(found.slots), cut)
            scores[found.slots] += weight * self.saturation(found.counts, self.length_norms(found.slots, cut))
        slots = np.flatnonzero(scores)
        return slots, scores[slots]

    @staticmethod
    def saturation(counts: NDArray[np.integer[Any]], norms: NDArray[np.float32]) -> NDArray[np.float32]:
        """BM25's ``tf * (k1 + 1) / (tf + norm)``: what a term said ``counts`` times in some texts is worth."""
        frequencies = counts.astype(np.float32)
        return np.asarray(frequencies * (K1 + 1) / (frequencies + norms))

    def window_slots(self, cut: Cut) -> Slots | None:
        """The texts that the keyframes of the cut mention, ascending.

        None where that would cost more than a question may: ask ``mentioned`` about single texts then.
        """
        if cut.mention_last - cut.mention_first > MARKED:
            return None
        return union([np.unique(self.mentions_in(cut)[1])])

    def compared(self, cut: Cut) -> tuple[Slots, int]:
        """The texts whose vectors a question is compared with: some labels, and all texts from a slot on."""
        first = max(0, cut.slots - COMPARED)
        labels = self._labels.view()
        old = labels[: int(np.searchsorted(labels, np.int32(first)))]
        return old[-LABELS_COMPARED:].astype(np.intp), first

    def says_all(self, cut: Cut) -> bool:
        """Whether every text known at the cut is mentioned in it."""
        if self._mentions.unsaid or cut.first:
            return False
        return bool(not cut.slots or self._first_ns[cut.slots - 1] <= int(self.stamps_ns[cut.last - 1]))

    def mentioned(self, slots: NDArray[np.intp], cut: Cut) -> NDArray[np.bool_]:
        """Which of some texts known at the cut a keyframe of the cut mentions."""
        return self._mentions.said_of(slots, cut.first, cut.last)

    def mentions_in(self, cut: Cut) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        """All mentions of the cut: ``(frames, slots, caption)``, frames ascending, from the memory's first."""
        return self._mentions.part(cut.mention_first, cut.mention_last)

    def mentions_of(
        self, slots: NDArray[np.intp], cut: Cut, limit: int | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Keyframes of the cut that mention some texts.

        Args:
            slots: most important first, each once.
            cut: the window.
            limit: mentions returned at most, and half of it where the cut has more in all; of a text that has more
                than its share, the first and the latest. None for every one.

        Returns:
            ``(frames, ranks)``: the frame of a mention and the place of its text in ``slots``, ranks ascending.
        """
        return self._mentions.of(slots, *cut[1:], limit)

    def rows_of(self, frame: int) -> tuple[int, list[tuple[int, bool]]]:
        """The place of a keyframe's first mention, and of each the slot and whether in a caption."""
        first, last = self._mentions.bounds(frame, frame + 1)
        return first, list(zip(*(column.tolist() for column in self._mentions.part(first, last)[1:]), strict=True))

    def texts_of(self, frame: int) -> NDArray[np.int32]:
        """Slots of the texts of one keyframe, in the order they were said."""
        return self._mentions.part(*self._mentions.bounds(frame, frame + 1))[1]

    def text_id_of(self, slot: int) -> int:
        """Stored id of the text in a slot."""
        return self._text_ids[slot]

    def slot_of(self, text_id: int) -> int | None:
        """Slot of a stored text, or None where no keyframe mentions it."""
        return self._slot_of.get(text_id)
