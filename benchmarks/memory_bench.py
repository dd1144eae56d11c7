#!/usr/bin/env python3
"""What the memory costs as it grows, beside eMEM: one table, and bench_output/bench.json.

    python benchmarks/memory_bench.py                       # up to 1e6 observations: some ten minutes
    python benchmarks/memory_bench.py --observations 1e5    # two minutes
    python benchmarks/memory_bench.py --home                # few things, seen again and again for as long
    python benchmarks/memory_bench.py --both                # hybrid's writing, too, up to 1e6: ten minutes more
    python benchmarks/memory_bench.py --without-emem        # else eMEM (PyPI: emem) runs where it is installed
    python benchmarks/memory_bench.py --keep FOLDER         # leaves the memories there, and asks them again next time

A memory is written keyframe by keyframe through the real writer: add, describe, associate, each durable before the
next begins. Where it reaches 1e3, 1e4, ... observations a copy is put aside, which a process of its own then reads and
asks, and another one starts anew. Between those moments, from 1e5 on, the writer does not wait for the disk
(``synchronous=OFF``) to save time; the thousand keyframes before each mark, which are what is measured, are written
with ``synchronous=FULL``.
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
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from clock import CLOCK, clocked, now
from hall import SEEN, Hall, WordVectors, places_asked, questions, things_asked
from numpy.typing import NDArray
from stages import STAGES, timed_stages

from vlkng_ros.answering.ask import MemoryQuery
from vlkng_ros.memory import MemoryReader, MemoryWriter, open_encoder
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.retrieval.matching import Encoded
from vlkng_ros.retrieval.presets import OURS, finder_for
from vlkng_ros.retrieval.query import parse
from vlkng_ros.retrieval.retriever import Found
from vlkng_ros.types import FloatArray, Pose, Question, TextEncoder

MARKS = (1_000, 10_000, 100_000, 1_000_000)
MEASURED = 1_000
"""Keyframes before a mark whose cost counts."""
EMEM_AT = 100_000
ASSOCIATORS = ("proximity", "hybrid")
"""One is measured up to the largest memory, and the other one's writing up to where eMEM is, if no further."""
HOME = 2_000
"""What a home is made for: 200 things, which a robot comes by every five minutes."""
WINDOWS = (0.01, 0.5, 1.0)
LATEST = 1_250
"""Keyframes of one more window, as long in a memory of any age: what age alone costs. They show 1e4 observations."""
LATEST_NAME = f"the latest {LATEST:,} keyframes"
REPEATS = 3
"""Times that every question is asked of every window."""
Row = dict[str, Any]


def associator_called(name: str) -> Associator:
    """One of the two that need no model."""
    return HybridAssociator() if name == "hybrid" else ProximityAssociator()


def rss_mib() -> float:
    """Memory in use now, of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def build(folder: Path, observations: int, made_for: int, associator: str) -> list[Row]:
    """Remember a drive; what the last thousand keyframes cost at each mark, and a copy of the memory there."""
    marks = [mark for mark in MARKS if mark < observations] + [observations]
    rows: list[Row] = []
    path = folder / "memory.db"
    with MemoryWriter.open(path, encoder=WordVectors(), associators=[associator_called(associator)]) as writer:
        connection = writer._store.connection
        writer.start_session(robot="bench", map_id="hall", frame_id="map")
        times: list[tuple[float, float, float]] = []
        total, spent, storing = 0, 0.0, 0.0
        for number, (capture, perception) in enumerate(Hall(made_for).drive(), start=1):
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
            storing += three - one
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
                "commit_p95_ms": float(np.percentile(last.sum(axis=1), 95)), "ingest_s": spent, "storing_s": storing,
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


class Encoding:
    """``WordVectors`` at the price of all-MiniLM-L6-v2, where that is installed: it encodes, and is not listened to."""

    def __init__(self) -> None:
        self._words = WordVectors()
        self._real: TextEncoder | None = open_encoder("auto")
        self.encoder_id, self.dimensions = self._words.encoder_id, self._words.dimensions
        self.costs = self._real is not None
        """Whether encoding takes what it takes in earnest."""
        self.encode(["to warm up"])

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, shape ``(len(texts), 384)``."""
        if self._real is not None:
            self._real.encode(texts)
        return self._words.encode(texts)


