"""What is left of an entity's past when its observations are no longer kept one by one.

A base is the fold of everything that happened to an entity up to an observation, and from it every later fold starts.
With it stays in which keyframes the entity was seen, so that counts and times are still known as of any earlier time,
and so that forgetting a time or an area finds what it is in.
"""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vlkng_ros.memory.fold import EVERYWHERE, KINDS, Folded, Reach
from vlkng_ros.memory.packing import position_of, unpack_pose
from vlkng_ros.memory.position import PositionState
from vlkng_ros.memory.projection import Track
from vlkng_ros.memory.visibility import Presence
from vlkng_ros.types import Float64Array, Pose, Vec3

COLUMNS = "folded, place, reach"


class Base(NamedTuple):
    """The state that an entity's later observations are folded onto."""

    folded: Folded
    reach: Reach

    @classmethod
    def from_stored(cls, folded: str, place: bytes, reach: bytes) -> Base:
        """From the columns ``COLUMNS``."""
        return cls(Folded.from_stored(folded, place), Reach.from_bytes(reach))


class Motion(NamedTuple):
    """A rigid motion of the map frame: ``rotation @ point + shift``."""

    rotation: Float64Array
    """Shape ``(3, 3)``."""
    shift: Float64Array
    """Shape ``(3,)``, in metres."""

    @classmethod
    def between(cls, before: Pose, after: Pose) -> Motion:
        """What takes one pose into the other."""
        rotation = after.rotation() @ before.rotation().T
        return cls(rotation, np.asarray(after.position_m) - rotation @ np.asarray(before.position_m))

    def point(self, at: Vec3) -> Vec3:
        """A place, moved."""
        x, y, z = (self.rotation @ np.asarray(at) + self.shift).tolist()
        return (x, y, z)

    def direction(self, axis: Vec3) -> Vec3:
        """A direction, turned."""
        x, y, z = (self.rotation @ np.asarray(axis)).tolist()
        return (x, y, z)

    def track(self, track: Track) -> Track:
        """A track, moved: what it estimates is relative to its first camera, so only that camera moves."""
        return track._replace(
            anchor_m=self.point(track.anchor_m),
            right=self.direction(track.right),
            down=self.direction(track.down),
            forward=self.direction(track.forward),
            last_camera_m=self.point(track.last_camera_m),
        )

    def place(self, place: PositionState) -> PositionState:
        """All of a place, moved."""
        return place._replace(
            robot_m=None if place.robot_m is None else self.point(place.robot_m),
            track=None if place.track is None else self.track(place.track),
            challenger=None if place.challenger is None else self.track(place.challenger),
            fallback=None if place.fallback is None else self.track(place.fallback),
            former=None if place.former is None else self.track(place.former),
            stray_m=self.point(place.stray_m),
        )

    def presence(self, presence: Presence) -> Presence:
        """Where it was seen from and missed from, moved."""
        vantages = [self.point((v.x_dm / 10, v.y_dm / 10, 0.0)) for v in presence.vantages]
        return presence._replace(
            vantages=tuple(
                v._replace(x_dm=round(x * 10), y_dm=round(y * 10))
                for v, (x, y, _) in zip(presence.vantages, vantages, strict=True)
            ),
            place_m=self.point(presence.place_m),
            last_absence_m=self.point(presence.last_absence_m),
            last_absence_forward=self.direction(presence.last_absence_forward),
        )


