"""Image messages as RGB arrays: by cv_bridge where it works, else by the rosbags library."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import numpy as np

from vlkng_ros.errors import ImageError
from vlkng_ros.types import Image

logger = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def _bridge() -> Any:
    """cv_bridge's converter, or None. Its build from apt breaks beside NumPy 2, at import or at first use."""
    try:
        from cv_bridge import CvBridge
    except ImportError:
        return None
    except Exception as error:  # a compiled extension against another NumPy fails in several ways
        logger.warning("cv_bridge does not work (%s); images are converted with the rosbags library instead", error)
        return None
    return CvBridge()


def rgb_of(message: Any) -> Image:
    """The image of an Image or CompressedImage message, RGB of shape ``(h, w, 3)``.

    Raises:
        ImageError: an encoding that is not known or not of colours, or data that does not fit.
    """
    from vlkng_ros.bags.images import rgb_of as by_rosbags

    bridge = _bridge()
    if bridge is not None and not hasattr(message, "format"):
        try:
            return np.ascontiguousarray(bridge.imgmsg_to_cv2(message, desired_encoding="rgb8"))
        except Exception as error:  # CvBridgeError, or NumPy's where the build does not fit
            logger.debug("cv_bridge: %s", error)
    try:
        return by_rosbags(message)
    except ImportError as error:
        raise ImageError(
            f"image with encoding '{getattr(message, 'encoding', '')}': neither cv_bridge nor rosbags.image can be "
            f"used ({error}); install ros-$ROS_DISTRO-cv-bridge, or pip install rosbags-image"
        ) from error
