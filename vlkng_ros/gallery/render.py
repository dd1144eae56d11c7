"""What the gallery robot's camera sees, with OpenCV alone.

Every column of a level camera sees one wall (see ``camera.WallFaces``), so walls are drawn as runs of columns and a
picture only into the columns that see its wall: occlusion is exact without a depth buffer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vlkng_ros.gallery.camera import GalleryCamera, WallFaces
from vlkng_ros.gallery.photographs import load_photograph
from vlkng_ros.gallery.world import Picture, Rgb, Wall, World
from vlkng_ros.types import Float64Array, Image, Pose

FRAME_M = 0.012
FRAME_RGB: Rgb = (214, 190, 150)
SKIRTING_M = 0.09
FLOOR_RGB: tuple[Rgb, Rgb] = ((150, 128, 104), (112, 92, 72))
CEILING_RGB: tuple[Rgb, Rgb] = ((206, 206, 204), (238, 238, 236))
_SHIFT = 4


class Renderer:
    """Draws frames of one world with one camera. Not thread-safe; frames of equal input are equal."""

    def __init__(self, world: World, camera: GalleryCamera | None = None) -> None:
        """Reads every photograph of the world now, so that a missing package shows before the drive starts.

        Raises:
            ImageError: a photograph cannot be read; the message names the extra to install.
        """
        self.world = world
        self.camera = camera or GalleryCamera()
        self._solid = [wall for wall in world.walls if not wall.is_lintel]
        self._lintels = [wall for wall in world.walls if wall.is_lintel]
        self._solid_faces, self._lintel_faces = WallFaces.of(self._solid), WallFaces.of(self._lintels)
        self._textures = [_Texture.of(picture) for picture in world.pictures]
        self._wall_of = [_wall_index(picture, self._solid) for picture in world.pictures]
        self._background = self._draw_background()

    def render(self, base: Pose, stamp_ns: int = 0) -> Image:
        """The frame, RGB, shape ``(height_px, width_px, 3)``, seen with the robot's base at ``base`` in the map."""
        camera = self.camera.pose(base)
        origin, rays = np.asarray(camera.position_m[:2]), self.camera.rays(camera)
        seen, depth = self._solid_faces.nearest(origin, rays)
        image: Image = self._background.copy()
        for index, first, last in _runs(seen):
            self._fill(image, camera, self._solid[index], first, last, depth)
        for picture, texture, wall in zip(self.world.pictures, self._textures, self._wall_of, strict=True):
            if picture.hangs_at(stamp_ns):
                self._draw_picture(image, camera, picture, texture, seen == wall, depth)
        if self._lintels:
            self._draw_lintels(image, camera, origin, rays, depth)
        return image

    def _draw_background(self) -> Image:
        k = self.camera.intrinsics
        rows = np.arange(k.height_px, dtype=np.float64)[:, None]
        down = np.clip((rows - k.cy) / max(k.height_px - k.cy, 1.0), 0, 1)
        up = np.clip((k.cy - rows) / max(k.cy, 1.0), 0, 1)
        floor = np.array(FLOOR_RGB[1]) * (1 - down) + np.array(FLOOR_RGB[0]) * down
        ceiling = np.array(CEILING_RGB[0]) * (1 - up) + np.array(CEILING_RGB[1]) * up
        column = np.where(rows > k.cy, floor, ceiling)
        return np.asarray(np.repeat(column[:, None, :], k.width_px, axis=1).round(), np.uint8)

    def _row(self, camera: Pose, height_m: float, depth: Float64Array) -> Float64Array:
        k = self.camera.intrinsics
        return np.asarray(k.cy + k.fy * (camera.position_m[2] - height_m) / depth)

    def _band(
        self, camera: Pose, first: int, last: int, depth: Float64Array, top_m: float, bottom_m: float
    ) -> NDArray[np.int32]:
        """The quadrilateral that a band of a wall covers in columns ``first`` to ``last``."""
        ends = depth[[first, last]]
        top, bottom = self._row(camera, top_m, ends), self._row(camera, bottom_m, ends)
        corners = [(first, top[0]), (last, top[1]), (last, bottom[1]), (first, bottom[0])]
        return np.asarray(np.round(np.array(corners) * (1 << _SHIFT)), np.int32)

    def _fill(self, image: Image, camera: Pose, wall: Wall, first: int, last: int, depth: Float64Array) -> None:
        band = self._band(camera, first, last, depth, wall.top_m, wall.bottom_m)
        cv2.fillConvexPoly(image, band, wall.rgb, cv2.LINE_8, _SHIFT)
        if not wall.is_lintel:
            skirting = self._band(camera, first, last, depth, SKIRTING_M, 0.0)
            cv2.fillConvexPoly(image, skirting, tuple(int(c * 0.72) for c in wall.rgb), cv2.LINE_8, _SHIFT)

    def _draw_lintels(
        self, image: Image, camera: Pose, origin: Float64Array, rays: Float64Array, depth: Float64Array
    ) -> None:
        depths = self._lintel_faces.depths(origin, rays)
        in_front = np.isfinite(depths) & (depths < depth[:, None])
        runs = [
            (float(depths[first : last + 1, index].mean()), index, first, last)
            for index in np.flatnonzero(in_front.any(axis=0)).tolist()
            for found, first, last in _runs(np.where(in_front[:, index], index, -1))
        ]
        for _, index, first, last in sorted(runs, reverse=True):
            self._fill(image, camera, self._lintels[index], first, last, depths[:, index])

    def _draw_picture(
        self,
        image: Image,
        camera: Pose,
        picture: Picture,
        texture: _Texture,
        columns: NDArray[np.bool_],
        depth: Float64Array,
    ) -> None:
        if not columns.any():
            return
        k = self.camera.intrinsics
        # Where each column meets the wall, as a distance from the picture's middle: which columns it fills.
        across = np.array([-picture.normal[1], picture.normal[0]])
        rays = self.camera.rays(camera)
        meets = np.asarray(camera.position_m[:2]) + rays * np.where(columns, depth, 0.0)[:, None]
        from_middle = (meets - np.asarray(picture.centre_m[:2])) @ across
        columns = columns & (np.abs(from_middle) <= texture.half_width_m)
        if not columns.any():
            return
        top_m, bottom_m = picture.centre_m[2] + texture.half_height_m, picture.centre_m[2] - texture.half_height_m
        filled = np.flatnonzero(columns)
        rows = np.stack([self._row(camera, h, depth[filled]) for h in (top_m, bottom_m)])
        x1, x2 = int(filled[0]), int(filled[-1]) + 1
        y1 = max(math.floor(rows[0].min()), 0)
        y2 = min(math.ceil(rows[1].max()) + 1, k.height_px)
        if y1 >= y2:
            return
        pixels = texture.level(k.fy * 2 * texture.half_height_m / float(np.median(depth[filled])))
        homography = _translation(-x1, -y1) @ self._homography(camera, picture, texture, pixels)
        warped = cv2.warpPerspective(
            pixels, homography, (x2 - x1, y2 - y1), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        mask = np.zeros((y2 - y1, x2 - x1), np.uint8)
        offset = np.array([x1, y1]) << _SHIFT
        for _, first, last in _runs(np.where(columns, 0, -1)):
            band = self._band(camera, first, last, depth, top_m, bottom_m) - offset
            cv2.fillConvexPoly(mask, band.astype(np.int32), 255, cv2.LINE_8, _SHIFT)
        cv2.copyTo(warped, mask, image[y1:y2, x1:x2])

    def _homography(self, camera: Pose, picture: Picture, texture: _Texture, pixels: Image) -> Float64Array:
        """From ``pixels`` of the texture to pixels of the frame, shape ``(3, 3)``."""
        height, width = pixels.shape[:2]
        half_width_m, half_height_m = texture.half_width_m, texture.half_height_m
        right = np.array([-picture.normal[1], picture.normal[0], 0.0])
        down = np.array([0.0, 0.0, -1.0])
        # Pixel centres are whole numbers, so the texture's edge is at -0.5.
        step_right, step_down = right * (2 * half_width_m / width), down * (2 * half_height_m / height)
        corner = np.asarray(picture.centre_m) - right * half_width_m - down * half_height_m
        origin = corner + 0.5 * step_right + 0.5 * step_down
        to_camera = camera.rotation().T
        plane = np.stack([step_right, step_down, origin - np.asarray(camera.position_m)], axis=1)
        k = self.camera.intrinsics
        matrix = np.array([[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]])
        return np.asarray(matrix @ to_camera @ plane)


@dataclass(frozen=True, slots=True)
class _Texture:
    """A photograph in its frame at several sizes, each half the one before; half-sizes include the frame."""

    levels: tuple[Image, ...]
    half_width_m: float
    half_height_m: float

    @classmethod
    def of(cls, picture: Picture) -> _Texture:
        photo = load_photograph(picture.photograph)
        height, width = photo.shape[:2]
        # Whole pixels of frame, and the frame's metres from these, so that the photograph itself keeps its place.
        border = max(round(FRAME_M * width / picture.width_m), 1)
        rgb = tuple(float(c) for c in FRAME_RGB)
        framed = cv2.copyMakeBorder(photo, border, border, border, border, cv2.BORDER_CONSTANT, value=rgb)
        levels: list[Image] = [np.asarray(framed, np.uint8)]
        while min(levels[-1].shape[:2]) >= 32:
            h, w = levels[-1].shape[:2]
            half = cv2.resize(levels[-1], (w // 2, h // 2), interpolation=cv2.INTER_AREA)
            levels.append(np.asarray(half, np.uint8))
        return cls(
            tuple(levels),
            picture.width_m * (width + 2 * border) / width / 2,
            picture.height_m * (height + 2 * border) / height / 2,
        )

    def level(self, on_screen_px: float) -> Image:
        """The size whose pixels come out about as large as the frame's where it fills that many rows."""
        halvings = math.floor(math.log2(max(self.levels[0].shape[0] / max(on_screen_px, 1.0), 1.0)))
        return self.levels[min(halvings, len(self.levels) - 1)]


def _wall_index(picture: Picture, walls: list[Wall]) -> int:
    """The wall a picture hangs on: the one of its room that holds its centre and faces its way."""
    centre = np.asarray(picture.centre_m[:2])
    for index, wall in enumerate(walls):
        start, end = np.asarray(wall.start), np.asarray(wall.end)
        span = end - start
        length = float(np.linalg.norm(span))
        along = float((centre - start) @ span) / length
        aside = float((centre - start) @ np.array([-span[1], span[0]])) / length
        if wall.room == picture.room and abs(aside) < 1e-6 and 0 <= along <= length:
            return index
    return -1


def _runs(values: NDArray[np.intp]) -> Iterator[tuple[int, int, int]]:
    """``(value, first, last)`` of each run of equal values that are not negative."""
    edges = np.flatnonzero(np.diff(values)) + 1
    for first, stop in zip([0, *edges.tolist()], [*edges.tolist(), len(values)], strict=True):
        if values[first] >= 0:
            yield int(values[first]), first, stop - 1


def _translation(x: float, y: float) -> Float64Array:
    return np.array([[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]])
