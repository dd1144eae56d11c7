"""The JSON in a model's reply, however it is wrapped."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.chat.json_reply import MAX_CHARACTERS, find_json, repair_json
from vlkng_ros.errors import ModelOutputError

WHOLE = '{"objects": [{"id": "cup_1", "note": "a \\"red\\" cup, [new]"}, {"id": "cup_2"}], "summary": "two cups"}'
VALUE = json.loads(WHOLE)


@pytest.mark.parametrize(
    "reply",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Sure! Here it is:\n\n{WHOLE}\n\nLet me know {{if}} you need more.",
        f"<think>maybe {{'a': 1}} or {{\"objects\": []}}?</think>{WHOLE}",
        f"Note [1]: a set {{x}} first. {WHOLE}",
    ],
)
def test_whole_json_is_found_in_whatever_is_around_it(reply: str) -> None:
    assert find_json(reply, lambda value: isinstance(value, dict) and "objects" in value) == (VALUE, False)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"a": [1, 2,], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}),
        ('{"objects": [{"id": "cup_1", "type": "cu', {"objects": [{"id": "cup_1"}]}),
        ('{"objects": [{"id": "cup_1"}, {"id": "cup_2"', {"objects": [{"id": "cup_1"}]}),
        ('{"objects": [{"id": "cup_1"}], "summ', {"objects": [{"id": "cup_1"}]}),
        ('{"objects": [{"id": "cup_1"}]', {"objects": [{"id": "cup_1"}]}),
        ('{"text": "a, b] and \\"c', None),
        ('{"a": 1} }', {"a": 1}),
        ('{"a": [1}', None),
    ],
)
def test_what_is_cut_off_keeps_its_whole_values(reply: str, value: Any) -> None:
    if value is None:
        with pytest.raises(ModelOutputError):
            find_json(reply)
    else:
        assert find_json(reply)[0] == value


@pytest.mark.parametrize(
    "reply", ["", "I cannot help with that.", "{", "[1, 2]", "{not json}", '{"a": NaN}', "{" * 50_000]
)
def test_a_reply_without_json_is_refused(reply: str) -> None:
    with pytest.raises(ModelOutputError):
        find_json(reply)


def test_an_endless_reply_is_refused() -> None:
    with pytest.raises(ModelOutputError, match="more than 200000"):
        find_json('{"a": 1}' + " " * MAX_CHARACTERS)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=3), values, min_size=1, max_size=3), st.data())
def test_json_cut_off_anywhere_is_closed_to_json(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text)))
    repaired = json.loads(repair_json(text[:cut]))
    assert isinstance(repaired, dict)
    assert set(repaired) <= set(value)
    if cut == len(text):
        assert repaired == value
