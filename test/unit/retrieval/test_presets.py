"""Each paper's rule on a drive whose ranking is worked out by hand."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from captioned_drives import SECOND, Seen, WordEncoder, remember, round_trip

from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval import Retriever, parse
from vlkng_ros.retrieval.presets import NAMES, PAPERS, finder_for, vgent, view_for
from vlkng_ros.retrieval.retriever import Found
from vlkng_ros.types import Question

Find = Callable[..., Found]


@pytest.fixture
def find(tmp_path: Path) -> Iterator[Callable[..., Find]]:
    readers: list[MemoryReader] = []

    def over(frames: list[Seen], encoder: WordEncoder | None = None) -> Find:
        reader = MemoryReader.open(remember(tmp_path / f"{len(readers)}.db", frames, encoder))
        readers.append(reader)
        retriever = Retriever(reader, encoder)

        def find_(preset: str, question: str, as_of_ns: int | None = None) -> Found:
            return finder_for(retriever, preset).find(parse(question), retriever.scene(None, as_of_ns), None)

        return find_

    yield over
    for reader in readers:
        reader.close()


def ranked(found: Found) -> list[tuple[int, float]]:
    return [(int(f), round(float(s), 3)) for f, s in zip(found.peaks.frames, found.peaks.scores, strict=True)]


OBJECTS = [
    Seen(0, 0, 0, "A red mug is here.", ("table", "chair")),
    Seen(10, 9, 0, "", ("red mug", "mug", "table")),
    Seen(20, 18, 0, "", ("red chair",)),
    Seen(30, 27, 0, "", ("mug", "red mug", "red mug")),
]


def test_vlkng_gr_adds_up_the_overlap_of_every_object(find: Callable[..., Find]) -> None:
    # Terms: red, mug. Frame 3: 1 + 2 + 2; frame 1: 2 + 1 + 0; frame 2: 1; captions are no objects of the graph.
    assert ranked(find(OBJECTS)("vlkng-gr", "Where is the red mug?")) == [(3, 5.0), (1, 3.0), (2, 1.0)]


def test_vlkng_cwgr_ranks_chunks_of_eight_first(find: Callable[..., Find]) -> None:
    frames = [Seen(float(i), 9.0 * i, 0, "", ("mug",) if i in (1, 2, 9) else ("wall",)) for i in range(16)]
    # Chunk 0 holds two mugs, chunk 1 one: 2 + 0.5 before 1 + 0.5.
    assert ranked(find(frames)("vlkng-cwgr", "Where is the mug?")) == [(1, 2.5), (2, 2.5), (9, 1.5)]


def test_vlkng_ger_finds_what_is_alike_too(find: Callable[..., Find]) -> None:
    frames = [Seen(0, 0, 0, "", ("blue mug stand",)), Seen(10, 9, 0, "", ("blue mug",)), Seen(20, 18, 0, "", ("door",))]
    found = find(frames, WordEncoder())
    # Overlap alone is equal: 2 and 2. The label that is the question's words has cosine 1.
    assert ranked(found("vlkng-gr", "Where is the blue mug?")) == [(0, 2.0), (1, 2.0)]
    assert [frame for frame, _ in ranked(found("vlkng-ger", "Where is the blue mug?"))] == [1, 0]


def test_embodied_lgr_goes_to_where_a_node_was_last_seen(find: Callable[..., Find]) -> None:
    frames = [
        Seen(0, 0, 0, "", ("mug",)),
        Seen(10, 1, 0, "", ("mug",)),  # within 5 m: the same node, updated
        Seen(20, 30, 0, "", ("door",)),
        Seen(30, 60, 0, "", ("mug",)),  # another node
    ]
    found = find(frames, WordEncoder())("embodied-lgr", "Where is the mug?")
    # Two nodes of similarity 1, the latest first; frame 0 is a neighbour of frame 1 at half the weight.
    assert ranked(found) == [(1, 1.0), (3, 1.0), (0, 0.5)]


def test_embodied_lgr_falls_back_to_captions(find: Callable[..., Find]) -> None:
    frames = [Seen(0, 0, 0, "A street.", ("car",)), Seen(10, 9, 0, "a brown dog", ("car",))]
    found = find(frames, WordEncoder())("embodied-lgr", "Where is the brown dog?")
    assert ranked(found)[0][0] == 1


def test_vgent_keeps_the_clips_that_answer_most_keywords(
    find: Callable[..., Find], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vgent, "CLIP", 2)
    monkeypatch.setattr(vgent, "KEPT", 1)
    said = ["A dog.", "A wall.", "A dog.", "A red ball.", "A wall.", "A wall."]
    found = find([Seen(10.0 * i, 9.0 * i, 0, text) for i, text in enumerate(said)])
    # Keywords dog, red, ball. Clip 0 answers one, clip 1 three: only its frames are left, red and ball count 2.
    assert ranked(found("vgent", "Where is the dog with the red ball?")) == [(3, 2.0), (2, 1.0)]


def test_egograph_takes_the_top_texts_of_both_kinds(find: Callable[..., Find]) -> None:
    frames = [Seen(0, 0, 0, "a mug"), Seen(10, 9, 0, "", ("mug",)), Seen(20, 18, 0, "a door", ("door",))]
    found = find(frames, WordEncoder())("egograph", "When did you see the mug?")
    assert ranked(found)[0] == (1, 1.0)
    assert [frame for frame, _ in ranked(found)][:2] == [1, 0]


@pytest.mark.parametrize("preset", NAMES)
@pytest.mark.parametrize("encoder", [WordEncoder(), None], ids=["with vectors", "by words alone"])
def test_every_preset_finds_the_sofa_and_only_the_past(
    find: Callable[..., Find], preset: str, encoder: WordEncoder | None
) -> None:
    over_all = find(round_trip(), encoder)
    whole = over_all(preset, "Where is the red sofa?")
    assert whole.peaks.frames[0] == 25
    before = over_all(preset, "Where is the red sofa?", 38 * SECOND)
    ended = find(round_trip()[:20], encoder)(preset, "Where is the red sofa?")
    assert max(before.peaks.frames, default=0) < 20
    assert (ranked(before), before.support) == (ranked(ended), pytest.approx(ended.support))
    assert before.support < whole.support


def test_each_preset_has_its_view_or_what_stands_in(tmp_path: Path) -> None:
    with MemoryReader.open(remember(tmp_path / "memory.db", round_trip()[:3])) as reader:
        retriever = Retriever(reader, None)
        assert {view_for(retriever, preset) for preset in NAMES} == {"proximity"}
        assert finder_for(retriever, "embodied-lgr").view == "proximity"
        assert {PAPERS[name].view for name in ("vlkng-gr", "vlkng-ger", "vlkng-full")} == {"stoa"}


def test_presets_are_asked_by_name(tmp_path: Path) -> None:
    from vlkng_ros.answering import MemoryQuery

    with MemoryReader.open(remember(tmp_path / "memory.db", round_trip(), WordEncoder())) as reader:
        memory = MemoryQuery(reader, WordEncoder())
        for preset in NAMES:
            answer = memory.ask(Question("Where is the red sofa?", as_of_ns=118 * SECOND, preset=preset))
            assert (answer.preset, answer.keyframes[0].keyframe.keyframe_id) == (preset, 26)
