from pathlib import Path

from captioned_drives import Seen, WordEncoder, remember

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.evaluation.abstention import Abstained, Unseen, ask_unseen, shares, unseen, write
from vlkng_ros.evaluation.benchmark import RecordedFrame, Recording
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import Detection, Perception, Pose


def recording(name: str, caption: str, *labels: str) -> Recording:
    said = Perception(caption, tuple(Detection(label) for label in labels))
    return Recording(name, [RecordedFrame(0, Pose.planar("map", 0.0, 0.0, 0.0), said)], ())


HERE = recording("here", "A man carries a trash bin. A couch.", "man", "red sofa")
THERE = recording(
    "there", "", "waste container", "couches", "fire truck", "man", "blue sofa", "a man with a flashlight in his hand"
)


def test_what_another_wording_names_was_seen() -> None:
    # "waste container" is another wording of the trash bin, "couches" of the sofa, "man" a label of both; of "blue
    # sofa" the word blue, of the fire truck and the flashlight no wording is said at all.
    plausible = [thing for thing in unseen(HERE, [THERE], 10) if thing.kind != "odd"]
    assert {(thing.thing, thing.kind) for thing in plausible} == {
        ("fire truck", "label"),
        ("blue sofa", "label"),
        ("a man with a flashlight in his hand", "description"),
    }
    assert plausible[-1].kind == "description"
    assert plausible[-1].question == "Where is the man with a flashlight in his hand?"


def test_the_rest_is_odd_and_the_choice_repeats() -> None:
    things = unseen(HERE, [THERE], 20)
    assert len(things) == len({thing.thing for thing in things}) == 20
    assert [thing.kind for thing in things[3:]] == ["odd"] * 17
    assert unseen(HERE, [THERE], 20) == things
    assert unseen(HERE, [THERE], 20, seed=1) != things
    assert all(thing.thing != "elephant" for thing in unseen(recording("zoo", "An elephant."), [], 120))


def test_answers_are_counted_by_recording_and_kind(tmp_path: Path) -> None:
    path = remember(tmp_path / "memory.db", [Seen(0.0, 0.0, 0.0, "A room.", ("sofa",))], WordEncoder())
    with MemoryReader.open(path) as reader:
        memory = MemoryQuery(reader, WordEncoder())
        things = [Unseen("sofa", "label"), Unseen("fire truck", "label"), Unseen("anchor", "odd")]
        found = ask_unseen("room", things, memory, "hybrid", lambda n: None)
    assert [result.abstained for result in found] == [False, True, True]
    assert found[1].said == "I have not seen fire truck."
    assert shares(found) == {"room": {"label": 0.5, "odd": 1.0, "all": 0.667, "asked": 3}}
    assert '"room": {' in write(tmp_path, found).read_text(encoding="utf-8")
    assert shares([Abstained("a", "b", "odd", True, 1.0, "")])["a"]["all"] == 1.0
