"""Opening a memory, as every verb that writes does it, and what is in it already."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vlkng_ros.config import AssociationConfig, BuilderConfig, MemoryConfig

if TYPE_CHECKING:
    from collections.abc import Collection

    from vlkng_ros.memory import MemoryWriter
    from vlkng_ros.types import Keyframe


def open_writer(args: argparse.Namespace) -> MemoryWriter:
    """The memory of ``--memory`` with the default associator and the encoder of ``--text-encoder``."""
    from vlkng_ros.building import opening

    association = AssociationConfig(text_encoder=args.text_encoder)
    return opening.open_writer(BuilderConfig(memory=MemoryConfig(path=str(args.memory)), association=association))


def known_keyframes(path: Path, camera: str, stamps_ns: Collection[int] | None = None) -> dict[int, Keyframe]:
    """One camera's keyframes by stamp (of these stamps, where given); none where there is no memory yet."""
    from vlkng_ros.memory import MemoryReader

    if not path.exists():
        return {}
    with MemoryReader.open(path) as reader:
        table = reader.frames()
        pairs = zip(table.ids.tolist(), table.stamps_ns.tolist(), strict=True)
        wanted = None if stamps_ns is None else set(stamps_ns)
        ids = [keyframe_id for keyframe_id, stamp_ns in pairs if wanted is None or stamp_ns in wanted]
        return {frame.stamp_ns: frame for frame in reader.keyframes(ids) if frame.camera == camera}
