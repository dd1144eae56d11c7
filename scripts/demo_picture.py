"""memory.png out of what the demo left: the memory, the answers and the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vlkng_ros.gallery.drive import Drive
from vlkng_ros.gallery.picture import AnsweredQuestion, DemoPicture, RememberedThing, draw
from vlkng_ros.gallery.world import World
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import NS_PER_S, Image, Pose, PositionSource


def draw_memory(path: Path, memory: Path, world: World, drive: Drive, entries: Sequence[dict[str, Any]]) -> None:
    """Draw the picture."""
    with MemoryReader.open(memory) as reader:
        table = reader.frames()
        view = next(iter(reader.views()))
        remembered = [
            RememberedThing(
                entity.label,
                entity.position.mean_m[:2],
                entity.observation_count,
                None if entity.position.source is PositionSource.ROBOT else entity.position.covariance_m2[:2, :2],
            )
            for entity in reader.entities(view)
        ]
        toured = table.position_m[table.stamps_ns <= drive.end_ns + NS_PER_S, :2]
        answers = [_answered(reader, entry) for entry in entries]
        seconds = (drive.end_ns - drive.start_ns) / NS_PER_S
        subtitle = f"{seconds:.0f} s, {drive.length_m:.0f} m, {len(toured)} keyframes, {len(remembered)} things"
    stamps = np.arange(drive.start_ns, drive.end_ns, NS_PER_S // 10, dtype=np.int64)
    sent = next((entry for entry in entries if "navigation" in entry), None)
    draw(
        DemoPicture(
            world=world,
            path=drive.poses_at(stamps)[:, :2],
            keyframes=np.asarray(toured, np.float64),
            remembered=remembered,
            answers=answers,
            goal=_pose(sent["goal"]) if sent else None,
            driven=np.asarray(sent["navigation"]["path"]) if sent else None,
            subtitle=subtitle,
        ),
        path,
    )


def _answered(reader: MemoryReader, entry: dict[str, Any]) -> AnsweredQuestion:
    if "answer" not in entry:
        return AnsweredQuestion(entry["question"], entry["message"], "")
    frame: Image | None = None
    seen_from: Pose | None = None
    if entry["keyframe_ids"]:
        keyframe_id = entry["keyframe_ids"][0]
        seen_from = reader.keyframe(keyframe_id).base_pose
        jpeg = reader.image(keyframe_id)
        if jpeg is not None:
            decoded = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
            frame = np.asarray(cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB), np.uint8)
    notes = [f"confidence {entry['confidence']:.2f}, {entry['stage_ms'].get('total', 0.0):.0f} ms"]
    if "goal_error_m" in entry:
        notes.append(f"goal {entry['goal_error_m']:.1f} m from where the {entry['label']} can be seen")
    if "navigation" in entry:
        notes.append(f"drove there: {entry['navigation']['driven_m']:.1f} m, {entry['navigation']['state']}")
    box = tuple(entry["box_px"]) if entry["box_px"] else None
    return AnsweredQuestion(entry["question"], entry["answer"], "\n".join(notes), entry["label"], seen_from, frame, box)


def _pose(planar: dict[str, float]) -> Pose:
    return Pose.planar("map", planar["x_m"], planar["y_m"], planar["yaw_rad"])
