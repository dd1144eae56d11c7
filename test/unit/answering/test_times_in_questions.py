"""Times that are bounded, come again, or are the last; how long and how often. All worked out by hand."""

import datetime as dt
from collections.abc import Iterator

import pytest
from captioned_drives import Seen, remember, round_trip

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import AnswerKind, Question

DAYS = [
    (18, 9, 0, "cat", 2),
    (18, 9, 20, "cup", 1),
    (18, 14, 0, "dog", 1),
    (19, 9, 0, "cat", 1),
    (20, 9, 0, "cup", 1),
    (20, 9, 5, "cat", 1),
    (20, 12, 10, "dog", 1),
    (20, 12, 15, "lamp", 1),
    (20, 12, 20, "cat", 3),
]
"""Day of May 2026 (the 18th is a Monday), hour, minute, what so many pictures 10 s apart show; four more show nothing.

48 pictures in all, the last one at 12:21 of the 20th.
"""


def ns(day: int, hour: int, minute: int = 0, second: int = 0) -> int:
    """Of the machine's own time zone, as questions are understood."""
    return round(dt.datetime(2026, 5, day, hour, minute, second).timestamp() * 1e9)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    frames = []
    for day, hour, minute, label, pictures in DAYS:
        start = ns(day, hour, minute) / 1e9
        shown = [(label,)] * pictures + [()] * 4
        frames += [Seen(start + 10 * i, 3.0 * (len(frames) + i), 0.0, "", said) for i, said in enumerate(shown)]
    with MemoryReader.open(remember(tmp_path_factory.mktemp("days") / "memory.db", frames)) as reader:
        yield MemoryQuery(reader, None)


@pytest.mark.parametrize(
    ("question", "yes", "said"),
    [
        ("Did you see the cat more than 3 hours ago?", True, "I saw: cat"),
        ("Did you see the lamp more than 10 minutes ago?", False, "I have not seen lamp in that time."),
        ("Did you see the dog less than 5 minutes ago?", False, "I have not seen dog in that time."),
        ("Did you see the dog less than 15 minutes ago?", True, "I saw: dog"),
        ("Did you see the cup at least an hour ago?", True, "I saw: cup"),
        ("Did you last see the cup more than an hour ago?", True, "I last saw it at"),
        ("Did you last see the cat more than an hour ago?", False, "I last saw it at"),
        ("Has it been more than an hour since you saw the cup?", True, "I last saw it at"),
        ("Is it less than 5 minutes since you saw the lamp?", False, "I last saw it at"),
        ("Was the dog first seen today?", False, "I first saw it at"),
        ("Did you see the dog at noon?", True, "I saw: dog"),
        ("Did you see the cup around noon?", False, "in that time"),
        ("Did you see the cat before noon today?", True, "I saw: cat"),
        ("Did you see the cat yesterday at 9:00?", True, "I saw: cat"),
        ("Did you see the cup yesterday at 9:00?", False, "in that time"),
        ("Did you see the dog this week?", True, "I saw: dog"),
        ("Did you see a cat every morning?", True, "I saw it on 3 of 3 mornings."),
        ("Do you see the cup every morning?", False, "I saw it on 2 of 3 mornings."),
        ("Do you usually see the cup in the morning?", True, "I saw it on 2 of 3 mornings."),
        ("Did you see the dog every day?", False, "I saw it on 2 of 3 days."),
        ("Did you see the dog every afternoon?", True, "I saw it on 2 of 2 afternoons."),
        ("Do you see a zebra every day?", False, "I have not seen zebra."),
        ("Is the cat always there?", None, "I do not know of every time; ask me about one."),
        ("Did you see the cat most often?", True, "I saw cat most often: 7 of 48 pictures show it."),
        ("Did you see the dog most often?", False, "I saw cat most often"),
        ("Did you see the lamp least often?", True, "1 of 48 pictures show it."),
        ("Did you see the lamp only once?", True, "I counted 1."),
        ("Did you only see the cat once?", False, "I counted 4."),
        ("Did you see the dog twice?", True, "I counted 2."),
        ("Did you look at the cat for more than 25 seconds?", True, "It was 30 seconds."),
        ("Did you look at the cat for longer than a minute?", False, "It was 30 seconds."),
        ("Did you watch the zebra for 10 seconds?", False, "I have not seen zebra."),
    ],
)
def test_yes_or_no(memory: MemoryQuery, question: str, yes: bool | None, said: str) -> None:
    answer = memory.ask(Question(question))
    assert (answer.kind, answer.value) == (AnswerKind.BINARY, yes), answer.text
    assert said in answer.text


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("When did you leave the cat?", ns(20, 12, 20, 20)),
        ("When did you first leave the cat?", ns(18, 9, 0, 10)),
        ("When did you leave the cup?", ns(20, 9)),
        ("When did you get to the cup?", ns(20, 9)),
        ("How long did you look at the cat?", 30.0),
        ("How long did you look at the cat in total?", 30.0),
        ("How long did you look at the cat at a time?", 20.0),
        ("What is the longest that you looked at the cat?", 20.0),
        ("How long was the cat in view?", 30.0),
        ("How much time did you spend looking at the cat?", 30.0),
        ("What did you look at the longest?", "cat"),
        ("On how many days did you see the dog?", 2),
        ("On how many mornings did you see the dog?", 0),
        ("What did you see only once?", "lamp"),
        ("What did you see twice?", "cup, dog"),
        ("What did you see more than 3 times?", "cat"),
        ("What did you see least often?", "lamp"),
        ("Which thing did you see the fewest times?", "lamp"),
        ("What is the rarest thing?", "lamp"),
    ],
)
def test_when_how_long_and_how_often(memory: MemoryQuery, question: str, value: object) -> None:
    answer = memory.ask(Question(question))
    assert answer.value == value, answer.text


