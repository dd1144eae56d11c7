"""Spatial relations from boxes, and from measured places."""

import pytest

from vlkng_ros.perception.relations import MAX_PER_THING, Place, corrected_by_places, relations_of
from vlkng_ros.types import BoxPx, Detection, RelationMention

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


# ------------------------------------------------------------------------------------------ measured

DESK = Place((2.0, 0.0, 0.4), half_width_m=0.8, bottom_m=0.0, top_m=0.8)


def in_space(*things: tuple[BoxPx | None, Place | None]) -> list[tuple[int, str, int]]:
    detections = [Detection(f"thing {i}", box) for i, (box, _) in enumerate(things)]
    said = corrected_by_places(relations_of(detections), detections, [place for _, place in things])
    return [(r.subject, r.predicate, r.object) for r in said]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        # On the desk, in its back half: the picture shows it inside the desk's box.
        (Place((2.4, 0.2, 0.86), 0.05, 0.81, 0.91), [(0, "on", 1)]),
        # Under it, and so inside what the box shows of it.
        (Place((2.4, 0.2, 0.2), 0.15, 0.0, 0.4), [(0, "inside", 1)]),
        # Seen through between its legs, on the floor 1.0 m behind it: 2.0 - 0.8 - 0.2.
        (Place((4.0, 0.0, 0.2), 0.2, 0.0, 0.4), [(0, "near", 1)]),
        # 1.1 m behind it: no neighbour, whatever the picture looks like.
        (Place((4.1, 0.0, 0.2), 0.2, 0.0, 0.4), []),
    ],
)
def test_a_thing_inside_the_desks_box_is_on_it_under_it_or_behind_it(
    place: Place, expected: list[tuple[int, str, int]]
) -> None:
    inside: BoxPx = (250.0, 320.0, 300.0, 400.0)
    assert related(inside, TABLE) == [(0, "inside", 1)]
    assert in_space((inside, place), (TABLE, DESK)) == expected


def test_things_side_by_side_keep_their_side_and_those_one_behind_the_other_are_next_to_each_other() -> None:
    left, right = ((180.0, 110.0, 260.0, 190.0), (300.0, 100.0, 400.0, 200.0))
    chair, sofa = Place((2.0, 0.5, 0.4), 0.2, 0.0, 0.8), Place((2.0, -0.6, 0.4), 0.25, 0.0, 0.8)
    assert in_space((left, chair), (right, sofa)) == [(0, "left of", 1)]
    # Half a metre apart in the picture's depth alone; their boxes cover each other and say nothing.
    front, back = (100.0, 100.0, 200.0, 220.0), (110.0, 90.0, 205.0, 215.0)
    assert related(front, back) == []
    behind = Place((2.6, 0.5, 0.4), 0.2, 0.0, 0.8)
    assert in_space((front, chair), (back, behind)) == [(0, "next to", 1)]


def test_what_the_model_said_and_what_is_not_measured_is_kept() -> None:
    cup = (250.0, 220.0, 300.0, 302.0)
    assert in_space((cup, None), (TABLE, DESK)) == [(0, "on", 1)]
    far = Place((9.0, 0.0, 0.9), 0.05, 0.8, 0.9)
    detections = [Detection("cup", cup), Detection("table", TABLE)]
    reflected = RelationMention(0, "reflected by", 1)
    assert corrected_by_places((reflected,), detections, [far, DESK]) == (reflected,)
