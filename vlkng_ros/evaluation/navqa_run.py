"""Running presets over NaVQA: a memory a sequence, kept for the next run, then every question of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.bags.captions import import_captions
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.evaluation.navqa import Drive
from vlkng_ros.evaluation.scores import Judged, judge
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.types import Pose, Question, TextEncoder

CAMERA = "camera"


def memory_of(
    drive: Drive,
    folder: Path,
    encoder: TextEncoder | None,
    associators: Sequence[Associator],
    advance: Callable[[int], object],
) -> Path:
    """The memory of a drive's captions; one that an interrupted run left is completed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{drive.name}.db"
    with MemoryWriter.open(path, encoder=encoder, associators=associators) as writer:
        with MemoryReader.open(path) as reader:
            ids = reader.frames().ids.tolist()
            known = {keyframe.stamp_ns: keyframe for keyframe in reader.keyframes(ids)}
        import_captions(
            drive.frames, writer, robot="robot", map_id=drive.name, camera=CAMERA, known=known, advance=advance
        )
    return path


def run(
    drive: Drive,
    path: Path,
    encoder: TextEncoder | None,
    configs: dict[str, RetrievalConfig],
    advance: Callable[[int], object],
) -> dict[str, list[Judged]]:
    """Every question of a drive asked of its memory, by each configuration."""
    results: dict[str, list[Judged]] = {name: [] for name in configs}
    with MemoryReader.open(path) as reader:
        for name, config in configs.items():
            memory = MemoryQuery(reader, encoder, config)
            for asked in drive.questions:
                answer = memory.ask(
                    Question(
                        asked.text,
                        asked.since_ns,
                        asked.as_of_ns,
                        Pose("map", asked.position_m),
                        config.preset,
                        config.max_keyframes,
                    )
                )
                judged = judge(asked, answer)
                if judged is not None:
                    results[name].append(judged)
                advance(1)
    return results
