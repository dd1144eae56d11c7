#!/usr/bin/env python3
"""What the memory costs as it grows, beside eMEM: one table, and bench_output/bench.json.

    python benchmarks/memory_bench.py                       # up to 1e6 observations: some ten minutes
    python benchmarks/memory_bench.py --observations 1e5    # two minutes
    python benchmarks/memory_bench.py --without-emem        # else eMEM (PyPI: emem) runs where it is installed

A memory is written keyframe by keyframe through the real writer: add, describe, associate, each durable before the
next begins. Where it reaches 1e3, 1e4, ... observations a copy is put aside, which a process of its own then reads and
asks. Between those moments, from 1e5 on, the writer does not wait for the disk (``synchronous=OFF``) to save time; the
thousand keyframes before each mark, which are what is measured, are written with ``synchronous=FULL``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from clock import CLOCK, clocked, now
from hall import SEEN, Hall, WordVectors, places_asked, questions, things_asked

from vlkng_ros.answering.ask import MemoryQuery
from vlkng_ros.memory import MemoryReader, MemoryWriter, open_encoder
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import Pose, Question

MARKS = (1_000, 10_000, 100_000, 1_000_000)
MEASURED = 1_000
"""Keyframes before a mark whose cost counts."""
EMEM_AT = 100_000
WINDOWS = (0.01, 0.5, 1.0)
Row = dict[str, Any]


def associator_called(name: str) -> Associator:
    """One of the two that need no model."""
    return HybridAssociator() if name == "hybrid" else ProximityAssociator()


def rss_mib() -> float:
    """Memory in use now, of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def build(folder: Path, observations: int, associator: str) -> list[Row]:
    """Remember a drive; what the last thousand keyframes cost at each mark, and a copy of the memory there."""
    marks = [mark for mark in MARKS if mark < observations] + [observations]
    rows: list[Row] = []
    path = folder / "memory.db"
    with MemoryWriter.open(path, encoder=WordVectors(), associators=[associator_called(associator)]) as writer:
        connection = writer._store.connection
        writer.start_session(robot="bench", map_id="hall", frame_id="map")
        times: list[tuple[float, float, float]] = []
        total, spent = 0, 0.0
        for number, (capture, perception) in enumerate(Hall(observations).drive(), start=1):
            waits = len(rows) < 3 or total > marks[0] - 1.3 * SEEN * MEASURED
            if number % 64 == 0:
                connection.execute(f"PRAGMA synchronous = {'FULL' if waits else 'OFF'}")
            one = now()
            keyframe = writer.add_keyframe(capture)
            two = now()
            writer.add_perception(keyframe.keyframe_id, perception)
            three = now()
            writer.associate(keyframe.keyframe_id)
            four = now()
            spent += four - one
            total += len(perception.detections)
            if len(perception.detections) == SEEN:
                times.append((two - one, three - two, four - three))
            if total < marks[0]:
                continue
            last = 1e3 * np.array(times[-MEASURED:])
            add, perceive, associate = np.percentile(last, 50, axis=0)
            row = {
                "observations": total, "keyframes": number, "keyframe_ms": add, "perception_ms": perceive,
                "associate_ms": associate, "commit_p50_ms": float(np.percentile(last.sum(axis=1), 50)),
                "commit_p95_ms": float(np.percentile(last.sum(axis=1), 95)), "ingest_s": spent,
                "writer_rss_mib": rss_mib(), "file": str(folder / f"{marks[0]}.db"),
            }
            with sqlite3.connect(row["file"]) as copy:
                connection.backup(copy)
            copy.close()
            row["bytes_an_observation"] = Path(row["file"]).stat().st_size / total
            rows.append(row)
            print(f"  {total} observations written: {row['commit_p50_ms']:.2f} ms a keyframe", file=sys.stderr)
            if not marks[1:]:
                break
            del marks[0]
    return rows


