from dataclasses import replace

import numpy as np
import pytest
from memory_in_ram import MemoryInRam, Model

from vlkng_ros.building.image_codec import decode_image
from vlkng_ros.building.pipeline import RETRY_S, MemoryBuilder
from vlkng_ros.config import BuilderConfig, KeyframeConfig, MemoryConfig
from vlkng_ros.errors import ImageError, ModelError, ModelUnavailableError, StorageFullError, WorkerError
from vlkng_ros.perception.relations import relations_of
from vlkng_ros.types import OPTICAL_IN_BODY, Capture, Detection, Intrinsics, Perception, Pose


class Building:
    def __init__(self, queue_size=32, in_flight=1, keep_images=True, memory=None):
        config = BuilderConfig(
            memory=MemoryConfig(keep_images=keep_images, image_width=64), keyframe=KeyframeConfig(queue_size=queue_size)
        )
        self.memory = memory or MemoryInRam()
        self.model = Model()
        self.now_s = 0.0
        self.wakes = []
        self.builder = MemoryBuilder(
            self.memory, self.model, config, in_flight=in_flight, wake=lambda: self.wakes.append(1),
            clock=lambda: self.now_s,
        )  # fmt: skip

    def add(self, count=1, size=(48, 64)):
        for _ in range(count):
            n = len(self.memory.keyframes)
            image = np.full((*size, 3), 10 * n % 250, dtype=np.uint8)
            intrinsics = Intrinsics(100, 100, size[1] / 2, size[0] / 2, size[1], size[0])
            self.builder.add(Capture(n, Pose.planar("map", n, 0), intrinsics=intrinsics), image)


def test_a_frame_is_stored_described_and_associated():
    run = Building()
    run.add()
    assert run.memory.states == {1: "pending"}
    run.model.reply(0)
    assert run.wakes == [1]
    assert run.builder.poll() == [1]
    assert run.memory.states == {1: "done"}
    assert run.memory.perceptions[1].detections[0].label == "cup"
    assert run.memory.associated == [1]
    assert run.builder.counts == {"stored": 1, "described": 1}


def test_image_and_intrinsics_are_reduced_together():
    run = Building()
    run.add(size=(96, 128))
    keyframe = run.memory.keyframes[1]
    assert keyframe.image_size_px == (64, 48)
    assert keyframe.intrinsics == Intrinsics(50, 50, 32, 24, 64, 48)
    assert decode_image(run.memory.images[1]).shape == (48, 64, 3)
    assert run.model.asked[0][0].image.shape == (48, 64, 3)


def test_relations_follow_from_where_things_are_measured_to_be():
    """A camera 1 m above the floor sees 0.04 m a pixel at 2 m: the desk from 0.2 to 1.0 m, the cup's foot at 0.76 m."""
    run = Building()
    base = Pose.planar("map", 0.0, 0.0)
    camera = base.compose(Pose("base_link", (0.0, 0.0, 1.0), OPTICAL_IN_BODY))
    depth_m = np.full((48, 64), 2.0, np.float32)
    depth_m[:24] = 6.0
    capture = Capture(1, base, camera, intrinsics=Intrinsics(50, 50, 32, 24, 64, 48))
    run.builder.add(capture, np.zeros((48, 64, 3), np.uint8), depth_m)
    things = (
        Detection("desk", (12.0, 24.0, 52.0, 44.0)),
        Detection("cup", (30.0, 26.0, 34.0, 30.0)),
        Detection("poster", (36.0, 10.0, 50.0, 23.0)),
    )
    seen = relations_of(things)
    assert {(r.subject, r.predicate, r.object) for r in seen} == {(1, "inside", 0), (2, "above", 0)}
    run.model.asked[0][1].set_result(Perception("", things, seen, "test"))
    assert run.builder.poll() == [1]
    kept = run.memory.perceptions[1]
    assert [detection.depth_m for detection in kept.detections] == [2.0, 2.0, 6.0]
    assert [(r.subject, r.predicate, r.object) for r in kept.relations] == [(1, "on", 0)]


def test_a_session_is_started_with_the_configured_names():
    run = Building()
    assert run.builder.start_session("office") == 1
    assert run.memory.sessions == [("robot", "office", "map")]


