"""What can still be read of an MCAP file that is cut off, damaged or without an index.

The recorder writes records one after another and the index last, so a robot that lost power leaves a file that is
whole up to somewhere in its last chunk. The format: https://mcap.dev/spec. A record is an opcode (one byte), a
length (uint64) and as many bytes; numbers are little-endian.
"""

from __future__ import annotations

import struct
from array import array
from binascii import crc32
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path

from vlkng_ros.bags import zstd
from vlkng_ros.bags.recording import BagMessage, BagTopic, in_order, is_latched

MAGIC = b"\x89MCAP0\r\n"
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F
_RECORD = struct.Struct("<BQ")
_MESSAGE_HEAD = struct.Struct("<HIQQ")
_CHUNK_HEAD = struct.Struct("<QQQI")
_LARGEST_CHUNK = 1 << 30


class McapSalvage:
    """An MCAP file read from its start as far as it goes; every message in order of time, indexed or not."""

    def __init__(self, path: Path) -> None:
        self.problems: list[str] = []
        self._path = path
        self._file = path.open("rb")
        self._size = path.stat().st_size
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str, bool]] = {}
        # A message is in the chunk whose record starts at `chunk` (or -1: in the file itself), from `start` to `end`.
        self._times, self._chunks = array("q"), array("q")
        self._starts, self._ends, self._ids = array("q"), array("q"), array("q")
        self._chunk_data = lru_cache(maxsize=4)(self._read_chunk)
        self._scan()
        self._order = in_order(self._times)
        counts = Counter(self._ids)
        self.topics: tuple[BagTopic, ...] = tuple(
            BagTopic(topic, msgtype, counts[channel], latched)
            for channel, (topic, msgtype, latched) in self._channels.items()
        )
        self.start_ns = min(self._times, default=0)
        self.end_ns = max(self._times, default=0)

    def messages(self, topics: Collection[str]) -> Iterator[BagMessage]:
        """The messages of these topics in order of time."""
        wanted = {channel for channel, (topic, _, _) in self._channels.items() if topic in topics}
        for i in self._order:
            if self._ids[i] not in wanted:
                continue
            topic, msgtype, _ = self._channels[self._ids[i]]
            start, end = self._starts[i], self._ends[i]
            if self._chunks[i] < 0:
                self._file.seek(start)
                data = self._file.read(end - start)
            else:
                data = self._chunk_data(self._chunks[i])[start:end]
            yield BagMessage(topic, msgtype, self._times[i], data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._chunk_data.cache_clear()

    def _scan(self) -> None:
        if self._file.read(len(MAGIC)) != MAGIC:
            self.problems.append(f"{self._path.name}: does not begin as an MCAP file does")
            return
        offset = len(MAGIC)
        while offset + _RECORD.size <= self._size:
            self._file.seek(offset)
            opcode, length = _RECORD.unpack(self._file.read(_RECORD.size))
            start, offset = offset, offset + _RECORD.size + length
            if opcode == _DATA_END:
                return
            if opcode == 0 or (offset > self._size and opcode != _CHUNK):
                break
            if opcode == _CHUNK:
                self._scan_chunk(start)
            elif opcode == _MESSAGE:
                if length >= _MESSAGE_HEAD.size:
                    head = self._file.read(_MESSAGE_HEAD.size)
                    self._note(head, -1, start + _RECORD.size + _MESSAGE_HEAD.size, offset)
            elif opcode in (_SCHEMA, _CHANNEL):
                self._declare(opcode, self._file.read(length))
        self.problems.append(
            f"{self._path.name}: ends in mid-recording; the {len(self._times)} messages up to there are read"
        )

    def _scan_chunk(self, offset: int) -> None:
        try:
            data = self._read_chunk(offset)
        except (ValueError, struct.error, RuntimeError, zstd.ZstdError) as error:
            self.problems.append(f"{self._path.name}: chunk at byte {offset} is damaged and left out: {error}")
            return
        at = 0
        while at + _RECORD.size <= len(data):
            opcode, length = _RECORD.unpack_from(data, at)
            start, at = at + _RECORD.size, at + _RECORD.size + length
            if at > len(data):
                return
            if opcode == _MESSAGE and length >= _MESSAGE_HEAD.size:
                self._note(data[start : start + _MESSAGE_HEAD.size], offset, start + _MESSAGE_HEAD.size, at)
            elif opcode in (_SCHEMA, _CHANNEL):
                self._declare(opcode, data[start:at])

    def _read_chunk(self, offset: int) -> bytes:
        """A chunk's records; of a chunk that is cut off, its first ones."""
        self._file.seek(offset)
        _, length = _RECORD.unpack(self._file.read(_RECORD.size))
        record = self._file.read(min(length, self._size - offset - _RECORD.size))
        cut = len(record) < length
        _, _, size, checksum = _CHUNK_HEAD.unpack_from(record)
        compression, at = _text(record, _CHUNK_HEAD.size)
        data = record[at + 8 :]
        if size > _LARGEST_CHUNK:
            raise ValueError(f"claims to hold {size} bytes")
        if compression == "zstd":
            data = zstd.decompress_start(data, size)
        elif compression == "lz4":
            from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

            data = LZ4FrameDecompressor().decompress(data, max_length=size)
        elif compression:
            raise ValueError(f"compressed by '{compression}', which is not known")
        if not cut and (len(data) != size or (checksum and crc32(data) != checksum)):
            raise ValueError("its checksum does not fit")
        return data

    def _note(self, head: bytes, chunk: int, start: int, end: int) -> None:
        channel, _, log_time, _ = _MESSAGE_HEAD.unpack(head)
        if channel not in self._channels or log_time >= 1 << 63:
            return
        for column, value in zip(
            (self._times, self._chunks, self._starts, self._ends, self._ids),
            (log_time, chunk, start, end, channel),
            strict=True,
        ):
            column.append(value)

    def _declare(self, opcode: int, record: bytes) -> None:
        try:
            if opcode == _SCHEMA:
                self._schemas[struct.unpack_from("<H", record)[0]] = _text(record, 2)[0]
                return
            channel, schema = struct.unpack_from("<HH", record)
            topic, at = _text(record, 4)
            _, at = _text(record, at)
            metadata = record[at:]
        except (struct.error, ValueError):
            self.problems.append(f"{self._path.name}: the description of a topic is damaged; its messages are left out")
            return
        latched = is_latched(metadata.decode("utf-8", "replace"))
        self._channels[channel] = (topic, self._schemas.get(schema, ""), latched)


def _text(record: bytes, offset: int) -> tuple[str, int]:
    """A length-prefixed string and the offset behind it."""
    (length,) = struct.unpack_from("<I", record, offset)
    start = offset + 4
    if start + length > len(record):
        raise ValueError("a text that is cut off")
    return record[start : start + length].decode(), start + length
