"""Small parts: bytes, labels, sentences, the grid, images of columns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vlkng_ros.memory.fold import NOWHERE, Reach
from vlkng_ros.memory.labels import normal_form, type_slug
from vlkng_ros.memory.packing import (
    pack_attributes,
    pack_box,
    pack_pose,
    pack_vector,
    unpack_attributes,
    unpack_box,
    unpack_pose,
    unpack_vector,
)
from vlkng_ros.memory.selecting import mentions
from vlkng_ros.memory.spatial_index import SEEN_FROM, STANDING, NamedGrid, SpatialGrid
from vlkng_ros.memory.texts import hash_of, sentences_of
from vlkng_ros.types import Pose

numbers = st.floats(-1e6, 1e6)


@given(st.tuples(numbers, numbers, numbers), st.floats(-math.pi, math.pi))
def test_a_pose_comes_back_bit_for_bit(position, yaw):
    pose = Pose("map", position, (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))
    assert unpack_pose("map", pack_pose(pose)) == pose
    assert len(pack_pose(pose)) == 56


@given(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 4))
def test_any_box_comes_back_exactly(box):
    assert unpack_box(pack_box(box)) == box


@pytest.mark.parametrize(
    ("box", "size"),
    [
        ((0.0, 1.0, 640.0, 480.0), 8),
        ((0.5, 1.25, 3.0, 4.0), 16),
        ((-1.0, 0.0, 3.0, 4.0), 16),
        ((0.1, 0.2, 0.3, 0.4), 32),
    ],
)
def test_a_box_takes_no_more_bytes_than_it_needs(box, size):
    packed = pack_box(box)
    assert packed is not None
    assert len(packed) == size


def test_no_box_is_no_bytes():
    assert pack_box(None) is None
    assert unpack_box(None) is None


def test_a_vector_keeps_its_direction():
    vector = np.random.default_rng(0).normal(size=384).astype(np.float32)
    vector /= np.linalg.norm(vector)
    back = unpack_vector(pack_vector(vector))
    assert len(pack_vector(vector)) == 768
    assert float(vector @ back) > 0.999999
    assert abs(float(np.linalg.norm(back)) - 1) < 1e-6


@given(st.dictionaries(st.text(), st.text()))
def test_attributes_come_back_without_those_that_say_nothing(attributes):
    assert unpack_attributes(pack_attributes(attributes)) == {k: v for k, v in attributes.items() if v}


@pytest.mark.parametrize(
    ("label", "form"),
    [
        ("Cup", "cup"),
        ("Coffee  Cups", "coffee cup"),
        ("glass", "glass"),
        ("boxes", "box"),
        ("batteries", "battery"),
        ("bus", "bus"),
        ("buses", "bus"),
        ("benches", "bench"),
        ("people", "person"),
        ("Scissors", "scissors"),
        ("CDs", "cds"),
        ("tennis", "tennis"),
        ("wheels", "wheel"),
        ("ties", "tie"),
        ("  ", ""),
    ],
)
def test_labels_are_compared_case_and_plural_apart(label, form):
    assert normal_form(label) == form


@pytest.mark.parametrize(
    ("label", "slug"), [("Coffee Cups", "coffee_cup"), ("T-shirt", "t_shirt"), ("Stühle", "stühle"), ("!?", "thing")]
)
def test_the_type_in_an_entity_id_is_a_word(label, slug):
    assert type_slug(label) == slug


@pytest.mark.parametrize(
    ("caption", "sentences"),
    [
        ("", []),
        ("A room.", ["A room."]),
        ("A room.  It is\nred! Is it? Yes", ["A room.", "It is red!", "Is it?", "Yes"]),
        ("It is 3.5 m wide.", ["It is 3.5 m wide."]),
    ],
)
def test_a_caption_is_its_sentences(caption, sentences):
    assert sentences_of(caption) == sentences
    assert " ".join(sentences) == " ".join(caption.split())


@given(st.text())
def test_no_word_of_a_caption_is_lost(caption):
    assert " ".join(sentences_of(caption)) == " ".join(caption.split())


def test_a_text_has_the_same_number_in_every_process():
    assert hash_of("a cup") == 5177366037817423893 or -(2**63) <= hash_of("a cup") < 2**63
    assert hash_of("a cup") == hash_of("a" + " cup")
    assert hash_of("a cup") != hash_of("a cups")


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("Two red Cups, on a table", "cup", True),
        ("a cupboard", "cup", False),
        ("the coffee cups are red", "coffee cup", True),
        ("coffee and a cup", "coffee cup", False),
        ("", "cup", False),
        ("T-shirts everywhere", "t-shirt", True),
    ],
)
def test_a_text_mentions_whole_words_only(text, word, found):
    assert mentions(text, {word}) is found


places = st.tuples(st.floats(-20, 20), st.floats(-20, 20), st.floats(-2, 2))


@given(
    st.lists(st.tuples(st.integers(1, 8), st.sampled_from((STANDING, SEEN_FROM, -1)), places), max_size=40),
    places,
    st.floats(0, 15),
)
@example([(1, STANDING, (0.0, -2.2e-311, 0.0))], (0.0, 0.0, 0.0), 0.0)
@example([(1, STANDING, (0.0, -1e-20, 0.0))], (0.0, 4.0, 0.0), 4.0)
def test_the_grid_finds_what_a_search_through_everything_finds(steps, centre, radius):
    grid, known = SpatialGrid(), {}
    for key, slot, place in steps:
        if slot == -1:
            grid.remove(key)
            known = {name: at for name, at in known.items() if name[0] != key}
        else:
            grid.place(key, slot, place)
            known[key, slot] = place
    assert len(grid) == len(known)
    for slots in ((STANDING,), (SEEN_FROM,), (STANDING, SEEN_FROM)):
        away = {name: math.dist(at, centre) for name, at in known.items()}
        expected = sorted({k for (k, slot), d in away.items() if slot in slots and d <= radius})
        assert grid.near(centre, radius, slots) == expected


@given(
    st.lists(st.tuples(st.integers(1, 8), st.sampled_from(("cup", "mug", "door", "")), places, places), max_size=40),
    places,
    st.floats(0, 40),
    st.floats(0, 1),
)
def test_what_is_called_alike_is_found_by_name_wherever_it_went_and_whatever_it_was_called(
    steps, centre, radius, least
):
    likeness = {"cup": 1.0, "mug": 0.8, "door": 0.2}
    grid, known = NamedGrid(), {}
    for key, name, standing, seen_from in steps:
        if name:
            grid.place(key, name, standing, seen_from)
            known[key] = name
        elif key in known:
            grid.remove(key)
            del known[key]
    expected = [key for key in grid.near(centre, radius) if likeness[known[key]] > least]
    assert grid.alike_near(likeness, least, centre, radius) == expected


def test_a_reach_grows_to_hold_every_place():
    reach = NOWHERE.including((1.0, 2.0, 3.0)).including((0.0, 5.0, 3.0))
    assert reach == Reach((0.0, 2.0, 3.0), (1.0, 5.0, 3.0))
    assert Reach.from_bytes(reach.to_bytes()) == reach
