"""The one process that writes a memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from types import TracebackType

from vlkng_ros.errors import InvalidInputError, MemoryNotFoundError
from vlkng_ros.memory import anchors, perceiving
from vlkng_ros.memory.associating import LiveViews
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.correcting import correct_poses
from vlkng_ros.memory.database import check_file, drop_index, explained, located, make_folder, open_for_writing, parsed
from vlkng_ros.memory.forgetting import Forgetting
from vlkng_ros.memory.image_retention import NO_LIMITS, ImageLimits, ImageRetention
from vlkng_ros.memory.lock import WriterLock
from vlkng_ros.memory.observation_retention import KEEP_ALL, ObservationLimits, ObservationRetention
from vlkng_ros.memory.packing import pack_pose
from vlkng_ros.memory.relocating import bring_up_to_date
from vlkng_ros.memory.rows import ForgetSummary
from vlkng_ros.memory.selecting import Selection
from vlkng_ros.memory.spans import add_span
from vlkng_ros.memory.transactions import Store
from vlkng_ros.types import Capture, Entity, Keyframe, Observation, Perception, Pose, TextEncoder

LOG_WAIT_MS = 2_000
"""How long ``forget`` waits for readers to let go of the log."""


class MemoryWriter:
    """Writes a memory. One at a time; its methods may be called from any thread.

    A keyframe is acknowledged once ``add_keyframe`` has returned: from then on neither a crash nor a lost battery
    takes it away. Every method but ``image`` and ``pending`` raises ``StorageFullError`` where the disk is full or
    the folder read-only, and then nothing has changed.
    """

    def __init__(
        self,
        store: Store,
        lock: WriterLock,
        associators: Sequence[Associator],
        keep_images: bool,
        image_limits: ImageLimits,
        observation_limits: ObservationLimits,
    ) -> None:
        self.path = store.path
        self._store = store
        self._lock = lock
        self._keep_images = keep_images
        self._session: int | None = None
        store.clean_images()
        bring_up_to_date(store)
        self._views = LiveViews(store, associators)
        self._views.catch_up()
        self._images = ImageRetention(store, image_limits)
        self._observations = ObservationRetention(store, self._views, observation_limits)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        encoder: TextEncoder | None,
        associators: Sequence[Associator] = (),
        keep_images: bool = True,
        image_limits: ImageLimits = NO_LIMITS,
        observation_limits: ObservationLimits = KEEP_ALL,
    ) -> MemoryWriter:
        """Open a memory for writing, make it where there is none, and finish what a crash left unfinished.

        Args:
            path: the database file; ``~`` is the home folder. Folders are made as needed.
            encoder: embeds labels and sentences; None stores texts without vectors.
            associators: what writes each its view live.
            keep_images: whether ``add_keyframe`` keeps the JPEG it is handed.
            image_limits: how long and how many of them.
            observation_limits: how long and how many observations are kept one by one.

        Raises:
            MemoryLockedError: another process writes to it.
            NotAMemoryError: the file is something else.
            SchemaVersionError: a newer version of this package made it.
            MemoryDamagedError: its structure is broken.
            StorageFullError: the folder cannot be written to.
        """
        file = located(path)
        with suppress(MemoryNotFoundError):
            check_file(file)
        with explained(file):
            make_folder(file.parent)
            lock = WriterLock(file)
        try:
            connection = open_for_writing(file)
            try:
                with explained(file), parsed(file):
                    store = Store(file, connection, encoder)
                    return cls(store, lock, associators, keep_images, image_limits, observation_limits)
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
        with self._store.operation() as head:
            session = self._store.catalogs.add_session(robot, map_id, frame_id, head.revision)
        self._session = session
        return session

    def add_keyframe(self, capture: Capture, jpeg: bytes | None = None) -> Keyframe:
        """Remember a frame and where it was taken; its description is pending. Returns once it is durable.

        Raises:
            InvalidInputError: no session was started, or a pose is in another frame than the session's.
        """
        store = self._store
        with store.operation() as head:
            session = self._require_session(capture)
            head.keyframe += 1
            head.keyframes += 1
            image = jpeg if self._keep_images and jpeg else None
            if image is not None:
                store.images.write(head.keyframe, image)
            size = len(image) if image is not None else 0
            optical, camera = capture.camera_pose, store.catalogs.camera_number(capture)
            store.connection.execute(
                "INSERT INTO keyframe (id, stamp, session, camera, base_pose, camera_pose, image, state, revision) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)",
                (
                    head.keyframe,
                    capture.stamp_ns,
                    session,
                    camera,
                    pack_pose(capture.base_pose),
                    None if optical is None else pack_pose(optical),
                    size,
                    head.revision,
                ),
            )
            keyframe = store.keyframes.remember_new(head.keyframe, capture, session, camera, size > 0, head.revision)
        if image is not None:
            self._images.added(len(image), capture.stamp_ns)
        self._observations.added(capture.stamp_ns)
        return keyframe

    def add_perception(self, keyframe_id: int, perception: Perception) -> tuple[Observation, ...]:
        """Remember what a model said about a keyframe; its observations are new ids in the detections' order.

        Raises:
            NotInMemoryError: there is no such keyframe.
            InvalidInputError: it is described already, or the description does not hold together.
        """
        return self.add_perceptions({keyframe_id: perception})[keyframe_id]

    def add_perceptions(self, perceptions: Mapping[int, Perception]) -> dict[int, tuple[Observation, ...]]:
        """Remember what a model said about the keyframes of a chunk, by keyframe: all of it in one operation.

        Raises:
            NotInMemoryError: one of the keyframes is not there.
            InvalidInputError: one is described already, or a description does not hold together.
        """
        store = self._store
        for perception in perceptions.values():
            perceiving.check(perception)
        with store.using():
            seen = {number: store.require_undescribed(number) for number in perceptions}
            texts = store.texts.prepare([text for p in perceptions.values() for text in perceiving.texts_of(p)])
            with store.operation() as head:
                head.text = store.texts.add(texts, head.text, head.encoder)
                scenes = [
                    perceiving.store(store, head, seen[number], perception, texts.numbers)
                    for number, perception in perceptions.items()
                ]
            store.keep(scenes)
            return {scene.keyframe.keyframe_id: tuple(scene.observations) for scene in scenes}

    def add_span(self, kind: str, keyframe_ids: Sequence[int], summary: str) -> int:
        """Remember what a stretch of a drive shows altogether, such as a clip; returns the span's id.

        Raises:
            InvalidInputError: it has no kind or no keyframes.
            NotInMemoryError: one of the keyframes is not there.
        """
        store = self._store
        with store.operation() as head:
            span = add_span(store.connection, kind, keyframe_ids, summary, head.span, head.revision)
            head.span = max(head.span, span)
            return span

    def mark_perception_failed(self, keyframe_id: int, reason: str) -> None:
        """Remember that a keyframe could not be described, so that it is no longer pending.

        Raises:
            NotInMemoryError: there is no such keyframe.
            InvalidInputError: it is described already.
        """
        with self._store.operation() as head:
            self._store.require_undescribed(keyframe_id)
            self._store.connection.execute(
                "UPDATE keyframe SET state = 2, failure = ?, revision = ? WHERE id = ?",
                (reason, head.revision, keyframe_id),
            )

    def associate(self, keyframe_id: int) -> Sequence[Entity]:
        """Decide what a described keyframe shows, in every live view; returns its entities, by view and observation.

        Keyframes described before it that are not associated yet come first, each an operation of its own: the order
        of association is always that of description.

        Raises:
            NotInMemoryError: there is no such keyframe.
            InvalidInputError: it is not described yet.
        """
        with self._store.using():
            return self._views.associate(keyframe_id)

    def correct_poses(
        self,
        corrections: Mapping[int, tuple[Pose, Pose | None]],
        anchored: Mapping[int, Mapping[int, anchors.Anchor]] | None = None,
    ) -> int:
        """Give keyframes better poses (base, camera) and derive every place anew; returns how many were corrected.

        Args:
            corrections: by keyframe.
            anchored: anchors in SLAM's pose graph that the poses now belong to, by session and vertex.

        Raises:
            NotInMemoryError: one of the keyframes is not there; nothing was changed.
            InvalidInputError: a pose is in another frame than the keyframe's session.
        """
        if not corrections and not anchored:
            return 0
        store = self._store
        with store.using():
            relocated: list[int] = []
            with store.operation() as head:
                if corrections:
                    relocated = correct_poses(store, corrections, head.revision)
                for session_id, by_vertex in (anchored or {}).items():
                    anchors.keep_anchors(store.connection, session_id, by_vertex)
            self._views.relocated(relocated)
        return len(corrections)

    def anchored_drives(self, robot: str, map_id: str) -> list[anchors.AnchoredDrive]:
        """A robot's drives through a map whose keyframes can be moved with its pose graph, oldest first."""
        with self._store.using():
            return anchors.anchored_drives(self._store, robot, map_id)

    def drop_anchors(self, session_ids: Collection[int]) -> None:
        """These drives belong to another graph: their keyframes stay where they are."""
        with self._store.operation():
            anchors.drop_anchors(self._store.connection, session_ids)

    def forgotten(self, keyframe_ids: Collection[int]) -> set[int]:
        """Those of some keyframes that are not in the memory any more."""
        with self._store.using():
            execute = self._store.connection.execute
            found = (execute("SELECT id FROM keyframe WHERE id = ?", (number,)).fetchone() for number in keyframe_ids)
            return set(keyframe_ids) - {row[0] for row in found if row is not None}

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
        store = self._store
        with store.using():
            drop_index(store.path)  # first, lest a crash after the commit leave it
            with store.operation() as head:
                summary = Forgetting(store, selection, head.revision).run()
                head.keyframes -= summary.keyframes
                head.observations -= summary.observations
            drop_index(store.path)  # and what a reader has kept meanwhile
            store.reset()
            store.clean_images()
            store.empty_log(wait_ms=LOG_WAIT_MS)
        return summary

    def drop_images(self, *, older_than_ns: int | None = None, keep_bytes: int | None = None) -> int:
        """Delete images of old keyframes, the oldest first; returns how many. Everything else about them stays.

        Args:
            older_than_ns: those of keyframes before this time.
            keep_bytes: as many more as it takes for the rest to fit.
        """
        with self._store.using():
            return self._images.drop(older_than_ns, keep_bytes)

    def summarise(self, *, older_than_ns: int | None = None, keep: int | None = None) -> int:
        """Keep old observations in summary only; returns of how many keyframes.

        What every live view has associated goes, in the order in which it was described, up to the first keyframe
        that is to stay. Entities stay as they are, with their counts, labels, attributes, times, places and edges; so
        do keyframes with poses, and the observations that show each entity first, last and last by each of its labels.

        Args:
            older_than_ns: those of keyframes before this time.
            keep: as many more as it takes for no more than these to be left.
        """
        return self._observations.summarise(older_than_ns, keep)

    def embed_missing(self, limit: int = 1_000) -> int:
        """Embed texts that have no vector by this writer's encoder, oldest first; returns how many were.

        There are some after a memory was written without an encoder or with another one. One operation a call.
        """
        store = self._store
        with store.using():
            missing = store.texts.missing(store.head.encoder, limit)
            if missing:
                with store.operation() as head:
                    store.texts.add_vectors(missing, head.encoder)
            return len(missing)

    def pending(self, limit: int = 100) -> list[Keyframe]:
        """Keyframes that are not described yet, oldest first."""
        store = self._store
        with store.using():
            query = "SELECT id FROM keyframe WHERE state = 0 ORDER BY id LIMIT ?"
            ids = [row[0] for row in store.connection.execute(query, (limit,))]
            return store.keyframes.keyframes(ids)

    def image(self, keyframe_id: int) -> bytes | None:
        """The JPEG of a keyframe, or None where none was kept."""
        return self._store.images.read(keyframe_id)

    @property
    def revision(self) -> int:
        """Number of the last operation."""
        return self._store.head.revision

    def close(self) -> None:
        """Put everything into the database file and let others write."""
        with self._store.mutex:
            self._store.closed = True
            try:
                self._store.connection.close()
            finally:
                self._lock.release()

    def __enter__(self) -> MemoryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_session(self, capture: Capture) -> int:
        if self._session is None:
            raise InvalidInputError("add_keyframe: no session; call start_session first")
        frame_id = self._store.catalogs.session(self._session).frame_id
        for pose in (capture.base_pose, capture.camera_pose):
            if pose is not None and pose.frame_id != frame_id:
                raise InvalidInputError(
                    f"add_keyframe: pose is in frame '{pose.frame_id}', and this session's is '{frame_id}'"
                )
        return self._session