def read(path: Path, view: str, hall_for: int) -> Row:
    """Start, answer, search; in a process of its own, so that start-up and RSS are the reader's."""
    row: Row = {}
    begin = now()
    reader = MemoryReader.open(path)
    row["open_ms"] = 1e3 * (now() - begin)
    query = MemoryQuery(reader, WordVectors())
    query.ask(Question(text="Where is the exit?"))
    row["first_answer_s"] = now() - begin
    row["reader_rss_mib"] = rss_mib()
    stats, table = reader.stats(), reader.frames()
    row["entities"], row["texts"] = stats.entities[view], stats.texts
    low, high = int(table.stamps_ns[0]), int(table.stamps_ns[-1])
    asked = questions()
    for question in asked[::7]:
        query.ask(Question(text=question))
    for window in WINDOWS:
        since = None if window == 1 else int(high - (high - low) * window)
        times = clocked([lambda q=q, s=since: query.ask(Question(text=q, since_ns=s)) for q in asked])
        name = f"ask_{round(100 * window)}pc"
        row[f"{name}_p50_ms"], row[f"{name}_p95_ms"] = (float(p) for p in np.percentile(times, (50, 95)))
    encoder, index = WordVectors(), query.retriever.index
    semantic = [lambda t=t: _like(reader, index, encoder, t) for t in things_asked()]
    row["semantic_ms"] = float(np.median(clocked(semantic)))
    places = [(x, y, 0.0) for x, y in places_asked(hall_for)]
    row["spatial_ms"] = float(np.median(clocked([lambda at=at: reader.near(view, at, 5.0, limit=10) for at in places])))
    ids = [int(i) for i in np.random.default_rng(1).choice(table.ids, 50)]
    names = [next(iter(reader.entities_in(view, i).values()), "") for i in ids]
    row["entity_ms"] = float(np.median(clocked([lambda n=n: reader.entity(view, n) for n in names if n])))
    middle = (low + high) // 2
    past = [lambda at=at: reader.near(view, at, 5.0, middle) for at in places]
    row["near_as_of_ms"] = float(np.median(clocked(past)))
    row["follow_ms"] = follow(path, query)
    row["reader_rss_after_mib"] = rss_mib()
    return row


def _like(reader: MemoryReader, index: Any, encoder: WordVectors, text: str) -> list[Any]:
    """The ten texts nearest in meaning, with the keyframe that said each last: what eMEM's semantic search gives."""
    cut = index.cut()
    slots, cosines = index.dense.similar(encoder.encode([text]), cut.slots)
    best = slots[np.argsort(-cosines[0])[:10]]
    frames, ranks = index.mentions_of(best, cut, 1 << 16)
    last = {int(rank): int(frame) for frame, rank in sorted(zip(frames.tolist(), ranks.tolist(), strict=True))}
    return reader.keyframes([int(index.keyframe_ids[frame]) for frame in last.values()])


def follow(path: Path, query: MemoryQuery) -> float:
    """Milliseconds from a described keyframe's commit until a reader in use has it in its index; the median of 20."""
    times = []
    with MemoryWriter.open(path, encoder=WordVectors()) as writer:
        writer.start_session(robot="bench", map_id="hall", frame_id="map")
        newest = int(query.retriever.reader.frames().stamps_ns[-1])
        for second, (capture, perception) in zip(range(1, 21), cycle(Hall(1_000).drive()), strict=False):
            later = type(capture)(newest + second * 10**9, capture.base_pose, capture.camera_pose, "front")
            number = writer.add_keyframe(later).keyframe_id
            writer.add_perception(number, perception)
            start = now()
            query.retriever.refresh()
            times.append(1e3 * (now() - start))
            if query.retriever.index.frame_of(number) is None:
                raise RuntimeError(f"keyframe {number} is committed and the reader does not have it")
    return float(np.median(times))


