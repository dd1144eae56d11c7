import numpy as np
import pytest
from test_text_index import index_of

from vlkng_ros.retrieval.binding import Term, unbound

RED = Term(("red",), 1.0, head=False, color=True)
WOODEN = Term(("wooden",), 2.0, head=False)


def lost(text: str, *others: Term, head: str = "door") -> float:
    index = index_of([["a wall"], [text], ["a window"]])
    slot = index.texts.index(text)
    return float(unbound(index, np.array([0, slot, 2]), [head], others)[1])


@pytest.mark.parametrize(
    "text",
    [
        "a red door",
        "the door is red",
        "a red brick door",
        "the red wooden door",
        "a chair is red. A door that was painted red",
        "a wall without a door",
    ],
)
def test_a_color_said_of_the_thing_is_kept(text: str) -> None:
    assert lost(text, RED) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "a door with red walls",
        "a door beside a bench and a tall man in a red shirt",
        "the door has a red handle",
        "the wall is white near a door red lamp",
    ],
)
def test_a_color_of_something_else_is_lost(text: str) -> None:
    assert lost(text, RED) == 1.0


def test_an_adjective_goes_with_a_noun_up_to_two_content_words_away() -> None:
    assert lost("a wooden garden door", WOODEN) == 0.0
    assert lost("a wooden bench, plant, lamp and door", WOODEN) == 2.0
    assert lost("a wooden bench, plant, lamp and red door", WOODEN, RED) == 2.0


def test_words_do_not_reach_into_the_next_text() -> None:
    index = index_of([["a door and a long wide wooden bench, red"], ["door"]])
    assert unbound(index, np.arange(2), ["door"], [RED]).tolist() == [1.0, 0.0]
