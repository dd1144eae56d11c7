"""The vertices of SLAM's pose graph that keyframes were placed by, kept so that a later process can go on moving them.

An anchor's place is the one that the keyframes' stored poses belong to: both are written in one operation.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from vlkng_ros.memory.packing import unpack_pose
from vlkng_ros.memory.transactions import Store
from vlkng_ros.types import Pose


@dataclass(frozen=True, slots=True)
class Anchor:
    """When a vertex was made, and where it was on the map, in metres, when keyframes were last placed by it."""

    stamp_ns: int
    x_m: float
    y_m: float


@dataclass(frozen=True, slots=True)
class AnchoredDrive:
    """A session with anchors: they by vertex, and its keyframes as ``(keyframe_id, stamp_ns, base, camera)``."""

    session_id: int
    anchors: Mapping[int, Anchor]
    keyframes: tuple[tuple[int, int, Pose, Pose | None], ...]


def keep_anchors(connection: sqlite3.Connection, session_id: int, anchors: Mapping[int, Anchor]) -> None:
    """Inside a transaction: take anchors of a session by vertex, in place of those known."""
    connection.executemany(
        "INSERT OR REPLACE INTO anchor VALUES (?, ?, ?, ?, ?)",
        [(session_id, vertex, anchor.stamp_ns, anchor.x_m, anchor.y_m) for vertex, anchor in sorted(anchors.items())],
    )


def drop_anchors(connection: sqlite3.Connection, session_ids: Collection[int]) -> None:
    """Inside a transaction: these sessions' keyframes follow no graph any more."""
    connection.executemany("DELETE FROM anchor WHERE session = ?", [(session_id,) for session_id in session_ids])


def forget_anchors(connection: sqlite3.Connection, since_ns: int | None, until_ns: int | None) -> None:
    """Inside a transaction: they too say where the robot was, in a time and in drives of which nothing is left."""
    if since_ns is not None or until_ns is not None:
        bounds = (since_ns if since_ns is not None else -(2**63), until_ns if until_ns is not None else 2**63 - 1)
        connection.execute("DELETE FROM anchor WHERE stamp BETWEEN ? AND ?", bounds)
    connection.execute("DELETE FROM anchor WHERE session NOT IN (SELECT session FROM keyframe)")


def anchored_drives(store: Store, robot: str, map_id: str) -> list[AnchoredDrive]:
    """The drives of a robot through a map that have anchors, oldest first."""
    execute = store.connection.execute
    drives = []
    for (session_id,) in execute("SELECT DISTINCT session FROM anchor ORDER BY session").fetchall():
        session = store.catalogs.session(session_id)
        if (session.robot, session.map_id) != (robot, map_id):
            continue
        rows = execute("SELECT vertex, stamp, x, y FROM anchor WHERE session = ?", (session_id,))
        anchors = {vertex: Anchor(*place) for vertex, *place in rows}
        query = "SELECT id, stamp, base_pose, camera_pose FROM keyframe WHERE session = ? ORDER BY id"
        keyframes = tuple(
            (
                number,
                stamp_ns,
                unpack_pose(session.frame_id, base),
                None if camera is None else unpack_pose(session.frame_id, camera),
            )
            for number, stamp_ns, base, camera in execute(query, (session_id,))
        )
        drives.append(AnchoredDrive(session_id, anchors, keyframes))
    return drives
