from pathlib import Path

import numpy as np
import pytest
from captioned_drives import SECOND, Seen, WordEncoder, open_writer, remember

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ConfigError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval.channels import EVERY, Channel, channels_of, without_content
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.ranking import peaks_of, scale_of
from vlkng_ros.types import Answer, Capture, Detection, Perception, Pose, Question, RelationMention


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four stops 20 m apart: a cup is on the table at the second, under it at the third; both show a shelf."""
    path = tmp_path_factory.mktemp("channels") / "memory.db"
    shown = ("cup", "table", "shelf")
    stops = [
        ("A sofa.", ("sofa",), ()),
        ("A kitchen.", shown, (RelationMention(0, "on", 1), RelationMention(0, "next to", 2))),
        ("A kitchen.", shown, (RelationMention(0, "under", 1),)),
        ("A cup, of tin.", (), ()),
    ]
    with open_writer(path, WordEncoder()) as writer:
        for i, (caption, labels, relations) in enumerate(stops):
            keyframe = writer.add_keyframe(Capture(10 * SECOND * i, Pose.planar("map", 20.0 * i, 0.0, 0.0)))
            detections = tuple(Detection(label) for label in labels)
            writer.add_perception(keyframe.keyframe_id, Perception(caption, detections, relations, backend="told"))
            writer.associate(keyframe.keyframe_id)
    return path


def ask(memory: Path, text: str, channels: str = "", at_m: float = 0.0) -> Answer:
    with MemoryReader.open(memory) as reader:
        found = MemoryQuery(reader, WordEncoder(), RetrievalConfig(channels=channels))
        return found.ask(Question(text, asker=Pose.planar("map", at_m, 0.0, 0.0)))


def stops_of(answer: Answer) -> list[int]:
    return [ranked.keyframe.keyframe_id - 1 for ranked in answer.keyframes]


def test_channels_are_read_by_name() -> None:
    assert channels_of("") == EVERY
    assert channels_of(" lexical, dense") == {Channel.LEXICAL, Channel.DENSE}
    with pytest.raises(ConfigError, match="no channel 'smell'; there are lexical, dense, visual, spatial"):
        channels_of("lexical,smell")


def test_place_and_time_alone() -> None:
    track = np.array([[0, 0, 0], [10, 0, 0], [20, 0, 0]], dtype=np.float32)
    by_place = without_content(frozenset((Channel.SPATIAL,)), track, (0.0, 0.0, 0.0))
    np.testing.assert_allclose(by_place, [1, 1 / 2, 1 / 3])  # 1 / (1 + d / 10 m)
    by_time = without_content(frozenset((Channel.TEMPORAL,)), track, None)
    np.testing.assert_allclose(by_time, [1 / 3, 2 / 3, 1])


@pytest.mark.parametrize(
    ("channels", "stops"),
    [("lexical", {1, 2, 3}), ("dense", {1, 2, 3}), ("spatial", {2}), ("temporal", {3}), ("relations", {1, 2})],
)
def test_each_channel_finds_places_alone(memory: Path, channels: str, stops: set[int]) -> None:
    assert stops_of(ask(memory, "Where did you see the cup?", channels, at_m=38.0))[0] in stops


def test_looks_alone_find_nothing_where_no_crop_was_embedded(memory: Path) -> None:
    assert stops_of(ask(memory, "Where did you see the cup?", "visual")) == []


def test_nearest_needs_the_spatial_channel_and_last_the_temporal(memory: Path) -> None:
    assert stops_of(ask(memory, "Where is the nearest cup?", at_m=38.0))[0] == 2
    assert stops_of(ask(memory, "Where is the nearest cup?", "lexical,spatial", at_m=38.0))[0] == 2
    assert stops_of(ask(memory, "Where did you last see a table?"))[0] == 2
    assert stops_of(ask(memory, "Where did you last see a table?", "lexical"))[0] == 1


@pytest.mark.parametrize(
    ("question", "stop"),
    [
        ("Where is the cup on the table?", 1),
        ("Where is the cup under the table?", 2),
        ("Where is the cup next to the shelf?", 1),
        ("Where is the shelf next to the cup?", 1),
        ("Where is the cup between the table and the shelf?", 1),
    ],
)
def test_a_stored_relation_decides(memory: Path, question: str, stop: int) -> None:
    assert stops_of(ask(memory, question))[0] == stop


def test_a_relation_does_not_hold_the_other_way(memory: Path) -> None:
    on = ask(memory, "Where is the table on the cup?", "relations")
    assert stops_of(on) == []


def test_places_are_as_wide_as_the_robot_looks_around() -> None:
    street = np.stack([np.arange(40) * 1.9, np.zeros(40), np.zeros(40)], axis=1).astype(np.float32)
    gallery = street * np.float32(0.5 / 1.9)
    assert scale_of(street) == pytest.approx(1.0)
    assert scale_of(gallery) == pytest.approx(0.5 / 1.9)
    assert scale_of(street[:1]) == 1.0
    # Two pictures 5 m apart in a gallery are two places; along a street they are one.
    evidence = np.zeros(40)
    evidence[[5, 15]] = [1.0, 0.9]
    shown = FrameScores.of_all(evidence)
    assert peaks_of(shown, gallery, scale=scale_of(gallery)).frames.tolist() == [5, 15]
    assert peaks_of(shown, gallery).frames.tolist() == [5]


def test_nearest_tells_things_of_one_room_apart(tmp_path: Path) -> None:
    frames = [Seen(2.0 * i, 0.5 * i, 0.0, "A room.", ("vase",) if i in (4, 14, 24) else ()) for i in range(30)]
    memory = remember(tmp_path / "memory.db", frames, WordEncoder())
    assert [stops_of(ask(memory, "Where is the nearest vase?", at_m=x))[0] for x in (1.0, 6.0, 14.0)] == [4, 14, 24]