def read(path: Path, view: str, made_for: int) -> Row:
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
    row |= asked(query, table.stamps_ns)
    encoder, index = WordVectors(), query.retriever.index
    semantic = [lambda t=t: _like(reader, index, encoder, t) for t in things_asked()]
    row["semantic_ms"] = float(np.median(clocked(semantic)))
    places = [(x, y, 0.0) for x, y in places_asked(made_for, len(table))]
    row["spatial_ms"] = float(np.median(clocked([lambda at=at: reader.near(view, at, 5.0, limit=10) for at in places])))
    ids = [int(i) for i in np.random.default_rng(1).choice(table.ids, 50)]
    names = [next(iter(reader.entities_in(view, i).values()), "") for i in ids]
    row["entity_ms"] = float(np.median(clocked([lambda n=n: reader.entity(view, n) for n in names if n])))
    middle = (int(table.stamps_ns[0]) + int(table.stamps_ns[-1])) // 2
    past = [lambda at=at: reader.near(view, at, 5.0, middle) for at in places]
    row["near_as_of_ms"] = float(np.median(clocked(past)))
    row["follow_ms"] = follow(path, query)
    row["reader_rss_after_mib"] = rss_mib()
    return row


def asked(query: MemoryQuery, stamps_ns: NDArray[np.int64]) -> Row:
    """What answers cost over each window, with vectors of their wordings known and with encoding them, and by stage."""
    row: Row = {}
    low, high = int(stamps_ns[0]), int(stamps_ns[-1])
    windows = {f"{window:.0%}": None if window == 1 else int(high - (high - low) * window) for window in WINDOWS}
    windows[LATEST_NAME] = int(stamps_ns[-LATEST:][0])
    texts = questions()
    for question in texts:
        query.ask(Question(text=question))
    for name, since in windows.items():
        times = clocked([lambda q=q, s=since: query.ask(Question(text=q, since_ns=s)) for q in texts * REPEATS])
        row[f"ask_{name}"] = percentiles(times)
        times = clocked([lambda q=q, s=since: retrieve(query, q, s) for q in texts * REPEATS])
        row[f"find_{name}"] = percentiles(times)
    encoding = Encoding()
    row["encoding_costs"] = encoding.costs
    for name, since in windows.items():
        times, found = [], []
        for text in texts:
            query.retriever.encoded = Encoded(encoding)  # each question for the first time
            times += clocked([lambda q=text, s=since: query.ask(Question(text=q, since_ns=s))])
            query.retriever.encoded = Encoded(encoding)
            found += clocked([lambda q=text, s=since: retrieve(query, q, s)])
        row[f"ask_encoding_{name}"], row[f"find_encoding_{name}"] = percentiles(times), percentiles(found)
    with timed_stages() as spent:
        for text in texts:
            query.retriever.encoded = Encoded(encoding)
            query.ask(Question(text=text))
    row["stages"] = spent.percentiles()
    return row


def retrieve(query: MemoryQuery, text: str, since_ns: int | None) -> Found:
    """A question's ranked keyframes with their evidence: all of an answer but its value, words, things and images."""
    retriever = query.retriever
    retriever.refresh()
    scene = retriever.scene(since_ns, None)
    x, y, z = scene.positions_m[-1].tolist()
    with retriever.reader.snapshot():
        return finder_for(retriever, OURS).find(parse(text), scene, (x, y, z))


def percentiles(times_ms: Sequence[float]) -> dict[str, float]:
    """The 50th and the 95th."""
    low, high = np.percentile(times_ms, (50, 95))
    return {"p50_ms": float(low), "p95_ms": float(high)}


def restart(path: Path) -> Row:
    """Start once more on a memory that was read before, to the first answer."""
    begin = now()
    with MemoryReader.open(path) as reader:
        MemoryQuery(reader, WordVectors()).ask(Question(text="Where is the exit?"))
        return {"restart_s": now() - begin}


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


def at_least(rows: list[Row], observations: int) -> Row:
    """The row of the smallest memory of so many observations, or of the largest there is."""
    return next((row for row in rows if row["observations"] >= observations), rows[-1])


Line = tuple[str, str, str, str]


