"""What is wrong with a builder, from what it counts."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vlkng_ros.building.health import Level, Problem

if TYPE_CHECKING:
    from vlkng_ros.building.inbox import Inbox
    from vlkng_ros.building.recorder import KeyframeRecorder
    from vlkng_ros.nodes.image_input import ImageInput
    from vlkng_ros.nodes.pose_input import PoseInput
    from vlkng_ros.perception import PerceptionWorker

SILENT_S = 5.0
"""A topic that brought nothing for so long is said to be silent."""
LITTLE_MB = 200
"""An hour of keyframes with their pictures."""
RECENT_S = 30.0
"""Something that went wrong is a problem for so long."""


class BuilderHealth:
    """Looks at a builder's parts from the executor's thread; it only reads."""

    def __init__(
        self,
        recorder: KeyframeRecorder,
        inbox: Inbox,
        images: Sequence[ImageInput],
        poses: PoseInput | None,
        worker: PerceptionWorker | None,
        folder: Path,
    ) -> None:
        self._recorder = recorder
        self._inbox = inbox
        self._cameras = images
        self._images = images[0]
        self._poses = poses
        self._worker = worker
        self._folder = folder
        self._since_s = time.monotonic()
        self._pose_missing_since_s: float | None = None
        self._counts: dict[str, int] = {}
        self._changed_s: dict[str, float] = {}

    def problems(self) -> list[Problem]:
        """What is wrong now, the worst cause first."""
        now_s = time.monotonic()
        found = [*self._about_images(now_s), *self._about_poses(now_s), *self._about_drops(now_s)]
        recorder, builder = self._recorder, self._recorder.builder
        lost = recorder.counts["store"]
        recent = self._rose("store", lost, now_s)
        if recorder.store_error:
            text = f"keyframes cannot be stored, {lost} frames lost so far: {recorder.store_error}"
            found.insert(0, Problem("store", text, Level.ERROR))
        elif recent:
            found.append(
                Problem("stored_again", f"keyframes are stored again; {lost} frames could not be and are lost")
            )
        if (left_mb := self._space_left_mb()) < LITTLE_MB and not recorder.store_error:
            text = f"little space is left on the disk of {self._folder}: {left_mb} MB; free some, or move memory.path"
            found.append(Problem("little_space", text))
        if self._rose("image", recorder.counts["image"], now_s):
            found.append(Problem("image", f"{recorder.counts['image']} images not usable: {recorder.last_error}"))
        if self._rose("jumps", recorder.counts["jumps"], now_s):
            found.append(Problem("time_jump", recorder.last_jump))
        if builder.held_up_by:
            text = f"keyframes wait for their description, which is tried again: {builder.held_up_by}"
            found.append(Problem("perception", text))
        if self._rose("failed", builder.counts["failed"], now_s):
            text = f"{builder.counts['failed']} keyframes could not be described: {builder.last_error}"
            found.append(Problem("failed", text))
        if self._worker is not None and not self._worker.ready:
            text = f"the model is not running: {self._worker.last_error or 'it is starting'}"
            found.append(Problem("model", text, Level.ERROR))
        return found

    def _about_images(self, now_s: float) -> list[Problem]:
        found = []
        for number, images in enumerate(self._cameras):
            silent_s = images.rate.silent_s(now_s, self._since_s)
            if silent_s >= SILENT_S:
                text = f"no image received on {images.image.topic} for {silent_s:.0f} s: {images.image.why_silent()}"
                found.append(Problem(f"no_image{number or ''}", text))
        return found or self._about_camera_info(now_s)

    def _about_camera_info(self, now_s: float) -> list[Problem]:
        info, for_s = self._images.camera_info, now_s - self._since_s
        depth = self._images.depth
        if depth is not None and not depth.received and for_s >= SILENT_S:
            text = f"depth: no message on {depth.topic} for {for_s:.0f} s ({depth.why_silent()})"
            return [Problem("no_depth", f"{text}; detections are placed without")]
        if info.received or for_s < SILENT_S:
            return []
        text = f"camera_info: no message on {info.topic} for {for_s:.0f} s ({info.why_silent()}); "
        return [Problem("no_camera_info", text + "object positions stay at the robot's pose until it arrives")]

    def _about_poses(self, now_s: float) -> list[Problem]:
        found = []
        selector = self._recorder.selector
        refused = selector.buffer.refused
        wrong = sum(count for reason, count in refused.items() if reason not in ("duplicate", "out_of_order"))
        if self._rose("refused", wrong, now_s):
            age_s = now_s - self._changed_s["refused"]
            text = f"{wrong} poses not used, the last {age_s:.0f} s ago: {selector.buffer.last_problem}"
            found.append(Problem("bad_pose", text))
        lost = selector.counts["no_pose"] + selector.counts["dropped_waiting"]
        missing = bool(selector.waiting_for) and (selector.waited_s() > SILENT_S / 2 or self._rose("lost", lost, now_s))
        if not missing:
            self._pose_missing_since_s = None
            return found
        if self._pose_missing_since_s is None:
            self._pose_missing_since_s = now_s - selector.waited_s()
        for_s = now_s - self._pose_missing_since_s
        if for_s < SILENT_S:
            return found
        if selector.buffer.last_problem in selector.waiting_for:
            found.clear()
        text = f"{selector.waiting_for} for {for_s:.0f} s; {selector.waiting} images waiting, {lost} dropped"
        if self._poses is not None:
            silent = [s for s in self._poses.subscriptions if not s.received and s.topic in selector.waiting_for]
            text += "".join(f"; {s.topic}: {s.why_silent()}" for s in silent)
        found.append(Problem("no_pose", text))
        return found

    def _space_left_mb(self) -> int:
        return shutil.disk_usage(self._folder).free // 1_000_000

    def _about_drops(self, now_s: float) -> list[Problem]:
        dropped = self._inbox.dropped
        if not self._rose("inbox", sum(dropped.values()), now_s):
            return []
        parts = ", ".join(f"{count} {kind}" for kind, count in sorted(dropped.items()))
        return [Problem("overload", f"the builder does not keep up; dropped so far: {parts}")]

    def _rose(self, name: str, count: int, now_s: float) -> bool:
        """Whether a count grew within the last while."""
        if count > self._counts.get(name, 0):
            self._changed_s[name] = now_s
        self._counts[name] = count
        return now_s - self._changed_s.get(name, float("-inf")) < RECENT_S

    def facts(self) -> Mapping[str, object]:
        """Figures for the status."""
        now_s = time.monotonic()
        recorder, builder, selector = self._recorder, self._recorder.builder, self._recorder.selector
        facts: dict[str, object] = {
            "image rate [Hz]": self._images.rate.hz(now_s),
            "images received": self._images.rate.total,
            "image topic": self._images.image.topic,
            "keyframes stored": builder.counts["stored"],
            "keyframes described": builder.counts["described"],
            "keyframes waiting for the model": builder.queued,
            "keyframes left for later": builder.counts["deferred"],
            "keyframes that failed": builder.counts["failed"],
            "images waiting for a pose": selector.waiting,
            "pose age [s]": age_s if (age_s := selector.pose_age_s()) is not None else "no pose yet",
            "receive to enqueue p99 [ms]": self._images.image.delays.percentile_ms(99),
            "callback CPU p99 [ms]": self._images.callback_cpu.percentile_ms(99),
            "model latency [s]": builder.last_latency_s,
            "last write to disk [ms]": 1e3 * builder.last_write_s,
            "space left on the disk [MB]": self._space_left_mb(),
            "keyframe poses corrected": builder.counts["corrected"],
            "last error": builder.last_error or recorder.last_error,
        }
        for images in self._cameras[1:]:
            facts[f"images received on {images.image.topic}"] = images.rate.total
        if self._worker is not None:
            facts["model restarts"] = self._worker.restarts
            # What the model mended or dropped: boxes without an area, replies cut off, batches too large for the GPU.
            facts |= {f"model {name.replace('_', ' ')}": count for name, count in self._worker.counters.items()}
        facts |= {f"dropped: {kind}": count for kind, count in sorted(self._inbox.dropped.items())}
        for name in ("no_pose", "dropped_waiting", "thinned", "duplicate", "out_of_order", "stragglers", "not_moved"):
            if selector.counts[name]:
                facts[f"frames: {name}"] = selector.counts[name]
        names = {"store": "lost, not stored", "jumps": "jumps of the clock"}
        facts |= {f"frames: {names.get(name, name)}": n for name, n in sorted(recorder.counts.items()) if n}
        facts |= {f"poses: {reason}": count for reason, count in sorted(selector.buffer.refused.items())}
        return facts
