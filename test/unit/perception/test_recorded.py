"""What a backend said, written to a file and replayed."""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ImageError, ModelOutputError, RecordingError
from vlkng_ros.perception import Frame, open_backend
from vlkng_ros.perception.perception_json import perception_from_json, perception_to_json
from vlkng_ros.perception.recorded import Recorded, Recorder
from vlkng_ros.types import Detection, EntityKind, Perception, RelationMention

FULL = Perception(
    caption="a cup «on» a table",
    detections=(
        Detection(
            "cup",
            (1.0, 2.0, 3.5, 4.0),
            score=0.75,
            region_text="a red cup",
            attributes={"colour": "red"},
            local_id="cup_1",
            depth_m=1.5,
        ),
        Detection("astronaut", kind=EntityKind.PERSON),
    ),
    relations=(RelationMention(0, "next to", 1),),
    backend="florence2",
    model="some/model",
    summary="a kitchen",
    chunk=(1, 2),
    visual_encoder="siglip2:768",
)


class Scripted:
    name, model, batch_size, chunked, min_score = "scripted", "none", 2, True, 0.5

    def __init__(self, perceptions: dict[int, Perception]) -> None:
        self.perceptions = perceptions
        self.counters = Counter[str](mended=1)
        self.closed = False

    def describe(self, frames: list[Frame]) -> list[Perception]:
        return [self.perceptions[frame.keyframe_id] for frame in frames]

    def close(self) -> None:
        self.closed = True


def frame(keyframe_id: int, stamp_ns: int | None = None) -> Frame:
    stamp_ns = keyframe_id * 10 if stamp_ns is None else stamp_ns
    return Frame(keyframe_id, stamp_ns, np.zeros((2, 2, 3), dtype=np.uint8))


def replay(path: Path, *frames: Frame) -> list[Perception]:
    with closing(Recorded(path)) as recorded:
        return recorded.describe(frames)


def test_everything_a_backend_said_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "drive.jsonl"
    backend = Scripted({1: FULL, 2: Perception(caption="nothing here")})
    recorder = Recorder(backend, path)
    said = recorder.describe([frame(1), frame(2)])
    recorder.close()
    assert backend.closed
    assert said == [FULL, Perception(caption="nothing here")]
    assert replay(path, frame(2), frame(1)) == [Perception(caption="nothing here"), FULL]
    assert [item.stat().st_mode & 0o777 for item in (path.parent, path)] == [0o700, 0o600]


def test_the_recorder_is_as_the_backend_it_wraps(tmp_path: Path) -> None:
    backend = Scripted({})
    with closing(Recorder(backend, tmp_path / "r.jsonl")) as recorder:
        recorder.min_score = 0.75
    assert (recorder.name, recorder.model, recorder.batch_size, recorder.chunked) == ("scripted", "none", 2, True)
    assert (backend.min_score, recorder.counters["mended"]) == (0.75, 1)


def test_embeddings_are_replayed_bit_for_bit() -> None:
    embedding = np.random.default_rng(0).normal(size=16).astype(np.float32)
    data = json.loads(json.dumps(perception_to_json(Perception(detections=(Detection("cup", embedding=embedding),)))))
    replayed = perception_from_json(data).detections[0].embedding
    assert replayed is not None
    assert replayed.dtype == np.float32
    np.testing.assert_array_equal(replayed, embedding)


texts = st.text(max_size=8)
boxes = st.tuples(*[st.floats(0, 100, width=32)] * 4).map(lambda b: (b[0], b[1], b[0] + b[2] + 1, b[1] + b[3] + 1))
detections = st.builds(
    Detection,
    label=st.text(min_size=1, max_size=8),
    box_px=st.none() | boxes,
    score=st.none() | st.floats(0, 1),
    region_text=texts,
    attributes=st.dictionaries(texts, texts, max_size=2),
    kind=st.sampled_from(EntityKind),
    local_id=texts,
    depth_m=st.none() | st.floats(0, 10),
)


@given(st.builds(Perception, caption=texts, detections=st.lists(detections, max_size=3).map(tuple)))
def test_any_perception_survives_json(perception: Perception) -> None:
    assert perception_from_json(json.loads(json.dumps(perception_to_json(perception)))) == perception


