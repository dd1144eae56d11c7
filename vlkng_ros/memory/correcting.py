"""Better poses for frames, such as a loop closure gives, and every place that follows from them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory.bases import BaseRows
from vlkng_ros.memory.packing import pack_pose
from vlkng_ros.memory.relocating import Relocator
from vlkng_ros.memory.transactions import Store
from vlkng_ros.types import Pose


def correct_poses(store: Store, corrections: Mapping[int, tuple[Pose, Pose | None]], revision: int) -> list[int]:
    """Inside a transaction: new poses (base, camera) by keyframe, and the entities of all views derived anew.

    Returns the rows of these entities.

    Raises:
        NotInMemoryError: one of the keyframes is not there.
        InvalidInputError: a pose is in another frame than the keyframe was taken in.
    """
    connection = store.connection
    for table in ("corrected_keyframe", "corrected_observation"):
        connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY)")
        connection.execute(f"DELETE FROM {table}")
    connection.executemany("INSERT INTO corrected_keyframe VALUES (?)", [(number,) for number in sorted(corrections)])
    _check(store, corrections)
    query = "SELECT k.id, k.base_pose FROM corrected_keyframe c JOIN keyframe k ON k.id = c.id"
    before = dict(connection.execute(query))
    connection.executemany(
        "UPDATE keyframe SET base_pose = ?, camera_pose = ?, revision = ? WHERE id = ?",
        [
            (pack_pose(base), None if camera is None else pack_pose(camera), revision, number)
            for number, (base, camera) in sorted(corrections.items(), key=lambda item: item[0])
        ],
    )
    connection.execute(
        "INSERT INTO corrected_observation SELECT o.id FROM corrected_keyframe c JOIN keyframe k ON k.id = c.id "
        "JOIN observation o ON o.id BETWEEN k.first_observation AND k.first_observation + k.observations - 1"
    )
    affected = set(entities_with(connection, "corrected_observation", "corrected_keyframe"))
    affected |= BaseRows(connection).move(before, "corrected_keyframe")
    relocated = sorted(affected)
    Relocator(connection, store.catalogs, revision).relocate(relocated)
    return relocated


def _check(store: Store, corrections: Mapping[int, tuple[Pose, Pose | None]]) -> None:
    """Every keyframe is there, and every pose is in the frame that it was taken in."""
    query = "SELECT c.id, k.session FROM corrected_keyframe c LEFT JOIN keyframe k ON k.id = c.id"
    for number, session in store.connection.execute(query):
        if session is None:
            raise NotInMemoryError(f"keyframe {number} is not in this memory; it may have been forgotten")
        frame_id = store.catalogs.session(session).frame_id
        for pose in corrections[number]:
            if pose is not None and pose.frame_id != frame_id:
                raise InvalidInputError(
                    f"correct_poses: keyframe {number} is in frame '{frame_id}', its correction in '{pose.frame_id}'"
                )


def entities_with(connection: sqlite3.Connection, observations: str, keyframes: str) -> list[int]:
    """Rows of the entities, of any view, that these observations show or these keyframes miss; ascending.

    Args:
        connection: the writer's.
        observations: name of a table of observation ids.
        keyframes: name of a table of keyframe ids.
    """
    seen = (
        f"SELECT DISTINCT a.entity FROM view v JOIN {observations} o "
        "JOIN assignment a ON a.view = v.id AND a.observation = o.id"
    )
    missed = f"SELECT DISTINCT entity FROM absence WHERE keyframe IN (SELECT id FROM {keyframes})"
    return sorted({row[0] for query in (seen, missed) for row in connection.execute(query)})
