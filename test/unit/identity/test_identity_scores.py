"""The figures themselves, worked out by hand."""

from __future__ import annotations

import pytest

from vlkng_ros.evaluation.identity_scores import (
    IdentityFigures,
    PairFigures,
    PlaceFigures,
    StateFigures,
    ViewFigures,
    identity_figures,
    mean_nees_bounds_95,
    state_figures,
    summary,
)


def test_pairs_are_counted_over_observations() -> None:
    # entities {a a a} {b b}; things {x x} {y} {y} {z}: 3 + 1 pairs claimed, 1 + 1 are true, 1 is both.
    figures = identity_figures("aaabb", "xxyyz")
    assert figures == IdentityFigures(precision=1 / 4, recall=1 / 2, fragmentation=2 / 3)


def test_a_thing_in_two_entities_is_fragmented_and_not_wrong() -> None:
    assert identity_figures("aab", "xxx") == IdentityFigures(precision=1.0, recall=1 / 3, fragmentation=2.0)


def test_states_count_what_is_said_rightly_and_wrongly() -> None:
    said, true, noticeable = [True, True, False, False], [True, False, True, False], [True, True, False, True]
    assert state_figures(said, true, noticeable) == StateFigures(2, 1, 1, noticeable=1, noticed=1)


@pytest.mark.parametrize(
    # Chi squared quantiles at 2.5 % and 97.5 % of 3, 30 and 300 degrees of freedom, divided by 1, 10 and 100.
    ("count", "low", "high"),
    [(1, 0.216, 9.348), (10, 1.679, 4.698), (100, 2.539, 3.499)],
)
def test_bounds_of_the_mean_nees_are_those_of_chi_squared(count: int, low: float, high: float) -> None:
    assert mean_nees_bounds_95(count) == pytest.approx((low, high), abs=0.001)


def test_a_summary_pools_places_and_names_the_worst_drive() -> None:
    def drive(precision: float, errors: tuple[float, ...]) -> ViewFigures:
        identity = IdentityFigures(precision, 1.0, 1.0)
        places = PlaceFigures(errors, (1.0, 9.0), (True, False), 1)
        gone, moved = StateFigures(2, 1, 0, 1, 1), StateFigures(1, 0, 1, 0, 0)
        return ViewFigures(identity, places, gone, moved, PairFigures(3, 2))

    row = summary([drive(1.0, (0.1, 0.2)), drive(0.8, (0.3,))])
    assert row["precision"] == pytest.approx(0.9)
    assert (row["worst_precision"], row["median_error_m"], row["places"], row["at_robot"]) == (0.8, 0.2, 3, 2)
    assert (row["nees_mean"], row["nees_within_95"], row["nees_count"]) == (5.0, 0.5, 4)
    assert (row["nees_apart_mean"], row["nees_apart_within_95"], row["nees_apart_count"]) == (1.0, 1.0, 2)
    assert [row[f"gone_{n}"] for n in ("true", "right", "wrong", "noticeable", "noticed")] == [4, 2, 0, 2, 2]
    assert [row[f"moved_{n}"] for n in ("true", "right", "wrong")] == [2, 0, 2]
    assert (row["pairs"], row["pairs_two"]) == (6, 4)
