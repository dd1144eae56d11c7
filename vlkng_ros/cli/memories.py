"""What is in a memory already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vlkng_ros.errors import SchemaVersionError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from vlkng_ros.types import Keyframe


def bring_up_to_date(path: Path) -> None:
    """Bring a memory of an earlier version into this one's form, as opening it for writing does.

    Raises:
        MemoryFileError: there is none, or it cannot be written.
    """
    from vlkng_ros.memory import MemoryReader, MemoryWriter

    try:
        MemoryReader.open(path).close()
    except SchemaVersionError:
        MemoryWriter.open(path, encoder=None).close()


def other_maps(frames: Iterable[Keyframe], map_id: str) -> str:
    """`` (in map 'office')`` where frames are in other maps than the one that was named; nothing where none was."""
    others = sorted({frame.map_id for frame in frames} - {map_id}) if map_id else []
    return f" (in map {', '.join(map(repr, others))})" if others else ""


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
