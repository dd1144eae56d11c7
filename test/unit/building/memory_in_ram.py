"""Stand-ins for what the pipeline is built on: a memory in dictionaries and a model that the test answers for."""

from __future__ import annotations

from concurrent.futures import Future

from vlkng_ros.errors import NotInMemoryError, StorageFullError
from vlkng_ros.types import Detection, Keyframe, Perception, PerceptionState


class MemoryInRam:
    """A writer that keeps everything in dictionaries."""

    def __init__(self):
        self.keyframes, self.images, self.states, self.perceptions = {}, {}, {}, {}
        self.associated, self.sessions, self.corrected = [], [], []
        self.anchored = {}
        self.full = False

    def start_session(self, *, robot, map_id, frame_id):
        self.sessions.append((robot, map_id, frame_id))
        return len(self.sessions)

    def add_keyframe(self, capture, jpeg=None):
        self._check()
        keyframe = Keyframe(
            len(self.keyframes) + 1, capture.stamp_ns, capture.base_pose, capture.camera_pose, capture.camera, 1,
            "robot", "m", capture.intrinsics, capture.image_size_px, "", jpeg is not None, PerceptionState.PENDING, 1,
        )  # fmt: skip
        self.keyframes[keyframe.keyframe_id] = keyframe
        self.images[keyframe.keyframe_id] = jpeg
        self.states[keyframe.keyframe_id] = "pending"
        return keyframe

    def add_perception(self, keyframe_id, perception):
        self._check()
        self.perceptions[keyframe_id] = perception
        self.states[keyframe_id] = "done"

    def correct_poses(self, corrections, anchored=None):
        self._check()
        missing = sorted(self.forgotten(corrections))
        if missing:
            raise NotInMemoryError(f"keyframe {missing[0]} is not in this memory")
        for session_id, anchors in (anchored or {}).items():
            self.anchored.setdefault(session_id, {}).update(anchors)
        if corrections:
            self.corrected.append(dict(corrections))

    def forgotten(self, keyframe_ids):
        return set(keyframe_ids) - self.keyframes.keys()

    def anchored_drives(self, robot, map_id):
        return []

    def mark_perception_failed(self, keyframe_id, reason):
        self.states[keyframe_id] = f"failed: {reason}"

    def associate(self, keyframe_id):
        self.associated.append(keyframe_id)

    def pending(self, limit=100):
        return [k for i, k in self.keyframes.items() if self.states[i] == "pending"][:limit]

    def image(self, keyframe_id):
        return self.images[keyframe_id]

    def _check(self):
        if self.full:
            raise StorageFullError("memory.db: the disk is full")


class Model:
    """Hands out futures that the test completes."""

    def __init__(self):
        self.asked = []

    def __call__(self, frame):
        future = Future()
        future.set_running_or_notify_cancel()
        self.asked.append((frame, future))
        return future

    def reply(self, index, label="cup"):
        self.asked[index][1].set_result(Perception(caption="a", detections=(Detection(label),)))

    def fail(self, index, error):
        self.asked[index][1].set_exception(error)

    @property
    def ids(self):
        return [frame.keyframe_id for frame, _ in self.asked]
