"""Keyframes and observations between their rows and their types."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.bearing import CameraView, camera_view
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.fold import KINDS, Absence, Fact
from vlkng_ros.memory.packing import reads_rows, unpack_attributes, unpack_box, unpack_pose, unpack_vector
from vlkng_ros.memory.rows import SeenBox
from vlkng_ros.types import Capture, Detection, Keyframe, Observation, PerceptionState

STATES = (PerceptionState.PENDING, PerceptionState.DONE, PerceptionState.FAILED)
KEYFRAME = "k.id, k.stamp, k.session, k.camera, k.base_pose, k.camera_pose, k.image, k.state, k.revision"
_DETECTION = "o.id, o.kind, label.text, region.text, o.attributes, o.local_id, o.box, o.score, o.depth, o.told"
_DETECTION_FROM = "observation o JOIN text label ON label.id = o.label LEFT JOIN text region ON region.id = o.region"
MAX_RECENT = 20_000
"""Decoded keyframes kept while folding: a keyframe shows several entities."""
_CHUNK = 500


class Seen(NamedTuple):
    """A keyframe as the fold needs it."""

    keyframe: Keyframe
    camera: CameraView | None
    map: int


class KeyframeRows:
    """Reads keyframes and observations through one connection, inside or outside a transaction."""

    def __init__(self, connection: sqlite3.Connection, catalogs: Catalogs) -> None:
        self._connection = connection
        self._catalogs = catalogs
        self._recent: dict[int, Seen] = {}

    @reads_rows
    def decode(self, row: Sequence[Any], caption: str = "") -> Keyframe:
        """A keyframe from the columns ``KEYFRAME``."""
        number, stamp, session_id, camera_number, base, optical, image, state, revision = row
        session = self._catalogs.session(session_id)
        camera = self._catalogs.camera(camera_number)
        return Keyframe(
            number,
            stamp,
            unpack_pose(session.frame_id, base),
            None if optical is None else unpack_pose(session.frame_id, optical),
            camera.name,
            session_id,
            session.robot,
            session.map_id,
            camera.intrinsics,
            camera.image_size_px,
            caption,
            image > 0,
            STATES[state],
            revision,
        )

    def keyframes(self, ids: Sequence[int]) -> list[Keyframe]:
        """In the order asked for.

        Raises:
            NotInMemoryError: one of them is not there.
        """
        found = self.known(ids)
        missing = [number for number in ids if number not in found]
        if missing:
            raise NotInMemoryError(f"keyframe {missing[0]} is not in this memory; it may have been forgotten")
        return [found[number] for number in ids]

    def known(self, ids: Sequence[int]) -> dict[int, Keyframe]:
        """Those of some keyframes that are there, by id."""
        found: dict[int, Keyframe] = {}
        for start in range(0, len(ids), _CHUNK):
            part = [int(number) for number in ids[start : start + _CHUNK]]
            marks = ",".join("?" * len(part))
            captions = self._captions(part, marks)
            query = f"SELECT {KEYFRAME} FROM keyframe k WHERE k.id IN ({marks})"
            for row in self._connection.execute(query, part):
                found[row[0]] = self.decode(row, captions.get(row[0], ""))
        return found

    def _captions(self, ids: Sequence[int], marks: str) -> dict[int, str]:
        parts: dict[int, list[str]] = {}
        query = (
            "SELECT kt.keyframe, text.text FROM keyframe_text kt JOIN text ON text.id = kt.text "
            f"WHERE kt.keyframe IN ({marks}) ORDER BY kt.keyframe, kt.ordinal"
        )
        for number, sentence in self._connection.execute(query, list(ids)):
            parts.setdefault(number, []).append(sentence)
        return {number: " ".join(sentences) for number, sentences in parts.items()}

    def observations(self, keyframe_id: int, told: bool = True) -> list[Observation]:
        """Of one keyframe, in the order of its detections; without ``told`` only what was seen.

        Raises:
            NotInMemoryError: there is no such keyframe.
        """
        query = "SELECT first_observation, observations, backend, model FROM keyframe WHERE id = ?"
        row = self._connection.execute(query, (keyframe_id,)).fetchone()
        if row is None:
            raise NotInMemoryError(f"keyframe {keyframe_id} is not in this memory; it may have been forgotten")
        first, count, backend, model = row
        if not count:
            return []
        names = self._catalogs.term(backend), self._catalogs.term(model)
        query = (
            f"SELECT {_DETECTION}, crop.vector FROM {_DETECTION_FROM} LEFT JOIN crop ON crop.observation = o.id "
            "WHERE o.id BETWEEN ? AND ? AND o.told <= ? ORDER BY o.id"
        )
        return [
            Observation(row[0], keyframe_id, self._detection(row, row[10]), *names)
            for row in self._connection.execute(query, (first, first + count - 1, int(told)))
        ]

    def boxes_in(self, keyframe_ids: Sequence[int]) -> dict[int, list[SeenBox]]:
        """What was seen in some keyframes, those that nothing was seen in left out: one query for all."""
        marks = ",".join("?" * len(keyframe_ids))
        query = (
            f"SELECT k.id, o.id, label.text, region.text, o.score, o.box FROM keyframe k JOIN {_DETECTION_FROM} "
            f"WHERE k.id IN ({marks}) AND NOT o.told "
            "AND o.id BETWEEN k.first_observation AND k.first_observation + k.observations - 1 ORDER BY o.id"
        )
        found: dict[int, list[SeenBox]] = {}
        for number, *row, box in self._connection.execute(query, [int(number) for number in keyframe_ids]):
            found.setdefault(number, []).append(self._box(row, box))
        return found

    @reads_rows
    def _box(self, row: Sequence[Any], box: bytes | None) -> SeenBox:
        number, label, region, score = row
        return SeenBox(number, label, region or "", score, unpack_box(box))

    @reads_rows
    def _detection(self, row: Sequence[Any], vector: bytes | None) -> Detection:
        _, kind, label, region, attributes, local_id, box, score, depth, told, *_ = row
        return Detection(
            label,
            unpack_box(box),
            score,
            region or "",
            {} if attributes is None else unpack_attributes(self._catalogs.term(attributes)),
            KINDS[kind],
            "" if local_id is None else self._catalogs.term(local_id),
            None if vector is None else unpack_vector(vector),
            depth,
            bool(told),
        )

    def events(self, entity: int, after_observation: int = 0) -> Iterator[Fact | Absence]:
        """What happened to an entity, in the order in which it was associated; crops are left out."""
        absences = self._absences(entity, after_observation)
        absence = next(absences, None)
        query = (
            f"SELECT {_DETECTION}, k.id, k.revision FROM assignment a JOIN {_DETECTION_FROM} "
            "JOIN keyframe k ON k.id = o.keyframe "
            "WHERE a.entity = ? AND a.observation > ? AND o.id = a.observation ORDER BY a.observation"
        )
        for row in self._connection.execute(query, (entity, after_observation)):
            while absence is not None and absence.before_observation_id <= row[0]:
                yield absence
                absence = next(absences, None)
            yield Fact(row[0], self._detection(row, None), *self.seen(row[10], row[11]))
        while absence is not None:
            yield absence
            absence = next(absences, None)

    def _absences(self, entity: int, after_observation: int) -> Iterator[Absence]:
        query = (
            "SELECT a.before_observation, k.id, k.revision FROM absence a JOIN keyframe k ON k.id = a.keyframe "
            "WHERE a.entity = ? AND a.before_observation > ? ORDER BY a.described"
        )
        for before, number, revision in self._connection.execute(query, (entity, after_observation)):
            seen = self.seen(number, revision)
            if seen.camera is not None:
                yield Absence(before, seen.keyframe, seen.camera)

    def seen(self, number: int, revision: int | None = None) -> Seen:
        """A keyframe with its camera and map, decoded once as long as its revision, looked up if need be, stays."""
        if revision is None:
            query = "SELECT revision FROM keyframe WHERE id = ?"
            (revision,) = self._connection.execute(query, (number,)).fetchone()
        seen = self._recent.get(number)
        if seen is None or seen.keyframe.revision != revision:
            row = self._connection.execute(f"SELECT {KEYFRAME} FROM keyframe k WHERE k.id = ?", (number,)).fetchone()
            seen = self._remember(self.decode(row))
        return seen

    def fact(self, observation_id: int, detection: Detection, keyframe: Keyframe) -> Fact:
        """A fact for the fold."""
        return Fact(observation_id, detection, *self._of(keyframe))

    def camera(self, keyframe: Keyframe) -> CameraView | None:
        """The camera of a keyframe, or None where its pose or intrinsics are unknown."""
        return self._of(keyframe).camera

    def remember_new(
        self, number: int, capture: Capture, session_id: int, camera_number: int, has_image: bool, revision: int
    ) -> Keyframe:
        """A keyframe whose row was written just now, as ``keyframes`` would read it back."""
        session, camera = self._catalogs.session(session_id), self._catalogs.camera(camera_number)
        keyframe = Keyframe(
            number,
            capture.stamp_ns,
            capture.base_pose,
            capture.camera_pose,
            camera.name,
            session_id,
            session.robot,
            session.map_id,
            camera.intrinsics,
            camera.image_size_px,
            "",
            has_image,
            PerceptionState.PENDING,
            revision,
        )
        return self._remember(keyframe).keyframe

    def remember_described(self, seen: Seen, caption: str, revision: int) -> Keyframe:
        """A keyframe that was described just now, as ``keyframes`` would read it back."""
        k = seen.keyframe
        keyframe = Keyframe(
            k.keyframe_id,
            k.stamp_ns,
            k.base_pose,
            k.camera_pose,
            k.camera,
            k.session_id,
            k.robot,
            k.map_id,
            k.intrinsics,
            k.image_size_px,
            caption,
            k.has_image,
            PerceptionState.DONE,
            revision,
        )
        self._recent[k.keyframe_id] = Seen(keyframe, seen.camera, seen.map)
        return keyframe

    def _of(self, keyframe: Keyframe) -> Seen:
        seen = self._recent.get(keyframe.keyframe_id)
        return seen if seen is not None and seen.keyframe is keyframe else self._remember(keyframe)

    def _remember(self, keyframe: Keyframe) -> Seen:
        if len(self._recent) >= MAX_RECENT:
            self._recent.clear()
        seen = Seen(keyframe, camera_view(keyframe), self._catalogs.map_of_session(keyframe.session_id))
        self._recent[keyframe.keyframe_id] = seen
        return seen

    def clear(self) -> None:
        """Forget what was decoded: after a rollback or a deletion."""
        self._recent.clear()
