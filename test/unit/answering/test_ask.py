import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from captioned_drives import SECOND, Seen, WordEncoder, open_writer, remember, round_trip, write

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.keyframes import load_ranked
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ConfigError, QuestionError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval.query import parse
from vlkng_ros.types import Answer, AnswerKind, AnswerStatus, Pose, Question

Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return remember(tmp_path_factory.mktemp("drive") / "memory.db", round_trip(), WordEncoder())


@pytest.fixture(params=["with vectors", "by words alone"])
def ask(drive: Path, request: pytest.FixtureRequest) -> Iterator[Ask]:
    with MemoryReader.open(drive) as reader:
        memory = MemoryQuery(reader, WordEncoder() if request.param == "with vectors" else None)
        yield lambda text, **how: memory.ask(Question(text, **how))


def frames_of(answer: Answer) -> list[int]:
    """Numbers of the drive's frames (keyframe ids count from 1)."""
    return [ranked.keyframe.keyframe_id - 1 for ranked in answer.keyframes]


def seconds(value: object) -> float:
    assert isinstance(value, int)
    return value / SECOND


def test_a_place_is_the_pose_from_which_it_was_seen(ask: Ask) -> None:
    answer = ask("Where is the red sofa?")
    assert (answer.status, answer.kind) == (AnswerStatus.OK, AnswerKind.POSITION)
    assert frames_of(answer)[0] == 25
    top = answer.keyframes[0]
    assert answer.value == top.keyframe.base_pose
    assert answer.goal == top.keyframe.base_pose.on_floor()
    assert answer.goal_map_id == "house"
    assert (top.label, top.box_px, top.score) == ("sofa", (10.0, 20.0, 110.0, 220.0), 1.0)
    assert top.entity_id == "sofa_1"
    assert "A red sofa stands in the corner." in top.evidence
    assert answer.citations == (top.keyframe.keyframe_id,)
    assert [entity.label for entity in answer.entities] == ["sofa"]
    assert answer.timings_ms["total"] >= answer.timings_ms["retrieve"] > 0


def test_a_frame_in_which_two_sightings_settle_keeps_the_better_score(drive: Path) -> None:
    with MemoryReader.open(drive) as reader:
        retriever = MemoryQuery(reader, None).retriever
        retriever.refresh()
        scene = retriever.scene(None, None)
        draft = Draft(AnswerKind.POSITION, 25, 0.9, ((25, 0.8), (10, 0.4), (25, 0.1)))
        ranked = load_ranked(retriever, parse("Where is the sofa?"), scene, draft, 5, int(scene.stamps_ns[-1]), "")
    assert [(r.keyframe.keyframe_id - 1, r.score) for r in ranked.keyframes] == [(25, 1.0), (10, 0.5)]


def test_an_attribute_chooses_among_like_things(ask: Ask) -> None:
    assert frames_of(ask("Where did you see the yellow fire hydrant?"))[0] == 55
    assert frames_of(ask("Where did you see the red fire hydrant?"))[0] == 10


def test_nearest_is_counted_from_the_asker(ask: Ask) -> None:
    start, end = Pose.planar("map", 0, 0), Pose.planar("map", 40, 0)
    assert frames_of(ask("Where is the nearest fire hydrant?", asker=start))[0] == 10
    assert frames_of(ask("Where is the nearest fire hydrant?", asker=end))[0] == 55
    assert frames_of(ask("Where is the nearest fire hydrant?"))[0] == 55
    assert frames_of(ask("Where is the farthest fire hydrant?", asker=end))[0] == 10


def test_first_and_last_are_counted_in_time(ask: Ask) -> None:
    assert seconds(ask("When did you first see a fire hydrant?").value) == 20
    assert seconds(ask("When did you last see a fire hydrant?").value) == 110


def test_a_need_is_met_by_a_thing(ask: Ask) -> None:
    assert frames_of(ask("Where can I sit down?"))[0] in (25, 45)
    assert set(frames_of(ask("Where can I sit down?"))[:2]) == {25, 45}


@pytest.mark.parametrize("question", ["Did you see a sofa?", "Have you seen a couch?", "Is there an elevator?"])
def test_what_was_seen_is_a_yes_with_its_evidence(ask: Ask, question: str) -> None:
    answer = ask(question)
    assert (answer.status, answer.value) == (AnswerStatus.OK, True)
    assert answer.confidence > 0.5
    assert answer.keyframes[0].evidence


