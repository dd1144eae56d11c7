import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.errors import QuestionError
from vlkng_ros.retrieval import Superlative, parse
from vlkng_ros.retrieval.amounts import Bounds
from vlkng_ros.retrieval.motion_phrases import Boundary, MotionKind
from vlkng_ros.types import AnswerKind

POSITION, TIME, DURATION = AnswerKind.POSITION, AnswerKind.TIME, AnswerKind.DURATION
BINARY, COUNT, TEXT = AnswerKind.BINARY, AnswerKind.COUNT, AnswerKind.TEXT


@pytest.mark.parametrize(
    ("question", "kind", "target"),
    [
        ("Where is the cat?", POSITION, "cat"),
        ("where's the cat", POSITION, "cat"),
        ("Where did you see a parked van?", POSITION, "parked van"),
        ("Where can I find a human picture?", POSITION, "human picture"),
        ("Where I can call the police?", POSITION, "call the police"),
        ("Could you please tell me where the nearest restroom is?", POSITION, "restroom"),
        ("Can you take me to the second floor?", POSITION, "second floor"),
        ("hey robot, can you take me to the bathroom please?", POSITION, "bathroom"),
        ("I am hungry, can you take me somewhere to eat?", POSITION, "eat"),
        ("I'm thirsty. Can you take me to a vending machine?", POSITION, "vending machine"),
        ("I need to use the restroom", POSITION, "restroom"),
        ("Show me the elevator", POSITION, "elevator"),
        ("Can you bring me to where you saw the dog?", POSITION, "dog"),
        ("Where did I leave my keys?", POSITION, "keys"),
        ("red fire hydrant", POSITION, "red fire hydrant"),
        ('Can you take me to the "tree" sculpture?', POSITION, "tree sculpture"),
        ("Where did I see a horse sculpture？", POSITION, "horse sculpture"),
        ("How do I get to the elevator?", POSITION, "elevator"),
        ("Which way is the nearest restroom?", POSITION, "restroom"),
        ("Which way to the exit?", POSITION, "exit"),
        ("I'm looking for the blue couch. Where should I go?", POSITION, "blue couch"),
        ("Is there a vending machine around here? Where?", POSITION, "vending machine"),
        ("the fire extinguisher - where is it?", POSITION, "fire extinguisher"),
        ("Which room has a piano?", TEXT, "room has a piano"),
        ("When did you last see the cup?", TIME, "cup"),
        ("How long ago did you see the dog?", TIME, "dog"),
        ("When was the first time you saw the dog?", TIME, "dog"),
        ("How many minutes ago did you pass the statue", TIME, "statue"),
        ("Could you tell me what time you saw the dog?", TIME, "dog"),
        ("How long did you see the bus?", DURATION, "bus"),
        ("Did you see any bicyclists?", BINARY, "bicyclists"),
        ("Is there a fire extinguisher?", BINARY, "fire extinguisher"),
        ("Do you know if there is an elevator nearby?", BINARY, "elevator"),
        ("Is there a place where I can charge my phone?", BINARY, "charge my phone"),
        ("Did you drive on the grass?", BINARY, "grass"),
        ("Can I drive a car on this road?", BINARY, "drive a car"),
        ("How many chairs did you see?", COUNT, "chairs"),
        ("How many people did you see on the stairs?", COUNT, "people"),
        ("What color was the car parked near the gate?", TEXT, "car"),
        ("What objects are on the desk?", TEXT, ""),
    ],
)
def test_kind_and_target(question: str, kind: AnswerKind, target: str) -> None:
    query = parse(question)
    assert (query.kind, query.target) == (kind, target)


@pytest.mark.parametrize(
    ("question", "superlative"),
    [
        ("Where is the closest place to sit?", Superlative.NEAREST),
        ("Where is the bench nearest to me?", Superlative.NEAREST),
        ("Where is the farthest door?", Superlative.FARTHEST),
        ("When did you first see the red bus?", Superlative.FIRST),
        ("Where did you most recently see the dog?", Superlative.LAST),
        ("When was the last time you saw a dog?", Superlative.LAST),
        ("When was the first time you saw a dog?", Superlative.FIRST),
        ("How long ago did you see the dog?", Superlative.LAST),
        ("How many minutes ago did you first see the dog?", Superlative.FIRST),
        ("Where is the first aid kit?", None),
        ("Where is the cat?", None),
    ],
)
def test_superlatives(question: str, superlative: Superlative | None) -> None:
    assert parse(question).superlative is superlative


