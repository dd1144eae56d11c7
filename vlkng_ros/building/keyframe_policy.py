"""Which camera frames are worth remembering."""

from __future__ import annotations

import cv2

from vlkng_ros.building.rotation import turn_between_rad
from vlkng_ros.config import KeyframeConfig
from vlkng_ros.types import NS_PER_S, Image, Pose


class KeyframePolicy:
    """Chooses a frame when the robot moved or turned enough, or enough time passed, since the last one.

    A frame is proposed by :meth:`wants`, which needs no pixels, and taken by :meth:`accept` once it proved usable.
    ``config`` may be replaced at any time.
    """

    def __init__(self, config: KeyframeConfig) -> None:
        self.config = config
        self._last: tuple[int, Pose] | None = None

    def wants(self, stamp_ns: int, pose: Pose) -> str:
        """Why this frame should be a keyframe: ``first``, ``moved``, ``turned`` or ``time``; empty if it should not."""
        if self._last is None:
            return "first"
        last_ns, last = self._last
        elapsed_s = (stamp_ns - last_ns) / NS_PER_S
        if elapsed_s <= 0 or elapsed_s < self.config.min_period_s:
            return ""
        if pose.distance_m(last) >= self.config.min_distance_m:
            return "moved"
        if turn_between_rad(pose, last) >= self.config.min_angle_rad:
            return "turned"
        if 0 < self.config.max_period_s <= elapsed_s:
            return "time"
        return ""

    def is_sharp(self, image: Image) -> bool:
        """Whether an image is not blurred, by the variance of its Laplacian; true where the check is off."""
        if self.config.min_sharpness <= 0:
            return True
        return sharpness(image) >= self.config.min_sharpness

    def accept(self, stamp_ns: int, pose: Pose) -> None:
        """The frame became a keyframe: the next is measured from here."""
        self._last = (stamp_ns, pose)

    def reset(self) -> None:
        """A new session: the next frame is a keyframe."""
        self._last = None


def sharpness(image: Image) -> float:
    """Variance of the Laplacian of an RGB image; higher is sharper (Pech-Pacheco et al. 2000)."""
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return float(cv2.Laplacian(gray, cv2.CV_64F).var())
