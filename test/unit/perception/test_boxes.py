"""Boxes made fit to remember."""

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.perception.boxes import clip_box, iou_matrix, tidy
from vlkng_ros.types import Detection

corner = st.floats(allow_nan=True, allow_infinity=True, width=32)


def test_overlap_of_two_boxes_is_their_intersection_over_union() -> None:
    a = np.array([[0.0, 0.0, 10.0, 10.0], [20.0, 0.0, 30.0, 10.0]])
    b = np.array([[5.0, 0.0, 15.0, 10.0]])
    np.testing.assert_allclose(iou_matrix(a, b), [[1 / 3], [0.0]])


def test_a_box_is_clipped_to_the_image() -> None:
    assert clip_box((-5.0, 10.0, 50.0, 500.0), 40, 30) == (0.0, 10.0, 40.0, 30.0)


def test_corners_in_the_wrong_order_are_put_right() -> None:
    assert clip_box((30.0, 20.0, 10.0, 5.0), 40, 30) == (10.0, 5.0, 30.0, 20.0)


@given(st.tuples(corner, corner, corner, corner))
def test_a_box_that_is_left_lies_in_the_image_and_has_an_area(box: tuple[float, float, float, float]) -> None:
    clipped = clip_box(box, 40, 30)
    if clipped is None:
        return
    x1, y1, x2, y2 = clipped
    assert 0 <= x1 < x2 <= 40
    assert 0 <= y1 < y2 <= 30
    assert all(math.isfinite(c) for c in clipped)


def test_degenerate_boxes_are_dropped_and_counted() -> None:
    counters = Counter[str]()
    kept = tidy(
        [
            Detection("line", (5.0, 5.0, 5.0, 20.0)),
            Detection("outside", (100.0, 100.0, 120.0, 120.0)),
            Detection("nan", (0.0, float("nan"), 10.0, 10.0)),
            Detection("cup", (5.0, 5.0, 20.0, 20.0)),
        ],
        (40, 30),
        counters,
    )
    assert [d.label for d in kept] == ["cup"]
    assert counters == {"degenerate_boxes": 3}


def test_of_duplicates_the_better_stays_and_takes_over_what_it_lacks() -> None:
    counters = Counter[str]()
    kept = tidy(
        [
            Detection(
                "Cup", (10.0, 10.0, 21.0, 20.0), score=0.6, region_text="a red cup", attributes={"colour": "red"}
            ),
            Detection("cup", (10.0, 10.0, 20.0, 20.0), score=0.9),
        ],
        (40, 30),
        counters,
    )
    assert kept == (
        Detection("cup", (10.0, 10.0, 20.0, 20.0), score=0.9, region_text="a red cup", attributes={"colour": "red"}),
    )
    assert counters == {"duplicate_boxes": 1}


def test_one_box_with_two_names_is_one_thing_and_a_box_within_another_is_not() -> None:
    boxes = [
        Detection("cup", (100.0, 100.0, 300.0, 300.0), score=0.95),
        Detection("bowl", (98.0, 101.0, 300.0, 304.0), score=0.87),
        Detection("dining table", (0.0, 0.0, 640.0, 480.0), score=0.76),
        Detection("spoon", (150.0, 150.0, 200.0, 200.0), score=0.7),
    ]
    assert [d.label for d in tidy(boxes, (640, 480), Counter())] == ["cup", "dining table", "spoon"]


def test_two_of_a_kind_side_by_side_stay_two() -> None:
    chairs = [Detection("chair", (0.0, 0.0, 20.0, 20.0)), Detection("chair", (15.0, 0.0, 35.0, 20.0))]
    assert tidy(chairs, (40, 30), Counter()) == tuple(chairs)


def test_a_detection_without_a_box_passes() -> None:
    heard = Detection("music")
    assert tidy([heard, heard], (40, 30), Counter()) == (heard, heard)
