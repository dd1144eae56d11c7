"""What the memory costs as it grows: a keyframe's commit, a reader's start and calls, a correction, bytes and RSS.

    python benchmarks/memory_bench.py                      # 1e3 to 1e5 observations
    python benchmarks/memory_bench.py --observations 1e6   # up to 1e6: some ten minutes
    python benchmarks/memory_bench.py --associator hybrid --profile

The world is a hall with 0.3 things a square metre; the robot sweeps it in lanes and sees the nearest eight things in
front of it, so that the number of things grows with the memory while their density stays.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import math
import pstats
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import OPTICAL_IN_BODY, Capture, Detection, Intrinsics, Perception, Pose

CAMERA = Intrinsics(525.0, 525.0, 320.0, 240.0, 640, 480)
DENSITY, SIGHT_M, LANE_M, STEP_M, SEEN = 0.3, 8.0, 3.0, 0.9, 8
LABELS = [f"{colour} {thing}" for colour in ("red", "blue", "green", "old") for thing in
          ("chair", "table", "cup", "door", "plant", "lamp", "box", "screen", "bag", "book", "shelf", "bin", "sofa",
           "clock", "poster", "bottle", "keyboard", "ladder", "fan", "sink")]


class Hall:
    """Things on a floor that is wide enough for the wanted number of observations."""

    def __init__(self, observations: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        keyframes = observations / SEEN
        self.side_m = max(12.0, math.sqrt(keyframes * STEP_M * LANE_M))
        count = int(DENSITY * self.side_m**2)
        self.places = np.column_stack([rng.uniform(0, self.side_m, (count, 2)), rng.uniform(0.2, 1.5, count)])
        self.labels = rng.integers(0, len(LABELS), count)
        self.heights = rng.uniform(0.2, 1.0, count)
        cells: dict[tuple[int, int], list[int]] = {}
        for index, (x, y, _) in enumerate(self.places):
            cells.setdefault((int(x // 4), int(y // 4)), []).append(index)
        self.cells = cells

    def route(self) -> Iterator[tuple[float, float, float]]:
        """Lanes there and back, again and again."""
        while True:
            for number, y in enumerate(np.arange(1.0, self.side_m, LANE_M)):
                xs = np.arange(1.0, self.side_m - 1, STEP_M)
                for x in xs if number % 2 == 0 else xs[::-1]:
                    yield float(x), float(y), 0.0 if number % 2 == 0 else math.pi

    def look(self, x: float, y: float, yaw: float) -> tuple[Detection, ...]:
        """Boxes of the nearest things in front."""
        reach = int(SIGHT_M // 4) + 1
        cx, cy = int(x // 4), int(y // 4)
        near = [i for dx in range(-reach, reach + 1) for dy in range(-reach, reach + 1)
                for i in self.cells.get((cx + dx, cy + dy), ())]
        if not near:
            return ()
        index = np.array(near)
        away = self.places[index] - (x, y, 0.6)
        ahead = away[:, 0] * math.cos(yaw) + away[:, 1] * math.sin(yaw)
        left = -away[:, 0] * math.sin(yaw) + away[:, 1] * math.cos(yaw)
        seen = (ahead > 0.8) & (ahead < SIGHT_M) & (np.abs(left) < 0.55 * ahead)
        order = np.argsort(ahead[seen])[:SEEN]
        found = []
        for i, z, side in zip(index[seen][order], ahead[seen][order], left[seen][order], strict=True):
            u, v = 320 - 525 * side / z, 240 - 525 * (self.places[i, 2] - 0.6) / z
            half = 525 * self.heights[i] / z / 2
            box = (u - half, v - half, u + half, v + half)
            found.append(Detection(LABELS[self.labels[i]], box, 0.9, f"a {LABELS[self.labels[i]]} on the floor"))
        return tuple(found)


def associator_called(name: str) -> Associator:
    """One of the two that need no model."""
    return HybridAssociator() if name == "hybrid" else ProximityAssociator()


def rss_mib() -> float:
    """Memory in use now, of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def build(path: Path, observations: int, name: str, marks: list[int]) -> list[dict[str, float]]:
    """Remember a drive, and say what the last thousand keyframes cost at each mark."""
    hall, rows = Hall(observations), []
    with MemoryWriter.open(path, encoder=None, associators=[associator_called(name)]) as writer:
        writer.start_session(robot="bench", map_id="hall", frame_id="map")
        times: list[tuple[float, float, float]] = []
        total = 0
        optical = Pose("base", (0.2, 0.0, 0.6), OPTICAL_IN_BODY)
        for number, (x, y, yaw) in enumerate(hall.route()):
            base = Pose.planar("map", x, y, yaw)
            capture = Capture(number * 10**9, base, base.compose(optical), "front", CAMERA, (640, 480))
            detections = hall.look(x, y, yaw)
            sentence = f"A hall with a {detections[0].label}." if detections else "An empty hall."
            perception = Perception(sentence, detections, (), "bench", "bench")
            one = time.perf_counter()
            keyframe = writer.add_keyframe(capture)
            two = time.perf_counter()
            writer.add_perception(keyframe.keyframe_id, perception)
            three = time.perf_counter()
            writer.associate(keyframe.keyframe_id)
            four = time.perf_counter()
            if len(detections) == SEEN:
                times.append((two - one, three - two, four - three))
            total += len(detections)
            if marks and total >= marks[0]:
                last = np.array(times[-1000:]) * 1e3
                add, perceive, associate = np.percentile(last, 50, axis=0)
                size = path.stat().st_size
                rows.append({
                    "observations": total, "keyframe_ms": add, "perception_ms": perceive, "associate_ms": associate,
                    "p50_ms": float(np.percentile(last.sum(axis=1), 50)),
                    "p99_ms": float(np.percentile(last.sum(axis=1), 99)),
                    "bytes_per_observation": size / total, "writer_rss_mib": rss_mib(),
                })
                print(json.dumps(rows[-1]), flush=True)
                marks.pop(0)
                if not marks:
                    break
    return rows


