import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.memory.words import COLOR_STEMS, SIZE_STEMS, edit_distance, near_spellings, stem, terms, tokens


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("buses", "buse"),
        ("bus", "bus"),
        ("boxes", "box"),
        ("benches", "bench"),
        ("people", "person"),
        ("women", "woman"),
        ("stopped", "stop"),
        ("parking", "park"),
        ("cities", "city"),
        ("glass", "glass"),
        ("couches", "sofa"),
        ("bikes", "bicycle"),
    ],
)
def test_inflection_and_everyday_names_come_off(word: str, base: str) -> None:
    assert stem(word) == stem(base) if base in ("sofa", "bicycle") else stem(word) == base


def test_singular_and_plural_meet() -> None:
    for one, many in (("tree", "trees"), ("horse", "horses"), ("elevator", "elevators"), ("story", "stories")):
        assert stem(one) == stem(many)


def test_possessives_and_punctuation_are_dropped() -> None:
    assert tokens("The robot's bird’s-eye view!") == ["the", "robot", "bird", "eye", "view"]


def test_function_words_and_caption_talk_are_no_terms() -> None:
    assert terms("The image shows a red door on the left side of the image.") == ["red", "door"]


def test_a_swap_of_neighbours_is_one_edit() -> None:
    assert edit_distance("chiar", "chair", 2) == 1
    assert edit_distance("horse", "house", 2) == 1
    assert edit_distance("abcdef", "uvwxyz", 2) == 3


def test_all_spellings_at_the_least_distance_are_kept() -> None:
    assert near_spellings("hours", ["hors", "hous", "hotel"]) == ["hors", "hous"]
    assert near_spellings("motocycl", ["motorcycl", "bicycl"]) == ["motorcycl"]
    assert near_spellings("cat", ["car", "bat"]) == []
    assert near_spellings("horse", ["norse"]) == []


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distance_is_symmetric_and_zero_only_for_equals(a: str, b: str) -> None:
    assert edit_distance(a, b, 6) == edit_distance(b, a, 6)
    assert (edit_distance(a, b, 6) == 0) == (a == b)


def test_colors_and_sizes_are_known_as_stems() -> None:
    assert {stem("white"), stem("beige"), stem("orange")} <= COLOR_STEMS
    assert stem("large") in SIZE_STEMS