@pytest.mark.parametrize("thing", ["elephant", "grand piano", "green fire hydrant", "blue sofa", "swimming pool"])
def test_what_was_never_seen_is_not_made_up(ask: Ask, thing: str) -> None:
    where = ask(f"Where is the {thing}?")
    assert (where.status, where.value, where.goal) == (AnswerStatus.NOT_FOUND, None, None)
    nearest = {"green fire hydrant": " What comes nearest: fire hydrant.", "blue sofa": " What comes nearest: sofa."}
    assert where.text == f"I have not seen {thing}.{nearest.get(thing, '')}"
    assert where.message == where.text
    did = ask(f"Did you see a {thing}?")
    assert (did.status, did.value, did.goal) == (AnswerStatus.OK, False, None)
    assert ask(f"How many {thing}s did you see?").goal is None


@pytest.mark.parametrize(
    ("thing", "seen"),
    [
        ("bench", True),
        ("bench next to the lamp post", True),
        ("bench next to the elephant", False),
        ("bench in front of the Dell Complex", True),
        ("red sofa with a sleeping elephant", False),
        ("person walking on the sidewalk with a surfboard", False),
    ],
)
def test_what_it_stands_beside_must_have_been_seen_too(ask: Ask, thing: str, seen: bool) -> None:
    assert ask(f"Where is the {thing}?").status is (AnswerStatus.OK if seen else AnswerStatus.NOT_FOUND)


def test_what_is_taken_for_granted_needs_less_to_be_found(ask: Ask) -> None:
    assert frames_of(ask("Where did you see the wooden bench with graffiti?"))[0] == 45
    assert ask("Where is the wooden bench with graffiti?").status is AnswerStatus.NOT_FOUND


@pytest.mark.parametrize("question", ["Where is the?", "a", "Did you not see?", "Did you not see an elephant?"])
def test_a_question_of_little_words_alone_is_answered(ask: Ask, question: str) -> None:
    answer = ask(question)
    assert answer.goal is None
    assert answer.status is AnswerStatus.NOT_FOUND or answer.value is False


def test_a_question_that_names_nothing_is_not_answered_with_certainty(ask: Ask) -> None:
    answer = ask("What is it?")
    assert (answer.status, answer.confidence) == (AnswerStatus.NOT_FOUND, 0.0)


def test_a_question_that_is_far_too_long_is_refused(ask: Ask) -> None:
    with pytest.raises(QuestionError, match="2030 characters, and at most 2000"):
        ask("Where is the " + "x" * 2017)


def test_entering_and_leaving_are_read_off_the_captions(ask: Ask) -> None:
    assert abs(seconds(ask("When did you enter the building?").value) - 40) <= 4
    assert abs(seconds(ask("When did you leave the building?").value) - 80) <= 4
    assert abs(frames_of(ask("Where did you leave the building?"))[0] - 40) <= 2
    inside = ask("How long were you in the building?")
    assert inside.kind is AnswerKind.DURATION
    assert inside.value == pytest.approx(38, abs=6)
    assert ask("Are you in the building?").value is False
    assert ask("Are you in the building?", as_of_ns=60 * SECOND).value is True
    assert ask("How many times did you enter the building?").value == 1


def test_turns_are_read_off_the_track(ask: Ask) -> None:
    assert ask("How many turns did you make?").value == 2
    assert ask("Did you turn left or right?").value == "I turned right"
    assert abs(frames_of(ask("Where did you make the first turn?"))[0] - 19) <= 2
    assert ask("Did you turn left?").value is False


def test_where_the_robot_was_then(ask: Ask) -> None:
    answer = ask("Where were you 20 seconds ago?")
    assert frames_of(answer) == [49]
    assert frames_of(ask("Where are you now?"))[0] == 59
    assert frames_of(ask("Where did you start?"))[0] == 0


def test_a_time_window_hides_the_rest(ask: Ask) -> None:
    assert ask("Did you see a sofa in the last 10 seconds?").value is False
    assert ask("Did you see a fire hydrant in the last 20 seconds?").value is True
    assert ask("Did you see a sofa before you entered the building?").value is False
    assert ask("Did you see a bench after you left the building?").value is True
    assert ask("Where is the sofa?", since_ns=60 * SECOND).status is AnswerStatus.NOT_FOUND


def test_counts_and_colours(ask: Ask) -> None:
    assert ask("How many times did you see a fire hydrant?").value == 2
    assert ask("What color is the sofa?").value == "red"
    assert ask("How many elephants did you see?").value == 0


def test_no_more_keyframes_than_asked_for(ask: Ask) -> None:
    assert len(ask("Where is the fire hydrant?", max_keyframes=1).keyframes) == 1


