"""A keyframe, or a chunk of them, to detections, a caption and relations: one file a backend."""

from vlkng_ros.perception.base import Frame, PerceptionBackend, open_backend
from vlkng_ros.perception.worker import PerceptionWorker

__all__ = ["Frame", "PerceptionBackend", "PerceptionWorker", "open_backend"]
