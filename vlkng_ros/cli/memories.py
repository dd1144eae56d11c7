"""Opening a memory to write, as every verb that writes does it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vlkng_ros.config import AssociationConfig, BuilderConfig, MemoryConfig

if TYPE_CHECKING:
    from vlkng_ros.memory import MemoryReader, MemoryWriter
    from vlkng_ros.types import Keyframe


def open_writer(args: argparse.Namespace) -> MemoryWriter:
    """The memory of ``--memory`` with the default associator and the encoder of ``--text-encoder``."""
    association = AssociationConfig(text_encoder=args.text_encoder)
    return open_writer_with(BuilderConfig(memory=MemoryConfig(path=str(args.memory)), association=association))


def open_writer_with(config: BuilderConfig) -> MemoryWriter:
    """The configured memory, its associator and text encoder."""
    from vlkng_ros.memory import MemoryWriter, open_encoder
    from vlkng_ros.memory.association.registry import open_associator

    return MemoryWriter.open(
        config.memory.path,
        encoder=open_encoder(config.association.text_encoder),
        associators=(open_associator(config.association),),
        keep_images=config.memory.keep_images,
    )


def keyframes_at(reader: MemoryReader, stamps_ns: set[int], camera: str) -> dict[int, Keyframe]:
    """The keyframes of one camera at these stamps."""
    table = reader.frames()
    pairs = zip(table.ids.tolist(), table.stamps_ns.tolist(), strict=True)
    same_time = [keyframe_id for keyframe_id, stamp_ns in pairs if stamp_ns in stamps_ns]
    return {frame.stamp_ns: frame for frame in reader.keyframes(same_time) if frame.camera == camera}


def known_stamps(path: str, camera: str) -> set[int]:
    """The stamps of one camera's keyframes in a memory; none where there is no memory yet."""
    from vlkng_ros.memory import MemoryReader

    file = Path(path).expanduser()
    if not file.exists():
        return set()
    with MemoryReader.open(file) as reader:
        stamps = set(reader.frames().stamps_ns.tolist())
        return set(keyframes_at(reader, stamps, camera))
