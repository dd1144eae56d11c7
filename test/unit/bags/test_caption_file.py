"""What a caption file may hold, what is made of it, and how a wrong one is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vlkng_ros.bags.caption_file import detections_of, head_phrase, read_captions
from vlkng_ros.errors import CaptionFileError


def entry(time: float = 10.0, **changes: Any) -> dict[str, Any]:
    fields = {"id": "a.pkl", "time": time, "position": [1.0, 2.0, 0.0], "caption": "A cat.", **changes}
    return {name: value for name, value in fields.items() if value is not ...}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def _write(content: object) -> Path:
        path = tmp_path / "captions.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return _write


def test_reads_the_layout_of_embodied_lgr(write: Any) -> None:
    path = write([entry(file_start="a.pkl", file_end="a.pkl", labels=["cat", "cup"], dlabels=["tabby cat on a sofa"])])
    (frame,) = read_captions(path, frame_id="site")
    assert frame.stamp_ns == 10_000_000_000
    assert (frame.pose.frame_id, frame.pose.position_m) == ("site", (1.0, 2.0, 0.0))
    assert frame.perception.caption == "A cat."
    assert [(d.label, d.region_text) for d in frame.perception.detections] == [
        ("cat", "tabby cat on a sofa"),
        ("cup", ""),
    ]
    assert all(d.box_px is None and d.score is None for d in frame.perception.detections)


def test_reads_the_layout_of_remembr_without_labels(write: Any) -> None:
    (frame,) = read_captions(write([entry(theta=math.pi / 2)]))
    assert frame.perception.detections == ()
    assert frame.pose.yaw_rad == pytest.approx(math.pi / 2)


def test_an_orientation_is_taken_as_it_is(write: Any) -> None:
    (frame,) = read_captions(write([entry(orientation=[0.0, 0.0, 1.0, 0.0])]))
    assert frame.pose.orientation == (0.0, 0.0, 1.0, 0.0)


def test_a_robot_without_heading_faces_the_way_it_came(write: Any) -> None:
    places = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.05, 0.0], [-1.0, 1.0, 0.0]]
    frames = read_captions(write([entry(float(i), position=place) for i, place in enumerate(places)]))
    assert [round(f.pose.yaw_rad, 3) for f in frames] == [0.0, 1.571, 1.571, pytest.approx(3.142, abs=0.01)]


def test_a_heading_does_not_depend_on_what_comes_later(write: Any) -> None:
    drive = [entry(float(i), position=[i * 0.3, (i % 3) * 0.4, 0.0]) for i in range(9)]
    whole = read_captions(write(drive))
    assert read_captions(write(drive[:5])) == whole[:5]


@pytest.mark.parametrize("seconds", [1673884185.689107, 1673985684.762776, 0.0, 12.1, 1674088527, -1.5])
def test_a_stamp_is_the_time_that_comparing_with_as_of_sees(write: Any, seconds: float) -> None:
    (frame,) = read_captions(write([entry(seconds)]))
    assert frame.stamp_ns == seconds * 1e9


def test_frames_come_in_order_of_time(write: Any) -> None:
    frames = read_captions(write([entry(3.0), entry(1.0), entry(2.0)]))
    assert [f.stamp_ns for f in frames] == [10**9, 2 * 10**9, 3 * 10**9]


def test_an_entry_that_is_there_twice_is_read_once(write: Any) -> None:
    assert len(read_captions(write([entry(), entry(), entry(11.0)]))) == 2


def test_two_different_entries_of_one_time_are_refused(write: Any) -> None:
    with pytest.raises(CaptionFileError, match="entries 0 and 2 have the same 'time'"):
        read_captions(write([entry(), entry(1.0), entry(caption="A dog.")]))


def test_no_label_and_no_region_text_is_lost_or_doubled() -> None:
    found = detections_of(["wheel", "wheel", "pickup truck"], ["wheel", "black pickup truck at night", "street light"])
    assert [(d.label, d.region_text) for d in found] == [
        ("wheel", "wheel"),
        ("wheel", ""),
        ("pickup truck", "black pickup truck at night"),
        ("street light", "street light"),
    ]


@given(
    st.lists(st.sampled_from(["cat", "cup", "a", "red cup"])),
    st.lists(st.sampled_from(["cup", "red cup on a table", "cat"])),
)
def test_every_region_text_is_kept_once_and_every_label_counts(labels: list[str], dlabels: list[str]) -> None:
    found = detections_of(labels, dlabels)
    assert sorted(d.region_text for d in found if d.region_text) == sorted(dlabels)
    assert [d.label for d in found[: len(labels)]] == labels


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("A black pickup truck parked on the side of a street.", "black pickup truck"),
        ("Bicycles leaning on a fence", "Bicycles"),
        ("trash bin/can", "trash bin/can"),
        ("man, sitting in a chair", "man"),
        ("in the dark", "in the dark"),
        ("the", "the"),
    ],
)
def test_the_head_of_a_region_text_is_the_thing_it_is_about(text: str, phrase: str) -> None:
    assert head_phrase(text) == phrase


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x89PNG\xff\xfe", "not a caption file: neither text nor JSON"),
        (b"[{'time': 1}]", "not JSON at line 1, column 3"),
        (b'[{"time": 1, "posi', "not JSON at line 1"),
        (b"[" * 100_000, "not a caption file"),
        (b"", "not JSON at line 1, column 1"),
        ({"captions": []}, "needs a JSON list of entries with time, position and caption, holds an object"),
        ([], "an empty list"),
        (["a"], "entry 0: needs an object with time, position and caption, holds a text"),
        ([entry(), entry(time=...)], "entry 1: field 'time' is missing"),
        ([entry(time="noon")], "entry 0: field 'time': needs a finite number, holds a text"),
        ([entry(time=True)], "entry 0: field 'time': needs a finite number, holds true or false"),
        (b'[{"time": NaN, "position": [0, 0, 0], "caption": ""}]', "entry 0: field 'time': needs a finite number"),
        (
            b'[{"time": 1' + b"0" * 400 + b', "position": [0, 0, 0], "caption": ""}]',
            "field 'time': needs a finite number",
        ),
        ([entry(time=1673884185689107000)], "1.67388e.18 is no time in seconds; is it in ns?"),
        ([entry(position=...)], "field 'position' is missing"),
        ([entry(position=[1.0, 2.0])], r"field 'position': needs \[x, y, z\] in metres, holds a list of 2"),
        ([entry(position=[1.0, None, 2.0])], "field 'position': needs a finite number, holds null"),
        ([entry(position={"x": 1})], "field 'position': needs .* holds an object"),
        ([entry(caption=...)], "field 'caption' is missing"),
        ([entry(caption=7)], "field 'caption': needs text, holds 7"),
        ([entry(labels="cat")], "field 'labels': needs a list of texts, holds a text"),
        ([entry(labels=["cat", 3])], r"field 'labels'\[1\]: needs text, holds 3"),
        ([entry(dlabels=[["cat"]])], r"field 'dlabels'\[0\]: needs text, holds a list of 1"),
        ([entry(theta="north")], "field 'theta': needs a finite number"),
        ([entry(orientation=[0.0, 0.0, 0.0])], "field 'orientation': needs a quaternion"),
        ([entry(orientation=[0.0, 0.0, 0.0, 0.0])], "field 'orientation': .* has length 0, not 1"),
    ],
)
def test_a_file_in_another_layout_is_refused_by_entry_and_field(write: Any, content: object, says: str) -> None:
    path = write(content)
    with pytest.raises(CaptionFileError, match=says) as refused:
        read_captions(path)
    assert str(path) in str(refused.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(CaptionFileError, match=r"nowhere.json: no such file"):
        read_captions(tmp_path / "nowhere.json")
    with pytest.raises(CaptionFileError, match="cannot be read: Is a directory"):
        read_captions(tmp_path)


def test_text_that_is_no_unicode_is_made_text(write: Any) -> None:
    (frame,) = read_captions(write(b'[{"time": 1, "position": [0, 0, 0], "caption": "a \\ud800 b"}]'))
    assert frame.perception.caption == "a ? b"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["time", "position", "caption", "theta", "orientation", "labels", "dlabels"]), _json)
def test_whatever_stands_in_a_field_is_read_or_refused(write: Any, field: str, value: object) -> None:
    try:
        frames = read_captions(write([entry(**{field: value})]))
    except CaptionFileError:
        return
    assert len(frames) == 1


def test_a_misspelt_field_is_named_once_and_fields_of_others_are_not(
    write: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = write([entry(labls=["cat"], weather="fine"), entry(11.0, labls=["cat"]), entry(12.0, labels=[])])
    assert len(read_captions(path)) == 3
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: entry 0: 'labls' is not read; did you mean 'labels'?"
    ]
