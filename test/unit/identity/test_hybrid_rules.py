"""The rules of the hybrid associator and of places and states, on scenes that are small enough to reason about."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scenes import Thing, along, detection, entity_of, looking_from, remembered, standing

from vlkng_ros.memory import track as tracking
from vlkng_ros.memory.association.hybrid import CROWD, MAX_MISFIT, HybridAssociator, came_here, match, misfit
from vlkng_ros.memory.association.likelihood import new_density
from vlkng_ros.memory.bearing import bearing_of, camera_view
from vlkng_ros.memory.position import PositionState
from vlkng_ros.memory.projection import Track
from vlkng_ros.memory.uncertainty import mixture, point, variance_factor
from vlkng_ros.memory.visibility import Presence, Vantage
from vlkng_ros.types import NS_PER_S, Detection, EntityState, PositionSource

CHAIR = Thing("chair", (4.0, 0.0, 0.6))
OTHER = Thing("chair", (4.0, 0.9, 0.6))
PASSING = along((0.0, -1.0), (0.0, 1.5), 0.0, 10)


def test_two_equal_chairs_side_by_side_stay_two() -> None:
    with remembered(looking_from(PASSING, CHAIR, OTHER), HybridAssociator()) as (reader, names):
        assert {name[0] for name in names} == {"chair_1"}
        assert {name[1] for name in names if len(name) > 1} == {"chair_2"}
        for name, thing in (("chair_1", CHAIR), ("chair_2", OTHER)):
            position = entity_of(reader, name).position
            assert position.source is PositionSource.TRIANGULATED
            assert math.dist(position.mean_m, thing.at_m) < 0.05


def test_a_chair_that_is_missed_does_not_give_its_name_to_the_one_beside_it() -> None:
    looks = [
        *looking_from(PASSING, CHAIR, OTHER),
        *looking_from(along((0.0, 1.5), (0.0, 1.0), 0.0, 3), OTHER),
        *looking_from(along((0.0, 1.0), (0.0, 0.5), 0.0, 3), CHAIR),
    ]
    with remembered(looks, HybridAssociator()) as (_, names):
        assert names[10:13] == [["chair_2"]] * 3
        assert names[13:] == [["chair_1"]] * 3


def test_a_chair_seen_from_two_ends_of_a_room_stays_one() -> None:
    here = along((0.0, -1.0), (0.0, 1.0), 0.0, 8)
    around = [standing(4.0 - 4.0 * math.cos(a), -4.0 * math.sin(a), math.degrees(a)) for a in (0.5, 1.0, 1.6, 2.2, 2.7)]
    there = along((8.0, 1.0), (8.0, -1.0), 180.0, 8)
    with remembered(looking_from([*here, *around, *there], CHAIR), HybridAssociator()) as (reader, names):
        assert {name for (name,) in names} == {"chair_1"}
        assert math.dist(entity_of(reader, "chair_1").position.mean_m, CHAIR.at_m) < 0.1


def test_equal_things_in_two_rooms_are_two() -> None:
    far = Thing("chair", (4.0, 12.0, 0.6))
    looks = [*looking_from(PASSING, CHAIR), *looking_from(along((0.0, 11.0), (0.0, 13.0), 0.0, 8), far)]
    with remembered(looks, HybridAssociator()) as (_, names):
        assert {name for (name,) in names[:10]} == {"chair_1"}
        assert {name for (name,) in names[10:]} == {"chair_2"}


def test_a_chair_carried_to_another_room_is_one_chair_that_moved() -> None:
    elsewhere = Thing("chair", (4.0, 12.0, 0.6))
    other_room = along((0.0, 11.0), (0.0, 13.0), 0.0, 8)
    lamp = Thing("lamp", (4.5, 13.0, 1.0))
    looks = [
        *looking_from(PASSING, CHAIR),
        *looking_from(other_room, lamp),
        *looking_from([standing(-20.0, 0.0, 180.0)] * 20),
        *looking_from(PASSING),
        *looking_from(other_room, elsewhere, lamp),
    ]
    with remembered(looks, HybridAssociator(), every_s=10.0) as (reader, names):
        assert {name[0] for name in names[-8:]} == {"chair_1"}
        chair = entity_of(reader, "chair_1")
        assert chair.state is EntityState.MOVED
        assert math.dist(chair.position.mean_m, elsewhere.at_m) < 0.1
        assert chair.observation_count == 18


def test_a_chair_seen_elsewhere_is_another_one_while_the_first_is_not_missed() -> None:
    elsewhere = Thing("chair", (4.0, 12.0, 0.6))
    other_room = along((0.0, 11.0), (0.0, 13.0), 0.0, 8)
    looks = [
        *looking_from(PASSING, CHAIR),
        *looking_from(other_room),
        *looking_from([standing(-20.0, 0.0, 180.0)] * 20),
        *looking_from(other_room, elsewhere),
    ]
    with remembered(looks, HybridAssociator(), every_s=10.0) as (_, names):
        assert {name for (name,) in names[-8:]} == {"chair_2"}


def test_a_thing_is_gone_after_it_was_missed_three_times_where_it_should_have_been_seen() -> None:
    absent = along((0.0, -0.5), (0.0, 1.0), 0.0, 4)
    states = []
    for missed in range(5):
        looks = [*looking_from(PASSING, CHAIR), *looking_from(absent[:missed])]
        with remembered(looks, HybridAssociator()) as (reader, _):
            states.append(entity_of(reader, "chair_1").state)
    # Ten sightings of ten: a little less than -log(1 - 0.8) = 1.61 each, and 3 absences are needed.
    assert states == [EntityState.PRESENT] * 3 + [EntityState.GONE] * 2


def test_turning_on_one_point_does_not_make_three_absences_of_one() -> None:
    turned = [standing(0.0, 0.0, angle) for angle in (-18.0, -2.0, 14.0)]
    aside = [standing(0.0, 0.5, angle) for angle in (-18.0, -2.0)]
    states = []
    for missed in (turned, [*turned, *turned], [*turned, *aside]):
        looks = [*looking_from(PASSING, CHAIR), *looking_from(missed)]
        with remembered(looks, HybridAssociator()) as (reader, _):
            states.append(entity_of(reader, "chair_1").state)
    # A little less than 1.61 for the first, and half of it for each turn; 3 are needed.
    assert states == [EntityState.PRESENT, EntityState.GONE, EntityState.GONE]


def test_looking_again_and_again_from_where_it_was_seen_once_does_not_make_it_gone() -> None:
    camera = camera_view(_keyframe(standing(0.0, 0.0)))
    assert camera is not None
    for sightings, looks, evidence, gone in (
        # It is in view but for 8 in 100, and then overlooked 1 time in 5; after 4 sightings it is but for 1 in 100.
        (1, 1, -math.log(0.08 + 0.92 * 0.2), False),
        (1, 10, -math.log(0.08 + 0.92 * 0.2**10), False),
        (4, 3, -math.log(0.01 + 0.99 * 0.2**3), True),
    ):
        presence = Presence.empty()
        for _ in range(sightings):
            presence = presence.seen(camera, PositionState.empty())
        for look in range(looks):
            presence = presence.missed(camera, look * 61 * NS_PER_S, None)
        assert presence.evidence == pytest.approx(evidence)
        assert presence.gone is gone
        # Seen once more, all of that is forgotten.
        assert presence.seen(camera, PositionState.empty()).vantages == (Vantage(2, 0, sightings + 1, 0),)


def test_a_line_of_sight_begins_where_the_thing_was_seen_from() -> None:
    presence = Presence.empty()._replace(vantages=(Vantage(0, 0, 1, 0),))
    found = []
    for x, y in ((0.0, 0.0), (2.0, 0.3), (2.0, 0.5), (-0.05, 0.0), (-0.3, 0.0)):
        camera = camera_view(_keyframe(standing(x, y)))
        assert camera is not None
        # The camera is 0.2 m in front of the robot.
        camera = camera._replace(centre_m=(x, y, 0.8))
        found.append(presence.lines_of_sight(camera, (4.0, 0.0, 0.6)) != [])
    assert found == [True, True, False, True, False]


def test_what_was_there_lately_or_missed_long_before_is_less_likely_to_have_come() -> None:
    # 100 s in which it may have come. Of things like it one in 2000 / 200 leaves in the 200 s that it was not looked
    # for, and one in exp(3) is overlooked.
    missed = Presence.empty()._replace(evidence=3.0, missing_ns=200 * NS_PER_S)
    assert came_here(300 * NS_PER_S, 100 * NS_PER_S, 0, missed) == pytest.approx(100 / (0.1 + math.exp(-3.0)))
    # Missed before this place was last seen empty: 1 s, not less.
    assert came_here(300 * NS_PER_S, 250 * NS_PER_S, 0, missed) == pytest.approx(1 / (0.1 + math.exp(-3.0)))
    # Not looked for since 250 s.
    unknown = Presence.empty()
    assert came_here(300 * NS_PER_S, 250 * NS_PER_S, 250 * NS_PER_S, unknown) == pytest.approx(50 / (0.025 + 1.0))


def test_a_thing_whose_distance_is_not_known_is_missed_from_where_it_was_seen_and_from_nowhere_else() -> None:
    there = [standing(0.0, 0.0, angle) for angle in (-20.0, 0.0, 20.0)]
    elsewhere = [standing(0.0, y, 0.0) for y in (-2.0, -1.0, 1.0, 2.0)]
    states = []
    for missed in (there, elsewhere):
        looks = [*looking_from(there, CHAIR), *looking_from(missed)]
        with remembered(looks, HybridAssociator(), every_s=61.0) as (reader, _):
            chair = entity_of(reader, "chair_1")
            assert chair.position.source is PositionSource.ROBOT
            states.append(chair.state)
    assert states == [EntityState.GONE, EntityState.PRESENT]


def test_one_look_at_its_new_place_tells_that_a_missed_thing_moved() -> None:
    pushed = Thing("chair", (4.0, 2.4, 0.6))
    looks = [*looking_from(PASSING, CHAIR), *looking_from(PASSING[:6]), *looking_from([standing(0.0, 1.5)], pushed)]
    with remembered(looks, HybridAssociator(), every_s=10.0) as (reader, names):
        assert names[-1] == ["chair_1"]
        chair = entity_of(reader, "chair_1")
        assert chair.state is EntityState.MOVED
        assert chair.position.source is PositionSource.ROBOT


def test_a_moved_thing_that_is_seen_where_it_was_has_not_moved() -> None:
    other = Thing("chair", (4.0, 2.4, 0.6))
    moved = [*looking_from(PASSING, CHAIR), *looking_from(PASSING[:6]), *looking_from([standing(0.0, 1.5)] * 3, other)]
    there = [*moved, *looking_from(PASSING[2:6], CHAIR)]
    with remembered(moved, HybridAssociator(), every_s=10.0) as (reader, _):
        assert entity_of(reader, "chair_1").state is EntityState.MOVED
    with remembered(there, HybridAssociator(), every_s=10.0) as (reader, names):
        assert names[-1] == ["chair_1"]
        chair = entity_of(reader, "chair_1")
        assert chair.state is EntityState.PRESENT
        assert math.dist(chair.position.mean_m, CHAIR.at_m) < 0.05
        # What it was then is as it was.
        assert reader.entity("hybrid", "chair_1", 180 * NS_PER_S).state is EntityState.MOVED


def test_a_place_that_was_never_sure_has_not_moved_when_it_turns_out_to_be_another() -> None:
    def track_at(depth_m: float, relative: float) -> Track:
        camera = camera_view(_keyframe(standing(0.0, 0.0)))
        assert camera is not None
        bearing = bearing_of(camera, Detection("chair", (300.0, 187.5, 340.0, 292.5)))
        assert bearing is not None
        track = tracking.start(bearing)
        x, y, _, size = track.mean
        variance = (relative / depth_m) ** 2
        covariance = (1e-6, 0.0, 0.0, 0.0, 1e-6, 0.0, 0.0, variance, 0.0, 0.01)
        return track._replace(mean=(x, y, 1 / depth_m, size), covariance=covariance, boxes=9, parallax_rad=0.5)

    # 1 m between them: 2 deviations of the unsure one, 10 of the sure one.
    for relative, moved in ((0.25, False), (0.05, True)):
        known = PositionState.empty()._replace(robot_m=(0.0, 0.0, 0.0), track=track_at(2.0, relative))
        assert known._moved_to(track_at(3.0, 0.01), missed=False).moved is moved
        assert known._moved_to(track_at(3.0, 0.01), missed=True).moved
    # And 30 cm are no other place.
    near = PositionState.empty()._replace(robot_m=(0.0, 0.0, 0.0), track=track_at(2.0, 0.01))
    assert not near._moved_to(track_at(2.3, 0.01), missed=True).moved


def test_a_moved_thing_may_still_be_where_it_was() -> None:
    pushed = Thing("chair", (4.0, 2.0, 0.6))
    looks = [*looking_from(PASSING, CHAIR), *looking_from(PASSING[:6]), *looking_from(PASSING, pushed)]
    with remembered(looks, HybridAssociator(), every_s=10.0) as (reader, _):
        position = entity_of(reader, "chair_1").position
        assert math.dist(position.mean_m, pushed.at_m) < 0.1
        # One in four is another one, 2 m from it: 0.25 * 4 on top of a variance of centimetres.
        assert position.covariance_m2[1, 1] == pytest.approx(1.0, abs=0.1)
        assert position.covariance_m2[2, 2] < 0.01


def test_a_place_that_two_boxes_deny_is_unsure() -> None:
    aside = Thing("chair", (4.0, 1.2, 0.6))
    place, variances = PositionState.empty(), []
    for thing, bases in ((CHAIR, PASSING), (aside, along((0.0, 0.0), (0.0, 0.5), 0.0, 2))):
        for base in bases:
            box = detection(thing, base)
            assert box is not None
            place = place.updated(_keyframe(base), box)
        variances.append(float(place.estimate("map", "house").covariance_m2[1, 1]))
    assert variances[0] < 0.01
    # Two of the six boxes that it takes say that it is 1.2 m aside.
    assert variances[1] == pytest.approx(2 / 6 * 1.2**2, rel=0.15)


def test_a_place_is_as_sure_as_its_boxes_agree() -> None:
    base = standing(0.0, 0.0)
    camera = camera_view(_keyframe(base))
    assert camera is not None
    bearing = bearing_of(camera, Detection("chair", (300.0, 187.5, 340.0, 292.5)))
    assert bearing is not None
    track = tracking.start(bearing)._replace(surprise=5.2, surprise_count=10.0)
    assert variance_factor(track) == pytest.approx(1.0)
    assert variance_factor(track._replace(surprise=10.4)) == pytest.approx((10.4 + 8 * 0.52) / 18 / 0.52)
    # Two boxes that do not fit count as four measurements that miss by the gate of 9 for each two.
    assert variance_factor(track._replace(refused=2)) == pytest.approx((5.2 + 2 * 9 + 8 * 0.52) / 22 / 0.52)
    # It looks 0.5 m tall and 0.19 m wide from 2.5 m: what the border cuts off in every second box is unsure by 8 % of
    # half of 0.5 m.
    _, whole = point(track)
    _, cut = point(track._replace(whole_boxes=1, boxes=2))
    assert cut[3] - whole[3] == pytest.approx((0.08 * 0.5 / 2) ** 2)
    assert cut[5] == whole[5]


def test_boxes_that_no_noise_explains_may_be_of_two_things() -> None:
    base = standing(0.0, 0.0)
    camera = camera_view(_keyframe(base))
    assert camera is not None
    bearing = bearing_of(camera, Detection("chair", (300.0, 187.5, 340.0, 292.5)))
    assert bearing is not None
    track = tracking.start(bearing)._replace(surprise_count=50.0)
    # The sum of 50 squares is 26 +- 5.2: by 2, 5 and 20 deviations more.
    likely = [mixture(track._replace(surprise=surprise)) for surprise in (36.4, 52.0, 130.0)]
    assert likely == pytest.approx([0.0, 0.5, 0.9])
    known = PositionState.empty()._replace(robot_m=(0.0, 0.0, 0.0), detections=12, track=_known(track))
    sure, doubted = (
        known._replace(track=_known(track)._replace(surprise=surprise)).estimate("map", "house").covariance_m2
        for surprise in (36.4, 52.0)
    )
    # Half of 1 m squared sideways and of 0.3 m squared upwards, on top of what its own boxes leave open.
    assert np.diag(doubted - sure) == pytest.approx([0.5, 0.5, 0.045], abs=0.025)


def test_boxes_at_a_place_that_was_given_up_may_be_where_it_is() -> None:
    base = standing(0.0, 0.0)
    camera = camera_view(_keyframe(base))
    assert camera is not None
    bearing = bearing_of(camera, Detection("chair", (300.0, 187.5, 340.0, 292.5)))
    assert bearing is not None
    one = _known(tracking.start(bearing))
    other, third = one._replace(anchor_m=(0.0, 2.0, 0.8)), one._replace(anchor_m=(0.0, 4.0, 0.8))
    first = PositionState.empty()._replace(robot_m=(0.0, 0.0, 0.0), track=one, detections=12)
    twice = first._moved_to(other, missed=True)._moved_to(third, missed=True)
    assert (twice.strays, twice.stray_m) == (one.boxes, tracking.place(one))
    before, after = (
        place.estimate("map", "house").covariance_m2
        for place in (first, first._replace(strays=3, stray_m=tracking.place(other)))
    )
    # 3 of 12 boxes are 2 m aside.
    assert after[1, 1] - before[1, 1] == pytest.approx(3 / 12 * 4.0)


def test_a_thing_that_was_missed_once_is_not_what_is_seen_elsewhere() -> None:
    elsewhere = Thing("chair", (4.0, 12.0, 0.6))
    other_room = along((0.0, 11.0), (0.0, 13.0), 0.0, 8)
    lamp = Thing("lamp", (4.5, 13.0, 1.0))
    looks = [
        *looking_from(PASSING, CHAIR),
        *looking_from(other_room, lamp),
        *looking_from([standing(-20.0, 0.0, 180.0)] * 20),
        *looking_from(PASSING[:1]),
        *looking_from(other_room, elsewhere, lamp),
    ]
    with remembered(looks, HybridAssociator(), every_s=10.0) as (_, names):
        assert {name[0] for name in names[-8:]} == {"chair_2"}


def test_a_thing_behind_a_wall_is_never_gone() -> None:
    # It was only ever seen from x = 0; from beyond a wall at y = 3 the robot looks its way for long, and sees none.
    beyond = [standing(x, y, -90.0) for y in (4.5, 5.0, 5.5, 6.0) for x in (3.0, 3.5, 4.0, 4.5, 5.0)]
    with remembered([*looking_from(PASSING, CHAIR), *looking_from(beyond)], HybridAssociator()) as (reader, _):
        assert entity_of(reader, "chair_1").state is EntityState.PRESENT


def test_what_was_gone_is_present_once_it_is_seen_again() -> None:
    looks = [*looking_from(PASSING, CHAIR), *looking_from(PASSING), *looking_from(PASSING[:1], CHAIR)]
    with remembered(looks, HybridAssociator()) as (reader, names):
        assert names[-1] == ["chair_1"]
        assert entity_of(reader, "chair_1").state is EntityState.PRESENT


def test_without_baseline_the_place_stays_the_robots() -> None:
    turning = [standing(0.0, 0.0, angle) for angle in (-20.0, -10.0, 0.0, 10.0, 20.0)]
    with remembered(looking_from(turning, Thing("chair", (4.2, 0.0, 0.6))), HybridAssociator()) as (reader, _):
        position = entity_of(reader, "chair_1").position
        assert position.source is PositionSource.ROBOT
        assert position.mean_m == (0.0, 0.0, 0.0)


def test_one_box_tells_the_depth_by_the_height_that_things_have() -> None:
    # 105 px tall at f = 525 px is 0.2: what is 0.5 m tall looks so from 2.5 m; 0.7 is the deviation of log heights.
    base = standing(0.0, 0.0)
    keyframe_camera = camera_view(_keyframe(base))
    assert keyframe_camera is not None
    bearing = bearing_of(keyframe_camera, Detection("chair", (300.0, 187.5, 340.0, 292.5)))
    assert bearing is not None
    track = tracking.start(bearing)
    assert 1 / track.mean[2] == pytest.approx(2.5)
    assert tracking.relative_depth_deviation(track) == pytest.approx(math.hypot(0.7, 0.12))
    assert tracking.place(track) == pytest.approx((2.7, 0.0, 0.8))


def test_a_box_that_ends_within_its_own_jitter_of_the_border_is_cut_off_by_it() -> None:
    camera = camera_view(_keyframe(standing(0.0, 0.0)))
    assert camera is not None
    # Its edges jitter by 5 % of 200 px; 2.5 times that is 25 px.
    cut = [bearing_of(camera, Detection("chair", (x, 150.0, x + 200.0, 300.0))) for x in (2.0, 24.0, 26.0, 416.0)]
    assert [bearing.cut_x for bearing in cut if bearing is not None] == [-1, -1, 0, 1]


def test_who_walks_about_before_a_standing_robot_is_not_ever_another_one() -> None:
    looks = [
        (standing(0.0, 0.0), (Thing("person", (3.0 + i % 3, math.sin(2.0 * i) * 1.2, 0.8), 1.0),)) for i in range(30)
    ]
    with remembered(looks, HybridAssociator(), every_s=30.0) as (reader, names):
        assert all(names)
        assert len(list(reader.entities("hybrid"))) == CROWD


def test_boxes_that_miss_by_more_than_stated_are_doubted() -> None:
    record = SimpleNamespace(place=SimpleNamespace(track=SimpleNamespace(surprise=60.0, surprise_count=100.0)))
    assert misfit([]) == 1.0
    assert misfit([record] * 10) == 1.0
    record.place.track.surprise = 90.0
    assert misfit([record] * 10) == pytest.approx(((40.0 + 900.0) / 1050.0 / 0.8) ** 8)
    record.place.track.surprise = 400.0
    assert misfit([record] * 10) == MAX_MISFIT


def test_matching_takes_the_greatest_sum_and_leaves_out_what_is_unlikely() -> None:
    scores = np.array([[5.0, 4.0], [4.5, -1.0], [-2.0, -3.0]])
    # 4.0 + 4.5 is more than 5.0 and nothing.
    assert match(scores) == [1, 0, -1]
    assert match(np.full((2, 3), -1.0)) == [-1, -1]
    assert match(np.zeros((2, 0))) == [-1, -1]


def test_one_more_of_many_is_likelier_than_a_second_one_of_a_kind() -> None:
    assert new_density(0) == new_density(1) == 0.01
    assert new_density(3) == pytest.approx(0.08)


def _known(track: Track) -> Track:
    """The same track, its depth known to 5 %."""
    x = 1e-6
    variance = (0.05 * track.mean[2]) ** 2
    return track._replace(
        covariance=(x, 0.0, 0.0, 0.0, x, 0.0, 0.0, variance, 0.0, 0.01), boxes=9, whole_boxes=9, parallax_rad=0.5
    )


def _keyframe(base):
    from scenes import CAMERA

    from vlkng_ros.types import Keyframe, PerceptionState

    return Keyframe(
        1, 0, base, CAMERA.pose(base), "", 1, "robot", "house", CAMERA.intrinsics, (640, 480), "", False,
        PerceptionState.DONE, 1,
    )  # fmt: skip