def read(path: Path, view: str) -> dict[str, float]:
    """In a process of its own, so that start-up and RSS are the reader's."""
    row: dict[str, float] = {}

    def clock(name: str, call: object, repeat: int = 1) -> object:
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            result = call()  # type: ignore[operator]
            times.append(time.perf_counter() - start)
        row[f"{name}_ms"] = 1e3 * sorted(times)[len(times) // 2]
        return result

    reader = clock("open", lambda: MemoryReader.open(path))
    assert isinstance(reader, MemoryReader)
    row["reader_rss_mib"] = rss_mib()
    stats = clock("stats", reader.stats)
    frames = reader.frames()
    rng = np.random.default_rng(1)
    row["entities"] = stats.entities[view]  # type: ignore[attr-defined]
    places = [tuple(float(c) for c in frames.position_m[i]) for i in rng.integers(0, len(frames), 50)]
    ids = [next(iter(reader.entities_in(view, int(frames.ids[i])).values())) for i in rng.integers(0, len(frames), 50)]
    middle = int(frames.stamps_ns[len(frames) // 2])
    state = {"i": 0}

    def one_of(options: list) -> object:  # type: ignore[type-arg]
        state["i"] += 1
        return options[state["i"] % len(options)]

    clock("entity", lambda: reader.entity(view, one_of(ids)), 50)  # type: ignore[arg-type]
    half = [e for e in ids if reader.entity(view, e).first_seen_ns <= middle]
    clock("entity_as_of", lambda: reader.entity(view, one_of(half), middle), 50)  # type: ignore[arg-type]
    clock("near_5m", lambda: reader.near(view, one_of(places), 5.0), 50)  # type: ignore[arg-type]
    clock("near_5m_as_of", lambda: reader.near(view, one_of(places), 5.0, middle), 20)  # type: ignore[arg-type]
    clock("sightings", lambda: reader.sightings(view, one_of(ids)), 50)  # type: ignore[arg-type]
    clock("keyframe", lambda: reader.keyframe(int(frames.ids[len(frames) // 3])), 50)
    clock("refresh_idle", reader.refresh, 50)
    clock("mentions", lambda: sum(1 for _ in reader.mentions()))
    clock("texts", lambda: sum(1 for _ in reader.texts()))
    clock("entities", lambda: sum(1 for _ in reader.entities(view)))
    row["reader_rss_after_mib"] = rss_mib()
    return row


def correct(path: Path, name: str) -> dict[str, float]:
    """Start a writer, correct the last 12,500 poses, forget a label."""
    with MemoryReader.open(path) as reader:
        table = reader.frames()
        keyframes = reader.keyframes([int(i) for i in table.ids[-12_500:]])
        count = sum(len(reader.observations(k.keyframe_id)) for k in keyframes)
    shift = Pose.planar("map", 0.3, -0.2, 0.01)
    corrections = {
        k.keyframe_id: (shift.compose(k.base_pose), shift.compose(k.camera_pose) if k.camera_pose else None)
        for k in keyframes
    }
    start = time.perf_counter()
    writer = MemoryWriter.open(path, encoder=None, associators=[associator_called(name)])
    opened = time.perf_counter()
    writer.correct_poses(corrections)
    corrected = time.perf_counter()
    summary = writer.forget(label="red clock")
    forgot = time.perf_counter()
    writer.close()
    return {
        "writer_open_s": opened - start, "corrected_frames": len(corrections), "corrected_observations": count,
        "correct_s": corrected - opened, "forgotten_observations": summary.observations, "forget_s": forgot - corrected,
    }


def main() -> None:
    """Build, then read and correct in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=float, default=1e5)
    parser.add_argument("--associator", choices=("proximity", "hybrid"), default="proximity")
    parser.add_argument("--profile", action="store_true", help="profile the build instead of measuring it")
    parser.add_argument("--keep", type=Path, help="folder to leave the memory in")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--correct", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(options.read, options.associator)))
        return
    if options.correct:
        print(json.dumps(correct(options.correct, options.associator)))
        return
    folder = options.keep or Path(tempfile.mkdtemp(prefix="memory-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    path, total = folder / "memory.db", int(options.observations)
    marks = [mark for mark in (1_000, 10_000, 100_000, 1_000_000) if mark <= total]
    try:
        if options.profile:
            profile = cProfile.Profile()
            profile.runcall(build, path, total, options.associator, marks)
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
            return
        build(path, total, options.associator, marks)
        for step in ("--read", "--correct"):
            command = [sys.executable, __file__, step, str(path), "--associator", options.associator]
            print(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout, end="", flush=True)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