def test_frames_are_found_by_stamp_first_and_by_keyframe_where_a_line_has_no_stamp(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(
        '{"stamp_ns": 0, "keyframe_id": 9, "caption": "at the start"}\n\n{"keyframe_id": 5, "caption": "the fifth"}\n'
    )
    first, fifth = replay(path, frame(1, stamp_ns=0), frame(5, stamp_ns=123))
    assert (first.caption, fifth.caption) == ("at the start", "the fifth")
    with pytest.raises(ModelOutputError, match=r"no line for the frame at 90 ns \(keyframe 9\)"):
        replay(path, frame(9))


def test_of_two_lines_for_a_frame_the_later_holds(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"stamp_ns": 1, "caption": "old"}\n{"stamp_ns": 1, "caption": "new"}\n')
    assert replay(path, frame(1, stamp_ns=1))[0].caption == "new"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "the line must be an object, got list"),
        ('{"caption": "x"}', "names neither stamp_ns nor keyframe_id"),
        ('{"stamp_ns": 1.5}', "stamp_ns must be an integer, got 1.5"),
        ('{"stamp_ns": 1, "version": 2}', "version 2; this package reads version 1"),
        ('{"stamp_ns": 1, "caption": 3}', "caption must be a string, got int"),
        ('{"stamp_ns": 1, "detections": {}}', "detections must be a list, got dict"),
        ('{"stamp_ns": 1, "detections": [{}]}', r"detections\[0\]\.label is empty"),
        ('{"stamp_ns": 1, "detections": [{"label": "a", "box_px": [3, 0, 1, 1]}]}', r"box_px .* is empty"),
        ('{"stamp_ns": 1, "detections": [{"label": "a", "box_px": [1, 2, 3]}]}', r"must be \[x1, y1, x2, y2\]"),
        (
            '{"stamp_ns": 1, "detections": [{"label": "a", "box_px": [null, 0, 1, 1, 2]}]}',
            r"must be \[x1, y1, x2, y2\]",
        ),
        ('{"stamp_ns": 1, "detections": [{"label": "a", "score": NaN}]}', "score must be a finite number, got nan"),
        (
            '{"stamp_ns": 1, "detections": [{"label": "a", "kind": "ghost"}]}',
            "kind 'ghost' is not one of object, person",
        ),
        ('{"stamp_ns": 1, "detections": [{"label": "a", "embedding_f32": "!"}]}', "embedding_f32 is not base64"),
        (
            '{"stamp_ns": 1, "detections": [{"label": "a"}], "relations": [[0, "on", 1]]}',
            "names detection 1, there are 1",
        ),
        ('{"stamp_ns": 1, "detections": [{"label": "a"}], "relations": [[0, "on"]]}', r"must be \[subject, predicate"),
        ('{"stamp_ns": 1, "chunk": ["1"]}', "chunk must be a list of keyframe ids"),
    ],
)
def test_a_malformed_line_is_named_with_its_number(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"stamp_ns": 0}\n' + line + "\n")
    with pytest.raises(RecordingError, match=rf"r\.jsonl, line 2: .*{reason}"):
        Recorded(path)


def test_half_a_line_that_a_killed_recorder_left_is_left_out_and_written_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"stamp_ns": 10, "caption": "whole"}\n{"stamp_ns": 20, "capt')
    with closing(Recorded(path)) as replayed:
        assert replayed.describe([frame(1)])[0].caption == "whole"
        assert replayed.counters == {"cut_off_lines": 1}
    assert "line 2 is cut off" in caplog.text
    with closing(Recorder(Scripted({2: Perception(caption="again")}), path)) as recorder:
        recorder.describe([frame(2)])
    assert [p.caption for p in replay(path, frame(1), frame(2))] == ["whole", "again"]


@pytest.mark.parametrize("recording", ["", "absent.jsonl"])
def test_a_recording_that_is_not_there_is_named(tmp_path: Path, recording: str) -> None:
    path = str(tmp_path / recording) if recording else ""
    with pytest.raises(RecordingError, match="recording is empty" if not path else r"absent\.jsonl: cannot be read"):
        open_backend(PerceptionConfig(backend="recorded", recording=path))


def test_a_recording_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match=r"cannot be written"):
        Recorder(Scripted({}), tmp_path / "file" / "r.jsonl")


def test_the_configuration_can_record_any_backend(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    backend = open_backend(PerceptionConfig(backend="none", record=str(path)))
    backend.describe([frame(3)])
    backend.close()
    assert json.loads(path.read_text())["keyframe_id"] == 3


@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 4), (0, 2, 3)])
def test_an_image_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ImageError, match=r"keyframe 4: perception needs an RGB image"):
        Frame(4, 0, np.zeros(shape, dtype=np.uint8))
