"""What is true in the gallery: which things a frame shows and where, and from where a thing can be seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.camera import GalleryCamera, WallFaces
from vlkng_ros.gallery.drive import Drive
from vlkng_ros.gallery.planar import wrap
from vlkng_ros.gallery.world import Thing, World
from vlkng_ros.types import NS_PER_S, BoxPx, Float64Array, Pose

MAX_VIEW_DISTANCE_M = 5.0
MAX_VIEW_ANGLE_RAD = math.radians(60.0)
MIN_VISIBLE = 0.6
_SAMPLES = 41
_SEARCH_STEP_M = 0.1


@dataclass(frozen=True, slots=True)
class TrueBox:
    """A thing in a frame.

    ``box_px`` encloses what is visible of it. ``visible`` is the fraction of it that the frame shows, ``distance_m``
    and ``angle_rad`` tell from how far and from how far aside (0: straight on) the camera sees its middle.
    """

    thing: Thing
    box_px: BoxPx
    visible: float
    distance_m: float
    angle_rad: float


@dataclass(frozen=True, slots=True)
class GoalError:
    """How good a goal is for seeing a thing.

    ``distance_m`` is how far the goal is from the nearest place where a robot that faces the thing sees it; 0 where
    it sees it from the goal. ``turn_rad`` is how far it must turn there until the thing is in view.
    """

    thing: Thing
    distance_m: float
    turn_rad: float


class Truth:
    """Answers about one world, seen with one camera."""

    def __init__(self, world: World, camera: GalleryCamera | None = None) -> None:
        """Truth about ``world``; ``camera`` is the robot's."""
        self.world = world
        self.camera = camera or GalleryCamera()
        self._faces = WallFaces.of([wall for wall in world.walls if not wall.is_lintel])
        self._things = world.things()
        pictures = [thing.picture for thing in self._things]
        self._centres = np.array([thing.centre_m for thing in self._things]).reshape(-1, 3)
        self._normals = np.array([picture.normal for picture in pictures]).reshape(-1, 2)
        self._reach_m = np.array([math.hypot(picture.width_m, picture.height_m) / 2 for picture in pictures])

    def boxes(
        self, base: Pose, stamp_ns: int = 0, *, min_visible: float = 0.3, max_distance_m: float = 8.0
    ) -> tuple[TrueBox, ...]:
        """The things that a frame shows, in the order of the world's pictures.

        Things of which less than ``min_visible`` shows, or that are further than ``max_distance_m``, are left out.
        """
        camera = self.camera.pose(base)
        near = self._candidates(camera, stamp_ns, max_distance_m)
        if not near:
            return ()
        _, depth = self._faces.nearest(np.asarray(camera.position_m[:2]), self.camera.rays(camera))
        found = (self._box(thing, camera, depth) for thing in near)
        return tuple(box for box in found if box is not None and box.visible >= min_visible)

    def _candidates(self, camera: Pose, stamp_ns: int, max_distance_m: float) -> list[Thing]:
        """Things that may be in view: near enough, seen from the front, not wholly behind or beside the frame."""
        to_thing = self._centres - np.asarray(camera.position_m)
        front = -np.einsum("ij,ij->i", to_thing[:, :2], self._normals)
        rotation, k = camera.rotation(), self.camera.intrinsics
        ahead, aside = to_thing @ rotation[:, 2], np.abs(to_thing @ rotation[:, 0])
        # Widest half-angle of the frame, plus the thing's own size.
        widest = max(k.cx, k.width_px - k.cx) / k.fx
        margin = self._reach_m * math.hypot(1.0, widest)
        possible = (ahead > -self._reach_m) & (aside - widest * ahead < margin) & (front > 0)
        possible &= np.linalg.norm(to_thing, axis=1) <= max_distance_m
        return [
            self._things[index]
            for index in np.flatnonzero(possible).tolist()
            if self._things[index].picture.hangs_at(stamp_ns)
        ]

    def _box(self, thing: Thing, camera: Pose, wall_depth: Float64Array) -> TrueBox | None:
        k = self.camera.intrinsics
        x1, y1, x2, y2 = thing.fractions
        across = np.linspace(x1, x2, _SAMPLES)
        top, depth = self.camera.project(
            camera, thing.picture.points_m(np.stack([across, np.full(_SAMPLES, y1)], axis=1))
        )
        bottom, _ = self.camera.project(
            camera, thing.picture.points_m(np.stack([across, np.full(_SAMPLES, y2)], axis=1))
        )
        ahead = depth > 0.05
        u = np.where(ahead, top[:, 0], -1.0)
        inside = ahead & (u >= -0.5) & (u <= k.width_px - 0.5)
        column = np.clip(np.round(u), 0, k.width_px - 1).astype(np.intp)
        # Within a column the wall's depth changes by less than a step along the picture.
        free = inside & (wall_depth[column] >= depth - 0.02 - 0.01 * depth)
        if not free.any():
            return None
        v1 = np.clip(np.where(ahead, top[:, 1], 0.0), 0.0, k.height_px)
        v2 = np.clip(np.where(ahead, bottom[:, 1], 0.0), 0.0, k.height_px)
        whole = np.where(ahead, bottom[:, 1] - top[:, 1], 1.0)
        visible = float((np.where(free, (v2 - v1) / whole, 0.0)).mean())
        # Half a step on either side belongs to the first and last sample that shows; past the frame's border all does.
        first, last = int(np.argmax(free)), _SAMPLES - 1 - int(np.argmax(free[::-1]))
        left, right = float(u[first]), float(u[last])
        if first > 0:
            left = (left + float(u[first - 1])) / 2 if inside[first - 1] else 0.0
        if last < _SAMPLES - 1:
            right = (right + float(u[last + 1])) / 2 if inside[last + 1] else float(k.width_px)
        box: BoxPx = (
            max(left, 0.0),
            float(v1[free].min()),
            min(right, float(k.width_px)),
            float(v2[free].max()),
        )
        if box[2] - box[0] < 1.0 or box[3] - box[1] < 1.0:
            return None
        distance_m = math.dist(thing.centre_m, camera.position_m)
        return TrueBox(thing, box, visible, distance_m, _angle(thing, camera.position_m))

    def sees(self, thing: Thing, base: Pose, stamp_ns: int = 0) -> bool:
        """Whether a robot at ``base`` sees a thing well: most of it, near enough, not too much from the side."""
        boxes = self.boxes(base, stamp_ns, min_visible=MIN_VISIBLE, max_distance_m=MAX_VIEW_DISTANCE_M)
        return any(box.thing == thing and box.angle_rad <= MAX_VIEW_ANGLE_RAD for box in boxes)

    def goal_error(self, label: str, goal: Pose, stamp_ns: int = 0) -> GoalError:
        """How far a goal is from where a thing with that label can be seen; of several things, the nearest counts.

        Raises:
            InvalidInputError: nothing with that label hangs in this world at that time.
        """
        things = [thing for thing in self.world.things(stamp_ns) if thing.label == label]
        if not things:
            raise InvalidInputError(f"there is no '{label}' in this gallery")
        errors = [self._goal_error(thing, goal, stamp_ns) for thing in things]
        return min(errors, key=lambda error: (error.distance_m, error.turn_rad))

    def _goal_error(self, thing: Thing, goal: Pose, stamp_ns: int) -> GoalError:
        turn = self._turn_until_seen(thing, goal, stamp_ns)
        if turn is not None:
            return GoalError(thing, 0.0, turn)
        x1, y1, x2, y2 = self.world.bounds_m()
        xs, ys = np.meshgrid(np.arange(x1, x2, _SEARCH_STEP_M), np.arange(y1, y2, _SEARCH_STEP_M))
        places = np.stack([xs.ravel(), ys.ravel()], axis=1)
        to_thing = np.asarray(thing.centre_m[:2]) - places
        reach = np.linalg.norm(to_thing, axis=1)
        ahead = -(to_thing @ np.asarray(thing.picture.normal))
        # The camera stands ahead of the base, so the limits hold for the base only roughly; sees() decides.
        likely = (reach < MAX_VIEW_DISTANCE_M + 1) & (ahead > 0.3 * reach)
        from_goal = np.linalg.norm(places - np.asarray(goal.position_m[:2]), axis=1)
        for index in np.argsort(from_goal, kind="stable").tolist():
            if likely[index]:
                x, y = places[index].tolist()
                yaw = math.atan2(to_thing[index, 1], to_thing[index, 0])
                if self.sees(thing, Pose.planar(goal.frame_id, x, y, yaw), stamp_ns):
                    return GoalError(thing, float(from_goal[index]), abs(wrap(yaw - goal.yaw_rad)))
        return GoalError(thing, math.inf, math.pi)

    def _turn_until_seen(self, thing: Thing, goal: Pose, stamp_ns: int) -> float | None:
        x, y, _ = goal.position_m
        toward = math.atan2(thing.centre_m[1] - y, thing.centre_m[0] - x)
        whole = wrap(toward - goal.yaw_rad)
        for part in np.linspace(0.0, 1.0, 37).tolist():
            if self.sees(thing, Pose.planar(goal.frame_id, x, y, goal.yaw_rad + part * whole), stamp_ns):
                return abs(float(part) * whole)
        return None

    def times_seen(self, thing: Thing, drive: Drive, step_s: float = 0.1) -> list[int]:
        """Stamps of a drive, every ``step_s``, at which the robot sees a thing well."""
        stamps = range(drive.start_ns, drive.end_ns + 1, round(step_s * NS_PER_S))
        return [stamp for stamp in stamps if self.sees(thing, drive.pose(stamp), stamp)]


def _ahead_of(thing: Thing, point: tuple[float, float, float]) -> float:
    """Distance of a point in front of the picture's wall; negative behind it."""
    nx, ny = thing.picture.normal
    return nx * (point[0] - thing.centre_m[0]) + ny * (point[1] - thing.centre_m[1])


def _angle(thing: Thing, point: tuple[float, float, float]) -> float:
    across = math.dist(thing.centre_m[:2], point[:2])
    return math.acos(max(-1.0, min(1.0, _ahead_of(thing, point) / max(across, 1e-9))))