def correct(path: Path, associator: str) -> Row:
    """Start a writer, correct 12,500 poses, forget a label; by the wall's clock, since processes share the work."""
    with MemoryReader.open(path) as reader:
        keyframes = reader.keyframes([int(i) for i in reader.frames().ids[:12_500]])
        count = sum(len(reader.observations(k.keyframe_id)) for k in keyframes)
    shift = Pose.planar("map", 0.3, -0.2, 0.01)
    corrections = {
        k.keyframe_id: (shift.compose(k.base_pose), shift.compose(k.camera_pose) if k.camera_pose else None)
        for k in keyframes
    }
    start = time.perf_counter()
    writer = MemoryWriter.open(path, encoder=None, associators=[associator_called(associator)])
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


def encoding_ms() -> float | None:
    """What all-MiniLM-L6-v2 takes for a question's wordings on this machine; None where it is not installed."""
    encoder = open_encoder("auto")
    if encoder is None:
        return None
    encoder.encode(["to warm up"])
    return float(np.median(clocked([lambda t=t: encoder.encode([t, f"a {t}"]) for t in things_asked()])))


def table(rows: list[Row], corrected: Row, emem: Row | None, encoding: float | None) -> list[tuple[str, str, str, str]]:
    """What is measured, at each size, with its goal and whether it is reached."""
    ours = next((row for row in rows if row["observations"] >= EMEM_AT), rows[-1])
    base = next((row for row in rows if row["observations"] >= 10_000), rows[0])
    last = rows[-1]
    found: list[tuple[str, str, str, str]] = []

    def add(name: str, values: Sequence[float | None], goal: str, reached: bool | None, digits: int = 2) -> None:
        shown = "  ".join("-" if v is None else f"{v:.{digits}f}" for v in values)
        found.append((name, shown, goal, "" if reached is None else "yes" if reached else "NO"))

    def each(key: str) -> list[float]:
        return [row[key] for row in rows]

    add("keyframe of 8 detections, p50 ms", each("commit_p50_ms"), "<= 5", last["commit_p50_ms"] <= 5)
    ratio = last["commit_p50_ms"] / base["commit_p50_ms"]
    add("... over its cost at 1e4", [ratio], "<= 1.5", ratio <= 1.5)
    for window in WINDOWS:
        name = f"ask_{round(100 * window)}pc"
        p50, p95 = last[f"{name}_p50_ms"], last[f"{name}_p95_ms"]
        add(f"answer over {window:.0%}, p50 ms", each(f"{name}_p50_ms"), "<= 5", p50 <= 5)
        add(f"answer over {window:.0%}, p95 ms", each(f"{name}_p95_ms"), "<= 2 p50", p95 <= 2 * p50)
    if encoding is not None:
        whole = last["ask_100pc_p50_ms"] + encoding
        add("answer with MiniLM's encoding, p50 ms", [whole], "<= 15", whole <= 15)
    add("reader's start to first answer, s", each("first_answer_s"), "<= 5", last["first_answer_s"] <= 5)
    add("... with entities", each("entities"), "1e5", None, 0)
    add("committed keyframe in a reader's index, ms", each("follow_ms"), "<= 200", last["follow_ms"] <= 200)
    rss = max(last["reader_rss_after_mib"], last["writer_rss_mib"])
    add("RSS of reader, MiB", each("reader_rss_after_mib"), "<= 1907", rss <= 1907, 0)
    add("RSS of writer, MiB", each("writer_rss_mib"), "<= 1907", rss <= 1907, 0)
    size = last["bytes_an_observation"]
    add("bytes an observation", each("bytes_an_observation"), "<= 1000", size <= 1000, 0)
    frames = f"correct {corrected['corrected_frames']} poses, {corrected['corrected_observations']} observations, s"
    add(frames, [corrected["correct_s"]], "<= 5", corrected["correct_s"] <= 5)
    if emem is None:
        found.append(("eMEM", "not installed: pip install vlkng_ros[bench]", "", ""))
        return found
    speed = ours["observations"] / ours["ingest_s"]
    add("ingest at 1e5, observations a second: ours, eMEM", [speed, emem["observations_a_second"]], ">= 2x",
        speed >= 2 * emem["observations_a_second"], 0)
    for kind in ("semantic", "spatial"):
        mine, theirs = ours[f"{kind}_ms"], emem[f"{kind}_ms"]
        add(f"{kind} query at 1e5, ms: ours, eMEM", [mine, theirs], "<= 0.5x", mine <= 0.5 * theirs, 3)
    sizes = [ours["bytes_an_observation"], emem["bytes_an_observation"]]
    add("bytes an observation at 1e5: ours, eMEM", sizes, "", None, 0)
    return found


