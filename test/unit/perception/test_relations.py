"""Spatial relations from boxes."""

import pytest

from vlkng_ros.perception.relations import MAX_PER_THING, relations_of
from vlkng_ros.types import BoxPx, Detection

TABLE: BoxPx = (100.0, 300.0, 500.0, 450.0)


def related(*boxes: BoxPx | None) -> list[tuple[int, str, int]]:
    detections = [Detection(f"thing {i}", box) for i, box in enumerate(boxes)]
    return [(r.subject, r.predicate, r.object) for r in relations_of(detections)]


@pytest.mark.parametrize(
    ("box", "predicate"),
    [
        ((250.0, 220.0, 300.0, 302.0), "on"),
        ((250.0, 320.0, 300.0, 400.0), "inside"),
        ((200.0, 100.0, 400.0, 240.0), "above"),
        ((510.0, 310.0, 600.0, 450.0), "next to"),
    ],
)
def test_a_thing_is_related_to_the_table(box: BoxPx, predicate: str) -> None:
    assert related(box, TABLE) == [(0, predicate, 1)]
    assert related(TABLE, box) == ([(1, predicate, 0)] if predicate != "next to" else [(0, predicate, 1)])


def test_of_two_things_with_a_gap_the_left_one_is_left_of_the_right_one() -> None:
    right, left = (300.0, 100.0, 400.0, 200.0), (180.0, 110.0, 260.0, 190.0)
    assert related(right, left) == [(1, "left of", 0)]


def test_things_far_apart_are_not_related() -> None:
    assert related((0.0, 0.0, 20.0, 20.0), (600.0, 400.0, 640.0, 480.0)) == []
    assert related((0.0, 0.0, 20.0, 20.0), (300.0, 0.0, 320.0, 20.0)) == []


def test_a_thing_wider_than_the_one_below_is_above_or_beside_it_but_not_on_it() -> None:
    wide, narrow = (100.0, 100.0, 500.0, 298.0), (250.0, 300.0, 300.0, 400.0)
    assert related(wide, narrow) == [(0, "above", 1)]


def test_things_without_boxes_have_no_relations() -> None:
    assert related(None, TABLE, None) == []
    assert related() == []


def test_in_a_crowd_each_thing_is_related_to_its_nearest_neighbours_only() -> None:
    row = [(i * 30.0, 0.0, i * 30.0 + 25.0, 40.0) for i in range(40)]
    relations = related(*row)
    assert max(sum(1 for r in relations if r[0] == i) for i in range(40)) <= MAX_PER_THING
    assert all(abs(subject - target) == 1 for subject, _, target in relations)
    assert len(relations) == 39
