"""What people ask who know nothing of memories: amounts, orders, kinds, politeness, worked out by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from captioned_drives import SECOND, WordEncoder, open_writer

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import AnswerKind, AnswerStatus, Capture, Detection, Perception, Pose, Question

ROOMS = [(), ("cup", "dining table"), (), ("cat",), (), ("motorcycle",), ("tv",), (), ("person",), ()]
"""What was seen every 10 s and 10 m: one thing of each."""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    path: Path = tmp_path_factory.mktemp("ordinary") / "memory.db"
    with open_writer(path, WordEncoder()) as writer:
        for i, labels in enumerate(ROOMS):
            keyframe = writer.add_keyframe(Capture((100 + 10 * i) * SECOND, Pose.planar("map", 10.0 * i, 0.0, 0.0)))
            detections = tuple(Detection(label) for label in labels)
            writer.add_perception(keyframe.keyframe_id, Perception("", detections, backend="told"))
            writer.associate(keyframe.keyframe_id)
    with MemoryReader.open(path) as reader:
        yield MemoryQuery(reader, WordEncoder())


@pytest.mark.parametrize(
    ("question", "yes"),
    [
        ("Is there more than one cat?", False),
        ("Are there at least two cats?", False),
        ("Is there exactly one cat?", True),
        ("Are there fewer than 3 cats?", True),
        ("Are there no more than one cat?", True),
        ("Did you see several cats?", False),
        ("Did you see two cats?", False),
        ("Did you see a couple of cats?", False),
        ("Did you see 1 cat?", True),
        ("Did you see a cat, a cup and a dog?", False),
        ("Did you see a cat, a cup and a person?", True),
        ("Is there at least one cat?", True),
        ("Are there fewer than two elephants?", True),
        ("Are there more than two elephants?", False),
        ("Did you see the motorcycle after the cat?", True),
        ("Did you see the cat before the motorcycle?", True),
        ("Did you see the motorcycle before the cat?", False),
        ("Did you see the cat after you saw the motorcycle?", False),
        ("Did you pass the cup before passing the person?", True),
        ("Was the cup earlier than the person?", True),
        ("Did you see the elephant before the cat?", False),
        ("Did you see an animal?", True),
        ("Is there a vehicle?", True),
        ("Is there any furniture?", True),
        ("Is there a fruit?", False),
        ("Is there a bike?", True),
        ("Is there a bicycle?", False),
        ("Did you see a motorbike?", True),
        ("Did you see a kitty?", True),
        ("Did you see a human?", True),
        ("Did you see anyone?", True),
        ("Did you see any TVs?", True),
        ("Have you seen a motorcycle at any time?", True),
        ("Could you tell me, please, if at any point of your trip you happened to see a motorcycle?", True),
        ("Did you perhaps come across a cat during the tour?", True),
        ("Is the cat still there?", True),
        ("Did you see the cat once?", True),
        ("Did you see the cat more than once?", False),
        ("Did you see the cat more than two times?", False),
        ("Are there any more cats?", False),
        ("Did you see another cup?", False),
        ("Did you see the cup and then the cat?", True),
        ("Did you see the cat and then the cup?", False),
        ("Did you see anything?", True),
        ("Is there nobody?", False),
        ("Did you see any food?", False),
        ("Is it true that you saw a cat?", True),
        ("You saw a cat, didn't you?", True),
        ("There is a cat, right?", True),
        ("Did you see a red elephant?", False),
        ("Is there any animal other than a cat?", False),
        ("Is there an animal that is not a feline?", False),
        ("Is there an animal that is not a zorblax?", True),
        ("Is there a coffee mug?", True),
        ("Did you see anything except the cat?", True),
        ("Do you think there is a cat?", True),
        ("Have you got a cup?", True),
        ("You never saw a dog, did you?", False),
        ("You haven't seen a cat, have you?", True),
        ("Did you see nothing?", False),
        ("Can I sit somewhere?", False),
        ("I lost my cup. Did you see it?", True),
        ("I lost my dog. Have you seen him?", False),
        ("There was a cup on the shelf. Is it still there?", True),
        ("Do you see the cat right now?", False),
        ("Is there a person? Do you currently see him?", False),
        ("Did you see a person in the last quarter hour?", True),
    ],
)
def test_yes_or_no(memory: MemoryQuery, question: str, yes: bool) -> None:
    answer = memory.ask(Question(question))
    assert (answer.kind, answer.value) == (AnswerKind.BINARY, yes)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Did you see the cat before the elephant?", "I have not seen elephant."),
        ("Is anyone in the office?", "I saw person, and do not know which place is office."),
        ("How many rooms did you visit?", "I do not know how many rooms: nothing I saw was called so."),
        ("Was there a cat in the living room?", "I saw cat, and do not know which place is living room."),
        ("Have you been in the kitchen?", "I do not know: nothing I saw was called kitchen."),
        ("Did you visit the office?", "I do not know: nothing I saw was called office."),
        ("Did the cat sleep?", "I saw cat, and do not know about 'cat sleep'."),
        ("Did you see a red cup?", "I saw cup, and do not know about 'red cup'."),
        ("How many people are in the office?", "I saw people, and do not know which place is office."),
        ("How many things did you see before the cat?", "I do not understand 'things before the cat'."),
        ("Is the cat on the left or on the right?", "I do not know which: left or on the right."),
        ("Is it raining?", "I do not know: nothing I saw tells."),
        ("Is the door open?", "I have not seen door."),
        ("Is the office empty?", "I have not seen office."),
        ("What room is this?", "I do not understand 'room is this'."),
        ("Are you sure?", "I only know what I saw: ask me where, when or how many."),
        ("What is behind you?", "I do not know what is behind me now."),
        ("Describe the cat", "I saw cat, and do not remember that of it."),
        ("Tell me everything you know about the cat", "I saw cat, and do not remember that of it."),
        ("Did you see anything red?", "I saw things, and do not know about 'red thing'."),
        ("Whose cup is it?", "I saw cup, and do not remember that of it."),
        ("Is the cat alive?", "I saw cat, and do not remember whether it is alive."),
        ("Is the tv on?", "I saw tv, and do not remember whether it is on."),
        ("Did you see neither the cat nor the dog?", "I do not understand 'neither the cat nor the dog'."),
        ("How far did you drive?", "I do not add up how far I went."),
        ("What time is it?", "I know when I saw what, and not what time it is now."),
        ("Who are you?", "I only know what I saw: ask me where, when or how many."),
        ("What did you see on your right?", "I do not know on which side of me things were."),
        ("Did you see it?", "I do not know what you mean."),
        ("What is that?", "I do not know what 'that' is."),
        ("How many things are on the cup?", "I do not know how many things are on cup."),
        ("Why is the cat there?", "I remember what I saw, and not why it is so."),
        ("When will you see the cat?", "I remember what was, and do not know what will be."),
        ("Will the cat be there tomorrow?", "I remember what was, and do not know what will be."),
        (
            "How do I get from the cat to the cup?",
            "I do not know the way from one thing to another; ask where one of them is.",
        ),
        ("cup cat or person cat", "I do not understand 'cup cat or person cat'."),
    ],
)
def test_no_is_not_said_of_what_was_not_looked_for(memory: MemoryQuery, question: str, said: str) -> None:
    answer = memory.ask(Question(question))
    assert (answer.status, answer.value, answer.text) == (AnswerStatus.NOT_FOUND, None, said)


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many cats did you see?", 1),
        ("How many cats has the robot seen?", 1),
        ("How many animals did you see?", 1),
        ("How many vehicles are there?", 1),
        ("How many TVs are there?", 1),
        ("How many animals other than a zorblax did you see?", 1),
        ("How many elephants did you see?", 0),
    ],
)
def test_how_many(memory: MemoryQuery, question: str, count: int) -> None:
    answer = memory.ask(Question(question))
    assert (answer.kind, answer.value) == (AnswerKind.COUNT, count)
    assert ("Nothing I saw was called zorblax." in answer.text) is ("zorblax" in question)
    if not count:
        assert answer.text == "0. I have not seen elephants."


def test_all_things_are_counted_where_none_is_named(memory: MemoryQuery) -> None:
    assert memory.ask(Question("How many things did you see?")).value == 6
    assert memory.ask(Question("How many objects did you see?", as_of_ns=115 * SECOND)).value == 2


@pytest.mark.parametrize(
    "question",
    [
        "Bring me the cat",
        "Give me the cat",
        "Where is the kitty?",
        "Which way is the cat?",
        "Which room is the cat in?",
        "Where is the cup? Where is the cat?",
        "Where is the nearest cat to me?",
        "Would you mind telling me where the cat sits?",
        "Is there a cat? Take me there.",
        "I saw a cat near the cup. Where is it?",
        "I lost my cat. Can you find it?",
        "Where is my cat sitting?",
        "Where was the cat visible?",
        "Where can I find a cat to play with?",
        "Where is the animal that is not a zorblax?",
    ],
)
def test_the_cat_is_where_it_was_seen(memory: MemoryQuery, question: str) -> None:
    answer = memory.ask(Question(question))
    assert answer.kind is AnswerKind.POSITION
    assert answer.keyframes[0].keyframe.keyframe_id == 4


def test_of_several_questions_the_last_is_answered_and_that_is_said(memory: MemoryQuery) -> None:
    told = "I answer one question at a time, the last."
    assert told in memory.ask(Question("Where is the cup? Where is the cat?")).text
    assert told not in memory.ask(Question("Is there a cat? Where is it?")).text
    assert told not in memory.ask(Question("Hello! Where is the cat?")).text


@pytest.mark.parametrize("text", ["hello", "you", "drive", "20 seconds", "x 6 y 4", "2026-11-30"])
def test_words_that_ask_nothing_are_no_name_of_a_thing(memory: MemoryQuery, text: str) -> None:
    answer = memory.ask(Question(text))
    assert (answer.status, answer.text) == (AnswerStatus.NOT_FOUND, "I do not understand the question (English only).")


@pytest.mark.parametrize(
    "question",
    [
        "What did you see?",
        "What else did you see?",
        "What was seen?",
        "What kinds of things did you see?",
        "List all objects",
        "Tell me everything you saw",
        "What do you remember?",
    ],
)
def test_what_there_was_is_listed(memory: MemoryQuery, question: str) -> None:
    assert memory.ask(Question(question)).value == "cup, dining table, cat, motorcycle, tv, person"


def test_a_kind_a_length_and_what_is_ahead(memory: MemoryQuery) -> None:
    assert memory.ask(Question("What type of vehicle did you see?")).value == "motorcycle"
    assert memory.ask(Question("What's the first vehicle you saw?")).value == "motorcycle"
    assert memory.ask(Question("What did you see in the first 15 seconds?")).value == "cup, dining table"
    assert memory.ask(Question("How many different things have you noticed?")).value == 6
    assert memory.ask(Question("When was the tv last in view?")).value == 160 * SECOND
    assert memory.ask(Question("I am hungry, where can I go?")).keyframes[0].keyframe.keyframe_id == 2
    assert memory.ask(Question("How long was the trip?")).value == 90.0
    assert memory.ask(Question("How many minutes did the trip take?")).value == 90.0
    assert memory.ask(Question("When did the trip begin?")).value == 100 * SECOND
    assert memory.ask(Question("What did you just see?")).value == "person"
    assert memory.ask(Question("How many seconds after the cat did you see the tv?")).value == 30.0
    assert memory.ask(Question("Go back to where you were a minute ago")).keyframes[0].keyframe.keyframe_id == 4
    assert memory.ask(Question("What is the third thing you saw?")).value == "cat"
    assert memory.ask(Question("What did you see at the beginning of the trip?")).value == "cup, dining table"
    assert memory.ask(Question("What did you see at the end?")).value == "person"
    assert memory.ask(Question("Which cat is nearest to me?")).value == "cat"
    assert memory.ask(Question("Who was near the cup?")).value is None
    assert memory.ask(Question("Take me back to the start")).keyframes[0].keyframe.keyframe_id == 1
    assert memory.ask(Question("Give me the coordinates of the cat")).keyframes[0].keyframe.keyframe_id == 4
    assert memory.ask(Question("Which came first, the motorcycle or the cat?")).value == "cat"
    assert memory.ask(Question("Which did you see last, the motorcycle or the cat?")).value == "motorcycle"
    assert (
        memory.ask(Question("What did you see besides the cat?")).value == "cup, dining table, motorcycle, tv, person"
    )
    assert memory.ask(Question("Where should I look for the cat?")).keyframes[0].keyframe.keyframe_id == 4
    assert "I saw cup too." in memory.ask(Question("Where is the cat and where is the cup?")).text
    assert memory.ask(Question("What is in front of you?", as_of_ns=180 * SECOND)).value == "person"


TOLD = [
    "A red chair stands next to a wooden table in the kitchen.",
    "Two people sit on a green sofa. A black dog lies on the floor.",
    "A black dog sleeps on a rug.",
    "A long corridor with three windows.",
]
"""Captions alone, every 5 s and metre."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    path: Path = tmp_path_factory.mktemp("told") / "memory.db"
    with open_writer(path, WordEncoder()) as writer:
        for i, caption in enumerate(TOLD):
            keyframe = writer.add_keyframe(Capture((100 + 5 * i) * SECOND, Pose.planar("map", float(i), 0.0, 0.0)))
            writer.add_perception(keyframe.keyframe_id, Perception(caption, (), backend="told"))
            writer.associate(keyframe.keyframe_id)
    with MemoryReader.open(path) as reader:
        yield MemoryQuery(reader, WordEncoder())


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is next to the table?", "a red chair"),
        ("What is on the rug?", "a black dog"),
        ("What is the table next to?", "a red chair"),
        ("What is the table standing near?", "a red chair"),
        ("What is on the sofa?", "two people"),
        ("How many people did you see?", 2),
        ("How many windows are there?", 3),
        ("Are there more than two windows?", True),
        ("Did you see an animal?", True),
        ("What is near the rug?", None),
        ("Is there nothing on the rug?", False),
        ("Did you see anything red?", True),
        ("Who was sitting?", "two people"),
    ],
)
def test_captions_say_how_things_stand_and_how_many(told: MemoryQuery, question: str, value: object) -> None:
    assert told.ask(Question(question)).value == value


def test_what_another_picture_shows_is_not_told_of_this_one(told: MemoryQuery) -> None:
    text = told.ask(Question("What is near the rug?")).text
    assert text.startswith("I do not know what was near rug")
    assert "sofa" not in text
    assert "corridor" not in text


@pytest.mark.parametrize("order", ["Don't go to the cat", "Please do not drive to the cup.", "Never go to the tv!"])
def test_what_is_forbidden_gives_no_goal(memory: MemoryQuery, order: str) -> None:
    answer = memory.ask(Question(order))
    assert answer.goal is None
    assert "I go nowhere" in answer.text
