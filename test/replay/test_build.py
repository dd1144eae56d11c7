"""``vlkng build``: a recording becomes the memory that a running builder would have made of it."""

from __future__ import annotations

import math
import socket
from pathlib import Path

import cv2
import numpy as np
import pytest
from bag_drive import (
    CAT,
    DOOR,
    HEIGHT,
    NS,
    PARKED_S,
    SECONDS,
    START_NS,
    WIDTH,
    colour_at,
    messages,
    picture_times,
    pose_at,
    stamp_ns,
    write_recording,
)
from ros_messages import (
    camera_info,
    compressed_image,
    image,
    pose_graph,
    pose_with_covariance,
    text,
    write_bag,
)

from vlkng_ros.building.rotation import turn_between_rad
from vlkng_ros.cli import main
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.perception.backoff import Backoff
from vlkng_ros.types import Intrinsics, Keyframe, Observation, PerceptionState, Pose, PositionSource

SETTINGS = ("--set", "association.text_encoder=none", "--set", "keyframe.min_period_s=0")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recording(tmp_path / "recording.jsonl")


def run(bag: Path, db: Path, *more: object, recording: Path | None = None) -> int:
    """Build with the recorded backend, or with none."""
    backend = ["--backend", "none"]
    if recording is not None:
        backend = ["--backend", "recorded", "--set", f"perception.recording={recording}"]
    return main(["build", str(bag), "--memory", str(db), *backend, *SETTINGS, *map(str, more)])


def keyframes(db: Path) -> list[Keyframe]:
    with MemoryReader.open(db) as reader:
        return reader.keyframes(reader.frames().ids.tolist())


def seconds_of(frame: Keyframe) -> float:
    return (frame.stamp_ns - START_NS) / NS


def assert_poses_are_true(frames: list[Keyframe], within_m: float = 0.02, within_rad: float = 0.009) -> None:
    for frame in frames:
        truth = pose_at(seconds_of(frame))
        assert frame.base_pose.distance_m(truth) <= within_m
        assert turn_between_rad(frame.base_pose, truth) <= within_rad