def table(rows: list[Row], other: list[Row], corrected: Row, emem: Row | None) -> list[Line]:
    """What is measured, at each size, with its goal and whether it is reached; ``other`` is by the other associator."""
    ours, last = at_least(rows, EMEM_AT), rows[-1]
    found: list[Line] = []

    def add(name: str, values: Sequence[float], goal: str, reached: bool | None, digits: int = 2) -> None:
        shown = "  ".join(f"{v:.{digits}f}" for v in values)
        found.append((name, shown, goal, "" if reached is None else "yes" if reached else "NO"))

    def each(key: str) -> list[float]:
        return [row[key] for row in rows]

    for drive in (rows, other):
        cost = [row["commit_p50_ms"] for row in drive]
        ratios = [p50 / at_least(drive, 10_000)["commit_p50_ms"] for p50 in cost]
        add(f"keyframe of 8 detections by {drive[0]['associator']}, p50 ms", cost, "<= 5", cost[-1] <= 5)
        add("... over its cost at 1e4", ratios, "<= 1.5", ratios[-1] <= 1.5)
    encoding = "with MiniLM's encoding" if last["encoding_costs"] else "without MiniLM, which is not installed"
    for key, what, name, goal in (
        ("find", "retrieval", "with vectors known", 5), ("find_encoding", "retrieval", encoding, 15),
        ("ask", "whole answer", "with vectors known", 5), ("ask_encoding", "whole answer", encoding, 15),
    ):
        for window in (f"{window:.0%}" for window in WINDOWS):
            p50, p95 = ([row[f"{key}_{window}"][p] for row in rows] for p in ("p50_ms", "p95_ms"))
            add(f"{what} over {window} {name}, p50 ms", p50, f"<= {goal}", p50[-1] <= goal)
            add("... over its cost at the size before", [b / a for a, b in pairwise(p50)], "", None)
            add("... p95 ms", p95, "<= 2 p50", p95[-1] <= 2 * p50[-1])
        p50 = [row[f"{key}_{LATEST_NAME}"]["p50_ms"] for row in rows]
        ratios = [cost / at_least(rows, 10_000)[f"{key}_{LATEST_NAME}"]["p50_ms"] for cost in p50]
        add(f"{what} over {LATEST_NAME} {name}, p50 ms", p50, "", None)
        add("... over its cost at 1e4", ratios, "<= 1.5", ratios[-1] <= 1.5)
    add("reader's first start to first answer, s", each("first_answer_s"), "", None)
    add("restart to first answer, s", each("restart_s"), "<= 5", last["restart_s"] <= 5)
    add("... with entities", each("entities"), "1e5", None, 0)
    add("committed keyframe in a reader's index, ms", each("follow_ms"), "<= 200", last["follow_ms"] <= 200)
    for name in ("reader_rss_after_mib", "writer_rss_mib"):
        add(f"RSS of {name.partition('_')[0]}, MiB", each(name), "<= 1907", last[name] <= 1907, 0)
    size = last["bytes_an_observation"]
    add("bytes an observation", each("bytes_an_observation"), "<= 1000", size <= 1000, 0)
    frames = f"correct {corrected['corrected_frames']} poses, {corrected['corrected_observations']} observations, s"
    add(frames, [corrected["correct_s"]], "<= 5", corrected["correct_s"] <= 5)
    if emem is None:
        found.append(("eMEM", "not installed: pip install vlkng_ros[bench]", "", ""))
        return found
    for row in (ours, at_least(other, EMEM_AT)):
        speed = row["observations"] / row["ingest_s"]
        add(f"ingest at 1e5, observations a second: ours by {row['associator']}, eMEM",
            [speed, emem["observations_a_second"]], ">= 2x", speed >= 2 * emem["observations_a_second"], 0)
    # eMEM stores, and does not ask which observations show the same thing.
    storing = ours["observations"] / ours["storing_s"]
    add("... without association, which eMEM has none of", [storing, emem["observations_a_second"]], ">= 2x",
        storing >= 2 * emem["observations_a_second"], 0)
    for kind in ("semantic", "spatial"):
        mine, theirs = ours[f"{kind}_ms"], emem[f"{kind}_ms"]
        add(f"{kind} query at 1e5, ms: ours, eMEM", [mine, theirs], "<= 0.5x", mine <= 0.5 * theirs, 3)
    sizes = [ours["bytes_an_observation"], emem["bytes_an_observation"]]
    add("bytes an observation at 1e5: ours, eMEM", sizes, "", None, 0)
    return found


def stage_table(rows: list[Row]) -> list[tuple[str, ...]]:
    """Milliseconds by stage of answers over the whole memory, at the smallest and at the largest size."""
    lines = []
    for stage in STAGES:
        shown = (f"{p50:.2f} / {p95:.2f}" for p50, p95 in (rows[0]["stages"][stage], rows[-1]["stages"][stage]))
        lines.append((stage, *shown))
    return lines


