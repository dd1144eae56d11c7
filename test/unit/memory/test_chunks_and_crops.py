"""What is described together, and what crops look like."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from conftest import ram_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from remembered_drives import SECOND, Frame, drives, frame, remember

from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory import MemoryReader, MemoryWriter, Span
from vlkng_ros.types import Detection, FloatArray, Perception


def direction(*numbers: float) -> FloatArray:
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def looked_at(second: int, vector: FloatArray, encoder: str = "siglip") -> Frame:
    return Frame(second * SECOND, 0, 0, Perception("", (Detection("cup", embedding=vector),), visual_encoder=encoder))


def test_a_chunk_is_described_in_one_operation_and_keeps_its_summary(open_writer, open_reader):
    writer = open_writer()
    ids = tuple(writer.add_keyframe(frame(i, i).capture()).keyframe_id for i in range(3))
    before = writer.revision
    chunk = {
        number: Perception(f"Frame {number}.", (Detection("cup", local_id="cup_1"),), summary="A hall.", chunk=ids)
        for number in ids
    }
    written = writer.add_perceptions(chunk)
    assert writer.revision == before + 1
    assert {n: [o.observation_id for o in found] for n, found in written.items()} == {1: [1], 2: [2], 3: [3]}
    for number in ids:
        writer.associate(number)
    reader = open_reader()
    assert reader.entity("proximity", "cup_1").observation_count == 3
    assert reader.spans() == [Span(1, "chunk", ids, 0, 2 * SECOND, "A hall.")]
    assert {o.detection.local_id for n in ids for o in reader.observations(n)} == {"cup_1"}


def test_a_chunk_of_which_one_is_described_already_is_refused_whole(open_writer):
    writer = open_writer()
    remember(writer, [frame(0, 0)])
    writer.add_keyframe(frame(1, 1).capture())
    with pytest.raises(InvalidInputError, match="keyframe 1 is described already"):
        writer.add_perceptions({2: Perception("A."), 1: Perception("B.")})
    assert [k.keyframe_id for k in writer.pending()] == [2]


def test_a_chunk_is_associated_frame_by_frame_after_a_crash_too(open_writer, open_reader):
    writer = open_writer()
    for i in range(3):
        writer.add_keyframe(frame(i, 20.0 * i).capture())
    writer.add_perceptions({n: Perception("", (Detection("cup"),)) for n in (3, 1, 2)})
    writer.associate(3)
    writer.close()
    open_writer(session=False)
    reader = open_reader()
    assert [reader.entities_in("proximity", n) for n in (3, 1, 2)] == [{1: "cup_1"}, {2: "cup_2"}, {3: "cup_3"}]


def test_a_span_is_known_once_it_has_ended_and_goes_with_its_keyframes(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(i, i, "cup") for i in range(6)])
    assert writer.add_span("clip", [1, 2, 3], "Cups.") == 1
    assert writer.add_span("clip", [4, 5, 6], "More cups.") == 2
    assert writer.add_span("clip", [3, 2, 1], "Three cups.") == 1
    reader = open_reader()
    assert [s.summary for s in reader.spans("clip")] == ["Three cups.", "More cups."]
    assert [s.summary for s in reader.spans("clip", 4 * SECOND)] == ["Three cups."]
    assert reader.spans("chunk") == []
    writer.forget(since_ns=2 * SECOND, until_ns=2 * SECOND)
    assert [s.summary for s in reader.spans()] == ["More cups."]
    with pytest.raises(NotInMemoryError, match="keyframe 3 "):
        writer.add_span("clip", [2, 3], "Gone.")
    with pytest.raises(InvalidInputError, match="at least one keyframe"):
        writer.add_span("clip", [], "Nothing.")
    assert writer.add_span("clip", [1, 2], "Two.") == 3, "ids are never given twice"


def test_chunks_and_clips_come_to_be_as_the_memory_grows(open_writer, open_reader):
    writer = open_writer()
    said = ["A hall. It is dark.", "A hall. A door.", "A hall. A door. A cat."]
    remember(writer, [frame(i, i, caption=said[i % 3]) for i in range(70)])
    reader = open_reader()
    chunks, clips = reader.spans("chunk"), reader.spans("clip")
    assert [c.keyframe_ids for c in chunks] == [tuple(range(i, i + 8)) for i in range(1, 65, 8)]
    assert chunks[0].summary == "A hall. It is dark. A door."
    (clip,) = clips
    assert (clip.keyframe_ids, clip.first_ns, clip.last_ns) == (tuple(range(1, 65)), 0, 63 * SECOND)
    assert clip.summary == "A hall. It is dark. A door. A cat."
    assert reader.spans("clip", 62 * SECOND) == []
    assert reader.spans("chunk", 15 * SECOND) == chunks[:2]
    # A drive that is over ends the chunk and the clip that it was in.
    writer.start_session(robot="robot", map_id="house", frame_id="map")
    remember(writer, [frame(100, 0)])
    reader.refresh()
    assert [c.keyframe_ids for c in reader.spans("clip")] == [clip.keyframe_ids, tuple(range(65, 71))]
    assert reader.spans("chunk", 99 * SECOND) == chunks


def test_what_a_model_described_together_is_not_put_into_another_chunk(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(i, i, caption=f"Number {i}.") for i in range(11)])
    writer.add_span("chunk", [3, 4, 5], "Three, by a model.")
    found = open_reader().spans("chunk")
    assert [(c.span_id, c.keyframe_ids) for c in found] == [(0, (1, 2, 6, 7, 8, 9, 10, 11)), (1, (3, 4, 5))]


@settings(max_examples=15, deadline=None)
@given(drives(max_size=14), st.integers(-1, 14))
def test_the_spans_known_then_are_those_of_a_memory_that_ended_then(frames, second):
    until = second * SECOND
    assert spans_of(frames, until) == spans_of([f for f in frames if f.stamp_ns <= until], None)


def spans_of(frames: list[Frame], until: int | None) -> list[Span]:
    folder = ram_folder()
    try:
        with MemoryWriter.open(folder / "memory.db", encoder=None) as writer:
            for part in (frames[:5], frames[5:]):
                if part:
                    writer.start_session(robot="robot", map_id="house", frame_id="map")
                    remember(writer, part)
        with MemoryReader.open(folder / "memory.db") as reader:
            return reader.spans(as_of_ns=until)
    finally:
        shutil.rmtree(folder)


class Appearances:
    """Notes what each entity looks like, and takes the first that is near."""

    view = "looks"

    def __init__(self) -> None:
        self.seen: list[list[list[float] | None]] = []

    def assign(self, keyframe, observations, view):
        known = list(view.near(keyframe.base_pose.position_m, 5.0, keyframe.map_id))
        self.seen.append([None if e.appearance is None else [round(float(x), 3) for x in e.appearance] for e in known])
        return [*known[: len(observations)], *[None] * (len(observations) - len(known))]


def test_an_entity_looks_like_the_mean_of_its_crops(open_writer):
    looks = Appearances()
    writer = open_writer(associators=(looks,))
    remember(writer, [looked_at(0, direction(1, 0)), looked_at(1, direction(0, 1)), frame(2, 0, "cup")])
    remember(writer, [frame(3, 0)])
    assert looks.seen == [[], [[1.0, 0.0]], [[0.707, 0.707]], [[0.707, 0.707]]]
    writer.close()
    again = Appearances()
    with open_writer(associators=(again,)) as reopened:
        remember(reopened, [looked_at(4, direction(0, 1))])
        reopened.forget(until_ns=0)
        remember(reopened, [looked_at(5, direction(1, 0))])
    assert again.seen[-1] == [[0.0, 1.0]]


def test_what_another_visual_encoder_saw_is_not_compared(open_writer, open_reader):
    looks = Appearances()
    writer = open_writer(associators=(looks,))
    remember(writer, [looked_at(0, direction(1, 0)), looked_at(1, direction(0, 1), "siglip2")])
    remember(writer, [looked_at(2, direction(0, 1), "siglip2")])
    assert looks.seen == [[], [None], [[0.0, 1.0]]]
    crops = [(c.observation_id, c.keyframe_id, c.encoder_id) for c in open_reader().crops()]
    assert crops == [(1, 1, "siglip"), (2, 2, "siglip2"), (3, 3, "siglip2")]
    (last,) = open_reader().crops(after_observation_id=2)
    assert np.allclose(last.vector, direction(0, 1))
