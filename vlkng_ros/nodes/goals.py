"""Where to drive for an answer: to where it was seen from, or up to the thing itself. No ROS in here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vlkng_ros.types import Answer, Entity, Pose, PositionSource

CLOSEST_M = 1e-3


@dataclass(frozen=True, slots=True)
class Goal:
    """Where to drive: a planar base pose, and the keyframe it comes from."""

    pose: Pose
    keyframe_id: int


def goals_of(answer: Answer, *, approach: bool, standoff_m: float) -> list[Goal]:
    """Goals in the answer's map, best first: of each keyframe its base pose, an approach to its object before that."""
    entities = {entity.entity_id: entity for entity in answer.entities}
    goals: list[Goal] = []
    for ranked in answer.keyframes:
        keyframe = ranked.keyframe
        if keyframe.map_id != answer.goal_map_id:
            continue
        seen_from = keyframe.base_pose.on_floor()
        entity = entities.get(ranked.entity_id)
        facing = approach_pose(seen_from, entity, standoff_m) if approach and entity is not None else None
        if facing is not None:
            goals.append(Goal(facing, keyframe.keyframe_id))
        goals.append(Goal(seen_from, keyframe.keyframe_id))
    return goals


def approach_pose(seen_from: Pose, entity: Entity, standoff_m: float) -> Pose | None:
    """A pose ``standoff_m`` from an entity that faces it, on the line it was seen along.

    Closer than that already, the place stays and the robot turns to it. None where the position is no more than the
    robot's own, or on another map's frame.
    """
    position = entity.position
    if position.source is PositionSource.ROBOT or position.frame_id != seen_from.frame_id:
        return None
    x, y = seen_from.position_m[0], seen_from.position_m[1]
    dx, dy = position.mean_m[0] - x, position.mean_m[1] - y
    away_m = math.hypot(dx, dy)
    if away_m < CLOSEST_M:
        return None
    forward = max(0.0, away_m - standoff_m) / away_m
    return Pose.planar(
        seen_from.frame_id, x + forward * dx, y + forward * dy, math.atan2(dy, dx), seen_from.position_m[2]
    )


def apart(goals: Sequence[Goal], distance_m: float, angle_rad: float) -> list[Goal]:
    """The goals without those that are as good as an earlier one: what cannot be reached there cannot be here."""
    kept: list[Goal] = []
    for goal in goals:
        same = (
            goal.pose.distance_m(other.pose) <= distance_m
            and abs(math.remainder(goal.pose.yaw_rad - other.pose.yaw_rad, math.tau)) <= angle_rad
            for other in kept
        )
        if not any(same):
            kept.append(goal)
    return kept
