"""What associators make of whole drives with known truth; ``benchmarks/identity_bench.py`` measures more of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import Look, Thing, remembered, standing

from vlkng_ros.evaluation.identity import evaluate
from vlkng_ros.evaluation.identity_drive import IdentityDrive, miscalibrated
from vlkng_ros.evaluation.identity_scores import ViewFigures, summary
from vlkng_ros.gallery.detector import SimulatedKeyframe
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator

SEED = 7


@pytest.fixture(scope="module")
def drive() -> IdentityDrive:
    return IdentityDrive.make(SEED)


@pytest.fixture(scope="module")
def keyframes(drive: IdentityDrive) -> list[SimulatedKeyframe]:
    return list(drive.keyframes())


@pytest.fixture(scope="module")
def figures(drive: IdentityDrive, keyframes: Sequence[SimulatedKeyframe]) -> dict[str, ViewFigures]:
    return evaluate(drive, [HybridAssociator(), ProximityAssociator()], keyframes)


def test_the_drive_is_as_hard_as_it_should_be(drive: IdentityDrive, keyframes: Sequence[SimulatedKeyframe]) -> None:
    labels = [thing.label for thing in drive.world.things(0)]
    assert len(drive.world.rooms) >= 6
    assert len(labels) == 40
    assert len(set(labels)) <= 15
    assert (len(drive.moved), len(drive.removed)) == (4, 4)
    off = [(k.capture.base_pose.distance_m(k.true_base)) for k in keyframes]
    assert 0.01 < sum(off) / len(off) < 0.1


def test_hybrid_tells_things_apart_over_a_whole_drive(figures: dict[str, ViewFigures]) -> None:
    found = figures["hybrid"].identity
    assert found.precision >= 0.9
    assert found.recall >= 0.9
    assert found.fragmentation <= 1.15
    assert figures["proximity"].identity.precision < 0.8


def test_hybrid_places_things_within_decimetres_and_says_how_sure_it_is(figures: dict[str, ViewFigures]) -> None:
    row = summary([figures["hybrid"]])
    assert row["places"] >= 30
    assert row["median_error_m"] <= 0.15
    assert row["nees_within_95"] >= 0.85


def test_what_is_there_is_not_called_gone(figures: dict[str, ViewFigures]) -> None:
    gone = figures["hybrid"].gone
    assert gone.right >= 1
    assert gone.wrong == 0
    assert gone.noticed >= 0.5 * gone.noticeable


def test_two_of_a_kind_side_by_side_stay_two(figures: dict[str, ViewFigures]) -> None:
    pairs = figures["hybrid"].side_by_side
    assert pairs.pairs >= 1
    assert pairs.two == pairs.pairs


def test_a_wrong_focal_length_makes_few_more_things_of_what_there_is(
    drive: IdentityDrive, keyframes: Sequence[SimulatedKeyframe]
) -> None:
    found = evaluate(drive, [HybridAssociator()], miscalibrated(keyframes, focal=1.2))["hybrid"].identity
    assert found.fragmentation <= 1.3
    assert found.precision >= 0.85


THINGS = (
    Thing("chair", (3.0, 0.0, 0.6)),
    Thing("chair", (3.0, 0.9, 0.6)),
    Thing("lamp", (3.5, -1.0, 1.0)),
    Thing("chair", (-3.0, 0.5, 0.6)),
)
looks = st.tuples(
    st.builds(standing, st.floats(-1.5, 1.0), st.floats(-1.5, 1.5), st.sampled_from((-20.0, 0.0, 20.0, 180.0))),
    st.lists(st.sampled_from(THINGS), unique=True).map(tuple),
)


@settings(max_examples=15, deadline=None)
@given(st.lists(looks, min_size=2, max_size=12), st.data())
def test_what_came_later_changes_no_name_that_was_given_before(drive_of: list[Look], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(drive_of)))
    with remembered(drive_of, HybridAssociator()) as (_, names):
        pass
    with remembered(drive_of[:cut], HybridAssociator()) as (_, before):
        pass
    assert before == names[:cut]
    for found in names:
        assert len(set(found)) == len(found)