def printed(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need."""
    widths = [max(len(line[i]) for line in (heading, *lines)) for i in range(len(heading))]
    for line in (heading, tuple("-" * width for width in widths), *lines):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def main() -> None:
    """Build, then read and correct in processes of their own; print the table and write bench.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=float, default=1e6, help="largest memory (default: 1e6)")
    parser.add_argument("--home", action="store_true", help="few things, seen again and again, not ever new ones")
    parser.add_argument("--associator", choices=ASSOCIATORS, default="proximity")
    parser.add_argument("--both", action="store_true", help="write the largest memory by the other associator, too")
    parser.add_argument("--without-emem", action="store_true", help="leave eMEM out")
    parser.add_argument("--cpu-time", action="store_true", help="count CPU time: on a machine that is busy otherwise")
    parser.add_argument("--output", type=Path, default=Path("bench_output"), help="folder for bench.json")
    parser.add_argument("--keep", type=Path, help="folder to leave the memories in; those that are there are used")
    parser.add_argument("--step", nargs=3, metavar=("NAME", "PATH", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    observations = int(options.observations)
    made_for = HOME if options.home else observations
    if options.step:
        name, path, number = options.step
        print(json.dumps(step(name, Path(path), int(number), made_for, options.associator)))
        return
    if options.cpu_time:
        os.environ[CLOCK] = "cpu"
    folder = options.keep or Path(tempfile.mkdtemp(prefix="memory-bench-"))
    folder.mkdir(parents=True, exist_ok=True)

    def apart(name: str, path: str | Path, number: int = 0) -> Row:
        print(f"  {name} {path}", file=sys.stderr)
        command = [sys.executable, __file__, "--associator", options.associator, "--step", name, str(path), str(number)]
        command += ["--observations", str(observations), *(["--home"] if options.home else [])]
        row: Row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        return row

    started = time.time()
    try:
        rows = built(folder, observations, made_for, options.associator)
        other_name = next(name for name in ASSOCIATORS if name != options.associator)
        largest = observations if options.both else min(observations, EMEM_AT)
        other = built(folder / other_name, largest, made_for, other_name)
        at = at_least(rows, EMEM_AT)
        shutil.copy(at["file"], folder / "correct.db")
        rows = [
            {**row, **apart("read", row["file"]), **apart("restart", row["file"])} for row in rows
        ]
        corrected = apart("correct", folder / "correct.db")
        emem = None
        if not options.without_emem and importlib.util.find_spec("emem") is not None:
            shutil.rmtree(folder / "emem", ignore_errors=True)
            emem = apart("emem", folder / "emem", at["keyframes"])
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    lines, stages = table(rows, other, corrected, emem), stage_table(rows)
    result = {
        "sizes": rows, "by_the_other_associator": other, "correcting": corrected, "emem": emem, "cores": os.cpu_count(),
        "load_1min": os.getloadavg()[0], "clock": os.environ.get(CLOCK, "wall"),
        "minutes": (time.time() - started) / 60, "associator": options.associator,
        "table": [dict(zip(("what", "measured", "goal", "reached"), line, strict=True)) for line in lines],
    }
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "bench.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    sizes = [f"{row['observations']:.0e}" for row in rows]
    printed(("what", f"at {'  '.join(sizes)} observations", "goal", "reached"), lines)
    print()
    printed(("stage of an answer, p50 / p95 ms", f"at {sizes[0]}", f"at {sizes[-1]}"), stages)
    busy = f"load {result['load_1min']:.1f} on {result['cores']} cores, {result['clock']} time"
    print(f"{options.output / 'bench.json'}: {result['minutes']:.1f} minutes, {busy}")


def built(folder: Path, observations: int, made_for: int, associator: str) -> list[Row]:
    """``build``, or what it made in this folder before."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"built-{observations}-in-{made_for}-{associator}.json"
    if made.exists():
        kept: list[Row] = json.loads(made.read_text(encoding="utf-8"))
    else:
        kept = build(folder, observations, made_for, associator)
        made.write_text(json.dumps(kept), encoding="utf-8")
    return [{**row, "associator": associator} for row in kept]


def step(name: str, path: Path, number: int, made_for: int, associator: str) -> Row:
    """One of the steps that have a process of their own."""
    if name == "read":
        return read(path, associator, made_for)
    if name == "correct":
        return correct(path, associator)
    if name == "restart":
        return restart(path)
    import emem_side

    return emem_side.measure(path, made_for, number)


if __name__ == "__main__":
    main()
