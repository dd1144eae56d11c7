"""A rosbag2 recording, read whatever state it is in: sqlite3 or mcap, split, compressed, cut off, without metadata."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import cast

from vlkng_ros.bags import zstd
from vlkng_ros.bags.mcap_salvage import McapSalvage
from vlkng_ros.bags.recording import BagFile, BagMessage, BagTopic
from vlkng_ros.bags.sqlite_salvage import SqliteSalvage, has_log
from vlkng_ros.errors import BagError

STORAGE_SUFFIXES = (".mcap", ".db3")
COMPRESSED_SUFFIXES = (".zstd", ".zst")


class Bag:
    """A bag, open for reading. A context manager.

    ``topics`` are sorted by name. ``problems`` says what could not be read; it grows while messages are read, since
    some damage is only found then.
    """

    def __init__(self, path: Path, files: list[BagFile], problems: list[str], resources: ExitStack) -> None:
        """Use :meth:`open`."""
        self.path = path
        self._files = files
        self._problems = problems
        self._resources = resources
        self.topics: tuple[BagTopic, ...] = _merged(files)

    @classmethod
    def open(cls, path: Path) -> Bag:
        """Open a bag: its folder, or one of its ``.mcap`` or ``.db3`` files (compressed as ``.zstd``, too).

        Raises:
            BagError: there is no bag, or nothing in it can be read.
        """
        storages, problems = _storages(path)
        with ExitStack() as resources:
            files: list[BagFile] = []
            for storage in storages:
                try:
                    file = _open_storage(storage, problems, resources)
                except Exception as error:  # third-party parsers meet damaged files here: whatever they raise
                    problems.append(f"{storage.name}: cannot be read: {error}")
                    continue
                resources.callback(file.close)
                files.append(file)
            if not any(file.topics for file in files):
                reasons = [*problems, *(problem for file in files for problem in file.problems)] or ["it has no topics"]
                raise BagError(f"{path}: nothing in this bag can be read: {'; '.join(reasons)}")
            return cls(path, sorted(files, key=lambda file: file.start_ns), problems, resources.pop_all())

    @property
    def start_ns(self) -> int:
        """When the first message was received; 0 for a bag without messages."""
        return min((file.start_ns for file in self._files if _holds_any(file)), default=0)

    @property
    def end_ns(self) -> int:
        """When the last message was received; 0 for a bag without messages."""
        return max((file.end_ns for file in self._files if _holds_any(file)), default=0)

    @property
    def problems(self) -> list[str]:
        """What could not be read so far, and why; once, however often it was tried."""
        return list(dict.fromkeys([*self._problems, *(problem for file in self._files for problem in file.problems)]))

    def count(self, topics: Collection[str]) -> int:
        """Messages of some topics."""
        return sum(topic.count for topic in self.topics if topic.name in topics)

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """Messages of these topics (None: of all) in the order in which they were received."""
        wanted = {topic.name for topic in self.topics} if topics is None else set(topics)
        for message in (message for file in self._files for message in file.messages(wanted)):
            if not message.data.startswith(zstd.MAGIC):
                yield message
                continue
            try:
                yield replace(message, data=zstd.decompress(message.data))
            except zstd.ZstdError as error:
                self._problems.append(f"{message.topic}: a compressed message is damaged and left out: {error}")

    def close(self) -> None:
        """Close every file of the bag."""
        self._resources.close()

    def __enter__(self) -> Bag:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _IntactFile:
    """A storage file through the rosbags library, and once it refuses to go on, through salvage.

    Raises:
        Exception: the library cannot open it.
    """

    def __init__(self, path: Path) -> None:
        from rosbags.interfaces import ConnectionExtRosbag2, QosDurability
        from rosbags.rosbag2 import Reader

        self.problems: list[str] = []
        self._path = path
        self._reader = Reader(path)
        self._reader.open()
        self._salvage: BagFile | None = None
        self.topics: tuple[BagTopic, ...] = tuple(
            BagTopic(
                connection.topic,
                connection.msgtype,
                connection.msgcount,
                any(
                    qos.durability is QosDurability.TRANSIENT_LOCAL
                    for qos in cast(ConnectionExtRosbag2, connection.ext).offered_qos_profiles
                ),
            )
            for connection in self._reader.connections
        )
        self.start_ns = self._reader.start_time
        self.end_ns = self._reader.end_time - 1

    def messages(self, topics: Collection[str]) -> Iterator[BagMessage]:
        connections = [connection for connection in self._reader.connections if connection.topic in topics]
        if not connections:
            return
        done = 0
        try:
            for connection, stamp_ns, data in self._reader.messages(connections):
                yield BagMessage(connection.topic, connection.msgtype, stamp_ns, bytes(data))
                done += 1
            return
        except Exception as error:  # a third-party parser on a damaged file: whatever it raises
            self.problems.append(f"{self._path.name}: damaged after {done} messages ({error}); reading what is left")
        # Both read in order of time, so what was given already is what comes first.
        if self._salvage is None:
            self._salvage = _salvage(self._path)
        for i, message in enumerate(self._salvage.messages(topics)):
            if i >= done:
                yield message
        self.problems += (problem for problem in self._salvage.problems if problem not in self.problems)

    def close(self) -> None:
        self._reader.close()
        if self._salvage is not None:
            self._salvage.close()


def _open_storage(path: Path, problems: list[str], resources: ExitStack) -> BagFile:
    if path.stat().st_size == 0:
        raise BagError("the file is empty")
    if path.suffix in COMPRESSED_SUFFIXES:
        folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="vlkng_bag_"))
        plain = Path(folder, path.stem)
        missing = zstd.decompress_file(path, plain)
        if missing:
            problems.append(f"{path.name}: {missing}")
        path = plain
    if path.suffix == ".db3" and has_log(path):
        problems.append(f"{path.name}: its recorder was not shut down; the write-ahead log is read too")
        return SqliteSalvage(path)
    try:
        return _IntactFile(path)
    except Exception as error:  # a third-party parser on a damaged file: whatever it raises
        file = _salvage(path)
        if not file.problems:
            problems.append(f"{path.name}: read without its index ({error or type(error).__name__})")
        return file


def _salvage(path: Path) -> BagFile:
    return McapSalvage(path) if path.suffix == ".mcap" else SqliteSalvage(path)


def _storages(path: Path) -> tuple[list[Path], list[str]]:
    """The storage files of a bag in the order of its parts, and what is wrong with its metadata."""
    if not path.exists():
        raise BagError(f"{path}: no such bag")
    if path.suffix == ".bag":
        raise BagError(f"{path}: a ROS 1 bag; convert it with: rosbags-convert --src {path} --dst {path.stem}")
    if path.is_file():
        if not _is_storage(path):
            raise BagError(f"{path}: not a rosbag2 file: needs a bag's folder, .mcap or .db3")
        return [path], []
    found = sorted((file for file in path.iterdir() if file.is_file() and _is_storage(file)), key=_by_part)
    # A file-compressed bag that was being compressed holds both forms of a part.
    names = {file.name for file in found}
    found = [file for file in found if file.suffix not in COMPRESSED_SUFFIXES or file.stem not in names]
    listed, problem = _listed_files(path / "metadata.yaml")
    problems = [problem] if problem else []
    missing = [name for name in listed if name not in names]
    if missing:
        problems.append(f"missing: {', '.join(missing)}, which metadata.yaml names")
    if not found:
        raise BagError(f"{path}: not a bag: no .mcap or .db3 file in this folder ({'; '.join(problems) or 'empty'})")
    return found, problems


def _listed_files(metadata: Path) -> tuple[list[str], str]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if not metadata.exists():
        return [], "metadata.yaml is missing (the recorder was not shut down); the files are read without it"
    try:
        information = YAML(typ="safe").load(metadata.read_text(encoding="utf-8"))["rosbag2_bagfile_information"]
        return [Path(str(name)).name for name in information["relative_file_paths"]], ""
    except (OSError, UnicodeDecodeError, YAMLError, KeyError, TypeError):
        return [], "metadata.yaml is damaged; the files are read without it"


def _is_storage(path: Path) -> bool:
    plain = Path(path.stem) if path.suffix in COMPRESSED_SUFFIXES else path
    return plain.suffix in STORAGE_SUFFIXES


def _by_part(path: Path) -> list[int | str]:
    """Sorts ``drive_10`` behind ``drive_9``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def _holds_any(file: BagFile) -> bool:
    return any(topic.count for topic in file.topics)


def _merged(files: Collection[BagFile]) -> tuple[BagTopic, ...]:
    topics: dict[tuple[str, str], BagTopic] = {}
    for topic in (topic for file in files for topic in file.topics):
        known = topics.get((topic.name, topic.msgtype), BagTopic(topic.name, topic.msgtype, 0))
        topics[topic.name, topic.msgtype] = BagTopic(
            topic.name, topic.msgtype, known.count + topic.count, known.latched or topic.latched
        )
    return tuple(sorted(topics.values(), key=lambda topic: (topic.name, topic.msgtype)))
