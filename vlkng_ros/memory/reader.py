"""Reading a memory while another process writes it: short read transactions, none held between calls."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import networkx

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.database import explained, located, open_for_reading, wal_of
from vlkng_ros.memory.forgetting import KEYFRAME, TEXT
from vlkng_ros.memory.graph import ViewGraph, build_graph
from vlkng_ros.memory.images import ImageFolder
from vlkng_ros.memory.located import PlaceRows
from vlkng_ros.memory.mentions import read_crops, read_mentions, read_texts, read_vectors
from vlkng_ros.memory.rows import (
    ROLES,
    Changes,
    Crop,
    KeyframeTable,
    MemoryStats,
    Mention,
    MentionTable,
    SeenBox,
    Span,
    StoredText,
)
from vlkng_ros.memory.schema import SCHEMA_VERSION
from vlkng_ros.memory.spans import read_spans
from vlkng_ros.memory.view_reader import ViewReader
from vlkng_ros.types import Entity, FloatArray, Keyframe, Observation, Relation

_INCOMPLETE = "(state <> 1 OR failure IS NOT NULL)"


class MemoryReader(ViewReader):
    """Reads a memory and follows its writer. Any number of readers; use each from one thread at a time.

    Calls see the newest committed operations, whole ones only; ``frames`` and ``near`` see those up to ``revision``,
    which ``refresh`` brings up to date. Inside ``with reader.snapshot():`` every call sees one and the same state.

    Views and entities that are not there raise ``NotInMemoryError``; so do keyframes, unless said otherwise.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._images = ImageFolder(path)
        self._places = PlaceRows(connection, self._catalogs)

    @property
    def revision(self) -> int:
        """The last operation that ``frames`` and ``near`` know of."""
        return self._follower.revision

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> MemoryReader:
        """Open a memory for reading.

        Raises:
            MemoryNotFoundError: there is nothing at this path.
            NotAMemoryError: the file is something else.
            SchemaVersionError: a newer version of this package made it.
            MemoryDamagedError: its structure is broken.
        """
        file = located(path)
        connection = open_for_reading(file)
        try:
            with explained(file):
                return cls(file, connection)
        except BaseException:
            connection.close()
            raise

    # ------------------------------------------------------------------------------------------------ following

    def refresh(self) -> Changes:
        """Take over what was committed, and say what is different since the last call of ``refresh``."""
        with self._reading():
            return self._catch_up(report=True)

    def changed_since(self, revision: int) -> tuple[int, ...] | None:
        """Keyframes that are new or different since an operation, as of the last refresh, ascending.

        None where what was known then is of no use: keyframes or texts were forgotten since, or it is not this
        memory's, which has not come so far.
        """
        with self._reading():
            if revision > self.revision:
                return None
            query = "SELECT 1 FROM tombstone WHERE revision > ? AND kind IN (?, ?) LIMIT 1"
            if self._one(query, revision, KEYFRAME, TEXT) is not None:
                return None
            query = "SELECT id FROM keyframe WHERE revision > ? AND revision <= ? ORDER BY id"
            return tuple(row[0] for row in self._connection.execute(query, (revision, self.revision)))

    @contextmanager
    def snapshot(self) -> Iterator[MemoryReader]:
        """Hold the newest state of the memory for the calls in this block, ``refresh`` included; keep it short."""
        # What goes wrong in the caller's block, such as in a pipe it writes to, is not the memory's.
        with explained(self.path):
            self._begin()
        try:
            with self._reading():
                self._catch_up(report=False)
            yield self
        finally:
            with explained(self.path):
                self._end()

    # ------------------------------------------------------------------------------------------------ the whole

    def stats(self) -> MemoryStats:
        """What is in the memory."""
        with self._reading():
            self._catch_up(report=False)
            one = self._one
            table = self._follower.keyframes.table
            bounds = None
            if len(table):
                low, high = table.position_m.min(axis=0).tolist(), table.position_m.max(axis=0).tolist()
                bounds = ((low[0], low[1], low[2]), (high[0], high[1], high[2]))
            counts = dict(self._connection.execute("SELECT view, COUNT(*) FROM entity GROUP BY view"))
            wal = wal_of(self.path)
            return MemoryStats(
                revision=self.revision,
                schema=SCHEMA_VERSION,
                keyframes=len(table),
                pending=one("SELECT COUNT(*) FROM keyframe WHERE state = 0"),
                observations=one("SELECT observations FROM head"),
                entities={name: counts.get(number, 0) for name, number in self._follower.views.items()},
                texts=one("SELECT COUNT(*) FROM text"),
                oldest_ns=int(table.stamps_ns[0]) if len(table) else None,
                newest_ns=int(table.stamps_ns[-1]) if len(table) else None,
                bounds_m=bounds,
                bytes=self.path.stat().st_size + (wal.stat().st_size if wal.exists() else 0),
                encoder_id=one("SELECT (SELECT name FROM encoder WHERE id = head.encoder) FROM head"),
                sessions=self._catalogs.sessions(),
                summarised_until_ns=one("SELECT summarised_ns FROM head"),
            )

    @property
    def encoder_id(self) -> str | None:
        """Whose vectors texts have; None where there are none."""
        with self._reading():
            name: str | None = self._one("SELECT (SELECT name FROM encoder WHERE id = head.encoder) FROM head")
            return name

    @property
    def summarised_until_ns(self) -> int | None:
        """See ``MemoryStats``."""
        with self._reading():
            until: int | None = self._one("SELECT summarised_ns FROM head")
            return until

    # ----------------------------------------------------------------------------------------- keyframes and texts

    def frames(self) -> KeyframeTable:
        """Columns of every keyframe as of the last refresh, sorted by time."""
        return self._follower.keyframes.table

    def keyframe(self, keyframe_id: int) -> Keyframe:
        """One keyframe."""
        return self.keyframes([keyframe_id])[0]

    def keyframes(self, ids: Sequence[int]) -> list[Keyframe]:
        """Keyframes in the order asked for."""
        with self._reading():
            return self._keyframe_rows.keyframes(ids)

    def told(self) -> int:
        """How many observations are only what captions tell of; it takes a look at all of them."""
        with self._reading():
            return int(self._one("SELECT COUNT(*) FROM observation WHERE told"))

    def undescribed(self, ids: Sequence[int] | None = None) -> int:
        """How many keyframes, of these or of all, have no description, or a part of one: pending, failed, salvaged."""
        with self._reading():
            if ids is None:
                return int(self._one(f"SELECT COUNT(*) FROM keyframe WHERE {_INCOMPLETE}"))
            return sum(
                self._one(f"SELECT COUNT(*) FROM keyframe WHERE {_INCOMPLETE} AND id IN ({','.join(map(str, part))})")
                for part in (ids[start : start + 500] for start in range(0, len(ids), 500))
            )

    def keyframe_nearest(self, stamp_ns: int) -> Keyframe:
        """The keyframe nearest in time; the earlier of two as near.

        Raises:
            NotInMemoryError: the memory is empty.
        """
        table = self._follower.keyframes.table
        if not len(table):
            raise NotInMemoryError(f"{self.path}: the memory is empty")
        after = int(np.searchsorted(table.stamps_ns, stamp_ns))
        options = [i for i in (after - 1, after) if 0 <= i < len(table)]
        return self.keyframe(int(table.ids[min(options, key=lambda i: abs(int(table.stamps_ns[i]) - stamp_ns))]))

    def observations(self, keyframe_id: int, *, told: bool = False) -> list[Observation]:
        """What was detected in a keyframe; with ``told`` also what only its caption tells of."""
        with self._reading():
            return self._keyframe_rows.observations(keyframe_id, told)

    def seen_in(self, keyframe_ids: Sequence[int]) -> list[tuple[Keyframe, list[SeenBox]]]:
        """Keyframes with what was seen in each, in the order asked for; those that were forgotten are left out."""
        with self._reading():
            keyframes, boxes = self._keyframe_rows.known(keyframe_ids), self._keyframe_rows.boxes_in(keyframe_ids)
        return [(keyframes[number], boxes.get(number, [])) for number in keyframe_ids if number in keyframes]

    def texts(self, after_text_id: int = 0) -> Iterator[StoredText]:
        """Every string that a question can find, in order of first mention, with its vector where it has one."""
        return read_texts(self._connection, self._reading, after_text_id)

    def vectors(self, text_ids: Sequence[int]) -> dict[int, FloatArray]:
        """Vectors of those of some texts that have one by now."""
        with self._reading():
            return read_vectors(self._connection, text_ids)

    def mentions(self, after_keyframe_id: int = 0, keyframe_ids: Sequence[int] | None = None) -> Iterator[Mention]:
        """Which keyframe says what: of the keyframes after one, or of those named (as ``refresh`` names them)."""
        for page in read_mentions(self._connection, self._reading, after_keyframe_id, keyframe_ids):
            for keyframe_id, text_id, role, observation_id in page.tolist():
                yield Mention(keyframe_id, text_id, ROLES[role], observation_id)

    def mention_table(self, after_keyframe_id: int = 0, keyframe_ids: Sequence[int] | None = None) -> MentionTable:
        """The same as ``mentions``, as columns: several times faster for a whole memory."""
        pages = list(read_mentions(self._connection, self._reading, after_keyframe_id, keyframe_ids))
        table = np.concatenate(pages) if pages else np.zeros((0, 4), dtype=np.int64)
        columns = np.ascontiguousarray(table.T)
        return MentionTable(columns[0], columns[1], columns[2], columns[3])

    def spans(self, kind: str | None = None, as_of_ns: int | None = None) -> list[Span]:
        """Chunks (8 keyframes) and clips (64) with their summaries, oldest first; as of a time those ended by then.

        Where neither a model nor ``add_span`` made one, they are derived from what the last refresh knows, with the
        sentences that their captions say most often.
        """
        with self._reading():
            return read_spans(self._connection, self._follower.keyframes.table, kind, as_of_ns)

    def places(self, as_of_ns: int | None = None) -> list[Entity]:
        """Locations along the robot's path as of the last refresh, in the order in which it first came to them.

        They are entities of kind ``location`` of the view ``path``, named by what captions call them most, with the
        attributes ``visits`` and ``stay_s`` (seconds spent there).
        """
        with self._reading():
            return self._places.entities(self._follower.keyframes.table, as_of_ns, self.revision)

    def place_relations(self, entities: Iterable[Entity], as_of_ns: int | None = None) -> list[Relation]:
        """Edges of ``places``: between those that the path connects, and one from each of some entities.

        Places that the robot went over between are ``next to`` each other, in both directions. An entity is ``located
        in`` the place whose middle it stands nearest to, or was ``seen from`` the one where the robot saw it last.

        Args:
            entities: of any view, as of the same time.
            as_of_ns: the time; None is that of the last refresh.
        """
        with self._reading():
            table = self._follower.keyframes.table
            places = self._places.entities(table, as_of_ns, self.revision)
            return list(self._places.relations(table, as_of_ns, places, entities))

    def place_of(self, keyframe_id: int) -> Entity:
        """The location where a keyframe was taken, as it was known then."""
        with self._reading():
            return self._places.entity_of(self._follower.keyframes.table, keyframe_id, self.revision)

    def graph(self, view: str, as_of_ns: int | None = None) -> networkx.MultiDiGraph[str]:
        """A view as a graph: a node an entity (attribute ``entity``), an edge a relation (``relation``).

        The places of the path are in it, with the edges of ``place_relations``. The present
        graph is kept: entities follow ``refresh``, which drops the places, and this call puts them in again, at a cost
        per entity and place of microseconds; do not change it. One of an earlier time is made anew.
        """
        with self._reading():
            self._catch_up(report=False)
            if as_of_ns is not None:
                return build_graph(self, view, as_of_ns)
            if view not in self._graphs:
                self._graphs[view] = ViewGraph(self, view)
            return self._graphs[view].whole()

    def crops(self, after_observation_id: int = 0) -> Iterator[Crop]:
        """Visual embeddings of observations, in the order in which they were described."""
        return read_crops(self._connection, self._reading, self._catalogs, after_observation_id)

    def image(self, keyframe_id: int) -> bytes | None:
        """The JPEG of a keyframe, or None where none is kept, or it was forgotten this moment."""
        with self._reading():
            kept = self._one("SELECT image FROM keyframe WHERE id = ?", keyframe_id)
        return self._images.read(keyframe_id) if kept else None

    # ------------------------------------------------------------------------------------------------- machinery

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> MemoryReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
