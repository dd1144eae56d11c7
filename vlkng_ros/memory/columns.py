"""Columns that a reader keeps in memory: when and where every keyframe was taken, where every entity is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.box_index import BoxIndex
from vlkng_ros.memory.rows import KeyframeTable
from vlkng_ros.types import Float64Array, Vec3

KEYFRAME_COLUMNS = "id, stamp, session, base_pose"
ENTITY_COLUMNS = "id, view, type, number, map, first_seen, last_seen, x, y, z, reach"
KeyframeRow = tuple[int, int, int, bytes]
EntityRow = tuple[int, int, int, int, int, int, int, float, float, float, bytes]
_SPARE = 1024
CHANGED, SHARE_CHANGED = 2048, 64
"""So many entities, and one of so many, may have changed before they are put in order of place anew."""


class KeyframeColumns:
    """The columns behind ``MemoryReader.frames``. A table once handed out never changes."""

    def __init__(self, rows: Sequence[KeyframeRow] = ()) -> None:
        self._count = 0
        self._orders = 0
        self._replace(*_columns_of(rows))

    def _replace(self, numbers: NDArray[np.int64], positions: NDArray[np.float32]) -> None:
        order = np.lexsort((numbers[:, 0], numbers[:, 1]))
        self._count = len(order)
        spare = _SPARE + self._count // 4
        self._numbers = np.concatenate([numbers[order], np.zeros((spare, 3), dtype=np.int64)])
        self._positions = np.concatenate([positions[order], np.zeros((spare, 3), dtype=np.float32)])
        ids = self._numbers[: self._count, 0]
        self._ids_ascend = bool((np.diff(ids) > 0).all())
        self._orders += 1
        self._publish()

    def _publish(self) -> None:
        numbers, positions = self._numbers[: self._count], self._positions[: self._count]
        columns = (numbers[:, 0], numbers[:, 1], numbers[:, 2])
        for column in (*columns, positions):
            column.flags.writeable = False
        self.table = KeyframeTable(columns[0], columns[1], positions, columns[2], self._orders)

    def update(self, changed: Sequence[KeyframeRow], gone: Sequence[int]) -> None:
        """Take over changed and new rows and drop those that are gone."""
        lost = self._known(np.array(gone, dtype=np.int64))
        numbers, positions = _columns_of(changed)
        known = self._known(numbers[:, 0])
        at = known[known >= 0]
        same = (self._numbers[at] == numbers[known >= 0]).all() and (self._positions[at] == positions[known >= 0]).all()
        fresh, places = numbers[known < 0], positions[known < 0]
        lost = lost[lost >= 0]
        if len(lost) or not same or not self._extends(fresh):
            kept = np.ones(self._count, dtype=bool)
            kept[lost] = False
            kept[at] = False
            self._replace(
                np.concatenate([self._numbers[: self._count][kept], numbers]),
                np.concatenate([self._positions[: self._count][kept], positions]),
            )
        elif len(fresh):
            end = self._count + len(fresh)
            self._numbers[self._count : end], self._positions[self._count : end] = fresh, places
            self._count = end
            self._publish()

    def _extends(self, fresh: NDArray[np.int64]) -> bool:
        """Whether rows can be put behind the others: later, with higher ids, and there is room."""
        if self._count + len(fresh) > len(self._numbers):
            return False
        last = self._numbers[max(self._count - 1, 0) : self._count]
        both = np.concatenate([last, fresh])
        ascending = (np.diff(both[:, 0]) > 0).all() and (np.diff(both[:, 1]) >= 0).all()
        return bool(ascending) and self._ids_ascend

    def _known(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where these ids are; -1 for those that are not."""
        mine = self._numbers[: self._count, 0]
        if not len(mine) or not len(ids):
            return np.full(len(ids), -1, dtype=np.int64)
        order = np.arange(self._count) if self._ids_ascend else np.argsort(mine)
        at = np.minimum(np.searchsorted(mine[order] if not self._ids_ascend else mine, ids), self._count - 1)
        where = order[at]
        return np.where(mine[where] == ids, where, -1)


