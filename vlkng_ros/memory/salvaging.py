"""What can still be read of a damaged memory, written into a new one; the damaged file is never touched.

Keyframes are looked up one by one, since a scan ends at the first broken page. A keyframe whose description cannot be
read is kept with its place and image, and waits to be described anew. Identity is decided again from what is left.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from vlkng_ros.errors import MemoryDamagedError, MemoryNotFoundError, NotAMemoryError, VlkngError
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.database import wal_of
from vlkng_ros.memory.images import ImageFolder
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.schema import APPLICATION_ID
from vlkng_ros.memory.writer import MemoryWriter
from vlkng_ros.types import Capture, Keyframe, Perception, PerceptionState, RelationMention

_BROKEN = (sqlite3.Error, UnicodeDecodeError, struct.error, ValueError, LookupError, TypeError, VlkngError)
"""What reading bytes that are no longer what they were can end in."""
_MOST_LOOKED_FOR = 100_000_000
"""Keyframes looked up at most where nothing says how many there were."""


@dataclass(slots=True)
class Salvaged:
    """What was brought over, and what was not."""

    keyframes: int = 0
    described: int = 0
    observations: int = 0
    images: int = 0
    lost_keyframes: int = 0
    """Of the ids that were given; some of them may have been forgotten before."""
    lost_descriptions: int = 0


def check_salvageable(source: Path) -> None:
    """Make sure that there is something to bring over, before a new memory is made for it.

    Raises:
        MemoryNotFoundError: there is no such file.
        NotAMemoryError: it is something else.
        MemoryDamagedError: nothing of it can be read.
    """
    with _readable(source) as file, closing(_opened(file)) as connection:
        found = _Damaged(connection, source)
        if all(found.keyframe(number) is None for number in range(1, found.last_keyframe() + 1)):
            raise MemoryDamagedError(
                f"{source}: no keyframe of it can be read; `sqlite3 {source} .recover` may find rows that lead nowhere"
            )


def salvage(source: Path, writer: MemoryWriter, advance: Callable[[int, int], object] = lambda _, __: None) -> Salvaged:
    """Bring over what can be read.

    Args:
        source: the damaged database; its images lie beside it.
        writer: of a new memory.
        advance: called with the keyframes looked at and how many there are.

    Raises:
        MemoryNotFoundError: there is no such file.
        NotAMemoryError: it is something else.
        StorageFullError: the new memory cannot be written.
    """
    with _readable(source) as file, closing(_opened(file)) as connection:
        found = _Damaged(connection, source)
        last = found.last_keyframe()
        done, session = Salvaged(), 0
        for number in range(1, last + 1):
            keyframe = found.keyframe(number)
            if keyframe is None:
                done.lost_keyframes += 1
            else:
                if keyframe.session_id != session:
                    frame_id = keyframe.base_pose.frame_id
                    writer.start_session(robot=keyframe.robot, map_id=keyframe.map_id, frame_id=frame_id)
                    session = keyframe.session_id
                _bring_over(keyframe, found, writer, done)
            advance(number, last)
        return done


def _bring_over(keyframe: Keyframe, found: _Damaged, writer: MemoryWriter, done: Salvaged) -> None:
    jpeg = found.images.read(keyframe.keyframe_id)
    made = writer.add_keyframe(
        Capture(
            keyframe.stamp_ns,
            keyframe.base_pose,
            keyframe.camera_pose,
            keyframe.camera,
            keyframe.intrinsics,
            keyframe.image_size_px,
        ),
        jpeg,
    )
    done.keyframes += 1
    done.images += jpeg is not None
    if keyframe.perception is not PerceptionState.DONE:
        return
    perception = found.perception(keyframe.keyframe_id)
    if perception is None:
        done.lost_descriptions += 1
        return
    writer.add_perception(made.keyframe_id, perception)
    writer.associate(made.keyframe_id)
    done.described += 1
    done.observations += len(perception.detections)


class _Damaged:
    """Reads one thing at a time; None where it cannot be read."""

    def __init__(self, connection: sqlite3.Connection, source: Path) -> None:
        self._connection = connection
        self._catalogs = Catalogs(connection)
        self._rows = KeyframeRows(connection, self._catalogs)
        self.images = ImageFolder(source)

    def last_keyframe(self) -> int:
        """The highest id that was given, as far as anything says so; 0 where nothing does."""
        known = [0]
        for query in ("SELECT keyframe FROM head", "SELECT MAX(id) FROM keyframe"):
            try:
                (number,) = self._connection.execute(query).fetchone()
                known.append(min(int(number), _MOST_LOOKED_FOR))
            except _BROKEN:
                continue
        return max(known)

    def keyframe(self, number: int) -> Keyframe | None:
        """A keyframe with its caption, or without where that cannot be read."""
        try:
            return self._rows.keyframes([number])[0]
        except _BROKEN:
            return None

    def perception(self, number: int) -> Perception | None:
        """The description of a keyframe, whole."""
        try:
            caption = self._rows.keyframes([number])[0].caption
            observations = self._rows.observations(number)
            query = "SELECT observations, backend, model, visual_encoder FROM keyframe WHERE id = ?"
            count, *names = self._connection.execute(query, (number,)).fetchone()
            if count != len(observations):
                return None
            place = {one.observation_id: i for i, one in enumerate(observations)}
            query = "SELECT subject, predicate, object FROM relation_fact WHERE keyframe = ? ORDER BY 1, 2, 3"
            relations = tuple(
                RelationMention(place[subject], self._catalogs.term(predicate), place[object_])
                for subject, predicate, object_ in self._connection.execute(query, (number,))
            )
            backend, model, encoder = (self._catalogs.term(name) for name in names)
            detections = tuple(one.detection for one in observations)
            return Perception(caption, detections, relations, backend, model, visual_encoder=encoder)
        except _BROKEN:
            return None


@contextmanager
def _readable(source: Path) -> Iterator[Path]:
    """The file, or, where its end is missing, a copy filled up with zeros: SQLite opens none shorter than it says."""
    try:
        with open(source, "rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise MemoryNotFoundError(f"{source}: there is no such file") from None
    except IsADirectoryError:
        raise NotAMemoryError(f"{source}: is a folder; name the database file in it") from None
    if len(header) < 100 or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise NotAMemoryError(f"{source}: not a memory of vlkng_ros; it is left as it is")
    whole = int.from_bytes(header[28:32], "big") * (int.from_bytes(header[16:18], "big") or 65536)
    log = wal_of(source)
    if size >= whole or (log.exists() and log.stat().st_size):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="vlkng-salvage-") as folder:
        copy = Path(folder) / "filled.db"
        shutil.copyfile(source, copy)
        os.truncate(copy, whole)
        yield copy


def _opened(file: Path) -> sqlite3.Connection:
    """Read-only, with the log where there is one, else as unchanging."""
    log = wal_of(file)
    options = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(f"file:{quote(str(file.absolute()))}?{options}", uri=True, isolation_level=None)
