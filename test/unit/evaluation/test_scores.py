"""Answers held against their truth, with figures worked out by hand."""

import math
from typing import Any

import pytest

from vlkng_ros.evaluation.benchmark import Asked
from vlkng_ros.evaluation.scores import Judged, calibration_error, confidences, figures, judge, reliability, stages
from vlkng_ros.types import Answer, AnswerKind, AnswerStatus, Keyframe, PerceptionState, Pose, RankedKeyframe

NS = 10**9


def asked(kind: AnswerKind, truth: Any, **more: Any) -> Asked:
    more = {"length": "SHORT", "position_m": (10.0, 0.0, 0.0), **more}
    return Asked("q", "7", "?", kind, 0, 600 * NS, truth, **more)


def shown(second: float, x_m: float = 0.0) -> RankedKeyframe:
    pose = Pose.planar("map", x_m, 0.0)
    frame = Keyframe(
        1, round(second * NS), pose, None, "c", 1, "r", "m", None, None, "", False, PerceptionState.DONE, 1
    )
    return RankedKeyframe(frame, 1.0)


def answer(kind: AnswerKind, value: Any, confidence: float = 0.9, **more: Any) -> Answer:
    status = AnswerStatus.OK if value is not None else AnswerStatus.NOT_FOUND
    return Answer(status, "", kind, str(value), value, confidence, timings_ms={"total": 4.0}, **more)


def test_errors_are_metres_minutes_or_right_and_wrong() -> None:
    place = AnswerKind.POSITION
    at_origin = answer(place, Pose.planar("map", 0, 0))
    assert judge(asked(place, (3.0, 4.0, 9.0)), at_origin).error == pytest.approx(5.0)
    assert judge(asked(AnswerKind.TIME, 4.0), answer(AnswerKind.TIME, 300 * NS)).error == pytest.approx(1.0)
    assert judge(asked(AnswerKind.DURATION, 1.5), answer(AnswerKind.DURATION, 60.0)).error == pytest.approx(0.5)
    assert judge(asked(AnswerKind.BINARY, True), answer(AnswerKind.BINARY, False)).error == 1.0
    assert judge(asked(AnswerKind.TEXT, "red"), answer(AnswerKind.TEXT, "red")).error is None


def test_no_answer_counts_as_here_and_now() -> None:
    nowhere = judge(asked(AnswerKind.POSITION, (3.0, 0.0, 0.0)), answer(AnswerKind.POSITION, None))
    assert (nowhere.error, nowhere.in_kind) == (pytest.approx(7.0), False)
    assert judge(asked(AnswerKind.TIME, 4.0), answer(AnswerKind.TIME, None)).error == pytest.approx(4.0)
    # One value too many: a yes to a question of place is no place.
    assert judge(asked(AnswerKind.POSITION, (3.0, 0.0, 0.0)), answer(AnswerKind.BINARY, True)).in_kind is False


def test_retrieval_is_the_first_frame_that_shows_the_answer() -> None:
    frames = (shown(1, 100.0), shown(2, 14.0), shown(3, 90.0), shown(4, 80.0))
    found = judge(
        asked(AnswerKind.POSITION, (0.0, 0.0, 0.0)),
        answer(AnswerKind.POSITION, Pose.planar("map", 0, 0), keyframes=frames),
    )
    assert (found.rank, found.precision) == (2, 0.25)
    in_spans = asked(AnswerKind.TEXT, "red", spans=((3 * NS, 4 * NS),))
    found = judge(in_spans, answer(AnswerKind.TEXT, "red", keyframes=frames))
    assert (found.rank, found.precision) == (3, 0.5)
    assert judge(in_spans, answer(AnswerKind.TEXT, "red", keyframes=frames[:2])).rank == 0
    assert judge(asked(AnswerKind.TEXT, "red"), answer(AnswerKind.TEXT, "red", keyframes=frames)).rank is None


def test_accuracy_at_k_and_reciprocal_rank() -> None:
    ranks = [1, 3, 5, 6, 0]
    base = judge(asked(AnswerKind.TEXT, "x"), answer(AnswerKind.TEXT, "x"))
    found = figures([Judged(base.asked, None, True, None, rank, 0.2, 0.5) for rank in ranks])
    assert [found[f"retrieval_at_{k}"] for k in (1, 3, 5)] == [0.2, 0.4, 0.6]
    assert found["mrr_at_5"] == round((1 + 1 / 3 + 1 / 5) / 5, 3)
    assert found["precision"] == 0.2


def test_texts_are_marked_and_choices_counted() -> None:
    text, choice = asked(AnswerKind.TEXT, "dark red"), asked(AnswerKind.TEXT, "B", choices=("x", "y"))
    marked = [judge(text, answer(AnswerKind.TEXT, "The dark red one"), mark=mark) for mark in (5, 2)]
    assert marked[0].overlap == pytest.approx(2 * 2 / (2 + 3), abs=1e-4)  # "the" is no word
    chosen = [
        judge(choice, answer(AnswerKind.TEXT, "?", answerer="llm"), letter=letter, chosen_by=by)
        for letter, by in (("B", "words"), ("A", "model"))
    ]
    found = figures([*marked, *chosen])
    assert (found["llm_match"], found["llm_match_n"]) == (62.5, 2)  # (100 + 25) / 2
    assert (found["multiple_choice"], found["multiple_choice_n"], found["text_n"]) == (0.5, 2, 2)
    assert found["without_the_model"] == 0.25  # the texts' answers are said to be nobody's


def test_yes_and_no_weigh_the_same_in_balanced_accuracy() -> None:
    yes = judge(asked(AnswerKind.BINARY, True), answer(AnswerKind.BINARY, True, 0.9))
    no = judge(asked(AnswerKind.BINARY, False), answer(AnswerKind.BINARY, True, 0.7))
    found = figures([yes, yes, yes, no])
    assert (found["yes_no_accuracy"], found["yes_no_balanced"]) == (0.75, 0.5)
    assert (found["position_mean_m"], found["ms_p50"]) == (None, 4.0)
    assert stages([yes]) == {"total": (4.0, 4.0)}
    pairs = confidences([yes, yes, yes, no])
    assert pairs == [(0.9, True)] * 3 + [(0.7, False)]
    (low, high) = reliability(pairs)
    assert low == (pytest.approx(0.7), 0.0, 1)
    assert high == (pytest.approx(0.9), 1.0, 3)
    assert calibration_error(pairs) == round((0.7 + 3 * 0.1) / 4, 3)
    assert calibration_error([]) is None


def test_what_was_judged_survives_the_log() -> None:
    question = asked(AnswerKind.POSITION, (3.0, 4.0, 0.0))
    judged = judge(question, answer(AnswerKind.POSITION, Pose.planar("map", 0, 0), keyframes=(shown(1),)))
    kept = judged.to_json()
    assert kept["key"] == "7/q"
    assert Judged.from_json(question, kept) == judged
    assert not math.isnan(kept["error"])