@pytest.fixture(scope="module")
def trip(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    """38 s in the street, 38 s inside, 38 s in the street."""
    with MemoryReader.open(remember(tmp_path_factory.mktemp("trip") / "memory.db", round_trip())) as reader:
        yield MemoryQuery(reader, None)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How long were you outside?", 76.0),
        ("How long were you outside for?", 76.0),
        ("How long were you outside at a time?", 38.0),
        ("What is the longest time that you were outside?", 38.0),
        ("How long have you been outside?", 38.0),
        ("How long were you in the building?", 38.0),
        ("Were you outside for more than a minute?", True),
        ("Were you in the building for more than a minute?", False),
        ("Were you in the building for less than a minute?", True),
        ("How many buildings did you enter?", 1),
        ("Are you moving?", True),
        ("Is the robot moving right now?", True),
        ("Are you stopped?", False),
    ],
)
def test_what_the_robot_did_altogether_and_at_a_time(trip: MemoryQuery, question: str, value: object) -> None:
    assert trip.ask(Question(question)).value == value


@pytest.mark.parametrize(
    ("question", "frame"),
    [
        ("Take me to the front door of the building you entered", 20),
        ("I'm tired, where can I sit down?", 25),
        ("Which floor are you on?", 59),
    ],
)
def test_where_it_was(trip: MemoryQuery, question: str, frame: int) -> None:
    assert trip.ask(Question(question)).keyframes[0].keyframe.keyframe_id == frame + 1


def test_one_morning_is_not_every_morning_and_what_is_in_view_was_not_left(memory: MemoryQuery) -> None:
    early = memory.ask(Question("Do you see a cat every morning?", as_of_ns=ns(18, 12)))
    assert (early.value, early.text) == (None, "I remember only one morning, and saw cat then.")
    there = memory.ask(Question("When did you leave the cat?", since_ns=ns(20, 12, 15), as_of_ns=ns(20, 12, 20, 20)))
    assert (there.value, there.text) == (None, "I have not left cat yet.")
    assert memory.ask(Question("How long did you look at the lamp?")).text.startswith("For less than a second.")
    nothing = memory.ask(Question("Where were you 20 days ago?"))
    assert nothing.text == "Nothing was recorded in that time."
