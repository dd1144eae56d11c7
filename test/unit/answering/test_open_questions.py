"""Every kind of question that names its thing by where, when or in what relation it is, worked out by hand."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from captioned_drives import SECOND, WordEncoder, open_writer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.errors import QuestionError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import (
    Answer,
    AnswerKind,
    AnswerStatus,
    Capture,
    Detection,
    Perception,
    Pose,
    Question,
    RelationMention,
)

START = int(dt.datetime(2026, 3, 1, 9, 59, 30, tzinfo=dt.timezone.utc).timestamp())
STREET = "A street with trees under the sky."
HALL = "The interior of a hallway with a tiled floor and a high ceiling."

STOPS = [
    (STREET, ("fire hydrant",), ()),
    (f"{STREET} The bench is empty.", ("bench", "bin"), ((1, "next to", 0),)),
    (f"{STREET} A man sits on the bench.", ("bench", "man"), ((1, "on", 0),)),
    (HALL, (), ()),
    (f"{HALL} The door is closed.", ("door", "desk", "printer"), ((2, "next to", 1), (2, "next to", 0))),
    (HALL, ("cat",), ()),
    (HALL, (), ()),
    (STREET, ("bicycle",), ()),
    (f"{STREET} A bench stands there.", ("bench",), ()),
    (f"{STREET} A bench stands there.", ("bench",), ()),
]
"""One each 10 s and 15 m: three in the street, four inside, three outside again."""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    path: Path = tmp_path_factory.mktemp("kinds") / "memory.db"
    with open_writer(path, WordEncoder()) as writer:
        for i, (caption, labels, relations) in enumerate(STOPS):
            stamp_ns = (START + 10 * i) * SECOND
            keyframe = writer.add_keyframe(Capture(stamp_ns, Pose.planar("map", 15.0 * i, 0.0, 0.0)))
            detections = tuple(Detection(label) for label in labels)
            edges = tuple(RelationMention(*edge) for edge in relations)
            writer.add_perception(keyframe.keyframe_id, Perception(caption, detections, edges, backend="told"))
            writer.associate(keyframe.keyframe_id)
    with MemoryReader.open(path) as reader:
        yield MemoryQuery(reader, WordEncoder())


def ask(memory: MemoryQuery, text: str, at_m: float = 0.0) -> Answer:
    return memory.ask(Question(text, asker=Pose.planar("map", at_m, 0.0, 0.0)))


def stop(answer: Answer) -> int:
    return answer.keyframes[0].keyframe.keyframe_id - 1


@pytest.mark.parametrize(
    ("question", "at_m", "text"),
    [
        ("What is nearest to me?", 76.0, "cat"),
        ("What is the closest thing to me right now?", 58.0, "door, desk, printer"),
        ("What is farthest from me?", 0.0, "bench"),
        ("What is the first thing you saw?", 0.0, "fire hydrant"),
        ("What was the last thing you saw?", 0.0, "bench"),
        ("What is on the bench?", 0.0, "man"),
        ("Who was on the bench?", 0.0, "man"),
        ("What is next to the bench?", 0.0, "bin"),
        ("What is between the desk and the door?", 0.0, "printer"),
        ("Is the door open or closed?", 0.0, "closed"),
        ("Did you see a dog or a cat?", 0.0, "cat"),
        ("Which is closer, the bicycle or the cat?", 80.0, "cat"),
        ("Which is closer, the bicycle or the cat?", 100.0, "bicycle"),
        ("What did you see 50 seconds ago?", 0.0, "door, desk, printer"),
        ("What did you see on day 1 at 10:00:20?", 0.0, "cat"),
        ("What did you see in the last 5 seconds?", 0.0, "bench"),
        ("What did you see?", 0.0, "bench, fire hydrant, bin, man, door, desk, printer, cat and 1 more"),
        ("Which objects did you see?", 0.0, "bench, fire hydrant, bin, man, door, desk, printer, cat and 1 more"),
        ("What do you remember?", 0.0, "bench, fire hydrant, bin, man, door, desk, printer, cat and 1 more"),
        ("Who did you see?", 0.0, "man"),
        ("What is the closest thing to the desk?", 0.0, "printer"),
        ("What did you see after the cat?", 0.0, "bicycle, bench"),
        ("What did you see before the cat?", 0.0, "door, desk, printer, bench, man, bin, fire hydrant"),
        ("What did you see after you left the building?", 0.0, "bench, bicycle"),
        ("How far is the cat?", 0.0, "75.0 m to where I saw it from; where it stands I do not know"),
    ],
)
def test_what_there_is(memory: MemoryQuery, question: str, at_m: float, text: str) -> None:
    answer = ask(memory, question, at_m)
    assert (answer.status, answer.kind, answer.value) == (AnswerStatus.OK, AnswerKind.TEXT, text)
    assert answer.keyframes


@pytest.mark.parametrize(
    ("question", "at_m", "number"),
    [
        ("Where is the printer between the desk and the door?", 0.0, 4),
        ("Where is the bin next to the bench?", 0.0, 1),
        ("Where is the farthest bench?", 0.0, 8),
        ("Where is the nearest bench?", 0.0, 1),
        ("Where is the first bench?", 130.0, 1),
        ("Where was the most recent bench?", 0.0, 9),
        ("Where did you see a bench before you entered the building?", 120.0, 1),
        ("Where did you last see a bench before entering the building?", 120.0, 2),
        ("Where did you see a bench after leaving the building?", 0.0, 8),
        ("Can you take me to the cat, please?", 0.0, 5),
        ("please bring me to the printer", 0.0, 4),
        ("I want to go to the fire hydrant", 0.0, 0),
        ("take me somewhere to sit", 0.0, 8),
        ("wehre is teh cat", 0.0, 5),
        ("were is the printer?", 0.0, 4),
        ("whre did yuo see teh bicycle", 0.0, 7),
        ("the cat, where is it?", 0.0, 5),
        ("Where were you at DAY1 10:00:00?", 0.0, 3),
        ("Where were you 40 seconds ago?", 0.0, 5),
    ],
)
def test_where_it_is(memory: MemoryQuery, question: str, at_m: float, number: int) -> None:
    answer = ask(memory, question, at_m)
    assert (answer.status, answer.kind, stop(answer)) == (AnswerStatus.OK, AnswerKind.POSITION, number)


@pytest.mark.parametrize(
    ("question", "yes", "goal"),
    [
        ("Did you see a bench before you entered the building?", True, True),
        ("Did you see a cat before you entered the building?", False, False),
        ("Is there no bench?", False, True),
        ("Is there no elephant?", True, False),
        ("Isn't there a bench?", True, True),
        ("Did you see any cats or dogs?", True, True),
        ("Did you see any wolves or dogs?", False, False),
        ("Did you see a cat in the last 30 seconds?", False, False),
        ("Did you see a bicycle in the last 30 seconds?", True, True),
    ],
)
def test_whether_it_is_so(memory: MemoryQuery, question: str, yes: bool, goal: bool) -> None:
    answer = ask(memory, question)
    assert (answer.kind, answer.value, answer.goal is not None) == (AnswerKind.BINARY, yes, goal)


def test_what_it_must_not_be_is_passed_over(memory: MemoryQuery) -> None:
    assert stop(ask(memory, "Where is an empty bench?")) == 1
    assert stop(ask(memory, "Where is a bench that is not empty?")) in (2, 8, 9)


def test_when_and_how_many(memory: MemoryQuery) -> None:
    assert ask(memory, "When did you most recently see a bench?").value == (START + 90) * SECOND
    assert ask(memory, "When did you first see a bench?").value == (START + 10) * SECOND
    assert ask(memory, "haw many cats did you see?").value == 1


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is on the piano?", "I have not seen piano."),
        ("Did you see a wolf or a dog?", "I have not seen wolf or dog."),
        ("Where is the cat next to the piano?", "I have not seen cat next to the piano."),
    ],
)
def test_what_is_not_known_is_said_so(memory: MemoryQuery, question: str, said: str) -> None:
    answer = ask(memory, question)
    assert (answer.status, answer.text, answer.goal) == (AnswerStatus.NOT_FOUND, said, None)


WORDS = """
    what where which who is are was did you see nearest farthest first last between and or not no near on the a bench
    cat door closed before after entered building left of to me 10 seconds ago day1 10:00:00 yesterday take how far
    many long color teh without than other , ? " '
    """.split()  # noqa: SIM905


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join), st.text(max_size=60)))
def test_no_question_breaks_an_answer(memory: MemoryQuery, text: str) -> None:
    try:
        answer = ask(memory, text)
    except QuestionError:
        return
    assert answer.status in (AnswerStatus.OK, AnswerStatus.NOT_FOUND)
    assert (answer.value is not None) == (answer.status is AnswerStatus.OK)
    assert 0.0 <= answer.confidence <= 1.0
    shown = {ranked.keyframe.keyframe_id for ranked in answer.keyframes}
    assert set(answer.citations) <= shown
