#!/usr/bin/env python3
"""How well each associator tells what is the same thing, and where it is, over drives through the gallery.

    python benchmarks/identity_bench.py --seeds 20
    python benchmarks/identity_bench.py --seeds 2 --views hybrid
    python benchmarks/identity_bench.py --seeds 4 --focal 1.2    a camera whose calibration is wrong
    python benchmarks/identity_bench.py --seeds 3 --detector     photographs, seen by the small detector of the demo
    python benchmarks/identity_bench.py --seeds 4 --pairs-m 0.6  two of a kind side by side in every room, so far apart
    python benchmarks/identity_bench.py --seeds 20 --oracle      what stoa makes of a model that is always right
    python benchmarks/identity_bench.py --seeds 20 --oracle 0.1 0.05    ... or wrong and invalid that often

A drive goes three times through six rooms with 40 things, several of a kind and some side by side; between the laps
some are moved and some taken away. Labels are true; boxes, misses and poses are as noisy as DESIGN section 6 says.
`stoa` runs without a language model, by its fall-back alone; with `--oracle` it asks, over HTTP, a model that reads the
truth off tags which everything seen bears then. That is the most that stoa can do with any model, not what one does.

NEES is the squared error of a place, normalised by its stated covariance. Where that is honest its mean is 3, its
median 2.37, and 95 % of the values are below 7.8. Behind the mean is the 95 % interval of the mean, by how much it
differs from drive to drive, since errors within a drive are not independent: 3 should lie in it. Beyond 99.9 % (16.3)
are places that are wrong, not inexact. NEES of what is one thing leaves out entities of which more than 1 observation
in 10 shows something else.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from vlkng_ros.chat import ChatClient
from vlkng_ros.config import AssociationConfig, PerceptionConfig
from vlkng_ros.evaluation.identity import evaluate
from vlkng_ros.evaluation.identity_drive import IdentityDrive, miscalibrated
from vlkng_ros.evaluation.identity_oracle import MODEL, Spoilt, answered, serving, tagged
from vlkng_ros.evaluation.identity_scores import ViewFigures, summary
from vlkng_ros.evaluation.identity_seen import detected_keyframes, photograph_drive
from vlkng_ros.memory import open_encoder
from vlkng_ros.memory.association.registry import associator_names, open_associator
from vlkng_ros.memory.association.stoa import StoaAssociator
from vlkng_ros.memory.association.stoa_chunks import Chunks
from vlkng_ros.memory.association.stoa_model import StoaModel
from vlkng_ros.perception.base import open_backend


def measured(
    seed: int,
    views: Sequence[str],
    encoder: str,
    detector: bool,
    focal: float,
    mount_deg: tuple[float, float, float],
    pairs_m: float | None,
    oracle: Spoilt | None,
) -> dict[str, ViewFigures]:
    """What every view makes of one seed's drive."""
    if oracle is not None:
        drive, rng = IdentityDrive.make(seed), random.Random(seed)
        with serving(lambda prompt: answered(prompt, oracle, rng)) as url, ChatClient(url, MODEL) as chat:
            return evaluate(
                drive,
                [],
                tagged(drive.keyframes()),
                open_encoder(encoder),
                lambda reader: StoaAssociator(StoaModel(chat), Chunks(reader).starting_at),
            )
    associators = [open_associator(AssociationConfig(), name) for name in views]
    if not detector:
        drive = IdentityDrive.make(seed, pairs=3 if pairs_m is None else 6, pairs_apart_m=pairs_m)
        keyframes = miscalibrated(drive.keyframes(), focal=focal, mount_deg=mount_deg)
        return evaluate(drive, associators, keyframes, open_encoder(encoder))
    drive = photograph_drive(seed)
    backend = open_backend(PerceptionConfig(backend="opencv_dnn"))
    try:
        return evaluate(drive, associators, detected_keyframes(drive, backend), open_encoder(encoder))
    finally:
        backend.close()


def table(rows: dict[str, dict[str, float]]) -> str:
    """A Markdown table: a row a view."""
    lines = [
        "| view | precision | recall | fragmentation | place, m | NEES | NEES of what is one thing "
        "| gone | of these noticeable | moved | two side by side |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for view, row in rows.items():
        cells = [f"{row[name]:.3f} ({row[f'worst_{name}']:.3f})" for name in ("precision", "recall", "fragmentation")]
        cells.append(f"{row['median_error_m']:.2f}, p95 {row['p95_error_m']:.2f} of {row['places']}")
        cells += [
            f"{row[f'{name}_mean']:.2f} ({row[f'{name}_low']:.2f} to {row[f'{name}_high']:.2f}), "
            f"median {row[f'{name}_median']:.2f}, {100 * row[f'{name}_within_95']:.1f} % of {row[f'{name}_count']} "
            f"within 95 %, {row[f'{name}_gross']} beyond 99.9 %"
            for name in ("nees", "nees_apart")
        ]
        cells += [
            f"{row['gone_right']} of {row['gone_true']}, {row['gone_wrong']} wrong",
            f"{row['gone_noticed']} of {row['gone_noticeable']}",
            f"{row['moved_right']} of {row['moved_true']}, {row['moved_wrong']} wrong",
            f"{row['pairs_two']} of {row['pairs']}",
        ]
        lines.append(f"| {view} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="drives to average over")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--views", nargs="+", default=list(associator_names()), choices=associator_names())
    parser.add_argument("--encoder", default="auto", help="text encoder of the labels")
    parser.add_argument("--detector", action="store_true", help="photographs and a real detector, not true labels")
    parser.add_argument("--focal", type=float, default=1.0, help="factor by which the focal lengths are wrong")
    parser.add_argument("--mount-deg", type=float, nargs=3, default=(0.0, 0.0, 0.0), metavar="DEG",
                        help="turn by which the camera's mount is wrong, about right, down, forward")  # fmt: skip
    parser.add_argument("--pairs-m", type=float, help="distance of two of a kind side by side, one pair a room")
    parser.add_argument("--oracle", type=float, nargs="*", metavar="SHARE",
                        help="stoa and a model that knows the truth; shares of wrong, invalid decisions")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--output", type=Path, default=Path("bench_output/identity.json"))
    args = parser.parse_args(arguments)
    oracle = None if args.oracle is None else Spoilt(*args.oracle)
    if oracle is not None:
        args.views = [StoaAssociator.view]
    began = time.monotonic()
    outcomes: list[dict[str, ViewFigures]] = []
    run = partial(measured, views=args.views, encoder=args.encoder, detector=args.detector, focal=args.focal,
                  mount_deg=tuple(args.mount_deg), pairs_m=args.pairs_m, oracle=oracle)  # fmt: skip
    with ProcessPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(run, range(args.first, args.first + args.seeds)):
            outcomes.append(outcome)
            found = "; ".join(
                f"{view} {f.identity.precision:.3f} {f.identity.recall:.3f} {f.identity.fragmentation:.2f}"
                for view, f in outcome.items()
            )
            print(f"seed {args.first + len(outcomes) - 1}: precision, recall, fragmentation: {found}", flush=True)
    rows = {view: summary([outcome[view] for outcome in outcomes]) for view in args.views}
    print(f"\nMean (worst) of {args.seeds} drives, {time.monotonic() - began:.0f} s:\n\n{table(rows)}")
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
