"""Rows of a SQLite file read page by page, without its header, its schema or the way to its pages.

A page that holds rows says so, and every row says how many columns it has and of which types. So what is on pages
that are whole can be read, wherever the tree that led to them is broken (https://www.sqlite.org/fileformat2.html).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

Value = None | int | float | str | bytes
Row = tuple[Value, ...]
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02
DEFAULT_PAGE = 4096
_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
_REAL = 7
_BROKEN = (IndexError, ValueError, struct.error, OverflowError)


def page_size(header: bytes) -> int:
    """Bytes a page, as a file's first 100 bytes say; 0 where they cannot be right."""
    size = int.from_bytes(header[16:18], "big")
    size = 65_536 if size == 1 else size
    known = header.startswith(b"SQLite format 3\0") and size >= 512 and size & (size - 1) == 0
    return size if known else 0


class PageScan:
    """The pages of a file. Where its beginning is missing, they are counted from its end."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        known = page_size(data[:100])
        self._size = known or DEFAULT_PAGE
        self._data = data if known else data[len(data) % self._size :]
        self._header = 100 if known else 0
        # No memory is written with bytes kept free at the end of pages: where the header says so, it is broken.
        self._usable = self._size

    def pages(self) -> Iterator[tuple[bool, list[Row]]]:
        """For each page with rows: whether they are of a table with row ids, which then replace an empty first column.

        Broken rows and pages are left out.
        """
        for start in range(0, len(self._data) - self._size + 1, self._size):
            head = start + (self._header if start == 0 else 0)
            kind = self._data[head]
            if kind in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
                rows = list(self._rows(start, head, kind))
                if rows:
                    yield kind == TABLE_LEAF, rows

    def _rows(self, start: int, head: int, kind: int) -> Iterator[Row]:
        count = int.from_bytes(self._data[head + 3 : head + 5], "big")
        pointers = head + (12 if kind == INDEX_INTERIOR else 8)
        if pointers + 2 * count > start + self._size:
            return
        for i in range(count):
            cell = int.from_bytes(self._data[pointers + 2 * i : pointers + 2 * i + 2], "big")
            if pointers + 2 * count <= start + cell < start + self._usable:
                try:
                    yield self._cell(start + cell, kind)
                except _BROKEN:
                    continue

    def _cell(self, at: int, kind: int) -> Row:
        at += 4 if kind == INDEX_INTERIOR else 0
        length, at = self._varint(self._data, at)
        number = 0
        if kind == TABLE_LEAF:
            number, at = self._varint(self._data, at)
        row = _record(self._payload(at, length, kind))
        return (number, *row[1:]) if kind == TABLE_LEAF and row and row[0] is None else row

    def _payload(self, at: int, length: int, kind: int) -> bytes:
        """A row's bytes: those that do not fit into a page go on in others."""
        if not 0 < length <= len(self._data):
            raise ValueError("no such length")
        most = self._usable - 35 if kind == TABLE_LEAF else (self._usable - 12) * 64 // 255 - 23
        if length <= most:
            return self._data[at : at + length]
        least = (self._usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self._usable - 4)
        here = here if here <= most else least
        found = bytearray(self._data[at : at + here])
        following = int.from_bytes(self._data[at + here : at + here + 4], "big")
        while len(found) < length:
            page = (following - 1) * self._size
            if not 0 < page <= len(self._data) - self._size:
                raise ValueError("a part is not there")
            following = int.from_bytes(self._data[page : page + 4], "big")
            found += self._data[page + 4 : page + min(self._usable, 4 + length - len(found))]
        return bytes(found)

    @staticmethod
    def _varint(data: bytes, at: int) -> tuple[int, int]:
        """A number of one to nine bytes, and where the next thing begins."""
        value = 0
        for i in range(8):
            byte = data[at + i]
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value, at + i + 1
        value = value << 8 | data[at + 8]
        return value - (1 << 64 if value >> 63 else 0), at + 9


def _record(data: bytes) -> Row:
    """The columns of a row."""
    varint = PageScan._varint
    end, at = varint(data, 0)
    if not 0 < end <= len(data):
        raise ValueError("no header")
    types = []
    while at < end:
        kind, at = varint(data, at)
        types.append(kind)
    values: list[Value] = []
    for kind in types:
        if kind == 0:
            values.append(None)
            continue
        if kind in (8, 9):
            values.append(kind - 8)
            continue
        if kind < 0 or kind in (10, 11):
            raise ValueError("no such type")
        length = 8 if kind == _REAL else _INTEGER_BYTES[kind] if kind < _REAL else (kind - 12) // 2
        part = data[at : at + length]
        if len(part) < length:
            raise ValueError("cut off")
        at += length
        if kind == _REAL:
            values.append(struct.unpack(">d", part)[0])
        elif kind < _REAL:
            values.append(int.from_bytes(part, "big", signed=True))
        else:
            values.append(part.decode() if kind % 2 else part)
    if at != len(data):
        raise ValueError("too long")
    return tuple(values)
