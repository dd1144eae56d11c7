"""Whether a place was looked at before, and what that says of a thing that is new there."""

from __future__ import annotations

import tempfile
from pathlib import Path

from scenes import CAMERA, Look, Thing, along, looking_from, remembered, standing

from vlkng_ros.memory import MemoryWriter
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.bearing import CameraView, camera_view
from vlkng_ros.memory.looks import NEVER_NS, Looks
from vlkng_ros.types import NS_PER_S, Capture, Keyframe, Perception, PerceptionState, Pose

PLACE = (4.0, 0.2, 0.6)
CHAIR = Thing("chair", (4.0, 0.0, 0.6))
PASSING = along((0.0, -1.0), (0.0, 1.5), 0.0, 10)
OTHER_ROOM = along((0.0, 11.0), (0.0, 13.0), 0.0, 8)
ELSEWHERE = Thing("chair", (4.0, 12.0, 0.6))
AWAY = standing(-20.0, 0.0, 180.0)


def keyframe(base: Pose, second: float = 0.0) -> Keyframe:
    return Keyframe(
        1, round(second * NS_PER_S), base, CAMERA.pose(base), "", 1, "robot", "house", CAMERA.intrinsics, (640, 480),
        "", False, PerceptionState.DONE, 1,
    )  # fmt: skip


def camera(base: Pose) -> CameraView:
    view = camera_view(keyframe(base))
    assert view is not None
    return view


def looked(*looks: tuple[Pose, float]) -> int:
    """How often the place was looked at before one looks at it from the origin after 1000 s."""
    known = Looks()
    for base, second in looks:
        known.add(camera(base), round(second * NS_PER_S))
    return known.earlier(camera(standing(0.2, 0.2)), PLACE, 1000 * NS_PER_S).looks


def test_looks_from_the_line_of_sight_count_once_a_visit() -> None:
    assert looked() == 0
    assert looked((standing(0.2, 0.2), 0)) == 1
    assert looked((standing(0.2, 0.2), 0), (standing(0.2, 0.2), 50), (standing(0.2, 0.2), 100)) == 1
    assert looked((standing(0.2, 0.2), 0), (standing(0.2, 0.2), 100)) == 2
    # From two metres nearer, and a little turned: the place is 14 degrees off the middle of an image of 62.
    assert looked((standing(2.2, 0.2, 14.0), 0), (standing(0.2, 0.2, -14.0), 0)) == 2
    # The visit under way does not count.
    assert looked((standing(0.2, 0.2), 0), (standing(0.2, 0.2), 950)) == 1
    assert looked((standing(0.2, 0.2), 950)) == 0


def test_the_last_look_of_an_earlier_visit_is_known() -> None:
    known, here = Looks(), camera(standing(0.2, 0.2))
    assert known.earlier(here, PLACE, 0).last_ns == NEVER_NS
    for second in (100, 110, 400, 950):
        known.add(here, second * NS_PER_S)
    # At 960 s the visit is under way that began at 950 s.
    assert known.earlier(here, PLACE, 960 * NS_PER_S) == (2, 400 * NS_PER_S)
    assert known.earlier(here, PLACE, 2000 * NS_PER_S) == (3, 950 * NS_PER_S)


def test_looks_from_elsewhere_or_elsewhere_to_do_not_count() -> None:
    beside, beyond, too_near = standing(0.2, 1.7), standing(4.7, 0.2), standing(3.7, 0.2)
    assert looked((beside, 0), (beyond, 0), (too_near, 0)) == 0
    assert looked((standing(0.2, 0.2, 40.0), 0), (standing(0.2, 0.2, 180.0), 0)) == 0


def returned(*, looked_before: bool) -> list[Look]:
    """A chair of three is missed twice, and then there is one in another room, which may have been looked at before."""
    others = (Thing("chair", (-22.5, 0.6, 0.6)), Thing("chair", (-22.5, -0.6, 0.6)))
    return [
        *looking_from(PASSING, CHAIR),
        *(looking_from(OTHER_ROOM) if looked_before else looking_from([AWAY] * 8)),
        *looking_from([AWAY] * 5, *others),
        *looking_from(PASSING[:4]),
        *looking_from(OTHER_ROOM, ELSEWHERE),
    ]


def test_what_is_new_where_nothing_was_is_sooner_believed_to_have_moved() -> None:
    with remembered(returned(looked_before=True), HybridAssociator(), every_s=10.0) as (_, names):
        assert {name for (name,) in names[-8:]} == {"chair_1"}
    with remembered(returned(looked_before=False), HybridAssociator(), every_s=10.0) as (_, names):
        assert {name for (name,) in names[-8:]} == {"chair_4"}


def test_looks_are_known_again_after_a_restart_and_move_with_corrected_poses() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"

        def open_writer() -> MemoryWriter:
            return MemoryWriter.open(path, encoder=None, associators=[HybridAssociator()])

        with open_writer() as writer:
            writer.start_session(robot="robot", map_id="house", frame_id="map")
            base = standing(0.2, 0.2)
            capture = Capture(0, base, CAMERA.pose(base), intrinsics=CAMERA.intrinsics, image_size_px=(640, 480))
            number = writer.add_keyframe(capture).keyframe_id
            writer.add_perception(number, Perception())
            writer.associate(number)
            assert looks_of(writer) == 1
        with open_writer() as writer:
            assert looks_of(writer) == 1
            turned = standing(0.2, 0.2, 180.0)
            writer.correct_poses({number: (turned, CAMERA.pose(turned))})
            assert looks_of(writer) == 0


def looks_of(writer: MemoryWriter) -> int:
    ((_, view),) = writer._views._live
    return view.looks_at(keyframe(standing(0.2, 0.2), 1000.0), PLACE).looks