@pytest.mark.parametrize(
    ("storage", "compression", "compressed"),
    [("sqlite3", "none", False), ("mcap", "none", True), ("sqlite3", "file", True), ("mcap", "message", False)],
)
def test_a_bag_becomes_a_memory(
    tmp_path: Path,
    recording: Path,
    storage: str,
    compression: str,
    compressed: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    write_bag(bag, messages(compressed=compressed), storage=storage, compression=compression)
    assert run(bag, db, "--map-id", "office", recording=recording) == 0
    shown = capsys.readouterr()
    frames = keyframes(db)
    assert shown.out.startswith(f"{db}: {len(frames)} keyframes, {len(frames)} described, from 16.")
    assert shown.err == ""
    # Six metres at half a metre a keyframe, and a quarter turn at 0.35 rad.
    assert 13 <= len(frames) <= 17
    assert_poses_are_true(frames)
    assert {(frame.map_id, frame.camera, frame.perception) for frame in frames} == {
        ("office", "camera", PerceptionState.DONE)
    }
    assert {frame.intrinsics for frame in frames} == {Intrinsics(50.0, 50.0, 32.0, 24.0, WIDTH, HEIGHT)}
    optical = frames[0].camera_pose
    assert optical is not None
    assert optical.position_m == pytest.approx((0.0, 0.0, 0.5))
    assert optical.rotation()[:, 2] == pytest.approx([1.0, 0.0, 0.0])
    with MemoryReader.open(db) as reader:
        for frame in frames:
            seconds = seconds_of(frame)
            assert frame.caption == f"A corridor at {seconds:.1f} s."
            jpeg = reader.image(frame.keyframe_id)
            assert jpeg is not None
            picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
            assert picture.shape == (HEIGHT, WIDTH, 3)
            assert np.abs(picture.astype(int) - colour_at(seconds)).max() <= 3
        things = {entity.label: entity for entity in reader.entities("hybrid")}
        assert sorted(entity.label for entity in reader.entities("hybrid")) == ["cat", "door"]
        assert things["cat"].last_seen_ns <= stamp_ns(PARKED_S[0])
        for true in (CAT, DOOR):
            found = things[true.label].position
            assert found.source is PositionSource.TRIANGULATED
            assert math.dist(found.mean_m, true.at_m) < 0.5


def test_poses_come_from_tf_where_no_topic_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    write_bag(bag, messages(poses="tf"))
    assert run(bag, db, "--set", "camera.extrinsics=tf") == 0
    frames = keyframes(db)
    assert 13 <= len(frames) <= 17
    assert_poses_are_true(frames)
    assert frames[0].camera_pose is not None
    assert frames[0].camera_pose.position_m == pytest.approx((0.2, 0.0, 0.4))
    assert f"{len(frames)} keyframes are not described yet: no model was asked to" in capsys.readouterr().err


def test_odometry_alone_can_be_named_as_the_pose(tmp_path: Path) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    write_bag(bag, [item for item in messages() if item[0] != "/pose"])
    assert run(bag, db, "--pose", "/odom", "--set", "robot.map_frame=odom") == 0
    assert {frame.base_pose.frame_id for frame in keyframes(db)} == {"odom"}


def test_a_bag_is_not_built_twice(tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    write_bag(bag, messages())
    run(bag, db, recording=recording)
    before = keyframes(db)
    capsys.readouterr()
    assert run(bag, db, recording=recording) == 0
    assert f"{len(before)} keyframes were in the memory already and are not repeated" in capsys.readouterr().out
    run(bag, db, "--map-id", "office", recording=recording)
    assert "were in the memory already (in map 'unnamed-1') and are not repeated" in capsys.readouterr().out
    assert keyframes(db) == before


def test_a_bag_built_in_part_is_built_to_its_end(tmp_path: Path, recording: Path) -> None:
    part, bag, db, whole = tmp_path / "part", tmp_path / "bag", tmp_path / "memory.db", tmp_path / "whole.db"
    write_bag(bag, messages())
    write_bag(part, [item for item in messages() if item[1] < stamp_ns(7.0)])
    run(part, db)
    assert run(bag, db, recording=recording) == 0
    run(bag, whole, recording=recording)
    assert [frame.stamp_ns for frame in keyframes(db)] == [frame.stamp_ns for frame in keyframes(whole)]
    assert {frame.perception for frame in keyframes(db)} == {PerceptionState.DONE}
    assert {frame.map_id for frame in keyframes(db)} == {"unnamed-1"}


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_a_cut_off_bag_is_built_as_far_as_it_goes_and_says_so(
    tmp_path: Path, storage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    write_bag(bag, messages(), storage=storage)
    (bag / "metadata.yaml").unlink()
    (file,) = bag.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) * 6 // 10])
    assert run(bag, db) == 0
    frames = keyframes(db)
    assert 6 <= len(frames) <= 14
    assert_poses_are_true(frames[:-1])
    shown = capsys.readouterr().err
    assert "metadata.yaml is missing" in shown
    assert f"{file.name}: {'ends in mid-recording' if storage == 'mcap' else 'cut off'}" in shown


def test_a_looped_bag_becomes_two_sessions_in_one_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    once = messages()
    length_ns = round((SECONDS + 1) * NS)
    write_bag(bag, [*once, *((topic, received + length_ns, message) for topic, received, message in once)])
    assert run(bag, db) == 0
    assert "time jumps back in it: it became 2 sessions" in capsys.readouterr().out
    frames = keyframes(db)
    assert_poses_are_true(frames)
    assert len({frame.session_id for frame in frames}) == 2
    assert len({frame.map_id for frame in frames}) == 1


def test_depth_is_measured_where_a_depth_topic_is_named(tmp_path: Path, recording: Path) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    far = np.full((HEIGHT // 2, WIDTH // 2), 2.5, np.float32)
    depth = [
        ("/camera/depth/image_rect", stamp_ns(seconds + 0.04), image(far, "32FC1", stamp_ns(seconds)))
        for seconds in picture_times()
    ]
    write_bag(bag, sorted([*messages(), *depth], key=lambda item: item[1]))
    assert run(bag, db, "--depth", "/camera/depth/image_rect", recording=recording) == 0
    observations: list[Observation] = []
    with MemoryReader.open(db) as reader:
        for frame in keyframes(db):
            observations += reader.observations(frame.keyframe_id)
    assert len(observations) >= 10
    assert {observation.detection.depth_m for observation in observations} == {2.5}


def test_keyframes_move_with_the_pose_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, db, plain = tmp_path / "bag", tmp_path / "memory.db", tmp_path / "plain.db"
    placed = [(message.pose.pose.position, received) for topic, received, message in messages() if topic == "/pose"]
    before = [(position.x, position.y) for position, received in placed if received < stamp_ns(13.0)]
    after = [(x, y + 1.0) for x, y in before]
    graphs = [
        ("/slam_toolbox/graph_visualization", stamp_ns(13.0), pose_graph(before)),
        ("/slam_toolbox/graph_visualization", stamp_ns(15.9), pose_graph(after)),
    ]
    write_bag(bag, sorted([*messages(), *graphs], key=lambda item: item[1]))
    run(bag, plain, "--set", "pose.follow_map=false")
    assert run(bag, db) == 0
    moved = {frame.stamp_ns: frame.base_pose.position_m for frame in keyframes(db)}
    for frame in keyframes(plain):
        if seconds_of(frame) < 12.0:
            x, y, _ = frame.base_pose.position_m
            assert moved[frame.stamp_ns][:2] == pytest.approx((x, y + 1.0), abs=0.05)


def test_keyframes_are_chosen_as_the_parameters_say(tmp_path: Path) -> None:
    bag, file, db = tmp_path / "bag", tmp_path / "params.yaml", tmp_path / "memory.db"
    write_bag(bag, messages())
    file.write_text("builder_node:\n  ros__parameters:\n    keyframe: {min_distance_m: 1.0, min_angle_rad: 3.0}\n")
    assert run(bag, db, "--params-file", file) == 0
    assert 6 <= len(keyframes(db)) <= 8


def with_poses(
    xyz: tuple[float, float, float], quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
) -> list[tuple[str, int, object]]:
    """The drive with every SLAM pose replaced."""
    return [
        (topic, received, pose_with_covariance(received, xyz, quaternion) if topic == "/pose" else message)
        for topic, received, message in messages()
    ]


def without(*topics: str) -> list[tuple[str, int, object]]:
    return [item for item in messages() if item[0] not in topics]


@pytest.mark.parametrize(
    ("content", "more", "says"),
    [
        (
            with_poses((float("nan"), 0.0, 0.0)),
            [],
            "/pose: pose in 'map': (nan, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0) holds NaN",
        ),
        (
            with_poses((1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 3.0)),
            [],
            "/pose: pose in 'map': quaternion (0.0, 0.0, 0.0, 3.0)",
        ),
        (without("/camera/image_raw"), [], "the bag holds no images (sensor_msgs/msg/Image or"),
        (without("/pose", "/initialpose"), [], "is /odom in the map's frame? Then name it: --pose"),
        (without("/pose"), [], "the bag does not say where the robot was"),
        (without("/pose", "/odom", "/initialpose"), [], "the bag does not say where the robot was"),
        (messages(), ["--camera", "rear=/rear/image"], "camera rear: no topic /rear/image in the bag; it holds "),
        (messages(), ["--image", "/camera/left"], "image: no topic /camera/left in the bag; it holds "),
        (
            messages(),
            ["--pose", "/camera/camera_info"],
            "pose: /camera/camera_info is a sensor_msgs/msg/CameraInfo; needs",
        ),
        (messages(), ["--pose", "/odom"], "pose in frame 'odom', not in 'map'"),
        (messages(encoding="rgb9"), [], "image with encoding 'rgb9': not known"),
        (messages(encoding="16UC1"), [], "a depth image; name the colour image's topic"),
        (
            messages(poses="tf"),
            ["--set", "robot.base_frame=base_footprint"],
            "never places 'base_footprint' in 'map', it has",
        ),
        (messages(), ["--set", "keyframe.min_distance=1"], "unknown parameter 'keyframe.min_distance'"),
        (messages(), ["--backend", "magic"], "perception.backend"),
        (messages(), ["--backend", "recorded", "--set", "perception.recording=/no/such.jsonl"], "/no/such.jsonl"),
        ([("/words", 1, text("hello"))], [], "it holds /words (std_msgs/msg/String)"),
    ],
)
def test_a_bag_that_cannot_be_built_makes_no_memory(
    tmp_path: Path,
    content: list[tuple[str, int, object]],
    more: list[str],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_bag(tmp_path / "bag", content)
    assert run(tmp_path / "bag", tmp_path / "new" / "memory.db", *more) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert shown.out == ""
    assert not (tmp_path / "new").exists()


def test_several_cameras_need_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    second = [(topic.replace("/camera/", "/rear/"), t, m) for topic, t, m in messages() if topic.startswith("/camera/")]
    write_bag(bag, [*messages(), *second])
    assert run(bag, db) == 2
    assert (
        "several image topics: /camera/image_raw, /rear/image_raw; name one: --image TOPIC" in capsys.readouterr().err
    )
    assert run(bag, db, "--image", "rear/image_raw") == 0
    assert keyframes(db)[0].intrinsics is not None


def test_further_cameras_have_keyframes_mounts_and_intrinsics_of_their_own(tmp_path: Path, recording: Path) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    second = [
        (topic.replace("/camera/", "/rear/"), t + 1, camera_info([80.0, 0, 32, 0, 80, 24, 0, 0, 1], WIDTH, HEIGHT)
         if topic.endswith("info") else m)
        for topic, t, m in messages() if topic.startswith("/camera/")
    ]  # fmt: skip
    write_bag(bag, sorted([*messages(), *second], key=lambda item: item[1]))
    more = ("--camera", "rear=/rear/image_raw", "--set", "camera.others_mounts=rear: -0.3 0 0.8 0 0 3.14159265")
    assert run(bag, db, *more, recording=recording) == 0
    frames = keyframes(db)
    assert_poses_are_true(frames)
    front, rear = ([frame for frame in frames if frame.camera == name] for name in ("camera", "rear"))
    assert [frame.stamp_ns for frame in front] == [frame.stamp_ns for frame in rear]
    assert {frame.intrinsics.fx for frame in rear if frame.intrinsics} == {80.0}
    for frame in rear:
        assert frame.camera_pose is not None
        in_base = frame.base_pose.inverse("base_link").compose(frame.camera_pose)
        assert in_base.position_m == pytest.approx((-0.3, 0.0, 0.8), abs=1e-6)
        assert in_base.rotation()[:, 2] == pytest.approx([-1, 0, 0], abs=1e-6)
    assert run(bag, db, *more, recording=recording) == 0
    assert keyframes(db) == frames


def test_one_picture_in_two_forms_is_one_camera(tmp_path: Path) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    both = [*messages(), *(item for item in messages(compressed=True) if item[0].endswith("compressed"))]
    depth = [("/camera/depth/image_rect", stamp_ns(1.0), compressed_image(b"x", "16UC1; compressedDepth"))]
    write_bag(bag, [*both, *depth])
    assert run(bag, db) == 0
    assert 13 <= len(keyframes(db)) <= 17


def test_bad_messages_are_counted_and_the_others_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    bad = [
        ("/pose", stamp_ns(3.05), pose_with_covariance(stamp_ns(3.0), (float("nan"), 0.0, 0.0))),
        ("/pose", stamp_ns(3.15), pose_with_covariance(stamp_ns(3.1), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))),
        ("/camera/image_raw", stamp_ns(2.99), image(np.zeros((4, 4), np.uint8), "rgb8", stamp_ns(2.95), height=99)),
        ("/camera/camera_info", stamp_ns(0.0), camera_info([0.0] * 9, WIDTH, HEIGHT)),
    ]
    write_bag(bag, sorted([*messages(), *bad], key=lambda item: item[1]))
    assert run(bag, db) == 0
    assert_poses_are_true(keyframes(db))
    shown = capsys.readouterr().err
    assert "2 poses were refused: /pose: pose in 'map': quaternion" in shown


def test_a_memory_in_use_is_left_to_its_writer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    write_bag(bag, messages())
    with MemoryWriter.open(db, encoder=None):
        assert run(bag, db) == 2
    assert "is writing to this memory" in capsys.readouterr().err


def test_a_model_that_cannot_be_reached_ends_the_build_and_the_next_goes_on(
    tmp_path: Path, recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vlkng_ros.perception.worker.Backoff", lambda: Backoff(first_s=0.01))
    bag, db = tmp_path / "bag", tmp_path / "memory.db"
    write_bag(bag, messages())
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        values = {
            "perception.server_url": f"http://127.0.0.1:{nobody.getsockname()[1]}/v1",
            "perception.timeout_s": 0.5,
            "perception.batch_wait_s": 0,
            "keyframe.queue_size": 3,
        }
        given = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
        assert run(bag, db, "--backend", "vlm_server", "--model", "any", *given) == 1
    shown = capsys.readouterr()
    stored = len(keyframes(db))
    assert f"{db}: {stored} keyframes, 0 described" in shown.out
    assert f"{stored} keyframes are not described yet: perception: 5 failures in a row, the last: model" in shown.err
    assert "stopped; what is stored is kept, and the same command goes on from there" in shown.err
    assert {frame.perception for frame in keyframes(db)} == {PerceptionState.PENDING}
    assert run(bag, db, recording=recording) == 0
    assert len(keyframes(db)) > stored
    assert {frame.perception for frame in keyframes(db)} == {PerceptionState.DONE}


def test_every_picture_time_is_told_by_its_colour() -> None:
    colours = [colour_at(seconds) for seconds in picture_times()]
    assert len(set(colours)) == len(colours)
    assert pose_at(SECONDS).distance_m(Pose.planar("map", 3.0, 3.0, 0.0)) == pytest.approx(0.0)
