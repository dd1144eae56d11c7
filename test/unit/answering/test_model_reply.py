import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.answering.context import within_budget
from vlkng_ros.answering.model_reply import Decision, checked, schema_for, times_in
from vlkng_ros.errors import ModelOutputError
from vlkng_ros.retrieval.stamps import stamp
from vlkng_ros.types import AnswerKind

SHOWN = {3, 4, 5}


def test_only_retrieved_frames_are_kept_in_the_models_order() -> None:
    reply = {"found": True, "frames": [9, 5, 3, 5], "answer": "By  the\ndoor."}
    assert checked(reply, AnswerKind.POSITION, SHOWN) == Decision(True, (5, 3), None, "By the door.")


def test_each_kind_has_its_value() -> None:
    base = {"found": True, "frames": [3], "answer": "So."}
    assert checked(base | {"yes": False}, AnswerKind.BINARY, SHOWN).value is False
    assert checked(base | {"seconds": 90}, AnswerKind.DURATION, SHOWN).value == 90.0
    assert checked(base | {"count": 2.0}, AnswerKind.COUNT, SHOWN).value == 2
    assert checked(base, AnswerKind.TEXT, SHOWN).value == "So."
    assert checked({"found": False, "frames": [], "answer": ""}, AnswerKind.TIME, SHOWN).found is False


def test_a_schema_names_the_frames_that_may_be_cited() -> None:
    cited = schema_for(AnswerKind.POSITION, SHOWN)["properties"]["frames"]
    assert (cited["items"]["enum"], cited["minItems"], cited["maxItems"]) == ([3, 4, 5], 1, 3)
    assert schema_for(AnswerKind.BINARY, SHOWN)["properties"]["frames"]["minItems"] == 0
    assert "enum" not in schema_for(AnswerKind.POSITION)["properties"]["frames"]["items"]


def test_the_prompts_example_is_no_answer() -> None:
    reply = {"found": True, "frames": [3], "answer": "One short sentence."}
    assert checked(reply, AnswerKind.POSITION, SHOWN).answer == ""
    with pytest.raises(ModelOutputError, match="is empty"):
        checked(reply, AnswerKind.TEXT, SHOWN)


def test_cited_times_are_those_of_frames() -> None:
    shown = times_in("[#3] [DAY1 08:00:00] at x=1. [#4] [DAY2 09:30:00] at x=2.")
    assert shown == {"[DAY1 08:00:00]", "[DAY2 09:30:00]"}
    reply = {"found": True, "frames": [3], "answer": "He sang at [DAY1 08:00:00]."}
    assert checked(reply, AnswerKind.TEXT, SHOWN, shown).answer == "He sang at [DAY1 08:00:00]."
    with pytest.raises(ModelOutputError, match=r"\[DAY3 08:00:00\], which no frame has"):
        checked(reply | {"answer": "He sang at [DAY3 08:00:00]."}, AnswerKind.TEXT, SHOWN, shown)
    with pytest.raises(ModelOutputError, match="must name the time"):
        checked(reply | {"answer": "He sang."}, AnswerKind.TEXT, SHOWN, shown)
    assert checked(reply | {"answer": "He sang."}, AnswerKind.TEXT, SHOWN).answer == "He sang."


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        (AnswerKind.POSITION, {"found": True, "frames": [9], "answer": "There."}),
        (AnswerKind.TIME, {"found": True, "frames": [], "answer": "Then."}),
        (AnswerKind.POSITION, {"found": True, "frames": ["3"], "answer": "There."}),
        (AnswerKind.POSITION, {"found": True, "frames": [True], "answer": "There."}),
        (AnswerKind.POSITION, {"found": True, "answer": "There."}),
        (AnswerKind.BINARY, {"found": True, "frames": [3], "answer": "Yes.", "yes": "yes"}),
        (AnswerKind.COUNT, {"found": True, "frames": [3], "answer": "Two.", "count": 2.5}),
        (AnswerKind.COUNT, {"found": True, "frames": [3], "answer": "Two.", "count": -1}),
        (AnswerKind.DURATION, {"found": True, "frames": [3], "answer": "Long.", "seconds": float("inf")}),
        (AnswerKind.TEXT, {"found": True, "frames": [3], "answer": " "}),
        (AnswerKind.TEXT, {"found": True, "frames": [3], "answer": None}),
    ],
)
def test_what_is_not_of_the_kind_is_refused(kind: AnswerKind, reply: dict[str, object]) -> None:
    with pytest.raises(ModelOutputError):
        checked(reply, kind, SHOWN)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(
    st.fixed_dictionaries({"found": st.booleans(), "frames": VALUES, "answer": VALUES, "yes": VALUES, "count": VALUES})
)
def test_a_decision_holds_only_what_may_be_in_it(reply: dict[str, object]) -> None:
    for kind in AnswerKind:
        try:
            decision = checked(reply, kind, SHOWN)
        except ModelOutputError:
            continue
        assert set(decision.frames) <= SHOWN
        assert isinstance(decision.answer, str)
        assert decision.value is None or type(decision.value) in (bool, int, float, str)


def test_schemas_name_the_value_of_the_kind() -> None:
    assert list(schema_for(AnswerKind.BINARY)["properties"]) == ["found", "frames", "yes", "answer"]
    assert list(schema_for(AnswerKind.POSITION)["properties"]) == ["found", "frames", "answer"]


def test_the_budget_keeps_the_first_lines() -> None:
    assert within_budget(["a" * 40, "b" * 40, "c"], 20) == ["a" * 40]
    assert within_budget(["a" * 400, "b"], 20) == ["a" * 80]
    assert within_budget(["a", "b"], 20) == ["a", "b"]


def test_stamps_count_days_from_the_first() -> None:
    day = 86_400 * 10**9
    assert stamp(day + 3_661 * 10**9, 10**9) == "[DAY2 01:01:01]"
