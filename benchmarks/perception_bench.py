#!/usr/bin/env python3
"""Milliseconds a frame and peak memory of every perception backend, on this machine's CPU or GPU.

    python benchmarks/perception_bench.py                        every backend, batch 1, on the CPU
    python benchmarks/perception_bench.py --device cuda --batch 1 4 16

Where the published weights are not on this machine, models of the real sizes with random weights stand in: they cost
the same a token, and every answer runs to the token limit (``--tokens``), as a long real one does. Each backend runs in
a process of its own, so that peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.weights import cached_snapshot
from vlkng_ros.types import Perception

BACKENDS = ("opencv_dnn", "captions", "siglip2", "florence2", "qwen_vl")
FLORENCE = "florence-community/Florence-2-base-ft"
QWEN = "Qwen/Qwen2.5-VL-3B-Instruct"
SIGLIP = "google/siglip2-base-patch16-224"
CAPTION = (
    "The image shows a street with a brick sidewalk in a park. The sidewalk is lined with trees on both sides, and a "
    "man in a red jacket is riding a bicycle along it. Two women are sitting on a bench in front of a large building. "
    "There is a fire hydrant on the right side of the image. The sky is blue and the sun is shining through the trees."
)
"""As long as Florence-2's."""
BOXES = 8
"""Crops of a frame that SigLIP2 embeds."""

Describe = Callable[[Sequence[Frame]], object]


def main() -> None:
    """Runs each backend in a process of its own and prints a table."""
    parser = argparse.ArgumentParser(description="Time and memory of the perception backends.")
    parser.add_argument(
        "--backend", nargs="+", choices=BACKENDS, default=BACKENDS[:-1], help="qwen_vl needs 8 GB, on a CPU 15 GB"
    )
    parser.add_argument("--model", default="", help="a hub id or folder in place of the one of real size")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--batch", nargs="+", type=int, default=[1], help="frames at once")
    parser.add_argument("--tokens", type=int, default=80, help="tokens of each generated answer")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.child, args)))
        return
    rows = [row for backend in args.backend for row in _in_own_process(backend, args)]
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'backend':12s} {'model':44s} batch  ms/frame    CPU ms frames/s  load s  peak MB")
    for row in rows:
        print(
            f"{row['backend']:12s} {row['model'][-44:]:44s} {row['batch']:5d} {row['ms']:9.1f} {row['cpu_ms']:9.1f} "
            f"{1e3 / row['ms']:8.2f} {row['load_s']:7.1f} {row['peak_mb']:8.0f}"
        )


def _in_own_process(backend: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    command = [sys.executable, __file__, "--child", backend, "--device", args.device, "--tokens", str(args.tokens)]
    command += ["--repeat", str(args.repeat), "--model", args.model, "--batch", *map(str, args.batch)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{backend}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return []
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def measure(backend: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """One row a batch size: median time of a frame, and the peak of GPU memory, or that of resident memory so far."""
    with tempfile.TemporaryDirectory() as folder:
        name, describe, load_s = _open(backend, Path(folder), args)
        rows: list[dict[str, Any]] = []
        for batch in args.batch:
            frames = [_frame(i) for i in range(batch)]
            _forget_peak(args.device)
            describe(frames)
            times, cpu_s = [], time.process_time()
            for _ in range(args.repeat):
                begin = time.perf_counter()
                describe(frames)
                times.append((time.perf_counter() - begin) * 1e3 / batch)
            # What other programs on the machine take away shows in the first figure and not in the second.
            cpu_ms = (time.process_time() - cpu_s) * 1e3 / (args.repeat * batch)
            row = {"backend": backend, "model": name, "batch": batch, "ms": statistics.median(times), "cpu_ms": cpu_ms}
            rows.append({**row, "load_s": load_s, "peak_mb": _peak_mb(args.device)})
        return rows


def _open(backend: str, folder: Path, args: argparse.Namespace) -> tuple[str, Describe, float]:
    """The model's name, what describes frames with it, and the seconds it took to load."""
    model = args.model or {"florence2": FLORENCE, "qwen_vl": QWEN, "siglip2": SIGLIP}.get(backend, "")
    name = model or {"opencv_dnn": "SSD-MobileNetV2 COCO (packaged)", "captions": "rules, TextBlob's lexicon"}[backend]
    if model and not Path(model).is_dir() and cached_snapshot(model) is None:
        name, model = f"{model.partition('/')[2]} (random weights)", str(folder)
        # In a process of its own, so that making them does not count as memory that the backend needs.
        command = [sys.executable, str(Path(__file__).with_name("synthetic_weights.py")), backend, str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    config = PerceptionConfig(model=model, device=args.device, max_new_tokens=args.tokens, temperature=0.0)
    begin = time.perf_counter()
    describe = _OPENERS[backend](config)
    return name, describe, time.perf_counter() - begin


def _opencv_dnn(config: PerceptionConfig) -> Describe:
    from vlkng_ros.perception.opencv_dnn import OpenCvDnn

    return OpenCvDnn.from_config(config).describe


def _captions(config: PerceptionConfig) -> Describe:
    from vlkng_ros.perception.told import Teller

    teller = Teller(PerceptionConfig())
    teller.warm_up()
    return lambda frames: teller.tell([Perception(CAPTION) for _ in frames], 60.0)


def _florence2(config: PerceptionConfig) -> Describe:
    from vlkng_ros.perception.florence2 import Florence2

    return Florence2(config).describe


def _siglip2(config: PerceptionConfig) -> Describe:
    from vlkng_ros.perception.siglip import Siglip

    siglip = Siglip(config.model, device=config.device)
    boxes = [(40.0 * i, 30.0 * i, 40.0 * i + 200.0, 30.0 * i + 150.0) for i in range(BOXES)]
    return lambda frames: [siglip.embed_crops(frame.image, boxes) for frame in frames]


def _qwen_vl(config: PerceptionConfig) -> Describe:
    from vlkng_ros.perception.qwen_vl import QwenVl

    qwen = QwenVl(config)

    def generate(frames: Sequence[Frame]) -> None:
        qwen._look_at(frames)  # random weights say nothing that could be parsed, so only generating is timed
        qwen._generate(frames, [("user", "Describe these frames.")])

    return generate


_OPENERS = {
    "opencv_dnn": _opencv_dnn,
    "captions": _captions,
    "florence2": _florence2,
    "siglip2": _siglip2,
    "qwen_vl": _qwen_vl,
}


def _frame(seed: int) -> Frame:
    pixels = np.random.default_rng(seed).integers(0, 256, size=(480, 640, 3), dtype=np.uint8)
    return Frame(seed + 1, seed, pixels)


def _forget_peak(device: str) -> None:
    if device == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats()


def _peak_mb(device: str) -> float:
    if device == "cuda":
        import torch

        return torch.cuda.max_memory_allocated() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
