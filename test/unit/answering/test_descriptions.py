"""What is asked of a thing, taken from what captions say of that thing and no other."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from captioned_drives import Seen, WordEncoder, remember

from vlkng_ros.answering import MemoryQuery, statements
from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval.query import parse
from vlkng_ros.types import AnswerStatus, Question

FRAMES = [
    ("A man walks on a sidewalk. He is wearing a gray t-shirt and jeans. He is holding a phone in his hand.", ("man",)),
    ('A door has a sign that reads "Emergency Exit Only" in red letters.', ("sign", "door")),
    ("A round wooden table stands in the hall. There is a blue vase on the table.", ("table", "vase")),
    (
        "A young woman in a coat is riding a bicycle on the street. The man wears a hat.",
        ("woman", "bicycle"),
    ),
    ("The building is made of red brick and has large windows.", ("building",)),
    ("", ("bench",)),
    ("", ("fountain", "pigeon")),
    ("", ("bench", "lamp")),
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    drive = [Seen(20.0 * i, 30.0 * i, 0.0, caption, labels) for i, (caption, labels) in enumerate(FRAMES)]
    path = remember(tmp_path_factory.mktemp("told") / "memory.db", drive, WordEncoder())
    with MemoryReader.open(path) as reader:
        yield MemoryQuery(reader, WordEncoder())


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What was the man wearing?", "a gray t-shirt and jeans"),
        ("What was the man holding?", "a phone in his hand"),
        ("What did the man carry?", "a phone in his hand"),
        ("What does the sign say?", '"Emergency Exit Only"'),
        ("What is written on the sign?", '"Emergency Exit Only"'),
        ("What is the building made of?", "red brick"),
        ("What is the table made of?", "wood"),
        ("What shape is the table?", "round"),
        ("What kind of table is it?", "round wooden table"),
        ("What color is the vase?", "blue"),
        ("What was the woman doing?", "riding a bicycle on the street"),
        ("Who was riding a bicycle?", "a young woman in a coat"),
        ("What was on the table?", "a blue vase"),
        ("What does the building look like?", "The building is made of red brick and has large windows."),
        ("What did you see after the building?", "bench, fountain, pigeon, lamp"),
        ("What are you looking at right now?", "bench, lamp"),
    ],
)
def test_what_was_said_of_the_thing_is_the_answer(memory: MemoryQuery, question: str, text: str) -> None:
    answer = memory.ask(Question(question))
    assert (answer.status, answer.value) == (AnswerStatus.OK, text)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the bench made of?", "I saw bench, and do not remember that of it."),
        ("What was the dog wearing?", "I have not seen dog."),
    ],
)
def test_what_was_not_said_is_not_known(memory: MemoryQuery, question: str, said: str) -> None:
    answer = memory.ask(Question(question))
    assert (answer.status, answer.text) == (AnswerStatus.NOT_FOUND, said)


@pytest.mark.parametrize(
    ("question", "attribute", "target", "verb"),
    [
        ("what did the woman wear", "wearing", "woman", ""),
        ("What was the man in the blue shirt doing?", "doing", "man in the blue shirt", ""),
        ("What kind of trees did you see?", "kind", "trees", ""),
        ("What type of vehicle is parked near the door?", "kind", "vehicle", ""),
        ("Describe the statue.", "look", "statue", ""),
        ("What happened right after you passed the gate?", "after", "gate", ""),
        ("What is the person pointing at?", "object", "person", "pointing"),
        ("What color were the couches near where you entered the building?", "color", "couches", ""),
        ("What is the color of the hat is for the guy?", "color", "hat for the guy", ""),
        ("What is in front of the building?", "", "", ""),
        ("What were you doing?", "", "", ""),
    ],
)
def test_a_question_says_what_it_asks_of_which_thing(question: str, attribute: str, target: str, verb: str) -> None:
    query = parse(question)
    assert (query.attribute, query.target, query.verb) == (attribute, target, verb)


MAN = frozenset(("man",))


def test_what_another_person_does_is_not_said_of_the_thing() -> None:
    both = "A man is talking to a woman wearing a red coat."
    assert statements.wearing(both, MAN) == ""
    assert statements.wearing(both, frozenset(("woman",))) == "a red coat"
    assert statements.doing(both, MAN) == "talking to a woman wearing a red coat"


def test_a_pronoun_goes_on_speaking_of_the_thing_until_something_else_is_named() -> None:
    said = ["A man waits.", "He wears a hat.", "The sky is blue.", "It is wearing off."]
    assert list(statements.about(said, MAN)) == said[:2]


def test_what_hangs_on_or_stands_by_a_thing_comes_before_its_relation() -> None:
    wall = frozenset(("wall",))
    assert statements.beside("There are several framed pictures hanging on the wall.", "on", wall) == (
        "several framed pictures"
    )
    assert statements.beside("On the wall, there is an old clock and a door.", "on", wall) == "an old clock and a door"
    assert statements.beside("A dog sits next to the bench.", "near", wall) == ""


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many cups did you see?", 3),  # two places, and three at once
        ("How many small red cars did you see?", 2),
        ("How many trees did you see?", 3),  # "several" are at least three
        ("How many chairs are in the hall?", 4),
    ],
)
def test_there_are_never_fewer_than_one_frame_shows(tmp_path: Path, question: str, count: int) -> None:
    frames = [
        Seen(0.0, 0.0, 0.0, "A hall with three cups. Several trees and two small red cars.", ("cup",)),
        Seen(20.0, 40.0, 0.0, "A cup in a hall.", ("cup", "chair", "chair", "chair", "chair")),
    ]
    path = remember(tmp_path / "memory.db", frames, WordEncoder())
    with MemoryReader.open(path) as reader:
        assert MemoryQuery(reader, WordEncoder()).ask(Question(question)).value == count
