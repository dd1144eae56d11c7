import itertools
import math
from collections import Counter

import pytest

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.detector import SimulatedDetector, simulated_keyframes
from vlkng_ros.gallery.generate import generate_gallery
from vlkng_ros.gallery.render import Renderer
from vlkng_ros.gallery.sensors import SensorConfig
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.types import Pose

S = 1_000_000_000


def test_a_generated_gallery_has_what_was_asked_for() -> None:
    gallery = generate_gallery(7, rooms=6, things=40, laps=3, moved=3, removed=2, added=2)
    assert len(gallery.world.rooms) == 7  # and the corridor
    ids = [picture.picture_id for picture in gallery.world.pictures]
    assert len(set(ids)) == 40
    assert sorted(count for count in Counter(ids).values()) == [1] * 37 + [2] * 3
    labels = Counter(thing.label for thing in gallery.world.things())
    assert max(labels.values()) >= 3
    assert len(gallery.lap_ends_ns) == 3
    assert gallery.lap_ends_ns[-1] == gallery.drive.end_ns


def test_things_change_between_laps_only() -> None:
    gallery = generate_gallery(7, moved=3, removed=2, added=2)
    first, second = gallery.lap_ends_ns[:2]
    changes = {p.since_ns for p in gallery.world.pictures} | {p.until_ns for p in gallery.world.pictures}
    assert {change for change in changes if abs(change) < 2**62} == {first, second}
    moved = Counter(picture.picture_id for picture in gallery.world.pictures)
    for picture_id in [p for p, count in moved.items() if count == 2]:
        before, after = (p for p in gallery.world.pictures if p.picture_id == picture_id)
        assert before.until_ns == after.since_ns
        assert before.room != after.room


def test_equal_seeds_give_equal_galleries() -> None:
    assert generate_gallery(3).world.pictures == generate_gallery(3).world.pictures
    assert generate_gallery(3).lap_ends_ns == generate_gallery(3).lap_ends_ns
    assert generate_gallery(3).world.pictures != generate_gallery(4).world.pictures


def test_a_generated_gallery_can_be_seen() -> None:
    gallery = generate_gallery(1, rooms=3, things=8, laps=1, moved=0, removed=0, added=0, photographs=["chelsea"])
    frame = Renderer(gallery.world).render(gallery.drive.pose(10 * S), 10 * S)
    assert frame.shape == (480, 640, 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rooms": 1}, "2 rooms"),
        ({"laps": 1}, "at least 2 laps"),
        ({"things": 300, "rooms": 2}, "no free wall"),
    ],
)
def test_what_cannot_be_built_is_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        generate_gallery(0, **wrong)


def test_the_simulated_detector_misses_and_jitters_as_much_as_asked() -> None:
    gallery = generate_gallery(2)
    truth = Truth(gallery.world)
    perfect = SimulatedDetector(truth, jitter=0.0, missed=0.0)
    noisy = SimulatedDetector(truth, seed=1)
    seen = found = 0
    errors = []
    for stamp in range(0, gallery.drive.end_ns, 500_000_000):
        base = gallery.drive.pose(stamp)
        true = {d.thing_id: d.detection for d in perfect.detect(base, stamp)}
        noised = {d.thing_id: d.detection for d in noisy.detect(base, stamp)}
        assert set(noised) <= set(true)
        seen, found = seen + len(true), found + len(noised)
        for thing_id, detection in noised.items():
            x1, y1, x2, y2 = true[thing_id].box_px
            assert detection.label == true[thing_id].label
            # Inside the frame only: edges at its border cannot jitter outwards.
            if x1 > 40 and x2 < 600 and y1 > 40 and y2 < 440:
                errors.append((detection.box_px[0] - x1) / (x2 - x1))
            left, top, right, bottom = detection.box_px
            assert 0 <= left < right <= 640
            assert 0 <= top < bottom <= 480
    assert seen > 300
    assert found / seen == pytest.approx(0.8, abs=0.06)
    assert math.sqrt(sum(e * e for e in errors) / len(errors)) == pytest.approx(0.05, rel=0.2)


def test_a_frame_is_detected_alike_whatever_was_seen_before() -> None:
    detector = SimulatedDetector(Truth(demo_world()), seed=4, missed=0.0)
    before_the_cat = Pose.planar("map", 6.0, 5.5, math.pi / 2)
    first = detector.detect(before_the_cat, 19 * S)
    assert [found.thing_id for found in first] == ["chelsea/cat"]
    detector.detect(demo_drive().pose(5 * S), 5 * S)
    assert detector.detect(before_the_cat, 19 * S) == first
    other = SimulatedDetector(Truth(demo_world()), seed=5, missed=0.0)
    assert other.detect(before_the_cat, 19 * S) != first


def test_false_boxes_show_nothing_and_say_so() -> None:
    detector = SimulatedDetector(Truth(demo_world()), false_boxes=2.0, missed=1.0)
    found = [d for stamp in range(100) for d in detector.detect(demo_drive().pose(0), stamp)]
    assert len(found) / 100 == pytest.approx(2.0, abs=0.5)
    assert {d.thing_id for d in found} == {""}
    assert {d.detection.label for d in found} <= {"cat", "cup", "motorcycle", "person"}


def test_simulated_keyframes_are_spaced_and_localised_like_a_robots() -> None:
    detector = SimulatedDetector(Truth(demo_world()))
    keyframes = list(simulated_keyframes(demo_drive(), detector, seed=1))
    assert 80 < len(keyframes) < 250
    for before, after in itertools.pairwise(keyframes):
        a, b = before.capture.base_pose, after.capture.base_pose
        turned = abs(math.remainder(a.yaw_rad - b.yaw_rad, math.tau))
        assert a.distance_m(b) >= 0.5 or turned >= 0.35
    errors = [k.capture.base_pose.distance_m(k.true_base) for k in keyframes]
    assert 0.005 < sum(errors) / len(errors) < 0.06
    camera = detector.truth.camera
    assert keyframes[0].capture.camera_pose == camera.pose(keyframes[0].capture.base_pose)
    perfect = SensorConfig(
        odometry_scale_sigma=0.0,
        odometry_walk_m=0.0,
        odometry_walk_rad=0.0,
        slam_position_sigma_m=0.0,
        slam_yaw_sigma_rad=0.0,
    )
    for keyframe in simulated_keyframes(demo_drive(), detector, perfect):
        # Between two ticks of the odometry a leg may end, which interpolation does not know.
        assert keyframe.capture.base_pose.distance_m(keyframe.true_base) < 0.01
