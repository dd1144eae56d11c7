"""``vlkng eval``: a benchmark's questions asked by any number of presets of the same memory."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vlkng_ros.cli import arguments
from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.config import EvaluationConfig, RetrievalConfig, parameters_of
from vlkng_ros.errors import InvalidInputError

if TYPE_CHECKING:
    from vlkng_ros.evaluation.benchmark import Recording
    from vlkng_ros.evaluation.plots import Bins
    from vlkng_ros.evaluation.running import Models
    from vlkng_ros.memory.association.base import Associator

BENCHMARKS = {
    "navqa": "NaVQA: places, times and yes/no over robot drives",
    "openeqa": "OpenEQA: open questions about rooms that were filmed",
    "walkieknowledge": "WalkieKnowledge: questions about walks, with the frames that answer them",
    "egolife": "EgoLifeQA: multiple choice over a week of captions",
}
LAYOUTS = {
    "navqa": "with data.csv and SEQ/qa_unfilled.json",
    "openeqa": "with open-eqa-v0.json and frames/EPISODE/",
    "walkieknowledge": "with TRAJECTORY/questions.json and frames/",
    "egolife": "with EgoLifeQA/ and EgoLifeCap/",
}


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb and its benchmarks."""
    parser = subparsers.add_parser("eval", help="score presets on a benchmark")
    benchmarks = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", dest="benchmark", required=True)
    for name, text in BENCHMARKS.items():
        _add_benchmark(benchmarks, name, text)


def _add_benchmark(benchmarks: arguments.Parsers, name: str, text: str) -> None:
    known = parameters_of(RetrievalConfig)
    parser = benchmarks.add_parser(
        name,
        help=text,
        description=f"{text}. Memories and answers are kept in the output folder, so that an interrupted run goes on "
        "where it was and the next one asks only what is new.",
    )
    parser.add_argument("folder", type=arguments.path, metavar="DIR", help=LAYOUTS[name])
    if name != "egolife":
        parser.add_argument(
            "--captions",
            type=arguments.path,
            required=name == "navqa",
            metavar="DIR",
            help="caption files, " + ("one in each folder SEQ" if name == "navqa" else "in the place of pictures"),
        )
    parser.add_argument(
        "--out",
        type=arguments.path,
        default=Path(f"eval_{name}"),
        metavar="DIR",
        help=f"memories, answers, figures, report (default: eval_{name})",
    )
    parser.add_argument(
        "--preset",
        action="append",
        choices=[*(known["preset"].choices), "all"],
        help="how keyframes are found; may be given again; all for every preset (default: hybrid)",
    )
    parser.add_argument(
        "--ablations",
        action="store_true",
        help="also VL-KnG's F and CwGR, and hybrid with each channel alone and with each left out",
    )
    parser.add_argument(
        "--answerer",
        choices=known["answerer"].choices,
        help=f"{known['answerer'].doc} (with --llm: that of each preset's paper)",
    )
    parser.add_argument("--llm", metavar="NAME", help="language model that answers, as the server knows it")
    parser.add_argument("--server-url", metavar="URL", help=known["server_url"].doc)
    parser.add_argument("--judge", metavar="NAME", help="language model that marks answers in words (LLM-Match)")
    parser.add_argument("--judge-url", metavar="URL", help="its server (default: --server-url)")
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions of each recording")
    parser.add_argument("--again", action="store_true", help="ask what was answered before, too")
    if name == "navqa":
        parser.add_argument(
            "--abstention",
            type=int,
            default=0,
            metavar="N",
            help="also ask of each recording, and of the gallery, the way to N things that it never showed",
        )
        parser.add_argument(
            "--calibration",
            action="store_true",
            help="also fit how sure answers are on all recordings but one, and test that on the one",
        )
    arguments.add_text_encoder(parser)
    add_parameters(parser)
    parser.set_defaults(run=run, interrupted=arguments.GOES_ON)


def run(args: argparse.Namespace) -> int:
    """Score a benchmark."""
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.evaluation.ablations import configurations
    from vlkng_ros.evaluation.remembering import remember
    from vlkng_ros.evaluation.report import table, write_report
    from vlkng_ros.evaluation.running import ask_all, log_of
    from vlkng_ros.evaluation.scores import Judged, figures
    from vlkng_ros.memory.association.registry import associator_names, open_associator
    from vlkng_ros.perception.base import open_backend
    from vlkng_ros.perception.told import Teller
    from vlkng_ros.retrieval.presets import VIEWS

    config = _config(args)
    presets = list(dict.fromkeys(args.preset or [config.retrieval.preset]))
    if "all" in presets:
        presets = list(parameters_of(RetrievalConfig)["preset"].choices)
    as_papers = args.llm is not None and args.answerer is None
    runs = configurations(config.retrieval, presets, ablations=args.ablations, as_papers=as_papers)
    recordings = _recordings(args)
    models = _models(args, config)
    logs = {
        label: (chosen, log_of(args.out, label, chosen, args.benchmark, args.judge or "", again=args.again))
        for label, chosen in runs.items()
    }
    views = {VIEWS.get(chosen.preset, "") for chosen, _ in logs.values()}
    names = [name for name in associator_names() if name in views] or [config.association.associator]
    associators = [open_associator(config.association, name) for name in names]
    backend = None if config.perception.backend == "none" else lambda: open_backend(config.perception)
    results: dict[str, list[Judged]] = {label: [] for label in runs}
    folder, timeout_s = args.out / "memories", config.perception.timeout_s
    with closing(Teller(config.perception)) as teller:
        for recording in recordings:
            with progress(f"remember {recording.name}", len(recording.frames), "frames") as advance:
                path = remember(
                    recording,
                    folder,
                    models.encoder,
                    associators,
                    advance,
                    backend,
                    tell=lambda said: teller.tell([said], timeout_s)[0],
                )
            with progress(f"ask {recording.name}", len(recording.questions) * len(runs), "questions") as advance:
                for label, judged in ask_all(recording, path, models, logs, advance).items():
                    results[label] += judged
    print(table({label: figures(judged) for label, judged in results.items()}))
    if getattr(args, "abstention", 0) > 0:
        _ask_unseen(args, config.retrieval, recordings, models, associators)
    calibrated = _calibrate(args, recordings, models) if getattr(args, "calibration", False) else None
    title = f"{BENCHMARKS[args.benchmark].partition(':')[0]}, {len(recordings)} recordings"
    print(f"\n{write_report(args.out, results, title, calibrated)}")
    return 0


