"""Images are kept as long and as many as is wished; everything else about their keyframes stays."""

from __future__ import annotations

import errno

import pytest
from remembered_drives import SECOND, Frame

from vlkng_ros.building import opening
from vlkng_ros.config import AssociationConfig, BuilderConfig, MemoryConfig
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.image_retention import EVERY, ImageLimits
from vlkng_ros.types import Perception

JPEG = b"\xff\xd8" + bytes(996) + b"\xff\xd9"


def drive(writer: MemoryWriter, first: int, count: int) -> None:
    writer.start_session(robot="robot", map_id="house", frame_id="map")
    for second in range(first, first + count):
        frame = Frame(second * SECOND, float(second), 0.0, Perception("A cup."))
        keyframe = writer.add_keyframe(frame.capture(), JPEG)
        writer.add_perception(keyframe.keyframe_id, frame.perception)


def with_images(path) -> list[int]:
    with MemoryReader.open(path) as reader:
        keyframes = reader.keyframes(reader.frames().ids.tolist())
        for keyframe in keyframes:
            assert keyframe.caption == "A cup."
            assert (reader.image(keyframe.keyframe_id) is not None) == keyframe.has_image
        return [k.keyframe_id for k in keyframes if k.has_image]


def test_images_beyond_a_size_go_while_the_robot_drives_the_oldest_first(path):
    with MemoryWriter.open(path, encoder=None, image_limits=ImageLimits(total_bytes=30 * len(JPEG))) as writer:
        drive(writer, 0, 2 * EVERY)
        assert with_images(path) == list(range(2 * EVERY - 29, 2 * EVERY + 1))
    files = [file for file in path.with_suffix(".frames").rglob("*") if file.is_file()]
    assert len(files) == 30


def test_images_too_old_against_the_newest_keyframe_go(path):
    with MemoryWriter.open(path, encoder=None, image_limits=ImageLimits(age_ns=10 * SECOND)) as writer:
        drive(writer, 0, EVERY)
    assert with_images(path) == list(range(EVERY - 10, EVERY + 1))


def test_a_limit_holds_over_a_restart_and_what_is_forgotten_does_not_count(path):
    with MemoryWriter.open(path, encoder=None) as writer:
        drive(writer, 0, EVERY)
    with MemoryWriter.open(path, encoder=None, image_limits=ImageLimits(total_bytes=100 * len(JPEG))) as writer:
        writer.forget(until_ns=(EVERY // 2 - 1) * SECOND)
        drive(writer, EVERY, EVERY)
        assert len(with_images(path)) == EVERY + EVERY // 2


def test_a_disk_that_is_full_when_images_are_dropped_does_not_lose_the_keyframe(path, monkeypatch, caplog):
    with MemoryWriter.open(path, encoder=None, image_limits=ImageLimits(total_bytes=0)) as writer:
        drive(writer, 0, EVERY - 1)

        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("vlkng_ros.memory.images.ImageFolder.delete", refuse)
        drive(writer, EVERY - 1, 1)
        assert "could not be dropped yet" in caplog.text
        monkeypatch.undo()
    with MemoryWriter.open(path, encoder=None):
        pass
    assert with_images(path) == []


def test_the_limits_are_parameters_of_the_builder(path):
    memory = MemoryConfig(path=str(path), keep_images_gb=1e-6)
    config = BuilderConfig(memory=memory, association=AssociationConfig(text_encoder="none"))
    with opening.open_writer(config) as writer:
        drive(writer, 0, EVERY)
    assert with_images(path) == [EVERY]


def test_a_limit_below_zero_is_refused():
    with pytest.raises(InvalidInputError, match="total_bytes is -1"):
        ImageLimits(total_bytes=-1)
