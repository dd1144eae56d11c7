"""Which camera frames are worth remembering."""

from __future__ import annotations

from collections.abc import Collection

import cv2
import numpy as np

from vlkng_ros.building.rotation import turn_between_rad
from vlkng_ros.config import KeyframeConfig
from vlkng_ros.types import NS_PER_S, FloatArray, Image, Pose

LOOK_PX = (32, 24)
"""Size ``(width, height)`` in which pictures are compared: what is smaller than a cell is noise."""
CELL_CHANGE = 25.0
"""Of 255: a cell that differs by more has changed."""
STANDS = 0.2
"""Share of the travel and the turn that make a keyframe, below which the robot stands as it stood."""
CHANGED = "changed"


class KeyframePolicy:
    """Chooses a frame when the robot moved or turned enough, or enough time passed, since the last one.

    While the robot stands, a picture that changed is chosen too, where ``min_image_change`` says so.

    A frame is proposed by :meth:`wants`, which needs no pixels, looked at by :meth:`refusal`, which does, and taken by
    :meth:`accept` once it proved usable. ``config`` may be replaced at any time.

    Args:
        config: the thresholds.

    Attributes:
        known: stamps of frames that are keyframes already; they are not wanted again, and the way goes on from them.
        passed: how many of those came by.
    """

    def __init__(self, config: KeyframeConfig) -> None:
        self.config = config
        self.known: Collection[int] = ()
        self.passed = 0
        self._last: tuple[int, Pose] | None = None
        self._look: FloatArray | None = None

    def wants(self, stamp_ns: int, pose: Pose) -> str:
        """Why this frame should be a keyframe: ``first``, ``moved``, ``turned``, ``time``; empty if it should not.

        ``changed`` is for the pixels to decide.
        """
        if stamp_ns in self.known:
            self.passed += 1
            self.accept(stamp_ns, pose)
            return ""
        if self._last is None:
            return "first"
        last_ns, last = self._last
        elapsed_s = (stamp_ns - last_ns) / NS_PER_S
        if elapsed_s <= 0 or elapsed_s < self.config.min_period_s:
            return ""
        distance_m, turn_rad = pose.distance_m(last), turn_between_rad(pose, last)
        if distance_m >= self.config.min_distance_m:
            return "moved"
        if turn_rad >= self.config.min_angle_rad:
            return "turned"
        if 0 < self.config.max_period_s <= elapsed_s:
            return "time"
        stands = distance_m <= STANDS * self.config.min_distance_m and turn_rad <= STANDS * self.config.min_angle_rad
        return CHANGED if self.config.min_image_change > 0 and stands and self._look is not None else ""

    def refusal(self, why: str, stamp_ns: int, image: Image) -> str:
        """Why the pixels of a wanted frame speak against it, ``blurred`` or ``unchanged``; empty where they do not.

        Blur is no reason for longer than ``max_period_s``: what always looks blurred, like a bare wall, is remembered
        too.
        """
        if self.config.min_sharpness > 0 and sharpness(image) < self.config.min_sharpness:
            last_ns = self._last[0] if self._last is not None else stamp_ns
            overdue = 0 < self.config.max_period_s * NS_PER_S <= stamp_ns - last_ns
            if not overdue:
                return "blurred"
        if why == CHANGED and self._look is not None:
            return "" if change(self._look, look_of(image)) >= self.config.min_image_change else "unchanged"
        return ""

    def accept(self, stamp_ns: int, pose: Pose, image: Image | None = None) -> None:
        """The frame became a keyframe: the next is measured from here."""
        self._last = (stamp_ns, pose)
        self._look = look_of(image) if image is not None and self.config.min_image_change > 0 else None

    def reset(self) -> None:
        """A new session: the next frame is a keyframe."""
        self._last = self._look = None


def sharpness(image: Image) -> float:
    """Variance of the Laplacian of an RGB image; higher is sharper (Pech-Pacheco et al. 2000)."""
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return float(cv2.Laplacian(gray, cv2.CV_64F).var())


def look_of(image: Image) -> FloatArray:
    """An RGB image as small gray cells without its mean brightness, shape ``(24, 32)``: exposure is no change."""
    small = cv2.resize(image, LOOK_PX, interpolation=cv2.INTER_AREA)
    gray = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY).astype(np.float32)
    look: FloatArray = gray - np.float32(np.median(gray))
    return look


def change(before: FloatArray, after: FloatArray) -> float:
    """The share of a picture that changed, 0 to 1."""
    return float(np.mean(np.abs(after - before) > CELL_CHANGE))
