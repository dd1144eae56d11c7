"""A bag is read whatever storage it has and whatever happened to it."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from ros_messages import image, text, write_bag

from vlkng_ros.bags.bag import Bag
from vlkng_ros.bags.recording import BagMessage
from vlkng_ros.errors import BagError

KINDS = [
    ("sqlite3", "none"),
    ("sqlite3", "file"),
    ("sqlite3", "message"),
    ("mcap", "none"),
    ("mcap", "file"),
    ("mcap", "message"),
    ("mcap", "storage"),
]
NOISE = np.random.default_rng(0)


def drive(start_ns: int = 1000, count: int = 120) -> list[tuple[str, int, object]]:
    """Words and, at every fourth, a picture that does not compress and does not fit into one page."""
    messages: list[tuple[str, int, object]] = []
    for i in range(count):
        messages.append(("/words", start_ns + 10 * i, text(f"word {i}")))
        if i % 4 == 0:
            pixels = NOISE.integers(0, 255, (64, 100), dtype=np.uint8)
            messages.append(("/image", start_ns + 10 * i + 1, image(pixels, "mono8")))
    return messages


def storage_of(bag: Path) -> Path:
    (storage,) = (path for path in bag.iterdir() if path.name != "metadata.yaml")
    return storage


def read(path: Path) -> tuple[list[BagMessage], list[str]]:
    with Bag.open(path) as bag:
        return list(bag.messages()), bag.problems


@pytest.mark.parametrize(("storage", "compression"), KINDS)
def test_what_was_written_is_read(tmp_path: Path, storage: str, compression: str) -> None:
    written = write_bag(tmp_path / "bag", drive(), storage=storage, compression=compression)
    with Bag.open(tmp_path / "bag") as bag:
        assert [(topic.name, topic.msgtype, topic.count) for topic in bag.topics] == [
            ("/image", "sensor_msgs/msg/Image", 30),
            ("/words", "std_msgs/msg/String", 120),
        ]
        assert (bag.start_ns, bag.end_ns, bag.count(["/image"])) == (1000, 2190, 30)
        assert list(bag.messages()) == written
        assert list(bag.messages(["/image"])) == [message for message in written if message.topic == "/image"]
        assert list(bag.messages([])) == []
        assert bag.problems == []


@pytest.mark.parametrize(("storage", "compression"), KINDS)
def test_a_file_of_a_bag_is_a_bag(tmp_path: Path, storage: str, compression: str) -> None:
    written = write_bag(tmp_path / "bag", drive(), storage=storage, compression=compression)
    assert read(storage_of(tmp_path / "bag")) == (written, [])


@pytest.mark.parametrize(("storage", "compression"), KINDS)
def test_a_bag_without_metadata_is_read_whole_and_says_so(tmp_path: Path, storage: str, compression: str) -> None:
    written = write_bag(tmp_path / "bag", drive(), storage=storage, compression=compression)
    (tmp_path / "bag" / "metadata.yaml").unlink()
    messages, problems = read(tmp_path / "bag")
    assert messages == written
    assert problems == ["metadata.yaml is missing (the recorder was not shut down); the files are read without it"]


@pytest.mark.parametrize(("storage", "compression"), KINDS)
def test_a_cut_off_bag_gives_what_it_holds_and_says_so(tmp_path: Path, storage: str, compression: str) -> None:
    written = write_bag(tmp_path / "bag", drive(), storage=storage, compression=compression)
    path = storage_of(tmp_path / "bag")
    whole = path.read_bytes()
    most = 0
    for cut in sorted({*random.Random(1).sample(range(len(whole)), 12), len(whole) * 3 // 4, len(whole) - 1}):
        path.write_bytes(whole[:cut])
        try:
            messages, problems = read(tmp_path / "bag")
        except BagError:
            continue
        assert messages == [message for message in written if message in messages]
        assert len(messages) >= most
        most = len(messages)
        assert problems
    assert most >= (80 if compression == "file" else 145)


def test_a_cut_off_mcap_loses_only_the_message_at_the_cut(tmp_path: Path) -> None:
    written = write_bag(tmp_path / "bag", drive())
    path = storage_of(tmp_path / "bag")
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"word 100\x00")])
    messages, problems = read(path)
    assert messages == written[: len(messages)]
    assert messages[-1].data.endswith(b"word 99\x00")
    assert problems == [f"bag.mcap: ends in mid-recording; the {len(messages)} messages up to there are read"]


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_damage_in_the_middle_never_raises_and_never_invents_order(tmp_path: Path, storage: str) -> None:
    write_bag(tmp_path / "bag", drive(count=40), storage=storage)
    path = storage_of(tmp_path / "bag")
    whole = path.read_bytes()
    dice = random.Random(2)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(damaged))
            damaged[at : at + 30] = dice.randbytes(30)
        path.write_bytes(damaged)
        try:
            messages, _ = read(tmp_path / "bag")
        except BagError:
            continue
        assert [message.stamp_ns for message in messages] == sorted(message.stamp_ns for message in messages)


def test_a_write_ahead_log_of_a_dead_recorder_is_read(tmp_path: Path) -> None:
    write_bag(tmp_path / "bag", drive(), storage="sqlite3")
    path = storage_of(tmp_path / "bag")
    recorder = sqlite3.connect(path)
    recorder.execute("PRAGMA journal_mode = WAL")
    (row,) = recorder.execute("SELECT topic_id, data FROM messages ORDER BY id DESC LIMIT 1")
    recorder.execute("INSERT INTO messages (topic_id, timestamp, data) VALUES (?, 9999, ?)", row)
    recorder.commit()
    (tmp_path / "dead").mkdir()
    for name in (path.name, f"{path.name}-wal"):
        shutil.copy(path.with_name(name), tmp_path / "dead" / name)
    recorder.close()
    messages, problems = read(tmp_path / "dead")
    assert messages[-1].stamp_ns == 9999
    assert len(messages) == 151
    assert "bag.db3: its recorder was not shut down; the write-ahead log is read too" in problems


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_parts_of_a_split_bag_come_in_order_of_time(tmp_path: Path, storage: str) -> None:
    parts = [write_bag(tmp_path / f"part_{i}", drive(i * 10_000, 20), storage=storage) for i in (9, 10, 2)]
    (tmp_path / "bag").mkdir()
    for i in (9, 10, 2):
        storage_of(tmp_path / f"part_{i}").rename(tmp_path / "bag" / storage_of(tmp_path / f"part_{i}").name)
    messages, _ = read(tmp_path / "bag")
    assert messages == [*parts[2], *parts[0], *parts[1]]


def test_a_part_that_is_gone_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    written = write_bag(tmp_path / "bag", drive())
    metadata = tmp_path / "bag" / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("- bag.mcap", "- bag.mcap\n  - bag_1.mcap"))
    messages, problems = read(tmp_path / "bag")
    assert messages == written
    assert problems == ["missing: bag_1.mcap, which metadata.yaml names"]


@pytest.mark.parametrize("metadata", ["", "rosbag2_bagfile_information: 7", "{[", "- a", "\x00\xff"])
def test_damaged_metadata_does_not_hide_the_messages(tmp_path: Path, metadata: str) -> None:
    written = write_bag(tmp_path / "bag", drive())
    (tmp_path / "bag" / "metadata.yaml").write_text(metadata, encoding="latin-1")
    messages, problems = read(tmp_path / "bag")
    assert messages == written
    assert problems == ["metadata.yaml is damaged; the files are read without it"]


def test_an_unindexed_mcap_out_of_order_is_put_in_order(tmp_path: Path) -> None:
    backwards = list(reversed(drive(count=20)))
    written = write_bag(tmp_path / "bag", backwards)
    path = storage_of(tmp_path / "bag")
    path.write_bytes(path.read_bytes()[:-40])
    messages, _ = read(path)
    assert messages == written


def test_a_latched_topic_is_known_as_such(tmp_path: Path) -> None:
    from ros_messages import STORE, cdr
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
    from rosbags.rosbag2 import StoragePlugin, Writer

    never = QosTime(9223372036, 854775807)
    qos = Qos(
        QosHistory.KEEP_LAST,
        1,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL,
        never,
        never,
        QosLiveliness.AUTOMATIC,
        never,
        False,
    )
    for storage in StoragePlugin:
        for version in (8, 9):
            folder = tmp_path / f"{storage.name}{version}"
            with Writer(folder, version=version, storage_plugin=storage) as writer:
                words = writer.add_connection(
                    "/words", "std_msgs/msg/String", typestore=STORE, offered_qos_profiles=[qos]
                )
                writer.write(words, 1, cdr(text("a")))
            path = storage_of(folder)
            with Bag.open(path) as bag:
                assert [topic.latched for topic in bag.topics] == [True]
            if path.suffix == ".mcap":
                path.write_bytes(path.read_bytes()[:-9])
                with Bag.open(path) as bag:
                    assert [topic.latched for topic in bag.topics] == [True]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("nowhere", None, "no such bag"),
        ("old.bag", b"#ROSBAG V2.0", "a ROS 1 bag; convert it with: rosbags-convert --src"),
        ("notes.txt", b"hello", "not a rosbag2 file: needs a bag's folder, .mcap or .db3"),
        ("empty.mcap", b"", "nothing in this bag can be read: empty.mcap: cannot be read: the file is empty"),
        ("empty.db3", b"", "nothing in this bag can be read: empty.db3: cannot be read: the file is empty"),
        ("wrong.mcap", b"\x00" * 5000, "nothing in this bag can be read"),
        ("empty.db3", b"", "nothing in this bag can be read"),
        ("wrong.db3", b"\x00" * 5000, "nothing in this bag can be read: wrong.db3: cannot be read"),
        ("wrong.mcap.zstd", b"not compressed", "nothing in this bag can be read"),
        ("secret.db3", b"SQLite format 3\x00" + b"\x10" * 500, "nothing in this bag can be read"),
    ],
)
def test_what_is_no_bag_is_refused(tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BagError, match=says) as refused:
        Bag.open(path)
    assert name in str(refused.value)


def test_a_folder_without_storage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BagError, match=r"not a bag: no .mcap or .db3 file in this folder"):
        Bag.open(tmp_path)


def test_reading_leaves_a_bag_as_it_was(tmp_path: Path) -> None:
    write_bag(tmp_path / "bag", drive(), storage="sqlite3")
    before = {path.name: path.read_bytes() for path in (tmp_path / "bag").iterdir()}
    read(tmp_path / "bag")
    assert {path.name: path.read_bytes() for path in (tmp_path / "bag").iterdir()} == before
