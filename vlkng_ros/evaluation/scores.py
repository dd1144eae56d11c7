"""Figures of a question-answering run: errors by kind, retrieval, calibration, time by stage."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlkng_ros.evaluation.navqa import LENGTHS, Asked
from vlkng_ros.types import NS_PER_S, Answer, AnswerKind, AnswerStatus, Pose

WITHIN_M = 15.0
WITHIN_MINUTES = 0.5


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer held against its truth.

    ``error`` is in metres, minutes, or 0 right and 1 wrong; of what was not answered in kind that of answering
    "here" and "now". ``rank`` is that of the first retrieved frame within 15 m of a position's truth, 0 for none.
    """

    asked: Asked
    error: float
    in_kind: bool
    right: bool
    rank: int
    confidence: float
    timings_ms: Mapping[str, float]


def judge(asked: Asked, answer: Answer) -> Judged | None:
    """An answer's error; None for texts, which need a judge of their own."""
    if asked.kind is AnswerKind.TEXT:
        return None
    in_kind = answer.kind is asked.kind and answer.status is AnswerStatus.OK
    value, rank = (answer.value if in_kind else None), 0
    if asked.kind is AnswerKind.POSITION:
        truth = _place(asked.truth)
        error = math.dist((value.position_m if isinstance(value, Pose) else asked.position_m)[:2], truth[:2])
        away = [math.dist(r.keyframe.base_pose.position_m[:2], truth[:2]) for r in answer.keyframes]
        rank = next((i for i, metres in enumerate(away, start=1) if metres <= WITHIN_M), 0)
        right = error <= WITHIN_M
    elif asked.kind is AnswerKind.BINARY:
        right = value is asked.truth
        error = 0.0 if right else 1.0
    else:
        number = float(value) if isinstance(value, (int, float)) else None
        if asked.kind is AnswerKind.TIME:
            given = 0.0 if number is None else (asked.as_of_ns - number) / (60 * NS_PER_S)
        else:
            given = 0.0 if number is None else number / 60
        error = abs(given - _number(asked.truth))
        right = error <= WITHIN_MINUTES
    return Judged(asked, error, in_kind, right, rank, answer.confidence, answer.timings_ms)


def _place(truth: object) -> tuple[float, ...]:
    return tuple(float(c) for c in truth) if isinstance(truth, tuple) else (math.nan, math.nan)


def _number(truth: object) -> float:
    return float(truth) if isinstance(truth, (int, float)) else math.nan


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """The figures of a run, by name; None where no question asks for them."""
    of = {kind: [j for j in judged if j.asked.kind is kind] for kind in AnswerKind}
    position, times = of[AnswerKind.POSITION], of[AnswerKind.TIME]
    sides = [[j.right for j in of[AnswerKind.BINARY] if j.asked.truth is side] for side in (True, False)]
    totals = sorted(j.timings_ms.get("total", 0.0) for j in judged)
    return {
        "questions": len(judged),
        "answered_in_kind": _mean([j.in_kind for j in judged]),
        "position_n": len(position),
        "position_mean_m": _mean([j.error for j in position]),
        "position_within_15m": _mean([j.error <= WITHIN_M for j in position]),
        "position_within_25m": _mean([j.error <= 25.0 for j in position]),
        **{
            f"position_{length.lower()}_mean_m": _mean([j.error for j in position if j.asked.length == length])
            for length in LENGTHS
        },
        **{f"retrieval_at_{k}": _mean([0 < j.rank <= k for j in position]) for k in (1, 3, 5)},
        "mrr_at_5": _mean([1 / j.rank if 0 < j.rank <= 5 else 0.0 for j in position]),
        "time_n": len(times),
        "time_mean_min": _mean([j.error for j in times]),
        "time_within_30s": _mean([j.right for j in times]),
        "duration_mean_min": _mean([j.error for j in of[AnswerKind.DURATION]]),
        "yes_no_n": len(of[AnswerKind.BINARY]),
        "yes_no_accuracy": _mean([j.right for j in of[AnswerKind.BINARY]]),
        "yes_no_balanced": _mean([statistics.fmean(side) for side in sides]) if all(sides) else None,
        "ms_p50": _quantile(totals, 0.5),
        "ms_p95": _quantile(totals, 0.95),
    }


def stages(judged: Sequence[Judged]) -> dict[str, tuple[float, float]]:
    """p50 and p95 milliseconds of each stage."""
    names = dict.fromkeys(name for j in judged for name in j.timings_ms)
    values = {name: sorted(j.timings_ms.get(name, 0.0) for j in judged) for name in names}
    return {name: (_quantile(v, 0.5) or 0.0, _quantile(v, 0.95) or 0.0) for name, v in values.items()}


def reliability(judged: Sequence[Judged], bins: int = 5) -> list[tuple[float, float, int]]:
    """Calibration of answered questions: ``(mean confidence, share right, number)`` of bins of equal width."""
    found = []
    for low in range(bins):
        inside = [j for j in judged if j.in_kind and low <= min(j.confidence * bins, bins - 1e-9) < low + 1]
        if inside:
            mean = statistics.fmean(j.confidence for j in inside)
            found.append((mean, statistics.fmean(j.right for j in inside), len(inside)))
    return found


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 3) if values else None


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return round(ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)], 3) if ordered else None
