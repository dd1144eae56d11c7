"""A view that is not written any more lacks what was seen since."""

from __future__ import annotations

from pathlib import Path

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.retrieval import Retriever
from vlkng_ros.retrieval.presets import view_for
from vlkng_ros.types import NS_PER_S, Capture, Detection, Perception, Pose


def see_a_cup(path: Path, second: int, *associators: Associator) -> tuple[tuple[str, ...], str]:
    """Drive on for one keyframe; the views that are complete then, and the one that a paper's preset takes."""
    with MemoryWriter.open(path, encoder=None, associators=associators) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        number = writer.add_keyframe(Capture(second * NS_PER_S, Pose.planar("map", 0.0, 0.0))).keyframe_id
        writer.add_perception(number, Perception(detections=(Detection("cup", None),)))
        writer.associate(number)
    with MemoryReader.open(path) as reader:
        return reader.complete_views(), view_for(Retriever(reader, None), "embodied-lgr")


def test_a_preset_passes_over_a_view_that_lacks_the_newest_keyframes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    assert see_a_cup(path, 1, HybridAssociator(), ProximityAssociator()) == (("hybrid", "proximity"), "proximity")
    assert see_a_cup(path, 2, HybridAssociator()) == (("hybrid",), "hybrid")
    # Written again, it catches up first.
    assert see_a_cup(path, 3, HybridAssociator(), ProximityAssociator()) == (("hybrid", "proximity"), "proximity")
