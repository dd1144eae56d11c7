"""Columns that a reader keeps in memory: when and where every keyframe was taken, where every entity is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.fold import Reach
from vlkng_ros.memory.packing import position_of
from vlkng_ros.memory.rows import KeyframeTable
from vlkng_ros.types import Vec3

KEYFRAME_COLUMNS = "id, stamp, session, base_pose"
ENTITY_COLUMNS = "id, view, type, number, map, first_seen, last_seen, x, y, z, reach"
KeyframeRow = tuple[int, int, int, bytes]
EntityRow = tuple[int, int, int, int, int, int, int, float, float, float, bytes]


class KeyframeColumns:
    """The columns behind ``MemoryReader.frames``. A table once handed out never changes."""

    def __init__(self, rows: Sequence[KeyframeRow] = ()) -> None:
        self._rebuild(rows)

    def _rebuild(self, rows: Sequence[KeyframeRow]) -> None:
        count = len(rows)
        capacity = max(1024, count + count // 4)
        self._count = count
        self._numbers = np.zeros((capacity, 3), dtype=np.int64)
        self._positions = np.zeros((capacity, 3), dtype=np.float32)
        if count:
            numbers = np.array([row[:3] for row in rows], dtype=np.int64)
            poses = np.frombuffer(b"".join(row[3] for row in rows), dtype="<f8").reshape(count, 7)
            order = np.lexsort((numbers[:, 0], numbers[:, 1]))
            self._numbers[:count] = numbers[order]
            self._positions[:count] = poses[order, :3]
        self._publish()

    def _publish(self) -> None:
        numbers, positions = self._numbers[: self._count], self._positions[: self._count]
        columns = (numbers[:, 0], numbers[:, 1], positions, numbers[:, 2])
        for column in columns:
            column.flags.writeable = False
        self.table = KeyframeTable(columns[0], columns[1], columns[2], columns[3])

    def update(self, changed: Sequence[KeyframeRow], gone: Iterable[int]) -> None:
        """Take over changed and new rows, and drop those that are gone."""
        gone = set(gone)
        where = self._find([row[0] for row in changed]) if changed else {}
        new = [row for row in changed if row[0] not in where]
        moved = [row for row in changed if row[0] in where and self._differs(where[row[0]], row)]
        last = (int(self._numbers[self._count - 1, 1]), int(self._numbers[self._count - 1, 0])) if self._count else None
        new.sort(key=lambda row: (row[1], row[0]))
        in_order = not new or last is None or (new[0][1], new[0][0]) > last
        if gone or moved or not in_order or self._count + len(new) > len(self._numbers):
            replaced = {row[0] for row in moved} | gone
            kept = [
                (int(n[0]), int(n[1]), int(n[2]), np.concatenate([p, np.zeros(4)]).astype("<f8").tobytes())
                for n, p in zip(self._numbers[: self._count], self._positions[: self._count], strict=True)
                if int(n[0]) not in replaced
            ]
            self._rebuild([*kept, *moved, *new])
        elif new:
            for row in new:
                self._numbers[self._count] = row[:3]
                self._positions[self._count] = position_of(row[3])
                self._count += 1
            self._publish()

    def _find(self, ids: Sequence[int]) -> dict[int, int]:
        known = self._numbers[: self._count, 0]
        if not len(known):
            return {}
        order = np.argsort(known, kind="stable")
        at = np.searchsorted(known[order], ids)
        at[at == len(known)] = 0
        return {i: int(order[a]) for i, a in zip(ids, at, strict=True) if known[order[a]] == i}

    def _differs(self, at: int, row: KeyframeRow) -> bool:
        place = np.array(position_of(row[3]), dtype=np.float32)
        return bool((self._numbers[at] != row[:3]).any() or (self._positions[at] != place).any())


class EntityColumns:
    """Where the entities of one view are and ever were, by row; rows ascend and are never reused."""

    def __init__(self) -> None:
        self._count = 0
        self._grow(1024)

    def _grow(self, capacity: int) -> None:
        def larger(name: str, shape: tuple[int, ...], dtype: str) -> NDArray[np.generic]:
            fresh: NDArray[np.generic] = np.zeros((capacity, *shape), dtype=dtype)
            if self._count:
                fresh[: self._count] = getattr(self, name)[: self._count]
            return fresh

        self._numbers = larger("_numbers", (6,), "i8")
        """key, type, number, map, first_seen, last_seen; map is 0 where the entity is gone."""
        self._positions = larger("_positions", (3,), "f8")
        self._reach = larger("_reach", (2, 3), "f8")

    def update(self, rows: Iterable[EntityRow], gone: Iterable[int]) -> None:
        """Take over changed and new rows, and mark those that are gone."""
        for key in gone:
            at = self._at(key)
            if at is not None:
                self._numbers[at, 3] = 0
        fresh: list[EntityRow] = []
        for row in sorted(rows):
            at = self._at(row[0])
            if at is None:
                fresh.append(row)
            else:
                self._put(at, row)
        if self._count + len(fresh) > len(self._numbers):
            self._grow(2 * (self._count + len(fresh)))
        if fresh:
            end = self._count + len(fresh)
            self._numbers[self._count : end] = np.array([(r[0], *r[2:7]) for r in fresh], dtype=np.int64)
            self._positions[self._count : end] = np.array([r[7:10] for r in fresh], dtype=np.float64)
            reach = np.frombuffer(b"".join(r[10] for r in fresh), dtype="<f8")
            self._reach[self._count : end] = reach.reshape(-1, 2, 3)
            self._count = end

    def _put(self, at: int, row: EntityRow) -> None:
        self._numbers[at] = (row[0], *row[2:7])
        self._positions[at] = row[7:10]
        reach = Reach.from_bytes(row[10])
        self._reach[at] = (reach.low, reach.high)

    def _at(self, key: int) -> int | None:
        keys = self._numbers[: self._count, 0]
        at = int(np.searchsorted(keys, key))
        return at if at < self._count and keys[at] == key else None

    def name_of(self, key: int) -> tuple[int, int] | None:
        """``(type, number)`` of an entity, gone or not; None where it was never known."""
        at = self._at(key)
        return None if at is None else (int(self._numbers[at, 1]), int(self._numbers[at, 2]))

    def near(self, position_m: Vec3, radius_m: float, maps: Sequence[int]) -> list[int]:
        """Keys of the entities within ``radius_m``, nearest first."""
        numbers, positions = self._numbers[: self._count], self._positions[: self._count]
        away = np.linalg.norm(positions - np.asarray(position_m), axis=1)
        at = np.flatnonzero((away <= radius_m) & np.isin(numbers[:, 3], maps))
        return [int(numbers[i, 0]) for i in at[np.argsort(away[at], kind="stable")]]

    def maybe_near(self, position_m: Vec3, radius_m: float, as_of_ns: int) -> list[int]:
        """Keys of the entities seen by then that may have been within ``radius_m``, in order of creation."""
        numbers, reach = self._numbers[: self._count], self._reach[: self._count]
        place = np.asarray(position_m)
        outside = np.maximum(np.maximum(reach[:, 0] - place, place - reach[:, 1]), 0.0)
        away = np.linalg.norm(outside, axis=1)
        at = np.flatnonzero((away <= radius_m + 1e-9) & (numbers[:, 3] != 0) & (numbers[:, 4] <= as_of_ns))
        return [int(numbers[i, 0]) for i in at]


def load_keyframes(connection: sqlite3.Connection) -> KeyframeColumns:
    """Every keyframe's columns."""
    return KeyframeColumns(connection.execute(f"SELECT {KEYFRAME_COLUMNS} FROM keyframe").fetchall())


def load_entities(connection: sqlite3.Connection) -> dict[int, EntityColumns]:
    """Every entity's columns, by view."""
    rows: dict[int, list[EntityRow]] = {}
    for row in connection.execute(f"SELECT {ENTITY_COLUMNS} FROM entity ORDER BY id"):
        rows.setdefault(row[1], []).append(row)
    columns = {}
    for view, of_view in rows.items():
        columns[view] = EntityColumns()
        columns[view].update(of_view, ())
    return columns