LEAKS = (
    "Where is the nearest fire hydrant?",
    "When did you see a sofa?",
    "Did you see an elevator?",
    "How many turns did you make?",
    "Where can I sit?",
    "When did you enter the building?",
    "Where is the elephant?",
    "What is nearest to me?",
    "What was the last thing you saw?",
    "What is next to the red sofa?",
    "Where is the bench next to the lamp post?",
    "Did you see a sofa or a bench?",
    "What did you see 10 seconds ago?",
)


@pytest.mark.parametrize("as_of_s", [30, 52, 70, 95, 118])
def test_asking_as_of_then_is_asking_the_memory_of_then(tmp_path: Path, drive: Path, as_of_s: int) -> None:
    then = remember(tmp_path / "memory.db", [f for f in round_trip() if f.second <= as_of_s], WordEncoder())
    with MemoryReader.open(drive) as whole, MemoryReader.open(then) as part:
        now, before = (MemoryQuery(reader, WordEncoder()) for reader in (whole, part))
        for question in LEAKS:
            asked = Question(question, as_of_ns=as_of_s * SECOND)
            assert told(now.ask(asked)) == told(before.ask(asked)), question


def told(answer: Answer) -> list[object]:
    """Everything in an answer but how long it took."""
    return [
        (answer.status, answer.kind, answer.value, answer.text, answer.confidence),
        [(r.keyframe.stamp_ns, r.score, r.evidence, r.entity_id) for r in answer.keyframes],
        [(e.entity_id, e.labels, e.position.mean_m, e.last_seen_ns) for e in answer.entities],
    ]


def test_an_empty_memory_says_so(tmp_path: Path) -> None:
    path = remember(tmp_path / "memory.db", [])
    with MemoryReader.open(path) as reader:
        answer = MemoryQuery(reader, None).ask(Question("Where is the cat?"))
    assert (answer.status, answer.kind, answer.value) == (AnswerStatus.EMPTY_MEMORY, AnswerKind.POSITION, None)
    assert "empty" in answer.message


def test_before_the_first_keyframe_nothing_is_known(ask: Ask) -> None:
    answer = ask("Where is the sofa?", as_of_ns=-1)
    assert (answer.status, answer.message) == (
        AnswerStatus.NOT_FOUND,
        "Nothing was recorded up to then: the memory goes from 0.000 s to 118.000 s.",
    )


def test_bad_questions_are_refused(ask: Ask) -> None:
    with pytest.raises(QuestionError, match="holds no words"):
        ask("?")
    with pytest.raises(QuestionError, match="window is empty"):
        ask("Where is the sofa?", since_ns=2, as_of_ns=1)
    with pytest.raises(QuestionError, match="max_keyframes"):
        ask("Where is the sofa?", max_keyframes=0)
    with pytest.raises(ConfigError, match="no preset 'psychic'"):
        ask("Where is the sofa?", preset="psychic")


def test_answers_follow_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_writer(path, WordEncoder()) as writer, MemoryReader.open(path) as reader:
        write(writer, [Seen(1, 0, 0, "A red door.", ("door",))])
        memory = MemoryQuery(reader, WordEncoder())
        assert memory.ask(Question("Where is the cat?")).status is AnswerStatus.NOT_FOUND
        write(writer, [Seen(3, 5, 0, "A black cat sits on a sofa.", ("cat",))])
        found = memory.ask(Question("Where is the cat?"))
        assert found.keyframes[0].keyframe.base_pose.position_m == (5.0, 0.0, 0.0)
        writer.forget(label="cat")
        write(writer, [Seen(5, 9, 0, "A door.")])
        memory.ask(Question("Where is the cat?"))


def test_the_border_of_not_seen_is_a_parameter(drive: Path) -> None:
    with MemoryReader.open(drive) as reader:
        timid = MemoryQuery(reader, None, RetrievalConfig(min_confidence=1.0))
        assert timid.ask(Question("Where is the sofa?")).status is AnswerStatus.NOT_FOUND


def test_values_are_finite_and_of_their_kind(ask: Ask) -> None:
    kinds = {
        "Where is the bench?": Pose,
        "When did you see the bench?": int,
        "How long did you see the bench?": float,
        "Did you see the bench?": bool,
        "How many benches did you see?": int,
        "What is next to the lamp post?": str,
    }
    for question, kind in kinds.items():
        answer = ask(question)
        assert type(answer.value) is kind, question
        assert 0 <= answer.confidence <= 1
        assert all(math.isfinite(ranked.score) for ranked in answer.keyframes)
