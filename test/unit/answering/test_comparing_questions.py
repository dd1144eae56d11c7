"""Questions that compare: how far, nearest, more, most, together, what changed. Every place is worked out by hand."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from captioned_drives import SECOND, Seen, open_writer, remember

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.memory import MemoryReader, MemoryWriter, view_reader
from vlkng_ros.types import (
    AnswerKind,
    AnswerStatus,
    Capture,
    Detection,
    Entity,
    EntityKind,
    EntityState,
    Intrinsics,
    Perception,
    Pose,
    Question,
)

LOOKING_ALONG_X = (-0.5, 0.5, -0.5, 0.5)
CAMERA = Intrinsics(100.0, 100.0, 50.0, 50.0, 100, 100)
BOX = (45.0, 45.0, 55.0, 55.0)


def ahead(label: str, depth_m: float | None = None, color: str = "") -> Detection:
    """Something straight ahead; where its depth is not known, so is its place."""
    return Detection(label, BOX, depth_m=depth_m, attributes={"color": color} if color else {})


def drive(writer: MemoryWriter, x_m: float, second: int, *shown: Detection) -> None:
    pose = Pose.planar("map", x_m, 0.0, 0.0)
    camera = Pose("map", pose.position_m, LOOKING_ALONG_X)
    taken = Capture(second * SECOND, pose, camera, intrinsics=CAMERA, image_size_px=(100, 100))
    keyframe = writer.add_keyframe(taken)
    writer.add_perception(keyframe.keyframe_id, Perception("", shown, backend="told"))
    writer.associate(keyframe.keyframe_id)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    """A corridor along x, half a metre a second: what is near is at most 5.3 m away (20 m at 1.9 m a frame).

    The cup is at x = 2, the cat at 3, the lamp at 5, chairs at 3 (red) and 10 (blue), the dog at 12.5 m: what is far is
    known to 0.1 m. Nobody knows where the box is, seen from 1.5 m.
    """
    path: Path = tmp_path_factory.mktemp("comparing") / "memory.db"
    with open_writer(path) as writer:
        drive(writer, 0.0, 0, ahead("cup", 2.0), ahead("cat", 3.0))
        drive(writer, 0.5, 1, ahead("dog", 12.0))
        drive(writer, 1.0, 2, ahead("chair", 2.0, "red"), ahead("chair", 9.0, "blue"))
        drive(writer, 1.5, 3, ahead("box"))
        drive(writer, 2.0, 4, ahead("lamp", 3.0))
        for second in range(5, 9):
            drive(writer, 2.0, second)
        drive(writer, 2.5, 9, ahead("cat", 0.5))
    with MemoryReader.open(path) as reader:
        yield MemoryQuery(reader, None)


def ask(memory: MemoryQuery, text: str) -> tuple[object, str]:
    """What is answered to someone at the corridor's beginning."""
    answer = memory.ask(Question(text, asker=Pose.planar("map", 0.0, 0.0, 0.0)))
    assert (answer.status is AnswerStatus.OK) is (answer.value is not None)
    return answer.value, answer.text


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How far is the cat?", "3.0 m away"),
        ("How far am I from the lamp?", "5.0 m away"),
        ("How far is it to the cat in feet?", "9.8 feet (3.0 m) away"),
        ("How many meters away is the lamp?", "5.0 m away"),
        ("How many feet is the lamp from the cup?", "9.8 feet (3.0 m) apart"),
        ("How far is the box?", "1.5 m to where I saw it from; where it stands I do not know"),
        ("How far is the elephant?", None),
        ("What is farthest from me?", "dog"),
        ("What is nearest to me?", "cup"),
        ("What is the cup next to?", "cat, chair"),
        ("Which chair is farthest from me?", "chair"),
        ("Which is closer, the lamp or the cat?", "cat"),
        ("Which is closer to the dog, the lamp or the cat?", "lamp"),
        ("Is the cup closer to the cat or to the dog?", "cat"),
        ("What were there more of, cats or chairs?", "chairs"),
        ("Are there more cats or cups?", "as many cats as cups"),
        ("What do you see most often?", "cat"),
        ("What is the most common thing?", "cat"),
        ("What is within 2 meters of the cup?", "cat, chair"),
        ("How far apart are the chairs?", "6.9 m apart"),
        ("How far apart are the lamps?", None),
        ("How many seconds are between the cup and the lamp?", 4.0),
        ("How many things are near the cup?", None),
        ("What is within 3.5 m of me?", "cup, cat, chair"),
        ("How long after the cup did you see the lamp?", 4.0),
        ("How long after the lamp did you see the cup?", None),
        ("How much time passed between the cup and the lamp?", 4.0),
        ("How much time passed between the lamp and the cup?", 4.0),
        ("How many kinds of animals did you see?", 2),
        ("How many things except chairs did you see?", 5),
        ("How many things did you see?", 7),
        ("How many kinds of things did you see?", 6),
        ("How many types of objects are there?", 6),
    ],
)
def test_distances_and_the_most_are_told_in_words(memory: MemoryQuery, question: str, value: object) -> None:
    assert ask(memory, question)[0] == value


