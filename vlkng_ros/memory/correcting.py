"""Better poses for frames, such as a loop closure gives, and every place that follows from them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.packing import pack_pose
from vlkng_ros.memory.refolding import Refolder
from vlkng_ros.types import Pose


def correct_poses(
    connection: sqlite3.Connection,
    catalogs: Catalogs,
    keyframes: KeyframeRows,
    corrections: Mapping[int, tuple[Pose, Pose | None]],
    revision: int,
) -> None:
    """Inside a transaction: new poses (base, camera) by keyframe, and the entities of all views derived anew.

    Raises:
        NotInMemoryError: one of the keyframes is not there.
        InvalidInputError: a pose is in another frame than the keyframe was taken in.
    """
    ids = sorted(corrections)
    for keyframe in keyframes.keyframes(ids):
        for pose in corrections[keyframe.keyframe_id]:
            if pose is not None and pose.frame_id != keyframe.base_pose.frame_id:
                raise InvalidInputError(
                    f"correct_poses: keyframe {keyframe.keyframe_id} is in frame '{keyframe.base_pose.frame_id}', "
                    f"its correction in '{pose.frame_id}'"
                )
    connection.executemany(
        "UPDATE keyframe SET base_pose = ?, camera_pose = ?, revision = ? WHERE id = ?",
        (
            (pack_pose(base), None if camera is None else pack_pose(camera), revision, number)
            for number, (base, camera) in ((number, corrections[number]) for number in ids)
        ),
    )
    Refolder(connection, catalogs, keyframes, revision).refold(entities_in(connection, ids))


def entities_in(connection: sqlite3.Connection, keyframe_ids: list[int]) -> list[int]:
    """Rows of the entities, of any view, that these keyframes show; ascending."""
    query = (
        "SELECT DISTINCT a.entity FROM keyframe k JOIN view v JOIN assignment a ON a.view = v.id "
        "AND a.observation BETWEEN k.first_observation AND k.first_observation + k.observations - 1 WHERE k.id = ?"
    )
    found: set[int] = set()
    for number in keyframe_ids:
        found.update(row[0] for row in connection.execute(query, (number,)))
    return sorted(found)
