"""Florence-2's text, parsed, however malformed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.perception.florence2_output import Region, merge_regions, parse_caption, parse_regions
from vlkng_ros.types import EntityKind

SIZE = (1000, 500)


def parse(generated: str, counters: Counter[str] | None = None) -> list[Region]:
    return parse_regions(generated, SIZE, Counter() if counters is None else counters)


def test_labels_and_location_tokens_become_boxes_in_pixels() -> None:
    regions = parse("</s><s>cup<loc_100><loc_200><loc_299><loc_399>dining table<loc_0><loc_0><loc_999><loc_999></s>")
    assert [region.text for region in regions] == ["cup", "dining table"]
    assert regions[0].box_px == pytest.approx((100.5, 100.25, 299.5, 199.75))
    assert regions[1].box_px == pytest.approx((0.5, 0.25, 999.5, 499.75))


def test_a_label_with_several_boxes_is_several_things() -> None:
    regions = parse("chair<loc_0><loc_0><loc_99><loc_99><loc_200><loc_0><loc_299><loc_99></s>")
    assert [(r.text, round(r.box_px[0])) for r in regions] == [("chair", 0), ("chair", 200)]


def test_what_is_said_twice_is_heard_once() -> None:
    assert len(parse("cup<loc_1><loc_1><loc_99><loc_99>" * 5)) == 1


def test_articles_and_stops_are_no_part_of_a_label() -> None:
    assert [r.text for r in parse("a red  mug.<loc_1><loc_1><loc_99><loc_99>")] == ["red mug"]


def test_names_in_any_script_are_kept() -> None:
    assert [r.text for r in parse("café 入口<loc_1><loc_1><loc_99><loc_99>")] == ["café 入口"]


@pytest.mark.parametrize(
    ("generated", "counted"),
    [
        ("cup<loc_1><loc_1><loc_99>", "incomplete_boxes"),
        ("cup<loc_5><loc_5><loc_5><loc_99>", "degenerate_boxes"),
        ("<loc_1><loc_1><loc_99><loc_99>", "unlabelled_boxes"),
        ("<od><loc_1><loc_1><loc_99><loc_99>", "unlabelled_boxes"),
        ("cup<loc_5000><loc_1><loc_9000><loc_99>", "degenerate_boxes"),
    ],
)
def test_malformed_regions_are_left_out_and_counted(generated: str, counted: str) -> None:
    counters = Counter[str]()
    regions = parse("table<loc_0><loc_0><loc_500><loc_500>" + generated, counters)
    if generated.startswith("<loc"):  # runs on from the table's own box: more boxes of the table
        assert {r.text for r in regions} == {"table"}
        return
    assert [r.text for r in regions] == ["table"]
    assert counters == {counted: 1}


def test_corners_in_the_wrong_order_are_put_right() -> None:
    assert parse("cup<loc_299><loc_399><loc_100><loc_200>") == parse("cup<loc_100><loc_200><loc_299><loc_399>")


@pytest.mark.parametrize("generated", ["", "</s>", "<s></s><pad><pad>", "no boxes at all", "<loc_1>", "cup<loc_"])
def test_an_answer_without_boxes_is_no_regions(generated: str) -> None:
    assert parse(generated) == []


tokens = st.sampled_from(
    ["cup", " a ", "<loc_0>", "<loc_999>", "<loc_12>", "<loc_500>", "</s>", "<poly>", "<", ">", "é"]
)


@given(st.lists(tokens, max_size=30).map("".join))
def test_whatever_is_generated_regions_lie_in_the_image_and_have_a_name(generated: str) -> None:
    for region in parse(generated):
        x1, y1, x2, y2 = region.box_px
        assert 0 <= x1 < x2 <= SIZE[0]
        assert 0 <= y1 < y2 <= SIZE[1]
        assert region.text.strip()


def test_a_caption_is_text_without_special_tokens() -> None:
    assert parse_caption("</s><s>A red mug\n on a table.</s><pad><pad>") == "A red mug on a table."
    assert parse_caption("<s></s>") == ""


def test_of_a_caption_that_was_cut_off_whole_sentences_are_kept() -> None:
    assert parse_caption("<s>A red mug. Behind it a 2.5 m tall</s>", cut_off=True) == "A red mug."
    assert parse_caption("<s>A red mug on a</s>", cut_off=True) == "A red mug on a"
    assert parse_caption("<s>A red mug. Behind it a wall</s>") == "A red mug. Behind it a wall"


def region(text: str, x1: float, x2: float) -> Region:
    return Region(text, (x1, 0.0, x2, 100.0))


def test_an_object_takes_the_text_of_the_region_that_overlaps_it_best() -> None:
    merged = merge_regions(
        [region("cup", 0, 100), region("man", 200, 300)],
        [
            region("red mug", 0, 90),
            region("small mug", 0, 60),
            region("man in a coat", 205, 300),
            region("door", 500, 600),
        ],
    )
    assert [(d.label, d.region_text) for d in merged] == [
        ("cup", "red mug"),
        ("man", "man in a coat"),
        ("small mug", "small mug"),
        ("door", "door"),
    ]
    assert [d.kind for d in merged[:2]] == [EntityKind.OBJECT, EntityKind.PERSON]


def test_a_region_describes_one_object_only() -> None:
    merged = merge_regions([region("cup", 0, 100), region("bowl", 0, 100)], [region("red mug", 0, 100)])
    assert [(d.label, d.region_text) for d in merged] == [("cup", "red mug"), ("bowl", "")]


def test_without_objects_the_regions_are_the_detections() -> None:
    assert [d.label for d in merge_regions([], [region("door", 0, 10)])] == ["door"]
    assert merge_regions([], []) == []
