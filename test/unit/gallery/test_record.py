from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from vlkng_ros.errors import BagError, InvalidInputError
from vlkng_ros.gallery.demo_world import demo_world
from vlkng_ros.gallery.drive import Drive, Go
from vlkng_ros.gallery.record import record_drive
from vlkng_ros.gallery.render import Renderer

NOW = 1_764_000_000_000_000_000
S = 1_000_000_000
DRIVE = Drive.along([Go(4.0, 4.0)], start=(2.0, 4.0), start_ns=NOW)


def read(path: Path) -> list[tuple[str, int, object]]:
    with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        return [(c.topic, at, reader.deserialize(data, c.msgtype)) for c, at, data in reader.messages()]


def stamp_ns(message: object) -> int:
    return message.header.stamp.sec * S + message.header.stamp.nanosec


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
@pytest.mark.parametrize("transport", ["raw", "compressed"])
def test_a_drive_is_recorded_with_every_topic(tmp_path: Path, storage: str, transport: str) -> None:
    counts = record_drive(tmp_path / "bag", demo_world(), DRIVE, storage=storage, transport=transport)
    image_topic = "/image" if transport == "raw" else "/image/compressed"
    assert counts == {
        "/tf_static": 1,
        "/odom": 151,
        "/tf": 151,
        "/pose": 4,
        "/camera_info": 30,
        image_topic: 30,
    }
    messages = read(tmp_path / "bag")
    assert len(messages) == sum(counts.values())
    assert all(a[1] <= b[1] for a, b in pairwise(messages))
    image = next(m for topic, _, m in messages if topic == image_topic)
    true = Renderer(demo_world()).render(DRIVE.pose(stamp_ns(image)), stamp_ns(image))
    if transport == "raw":
        np.testing.assert_array_equal(image.data.reshape(480, 640, 3), true)
    else:
        pixels = cv2.cvtColor(cv2.imdecode(image.data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        assert np.abs(pixels.astype(int) - true).mean() < 3.0
    pose = next(m for topic, _, m in messages if topic == "/pose")
    assert pose.header.frame_id == "map"
    assert pose.pose.pose.position.x == pytest.approx(2.0, abs=0.1)


def test_equal_seeds_give_equal_recordings(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        record_drive(tmp_path / folder / "bag", demo_world(), DRIVE, storage="mcap", seed=1)
    one, other = (next((tmp_path / folder / "bag").glob("*.mcap")).read_bytes() for folder in ("a", "b"))
    assert one == other


def test_progress_is_reported_up_to_the_end(tmp_path: Path) -> None:
    heard: list[float] = []
    record_drive(tmp_path / "bag", demo_world(), DRIVE, progress=heard.append)
    assert heard == sorted(heard)
    assert 0.0 <= heard[0] < 0.1
    assert heard[-1] > 0.95


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    with pytest.raises(BagError, match=r"cannot be written.*exists"):
        record_drive(tmp_path, demo_world(), DRIVE)
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


@pytest.mark.parametrize("wrong", [{"storage": "zip"}, {"transport": "video"}])
def test_unknown_formats_name_the_known_ones(tmp_path: Path, wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="is not one of"):
        record_drive(tmp_path / "bag", demo_world(), DRIVE, **wrong)
    assert not (tmp_path / "bag").exists()
