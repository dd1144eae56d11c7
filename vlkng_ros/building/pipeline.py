"""From a frame with its pose to a described, associated keyframe in the memory.

A keyframe is stored first and described afterwards, so that a slow or dying model costs no frame: what the model has
not described stays pending in the memory and is described later, from its stored picture.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import replace
from typing import TYPE_CHECKING

from vlkng_ros.building.depth import distance_m, place_of
from vlkng_ros.building.image_codec import decode_image, encode_jpeg, fit_width
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import ImageError, MemoryFileError, ModelUnavailableError, VlkngError, WorkerError
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.relations import corrected_by_places
from vlkng_ros.types import Capture, FloatArray, Image, Intrinsics, Keyframe, Perception, Pose

if TYPE_CHECKING:
    from vlkng_ros.memory import MemoryWriter
    from vlkng_ros.memory.anchors import Anchor, AnchoredDrive

Describe = Callable[[Frame], "Future[Perception]"]
logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 2
"""A frame on which the model's process died this often is given up."""
RETRY_S = 2.0
"""Pause after the model or the disk failed."""


class MemoryBuilder:
    """Feeds one memory. Use it from one thread; only ``wake`` is called from others.

    Args:
        writer: the memory; stays the caller's to close.
        describe: hands a frame to the model; None leaves keyframes pending.
        config: ``memory``, ``keyframe`` and ``robot`` are used.
        in_flight: frames handed to the model before the first comes back (its chunk, at least).
        wake: called, from any thread, when :meth:`poll` has something to do.
        clock: steady seconds.
    """

    def __init__(
        self,
        writer: MemoryWriter,
        describe: Describe | None,
        config: BuilderConfig,
        *,
        in_flight: int = 2,
        wake: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.describe = describe
        self.counts: Counter[str] = Counter()
        """``stored``, ``described``, ``failed``, ``deferred`` (described later), ``retried``."""
        self.last_error = ""
        self.held_up_by = ""
        """Why nothing is being described, and is tried again; empty while all is well."""
        self.stuck = False
        """Whether that has to be mended by somebody: it is not that the model's process is started again."""
        self.last_latency_s = 0.0
        """How long the model took for the last frame, waiting in line included."""
        self.last_write_s = 0.0
        """How long it took until the last keyframe was on disk."""
        self._writer = writer
        self._config = config
        self._in_flight_limit = max(1, in_flight)
        self._wake = wake
        self._clock = clock
        self._queue: deque[Frame] = deque()
        self._flying: dict[Future[Perception], tuple[Frame, float]] = {}
        self._attempts: Counter[int] = Counter()
        self._depths: dict[int, FloatArray] = {}
        self._cameras: dict[int, tuple[Pose, Intrinsics]] = {}
        """Where keyframes were taken from, where that is known, until they are described."""
        self._backlog = True
        self._retry_at_s = -math.inf

    @property
    def queued(self) -> int:
        """Keyframes in memory that wait for the model, those it works on included."""
        return len(self._queue) + len(self._flying)

    def start_session(self, map_id: str) -> int:
        """Begin a session: following keyframes share a map and a clock that does not jump back."""
        robot = self._config.robot
        return self._writer.start_session(robot=robot.name, map_id=map_id, frame_id=robot.map_frame)

    def add(self, capture: Capture, image: Image, depth_m: FloatArray | None = None) -> Keyframe:
        """Store a frame; it is on disk when this returns, and is described when the model comes to it.

        ``capture.intrinsics`` are those of ``image`` as handed in; both are reduced together. ``depth_m`` is as for
        :meth:`attach_depth`.

        Raises:
            ImageError: the image is not RGB or cannot be encoded.
            MemoryFileError: the memory cannot be written; the frame is lost, what was acknowledged is not.
        """
        image = fit_width(image, self._config.memory.image_width)
        size = (int(image.shape[1]), int(image.shape[0]))
        intrinsics = capture.intrinsics.scaled_to(*size) if capture.intrinsics is not None else None
        jpeg = encode_jpeg(image, self._config.memory.jpeg_quality) if self._config.memory.keep_images else None
        began_s = self._clock()
        keyframe = self._writer.add_keyframe(replace(capture, image_size_px=size, intrinsics=intrinsics), jpeg)
        self.last_write_s = self._clock() - began_s
        self.counts["stored"] += 1
        if self.describe is not None:
            self._queue.append(Frame(keyframe.keyframe_id, keyframe.stamp_ns, image))
            if capture.camera_pose is not None and intrinsics is not None:
                self._cameras[keyframe.keyframe_id] = (capture.camera_pose, intrinsics)
            if depth_m is not None:
                self._depths[keyframe.keyframe_id] = depth_m
            while len(self._queue) > self._config.keyframe.queue_size:
                self._defer(self._queue.popleft())
            self.poll()
        return keyframe

    def attach_depth(self, keyframe_id: int, depth_m: FloatArray) -> None:
        """Depths seen together with a keyframe, shape ``(h, w)``; its detections get theirs from it.

        They are kept only while the keyframe is in memory: one that is described later goes without.
        """
        waiting = (frame.keyframe_id for frame in (*self._queue, *(frame for frame, _ in self._flying.values())))
        if keyframe_id in waiting:
            self._depths[keyframe_id] = depth_m

    def correct(
        self,
        poses: Mapping[int, tuple[Pose, Pose | None]],
        anchored: Mapping[int, Mapping[int, Anchor]] | None = None,
    ) -> None:
        """Move keyframes, by id to base and camera: the map was corrected. Entities move with them.

        Args:
            poses: new poses.
            anchored: anchors in SLAM's pose graph that they belong to, by session and vertex.

        Raises:
            MemoryFileError: the memory cannot be written.
            NotInMemoryError: one of them is not in the memory any more.
        """
        self._writer.correct_poses(poses, anchored)
        self.counts["corrected"] += len(poses)

    def anchored_drives(self, map_id: str) -> list[AnchoredDrive]:
        """This robot's drives through a map whose keyframes can be moved with its pose graph, oldest first."""
        return self._writer.anchored_drives(self._config.robot.name, map_id)

    def drop_anchors(self, session_ids: Collection[int]) -> None:
        """These drives belong to another graph: their keyframes stay where they are."""
        self._writer.drop_anchors(session_ids)

    def forgotten(self, keyframe_ids: Collection[int]) -> set[int]:
        """Those of some keyframes that are not in the memory any more."""
        return self._writer.forgotten(keyframe_ids)

    def poll(self) -> list[int]:
        """Store what the model has finished and hand it the next frames; ids of the keyframes now described."""
        done = [future for future in self._flying if future.done()]
        described = [keyframe_id for future in done if (keyframe_id := self._collect(future)) is not None]
        self._submit()
        return described

    def finish(self, timeout_s: float = math.inf) -> bool:
        """Wait until everything is described; False if ``timeout_s`` passed before.

        What is left stays pending in the memory.
        """
        deadline = self._clock() + timeout_s
        while True:
            self.poll()
            left_s = deadline - self._clock()
            pause_s = self._retry_at_s - self._clock()
            if not self._flying and not self._queue and not self._backlog:
                return True
            if left_s <= 0 or self.describe is None:
                return False
            if self._flying:
                wait(self._flying, timeout=min(left_s, 1.0), return_when=FIRST_COMPLETED)
            elif pause_s > 0:
                time.sleep(min(left_s, pause_s))

    # ------------------------------------------------------------------------------------------ inside

    def _defer(self, frame: Frame) -> None:
        self.counts["deferred"] += 1
        self._let_go(frame.keyframe_id)
        if self._config.memory.keep_images:
            self._backlog = True
        else:
            self._fail(frame.keyframe_id, "the model was too slow and no image was kept (memory.keep_images is off)")

    def _submit(self) -> None:
        while self.describe is not None and len(self._flying) < self._in_flight_limit:
            if self._clock() < self._retry_at_s or not (self._queue or self._load_backlog()):
                return
            frame = self._queue.popleft()
            try:
                future = self.describe(frame)
            except VlkngError as error:
                self._put_back(frame, error)
                return
            self._flying[future] = (frame, self._clock())
            future.add_done_callback(lambda _: self._wake())

    def _load_backlog(self) -> bool:
        """Take the oldest pending keyframes of the memory into the queue; False if there are none."""
        if not self._backlog:
            return False
        known = {frame.keyframe_id for frame, _ in self._flying.values()}
        try:
            pending = self._writer.pending(limit=self._in_flight_limit + len(known))
            waiting = [keyframe for keyframe in pending if keyframe.keyframe_id not in known]
            pictures = [(keyframe, self._writer.image(keyframe.keyframe_id)) for keyframe in waiting]
        except MemoryFileError as error:
            self._pause(error)
            return False
        for keyframe, jpeg in pictures:
            try:
                if jpeg is None:
                    raise ImageError("not described in time, and it has no stored image")
                self._queue.append(Frame(keyframe.keyframe_id, keyframe.stamp_ns, decode_image(jpeg)))
            except ImageError as error:
                self._fail(keyframe.keyframe_id, str(error))
        if not waiting and not known:
            self._backlog = False
        return bool(self._queue)

    def _collect(self, future: Future[Perception]) -> int | None:
        frame, since_s = self._flying.pop(future)
        try:
            perception = future.result()
        except (ModelUnavailableError, WorkerError) as error:
            self._put_back(frame, error)
            return None
        except CancelledError:
            self._queue.appendleft(frame)
            return None
        except Exception as error:  # whatever a model raises is said and counted; the robot drives on
            logger.warning("keyframe %d: not described: %s", frame.keyframe_id, error)
            self._fail(frame.keyframe_id, str(error) or type(error).__name__)
            return None
        self.last_latency_s = self._clock() - since_s
        return self._store(frame, perception)

    def _store(self, frame: Frame, perception: Perception) -> int | None:
        keyframe_id = frame.keyframe_id
        try:
            self._writer.add_perception(keyframe_id, self._with_depth(frame, perception))
            self._writer.associate(keyframe_id)
        except MemoryFileError as error:
            self._put_back(frame, error)
            return None
        except VlkngError as error:
            self._fail(keyframe_id, str(error))
            return None
        self._attempts.pop(keyframe_id, None)
        self._let_go(keyframe_id)
        self.counts["described"] += 1
        self.held_up_by, self.stuck = "", False
        return keyframe_id

    def _with_depth(self, frame: Frame, perception: Perception) -> Perception:
        depth_m = self._depths.get(frame.keyframe_id)
        if depth_m is None:
            return perception
        detections = tuple(
            replace(detection, depth_m=distance_m(depth_m, detection.box_px, frame.size_px))
            if detection.box_px is not None and detection.depth_m is None
            else detection
            for detection in perception.detections
        )
        relations = perception.relations
        if frame.keyframe_id in self._cameras and self._config.perception.geometric_relations:
            places = [place_of(detection, *self._cameras[frame.keyframe_id]) for detection in detections]
            relations = corrected_by_places(relations, detections, places)
        return replace(perception, detections=detections, relations=relations)

    def _let_go(self, keyframe_id: int) -> None:
        """Of what only a keyframe still to be described needs."""
        self._depths.pop(keyframe_id, None)
        self._cameras.pop(keyframe_id, None)

    def _put_back(self, frame: Frame, error: VlkngError) -> None:
        """Describe it again, later: the fault is not the frame's, unless the model's process keeps dying on it."""
        self._pause(error)
        if isinstance(error, WorkerError):
            self._attempts[frame.keyframe_id] += 1
            if self._attempts[frame.keyframe_id] >= MAX_ATTEMPTS:
                self._fail(frame.keyframe_id, str(error))
                return
        self.counts["retried"] += 1
        self._queue.appendleft(frame)

    def _pause(self, error: VlkngError) -> None:
        self.last_error = self.held_up_by = str(error)
        self.stuck = not isinstance(error, WorkerError)
        self._retry_at_s = self._clock() + RETRY_S

    def _fail(self, keyframe_id: int, reason: str) -> None:
        self.counts["failed"] += 1
        self.held_up_by, self.stuck = "", False
        self.last_error = f"keyframe {keyframe_id}: {reason}"
        self._attempts.pop(keyframe_id, None)
        self._let_go(keyframe_id)
        try:
            self._writer.mark_perception_failed(keyframe_id, reason)
        except VlkngError as error:
            self.last_error = f"{self.last_error}; and it cannot be marked so: {error}"