def _columns_of(rows: Sequence[KeyframeRow]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    ids, stamps, sessions, poses_ = zip(*rows, strict=True) if rows else ((), (), (), ())
    numbers = np.array((ids, stamps, sessions), dtype=np.int64).T
    poses = np.frombuffer(b"".join(poses_), dtype="<f8").reshape(-1, 7)
    return numbers, poses[:, :3].astype(np.float32)


class EntityColumns:
    """Where the entities of one view are and ever were, by row; rows ascend and are never reused."""

    def __init__(self) -> None:
        self._count = 0
        self._numbers: NDArray[np.int64] = np.zeros((6, _SPARE), dtype=np.int64)
        """key, type, number, map, first and last seen; map is 0 where the entity is gone."""
        self._positions: Float64Array = np.zeros((3, _SPARE))
        self._reach: Float64Array = np.zeros((6, _SPARE))
        """x, y and z, lowest and highest."""
        self._places: BoxIndex | None = None
        self._reaches: BoxIndex | None = None
        """Positions and reaches by map, as they were once; made when they are first asked for."""
        self._since: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        """Rows that were changed or added since."""

    def update(self, rows: Sequence[EntityRow], gone: Iterable[int] = ()) -> None:
        """Take over changed and new rows, and mark those that are gone."""
        for key in gone:
            at = self._at(key)
            if at is not None:
                self._numbers[3, at] = 0
        if not rows:
            return
        # By column: a tuple of numbers a row costs several times as much as a list a column.
        columns = list(zip(*rows, strict=True))
        order = np.argsort(np.array(columns[0], dtype=np.int64))
        numbers = np.array([columns[i] for i in (0, 2, 3, 4, 5, 6)], dtype=np.int64).T[order]
        positions = np.array(columns[7:10], dtype=np.float64).T[order]
        reach = np.frombuffer(b"".join(columns[10]), dtype="<f8").reshape(-1, 6)[order]
        where = np.searchsorted(self._numbers[0, : self._count], numbers[:, 0])
        # Keys are never reused, so those that are not known are higher than all that are, and go behind them in order.
        fresh = where == self._count
        more = int(fresh.sum())
        where[fresh] += np.arange(more)
        self._reserve(more)
        self._numbers[:, where], self._positions[:, where], self._reach[:, where] = numbers.T, positions.T, reach.T
        self._count += more
        self._since = np.union1d(self._since, where)
        if len(self._since) > CHANGED + self._count // SHARE_CHANGED:
            self._places = self._reaches = None
            self._since = self._since[:0]

    def _reserve(self, more: int) -> None:
        held = self._numbers.shape[1]
        missing = self._count + more - held
        if missing > 0:
            spare = missing + held // 2 + _SPARE
            self._numbers = np.concatenate([self._numbers, np.zeros((6, spare), dtype=np.int64)], axis=1)
            self._positions = np.concatenate([self._positions, np.zeros((3, spare))], axis=1)
            self._reach = np.concatenate([self._reach, np.zeros((6, spare))], axis=1)

    def _at(self, key: int) -> int | None:
        keys = self._numbers[0, : self._count]
        at = int(np.searchsorted(keys, key))
        return at if at < self._count and keys[at] == key else None

    def name_of(self, key: int) -> tuple[int, int] | None:
        """``(type, number)`` of an entity, gone or not; None where it was never known."""
        at = self._at(key)
        return None if at is None else (int(self._numbers[1, at]), int(self._numbers[2, at]))

    def _known(self, keys: NDArray[np.int64]) -> NDArray[np.intp]:
        """Rows of those of some keys that are known."""
        held = self._numbers[0, : self._count]
        if not len(held):
            return np.zeros(0, dtype=np.intp)
        at = np.minimum(np.searchsorted(held, keys), len(held) - 1)
        known: NDArray[np.intp] = at[held[at] == keys]
        return known

    def names_of(self, keys: NDArray[np.int64]) -> list[tuple[int, int]]:
        """``(type, number)`` of those of some entities that are known."""
        types, numbers = self._numbers[1:3, self._known(keys)].tolist()
        return list(zip(types, numbers, strict=True))

    def seen_between(
        self, since_ns: int, until_ns: int, among: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Keys of the entities, ascending, first or last seen in a window, and of those seen before and after it."""
        numbers = self._numbers[:, : self._count] if among is None else self._numbers[:, self._known(among)]
        keys, _, _, maps, first, last = numbers
        there = (maps != 0) & (first <= until_ns) & (last >= since_ns)
        inside = (first >= since_ns) | (last <= until_ns)
        return keys[there & inside], keys[there & ~inside]

    def count(self, as_of_ns: int) -> int:
        """How many entities were seen by some time."""
        numbers = self._numbers[:, : self._count]
        return int(np.count_nonzero((numbers[3] != 0) & (numbers[4] <= as_of_ns)))

    def near(self, position_m: Vec3, radius_m: float, maps: Sequence[int]) -> list[int]:
        """Keys of the entities within ``radius_m``, nearest first, the earlier of two as near before the other."""
        if self._places is None:
            known = self._positions[:2, : self._count]
            self._places = BoxIndex(known, known, self._numbers[3, : self._count])
        margin = radius_m + 1e-9
        at = np.concatenate([self._places.touched(position_m[0], position_m[1], margin, maps), self._since])
        away = np.linalg.norm(self._positions[:, at] - np.asarray(position_m).reshape(3, 1), axis=0)
        inside = (away <= radius_m) & np.isin(self._numbers[3, at], maps)
        at, first = np.unique(at[inside], return_index=True)
        away = away[inside][first]
        keys: list[int] = self._numbers[0, at[np.argsort(away, kind="stable")]].tolist()
        return keys

    def maybe_near(self, position_m: Vec3, radius_m: float, as_of_ns: int, maps: Sequence[int]) -> list[int]:
        """Keys of the entities seen by then that may have been within ``radius_m``, in order of creation."""
        if self._reaches is None:
            known = self._reach[:, : self._count]
            self._reaches = BoxIndex(known[:2], known[3:5], self._numbers[3, : self._count])
        margin = radius_m + 1e-9
        touched = self._reaches.touched(position_m[0], position_m[1], margin, maps)
        at = np.union1d(touched, self._since) if len(self._since) else np.sort(touched)
        place, reach, numbers = np.asarray(position_m).reshape(3, 1), self._reach[:, at], self._numbers[:, at]
        outside = np.maximum(np.maximum(reach[:3] - place, place - reach[3:]), 0.0)
        # What has no bounds was in several maps, and is said to be in the last.
        there = (numbers[3] != 0) & np.isinf(reach[0])
        for number in maps:
            there |= numbers[3] == number
        inside = (np.linalg.norm(outside, axis=0) <= margin) & there & (numbers[4] <= as_of_ns)
        keys: list[int] = numbers[0, inside].tolist()
        return keys
