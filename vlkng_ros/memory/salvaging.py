"""What can still be read of a damaged memory, written into a new one; the damaged file is never touched.

Keyframes are looked up one by one, since a scan ends at the first broken page; what is not found so is looked for on
every page that is whole (``rebuilding``). A keyframe whose description has parts missing keeps its place and image, and
waits to be described anew; without an image what is there of its description is kept. Identity is decided again.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from vlkng_ros.errors import InvalidInputError, MemoryDamagedError, MemoryNotFoundError, NotAMemoryError, VlkngError
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.database import located, wal_of
from vlkng_ros.memory.images import ImageFolder
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.page_scan import page_size
from vlkng_ros.memory.rebuilding import rebuild
from vlkng_ros.memory.schema import APPLICATION_ID
from vlkng_ros.memory.writer import MemoryWriter
from vlkng_ros.types import Capture, Keyframe, Perception, PerceptionState, RelationMention

_BROKEN = (sqlite3.Error, UnicodeDecodeError, struct.error, ValueError, LookupError, TypeError, VlkngError)
"""What reading bytes that are no longer what they were can end in."""
_MOST_LOOKED_FOR = 100_000_000
"""Keyframes looked up at most where nothing says how many there were."""
_StoredSpan = tuple[str, list[int], str]
"""Kind, keyframes, summary."""


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
    shortened: int = 0
    """Of the descriptions: those with observations or sentences missing."""
    unplaced: dict[str, int] = field(default_factory=dict)
    """How often things were seen, by name, of which it is lost when and where; they are not brought over."""


def check_salvageable(source: Path) -> None:
    """Make sure that there is something to bring over, before a new memory is made for it.

    Raises:
        MemoryNotFoundError: there is no such file.
        NotAMemoryError: it is something else.
        MemoryDamagedError: nothing of it can be read.
    """
    with _found_in(source) as found:
        if all(found.keyframe(number) is None for number in range(1, found.last_keyframe() + 1)):
            seen = ", ".join(f"{label} {count}" for label, count in found.unplaced().items())
            what = f"; it is lost when and where this was seen: {seen}" if seen else ""
            raise MemoryDamagedError(f"{source}: no keyframe of it can be read, on any page{what}")


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
    with _found_in(source) as found:
        last = found.last_keyframe()
        done, session = Salvaged(), 0
        new_ids: dict[int, int] = {}
        for number in range(1, last + 1):
            keyframe = found.keyframe(number)
            if keyframe is None:
                done.lost_keyframes += 1
            else:
                try:
                    if keyframe.session_id != session:
                        frame_id = keyframe.base_pose.frame_id
                        writer.start_session(robot=keyframe.robot, map_id=keyframe.map_id, frame_id=frame_id)
                        session = keyframe.session_id
                    new_ids[number] = _bring_over(keyframe, found, writer, done)
                except InvalidInputError:
                    # Its bytes can be read, and say what no writer takes.
                    done.lost_keyframes += 1
            advance(number, last)
        for kind, ids, summary in found.spans():
            if all(number in new_ids for number in ids):
                writer.add_span(kind, [new_ids[number] for number in ids], summary)
        if done.lost_keyframes:
            done.unplaced = found.unplaced()
        return done


def _bring_over(keyframe: Keyframe, found: _Damaged, writer: MemoryWriter, done: Salvaged) -> int:
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
        return made.keyframe_id
    description = found.description(keyframe.keyframe_id)
    if description is None or (jpeg is not None and not description.whole):
        done.lost_descriptions += 1
        return made.keyframe_id
    try:
        writer.add_perception(made.keyframe_id, description.perception)
    except InvalidInputError:
        done.lost_descriptions += 1
        return made.keyframe_id
    writer.associate(made.keyframe_id)
    done.described += 1
    done.shortened += not description.whole
    done.observations += len(description.perception.detections)
    return made.keyframe_id


class _Description(NamedTuple):
    perception: Perception
    whole: bool
    """Whether nothing of it is missing, as far as that can be known."""


class _Source:
    """Reads one thing at a time; None where it cannot be read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._catalogs = Catalogs(connection)
        self._rows = KeyframeRows(connection, self._catalogs)

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

    def description(self, number: int) -> _Description | None:
        """What a keyframe shows, so far as it is there."""
        try:
            caption = self._rows.keyframes([number])[0].caption
            observations = self._rows.observations(number)
            query = "SELECT observations, failure, backend, model, visual_encoder FROM keyframe WHERE id = ?"
            count, incomplete, *names = self._connection.execute(query, (number,)).fetchone()
            query = "SELECT IFNULL(MAX(ordinal) + 1, 0), COUNT(text.id) FROM keyframe_text kt LEFT JOIN text "
            query += "ON text.id = kt.text WHERE kt.keyframe = ?"
            sentences, there = self._connection.execute(query, (number,)).fetchone()
            if count and not observations and not caption:
                return None
            place = {one.observation_id: i for i, one in enumerate(observations)}
            query = "SELECT subject, predicate, object FROM relation_fact WHERE keyframe = ? ORDER BY 1, 2, 3"
            relations = tuple(
                RelationMention(place[subject], self._catalogs.term(predicate), place[object_])
                for subject, predicate, object_ in self._connection.execute(query, (number,))
                if subject in place and object_ in place
            )
            backend, model, encoder = (self._catalogs.term(name) for name in names)
            detections = tuple(one.detection for one in observations)
            whole = count == len(observations) and sentences == there
            perception = Perception(
                caption,
                detections,
                relations,
                backend,
                model,
                visual_encoder=encoder,
                incomplete=incomplete or ("" if whole else "lost with a damaged memory"),
            )
            return _Description(perception, whole)
        except _BROKEN:
            return None

    def unplaced(self) -> dict[str, int]:
        """How often things were seen in keyframes that are not there, by name, the most frequent first."""
        query = (
            "SELECT text.text, COUNT(*) FROM observation o JOIN text ON text.id = o.label "
            "WHERE o.keyframe NOT IN (SELECT id FROM keyframe) GROUP BY text.text ORDER BY 2 DESC, 1"
        )
        try:
            return dict(self._connection.execute(query))
        except _BROKEN:
            return {}

    def spans(self) -> dict[int, _StoredSpan]:
        """Stretches with their summaries, by id, up to the first that cannot be read."""
        found = {}
        try:
            for number, kind, ids, summary in self._connection.execute("SELECT id, kind, keyframes, summary FROM span"):
                found[int(number)] = (str(kind), [int(one) for one in json.loads(ids)], str(summary))
        except _BROKEN:
            pass
        return found


