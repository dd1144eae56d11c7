"""The papers' rules over graphs: relations, attributes, crops, merged names, events; values worked out by hand."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from captioned_drives import SECOND, WordEncoder

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.association.text_merge import TextMergeAssociator
from vlkng_ros.retrieval import Retriever, parse
from vlkng_ros.retrieval.crops import CropIndex
from vlkng_ros.retrieval.presets import PAPERS, egograph, finder_for
from vlkng_ros.retrieval.presets.egograph import EgoGraph
from vlkng_ros.retrieval.presets.habits import conclusions
from vlkng_ros.retrieval.presets.nodes import nodes_of
from vlkng_ros.retrieval.presets.vgent import verified
from vlkng_ros.retrieval.retriever import Found
from vlkng_ros.types import (
    Capture,
    Detection,
    EntityKind,
    FloatArray,
    Perception,
    Pose,
    PositionEstimate,
    PositionSource,
    Relation,
    RelationMention,
)
from vlkng_ros.types import Entity as Node

PERSON, EVENT = EntityKind.PERSON, EntityKind.EVENT
DAY = 86_400


class Memory:
    """A memory written keyframe by keyframe, with a view merged by text and one by place."""

    def __init__(self, path: Path, encoder: WordEncoder | None) -> None:
        views: Sequence[Associator] = (ProximityAssociator(), TextMergeAssociator(clip_keyframes=1))
        self.encoder = encoder
        self._path = path
        self._writer = MemoryWriter.open(path, encoder=encoder, associators=views)
        self._writer.start_session(robot="robot", map_id="house", frame_id="map")
        self._readers: list[MemoryReader] = []

    def see(
        self,
        second: float,
        *detections: Detection,
        caption: str = "",
        relations: tuple[RelationMention, ...] = (),
        visual: str = "",
    ) -> None:
        keyframe = self._writer.add_keyframe(Capture(round(second * SECOND), Pose.planar("map", second, 0.0)))
        said = Perception(caption, detections, relations, backend="told", visual_encoder=visual)
        self._writer.add_perception(keyframe.keyframe_id, said)
        self._writer.associate(keyframe.keyframe_id)

    def reader(self) -> MemoryReader:
        self._readers.append(MemoryReader.open(self._path))
        return self._readers[-1]

    def find(self, preset: str, question: str, as_of_s: float | None = None, visual: object = None) -> Found:
        reader = self.reader()
        retriever = Retriever(reader, self.encoder)
        crops = CropIndex(reader, visual) if visual is not None else None  # type: ignore[arg-type]
        scene = retriever.scene(None, None if as_of_s is None else round(as_of_s * SECOND))
        return finder_for(retriever, preset, crops).find(parse(question), scene, None)

    def context(self, preset: str, question: str) -> list[str]:
        retriever = Retriever(self.reader(), self.encoder)
        return finder_for(retriever, preset).context(parse(question), retriever.scene(None, None))

    def forget(self, entity_id: str) -> None:
        self._writer.forget(view="proximity", entity_ids=(entity_id,))

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        self._writer.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    told = Memory(tmp_path / "memory.db", None)
    yield told
    told.close()


@pytest.fixture
def dense(tmp_path: Path) -> Iterator[Memory]:
    told = Memory(tmp_path / "dense.db", WordEncoder())
    yield told
    told.close()


def ranked(found: Found) -> list[tuple[int, float]]:
    return [(int(f), round(float(s), 3)) for f, s in zip(found.peaks.frames, found.peaks.scores, strict=True)]


# ------------------------------------------------------------------------------------------------- VL-KnG


def test_an_object_is_its_name_its_attributes_and_where_it_is(memory: Memory) -> None:
    memory.see(0, Detection("mug", attributes={"color": "red", "material": "clay"}))
    memory.see(10, Detection("mug"), Detection("red book"))
    memory.see(20, Detection("mug"), Detection("table"), relations=(RelationMention(0, "next to", 1),))
    # Terms red, mug: frame 0's one object says both; so do frame 1's two objects together, and in frame 2 the mug and
    # the table, which is "next to mug". The question asks for no relation, so nothing is boosted.
    assert ranked(memory.find("vlkng-gr", "Where is the red mug?")) == [(0, 2.0), (1, 2.0), (2, 2.0)]
    # Terms mug, next, table. Frame 2: the mug is "next to table" (3), the table "next to mug" (3), boosted by half: 9.
    assert ranked(memory.find("vlkng-gr", "Where is the mug next to the table?"))[0] == (2, 9.0)
    assert memory.find("vlkng-gr", "Where is the red mug?").support == 1.0


class Looks:
    """A text tower whose words are the two axes of a plane."""

    encoder_id = "looks:2"
    dimensions = 2

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return np.array([[1.0, 0.0] if "mug" in text else [0.0, 1.0] for text in texts], dtype=np.float32)


def crop(x: float, y: float) -> FloatArray:
    return np.array([x, y], dtype=np.float32)


def test_ger_joins_the_graph_with_crops_that_look_like_the_question(memory: Memory) -> None:
    box = (0.0, 0.0, 9.0, 9.0)
    memory.see(0, Detection("mug", box, embedding=crop(0.6, 0.8)), visual="looks:2")
    memory.see(10, Detection("beaker", box, embedding=crop(1.0, 0.0)), visual="looks:2")
    memory.see(20, Detection("mug", box, embedding=crop(1.0, 0.0)), visual="another:2")
    # Graph: 1, 0, 1. Crops: .6, 1, and one of another model, which is not compared.
    found = ranked(memory.find("vlkng-ger", "Where is the mug?", visual=Looks()))
    assert found == [(0, 1.6), (1, 1.0), (2, 1.0)]
    # Of what was seen by 5 s the first is the best, so that its share is 1.
    assert ranked(memory.find("vlkng-ger", "Where is the mug?", as_of_s=5, visual=Looks())) == [(0, 2.0)]
    # Without vectors of the model, labels by words.
    assert ranked(memory.find("vlkng-ger", "Where is the mug?")) == [(0, 1.0), (2, 1.0)]


def test_a_crop_that_was_forgotten_is_not_found(memory: Memory) -> None:
    memory.see(0, Detection("beaker", (0.0, 0.0, 9.0, 9.0), embedding=crop(1.0, 0.0)), visual="looks:2")
    memory.see(10, Detection("door"))
    reader = memory.reader()
    retriever = Retriever(reader, None)
    crops = CropIndex(reader, Looks())
    assert [frame for frame, _, _ in crops.best("mug", retriever.index, retriever.scene(None, None), 5)] == [0]
    memory.forget("beaker_1")
    retriever.refresh()
    assert crops.best("mug", retriever.index, retriever.scene(None, None), 5) == []


def test_the_full_graph_is_the_context_of_f(memory: Memory) -> None:
    memory.see(0, Detection("mug", attributes={"color": "red"}), Detection("table"),
               relations=(RelationMention(0, "on", 1),))  # fmt: skip
    assert memory.context("vlkng-full", "Where is the mug?") == [
        "mug_1: mug; color red; on table_1 at x=0.0 y=0.0, seen in #1..#1",
        "table_1: table at x=0.0 y=0.0, seen in #1..#1",
    ]
    assert memory.context("vlkng-gr", "Where is the mug?") == []


# ------------------------------------------------------------------------------------------------- Vgent


def test_at_most_five_clips_are_kept_most_sub_queries_first() -> None:
    # Three keywords. Clip 3 answers none; clips 0 and 2 answer two; 20 more answer one, ever more strongly.
    first = [0.6, 0.9, 0.6, 0.0] + [0.50 + 0.01 * i for i in range(1, 21)]
    second = [0.6, 0.0, 0.9, 0.0] + [0.0] * 20
    kept = verified(np.array([first, second, np.zeros(24)]))
    # By similarity the 20 best are 0, 1, 2 and the last 17. Of these 2 and 0 pass two, then 1 (0.9), 23 and 22.
    assert np.flatnonzero(kept).tolist() == [0, 1, 2, 22, 23]


def test_a_clip_shows_an_entity_whatever_it_was_called_there(dense: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from vlkng_ros.retrieval.presets import vgent

    monkeypatch.setattr(vgent, "CLIP", 2)
    # By words "dog" and "big brown dog" have a cosine of about 1 / sqrt(3) = 0.58: one entity only where tau allows.
    for second, label in enumerate(["dog", "wall", "brown dog", "wall", "door", "wall"]):
        dense.see(10.0 * second, Detection(label))
    retriever = Retriever(dense.reader(), dense.encoder)
    finder = vgent.Vgent(retriever, "text_merge")
    scene = retriever.scene(None, None)
    by_clip = finder._by_clip(["dog"], np.zeros((1, 6)), np.array([0, 0, 1, 1, 2, 2]), scene)
    # "brown dog" has cosine 1 / sqrt(2) = 0.71 with "dog": above tau, the same entity. Its best name counts in both.
    assert by_clip.round(3).tolist() == [[1.0, 1.0, 0.0]]


def test_a_model_verifies_all_n_clips_on_their_best_frames(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from vlkng_ros.retrieval.presets import vgent

    for name, value in (("CLIP", 3), ("KEPT", 1), ("FRAMES_A_CLIP", 2)):
        monkeypatch.setattr(vgent, name, value)
    for second, said in enumerate(["a dog", "a ball", "a dog with a ball", "a wall", "a dog", "a wall", "a wall"]):
        memory.see(10.0 * second, caption=said)
    retriever = Retriever(memory.reader(), None)
    finder, scene = vgent.Vgent(retriever, "text_merge"), retriever.scene(None, None)
    query = parse("Where is the dog with the ball?")
    assert finder.find(query, scene, None).peaks.frames.tolist() == [2, 0, 1]  # the one clip that the rules keep
    # Of the first clip its two best frames, then the one of the second that says a keyword; the third has none.
    assert finder.candidates(query, scene, [2]) == [2, 0, 4]


# ------------------------------------------------------------------------------------------------- EgoGraph


def playing(second: float, memory: Memory, who: str = "jack") -> None:
    told = (Detection(who, kind=PERSON), Detection("playing the piano", kind=EVENT))
    memory.see(second, *told, relations=(RelationMention(0, "takes part in", 1),))


def test_a_node_is_anchored_at_every_time_it_was_seen(dense: Memory) -> None:
    dense.see(0, Detection("mug"))
    dense.see(10, Detection("red mug"))  # cosine 0.71: merged
    dense.see(20, Detection("door"))
    # The node is worth 1 by its name "mug"; at 10 s it was called otherwise: 0.9 of that, for what was said is 0.71.
    assert ranked(dense.find("egograph", "Where is the mug?"))[:2] == [(0, 1.0), (1, 0.9)]


def test_edges_bring_their_times_and_nothing_later_is_seen(memory: Memory) -> None:
    memory.see(0, Detection("alice", kind=PERSON))
    playing(10, memory)
    # Words: jack, playing, piano. The event says two thirds at 10 s, the person one third, the edge all of them: 0.9.
    found = memory.find("egograph", "When was jack playing the piano?")
    assert ranked(found)[0] == (1, 0.9)
    assert ranked(memory.find("egograph", "When was jack playing the piano?", as_of_s=5)) == []


def test_names_given_later_are_no_names_yet(dense: Memory) -> None:
    dense.see(0, Detection("mug"))
    dense.see(10, Detection("red mug"))
    retriever = Retriever(dense.reader(), dense.encoder)
    nodes = nodes_of(retriever, "text_merge")
    scores = nodes.similarities(retriever, "red mug", [])
    now = [(entity.entity_id, round(score, 2)) for entity, score in nodes.best(scores, 0.0, 10 * SECOND, 5)]
    then = [(entity.entity_id, round(score, 2)) for entity, score in nodes.best(scores, 0.0, 5 * SECOND, 5)]
    assert now == [("mug_1", 1.0)]
    assert then[0][0] == "mug_1"
    assert then[0][1] < 0.9


THINGS = ("mug", "red mug", "door", "piano", "jack", "old piano", "blue door", "cat")


@pytest.mark.parametrize("preset", PAPERS)
def test_no_paper_sees_what_came_later(preset: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frames = [rng.choice(len(THINGS), size=3, replace=False).tolist() for _ in range(40)]
    found = []
    for count in (25, 40):
        memory = Memory(tmp_path / f"{preset}{count}.db", WordEncoder())
        for second, numbers in enumerate(frames[:count]):
            seen = [Detection(THINGS[n], kind=PERSON if THINGS[n] == "jack" else EntityKind.OBJECT) for n in numbers]
            memory.see(
                10.0 * second, *seen, caption=f"A {THINGS[numbers[0]]}.", relations=(RelationMention(0, "near", 1),)
            )
        results = [
            memory.find(preset, text, as_of_s=240) for text in ("Where is the red mug?", "Is jack near a piano?")
        ]
        found.append([(ranked(result), round(result.support, 4)) for result in results])
        memory.close()
    assert found[0] == found[1]
    assert found[0][0][0]


def node(entity_id: str, kind: EntityKind) -> Node:
    place = PositionEstimate("map", "m", (0.0, 0.0, 0.0), np.eye(3), PositionSource.ROBOT)
    return Node("text_merge", entity_id, kind, entity_id.rpartition("_")[0], {}, {}, place, 0, 0, 1, 1, 1)


def test_what_recurs_on_several_days_is_a_habit_or_a_relationship() -> None:
    ends = {n.entity_id: n for n in (node("jack_1", PERSON), node("lucia_1", PERSON), node("piano_1", EVENT))}
    at = (10, 20, DAY + 10, 2 * DAY + 10)  # 10 and 20 s are one occasion
    plays = Relation("jack_1", "plays", "piano_1", tuple(s * SECOND for s in at), (1, 2, 3, 4))
    same_day = Relation("jack_1", "hears", "piano_1", tuple(s * SECOND for s in (0, 1000, 2000)), (1, 2, 3))
    talks = Relation(
        "jack_1", "talks to", "lucia_1", tuple(s * SECOND for s in (0, 1000, DAY, DAY + 1000)), (1, 2, 3, 4)
    )
    found = conclusions([plays, same_day, talks], ends, 3 * DAY * SECOND, 0)
    assert [(c.kind, c.text, c.keyframe_ids) for c in found] == [
        ("relationship", "jack talks to lucia, 4 times (DAY1, DAY2)", (1, 2, 3, 4)),
        ("habit", "jack plays piano, 3 times (DAY1, DAY2, DAY3)", (1, 3, 4)),
    ]
    # On the second day he had played on two occasions: not three yet.
    assert conclusions([plays], ends, 2 * DAY * SECOND, 0) == []


def test_a_model_is_told_habits_nodes_and_edges(memory: Memory) -> None:
    for day in range(3):
        playing(day * DAY + 100.0, memory)
    lines = memory.context("egograph", "What does jack usually do?")
    assert lines[0] == "habit: jack takes part in playing the piano, 3 times (DAY1, DAY2, DAY3)"
    when = ("[DAY1 00:01:40]", "[DAY2 00:01:40]", "[DAY3 00:01:40]")
    assert f"person jack_1: jack, seen 3 times: {'; '.join(f'{at} jack' for at in when)}" in lines
    edge = "jack takes part in playing the piano"
    assert lines[-1] == f"jack_1 takes part in playing_the_piano_1: {'; '.join(f'{at} {edge}' for at in when)}"
    assert EgoGraph.cites_times
    assert egograph.TOP_K == 40


def test_asked_for_what_is_usual_every_occasion_counts(memory: Memory) -> None:
    for day in range(3):
        playing(day * DAY + 100.0, memory)
        memory.see(day * DAY + 5000.0, Detection("jack", kind=PERSON))
    found = memory.find("egograph", "What does jack usually do?")
    assert {frame for frame, score in ranked(found) if score == 1.0} >= {0, 2, 4}