@pytest.mark.parametrize(
    ("question", "yes", "said"),
    [
        ("Is the cup next to the cat?", True, "They are 1.0 m apart."),
        ("Is the cup near the cat?", True, "They are 1.0 m apart."),
        ("Is the lamp next to the cup?", False, "They are 3.0 m apart."),
        ("Is the lamp near the cup?", True, "They are 3.0 m apart."),
        ("Is the lamp far from the cup?", False, "They are 3.0 m apart."),
        ("Is the lamp near the dog?", False, "They are 7.4 m apart."),
        ("Is the lamp around the dog?", True, "They are 7.4 m apart."),
        ("Is the lamp far away from the dog?", True, "They are 7.4 m apart."),
        ("Is the dog near me?", False, "It is 12.4 m away."),
        ("Is the lamp within 4 meters of the cup?", True, "They are 3.0 m apart."),
        ("Is the lamp less than 2 m from the cup?", False, "They are 3.0 m apart."),
        ("Is the lamp more than 2 m away from the cup?", True, "They are 3.0 m apart."),
        ("Is the distance between the lamp and the cup more than 2 meters?", True, "They are 3.0 m apart."),
        ("Are you near the dog?", False, "It is 12.4 m away."),
        ("Are the chairs close to each other?", False, "The closest are 6.9 m apart."),
        ("Are the cups close to each other?", None, "do not know how far they are from each other"),
        ("Is the dog the farthest thing?", None, "ask me what is farthest."),
        ("Are there dogs within 5 meters?", False, "It is 12.4 m away."),
        ("Did you see the same cat twice?", None, "do not know whether it was the same"),
        ("Is the cat a tiger or a lion?", None, "I saw cat, and do not know which: tiger or lion."),
        ("Is there a cat nearby?", True, "I saw: cat"),
        ("Is the dog far from me?", True, "I saw: dog"),
        ("Did you see the cat and the cup together?", True, "They are 1.0 m apart."),
        ("Did you see the cat and the dog together?", False, "No picture shows both. They are 9.4 m apart."),
        ("Are the cat and the cup in the same room?", True, "They are 1.0 m apart."),
        ("Are the cat and the lamp in the same room?", None, "No picture shows both. They are 2.0 m apart"),
        ("Are there more chairs than cats?", True, "I counted chairs: 2, cats: 1."),
        ("Are there fewer chairs than cats?", False, "I counted chairs: 2, cats: 1."),
        ("Are there as many cats as cups?", True, "I counted cats: 1, cups: 1."),
        ("Did you see cats more often than dogs?", True, "I counted cats: 2 times, dogs: 1 times."),
        ("Are there more elephants than zebras?", None, "I have not seen elephants or zebras."),
        ("Is the cat gone?", False, "I last saw it at 1970-01-01 00:00:09 UTC."),
        ("Did the cat move?", None, "I saw cat, and do not know whether it was moved"),
        ("Is anything missing?", None, "I noticed nothing that is gone."),
        ("Is there a cat in every room?", None, "I do not know of every room."),
        ("Did anybody come in?", False, "I have not seen person coming in."),
    ],
)
def test_yes_no_and_why(memory: MemoryQuery, question: str, yes: bool | None, said: str) -> None:
    value, text = ask(memory, question)
    assert (value, said in text) == (yes, True), text


