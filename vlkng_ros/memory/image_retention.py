"""How long images are kept: they are nearly all of a memory's bytes, and what was seen in them stays known without.

The oldest go first. What is too old is so against the memory's newest keyframe, not the clock on the wall: a robot that
was switched off for a month has not seen anything new, and simulated time counts from 0.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from vlkng_ros.errors import InvalidInputError, MemoryFileError
from vlkng_ros.memory.transactions import Store

EVERY = 64
"""Keyframes with images between two looks at the limits."""
AT_ONCE = 512
"""Images looked at in one step, so that a limit that is set late is reached little by little and holds nothing up."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """None is no limit."""

    age_ns: int | None = None
    """Images of keyframes that are older than the newest by more are dropped."""
    total_bytes: int | None = None
    """As many more as it takes for the rest to fit."""

    def __post_init__(self) -> None:
        """Refuse a limit below zero.

        Raises:
            InvalidInputError: says which.
        """
        for name, value in (("age_ns", self.age_ns), ("total_bytes", self.total_bytes)):
            if value is not None and value < 0:
                raise InvalidInputError(f"images: {name} is {value}; a limit is 0 or more, None for no limit")


NO_LIMITS = ImageLimits()


class ImageRetention:
    """Drops images for one writer. What it holds in memory is read again after a rollback or a deletion."""

    def __init__(self, store: Store, limits: ImageLimits) -> None:
        self._store = store
        self._limits = limits
        self._unlimited = limits == NO_LIMITS
        self._added = 0
        self._held: int | None = None
        self._upto = 0
        store.on_reset.append(self._reset)

    def _reset(self) -> None:
        self._held, self._upto = None, 0

    def added(self, size: int, stamp_ns: int) -> None:
        """An image was stored; now and then the limits are looked at. Failing to drop is logged and tried again."""
        if self._unlimited:
            return
        if self._held is not None:
            self._held += size
        self._added += 1
        if self._added % EVERY:
            return
        oldest_ns = None if self._limits.age_ns is None else stamp_ns - self._limits.age_ns
        try:
            with self._store.using():
                self.drop(oldest_ns, self._limits.total_bytes, AT_ONCE)
        except MemoryFileError as error:
            logger.warning("old images could not be dropped yet: %s", error)

    def drop(self, older_than_ns: int | None, keep_bytes: int | None, at_most: int = -1) -> int:
        """Drop images, the earliest stored first; returns how many.

        Args:
            older_than_ns: those of keyframes before this time.
            keep_bytes: as many more as it takes for the rest to fit.
            at_most: images looked at; -1 for all.
        """
        store = self._store
        if self._held is None:
            (self._held,) = store.connection.execute("SELECT IFNULL(SUM(image), 0) FROM keyframe").fetchone()
        query = "SELECT id, stamp, image FROM keyframe WHERE id > ? AND image > 0 ORDER BY id LIMIT ?"
        rows = store.connection.execute(query, (self._upto, at_most)).fetchall()
        left, chosen = self._held, []
        for number, stamp, size in rows:
            too_old = older_than_ns is not None and stamp < older_than_ns
            if not too_old and (keep_bytes is None or left <= keep_bytes):
                break
            chosen.append(number)
            left -= size
        if chosen:
            self._delete(chosen)
            self._held, self._upto = left, chosen[-1]
        return len(chosen)

    def _delete(self, chosen: Sequence[int]) -> None:
        store = self._store
        with store.operation() as head:
            ids = [(number,) for number in chosen]
            store.connection.executemany("INSERT OR IGNORE INTO image_garbage VALUES (?)", ids)
            update = "UPDATE keyframe SET image = 0, revision = ? WHERE id = ?"
            store.connection.executemany(update, [(head.revision, number) for number in chosen])
        store.keyframes.clear()
        store.clean_images()
