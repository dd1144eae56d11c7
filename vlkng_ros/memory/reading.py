"""What every reading call stands on: one connection, short read transactions, the columns that follow the writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vlkng_ros.errors import MemoryFileError, NotInMemoryError
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.database import explained, parsed
from vlkng_ros.memory.entities import EntityRows
from vlkng_ros.memory.following import Follower
from vlkng_ros.memory.graph import ViewGraph
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.rows import Changes


class Reading:
    """The inside of a ``MemoryReader``."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._depth = 0
        self._catalogs = Catalogs(connection)
        self._keyframe_rows = KeyframeRows(connection, self._catalogs)
        self._entity_rows = EntityRows(connection, self._catalogs, self._keyframe_rows)
        self._graphs: dict[str, ViewGraph] = {}
        with self._reading(), parsed(path):
            self._follower = Follower(connection, self._catalogs, self._keyframe_rows, self._entity_rows)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with explained(self.path):
            self._begin()
            try:
                yield
            finally:
                self._end()

    def _begin(self) -> None:
        if self._depth == 0:
            try:
                self._connection.execute("BEGIN")
            except sqlite3.ProgrammingError as error:
                raise MemoryFileError(f"{self.path}: this reader is closed") from error
        self._depth += 1

    def _end(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def _catch_up(self, report: bool) -> Changes:
        """Bring columns and graphs up to date, inside a transaction; what is not reported now is reported later."""
        with parsed(self.path):
            changes = self._follower.follow(report)
        if changes:
            for view, graph in self._graphs.items():
                graph.update(changes.entities.get(view, ()), changes.forgotten_entities.get(view, ()))
        return changes

    def _view(self, view: str) -> int:
        if view not in self._follower.views:
            self._follower.load_views()
        if view not in self._follower.views:
            known = ", ".join(self._follower.views) or "none"
            raise NotInMemoryError(f"view '{view}' is not in this memory; it has {known}")
        return self._follower.views[view]

    def _one(self, query: str, *values: object) -> Any:
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else row[0]
