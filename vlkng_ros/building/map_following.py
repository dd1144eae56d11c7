"""Moves keyframes with SLAM's map: those of the drive under way, and those of earlier drives through the same map."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from vlkng_ros.building.map_corrections import MapCorrections
from vlkng_ros.building.pipeline import MemoryBuilder
from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.anchors import Anchor
from vlkng_ros.types import Pose

Moved = Mapping[int, tuple[Pose, Pose | None]]
"""New poses of base and camera, by keyframe."""
logger = logging.getLogger(__name__)


class MapFollower:
    """Writes the corrections of each drive through the present map.

    Args:
        builder: writes, and says which earlier drives there are.
    """

    def __init__(self, builder: MemoryBuilder) -> None:
        self.drive = MapCorrections()
        """The drive under way."""
        self._builder = builder
        self._session_id = 0
        self._map_id = ""
        self._earlier: dict[int, MapCorrections] | None = None

    def clear(self) -> None:
        """A new session: what was matched belongs to the last one, which is over."""
        self.drive.clear()
        self._session_id = 0

    def begin(self, session_id: int, map_id: str) -> None:
        """The session under way has a name; earlier drives are looked for when its first graph comes."""
        self._session_id, self._map_id, self._earlier = session_id, map_id, None

    def follow(self, vertices: Mapping[int, tuple[float, float]]) -> None:
        """Take the places of the graph's vertices, and move what moved with them.

        Raises:
            VlkngError: it cannot be written; the next graph makes up for it.
        """
        if self._session_id == 0:
            self.drive.update(vertices)
            return
        if self._earlier is None:
            self._earlier = self._earlier_drives(vertices)
        drives = {**self._earlier, self._session_id: self.drive}
        moved: Moved = {number: p for drive in drives.values() for number, p in drive.update(vertices).items()}
        due = {session_id: drive.due for session_id, drive in drives.items()}
        moved = self._write(moved, {session_id: anchors for session_id, anchors in due.items() if anchors})
        for drive in drives.values():
            drive.applied(moved)
        if moved:
            logger.info("the map moved: %d keyframes moved with it", len(moved))

    def settle(self, better: Moved) -> None:
        """Write poses of this drive's keyframes that became known better than when they were stored.

        Raises:
            VlkngError: they cannot be written.
        """
        for keyframe_id, (base, _) in self._write(better, {}).items():
            self.drive.settle(keyframe_id, base)

    def _write(self, moved: Moved, anchored: Mapping[int, Mapping[int, Anchor]]) -> Moved:
        """Returns what was written: some may have been forgotten since, and the others still have to move."""
        try:
            self._builder.correct(moved, anchored)
        except NotInMemoryError:
            gone = self._builder.forgotten(moved)
            for drive in (self.drive, *(self._earlier or {}).values()):
                drive.forget(gone)
            moved = {keyframe_id: poses for keyframe_id, poses in moved.items() if keyframe_id not in gone}
            self._builder.correct(moved, anchored)
        return moved

    def _earlier_drives(self, vertices: Mapping[int, tuple[float, float]]) -> dict[int, MapCorrections]:
        stored = [d for d in self._builder.anchored_drives(self._map_id) if d.session_id != self._session_id]
        drives = {drive.session_id: MapCorrections.of_earlier(drive) for drive in stored}
        other = [session_id for session_id, drive in drives.items() if not drive.is_of(vertices)]
        if other:
            logger.warning(
                "the pose graph is not the one of %d earlier drives through map '%s'; their keyframes stay where they "
                "are. If localisation uses another map now, give it another robot.map_id",
                len(other),
                self._map_id,
            )
            self._builder.drop_anchors(other)
        same = {session_id: drive for session_id, drive in drives.items() if session_id not in other}
        self.drive.begin_after(max((drive.newest_vertex for drive in same.values()), default=-1))
        return same
