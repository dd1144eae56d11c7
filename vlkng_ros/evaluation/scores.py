"""Answers held against their truth, and the figures of a run: errors by kind, retrieval, text, calibration, time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from vlkng_ros.evaluation.benchmark import LENGTHS, Asked
from vlkng_ros.evaluation.text_answers import overlap, percent
from vlkng_ros.types import NS_PER_S, Answer, AnswerKind, AnswerStatus, Pose, RankedKeyframe

WITHIN_M = 15.0
WITHIN_MINUTES = 0.5
TOP = 5
BINS = 10
RIGHT_MARK = 4
MODEL_STAGE = "model"
"""The stage of an answer that a language model is asked in."""
"""LLM-Match from which an answer in words counts as right, where one must."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer held against its truth.

    ``error`` is in metres, minutes, or 0 right and 1 wrong; of what was not answered in kind that of answering
    "here" and "now"; None of texts. ``rank`` is that of the first of the returned frames that shows the answer (within
    15 m of a position's truth, or in the question's spans), 0 for none, and ``precision`` the share of the first 5
    that do; None where the benchmark does not tell.
    """

    asked: Asked
    error: float | None
    in_kind: bool
    right: bool | None
    rank: int | None
    precision: float | None
    confidence: float
    said: str = ""
    answerer: str = ""
    chosen_by: str = ""
    """What picked one of the choices: ``model`` or ``words``."""
    mark: int | None = None
    """LLM-Match, 1 to 5."""
    unmarked: bool = False
    """Whether there is a judge, and it gave no mark."""
    overlap: float | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Everything but the question, which ``key`` names."""
        kept = asdict(self)
        del kept["asked"]
        return {"key": self.asked.key, **kept}

    @classmethod
    def from_json(cls, asked: Asked, kept: Mapping[str, Any]) -> Judged:
        """The reverse of ``to_json``."""
        return cls(asked=asked, **{name: value for name, value in kept.items() if name != "key"})


def judge(
    asked: Asked,
    answer: Answer,
    *,
    letter: str = "",
    chosen_by: str = "",
    mark: int | None = None,
    unmarked: bool = False,
) -> Judged:
    """An answer held against its truth.

    Args:
        asked: the question.
        answer: what came back.
        letter: the choice that was made, where there are choices.
        chosen_by: what made it.
        mark: LLM-Match of an answer in words, where there is a judge.
        unmarked: whether there is one, and it gave no mark.
    """
    rank, precision = _retrieved(asked, answer.keyframes)
    in_kind = answer.status is AnswerStatus.OK and (answer.kind is asked.kind or asked.kind is AnswerKind.TEXT)
    error: float | None = None
    right: bool | None
    said, share = answer.text, None
    if asked.choices:
        in_kind, said, right = bool(letter), letter, letter == asked.truth
    elif asked.kind is AnswerKind.TEXT:
        share = round(overlap(asked, answer.text if in_kind else ""), 4)
        right = None if mark is None else mark >= RIGHT_MARK
    else:
        error = _error(asked, answer if in_kind else None)
        limits = {AnswerKind.POSITION: WITHIN_M, AnswerKind.TIME: WITHIN_MINUTES, AnswerKind.DURATION: WITHIN_MINUTES}
        right = error <= limits.get(asked.kind, 0.0)
    return Judged(
        asked,
        error,
        in_kind,
        right,
        rank,
        precision,
        answer.confidence,
        said,
        answer.answerer,
        chosen_by,
        mark,
        unmarked,
        share,
        {stage: round(ms, 3) for stage, ms in answer.timings_ms.items()},
    )


def _error(asked: Asked, answer: Answer | None) -> float:
    value = answer.value if answer is not None else None
    if asked.kind is AnswerKind.POSITION:
        at = value.position_m if isinstance(value, Pose) else asked.position_m
        return math.dist(at[:2], _place(asked.truth))
    if asked.kind in (AnswerKind.BINARY, AnswerKind.COUNT):
        return 0.0 if value is not None and value == asked.truth else 1.0
    given = float(value) if isinstance(value, (int, float)) else None
    if asked.kind is AnswerKind.TIME:
        now_ns = asked.as_of_ns or 0
        minutes = 0.0 if given is None else (now_ns - given) / (60 * NS_PER_S)
    else:
        minutes = 0.0 if given is None else given / 60
    return abs(minutes - (float(asked.truth) if isinstance(asked.truth, (int, float)) else math.nan))


def _place(truth: object) -> tuple[float, ...]:
    return tuple(float(c) for c in truth[:2]) if isinstance(truth, tuple) else (math.nan, math.nan)


def _retrieved(asked: Asked, keyframes: Sequence[RankedKeyframe]) -> tuple[int | None, float | None]:
    if asked.kind is AnswerKind.POSITION:
        place = _place(asked.truth)
        shows = [math.dist(r.keyframe.base_pose.position_m[:2], place) <= WITHIN_M for r in keyframes]
    elif asked.spans:
        shows = [any(a <= r.keyframe.stamp_ns <= b for a, b in asked.spans) for r in keyframes]
    else:
        return None, None
    top = shows[:TOP]
    return (shows.index(True) + 1 if any(shows) else 0), (statistics.fmean(top) if top else 0.0)


