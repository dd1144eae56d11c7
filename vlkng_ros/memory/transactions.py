"""The writer's connection and what it holds in memory: every operation is one transaction and one new revision."""

from __future__ import annotations

import dataclasses
import logging
import operator
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlkng_ros.errors import InvalidInputError, MemoryFileError, NotInMemoryError
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.database import BUSY_TIMEOUT_MS, explained
from vlkng_ros.memory.images import ImageFolder
from vlkng_ros.memory.keyframe_rows import KeyframeRows, Seen
from vlkng_ros.memory.scene import Scene
from vlkng_ros.memory.texts import TextStore, Vocabulary
from vlkng_ros.types import TextEncoder

logger = logging.getLogger(__name__)
MAX_SCENES = 256
"""Keyframes held between description and association."""


@dataclass(slots=True)
class Head:
    """The one row that counts: the revision and the last id of each kind that was ever given."""

    revision: int
    keyframe: int
    observation: int
    description: int
    text: int
    entity: int
    relation: int
    span: int
    keyframes: int
    observations: int
    encoder: int | None
    place_format: str
    summarised: int
    """Number of the last description whose observations are kept in summary only."""
    summarised_ns: int | None
    """The latest time of these keyframes."""


_COLUMNS = tuple(item.name for item in dataclasses.fields(Head))
_values = operator.attrgetter(*_COLUMNS)
_READ = f"SELECT {', '.join(_COLUMNS)} FROM head"
_WRITE = f"UPDATE head SET {', '.join(f'{name} = ?' for name in _COLUMNS)}"


class Store:
    """Everything of a writer but what it decides. Its methods may be called from any thread."""

    def __init__(self, path: Path, connection: sqlite3.Connection, encoder: TextEncoder | None) -> None:
        self.path = path
        self.connection = connection
        self.encoder = encoder
        self.mutex = threading.RLock()
        self.images = ImageFolder(path)
        self.catalogs = Catalogs(connection)
        self.keyframes = KeyframeRows(connection, self.catalogs)
        self.texts = TextStore(connection, encoder)
        self._scenes: dict[int, Scene] = {}
        self.on_reset: list[Callable[[], None]] = []
        """Called after memory may disagree with the database: after a rollback or a deletion."""
        self.closed = False
        self._log_is_due = False
        self.head = self._load_head()
        self._name_encoder()
        self.vocabulary = Vocabulary(connection, encoder, self.head.encoder)

    @contextmanager
    def using(self) -> Iterator[None]:
        """For reading: one thread at a time, errors explained.

        Raises:
            MemoryFileError: the writer is closed.
        """
        with self.mutex:
            if self.closed:
                raise MemoryFileError(f"{self.path}: this writer is closed")
            with explained(self.path):
                yield

    @contextmanager
    def operation(self) -> Iterator[Head]:
        """One transaction and one new revision. What fails inside it leaves the memory as it was."""
        with self.using():
            self.connection.execute("BEGIN IMMEDIATE")
            head = Head(*_values(self.head))
            head.revision += 1
            try:
                yield head
                self.connection.execute(_WRITE, _values(head))
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                self.head = self._load_head()
                self.reset()
                raise
            self.head = head
            if self._log_is_due:
                self.empty_log(wait_ms=0)

    def reset(self) -> None:
        """Drop what is held in memory; it is read again when needed."""
        self.catalogs.clear()
        self.keyframes.clear()
        self.texts.clear()
        self.vocabulary.clear()
        self._scenes.clear()
        for reload in self.on_reset:
            reload()

    def require_undescribed(self, keyframe_id: int) -> Seen:
        """Observations never change, so a keyframe is described once; returns it.

        Raises:
            NotInMemoryError: there is no such keyframe.
            InvalidInputError: it is described already.
        """
        row = self.connection.execute("SELECT state, revision FROM keyframe WHERE id = ?", (keyframe_id,)).fetchone()
        if row is None:
            raise NotInMemoryError(f"keyframe {keyframe_id} is not in this memory; it may have been forgotten")
        if row[0] == 1:
            raise InvalidInputError(f"keyframe {keyframe_id} is described already; observations never change")
        return self.keyframes.seen(keyframe_id, row[1])

    def keep(self, scenes: Iterable[Scene]) -> None:
        """Hold keyframes that were described just now until ``take``: that saves reading them back."""
        if len(self._scenes) >= MAX_SCENES:
            self._scenes.clear()
        self._scenes.update((scene.keyframe.keyframe_id, scene) for scene in scenes)

    def take(self, keyframe_id: int, revision: int) -> Scene | None:
        """The keyframe as it was described, once; None where it is not held or was changed since, as by a new pose."""
        scene = self._scenes.pop(keyframe_id, None)
        return scene if scene is not None and scene.keyframe.revision == revision else None

    def clean_images(self) -> None:
        """Remove images that no keyframe has: of forgotten ones, and what a crash left over."""
        garbage = [row[0] for row in self.connection.execute("SELECT keyframe FROM image_garbage")]
        for keyframe_id in garbage:
            self.images.delete(keyframe_id)
        self.images.delete_after(self.head.keyframe)
        if garbage:
            self.connection.execute("DELETE FROM image_garbage")

    def empty_log(self, wait_ms: int) -> None:
        """Bring the database file up to date and empty the log, whose old pages hold what was forgotten.

        A reader in the middle of a call holds the log; then it is emptied after the next operation that finds it free.
        """
        execute = self.connection.execute
        execute(f"PRAGMA busy_timeout = {wait_ms}")
        try:
            busy, *_ = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            # The operation before it is committed and must not look as if it were not.
            busy = True
            logger.warning("%s: the log could not be emptied yet: %s", self.path, error)
        finally:
            execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        if busy and not self._log_is_due:
            logger.warning("%s: a reader is busy; what was forgotten leaves the log when it is done", self.path)
        self._log_is_due = bool(busy)

    def _load_head(self) -> Head:
        row: tuple[Any, ...] = self.connection.execute(_READ).fetchone()
        return Head(*row)

    def _name_encoder(self) -> None:
        if self.encoder is None:
            return
        query = "SELECT id FROM encoder WHERE name = ?"
        row = self.connection.execute(query, (self.encoder.encoder_id,)).fetchone()
        if row is not None and row[0] == self.head.encoder:
            return
        self.vocabulary = Vocabulary(self.connection, None, None)
        with self.operation() as head:
            insert = "INSERT OR IGNORE INTO encoder (name, dimensions) VALUES (?, ?)"
            self.connection.execute(insert, (self.encoder.encoder_id, self.encoder.dimensions))
            (head.encoder,) = self.connection.execute(query, (self.encoder.encoder_id,)).fetchone()