def test_a_slow_model_makes_the_oldest_frames_wait_in_the_memory_and_all_are_described_in_the_end():
    run = Building(queue_size=2)
    run.add(6)
    assert run.model.ids == [1]
    assert run.builder.counts["deferred"] == 3
    for index in range(6):
        run.model.reply(index)
        run.builder.poll()
    assert run.model.ids == [1, 5, 6, 2, 3, 4]
    assert set(run.memory.states.values()) == {"done"}
    assert run.builder.finish(timeout_s=1.0)


def test_without_kept_images_a_frame_that_cannot_wait_is_marked_with_the_reason():
    run = Building(queue_size=1, keep_images=False)
    run.add(3)
    assert run.memory.states[2] == ("failed: the model was too slow and no image was kept (memory.keep_images is off)")


def test_keyframes_left_pending_by_an_earlier_run_are_described_from_their_pictures():
    first = Building(in_flight=1)
    first.add(3)
    second = Building(memory=first.memory, in_flight=3)
    second.builder.poll()
    assert second.model.ids == [1, 2, 3]
    assert second.model.asked[2][0].image[0, 0, 0] == pytest.approx(20, abs=3)


def test_a_frame_that_the_model_refuses_is_marked_and_the_next_goes_on():
    run = Building()
    run.add(2)
    run.model.fail(0, ModelError("florence2: no detections in the reply"))
    run.builder.poll()
    run.model.reply(1)
    run.builder.poll()
    assert run.memory.states == {1: "failed: florence2: no detections in the reply", 2: "done"}
    assert run.builder.last_error == "keyframe 1: florence2: no detections in the reply"


def test_a_surprise_in_the_model_is_counted_and_not_fatal():
    run = Building()
    run.add()
    run.model.fail(0, ZeroDivisionError("division by zero"))
    run.builder.poll()
    assert run.memory.states == {1: "failed: division by zero"}


def test_a_model_that_is_away_is_asked_again_after_a_pause():
    run = Building()
    run.add()
    run.model.fail(0, ModelUnavailableError("no server"))
    run.builder.poll()
    assert run.model.ids == [1]
    run.now_s = RETRY_S
    run.builder.poll()
    assert run.model.ids == [1, 1]
    run.model.reply(1)
    run.builder.poll()
    assert run.memory.states == {1: "done"}
    assert run.builder.counts["retried"] == 1


def test_a_frame_that_kills_the_models_process_twice_is_given_up():
    run = Building()
    run.add(2)
    run.model.fail(0, WorkerError("the worker died"))
    run.builder.poll()
    run.now_s += RETRY_S
    run.builder.poll()
    run.model.fail(1, WorkerError("the worker died"))
    run.builder.poll()
    run.now_s += RETRY_S
    run.builder.poll()
    run.model.reply(2)
    run.builder.poll()
    assert run.memory.states == {1: "failed: the worker died", 2: "done"}


def test_a_full_disk_loses_the_frame_and_says_so_but_keeps_what_was_described_for_later():
    run = Building()
    run.add()
    run.memory.full = True
    with pytest.raises(StorageFullError):
        run.add()
    run.model.reply(0)
    run.builder.poll()
    assert run.builder.last_error == run.builder.held_up_by == "memory.db: the disk is full"
    assert run.builder.stuck
    run.memory.full = False
    run.now_s = RETRY_S
    run.builder.poll()
    run.model.reply(1)
    run.builder.poll()
    assert run.memory.states == {1: "done"}
    assert run.builder.held_up_by == ""
    assert not run.builder.stuck


def test_an_image_that_is_not_rgb_is_refused_and_nothing_is_stored():
    run = Building()
    with pytest.raises(ImageError, match="needs RGB"):
        run.builder.add(Capture(0, Pose.planar("map", 0, 0)), np.zeros((4, 4), np.uint8))
    assert run.memory.keyframes == {}


def test_without_a_model_keyframes_stay_pending():
    memory = MemoryInRam()
    builder = MemoryBuilder(memory, None, replace(BuilderConfig(), memory=MemoryConfig(image_width=64)))
    builder.add(Capture(0, Pose.planar("map", 0, 0)), np.zeros((48, 64, 3), np.uint8))
    assert memory.states == {1: "pending"}
    assert not builder.finish(timeout_s=0.0)


def test_finishing_waits_for_everything_a_bounded_time():
    run = Building()
    run.add(1)
    run.builder._clock = iter([0.0] * 3 + [100.0] * 20).__next__
    assert not run.builder.finish(timeout_s=0.01)
    assert run.memory.states == {1: "pending"}