def figures(judged: Sequence[Judged]) -> dict[str, float | int | None]:
    """The figures of a run, by name; None where no question asks for them."""
    of = {kind: [j for j in judged if j.asked.kind is kind and not j.asked.choices] for kind in AnswerKind}
    position, times = of[AnswerKind.POSITION], of[AnswerKind.TIME]
    metres = [j.error for j in position if j.error is not None]
    sides = [[bool(j.right) for j in of[AnswerKind.BINARY] if j.asked.truth is side] for side in (True, False)]
    ranks = [j.rank for j in judged if j.rank is not None]
    marks = [j for j in of[AnswerKind.TEXT] if j.mark is not None]
    choices = [j for j in judged if j.asked.choices]
    by_rules = [j.answerer == "extractive" or j.chosen_by == "words" for j in judged]
    had_model = not all(by_rules) or any(MODEL_STAGE in j.timings_ms for j in judged)
    totals = sorted(j.timings_ms.get("total", 0.0) for j in judged)
    return {
        "questions": len(judged),
        "answered_in_kind": _mean([j.in_kind for j in judged]),
        "without_the_model": _mean(by_rules) if had_model else None,
        **{f"retrieval_at_{k}": _mean([0 < rank <= k for rank in ranks]) for k in (1, 3, 5)},
        **{
            f"retrieval_at_1 ({c})": _mean([j.rank == 1 for j in g])
            for c, g in _by_category([j for j in judged if j.rank is not None]).items()
        },
        "mrr_at_5": _mean([1 / rank if 0 < rank <= TOP else 0.0 for rank in ranks]),
        "precision": _mean([j.precision for j in judged if j.precision is not None]),
        "position_n": len(position) or None,
        "position_mean_m": _mean(metres),
        "position_within_15m": _mean([error <= WITHIN_M for error in metres]),
        "position_within_25m": _mean([error <= 25.0 for error in metres]),
        **{
            f"position_{length.lower()}_mean_m": _mean(
                [j.error for j in position if j.asked.length == length and j.error is not None]
            )
            for length in LENGTHS
        },
        "time_n": len(times) or None,
        "time_mean_min": _mean([j.error for j in times if j.error is not None]),
        "time_within_30s": _mean([bool(j.right) for j in times]),
        "duration_mean_min": _mean([j.error for j in of[AnswerKind.DURATION] if j.error is not None]),
        "yes_no_n": len(of[AnswerKind.BINARY]) or None,
        "yes_no_accuracy": _mean([bool(j.right) for j in of[AnswerKind.BINARY]]),
        "yes_no_balanced": _mean([statistics.fmean(side) for side in sides]) if all(sides) else None,
        "text_n": len(of[AnswerKind.TEXT]) or None,
        "text_overlap": _mean([j.overlap for j in of[AnswerKind.TEXT] if j.overlap is not None]),
        "llm_match_n": len(marks) or None,
        "llm_match_unmarked": sum(j.unmarked for j in judged) or None,
        "llm_match": _mean([percent(j.mark) for j in marks if j.mark is not None]),
        **{f"llm_match ({c})": _mean([percent(j.mark or 1) for j in g]) for c, g in _by_category(marks).items()},
        "multiple_choice_n": len(choices) or None,
        "multiple_choice": _mean([bool(j.right) for j in choices]),
        **{f"multiple_choice ({c})": _mean([bool(j.right) for j in g]) for c, g in _by_category(choices).items()},
        "ms_p50": _quantile(totals, 0.5),
        "ms_p95": _quantile(totals, 0.95),
    }


def _by_category(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    names = sorted({j.asked.category for j in judged} - {""})
    return {name: [j for j in judged if j.asked.category == name] for name in names} if len(names) > 1 else {}


def stages(judged: Sequence[Judged]) -> dict[str, tuple[float, float]]:
    """p50 and p95 milliseconds of each stage, over the questions that went through it."""
    names = dict.fromkeys(name for j in judged for name in j.timings_ms)
    values = {name: sorted(j.timings_ms[name] for j in judged if name in j.timings_ms) for name in names}
    return {name: (_quantile(v, 0.5) or 0.0, _quantile(v, 0.95) or 0.0) for name, v in values.items()}


def confidences(judged: Sequence[Judged]) -> list[tuple[float, bool]]:
    """``(confidence, right)`` of every question that was answered and can be told right from wrong."""
    return [(j.confidence, j.right) for j in judged if j.in_kind and j.right is not None]


def reliability(
    pairs: Sequence[tuple[float, bool]], weights: Sequence[float] | None = None
) -> list[tuple[float, float, int]]:
    """Calibration: ``(mean confidence, share right, number)`` of bins of equal width that are not empty.

    Args:
        pairs: ``(confidence in 0..1, right)``.
        weights: how much each counts; the same where left out.
    """
    return [(confidence, right, number) for confidence, right, number, _ in _bins(pairs, weights)]


def calibration_error(pairs: Sequence[tuple[float, bool]], weights: Sequence[float] | None = None) -> float | None:
    """Expected calibration error: mean distance of confidence and share right, weighted by what is in the bins."""
    if not pairs:
        return None
    bins = _bins(pairs, weights)
    return round(sum(abs(c - r) * weight for c, r, _, weight in bins) / sum(weight for *_, weight in bins), 3)


def _bins(
    pairs: Sequence[tuple[float, bool]], weights: Sequence[float] | None
) -> list[tuple[float, float, int, float]]:
    """Mean confidence, share right, number and weight of each bin."""
    inside: dict[int, list[tuple[float, bool, float]]] = {}
    for (confidence, right), weight in zip(pairs, weights or [1.0] * len(pairs), strict=True):
        inside.setdefault(min(BINS - 1, max(0, int(confidence * BINS))), []).append((confidence, right, weight))
    found = []
    for _, group in sorted(inside.items()):
        weight = math.fsum(w for *_, w in group)
        means = (math.fsum(c * w for c, _, w in group) / weight, math.fsum(r * w for _, r, w in group) / weight)
        found.append((*means, len(group), weight))
    return found


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 3) if values else None


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return round(ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)], 3) if ordered else None
