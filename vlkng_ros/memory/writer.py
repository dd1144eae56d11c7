"""The one process that writes a memory: every operation is one transaction and one new revision."""

from __future__ import annotations

import dataclasses
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from vlkng_ros.errors import InvalidInputError, MemoryFileError, NotInMemoryError
from vlkng_ros.memory import perceiving
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.correcting import correct_poses
from vlkng_ros.memory.database import explained, open_for_writing
from vlkng_ros.memory.forgetting import Forgetting, Selection
from vlkng_ros.memory.images import ImageFolder
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.live_view import LiveAssociation, LiveView
from vlkng_ros.memory.lock import WriterLock
from vlkng_ros.memory.packing import pack_pose
from vlkng_ros.memory.relations import add_relations
from vlkng_ros.memory.rows import ForgetSummary
from vlkng_ros.memory.texts import TextStore, Vocabulary
from vlkng_ros.types import Capture, Entity, Keyframe, Observation, Perception, PerceptionState, Pose, TextEncoder

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Head:
    """The one row that counts: the revision and the last id of each kind that was ever given."""

    revision: int
    keyframe: int
    observation: int
    text: int
    entity: int
    relation: int
    keyframes: int
    observations: int
    encoder: int | None


class MemoryWriter:
    """Writes a memory. One at a time; its methods may be called from any thread.

    A keyframe is acknowledged once ``add_keyframe`` has returned: from then on neither a crash nor a lost battery
    takes it away. Every method but ``image`` and ``pending`` raises ``StorageFullError`` where the disk is full or
    the folder read-only, and then nothing has changed.
    """

    def __init__(
        self,
        path: Path,
        lock: WriterLock,
        connection: sqlite3.Connection,
        encoder: TextEncoder | None,
        associators: Sequence[Associator],
        keep_images: bool,
    ) -> None:
        self.path = path
        self._file_lock = lock
        self._mutex = threading.RLock()
        self._connection = connection
        self._encoder = encoder
        self._keep_images = keep_images
        self._images = ImageFolder(path)
        self._session: int | None = None
        self._catalogs = Catalogs(connection)
        self._keyframes = KeyframeRows(connection, self._catalogs)
        self._texts = TextStore(connection, encoder)
        self._head = self._load_head()
        self._name_encoder()
        self._vocabulary = Vocabulary(connection, encoder, self._head.encoder)
        self._live = [
            LiveAssociation(a, LiveView(connection, self._catalogs, self._texts, self._vocabulary, a.view))
            for a in associators
        ]
        self._name_views()
        self._clean_images()
        self._finish_associations()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        encoder: TextEncoder | None,
        associators: Sequence[Associator] = (),
        keep_images: bool = True,
    ) -> MemoryWriter:
        """Open a memory for writing, make it where there is none, and finish what a crash left unfinished.

        Args:
            path: the database file; ``~`` is the home folder. Folders are made as needed.
            encoder: embeds labels and sentences; None stores texts without vectors.
            associators: what writes each its view live.
            keep_images: whether ``add_keyframe`` keeps the JPEG it is handed.

        Raises:
            MemoryLockedError: another process writes to it.
            NotAMemoryError: the file is something else.
            SchemaVersionError: a newer version of this package made it.
            MemoryDamagedError: its structure is broken.
            StorageFullError: the folder cannot be written to.
        """
        file = Path(path).expanduser().absolute()
        with explained(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            lock = WriterLock(file)
        try:
            connection = open_for_writing(file)
            try:
                with explained(file):
                    return cls(file, lock, connection, encoder, associators, keep_images)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            lock.release()
            raise

    # ------------------------------------------------------------------------------------------------ operations

    def start_session(self, *, robot: str, map_id: str, frame_id: str) -> int:
        """Begin a drive; keyframes added from now on belong to it. An empty ``map_id`` makes a map of its own.

        Raises:
            InvalidInputError: the frame has no name.
        """
        if not frame_id:
            raise InvalidInputError("start_session: frame_id is empty; name the frame that poses are in, such as 'map'")
        with self._operation() as head:
            session = self._catalogs.add_session(robot, map_id, frame_id, head.revision)
        self._session = session
        return session

    def add_keyframe(self, capture: Capture, jpeg: bytes | None = None) -> Keyframe:
        """Remember a frame and where it was taken; its description is pending. Returns once it is durable.

        Raises:
            InvalidInputError: no session was started, or a pose is in another frame than the session's.
        """
        with self._operation() as head:
            session = self._session
            if session is None:
                raise InvalidInputError("add_keyframe: no session; call start_session first")
            frame_id = self._catalogs.session(session).frame_id
            for pose in (capture.base_pose, capture.camera_pose):
                if pose is not None and pose.frame_id != frame_id:
                    raise InvalidInputError(
                        f"add_keyframe: pose is in frame '{pose.frame_id}', and this session's is '{frame_id}'"
                    )
            head.keyframe += 1
            head.keyframes += 1
            image = jpeg if self._keep_images and jpeg else None
            if image is not None:
                self._images.write(head.keyframe, image)
            optical = capture.camera_pose
            self._connection.execute(
                "INSERT INTO keyframe (id, stamp, session, camera, base_pose, camera_pose, image, state, revision) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)",
                (
                    head.keyframe,
                    capture.stamp_ns,
                    session,
                    self._catalogs.camera_number(capture),
                    pack_pose(capture.base_pose),
                    None if optical is None else pack_pose(optical),
                    len(image) if image is not None else 0,
                    head.revision,
                ),
            )
            return self._keyframes.keyframes([head.keyframe])[0]

    def add_perception(self, keyframe_id: int, perception: Perception) -> tuple[Observation, ...]:
        """Remember what a model said about a keyframe; its observations are new ids in the detections' order.

        Raises:
            NotInMemoryError: there is no such keyframe.
            InvalidInputError: it is described already, or the description does not hold together.
        """
        with self._mutex:
            self._require_open()
            perceiving.check(perception)
            with explained(self.path):
                self._require_undescribed(keyframe_id)
                texts = self._texts.prepare(perceiving.texts_of(perception))
            with self._operation() as head:
                head.text = self._texts.add(texts, head.text, head.encoder)
                first = head.observation + 1
                perceiving.store(
                    self._connection, self._catalogs, self._texts, keyframe_id, perception, first, head.revision
                )
                head.observation += len(perception.detections)
                head.observations += len(perception.detections)
                return tuple(self._keyframes.observations(keyframe_id))

    def mark_perception_failed(self, keyframe_id: int, reason: str) -> None:
        """Remember that a keyframe could not be described, so that it is no longer pending.

        Raises:
            NotInMemoryError: there is no such keyframe.
            InvalidInputError: it is described already.
        """
        with self._operation() as head:
            self._require_undescribed(keyframe_id)
            self._connection.execute(
                "UPDATE keyframe SET state = 2, failure = ?, revision = ? WHERE id = ?",
                (reason, head.revision, keyframe_id),
            )

    def associate(self, keyframe_id: int) -> tuple[Entity, ...]:
        """Decide what a described keyframe shows, in every live view; returns its entities, by view and observation.

        Keyframes described before it that are not associated yet come first, each an operation of its own: the order
        of association is always that of description.

        Raises:
            NotInMemoryError: there is no such keyframe.
            InvalidInputError: it is not described yet.
        """
        with self._mutex:
            self._require_open()
            with explained(self.path):
                query = "SELECT described FROM keyframe WHERE id = ?"
                row = self._connection.execute(query, (keyframe_id,)).fetchone()
                if row is None:
                    raise NotInMemoryError(f"keyframe {keyframe_id} is not in this memory")
                if row[0] is None:
                    raise InvalidInputError(f"keyframe {keyframe_id} is not described yet; call add_perception first")
                for number in self._unassociated(int(row[0])):
                    self._associate_one(number)
                return self._entities_in(keyframe_id)

    def correct_poses(self, corrections: Mapping[int, tuple[Pose, Pose | None]]) -> int:
        """Give keyframes better poses (base, camera) and derive every place anew; returns how many were corrected.

        Raises:
            NotInMemoryError: one of the keyframes is not there; nothing was changed.
            InvalidInputError: a pose is in another frame than the keyframe's session.
        """
        if not corrections:
            return 0
        with self._operation() as head:
            correct_poses(self._connection, self._catalogs, self._keyframes, corrections, head.revision)
        self._reload_views()
        return len(corrections)

    def forget(
        self,
        *,
        view: str | None = None,
        entity_ids: Sequence[str] = (),
        label: str | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
        area: tuple[float, float, float, float] | None = None,
        map_id: str | None = None,
    ) -> ForgetSummary:
        """Take things out of the memory for good: from the file, its images and, at their refresh, every reader.

        What is named is combined: ``label`` with ``since_ns`` forgets that label from then on. Named entities (of
        ``view``) and labels take the observations, the sentences that mention them and the images that show them.
        Time and area alone take whole keyframes; an area also takes what is known to stand in it.

        Args:
            view: the view that ``entity_ids`` are of; None where the memory has only one.
            entity_ids: entities to forget.
            label: what things are called; case and plural do not matter.
            since_ns: from this time on, inclusive.
            until_ns: up to this time, inclusive.
            area: ``(x_min, y_min, x_max, y_max)`` in metres, in the frame of the map.
            map_id: the map that the area is in; None for that of the newest session.

        Raises:
            InvalidInputError: nothing was named, or a range is empty.
            NotInMemoryError: there is no such view or entity.
        """
        selection = Selection(view, tuple(entity_ids), label, since_ns, until_ns, area, map_id)
        with self._operation() as head:
            summary = Forgetting(self._connection, self._catalogs, self._keyframes, selection, head.revision).run()
            head.keyframes -= summary.keyframes
            head.observations -= summary.observations
        with self._mutex, explained(self.path):
            self._clear_caches()
            self._clean_images()
            self._checkpoint()
        return summary

    def pending(self, limit: int = 100) -> list[Keyframe]:
        """Keyframes that are not described yet, oldest first."""
        with self._mutex:
            self._require_open()
            with explained(self.path):
                query = "SELECT id FROM keyframe WHERE state = 0 ORDER BY id LIMIT ?"
                ids = [row[0] for row in self._connection.execute(query, (limit,))]
                return self._keyframes.keyframes(ids)

    def image(self, keyframe_id: int) -> bytes | None:
        """The JPEG of a keyframe, or None where none was kept."""
        return self._images.read(keyframe_id)

    @property
    def revision(self) -> int:
        """Number of the last operation."""
        return self._head.revision

    def close(self) -> None:
        """Put everything into the database file and let others write."""
        with self._mutex:
            try:
                self._connection.close()
            finally:
                self._file_lock.release()

    def __enter__(self) -> MemoryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------- machinery

    @contextmanager
    def _operation(self) -> Iterator[Head]:
        """One transaction and one new revision; memory follows only when it is committed."""
        with self._mutex:
            self._require_open()
            with explained(self.path):
                self._connection.execute("BEGIN IMMEDIATE")
                head = dataclasses.replace(self._head, revision=self._head.revision + 1)
                try:
                    yield head
                    self._store_head(head)
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    self._head = self._load_head()
                    self._clear_caches()
                    raise
                self._head = head

    def _associate_one(self, keyframe_id: int) -> None:
        keyframe = self._keyframes.keyframes([keyframe_id])[0]
        query = "SELECT described FROM keyframe WHERE id = ?"
        described = int(self._connection.execute(query, (keyframe_id,)).fetchone()[0])
        observations = self._keyframes.observations(keyframe_id)
        behind = [live for live in self._live if live.view.associated < described]
        decided = [live.associator.assign(keyframe, observations, live.view) for live in behind]
        with self._operation() as head:
            staged = []
            for live, decisions in zip(behind, decided, strict=True):
                result = live.view.stage(keyframe, observations, decisions, head.entity, head.revision)
                head.entity = max([head.entity, *(entity.key for entity in result.entities)])
                staged.append(result)
                keys = {o.observation_id: e.key for o, e in zip(observations, result.entities, strict=True)}
                head.relation = add_relations(
                    self._connection, live.view.number, keyframe_id, keys, head.relation, head.revision
                )
                self._connection.execute(
                    "UPDATE view SET associated = ? WHERE id = ?", (described, live.view.number)
                )
        for live, result in zip(behind, staged, strict=True):
            live.view.install(result, described)

    def _unassociated(self, up_to: int) -> list[int]:
        if not self._live:
            return []
        since = min(live.view.associated for live in self._live)
        query = "SELECT id FROM keyframe WHERE described > ? AND described <= ? ORDER BY described"
        return [row[0] for row in self._connection.execute(query, (since, up_to))]

    def _entities_in(self, keyframe_id: int) -> tuple[Entity, ...]:
        found: list[Entity] = []
        for live in self._live:
            query = (
                "SELECT a.entity FROM keyframe k JOIN assignment a ON a.view = ? AND a.observation "
                "BETWEEN k.first_observation AND k.first_observation + k.observations - 1 WHERE k.id = ?"
            )
            for (key,) in self._connection.execute(query, (live.view.number, keyframe_id)):
                found.append(live.view.record(key).entity())
        return tuple(found)

    def _finish_associations(self) -> None:
        backlog = self._unassociated(self._head.revision)
        if backlog:
            logger.info("%s: associating %d keyframes that were described before", self.path, len(backlog))
        for number in backlog:
            self._associate_one(number)

    def _require_open(self) -> None:
        if self._file_lock.released:
            raise MemoryFileError(f"{self.path}: this writer is closed")

    def _require_undescribed(self, keyframe_id: int) -> None:
        row = self._connection.execute("SELECT state FROM keyframe WHERE id = ?", (keyframe_id,)).fetchone()
        if row is None:
            raise NotInMemoryError(f"keyframe {keyframe_id} is not in this memory; it may have been forgotten")
        if row[0] == 1:
            raise InvalidInputError(f"keyframe {keyframe_id} is described already; observations never change")

    def _load_head(self) -> Head:
        row: tuple[Any, ...] = self._connection.execute(
            "SELECT revision, keyframe, observation, text, entity, relation, keyframes, observations, encoder FROM head"
        ).fetchone()
        return Head(*row)

    def _store_head(self, head: Head) -> None:
        self._connection.execute(
            "UPDATE head SET revision=?, keyframe=?, observation=?, text=?, entity=?, relation=?, keyframes=?, "
            "observations=?, encoder=?",
            dataclasses.astuple(head),
        )

    def _name_encoder(self) -> None:
        if self._encoder is None:
            return
        query = "SELECT id FROM encoder WHERE name = ?"
        row = self._connection.execute(query, (self._encoder.encoder_id,)).fetchone()
        if row is not None and row[0] == self._head.encoder:
            return
        with self._operation() as head:
            if row is None:
                insert = "INSERT INTO encoder (name, dimensions) VALUES (?, ?)"
                row = (self._connection.execute(insert, (self._encoder.encoder_id, self._encoder.dimensions)).lastrowid,)
            head.encoder = row[0]

    def _name_views(self) -> None:
        for live in self._live:
            query = "SELECT 1 FROM view WHERE name = ?"
            if self._connection.execute(query, (live.view.name,)).fetchone() is None:
                with self._operation():
                    self._connection.execute("INSERT INTO view (name, associated) VALUES (?, 0)", (live.view.name,))
        self._reload_views()

    def _reload_views(self) -> None:
        for live in self._live:
            live.view.load()

    def _clear_caches(self) -> None:
        self._catalogs.clear()
        self._keyframes.clear()
        self._texts.clear()
        self._vocabulary.clear()
        self._reload_views()

    def _clean_images(self) -> None:
        garbage = [row[0] for row in self._connection.execute("SELECT keyframe FROM image_garbage")]
        for keyframe_id in garbage:
            self._images.delete(keyframe_id)
        self._images.delete_after(self._head.keyframe)
        if garbage:
            self._connection.execute("DELETE FROM image_garbage")

    def _checkpoint(self) -> None:
        """Bring the database file up to date and empty the log: old pages hold what was forgotten."""
        busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            logger.warning("%s: a reader is busy; the log still holds forgotten data until the next checkpoint", self.path)