def _ask_unseen(
    args: argparse.Namespace,
    config: RetrievalConfig,
    recordings: Sequence[Recording],
    models: Models,
    associators: Sequence[Associator],
) -> None:
    """Ask of things that were never seen, and print how often the answer says so."""
    from vlkng_ros.answering import MemoryQuery
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.evaluation import abstention
    from vlkng_ros.evaluation.remembering import remember
    from vlkng_ros.memory import MemoryReader

    gallery = abstention.gallery()
    sources = [*recordings, gallery]
    with progress(f"remember {gallery.name}", len(gallery.frames), "frames") as advance:
        remember(gallery, args.out / "memories", models.encoder, associators, advance)
    found: list[abstention.Abstained] = []
    with progress("ask of what was never seen", args.abstention * len(sources), "questions") as advance:
        for source in sources:
            others = [other for other in sources if other is not source]
            things = abstention.unseen(source, others, args.abstention)
            with MemoryReader.open(args.out / "memories" / f"{source.name}.db") as reader:
                memory = MemoryQuery(reader, models.encoder, config, models.chat, models.visual)
                found += abstention.ask_unseen(source.name, things, memory, config.preset, advance)
    print("\nNever seen, and not answered:")
    for name, shares in abstention.shares(found).items():
        print(f"  {name}: " + ", ".join(f"{kind} {share:g}" for kind, share in shares.items()))
    print(abstention.write(args.out, found))


def _calibrate(args: argparse.Namespace, recordings: Sequence[Recording], models: Models) -> dict[str, Bins]:
    """Print constants of the confidence, fitted on all recordings but one and tested on that; their bins."""
    from vlkng_ros.evaluation import calibration
    from vlkng_ros.memory import MemoryReader
    from vlkng_ros.retrieval import Retriever

    samples: list[calibration.Sample] = []
    for recording in recordings:
        others = [other for other in recordings if other is not recording]
        with MemoryReader.open(args.out / "memories" / f"{recording.name}.db") as reader:
            samples += calibration.samples_of(recording, others, Retriever(reader, models.encoder))
    print("\nConfidence, by the recording left out (steepness, at what is needed, calibration error):")
    left_out = calibration.left_out(samples)
    for name, both in left_out.items():
        shown = (f"{how} {c.steepness:g} {c.at_needed:g} {c.gap:g}" for how, c in both.items())
        print(f"  {name}: " + ", ".join(shown))
    print(calibration.write(args.out, samples))
    return {f"{name}, {how}": fitted.bins for name, both in left_out.items() for how, fitted in both.items()}


def _config(args: argparse.Namespace) -> EvaluationConfig:
    named = {
        "retrieval.answerer": args.answerer or ("llm" if args.llm else None),
        "retrieval.model": args.llm,
        "retrieval.server_url": args.server_url,
        "association.text_encoder": None if args.text_encoder == "auto" else args.text_encoder,
    }
    return read_parameters(EvaluationConfig, args, named, node="query_node")


def _recordings(args: argparse.Namespace) -> list[Recording]:
    if args.benchmark == "navqa":
        from vlkng_ros.evaluation.navqa import read_navqa

        found = read_navqa(args.folder, args.captions)
    elif args.benchmark == "openeqa":
        from vlkng_ros.evaluation.openeqa import read_openeqa

        found = read_openeqa(args.folder, args.captions)
    elif args.benchmark == "walkieknowledge":
        from vlkng_ros.evaluation.walkieknowledge import read_walkieknowledge

        found = read_walkieknowledge(args.folder, args.captions)
    else:
        from vlkng_ros.evaluation.egolife import read_egolife

        found = read_egolife(args.folder)
    if args.limit is None:
        return found
    if args.limit < 1:
        raise InvalidInputError(f"--limit {args.limit}: at least 1 question must be asked")
    return [replace(recording, questions=recording.questions[: args.limit]) for recording in found]


def _models(args: argparse.Namespace, config: EvaluationConfig) -> Models:
    from vlkng_ros.answering.language_model import open_chat, require_answer
    from vlkng_ros.evaluation.running import Models
    from vlkng_ros.evaluation.text_answers import Judge
    from vlkng_ros.memory import open_encoder
    from vlkng_ros.perception.siglip import open_visual

    retrieval = config.retrieval
    chat = None if retrieval.answerer == "extractive" else open_chat(retrieval)
    judge = None
    if args.judge:
        url = args.judge_url or retrieval.server_url
        marks = open_chat(replace(retrieval, model=args.judge, server_url=url))
        require_answer(marks)
        judge = Judge(marks, retrieval.prompts)
    if chat is not None:
        # Figures of a model that is not there would be those of its fall-back.
        require_answer(chat)
    visual = open_visual(retrieval.visual_model or config.perception.crop_model)
    return Models(open_encoder(config.association.text_encoder), visual, chat, judge)
