"""What a question says of a thing must have been said of that thing."""

import pytest
from test_text_index import index_of

from vlkng_ros.retrieval.clauses import NEEDED_OF_CLAUSE, said_of_thing
from vlkng_ros.retrieval.concepts import other_wordings
from vlkng_ros.retrieval.matching import Wording
from vlkng_ros.retrieval.phrases import head_of, is_doing, thing_of

FRAMES = [
    ["A man walks on a sidewalk.", "He is holding a phone."],
    ["a man with a red hat", "a wall"],
    ["A woman drinks coffee at a desk."],
]


def share(phrase: str, hidden: tuple[int, ...] = ()) -> float:
    index = index_of(FRAMES)
    return said_of_thing(index, index.cut(), [Wording(phrase)], hidden)


@pytest.mark.parametrize(
    "phrase",
    [
        "man with a red hat",
        "man wearing a hat",  # "wearing" is not said, the hat is said of him
        "man holding a phone",  # of the frame that shows him
        "woman drinking coffee",
        "woman sitting at a desk",
        "man",
    ],
)
def test_what_was_said_of_the_thing_is_enough(phrase: str) -> None:
    assert share(phrase) >= NEEDED_OF_CLAUSE


@pytest.mark.parametrize("phrase", ["man drinking coffee", "woman holding a phone", "man riding a horse"])
def test_what_was_said_of_another_thing_is_not(phrase: str) -> None:
    assert share(phrase) == 0.0


def test_of_a_frame_that_shows_the_thing_the_share_of_the_clause_counts_its_last_word_more() -> None:
    # Each of the four words of the clauses stands in one of four texts; "red" and "hat" weigh 1 and 1.5.
    assert share("man with a red phone") == pytest.approx(1.5 / 2.5)
    assert share("man with a blue phone in a hat", hidden=(2,)) < NEEDED_OF_CLAUSE
    assert share("man with a red hat", hidden=(2,)) == 0.0


def test_other_wordings_of_the_clause_count_and_needs_do_not() -> None:
    index = index_of([["a man in a foyer"], ["a chair"]])
    phrase = "man sitting in a lobby"
    said = [Wording(phrase), *(Wording(other, 0.9) for other in other_wordings(phrase))]
    assert said_of_thing(index, index.cut(), said[:1]) == 0.0
    assert said_of_thing(index, index.cut(), said) == NEEDED_OF_CLAUSE
    assert said_of_thing(index, index.cut(), [Wording("man sleeping"), Wording("chair", 0.9)]) == 0.0


@pytest.mark.parametrize(
    ("phrase", "thing", "head", "doing"),
    [
        ("man drinking coffee", "man", "man", True),
        ("old man sitting at a desk", "old man", "man", True),
        ("dog running", "dog", "dog", True),
        ("car parked in the garage", "car", "car", False),
        ("man standing in the door", "man", "man", False),
        ("man with a hat", "man", "man", False),
        ("car parking lot", "car parking lot", "lot", False),
        ("old dining desk", "old dining desk", "desk", False),
    ],
)
def test_the_thing_ends_where_it_is_told_what_it_does(phrase: str, thing: str, head: str, doing: bool) -> None:
    assert (thing_of(phrase), head_of(phrase), is_doing(phrase)) == (thing, head, doing)
