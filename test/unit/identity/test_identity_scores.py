"""The figures themselves, worked out by hand."""

from __future__ import annotations

import pytest

from vlkng_ros.evaluation.identity_scores import (
    IdentityFigures,
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
    assert state_figures([True, True, False, False], [True, False, True, False]) == StateFigures(2, 1, 1)


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
        return ViewFigures(identity, PlaceFigures(errors, (1.0, 9.0), 1), StateFigures(2, 1, 0), StateFigures(1, 0, 1))

    row = summary([drive(1.0, (0.1, 0.2)), drive(0.8, (0.3,))])
    assert row["precision"] == pytest.approx(0.9)
    assert (row["worst_precision"], row["median_error_m"], row["places"], row["at_robot"]) == (0.8, 0.2, 3, 2)
    assert (row["mean_nees"], row["nees_within_95"]) == (5.0, 0.5)
    assert [row[f"gone_{n}"] for n in ("true", "right", "wrong")] == [4, 2, 0]
    assert [row[f"moved_{n}"] for n in ("true", "right", "wrong")] == [2, 0, 2]
