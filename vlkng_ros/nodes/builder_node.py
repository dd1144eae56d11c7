"""``builder_node``: what the camera sees, with where the robot stood, into the memory."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from std_msgs.msg import String

from vlkng_ros.building.camera_mount import cameras_in_base, other_cameras
from vlkng_ros.building.health import Problem
from vlkng_ros.building.inbox import Event, Inbox
from vlkng_ros.building.keyframe_policy import KeyframePolicy
from vlkng_ros.building.opening import open_writer
from vlkng_ros.building.pipeline import MemoryBuilder
from vlkng_ros.building.pose_buffer import PoseBuffer
from vlkng_ros.building.recorder import KeyframeRecorder
from vlkng_ros.building.selector import FrameSelector, PoseSource
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import ConfigError
from vlkng_ros.memory import MemoryWriter
from vlkng_ros.msg import Stored
from vlkng_ros.nodes.builder_health import BuilderHealth
from vlkng_ros.nodes.forget_service import ForgetService
from vlkng_ros.nodes.image_input import ImageInput
from vlkng_ros.nodes.images import rgb_of
from vlkng_ros.nodes.managed_node import ManagedNode
from vlkng_ros.nodes.map_input import MapInput
from vlkng_ros.nodes.messages import stamp_ns_of, time_of
from vlkng_ros.nodes.object_markers import ObjectMarkers
from vlkng_ros.nodes.parameters import NodeParameters
from vlkng_ros.nodes.pose_input import PoseInput
from vlkng_ros.nodes.running import log_to_ros, run_node
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.nodes.transforms import TfPoses, Transforms, open_transforms
from vlkng_ros.nodes.usage import LAUNCH, Usage
from vlkng_ros.nodes.waiting import Waiter
from vlkng_ros.perception import PerceptionWorker
from vlkng_ros.types import Intrinsics, Keyframe, Pose

LOCK_WAIT_S = 3.0
"""A predecessor that is ending lets go of the memory within this."""
IMAGES_A_CAMERA = 8
"""Images of a camera that wait for the building thread."""
POSE_CHECK_S = 0.05
IDLE_S = 0.5


class BuilderNode(ManagedNode):
    """Callbacks put what arrives into an inbox; one thread takes it out and does everything else."""

    backend_factory = "vlkng_ros.perception.base:open_backend"
    """What the model's process calls to load the model."""

    def __init__(self, **options: Any) -> None:
        super().__init__("builder_node", **options)
        log_to_ros(self.get_logger().name)
        self._settings = NodeParameters(self, BuilderConfig, self._on_parameters)
        self._stored = self.create_publisher(Stored, "~/stored", keep_last(1000, reliable=True))
        self._writer: MemoryWriter | None = None
        self._worker: PerceptionWorker | None = None
        self._transforms: Transforms | None = None
        self._recorder: KeyframeRecorder | None = None
        self._images: list[ImageInput] = []
        self._poses: PoseInput | None = None
        self._map: MapInput | None = None
        self._health: BuilderHealth | None = None
        self._markers: ObjectMarkers | None = None
        self._current_map: Any = None
        self._map_id = ""
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._inbox = Inbox()
        self._mender = self.create_timer(1.0, self._mend, clock=self.steady_clock)
        group = ReentrantCallbackGroup()
        self._forget = ForgetService(self, lambda: self._writer, Waiter(self, group), group)
        self.start()

    @property
    def config(self) -> BuilderConfig:
        """The parameters as they are now."""
        return self._settings.config

    # ------------------------------------------------------------------------------------------ lifecycle

    def configure(self) -> None:
        """Open the memory, which fails fast, then load the model, which takes its time."""
        config = self.config
        if config.camera.others and config.camera.frame_id:
            raise ConfigError("camera.frame_id: leave it empty with camera.others; images then say their own frames")
        other_cameras(config.camera), cameras_in_base(config.camera)  # what they refuse is said now
        if self._transforms is None and "tf" in (config.pose.source, config.camera.extrinsics):
            self._transforms = open_transforms(self)
        self._writer = open_writer(config, wait_s=LOCK_WAIT_S)
        # Without a name each start is a map of its own, whose name query_node hears on current_map.
        self._map_id = config.robot.map_id or f"unnamed-{uuid.uuid4().hex[:12]}"
        self.get_logger().info(f"memory: {self._writer.path}, map '{self._map_id}'")
        if config.perception.backend != "none":
            self.get_logger().info(f"loading the model ({config.perception.backend})")
            self._worker = PerceptionWorker(config.perception, factory=self.backend_factory)
            self._worker.start()

    def activate(self) -> None:
        """Subscribe and begin to build."""
        if self._writer is None:
            return
        config = self.config
        cameras = ["", *other_cameras(config.camera)]
        self._inbox = Inbox(frames=IMAGES_A_CAMERA * len(cameras))
        self._stopping.clear()
        builder = MemoryBuilder(
            self._writer,
            self._worker.submit if self._worker is not None else None,
            config,
            in_flight=self._worker.in_flight if self._worker is not None else 1,
            wake=self._inbox.wake,
        )
        selector: FrameSelector[Any] = FrameSelector(
            self._pose_source(),
            KeyframePolicy(config.keyframe),
            clock=time.monotonic,
            capacity=config.keyframe.queue_size,
        )
        self._recorder = KeyframeRecorder(
            config,
            selector,
            builder,
            rgb_of=rgb_of,
            camera_in_base=self._camera_mount(),
            on_stored=self._publish_stored,
            map_id=self._map_id,
        )
        self._current_map = self.create_publisher(String, "current_map", keep_last(1, reliable=True, latched=True))
        self._current_map.publish(String(data=self._map_id))
        self._markers = ObjectMarkers(self, self._writer.path, config)
        self._markers.start()
        if config.pose.source == "topic":
            self._poses = PoseInput(
                self,
                config.pose,
                on_pose=lambda stamp_ns, pose: self._inbox.put(Event("pose", stamp_ns, pose)),
                on_odometry=lambda stamp_ns, pose: self._inbox.put(Event("odometry", stamp_ns, pose)),
                on_refused=lambda text: self._inbox.put(Event("refused", 0, text)),
            )
            if config.pose.follow_map:
                self._map = MapInput(self, lambda vertices: self._inbox.put(Event("graph", 0, vertices)))
        self._images = [self._image_input(camera) for camera in cameras]
        self._health = BuilderHealth(
            self._recorder, self._inbox, self._images, self._poses, self._worker, self._writer.path.parent
        )
        self._thread = threading.Thread(target=self._build, args=(self._recorder,), name="builder", daemon=True)
        self._thread.start()

    def deactivate(self) -> None:
        """Stop receiving, and store what had arrived. What the model has not described stays pending."""
        for source in (*self._images, self._poses, self._map):
            if source is not None:
                source.destroy()
        self._stopping.set()
        self._inbox.wake()
        if self._thread is not None:
            self._thread.join(timeout=30.0)
        if self._markers is not None:
            self._markers.close()
        if self._current_map is not None:
            self.destroy_publisher(self._current_map)
            self._current_map = None
        self._images = []
        self._poses = self._map = self._thread = self._health = self._recorder = self._markers = None

    def cleanup(self) -> None:
        """Let go of the model and the memory."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def request_stop(self) -> None:
        """A model that is being loaded must not hold up the end."""
        super().request_stop()
        worker = self._worker
        if worker is not None and not worker.ready:
            worker.stop()

    # ------------------------------------------------------------------------------------------ the thread

    def _build(self, recorder: KeyframeRecorder) -> None:
        while not self._stopping.is_set():
            events = self._inbox.take(POSE_CHECK_S if recorder.selector.waiting else IDLE_S)
            for event in events:
                self._guarded(recorder.handle, event)
            if not events:
                self._guarded(recorder.work)
            if self._markers is not None:
                self._markers.robot_at = recorder.last_keyframe
        for event in self._inbox.take(0.0):
            self._guarded(recorder.handle, event)
        self._guarded(recorder.finish, 0.0)

    def _guarded(self, work: Any, *arguments: Any) -> None:
        """The building thread outlives whatever one message does to it."""
        try:
            work(*arguments)
        except Exception as error:  # counted under one name, said whole
            if self._recorder is not None:
                self._recorder.counts["unexpected"] += 1
                self._recorder.last_error = f"{type(error).__name__}: {error}"
            text = f"unexpected error while building: {type(error).__name__}: {error}"
            self.get_logger().error(text, throttle_duration_sec=5.0)

    def _publish_stored(self, keyframe: Keyframe) -> None:
        self._stored.publish(
            Stored(
                keyframe_id=keyframe.keyframe_id,
                stamp=time_of(keyframe.stamp_ns),
                revision=keyframe.revision,
                session_id=keyframe.session_id,
                camera=keyframe.camera,
            )
        )

    # ------------------------------------------------------------------------------------------ poses and mounting

    def _image_input(self, camera: str) -> ImageInput:
        def on_camera_info(intrinsics: Intrinsics | None) -> None:
            self._inbox.put(Event("camera_info", 0, intrinsics, camera=camera))

        return ImageInput(
            self,
            self.config.camera,
            on_image=lambda message: self._inbox.put(Event("frame", stamp_ns_of(message), message, camera=camera)),
            on_camera_info=on_camera_info,
            on_depth=lambda message: self._inbox.put(Event("depth", stamp_ns_of(message), message)),
            camera=camera,
        )

    def _pose_source(self) -> PoseSource:
        config = self.config
        if config.pose.source == "tf" and self._transforms is not None:
            return TfPoses(self._transforms, config.robot.map_frame, config.robot.base_frame, config.pose)
        return PoseBuffer(
            config.robot.map_frame,
            config.pose,
            pose_topic=self.resolve_topic_name("pose"),
            odometry_topic=self.resolve_topic_name("odom"),
        )

    def _camera_mount(self) -> Any:
        config = self.config
        mounts = cameras_in_base(config.camera, config.robot.base_frame)
        if config.camera.extrinsics != "tf" or self._transforms is None:
            return lambda stamp_ns, message, camera: mounts.get(camera)
        transforms = self._transforms

        def from_tf(stamp_ns: int, message: Any, camera: str) -> Pose | None:
            frame = config.camera.frame_id or message.header.frame_id.strip("/")
            found = transforms.lookup(config.robot.base_frame, frame, stamp_ns)
            if isinstance(found, str):
                self.get_logger().warning(
                    f"{found}; object positions stay at the robot's pose", throttle_duration_sec=30
                )
                return None
            return found

        return from_tf

    # ------------------------------------------------------------------------------------------ timers and status

    def _mend(self) -> None:
        for source in (*self._images, self._poses, self._map):
            if source is not None:
                source.mend()

    def _on_parameters(self) -> None:
        if self._recorder is not None:
            self._recorder.selector.configure(self.config.keyframe)
        if self._worker is not None:
            self._worker.min_score = self.config.perception.min_score

    def problems(self) -> Sequence[Problem]:
        """What is wrong now."""
        return self._health.problems() if self._health is not None else []

    def facts(self) -> Mapping[str, object]:
        """Figures for the status."""
        return self._health.facts() if self._health is not None else {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop."""
    return run_node(BuilderNode, arguments, Usage(str(__doc__), BuilderConfig, LAUNCH))