@pytest.mark.parametrize(
    ("question", "keyframe_id", "said"),
    [
        ("Where is the farthest chair?", 3, "It is 10.0 m away."),
        ("Where is the nearest chair?", 3, "It is 3.0 m away."),
        ("Take me to the thing farthest away", 2, "It is 12.4 m away."),
        ("The farthest chair, take me there", 3, "It is 10.0 m away."),
        ("Sorry to bother you, could you be so kind and lead the way to the nearest chair?", 3, "It is 3.0 m away."),
        ("What is the last place you saw the cup?", 1, "I saw: cup"),
        ("Bring me to where the dog stands", 2, "I saw: dog"),
        ("Where did you see the cat and the cup together?", 1, "They are 1.0 m apart."),
        ("Where is the chair closest to the cup?", 3, "I saw: chair"),
        ("Where is the nearest chair to the cup?", 3, "I saw: chair"),
        ("Where is the nearest chair to me?", 3, "It is 3.0 m away."),
        ("Where is the farthest thing from the cup?", 2, "That is dog. 10.4 m from it."),
        ("Where is the cat most often?", 1, "2 of the 2 times that I saw it."),
    ],
)
def test_where_it_is_by_the_things_own_places(memory: MemoryQuery, question: str, keyframe_id: int, said: str) -> None:
    answer = memory.ask(Question(question, asker=Pose.planar("map", 0.0, 0.0, 0.0)))
    assert answer.kind is AnswerKind.POSITION
    assert answer.keyframes[0].keyframe.keyframe_id == keyframe_id, answer.text
    assert said in answer.text


def test_times_and_numbers_of_what_is_seen_at_once(memory: MemoryQuery) -> None:
    assert ask(memory, "When did you see the cat and the cup together?")[0] == 0
    assert ask(memory, "How many times did you see the cat and the cup together?")[0] == 1
    value, text = ask(memory, "When did you see the cat and the dog together?")
    assert value is None
    assert text == "I saw cat and dog, and never both in one picture. They are 9.4 m apart."
    assert ask(memory, "Where is the cat and the elephant together?")[1] == "I have not seen elephant."


def test_those_that_look_otherwise_are_counted_where_each_says_how_it_looks(memory: MemoryQuery) -> None:
    value, text = ask(memory, "How many chairs are there except the red ones?")
    assert value == 1
    assert "Of 2 in all 1 is red." in text
    value, text = ask(memory, "How many cats are not black?")
    assert value is None
    assert text == "I counted 1 cats, and do not know which of them are black."


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryQuery]:
    """A chair in the kitchen, then three in the office, 20 m on, where it stays a minute; a plant on the second day."""
    path: Path = tmp_path_factory.mktemp("rooms") / "memory.db"
    day = 86_400
    with open_writer(path) as writer:
        for second, x_m, room, shown in (
            (0, 0.0, "kitchen", ["chair", "sink"]),
            (10, 0.0, "kitchen", ["sink", "plate"]),
            (20, 20.0, "office", ["chair", "chair", "chair"]),
            (50, 20.0, "office", []),
            (80, 20.0, "office", []),
        ):
            told = Detection(room, kind=EntityKind.LOCATION, told=True)
            drive(writer, x_m, second, *map(ahead, shown), told)
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        drive(writer, 0.0, day, ahead("plant"))
    with MemoryReader.open(path) as reader:
        yield MemoryQuery(reader, None)


def test_the_room_with_the_most_and_the_longest_stay(rooms: MemoryQuery) -> None:
    for question in ("Which room has the most chairs?", "Where did you see the most chairs?"):
        answer = rooms.ask(Question(question))
        assert answer.keyframes[0].keyframe.keyframe_id == 3
        assert answer.text.endswith("I know of 3 there. I call the place office.")
    answer = rooms.ask(Question("Where did you spend most of your time?"))
    assert answer.keyframes[0].keyframe.base_pose.position_m[0] == 20.0
    assert answer.text.endswith("I spent 60 seconds there, and call it office.")


