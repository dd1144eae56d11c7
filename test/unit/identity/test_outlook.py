"""What is looked at closely: every track that a box may show, whatever the box and however the border cuts it."""

from __future__ import annotations

import math

import numpy as np

from vlkng_ros.memory import track as tracking
from vlkng_ros.memory.association.likelihood import box_density
from vlkng_ros.memory.association.outlook import Outlook, as_tall_as, row_of, table_of
from vlkng_ros.memory.bearing import Bearing, CameraView, bearing_of, camera_view
from vlkng_ros.memory.projection import Track, expectation, project
from vlkng_ros.types import OPTICAL_IN_BODY, Detection, Intrinsics, Keyframe, PerceptionState, Pose, Vec3

INTRINSICS = Intrinsics(525.0, 525.0, 320.0, 240.0, 640, 480)
SIZES = (0.3, 0.8, 2.5)


def looking(x: float, y: float, yaw: float) -> CameraView:
    base = Pose.planar("map", x, y, yaw)
    mount = Pose("base", (0.0, 0.0, 0.6), OPTICAL_IN_BODY)
    keyframe = Keyframe(1, 0, base, base.compose(mount), "front", 1, "r", "m", INTRINSICS, (640, 480), "", False,
                        PerceptionState.DONE, 1)  # fmt: skip
    camera = camera_view(keyframe)
    assert camera is not None
    return camera


def box_of(camera: CameraView, at: Vec3, size_m: float, aspect: float) -> Bearing | None:
    """A thing's box, cut where the image ends."""
    away = np.subtract(at, camera.centre_m)
    x, y, z = (float(np.dot(away, axis)) for axis in (camera.right, camera.down, camera.forward))
    if z < 0.3:
        return None
    u, v, high = 320 + 525 * x / z, 240 + 525 * y / z, 525 * size_m / z / 2
    sides = np.clip((u - high * aspect, v - high, u + high * aspect, v + high), 0, (640, 480, 640, 480))
    return bearing_of(camera, Detection("thing", tuple(map(float, sides))))


def seen_from_several_places(rng: np.random.Generator, count: int) -> list[tuple[Track, float]]:
    """Tracks of one to six boxes, and how tall the things are."""
    found = []
    while len(found) < count:
        at = (float(rng.uniform(1, 7)), float(rng.uniform(-3, 3)), float(rng.uniform(0.2, 1.6)))
        size, aspect, track = float(rng.choice(SIZES)), float(rng.uniform(0.5, 2.0)), None
        for _ in range(int(rng.integers(1, 7))):
            box = box_of(looking(rng.uniform(-1, 1), rng.uniform(-1.5, 1.5), rng.uniform(-0.3, 0.3)), at, size, aspect)
            if box is not None:
                track = tracking.start(box) if track is None else tracking.updated(track, box) or track
        if track is not None:
            found.append((track, size))
    return found


def test_many_things_at_once_are_as_tall_as_each_by_itself() -> None:
    seen = [item for item in seen_from_several_places(np.random.default_rng(3), 100) if tracking.takes_height(item[0])]
    assert len(seen) > 20
    supposed = as_tall_as(
        table_of([row_of(track) for track, _ in seen]), np.array([(math.log(s), 0.06) for _, s in seen])
    )
    single = table_of([row_of(tracking.with_height(track, (math.log(size), 0.06))) for track, size in seen])
    np.testing.assert_allclose(supposed, single, rtol=1e-9, atol=1e-12)


def test_no_box_is_likelier_than_was_thought_possible_from_afar() -> None:
    rng = np.random.default_rng(7)
    tracks = [track for track, _ in seen_from_several_places(rng, 150)]
    table = table_of([row_of(track) for track in tracks])
    likely = cut = 0
    for _ in range(25):
        camera = looking(rng.uniform(-1, 4), rng.uniform(-1.5, 1.5), rng.uniform(-math.pi, math.pi))
        outlook = Outlook(table, camera)
        views = [project(track, camera, track.mean) for track in tracks]
        assert [i for i, view in enumerate(views) if view is not None] == outlook.front.tolist()
        expected = {i: expectation(tracks[i], view) for i, view in enumerate(views) if view is not None}
        for j, i in enumerate(outlook.front.tolist()):
            if max(map(abs, expected[i][:2])) < 2.0:
                np.testing.assert_allclose(outlook.expectation(j), expected[i], rtol=1e-8, atol=1e-12)
        places = [
            (float(rng.uniform(1, 7)), float(rng.uniform(-3, 3)), float(rng.uniform(0.2, 1.6))) for _ in range(40)
        ]
        places += [tracking.place(track) for track in tracks[::2]]
        boxes = [box for at in places if (box := box_of(camera, at, float(rng.choice(SIZES)), 1.0)) is not None]
        if not boxes:
            continue
        for box, bounds in zip(boxes, outlook.highest(boxes), strict=True):
            for number, bound in zip(outlook.front.tolist(), bounds, strict=True):
                density = box_density(tracks[number], expected[number], box)
                assert density <= bound
                likely += density > 0
                cut += density > 0 and box.cut_off
    assert (likely > 500, cut > 100) == (True, True)
