from pathlib import Path

import pytest
from captioned_drives import Seen, WordEncoder, open_writer, round_trip, write

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.retrieval.follower import IndexFollower
from vlkng_ros.types import AnswerStatus, Capture, Perception, Pose, Question


def content(index: TextIndex) -> list[object]:
    """Everything that questions can see."""
    cut = index.cut()
    frames, slots, caption = index.mentions_in(cut)
    said = sorted((int(f), index.texts[s], bool(c)) for f, s, c in zip(frames, slots, caption, strict=True))
    return [index.keyframe_ids.tolist(), index.stamps_ns.tolist(), sorted(index.texts), said]


def said(index: TextIndex) -> object:
    """Which keyframe says what."""
    return content(index)[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def test_what_is_written_in_order_is_appended(path: Path) -> None:
    drive = round_trip()
    with open_writer(path, WordEncoder()) as writer, MemoryReader.open(path) as reader:
        write(writer, drive[:20])
        follower = IndexFollower(reader, 64)
        follower.refresh()
        built = follower.rebuilds
        write(writer, drive[20:])
        follower.refresh()
        assert follower.rebuilds == built
        assert content(follower.index) == content(IndexFollower(reader, 64).index)
        assert len(follower.index.keyframe_ids) == 60


def test_a_keyframe_described_late_is_found(path: Path) -> None:
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        late = writer.add_keyframe(Capture(1, Pose.planar("map", 0, 0)))
        follower = IndexFollower(reader, 0)
        write(writer, [Seen(1, 1, 0, "A blue door.")])
        follower.refresh()
        writer.add_perception(late.keyframe_id, Perception("A red door."))
        follower.refresh()
        assert follower.index.texts == ["A red door.", "A blue door."]
        assert content(follower.index) == content(IndexFollower(reader, 0).index)


def test_a_pending_keyframe_is_described_without_making_the_index_anew(path: Path) -> None:
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        follower = IndexFollower(reader, 0)
        pending = writer.add_keyframe(Capture(1, Pose.planar("map", 0, 0)))
        follower.refresh()
        built = follower.rebuilds
        writer.add_perception(pending.keyframe_id, Perception("A red door."))
        follower.refresh()
        assert (follower.rebuilds, follower.index.texts) == (built, ["A red door."])


def test_an_older_session_takes_its_place_in_time(path: Path) -> None:
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        write(writer, [Seen(100, 0, 0, "Later."), Seen(102, 0, 0, "Latest.")])
        follower = IndexFollower(reader, 0)
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        write(writer, [Seen(5, 0, 0, "Earlier.")])
        follower.refresh()
        assert follower.index.texts == ["Earlier.", "Later.", "Latest."]


def test_corrected_poses_leave_the_index_alone(path: Path) -> None:
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        ids = write(writer, round_trip()[:5])
        follower = IndexFollower(reader, 0)
        built = follower.rebuilds
        writer.correct_poses({ids[0]: (Pose.planar("map", 9, 9), None)})
        follower.refresh()
        assert follower.rebuilds == built
        assert reader.frames().position_m[0].tolist() == [9.0, 9.0, 0.0]


def test_what_is_forgotten_is_gone(path: Path) -> None:
    with open_writer(path) as writer, MemoryReader.open(path) as reader:
        write(writer, [Seen(1, 0, 0, "A secret.", ("safe",)), Seen(2, 0, 0, "A door.", ("door",))])
        follower = IndexFollower(reader, 0)
        writer.forget(until_ns=Seen(1, 0, 0).stamp_ns)
        follower.refresh()
        assert follower.index.texts == ["A door.", "door"]


def test_old_observations_that_are_summed_up_are_taken_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_writer(path, WordEncoder()) as writer, MemoryReader.open(path) as reader:
        write(writer, [Seen(i, i, 0, f"A red door. The room {i}.", ("door",)) for i in range(60)])
        follower = IndexFollower(reader, 64)
        follower.refresh()
        before = said(follower.index)
        writer.summarise(keep=2)
        write(writer, [Seen(200, 0, 0, "The room 7.", ("sofa",)), Seen(201, 0, 0, "A new lamp.")])
        follower.refresh()
        fresh = IndexFollower(reader, 64).index
        assert follower.rebuilds == 1
        assert follower.index.unsaid > 0
        assert said(follower.index) == said(fresh)
        assert said(fresh) != before
        monkeypatch.setattr("vlkng_ros.retrieval.follower.MOST_UNSAID", 0)
        write(writer, [Seen(202, 0, 0, "The end.")])
        for _ in range(2):
            follower.refresh()
        assert (follower.rebuilds, follower.index.unsaid) == (2, 0)
        assert content(follower.index) == content(IndexFollower(reader, 64).index)


def test_what_no_keyframe_says_any_more_is_not_found(path: Path) -> None:
    with open_writer(path, WordEncoder()) as writer, MemoryReader.open(path) as reader:
        write(writer, [Seen(1, 0, 0, "A rare elephant."), *(Seen(i, i, 0, "A door.", ("door",)) for i in range(2, 9))])
        memory = MemoryQuery(reader, WordEncoder())
        assert memory.ask(Question("Did you see an elephant?")).value is True
        writer.summarise(keep=1)
        assert memory.ask(Question("Did you see an elephant?")).value is False
        assert memory.ask(Question("Where is the door?")).status is AnswerStatus.OK


@pytest.mark.parametrize("encoder_known", [True, False])
def test_texts_embedded_later_are_found_by_meaning_without_a_restart(path: Path, encoder_known: bool) -> None:
    if encoder_known:
        with open_writer(path, WordEncoder()) as writer:
            write(writer, [Seen(0, 0, 0, "Nothing yet.")])
    with open_writer(path) as writer:
        write(writer, [Seen(i, i, 0, f"A {what} door.") for i, what in enumerate(("red", "green", "blue"), 1)])
    with MemoryReader.open(path) as reader:
        memory = MemoryQuery(reader, WordEncoder())
        memory.ask(Question("Where is the green door?"))
        with open_writer(path, WordEncoder()) as writer:
            assert writer.embed_missing() == 3
        memory.ask(Question("Where is the green door?"))
        fresh = MemoryQuery(reader, WordEncoder())
        dense = [query.retriever.index.dense for query in (memory, fresh)]
        assert dense[0] is not None
        assert dense[1] is not None
        total = len(fresh.retriever.index.texts)
        assert dense[0].all_rows(total).tolist() == dense[1].all_rows(total).tolist()
        query = WordEncoder().encode(["A green door."])
        slots, cosines = dense[0].similar(query, total)
        assert memory.retriever.index.texts[slots[cosines[0].argmax()]] == "A green door."
