"""Questions about how things stand, how far apart they are, and about several at once, worked out by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from captioned_drives import SECOND, open_writer

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.answering.confidence import absence
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import AnswerStatus, Capture, Detection, Intrinsics, Perception, Pose, Question, RelationMention

LOOKING_ALONG_X = (-0.5, 0.5, -0.5, 0.5)
CAMERA = Intrinsics(100.0, 100.0, 50.0, 50.0, 100, 100)
BOX = (45.0, 45.0, 55.0, 55.0)
STOPS = [("cup", 2.0), ("cat", 4.0), ("", None), ("person", 20.0), ("box", None)]
"""What is straight ahead, and how far; stops are 0.5 m apart: the cup is at x = 2, the cat 4.5, the person 21.5 m."""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    path: Path = tmp_path_factory.mktemp("relations") / "memory.db"
    with open_writer(path) as writer:
        for i, (label, depth_m) in enumerate(STOPS):
            pose = Pose.planar("map", 0.5 * i, 0.0, 0.0)
            camera = Pose("map", pose.position_m, LOOKING_ALONG_X)
            taken = Capture(i * SECOND, pose, camera, intrinsics=CAMERA, image_size_px=(100, 100))
            keyframe = writer.add_keyframe(taken)
            shown = [Detection(label, BOX, depth_m=depth_m)] if label else [Detection("plate"), Detection("jug")]
            edges = () if label else (RelationMention(0, "left of", 1),)
            writer.add_perception(keyframe.keyframe_id, Perception("", tuple(shown), edges, backend="told"))
            writer.associate(keyframe.keyframe_id)
    with MemoryReader.open(path) as reader:
        yield MemoryQuery(reader, None)


@pytest.mark.parametrize(
    ("question", "value", "said"),
    [
        ("How far is the cat from the cup?", "2.5 m apart", "2.5 m apart"),
        ("How far apart are the cat and the dog?", None, "I have not seen dog."),
        ("Is the plate left of the jug?", True, "plate left of jug"),
        ("Is the jug left of the plate?", False, "No. I remember: plate left of jug."),
        ("Is the jug to the right of the plate?", True, "plate left of jug"),
        ("Is the cat left of the cup?", None, "do not know whether cat is left of cup"),
        ("Is the cat near the cup?", True, "2.5 m apart"),
        ("Is the person near the cup?", False, "No. They are 19."),
        ("Did you not see a cat?", True, "Yes. I saw: cat"),
        ("Haven't you seen a cat?", True, "Yes. I saw: cat"),
        ("What is near the cat?", "cup", "cup"),
        ("What is near the person?", None, "I do not know what was near person"),
        ("How many cats and cups did you see?", 2, "cats: 1, cups: 1"),
        ("How many persons did you see?", 1, "1. I saw: person"),
        ("Is the cat red?", None, "I saw cat, and do not remember whether it is red."),
        ("Where is the cup not?", None, "I do not know."),
        ("Où est le chat ?", None, "I do not understand the question (English only)"),
        ("How many cups are there without a handle?", None, "do not know which of them you leave out"),
        ("How many persons other than the first did you see?", None, "do not know which of them you leave out"),
        ("Where is the cat not near the cup?", None, "I do not understand 'not near the cup'"),
        ("How many persons except the ones near the cup are there?", None, "I do not understand"),
        ("Did you see the cat at x=4.5 y=0?", None, "I read no places in numbers"),
        ("Is the cat the first thing you saw?", None, "ask me what I saw first"),
        ("Was the cup the last thing you saw?", None, "ask me what I saw first, or last"),
        ("Did you see only cats?", None, "do not hold one thing against all others"),
        ("Did you see the cat only once?", True, "I counted 1."),
        ("Is the nearest thing to the cat the person?", None, "what is nearest"),
        ("When did you see the cat for the third time?", None, "I saw cat 1 time"),
        ("Is the cat north of you?", None, "I do not know which way is north"),
        ("Did you drive more than one meter?", None, "I do not add up how far I went"),
        ("Is the cat still at its place?", True, "Yes. I saw: cat"),
        ("When did you see the cat?", 1 * SECOND, "3 seconds before the newest keyframe"),
    ],
)
def test_only_what_is_known_is_answered(memory: MemoryQuery, question: str, value: object, said: str) -> None:
    answer = memory.ask(Question(question))
    assert answer.value == value, answer.text
    assert said in answer.text
    assert (answer.status is AnswerStatus.OK) is (value is not None)
    assert answer.goal is None or value not in (None, False)


def test_a_far_distance_is_right_but_for_what_depth_is_worth_there(memory: MemoryQuery) -> None:
    answer = memory.ask(Question("What is the distance between the cup and the person?"))
    assert float(str(answer.value).split(" ")[0]) == pytest.approx(19.5, abs=0.5)


def test_a_place_beside_another_thing_tells_how_far_from_it_and_whether_that_is_near(memory: MemoryQuery) -> None:
    assert memory.ask(Question("Where is the cat near the cup?")).text.endswith("It is 2.5 m from cup.")
    assert "That is not near: it is 19." in memory.ask(Question("Where is the person near the cup?")).text


def test_of_two_things_the_one_that_was_seen_is_the_place(memory: MemoryQuery) -> None:
    for question in ("Where is the cat and the dog?", "Where is the dog and the cat?"):
        answer = memory.ask(Question(question))
        assert answer.keyframes[0].label == "cat"
        assert answer.text.endswith("I have not seen dog.")


def test_an_absence_is_surer_the_more_was_looked_through() -> None:
    assert [absence(0.0, n) for n in (0, 20, 180)] == pytest.approx([0.5, 0.75, 0.95])
    assert absence(0.5, 1000) == 0.5