class BaseRows:
    """Reads and writes bases through one connection; writing is inside a transaction of the caller's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def load(self, key: int) -> Base | None:
        """Of an entity's row; None where all of its observations are there."""
        row = self._connection.execute(f"SELECT {COLUMNS} FROM entity_base WHERE entity = ?", (key,)).fetchone()
        return None if row is None else Base.from_stored(*row)

    def save(self, key: int, base: Base, last_keyframe: int) -> None:
        """Put a base in the place of an earlier one; ``last_keyframe`` is that of its last observation."""
        folded = base.folded
        values = (key, last_keyframe, folded.last_observation_id, folded.to_json(), folded.to_bytes())
        self._connection.execute(
            "INSERT OR REPLACE INTO entity_base VALUES (?, ?, ?, ?, ?, ?)", (*values, base.reach.to_bytes())
        )

    def add_keyframes(self, key: int, taken: Mapping[int, bool]) -> None:
        """Note which keyframes a base has taken in, and whether they show the entity or miss it."""
        rows = [(key, number, int(seen)) for number, seen in taken.items()]
        self._connection.executemany("INSERT OR IGNORE INTO base_keyframe VALUES (?, ?, ?)", rows)

    def drop(self, key: int) -> None:
        """Take a base out, with everything that only it knew."""
        self._connection.execute("DELETE FROM entity_base WHERE entity = ?", (key,))
        self._connection.execute("DELETE FROM base_keyframe WHERE entity = ?", (key,))

    def seen_until(self, key: int, as_of_ns: int) -> tuple[int, int | None]:
        """How many keyframes of a base show the entity up to a time, and the last of them."""
        query = (
            "SELECT COUNT(*) FROM base_keyframe b JOIN keyframe k ON k.id = b.keyframe "
            "WHERE b.entity = ? AND b.seen AND k.stamp <= ?"
        )
        (count,) = self._connection.execute(query, (key, as_of_ns)).fetchone()
        query = query.replace("COUNT(*)", "k.id") + " ORDER BY k.stamp DESC, k.id DESC LIMIT 1"
        row = self._connection.execute(query, (key, as_of_ns)).fetchone()
        return count, None if row is None else int(row[0])

    def holding(self, keyframes: str) -> set[int]:
        """Rows of the entities whose base has taken in one of these keyframes (the name of a table of ids)."""
        query = f"SELECT DISTINCT entity FROM base_keyframe WHERE keyframe IN (SELECT id FROM {keyframes})"
        return {row[0] for row in self._connection.execute(query)}

    # ---------------------------------------------------------------------------------------------------- moving

    def move(self, before: Mapping[int, bytes], corrected: str) -> set[int]:
        """Move bases with the keyframe of their last observation; call it once the keyframes are at their new poses.

        Args:
            before: packed base poses that corrected keyframes had.
            corrected: name of a table of their ids.

        Returns:
            Rows of the entities whose bases changed.
        """
        query = (
            f"SELECT b.entity, b.keyframe, k.base_pose, b.folded, b.place, b.reach FROM {corrected} c "
            "JOIN entity_base b ON b.keyframe = c.id JOIN keyframe k ON k.id = c.id"
        )
        for key, keyframe, pose, *stored in self._connection.execute(query).fetchall():
            motion = Motion.between(unpack_pose("", before[keyframe]), unpack_pose("", pose))
            folded, reach = Base.from_stored(*stored)
            folded.place, folded.presence = motion.place(folded.place), motion.presence(folded.presence)
            self.save(key, Base(folded, _moved(reach, motion)), keyframe)
        changed = self.holding(corrected)
        for key in changed:
            self._reach_anew(key)
        return changed

    def _reach_anew(self, key: int) -> None:
        """Let the reach hold every place that the entity was seen from, wherever it is now."""
        (stored,) = self._connection.execute("SELECT reach FROM entity_base WHERE entity = ?", (key,)).fetchone()
        reach = Reach.from_bytes(stored)
        query = (
            "SELECT k.base_pose FROM base_keyframe b JOIN keyframe k ON k.id = b.keyframe WHERE b.entity = ? AND b.seen"
        )
        for (pose,) in self._connection.execute(query, (key,)):
            reach = reach.including(position_of(pose))
        self._connection.execute("UPDATE entity_base SET reach = ? WHERE entity = ?", (reach.to_bytes(), key))

    def locate_anew(self) -> None:
        """Where bases are in another version's form: all that is known of their places is where the robot stood."""
        query = "SELECT b.entity, b.folded, k.base_pose FROM entity_base b JOIN keyframe k ON k.id = b.keyframe"
        nowhere = Folded.unseen(KINDS[0]).to_bytes()
        update = "UPDATE entity_base SET place = ? WHERE entity = ?"
        for key, stored, pose in self._connection.execute(query).fetchall():
            folded = Folded.from_stored(stored, nowhere)
            folded.stand_at(position_of(pose))
            self._connection.execute(update, (folded.to_bytes(), key))
            self._reach_anew(key)


def _moved(reach: Reach, motion: Motion) -> Reach:
    """The box around a moved box."""
    if not math.isfinite(reach.low[0]):
        return EVERYWHERE
    corners = [motion.point((x, y, z)) for x, y, z in itertools.product(*zip(reach.low, reach.high, strict=True))]
    moved = Reach(corners[0], corners[0])
    for corner in corners:
        moved = moved.including(corner)
    return moved
