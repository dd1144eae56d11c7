"""The gallery robot's NavigateToPose server, which behaves as Nav2's bt_navigator does."""

from __future__ import annotations

from typing import Any

from nav2_msgs.action import NavigateToPose
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.task import Future

from vlkng_ros.errors import InvalidInputError, NavigationError
from vlkng_ros.gallery.planner import GoalOccupiedError, GoalOutsideError
from vlkng_ros.gallery.robot import SimulatedRobot
from vlkng_ros.nodes.messages import pose_from, pose_stamped
from vlkng_ros.types import NS_PER_S

FEEDBACK_PERIOD_S = 0.2
PLANNER_ERRORS = {GoalOutsideError: 204, GoalOccupiedError: 206}
"""Nav2's codes (ComputePathToPose: GOAL_OUTSIDE_MAP, GOAL_OCCUPIED); what is not listed is NO_VALID_PATH."""
NO_VALID_PATH = 208


class GalleryGoals:
    """One goal at a time: a new one preempts the one before, which ends as aborted.

    Everything runs in the node's one thread: the goal's coroutine waits for ``check`` to say how the drive ended.
    """

    def __init__(self, node: Node, robot: SimulatedRobot) -> None:
        self._node = node
        self._robot = robot
        self._active: Any = None
        self._ended: Future | None = None
        self._began_ns = self._told_ns = 0
        self._server = ActionServer(
            node,
            NavigateToPose,
            "navigate_to_pose",
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def _on_goal(self, request: Any) -> GoalResponse:
        try:
            goal = pose_from(request.pose)
        except InvalidInputError as error:
            self._node.get_logger().warning(f"goal rejected: {error}")
            return GoalResponse.REJECT
        if goal.frame_id.lstrip("/") != self._robot.world.frame_id:
            self._node.get_logger().warning(f"goal rejected: frame '{goal.frame_id}' cannot be transformed to the map")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Any) -> None:
        self._end("preempted")
        self._active, self._ended = handle, Future()
        handle.execute()

    async def _execute(self, handle: Any) -> Any:
        ended = self._ended if handle is self._active else None
        if ended is None:
            # Preempted before it began.
            handle.abort()
            return self._result(0, "preempted by a newer goal")
        try:
            remaining = self._robot.go_to(pose_from(handle.request.pose))
        except NavigationError as error:
            self._active = self._ended = None
            self._node.get_logger().warning(f"goal aborted: {error}")
            handle.abort()
            return self._result(PLANNER_ERRORS.get(type(error), NO_VALID_PATH), str(error))
        self._began_ns = self._told_ns = self._robot.now_ns
        self._node.get_logger().info(f"driving {remaining.distance_m:.1f} m to a goal")
        how = await ended
        x, y, _ = self._robot.true_pose.position_m
        self._node.get_logger().info(f"goal {how} at ({x:.2f}, {y:.2f}), heading {self._robot.true_pose.yaw_rad:.2f}")
        if how == "reached":
            handle.succeed()
        elif how == "canceled":
            handle.canceled()
        else:
            handle.abort()
        return self._result(0, "" if how == "reached" else f"{how} at ({x:.2f}, {y:.2f})")

    def check(self) -> None:
        """After time has passed: has the goal been reached or canceled, and who wants to know how far it is?"""
        if self._active is None or not self._robot.navigating:
            return
        if self._active.is_cancel_requested:
            self._robot.stop()
            self._end("canceled")
        elif self._robot.parked:
            self._feedback()
            self._robot.navigating = False
            self._end("reached")
        elif self._robot.now_ns - self._told_ns >= FEEDBACK_PERIOD_S * NS_PER_S:
            self._feedback()

    def _feedback(self) -> None:
        self._told_ns = self._robot.now_ns
        remaining = self._robot.remaining()
        feedback = NavigateToPose.Feedback(distance_remaining=remaining.distance_m)
        feedback.current_pose = pose_stamped(self._robot.estimated_pose, self._robot.now_ns)
        passed = Duration(nanoseconds=self._robot.now_ns - self._began_ns)
        feedback.navigation_time = passed.to_msg()
        feedback.estimated_time_remaining = Duration(nanoseconds=round(remaining.seconds * NS_PER_S)).to_msg()
        self._active.publish_feedback(feedback)

    def _end(self, how: str) -> None:
        ended, self._active, self._ended = self._ended, None, None
        if ended is not None:
            ended.set_result(how)

    @staticmethod
    def _result(code: int, message: str) -> Any:
        result = NavigateToPose.Result()
        # Fields differ by release: Humble's result is empty, error_msg came after Jazzy.
        if hasattr(result, "error_code"):
            result.error_code = code
        if hasattr(result, "error_msg"):
            result.error_msg = message
        return result

    def close(self) -> None:
        """Take no more goals."""
        self._server.destroy()