class _Damaged:
    """What SQLite can read of a file, and, from the first thing on that it cannot, what is on single pages."""

    def __init__(self, source: Path, copy: Path, folder: Path, open_files: ExitStack) -> None:
        self.images = ImageFolder(source)
        self._copy, self._folder, self._open_files = copy, folder, open_files
        self._sources = [self._opened(copy)]
        self._scanned = False

    def _opened(self, file: Path) -> _Source:
        connection = sqlite3.connect(file, isolation_level=None)
        self._open_files.callback(connection.close)
        return _Source(connection)

    def _all(self) -> Iterator[_Source]:
        yield self._sources[0]
        if not self._scanned:
            self._scanned = True
            rebuild(self._copy, self._folder / "rebuilt.db")
            self._sources.append(self._opened(self._folder / "rebuilt.db"))
        yield from self._sources[1:]

    def last_keyframe(self) -> int:
        """The highest id that was given, as far as anything says so."""
        return self._sources[0].last_keyframe() or max(source.last_keyframe() for source in self._all())

    def keyframe(self, number: int) -> Keyframe | None:
        """See ``_Source``."""
        return next((found for source in self._all() if (found := source.keyframe(number)) is not None), None)

    def description(self, number: int) -> _Description | None:
        """The first that is whole, else the first."""
        best: _Description | None = None
        for source in self._all():
            found = source.description(number)
            if found is not None and found.whole:
                return found
            best = best or found
        return best

    def unplaced(self) -> dict[str, int]:
        """See ``_Source``; of the last, which knows every page."""
        return list(self._all())[-1].unplaced()

    def spans(self) -> list[_StoredSpan]:
        """All that are found, in the order of their ids."""
        found: dict[int, _StoredSpan] = {}
        for source in self._all() if self._scanned else self._sources:
            found = {**source.spans(), **found}
        return [found[number] for number in sorted(found)]


@contextmanager
def _found_in(source: Path) -> Iterator[_Damaged]:
    """Opens a copy, filled up with zeros where its end is missing: SQLite opens none shorter than it says."""
    source = located(source)
    try:
        with open(source, "rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise MemoryNotFoundError(f"{source}: there is no such file") from None
    except IsADirectoryError:
        raise NotAMemoryError(f"{source}: is a folder; name the database file in it") from None
    ours = int.from_bytes(header[68:72], "big") == APPLICATION_ID
    with tempfile.TemporaryDirectory(prefix="vlkng-salvage-") as folder, ExitStack() as open_files:
        copy = Path(folder) / "copy.db"
        if not ours and not rebuild(source, Path(folder) / "asked.db"):
            raise NotAMemoryError(f"{source}: not a memory of vlkng_ros; it is left as it is")
        shutil.copyfile(source, copy)
        log = wal_of(source)
        if log.exists() and log.stat().st_size:
            shutil.copyfile(log, wal_of(copy))
            with suppress(*_BROKEN), closing(sqlite3.connect(copy)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size = max(size, copy.stat().st_size)
        page = page_size(header)
        whole = int.from_bytes(header[28:32], "big") * page
        if ours and size < whole:
            os.truncate(copy, size - size % page)
            os.truncate(copy, whole)
        yield _Damaged(source, copy, Path(folder), open_files)