def test_what_is_new_is_what_earlier_drives_did_not_show(rooms: MemoryQuery) -> None:
    assert rooms.ask(Question("What is new?")).value == "plant"
    assert rooms.ask(Question("What has changed in the last 10 minutes?")).value == "new: plant"
    answer = rooms.ask(Question("Is anything new?"))
    assert (answer.value, answer.text) == (True, "Yes. Plant.")
    assert rooms.ask(Question("Is anything new?", as_of_ns=80 * SECOND)).value is None


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("And the zebra?", "I have not seen zebra."),
        ("Since when is the zebra there?", "I have not seen zebra."),
        ("Have you been upstairs?", "I do not know: nothing I saw was called upstairs."),
        (
            "Where was the second cat?",
            "I do not count things of a kind in their order, and do not know which is the second cat.",
        ),
        ("Turn around!", "I drive to what I saw, and take no other orders."),
        ("What's the largest thing you saw?", "I do not measure how large, old or good things are."),
        ("Between the cat and the zebra, what did you see?", "I have not seen zebra."),
    ],
)
def test_what_is_not_known_is_said_plainly(memory: MemoryQuery, question: str, said: str) -> None:
    value, text = ask(memory, question)
    assert (value, text) == (None, said)


def test_what_is_gone_or_moved_is_what_the_view_believes(memory: MemoryQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = memory.retriever.reader
    one, every = reader.entity, reader.entities

    def believed(entity: Entity) -> Entity:
        states = {"cup": EntityState.GONE, "lamp": EntityState.MOVED}
        return dataclasses.replace(entity, state=states.get(entity.label, EntityState.PRESENT))

    monkeypatch.setattr(reader, "entity", lambda *asked: believed(one(*asked)))
    monkeypatch.setattr(reader, "entities", lambda *asked: map(believed, every(*asked)))
    assert ask(memory, "Is the cup gone?")[0] is True
    assert ask(memory, "Is the cup still there?")[0] is False
    assert ask(memory, "Is the cat missing?")[0] is False
    assert ask(memory, "Has the lamp been moved?")[0] is True
    assert ask(memory, "What is missing?")[0] == "cup"
    assert ask(memory, "What has changed?")[0] == "gone: cup; moved: lamp"
    assert ask(memory, "Is anything missing?") == (True, "Yes. Cup.")


def test_a_sort_of_a_thing_is_one_of_it_and_what_only_has_its_name_is_not(tmp_path: Path) -> None:
    labels = ("red chair", "blue chair", "office chair", "chair lift")
    frames = [Seen(10 * i, 20.0 * i, 0.0, labels=(label,)) for i, label in enumerate(labels)]
    with MemoryReader.open(remember(tmp_path / "memory.db", frames)) as reader:
        memory = MemoryQuery(reader, None)
        assert ask(memory, "How many chairs are there?")[0] == 3
        assert ask(memory, "How many red chairs are there?")[0] == 1
        assert ask(memory, "How many chairs did you see in the last 15 seconds?")[0] == 1


def test_what_was_seen_between_two_times_is_what_has_a_sighting_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = (("cat",), ("cat", "dog"), (), ("dog", "cup"), ("cat",), ("lamp",))
    frames = [Seen(10 * i, 8.0 * i, 0.0, labels=labels) for i, labels in enumerate(said)]
    with MemoryReader.open(remember(tmp_path / "memory.db", frames)) as reader:
        names = [entity.entity_id for entity in reader.entities("proximity")]
        texts = [text.text_id for text in reader.texts()]
        for first, last in itertools.combinations_with_replacement(range(-1, 61, 10), 2):
            window = (first * SECOND, (last + 5) * SECOND)
            expected = [name for name in names if reader.sightings("proximity", name, *window)]
            assert reader.labelled("proximity", texts, *window) == expected
            types = Counter(name.rpartition("_")[0] for name in expected)
            assert reader.types_seen("proximity", *window) == types
            with monkeypatch.context() as patch:  # what a short time showed was looked through; now one by one
                patch.setattr(view_reader, "SHORT_TIME", -1)
                assert reader.labelled("proximity", texts, *window) == expected
        assert ask(MemoryQuery(reader, None), "How many things did you see in the last 25 seconds?")[0] == 4


def test_one_whose_place_is_not_known_may_be_near_where_the_others_are_not(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_writer(path) as writer:
        drive(writer, 0.0, 0, ahead("cup", 2.0))
        drive(writer, 40.0, 60, ahead("person", 3.0))
    with MemoryReader.open(path) as reader:
        assert ask(MemoryQuery(reader, None), "Is the person near the cup?")[0] is False
    with open_writer(path) as writer:
        drive(writer, 0.5, 120, ahead("person"))
    with MemoryReader.open(path) as reader:
        value, text = ask(MemoryQuery(reader, None), "Is the person near the cup?")
        assert value is None
        assert text.startswith("I saw person whose places I do not know; those whose places I know are 41.0 m apart")


def test_of_many_the_one_beside_another_thing_is_found_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_writer(path) as writer:
        for number in range(60):  # a chair every 6 m, 2 m ahead; a printer half a metre behind that of 222 m
            drive(writer, 6.0 * number, 10 * number, ahead("chair", 2.0), *([ahead("printer", 2.5)] * (number == 37)))
        drive(writer, 400.0, 700, ahead("lamp", 2.0))
    with MemoryReader.open(path) as reader:
        memory = MemoryQuery(reader, None)
        for question in ("Where is the chair next to the printer?", "Where is the chair near the printer?"):
            answer = memory.ask(Question(question))
            assert answer.keyframes[0].keyframe.keyframe_id == 38
            assert "It is 0.5 m from printer." in answer.text
        assert ask(memory, "Is there a chair next to the printer?")[0] is True
        assert ask(memory, "How far is the chair from the printer?")[0] == "0.5 m apart"
        assert ask(memory, "Is there a chair next to the lamp?")[0] is False
        assert ask(memory, "Is there a chair between the printer and the lamp?")[0] is True
        unseen = memory.ask(Question("Where is the chair next to the elephant?"))
        assert unseen.text == "I have not seen chair next to the elephant."


def test_what_was_seen_from_places_apart_may_be_near_and_is_not_said_to_be_next_to_each_other(tmp_path: Path) -> None:
    shown = {0: ("cat",), 4: ("cup",)}  # a frame every two metres
    frames = [Seen(10 * i, 2.0 * i, 0.0, labels=shown.get(i, ("lamp",))) for i in range(5)]
    with MemoryReader.open(remember(tmp_path / "memory.db", frames)) as reader:
        memory = MemoryQuery(reader, None)
        assert ask(memory, "Is the cat near the cup?")[0] is True
        assert ask(memory, "Is the cat next to the cup?")[0] is None


def test_the_nearest_of_a_kind_is_told_from_what_is_nearest(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_writer(path) as writer:
        for second, (x_m, label) in enumerate(
            [(0.0, "person"), (10.0, "motorcycle"), (20.0, "cat"), (24.0, "person"), (30.0, "cup")]
        ):
            drive(writer, x_m, 10 * second, ahead(label, 2.0))
    with MemoryReader.open(path) as reader:
        memory = MemoryQuery(reader, None)
        for question, frame, told in (
            ("What is the nearest person to me?", 4, "It is 4.0 m away."),
            ("What is the nearest person to the cat?", 4, "It is 4.0 m from cat."),
            ("Where is the person nearest the cat?", 4, "It is 4.0 m from cat."),
            ("What is the farthest person?", 1, "It is 28.0 m away."),
        ):
            answer = memory.ask(Question(question))
            assert answer.keyframes[0].keyframe.keyframe_id == frame, question
            assert told in answer.text
        assert memory.ask(Question("What is the nearest thing to me?")).value == "cup"
        ordered = ("Where did you see a person after the motorcycle?", "When did you see the cat before the cup?")
        for question in ordered:
            refused = memory.ask(Question(question))
            assert (refused.status, refused.goal) == (AnswerStatus.NOT_FOUND, None)
            assert "ask me when I saw each" in refused.text