def main() -> None:
    """Build, then read and correct in processes of their own; print the table and write bench.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=float, default=1e6, help="largest memory (default: 1e6)")
    parser.add_argument("--associator", choices=("proximity", "hybrid"), default="proximity")
    parser.add_argument("--without-emem", action="store_true", help="leave eMEM out")
    parser.add_argument("--cpu-time", action="store_true", help="count CPU time: on a machine that is busy otherwise")
    parser.add_argument("--output", type=Path, default=Path("bench_output"), help="folder for bench.json")
    parser.add_argument("--keep", type=Path, help="folder to leave the memories in")
    parser.add_argument("--step", nargs=3, metavar=("NAME", "PATH", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(step(*options.step, options.associator)))
        return
    if options.cpu_time:
        os.environ[CLOCK] = "cpu"
    observations = int(options.observations)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="memory-bench-"))
    folder.mkdir(parents=True, exist_ok=True)

    def apart(name: str, path: str | Path, number: int) -> Row:
        print(f"  {name} {path}", file=sys.stderr)
        command = [sys.executable, __file__, "--associator", options.associator, "--step", name, str(path), str(number)]
        row: Row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        return row

    started = time.time()
    try:
        rows = build(folder, observations, options.associator)
        at = next((row for row in rows if row["observations"] >= EMEM_AT), rows[-1])
        shutil.copy(at["file"], folder / "correct.db")
        rows = [{**row, **apart("read", row["file"], observations)} for row in rows]
        corrected = apart("correct", folder / "correct.db", 0)
        emem = None
        if not options.without_emem and importlib.util.find_spec("emem") is not None:
            emem = apart("emem", folder / "emem", at["keyframes"])
        encoding = encoding_ms()
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    lines = table(rows, corrected, emem, encoding)
    result = {
        "sizes": rows, "correcting": corrected, "emem": emem, "encoding_ms": encoding, "cores": os.cpu_count(),
        "load_1min": os.getloadavg()[0], "clock": os.environ.get(CLOCK, "wall"),
        "minutes": (time.time() - started) / 60, "associator": options.associator,
        "table": [dict(zip(("what", "measured", "goal", "reached"), line, strict=True)) for line in lines],
    }
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "bench.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    sizes = "  ".join(f"{row['observations']:.0e}" for row in rows)
    heading = ("what", f"at {sizes} observations", "goal", "reached")
    widths = [max(len(line[i]) for line in (heading, *lines)) for i in range(4)]
    for line in (heading, tuple("-" * width for width in widths), *lines):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    busy = f"load {result['load_1min']:.1f} on {result['cores']} cores, {result['clock']} time"
    print(f"{options.output / 'bench.json'}: {result['minutes']:.1f} minutes, {busy}")


def step(name: str, path: str, number: str, associator: str) -> Row:
    """One of the steps that have a process of their own."""
    if name == "read":
        return read(Path(path), associator, int(number))
    if name == "correct":
        return correct(Path(path), associator)
    import emem_side

    return emem_side.measure(Path(path), EMEM_AT, int(number))


if __name__ == "__main__":
    main()