@pytest.mark.parametrize(
    ("question", "target", "predicate", "objects"),
    [
        ("Where is the bin near the stairs?", "bin", "near", ("stairs",)),
        ("Where is the chair between the desk and the door?", "chair", "between", ("desk", "door")),
        ("Where is the statue in front of the library?", "statue", "in front of", ("library",)),
        ("Did you see the stairs in the building?", "stairs", "in", ("building",)),
        ("Was there a white truck parked next to the loading dock?", "white truck", "near", ("loading dock",)),
    ],
)
def test_relations(question: str, target: str, predicate: str, objects: tuple[str, ...]) -> None:
    query = parse(question)
    assert query.target == target
    assert query.relation is not None
    assert (query.relation.predicate, query.relation.objects) == (predicate, objects)


def test_what_someone_wears_is_no_relation() -> None:
    query = parse("Where did the man in the blue shirt go?")
    assert (query.target, query.relation) == ("man in the blue shirt", None)


@pytest.mark.parametrize(
    ("question", "motion", "boundary", "ordinal"),
    [
        ("When did you leave the building?", MotionKind.LEAVE, Boundary.END, 0),
        ("When did you first enter the building?", MotionKind.ENTER, Boundary.BEGIN, 1),
        ("Can you take me to the door where you enter the building?", MotionKind.ENTER, Boundary.BEGIN, 0),
        ("How long were you in the building for?", MotionKind.INSIDE, Boundary.DURING, 0),
        ("How long have you been outside?", MotionKind.OUTSIDE, Boundary.DURING, 0),
        ("Where did you make the second turn?", MotionKind.TURN, Boundary.DURING, 2),
        ("When did you get off of the brick sidewalk?", MotionKind.AT_PLACE, Boundary.END, 0),
        ("When did you get to the crosswalk?", MotionKind.AT_PLACE, Boundary.BEGIN, 0),
        ("Where did you start?", MotionKind.START, Boundary.DURING, 0),
        ("Where are you now?", MotionKind.MOVE, Boundary.DURING, 0),
        ("Did you stop in front of the building?", MotionKind.STOP, Boundary.DURING, 0),
    ],
)
def test_own_doings(question: str, motion: MotionKind, boundary: Boundary, ordinal: int) -> None:
    query = parse(question)
    assert query.motion is not None
    assert (query.motion.kind, query.motion.boundary, query.ordinal) == (motion, boundary, ordinal)


def test_doings_of_others_are_things_to_see() -> None:
    assert parse("Did you see a car turn?").target.startswith("car")
    query = parse("Did you see a person holding a door for you to enter the building?")
    assert query.target == "person holding a door for you"
    assert query.motion is None
    assert parse("Where is the woman walking out of the building with a bottle?").motion is None


def test_before_and_after_another_doing() -> None:
    after = parse("Which direction did you turn after leaving the building?").motion
    assert after is not None
    assert (after.kind, after.after) == (MotionKind.TURN, MotionKind.LEAVE)
    wait = parse("How long did you wait for entering the building?").motion
    assert wait is not None
    assert (wait.kind, wait.before) == (MotionKind.STOP, MotionKind.ENTER)


def test_negation_is_taken_out_of_the_target() -> None:
    query = parse("Where is the nearest bike rack that is not empty?")
    assert (query.target, query.excluded) == ("bike rack", ("empty",))
    assert parse("Isn't there a door?").excluded == ()


def test_least_numbers() -> None:
    assert parse("Where did I see over 5 tables?").amount.least == 6
    assert parse("Where are at least three chairs?").amount.least == 3
    assert parse("Where did you see over there the cat?").amount == Bounds()


def test_quotations_and_choices() -> None:
    assert parse('When did I see an "EMERGENCY EXIT ONLY" marker').quoted == ("emergency exit only",)
    assert parse("Was the car red or blue?").choices == ("red", "blue")


def test_presuppositions() -> None:
    assert parse("Did you see the bin?").definite
    assert not parse("Did you see a bin?").definite
    assert parse("Where did you see a bin?").factive
    assert not parse("Where is a bin?").factive
    assert parse("Are you in the building?").present
    assert not parse("Were you in the building?").present


@pytest.mark.parametrize("question", ["", "   ", "?!", "\t\n...", "🐈"])
def test_a_question_without_a_word_is_refused(question: str) -> None:
    with pytest.raises(QuestionError, match=r"is empty|holds no words"):
        parse(question)


@given(st.text(min_size=1, max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        query = parse(text)
    except QuestionError:
        return
    assert query.kind in AnswerKind


WORDS = 'where when how long many did you see the a not between and over 5 turn enter building before ? ! " or last'


@given(st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=12))
def test_no_order_of_its_words_breaks_the_parser(words: list[str]) -> None:
    try:
        parse(" ".join(words))
    except QuestionError:
        assert not any(word.isalnum() for word in words)
