"""Zstandard as rosbag2 uses it, also where the data ends too early."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError, decompress
else:
    from backports.zstd import ZstdDecompressor, ZstdError, decompress

MAGIC = b"\x28\xb5\x2f\xfd"
"""A frame's first bytes. CDR begins with a zero byte, so that a compressed message is known by it."""
_BLOCK = 1 << 20

__all__ = ["MAGIC", "ZstdError", "decompress", "decompress_file", "decompress_start"]


def decompress_start(data: bytes, limit: int) -> bytes:
    """As much of cut-off data as can be had, at most ``limit`` bytes.

    Raises:
        ZstdError: the data is damaged.
    """
    return bytes(ZstdDecompressor().decompress(data, limit))


def decompress_file(source: Path, target: Path) -> str:
    """Decompress a file.

    Returns:
        What is missing: empty where the whole file was good.
    """
    with source.open("rb") as compressed, target.open("wb") as plain:
        try:
            return _decompress_frames(compressed, plain)
        except ZstdError as error:
            return f"damaged after {plain.tell()} decompressed bytes ({error})"


def _decompress_frames(compressed: BinaryIO, plain: BinaryIO) -> str:
    decompressor = ZstdDecompressor()
    rest = b""
    while block := rest or compressed.read(_BLOCK):
        if decompressor.eof:
            decompressor = ZstdDecompressor()
        plain.write(decompressor.decompress(block))
        rest = decompressor.unused_data
    return "" if decompressor.eof else f"cut off after {plain.tell()} decompressed bytes"
