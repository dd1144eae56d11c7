"""What a label says about the kind of thing."""

import pytest

from vlkng_ros.perception.labels import MAX_LABEL_CHARACTERS, clean_label, kind_of
from vlkng_ros.types import EntityKind


@pytest.mark.parametrize("label", ["person", "Woman", "young man in a red coat", "people", "boy riding a bicycle"])
def test_people_are_persons(label: str) -> None:
    assert kind_of(label) is EntityKind.PERSON


@pytest.mark.parametrize("label", ["cup", "woman's coat", "human face", "in front", "", "personal computer"])
def test_other_things_are_objects(label: str) -> None:
    assert kind_of(label) is EntityKind.OBJECT


def test_a_label_is_one_line_of_bounded_length() -> None:
    assert clean_label(" The red\n cup. ") == "red cup"
    assert len(clean_label("x" * 5000)) == MAX_LABEL_CHARACTERS
