"""The figures themselves, worked out by hand."""

from __future__ import annotations

import math

import pytest

from vlkng_ros.evaluation.identity_scores import (
    IdentityFigures,
    PairFigures,
    PlaceFigures,
    StateFigures,
    ViewFigures,
    identity_figures,
    mean_interval_95,
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


def test_the_interval_of_a_mean_is_that_of_independent_drives() -> None:
    # Their mean is 4; the drives' sums are off by -4 and 4: sqrt(2 * (16 + 16)) / 4 is 2, and Student's t with 1 degree
    # of freedom is 12.706.
    assert mean_interval_95([[1.0, 3.0], [5.0, 7.0]]) == pytest.approx((4 - 25.41, 4 + 25.41), abs=0.01)
    # Shared out otherwise, the drives agree: the same values, and no doubt.
    assert mean_interval_95([[1.0, 7.0], [5.0, 3.0], []]) == (4.0, 4.0)
    assert all(math.isnan(bound) for bound in mean_interval_95([[1.0, 3.0]]))


def test_a_summary_pools_places_and_names_the_worst_drive() -> None:
    def drive(precision: float, errors: tuple[float, ...]) -> ViewFigures:
        identity = IdentityFigures(precision, 1.0, 1.0)
        places = PlaceFigures(errors, (1.0, 17.0), (True, False), 1)
        gone, moved = StateFigures(2, 1, 0, 1, 1), StateFigures(1, 0, 1, 0, 0)
        return ViewFigures(identity, places, gone, moved, PairFigures(3, 2))

    row = summary([drive(1.0, (0.1, 0.2)), drive(0.8, (0.3,))])
    assert row["precision"] == pytest.approx(0.9)
    assert (row["worst_precision"], row["median_error_m"], row["places"], row["at_robot"]) == (0.8, 0.2, 3, 2)
    assert (row["nees_mean"], row["nees_within_95"], row["nees_count"], row["nees_gross"]) == (9.0, 0.5, 4, 2)
    assert (row["nees_apart_mean"], row["nees_apart_within_95"], row["nees_apart_count"]) == (1.0, 1.0, 2)
    assert [row[f"gone_{n}"] for n in ("true", "right", "wrong", "noticeable", "noticed")] == [4, 2, 0, 2, 2]
    assert [row[f"moved_{n}"] for n in ("true", "right", "wrong")] == [2, 0, 2]
    assert (row["pairs"], row["pairs_two"]) == (6, 4)
