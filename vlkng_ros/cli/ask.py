"""``vlkng ask``: questions to a memory, one or a batch."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from vlkng_ros.cli import arguments
from vlkng_ros.cli.batch import read_batch
from vlkng_ros.cli.terminal import as_json_text, show
from vlkng_ros.config import RetrievalConfig, parameters_of
from vlkng_ros.errors import InvalidInputError, ModelError, QuestionError, VlkngError
from vlkng_ros.moments import counted

if TYPE_CHECKING:
    from vlkng_ros.answering import MemoryQuery
    from vlkng_ros.memory import MemoryReader
    from vlkng_ros.types import Answer, Question

TIME_HELP = "seconds with a decimal point, integer nanoseconds, or an ISO date and time (UTC unless it names a zone)"


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb and its arguments."""
    known = parameters_of(RetrievalConfig)
    parser = subparsers.add_parser(
        "ask",
        help="ask a memory a question in plain language",
        description="Answer a question, or each line of a file, from a memory. Times are " + TIME_HELP + ".",
    )
    parser.add_argument("question", nargs="*", help="the question, in quotes or not; leave it out with --batch")
    arguments.add_memory(parser)
    parser.add_argument(
        "--as-of",
        type=arguments.stamp,
        metavar="T",
        help="answer as the memory stood then (default: its newest keyframe)",
    )
    parser.add_argument(
        "--since", type=arguments.stamp, metavar="T", help="leave out what was seen before (default: nothing)"
    )
    parser.add_argument(
        "--position",
        type=arguments.metres,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="where you are, in metres, for 'nearest to me' (default: where the robot was last)",
    )
    parser.add_argument(
        "--preset", choices=known["preset"].choices, default=known["preset"].default, help=known["preset"].doc
    )
    parser.add_argument(
        "--max-keyframes",
        type=positive,
        default=known["max_keyframes"].default,
        metavar="N",
        help=known["max_keyframes"].doc,
    )
    parser.add_argument(
        "--min-confidence",
        type=share,
        default=known["min_confidence"].default,
        metavar="P",
        help=known["min_confidence"].doc,
    )
    parser.add_argument(
        "--answerer",
        choices=known["answerer"].choices,
        help=f"{known['answerer'].doc} (default: {known['answerer'].default}, with --model: llm)",
    )
    parser.add_argument(
        "--server-url", default=known["server_url"].default, metavar="URL", help=known["server_url"].doc
    )
    parser.add_argument("--model", default=known["model"].default, metavar="NAME", help=known["model"].doc)
    visual = known["visual_model"]
    parser.add_argument("--visual-model", default=visual.default, metavar="MODEL", help=visual.doc)
    arguments.add_text_encoder(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as one JSON object")
    parser.add_argument(
        "--batch",
        type=arguments.path,
        metavar="FILE.jsonl",
        help='ask each line {"id", "question", "since_ns", "as_of_ns", "position"} and print one JSON object a line, '
        'with "error" where it could not be asked (exit status 1); fields of other names are not read',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, and print what comes back."""
    if bool(args.question) == (args.batch is not None):
        raise QuestionError('ask one question ("Where is the cat?") or a file of them (--batch FILE.jsonl)')
    lines = list(read_batch(args.batch)) if args.batch is not None else []
    question = " ".join(args.question)
    if args.question and args.question[0].endswith(".db"):
        raise QuestionError(f"'{args.question[0]}' looks like a memory, which is named as --memory FILE")
    if args.batch is None and not question.strip():
        raise QuestionError("the question is empty: ask something like 'Where is the fire extinguisher?'")
    from vlkng_ros.answering import MemoryQuery
    from vlkng_ros.memory import MemoryReader, open_encoder
    from vlkng_ros.perception.siglip import open_visual

    with MemoryReader.open(args.memory) as reader:
        encoder = open_encoder(args.text_encoder) if reader.stats().encoder_id is not None else None
        config = RetrievalConfig(
            preset=args.preset,
            max_keyframes=args.max_keyframes,
            min_confidence=args.min_confidence,
            answerer=args.answerer or ("llm" if args.model else RetrievalConfig().answerer),
            server_url=args.server_url,
            model=args.model,
            visual_model=args.visual_model,
        )
        memory = MemoryQuery(reader, encoder, config, visual=open_visual(config.visual_model))
        if args.batch is not None:
            return _ask_all(memory, lines, args)
        answer = memory.ask(_question(question, args.since, args.as_of, args.position, args))
        if args.json:
            print(as_json_text(as_json(None, answer, full=True), indent=2))
        else:
            print_answer(answer)
            _say_pending(answer, reader)
    return 0


def _say_pending(answer: Answer, reader: MemoryReader) -> None:
    """What was not found may be in what no model has looked at yet."""
    from vlkng_ros.types import AnswerStatus

    pending = 0 if answer.status is AnswerStatus.OK else reader.stats().pending
    if pending:
        show(f"({counted(pending, 'keyframe')} not described yet: vlkng perceive --memory {reader.path})")


def _ask_all(memory: MemoryQuery, lines: list[dict[str, Any]], args: argparse.Namespace) -> int:
    """Print a reply a line; 1 where not every line could be asked. A memory that cannot be read ends it."""
    failed = 0
    for line in lines:
        try:
            if "error" in line:
                raise line["error"]
            reply = as_json(line["id"], _ask_line(memory, line, args))
        except (InvalidInputError, ModelError) as error:
            failed += 1
            reply = _refused(line["id"], error)
        print(as_json_text(reply), flush=True)
    unread = sorted({name for line in lines for name in line.get("unread", ())})
    if unread:
        print(f"vlkng: {args.batch}: not read: {', '.join(map(repr, unread))}", file=sys.stderr)
    if failed:
        print(f"vlkng: {failed} of {len(lines)} lines could not be asked: see their 'error'", file=sys.stderr)
    return 1 if failed else 0


def _refused(line_id: str | int | None, error: VlkngError) -> dict[str, Any]:
    """A reply with the keys of any other, and why there is no answer."""
    from vlkng_ros.types import AnswerStatus

    status = AnswerStatus.INVALID if isinstance(error, InvalidInputError) else AnswerStatus.ERROR
    reply: dict[str, Any] = {"id": line_id, "status": status.value, "answer": "", "kind": None, "value": None}
    return reply | {"confidence": 0.0, "frames": [], "latency_ms": 0.0, "error": str(error)}


def _ask_line(memory: MemoryQuery, line: dict[str, Any], args: argparse.Namespace) -> Answer:
    since = line["since_ns"] if line["since_ns"] is not None else args.since
    as_of = line["as_of_ns"] if line["as_of_ns"] is not None else args.as_of
    position = line["position"] if line["position"] is not None else args.position
    return memory.ask(_question(line["question"], since, as_of, position, args))


def _question(
    text: str, since: int | None, as_of: int | None, position: list[float] | None, args: argparse.Namespace
) -> Question:
    from vlkng_ros.types import Pose, Question

    asker = None if position is None else Pose("map", (position[0], position[1], position[2]))
    return Question(text, since, as_of, asker, args.preset, args.max_keyframes)


def as_json(line_id: str | int | None, answer: Answer, *, full: bool = False) -> dict[str, Any]:
    """An answer as the batch contract has it; ``full`` adds evidence, entities, the goal and the stages' times."""
    from vlkng_ros.types import AnswerStatus

    known = answer.status is AnswerStatus.OK
    frames = []
    for ranked in answer.keyframes:
        frame: dict[str, Any] = {
            "stamp_ns": ranked.keyframe.stamp_ns,
            "position": list(ranked.keyframe.base_pose.position_m),
            "score": round(ranked.score, 4),
        }
        if full:
            frame["keyframe_id"] = ranked.keyframe.keyframe_id
            frame["label"] = ranked.label
            frame["box"] = None if ranked.box_px is None else list(ranked.box_px)
            frame["entity"] = ranked.entity_id
            frame["evidence"] = list(ranked.evidence)
        frames.append(frame)
    reply: dict[str, Any] = {} if line_id is None else {"id": line_id}
    reply |= {
        "status": answer.status.value,
        "answer": answer.text,
        "kind": answer.kind.value,
        "value": value_of(answer) if known else None,
        "confidence": round(answer.confidence, 4),
        "frames": frames,
        "latency_ms": round(answer.timings_ms.get("total", 0.0), 3),
    }
    if full:
        reply |= {
            "message": answer.message,
            "preset": answer.preset,
            "answerer": answer.answerer,
            "goal": None
            if answer.goal is None
            else {
                "position": list(answer.goal.position_m),
                "yaw_rad": answer.goal.yaw_rad,
                "map_id": answer.goal_map_id,
            },
            "entities": [
                {"id": e.entity_id, "label": e.label, "position": list(e.position.mean_m), "state": e.state.value}
                for e in answer.entities
            ],
            "citations": list(answer.citations),
            "timings_ms": {stage: round(ms, 3) for stage, ms in answer.timings_ms.items()},
        }
    return reply


def value_of(answer: Answer) -> dict[str, Any] | None:
    """The value under the one key of its kind."""
    from vlkng_ros.types import AnswerKind, Pose

    value = answer.value
    if value is None:
        return None
    if isinstance(value, Pose):
        return {"position": list(value.position_m)}
    key = {
        AnswerKind.TIME: "stamp_ns",
        AnswerKind.DURATION: "seconds",
        AnswerKind.BINARY: "yes",
        AnswerKind.COUNT: "count",
        AnswerKind.TEXT: "text",
    }[answer.kind]
    return {key: value}


def print_answer(answer: Answer) -> None:
    """For a person: the answer, how sure, where, when, and the frames it rests on."""
    from vlkng_ros.answering.wording import clock, quoted

    show(answer.text)
    if answer.message and answer.message != answer.text:
        show(f"({answer.message})")
    show(f"confidence {answer.confidence:.2f}, {answer.timings_ms.get('total', 0.0):.0f} ms")
    if answer.goal is not None:
        x, y, _ = answer.goal.position_m
        where = f" of map '{answer.goal_map_id}'" if answer.goal_map_id else ""
        show(f"goal: x={x:.2f} y={y:.2f} yaw={answer.goal.yaw_rad:.2f} in '{answer.goal.frame_id}'{where}")
    if answer.keyframes:
        show("frames:")
    for ranked in answer.keyframes:
        x, y, _ = ranked.keyframe.base_pose.position_m
        label = f"  {ranked.label}" if ranked.label else ""
        box = "" if ranked.box_px is None else " [" + ", ".join(f"{c:.0f}" for c in ranked.box_px) + "]"
        show(
            f"  {ranked.score:.2f}  #{ranked.keyframe.keyframe_id}  {clock(ranked.keyframe.stamp_ns)}"
            f"  x={x:.1f} y={y:.1f}{label}{box}"
        )
        if ranked.evidence:
            show(f"        {quoted(ranked.evidence[0])}")


def positive(text: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number above 0")
    return int(text)


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 to 1")
    return value
