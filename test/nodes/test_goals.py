import math
from types import SimpleNamespace

import numpy as np
import pytest
from action_msgs.msg import GoalStatus

from vlkng_ros.config import NavigationConfig
from vlkng_ros.msg import Navigation as Report
from vlkng_ros.nodes.goals import Goal, apart, approach_pose, goals_of
from vlkng_ros.nodes.navigation import Navigation
from vlkng_ros.types import (
    Answer,
    AnswerKind,
    AnswerStatus,
    Entity,
    EntityKind,
    Keyframe,
    PerceptionState,
    Pose,
    PositionEstimate,
    PositionSource,
    RankedKeyframe,
)


def entity(x, y, source=PositionSource.TRIANGULATED, frame_id="map"):
    position = PositionEstimate(frame_id, "office", (x, y, 1.2), np.eye(3), source)
    return Entity(
        "hybrid", "cat_1", EntityKind.OBJECT, "cat", {"cat": 3}, {}, position, 0, 9, 1, 3, 3
    )  # fmt: skip


def ranked(keyframe_id, pose, map_id="office", entity_id="cat_1"):
    keyframe = Keyframe(
        keyframe_id, 0, pose, None, "camera", 1, "robot", map_id, None, None, "", True, PerceptionState.DONE, 1
    )
    return RankedKeyframe(keyframe, 1.0, entity_id=entity_id)


def answer(*frames, entities=()):
    return Answer(
        AnswerStatus.OK, "", AnswerKind.POSITION, "", frames[0].keyframe.base_pose, 1.0,
        keyframes=frames, entities=tuple(entities), goal=frames[0].keyframe.base_pose, goal_map_id="office",
    )  # fmt: skip


def test_the_goal_is_where_the_robot_stood_on_the_floor():
    tilted = Pose("map", (1.0, 2.0, 0.1), (0.05, 0.0, 0.0, math.sqrt(1 - 0.0025)))
    (goal,) = goals_of(answer(ranked(7, tilted)), approach=False, standoff_m=1.0)
    assert goal.keyframe_id == 7
    assert goal.pose.orientation == pytest.approx((0.0, 0.0, 0.0, 1.0))


def test_an_approach_stops_short_of_the_object_and_faces_it_and_the_keyframe_is_next():
    seen_from = Pose.planar("map", 0.0, 0.0, 1.0)
    goals = goals_of(answer(ranked(7, seen_from), entities=[entity(3.0, 4.0)]), approach=True, standoff_m=1.0)
    assert goals[0].pose.position_m == pytest.approx((2.4, 3.2, 0.0))
    assert goals[0].pose.yaw_rad == pytest.approx(math.atan2(4, 3))
    assert goals[1] == Goal(seen_from, 7)


def test_a_robot_nearer_than_the_standoff_stays_and_turns_to_the_object():
    pose = approach_pose(Pose.planar("map", 0.0, 0.0, 0.0), entity(0.0, 0.5), standoff_m=1.0)
    assert pose.position_m == (0.0, 0.0, 0.0)
    assert pose.yaw_rad == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("thing", [entity(3, 4, PositionSource.ROBOT), entity(3, 4, frame_id="odom"), entity(0, 0)])
def test_an_object_whose_place_is_not_known_is_not_approached(thing):
    assert approach_pose(Pose.planar("map", 0.0, 0.0), thing, standoff_m=1.0) is None


def test_keyframes_of_another_map_are_no_goals():
    frames = [ranked(1, Pose.planar("map", 0, 0)), ranked(2, Pose.planar("map", 5, 0), map_id="warehouse")]
    assert [goal.keyframe_id for goal in goals_of(answer(*frames), approach=False, standoff_m=1.0)] == [1]


def test_goals_as_good_as_an_earlier_one_are_left_out():
    goals = [
        Goal(Pose.planar("map", 0.0, 0.0, 0.0), 1),
        Goal(Pose.planar("map", 0.1, 0.0, 6.2), 2),
        Goal(Pose.planar("map", 0.1, 0.0, 3.0), 3),
        Goal(Pose.planar("map", 2.0, 0.0, 0.0), 4),
    ]
    assert [goal.keyframe_id for goal in apart(goals, 0.25, 0.5)] == [1, 3, 4]


class Over:
    """A goal that Nav2 has finished with, in a result of some release."""

    def __init__(self, status, result):
        self._reply = SimpleNamespace(status=status, result=result)

    def get_result_async(self):
        return SimpleNamespace(result=lambda: self._reply)


async def _done(future, timeout_s):
    return True


@pytest.mark.parametrize(
    ("release", "result", "says"),
    [
        ("Humble", SimpleNamespace(result=None), "Nav2 gave up on the pose of keyframe 7"),
        ("Iron", SimpleNamespace(error_code=207), "Nav2 gave up on the pose of keyframe 7 (error 207)"),
        ("Jazzy", SimpleNamespace(error_code=207, error_msg="no path"),
         "Nav2 gave up on the pose of keyframe 7 (error 207): no path"),
    ],
)  # fmt: skip
def test_the_results_of_every_release_are_understood(release, result, says):
    navigation = SimpleNamespace(
        _config=NavigationConfig, _waiter=SimpleNamespace(done=_done), action="/navigate_to_pose"
    )
    drive, goal = SimpleNamespace(error_code=0), Goal(Pose.planar("map", 1.0, 0.0), 7)

    def outcome(status):
        try:
            Navigation._follow(navigation, drive, Over(status, result), goal).send(None)
        except StopIteration as end:
            return end.value

    assert outcome(GoalStatus.STATUS_SUCCEEDED) == (Report.STATE_SUCCEEDED, "")
    assert outcome(GoalStatus.STATUS_ABORTED) == (Report.STATE_ABORTED, says)
    assert outcome(GoalStatus.STATUS_CANCELED)[0] == Report.STATE_CANCELED
