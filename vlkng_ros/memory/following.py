"""What a reader holds in memory, and how it follows the writer: by asking for rows newer than what it has seen."""

from __future__ import annotations

import sqlite3

from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.columns import ENTITY_COLUMNS, KEYFRAME_COLUMNS, EntityColumns, EntityRow, KeyframeColumns
from vlkng_ros.memory.entities import EntityRows
from vlkng_ros.memory.forgetting import ENTITY, KEYFRAME, TEXT
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.rows import Changes


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
        self.revision = self.newest_revision()
        self.load_views()
        self.keyframes = KeyframeColumns(connection.execute(f"SELECT {KEYFRAME_COLUMNS} FROM keyframe").fetchall())
        self.entities: dict[int, EntityColumns] = {}
        for number in self.views.values():
            query = f"SELECT {ENTITY_COLUMNS} FROM entity WHERE view = ?"
            self.columns(number).update(connection.execute(query, (number,)).fetchall())
        # Types that are forgotten later must still be known by name then.
        catalogs.load_slugs()

    def newest_revision(self) -> int:
        """Number of the last operation that is committed."""
        return int(self._connection.execute("SELECT revision FROM head").fetchone()[0])

    def load_views(self) -> None:
        """Read which views there are."""
        self.views = dict(self._connection.execute("SELECT name, id FROM view ORDER BY id"))

    def columns(self, view_number: int) -> EntityColumns:
        """Columns of a view's entities."""
        if view_number not in self.entities:
            self.entities[view_number] = EntityColumns()
        return self.entities[view_number]

    def follow(self) -> Changes:
        """Take over what was committed since the last call."""
        since, revision = self.revision, self.newest_revision()
        if revision == since:
            return Changes(revision)
        execute = self._connection.execute
        self.load_views()
        frames = execute(f"SELECT {KEYFRAME_COLUMNS} FROM keyframe WHERE revision > ?", (since,)).fetchall()
        changed: dict[int, list[EntityRow]] = {}
        for row in execute(f"SELECT {ENTITY_COLUMNS} FROM entity WHERE revision > ?", (since,)):
            changed.setdefault(row[1], []).append(row)
        buried: dict[tuple[int, int], list[int]] = {}
        for kind, view, number in execute("SELECT kind, view, id FROM tombstone WHERE revision > ?", (since,)):
            buried.setdefault((kind, view), []).append(number)
        forgotten_keyframes = self.keyframes.update(frames, buried.get((KEYFRAME, 0), []))
        forgotten: dict[str, tuple[str, ...]] = {}
        entities: dict[str, tuple[str, ...]] = {}
        for name, number in self.views.items():
            columns, gone = self.columns(number), sorted(buried.get((ENTITY, number), []))
            names = [columns.name_of(key) for key in gone]
            lost = tuple(self._name(*known) for known in names if known is not None)
            if lost:
                forgotten[name] = lost
            columns.update(changed.get(number, []), gone)
            if number in changed:
                entities[name] = tuple(self._name(row[2], row[3]) for row in sorted(changed[number]))
        if buried:
            self._catalogs.clear()
            self._keyframe_rows.clear()
            self._entity_rows.clear()
            self._catalogs.load_slugs()
        self.revision = revision
        return Changes(
            revision,
            tuple(sorted(row[0] for row in frames)),
            entities,
            tuple(sorted(forgotten_keyframes)),
            forgotten,
            tuple(sorted(buried.get((TEXT, 0), []))),
        )

    def _name(self, type_number: int, number: int) -> str:
        return f"{self._catalogs.slug(type_number)}_{number}"
