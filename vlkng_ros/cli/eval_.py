"""``vlkng eval``: a benchmark's questions asked by any number of presets of the same memory."""

from __future__ import annotations

import argparse

from vlkng_ros.cli import arguments
from vlkng_ros.config import RetrievalConfig, parameters_of


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb and its benchmarks."""
    known = parameters_of(RetrievalConfig)
    parser = subparsers.add_parser("eval", help="score presets on a benchmark")
    benchmarks = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True)
    navqa = benchmarks.add_parser(
        "navqa",
        help="NaVQA: places, times and yes/no over robot drives",
        description="Ask NaVQA's questions of memories made from captions. Memories are kept in the output folder, so "
        "that an interrupted run goes on and the next one starts at once.",
    )
    navqa.add_argument("folder", type=arguments.path, metavar="DIR", help="with data.csv and SEQ/qa_unfilled.json")
    navqa.add_argument(
        "--captions", type=arguments.path, required=True, metavar="DIR", help="with a caption file in each folder SEQ"
    )
    navqa.add_argument("--out", type=arguments.path, required=True, metavar="DIR", help="memories, figures, report")
    navqa.add_argument(
        "--preset",
        action="append",
        choices=[*(known["preset"].choices), "all"],
        help="how keyframes are found; may be given again; all for every preset (default: hybrid)",
    )
    navqa.add_argument(
        "--answerer", choices=known["answerer"].choices, default=known["answerer"].default, help=known["answerer"].doc
    )
    navqa.add_argument("--server-url", default=known["server_url"].default, metavar="URL", help=known["server_url"].doc)
    navqa.add_argument("--model", default=known["model"].default, metavar="NAME", help=known["model"].doc)
    arguments.add_text_encoder(navqa)
    navqa.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Score NaVQA."""
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.evaluation.navqa import read_navqa
    from vlkng_ros.evaluation.navqa_run import memory_of
    from vlkng_ros.evaluation.navqa_run import run as ask_all
    from vlkng_ros.evaluation.report import table, write_report
    from vlkng_ros.evaluation.scores import Judged, figures
    from vlkng_ros.memory import open_encoder
    from vlkng_ros.memory.association.proximity import ProximityAssociator

    presets = list(dict.fromkeys(args.preset or ["hybrid"]))
    if "all" in presets:
        presets = list(parameters_of(RetrievalConfig)["preset"].choices)
    configs = {
        preset: RetrievalConfig(preset=preset, answerer=args.answerer, server_url=args.server_url, model=args.model)
        for preset in presets
    }
    drives = read_navqa(args.folder, args.captions)
    encoder = open_encoder(args.text_encoder)
    runs: dict[str, list[Judged]] = {preset: [] for preset in presets}
    for drive in drives:
        with progress(f"remember sequence {drive.name}", len(drive.frames), "frames") as advance:
            path = memory_of(drive, args.out / "memories", encoder, (ProximityAssociator(),), advance)
        with progress(f"ask sequence {drive.name}", len(drive.questions) * len(configs), "questions") as advance:
            for preset, judged in ask_all(drive, path, encoder, configs, advance).items():
                runs[preset] += judged
    print(table({preset: figures(judged) for preset, judged in runs.items()}))
    print(f"\n{write_report(args.out, runs, f'NaVQA, {len(drives)} sequences, answerer {args.answerer}')}")
    return 0
