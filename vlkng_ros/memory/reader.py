"""Reading a memory while another process writes it: short read transactions, none held between calls."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import networkx

from vlkng_ros.errors import MemoryFileError, NotInMemoryError
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.database import explained, open_for_reading, wal_of
from vlkng_ros.memory.entities import COLUMNS, EntityRows, KnownEntity
from vlkng_ros.memory.following import Follower
from vlkng_ros.memory.graph import ViewGraph, build_graph
from vlkng_ros.memory.history import HistoryRows, summarise
from vlkng_ros.memory.images import ImageFolder
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.mentions import read_crops, read_mentions, read_texts
from vlkng_ros.memory.rows import (
    ROLES,
    Changes,
    Crop,
    History,
    KeyframeTable,
    MemoryStats,
    Mention,
    MentionTable,
    Span,
    StoredText,
)
from vlkng_ros.memory.schema import SCHEMA_VERSION
from vlkng_ros.memory.spans import read_spans
from vlkng_ros.types import Entity, Keyframe, Observation, Relation, Sighting, Vec3


class MemoryReader:
    """Reads a memory and follows its writer. Any number of readers; use each from one thread at a time.

    Calls see the newest committed operations, whole ones only; ``frames`` and ``near`` see those up to the last
    ``refresh``. Inside ``with reader.snapshot():`` every call sees one and the same state.

    Views and entities that are not there raise ``NotInMemoryError``; so do keyframes, unless said otherwise.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._depth = 0
        self._images = ImageFolder(path)
        self._catalogs = Catalogs(connection)
        self._keyframe_rows = KeyframeRows(connection, self._catalogs)
        self._entity_rows = EntityRows(connection, self._catalogs, self._keyframe_rows)
        self._history = HistoryRows(connection, self._catalogs)
        self._graphs: dict[str, ViewGraph] = {}
        with self._reading():
            self._follower = Follower(connection, self._catalogs, self._keyframe_rows, self._entity_rows)

    @property
    def revision(self) -> int:
        """The last operation that ``refresh`` took over."""
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
        file = Path(path).expanduser().absolute()
        connection = open_for_reading(file)
        try:
            with explained(file):
                return cls(file, connection)
        except BaseException:
            connection.close()
            raise

    # ------------------------------------------------------------------------------------------------ following

    def refresh(self) -> Changes:
        """Take over what was committed since the last look, and say what it was."""
        with self._reading():
            changes = self._follower.follow()
            if changes:
                for view, graph in self._graphs.items():
                    graph.update(changes.entities.get(view, ()), changes.forgotten_entities.get(view, ()))
            return changes

    @contextmanager
    def snapshot(self) -> Iterator[MemoryReader]:
        """Refresh, then hold one state of the memory for the calls in this block; keep it short."""
        with self._reading():
            self.refresh()
            yield self

    # ------------------------------------------------------------------------------------------------ the whole

    def views(self) -> tuple[str, ...]:
        """Names of the identity views, oldest first."""
        with self._reading():
            self._follower.load_views()
            return tuple(self._follower.views)

    def stats(self) -> MemoryStats:
        """What is in the memory."""
        with self._reading():
            self.refresh()
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
            )

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

    def observations(self, keyframe_id: int) -> list[Observation]:
        """What was detected in a keyframe."""
        with self._reading():
            return self._keyframe_rows.observations(keyframe_id)

    def texts(self, after_text_id: int = 0) -> Iterator[StoredText]:
        """Every string that a question can find, in order of first mention, with its vector where it has one."""
        return read_texts(self._connection, self._reading, after_text_id)

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
        """Chunks and clips with their summaries, oldest first; as of a time only those that had ended by then."""
        with self._reading():
            return read_spans(self._connection, kind, as_of_ns)

    def crops(self, after_observation_id: int = 0) -> Iterator[Crop]:
        """Visual embeddings of observations, in the order in which they were described."""
        return read_crops(self._connection, self._reading, self._catalogs, after_observation_id)

    def image(self, keyframe_id: int) -> bytes | None:
        """The JPEG of a keyframe, or None where none is kept, or it was forgotten this moment."""
        with self._reading():
            kept = self._one("SELECT image FROM keyframe WHERE id = ?", keyframe_id)
        return self._images.read(keyframe_id) if kept else None

    # -------------------------------------------------------------------------------------------- entities of a view

    def entity(self, view: str, entity_id: str, as_of_ns: int | None = None) -> Entity:
        """An entity, now or as the keyframes up to a time made it."""
        with self._reading():
            return self._known(view, entity_id, as_of_ns).entity()

    def entities(self, view: str, as_of_ns: int | None = None) -> Iterator[Entity]:
        """Every entity of a view, in order of creation."""
        with self._reading():
            query = f"SELECT {COLUMNS} FROM entity WHERE view = ? AND first_seen <= ? ORDER BY id"
            limit = as_of_ns if as_of_ns is not None else 2**63 - 1
            rows = self._connection.execute(query, (self._view(view), limit)).fetchall()
            # The rows are decoded later, when a type may have been forgotten.
            self._catalogs.load_slugs()
        return self._cut(view, rows, as_of_ns)

    def _cut(self, view: str, rows: Sequence[Any], as_of_ns: int | None) -> Iterator[Entity]:
        for row in rows:
            known: KnownEntity | None = self._entity_rows.decode(view, row)
            if known is not None and as_of_ns is not None:
                with self._reading():
                    known = self._entity_rows.as_of(known, as_of_ns)
            if known is not None:
                yield known.entity()

    def entities_in(self, view: str, keyframe_id: int) -> dict[int, str]:
        """Entity ids by observation id, of one keyframe."""
        with self._reading():
            query = (
                "SELECT a.observation, e.type, e.number FROM keyframe k JOIN assignment a ON a.view = ? AND "
                "a.observation BETWEEN k.first_observation AND k.first_observation + k.observations - 1 "
                "JOIN entity e ON e.id = a.entity WHERE k.id = ?"
            )
            rows = self._connection.execute(query, (self._view(view), keyframe_id))
            return {row[0]: f"{self._catalogs.slug(row[1])}_{row[2]}" for row in rows}

    def labelled(self, view: str, text_id: int) -> list[str]:
        """Ids of the entities that were ever given this label, in order of creation."""
        with self._reading():
            query = (
                "SELECT e.type, e.number FROM entity_label l JOIN entity e ON e.id = l.entity "
                "WHERE l.view = ? AND l.label = ? ORDER BY l.entity"
            )
            rows = self._connection.execute(query, (self._view(view), text_id))
            return [f"{self._catalogs.slug(row[0])}_{row[1]}" for row in rows]

    def sightings(
        self,
        view: str,
        entity_id: str,
        since_ns: int | None = None,
        as_of_ns: int | None = None,
        limit: int | None = None,
    ) -> list[Sighting]:
        """An entity's history within a window, oldest first; with ``limit``, its newest entries."""
        with self._reading():
            key = self._known(view, entity_id, None).key
            return self._history.sightings(key, since_ns, as_of_ns, limit)

    def history(
        self, view: str, entity_id: str, since_ns: int | None = None, as_of_ns: int | None = None, at_most: int = 100
    ) -> History:
        """``sightings`` in at most ``at_most`` entries (3 or more): first, last and the count are never lost."""
        return summarise(self.sightings(view, entity_id, since_ns, as_of_ns), at_most)

    def relations(self, view: str, entity_id: str, as_of_ns: int | None = None) -> list[Relation]:
        """Edges from and to an entity, in the order in which they were first seen."""
        with self._reading():
            return self._history.relations(self._known(view, entity_id, as_of_ns).key, as_of_ns)

    def near(
        self,
        view: str,
        position_m: Vec3,
        radius_m: float,
        as_of_ns: int | None = None,
        map_id: str | None = None,
        limit: int | None = None,
    ) -> list[Entity]:
        """Entities within ``radius_m`` of a place, nearest first; ``map_id`` None is the newest session's map."""
        with self._reading():
            columns, maps = self._follower.columns(self._view(view)), self._map_numbers(map_id)
            if as_of_ns is None:
                keys = columns.near(position_m, radius_m, maps)[:limit]
                loaded = [self._entity_rows.load(view, key) for key in keys]
                return [known.entity() for known in loaded if known is not None]
            found = []
            for key in columns.maybe_near(position_m, radius_m, as_of_ns):
                now = self._entity_rows.load(view, key)
                then = None if now is None else self._entity_rows.as_of(now, as_of_ns)
                if then is not None and then.folded.map in maps:
                    away = float(np.linalg.norm(np.subtract(then.position.mean_m, position_m)))
                    if away <= radius_m:
                        found.append((away, key, then))
            return [then.entity() for _, _, then in sorted(found, key=lambda item: item[:2])[:limit]]

    def graph(self, view: str, as_of_ns: int | None = None) -> networkx.MultiDiGraph[str]:
        """A view as a graph: a node an entity (attribute ``entity``), an edge a relation (``relation``).

        The present graph is kept and follows ``refresh``; do not change it. One of an earlier time is made anew.
        """
        with self._reading():
            if as_of_ns is not None:
                return build_graph(self, view, as_of_ns)
            self.refresh()
            if view not in self._graphs:
                self._graphs[view] = ViewGraph(self, view)
            return self._graphs[view].graph

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

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with explained(self.path):
            if self._depth == 0:
                try:
                    self._connection.execute("BEGIN")
                except sqlite3.ProgrammingError as error:
                    raise MemoryFileError(f"{self.path}: this reader is closed") from error
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and self._connection.in_transaction:
                    self._connection.execute("COMMIT")

    def _known(self, view: str, entity_id: str, as_of_ns: int | None) -> KnownEntity:
        key = self._entity_rows.key_of(self._view(view), entity_id)
        known = None if key is None else self._entity_rows.load(view, key)
        if known is None:
            raise NotInMemoryError(f"entity '{entity_id}' is not in view '{view}'; it may have been forgotten")
        if as_of_ns is None:
            return known
        then = self._entity_rows.as_of(known, as_of_ns)
        if then is None:
            raise NotInMemoryError(f"entity '{entity_id}' had not been seen by {as_of_ns} ns")
        return then

    def _view(self, view: str) -> int:
        if view not in self._follower.views:
            self._follower.load_views()
        if view not in self._follower.views:
            known = ", ".join(self._follower.views) or "none"
            raise NotInMemoryError(f"view '{view}' is not in this memory; it has {known}")
        return self._follower.views[view]

    def _map_numbers(self, map_id: str | None) -> list[int]:
        if map_id is not None:
            return self._catalogs.maps_called(map_id)
        newest = self._one("SELECT map FROM session ORDER BY id DESC LIMIT 1")
        return [] if newest is None else self._catalogs.maps_called(self._catalogs.map(newest)[0])

    def _one(self, query: str, *values: object) -> Any:
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else row[0]
