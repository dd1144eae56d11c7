"""The gallery robot's camera: a level pinhole, and which wall each of its columns sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.world import Wall
from vlkng_ros.types import OPTICAL_IN_BODY, Float64Array, Intrinsics, Pose

NEAREST_M = 0.01
INTRINSICS = Intrinsics(525.0, 525.0, 320.0, 240.0, 640, 480)
MOUNT = Pose("base_link", (0.2, 0.0, 0.8), OPTICAL_IN_BODY)


@dataclass(frozen=True, slots=True)
class GalleryCamera:
    """A pinhole camera and where its optical frame is mounted on the base.

    It must be level (turned about the vertical axis only): with vertical walls that makes each image column see one
    wall, which is what keeps occlusion exact and cheap.

    Raises:
        InvalidInputError: the mounting is tilted.
    """

    intrinsics: Intrinsics = INTRINSICS
    mount: Pose = MOUNT

    def __post_init__(self) -> None:
        if not np.allclose(self.mount.rotation()[:, 1], (0.0, 0.0, -1.0), atol=1e-6):
            raise InvalidInputError("the gallery camera must be level: its optical y axis has to point straight down")

    def pose(self, base: Pose) -> Pose:
        """Pose of the optical frame, in the frame of ``base``."""
        return base.compose(self.mount)

    def project(self, camera: Pose, points_m: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Pixels ``(n, 2)`` and depths along the optical axis ``(n,)`` of world points ``(n, 3)``.

        Pixels of points that are not in front of the camera mean nothing; their depth is not positive.
        """
        local = (np.asarray(points_m, np.float64) - np.asarray(camera.position_m)) @ camera.rotation()
        depth = local[:, 2]
        k = self.intrinsics
        with np.errstate(divide="ignore", invalid="ignore"):
            pixels = np.stack([k.cx + k.fx * local[:, 0] / depth, k.cy + k.fy * local[:, 1] / depth], axis=1)
        return pixels, depth

    def rays(self, camera: Pose) -> Float64Array:
        """Directions on the floor of every image column, shape ``(width_px, 2)``, of depth 1 along the axis."""
        rotation = camera.rotation()
        k = self.intrinsics
        sideways = (np.arange(k.width_px) - k.cx) / k.fx
        return rotation[:2, 2] + sideways[:, None] * rotation[:2, 0]


@dataclass(frozen=True, slots=True)
class WallFaces:
    """Walls as arrays: ``start`` ``(n, 2)``, ``span`` (end - start) ``(n, 2)``, ``normal`` into the room ``(n, 2)``."""

    start: Float64Array
    span: Float64Array
    normal: Float64Array

    @classmethod
    def of(cls, walls: Sequence[Wall]) -> WallFaces:
        """The arrays of some walls, in their order."""
        start = np.array([wall.start for wall in walls], np.float64).reshape(-1, 2)
        span = np.array([wall.end for wall in walls], np.float64).reshape(-1, 2) - start
        length = np.maximum(np.linalg.norm(span, axis=1, keepdims=True), 1e-12)
        normal = np.stack([-span[:, 1], span[:, 0]], axis=1) / length
        return cls(start, span, normal)

    def depths(self, origin: Float64Array, rays: Float64Array) -> Float64Array:
        """Depth at which each ray meets each face from its front, ``(rays, faces)``; infinite where it does not."""
        to_start = self.start - origin
        ahead = np.einsum("wi,wi->w", to_start, self.normal)
        toward = rays @ self.normal.T
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = ahead / toward
            # Position along the face, from the cross product with the ray.
            cross = rays[:, :1] * self.span[:, 1] - rays[:, 1:] * self.span[:, 0]
            along = (to_start[:, 0] * rays[:, 1:] - to_start[:, 1] * rays[:, :1]) / cross
        hit = (toward < 0) & (ahead < 0) & (depth > NEAREST_M) & (along > -1e-9) & (along < 1 + 1e-9)
        return np.where(hit, depth, np.inf)

    def nearest(self, origin: Float64Array, rays: Float64Array) -> tuple[NDArray[np.intp], Float64Array]:
        """Index of the face each ray meets first (-1: none) and its depth."""
        if not len(self.start):
            return np.full(len(rays), -1, np.intp), np.full(len(rays), np.inf)
        depths = self.depths(origin, rays)
        first = depths.argmin(axis=1)
        depth = depths[np.arange(len(rays)), first]
        return np.where(np.isfinite(depth), first, -1), depth
