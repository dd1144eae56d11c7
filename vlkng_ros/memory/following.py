"""What a reader holds in memory, and how it follows the writer: by asking for rows newer than what it has seen."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.columns import ENTITY_COLUMNS, KEYFRAME_COLUMNS, EntityColumns, EntityRow, KeyframeColumns
from vlkng_ros.memory.entities import EntityRows
from vlkng_ros.memory.forgetting import ENTITY, KEYFRAME, TEXT
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.rows import Changes


class _Mark(NamedTuple):
    """A moment in a memory's life: the revision, and the last ids that were given by then."""

    revision: int
    keyframe: int
    entity: int
    text: int


class Follower:
    """The columns of a memory up to a revision. Every method runs inside a read transaction of the caller's."""

    def __init__(
        self, connection: sqlite3.Connection, catalogs: Catalogs, keyframes: KeyframeRows, entities: EntityRows
    ) -> None:
        self._connection = connection
        self._catalogs = catalogs
        self._keyframe_rows = keyframes
        self._entity_rows = entities
        self.views: dict[str, int] = {}
        """Numbers of the views by name, oldest first."""
        self._seen = self._reported = self._newest()
        self.load_views()
        self.keyframes = KeyframeColumns(connection.execute(f"SELECT {KEYFRAME_COLUMNS} FROM keyframe").fetchall())
        self.entities: dict[int, EntityColumns] = {}
        for number in self.views.values():
            query = f"SELECT {ENTITY_COLUMNS} FROM entity WHERE view = ?"
            self.columns(number).update(connection.execute(query, (number,)).fetchall())
        # Types that are forgotten later must still be known by name then.
        catalogs.load_slugs()

    @property
    def revision(self) -> int:
        """The last operation that the columns know of."""
        return self._seen.revision

    def _newest(self) -> _Mark:
        return _Mark(*self._connection.execute("SELECT revision, keyframe, entity, text FROM head").fetchone())

    def load_views(self) -> None:
        """Read which views there are."""
        self.views = dict(self._connection.execute("SELECT name, id FROM view ORDER BY id"))

    def columns(self, view_number: int) -> EntityColumns:
        """Columns of a view's entities."""
        if view_number not in self.entities:
            self.entities[view_number] = EntityColumns()
        return self.entities[view_number]

    def follow(self, report: bool) -> Changes:
        """Take over what was committed.

        Returns:
            What is different since the last report, or, where this is none, at least since the last call.
        """
        since, newest = self._reported if report else self._seen, self._newest()
        if newest.revision == since.revision:
            return Changes(newest.revision)
        execute, after = self._connection.execute, (since.revision,)
        self.load_views()
        frames = execute(f"SELECT {KEYFRAME_COLUMNS} FROM keyframe WHERE revision > ?", after).fetchall()
        changed: dict[int, list[EntityRow]] = {}
        for row in execute(f"SELECT {ENTITY_COLUMNS} FROM entity WHERE revision > ?", after):
            changed.setdefault(row[1], []).append(row)
        buried: dict[tuple[int, int], list[int]] = {}
        for kind, view, number in execute("SELECT kind, view, id FROM tombstone WHERE revision > ?", after):
            buried.setdefault((kind, view), []).append(number)
        gone = sorted(buried.get((KEYFRAME, 0), []))
        self.keyframes.update(frames, gone)
        forgotten: dict[str, tuple[str, ...]] = {}
        entities: dict[str, tuple[str, ...]] = {}
        for name, number in self.views.items():
            columns, lost = self.columns(number), sorted(buried.get((ENTITY, number), []))
            # What was made after the mark is not known to whom this is told.
            names = [columns.name_of(key) for key in lost if key <= since.entity]
            if any(names):
                forgotten[name] = tuple(self._name(*known) for known in names if known is not None)
            columns.update(changed.get(number, []), lost)
            if number in changed:
                entities[name] = tuple(self._name(row[2], row[3]) for row in sorted(changed[number]))
        if buried:
            # Types stay known until the report, which still has to name what is gone.
            self._catalogs.clear(slugs=report)
            self._keyframe_rows.clear()
            self._entity_rows.clear()
            self._catalogs.load_slugs()
        self._seen = newest
        if report:
            self._reported = newest
        return Changes(
            newest.revision,
            tuple(sorted(row[0] for row in frames)),
            entities,
            tuple(number for number in gone if number <= since.keyframe),
            forgotten,
            tuple(sorted(number for number in buried.get((TEXT, 0), []) if number <= since.text)),
        )

    def _name(self, type_number: int, number: int) -> str:
        return f"{self._catalogs.slug(type_number)}_{number}"
