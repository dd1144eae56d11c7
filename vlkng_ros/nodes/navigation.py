"""Drives to answers: Nav2's NavigateToPose with bounded waits, the next keyframe when one cannot be reached."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from vlkng_ros.building.rotation import turn_between_rad
from vlkng_ros.config import NavigationConfig
from vlkng_ros.msg import Navigation as Report
from vlkng_ros.nodes.goals import Goal, apart
from vlkng_ros.nodes.messages import pose_stamped
from vlkng_ros.nodes.path_check import PathCheck
from vlkng_ros.nodes.waiting import Waiter
from vlkng_ros.srv import CancelNavigation
from vlkng_ros.types import Pose

POLL_S = 0.1
WATCH_S = 0.5
FEEDBACK_S = 0.5
"""Nav2 gives feedback at up to 100 Hz; people and dashboards need less."""
FINAL = frozenset(
    (
        Report.STATE_SUCCEEDED,
        Report.STATE_ALREADY_THERE,
        Report.STATE_REJECTED,
        Report.STATE_ABORTED,
        Report.STATE_CANCELED,
        Report.STATE_PREEMPTED,
        Report.STATE_NO_SERVER,
        Report.STATE_TIMEOUT,
        Report.STATE_REFUSED,
    )
)


@dataclass(slots=True)
class _Drive:
    goals: list[Goal]
    navigation_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    state: int = Report.STATE_NONE
    message: str = ""
    attempt: int = 0
    error_code: int = 0
    feedback: Any = None
    feedback_s: float = 0.0
    handle: Any = None
    stop_state: int | None = None
    """Set to CANCELED or PREEMPTED when the drive is to end; no further goal is tried."""
    decided: Future = field(default_factory=Future)
    """Done once Nav2 accepted a goal, or the drive ended before that."""
    ended: Future = field(default_factory=Future)


class Navigation:
    """One drive at a time; a newer one ends the one before. Its coroutines run in the node's executor.

    Args:
        node: talks to the action server.
        config: read anew for each drive, so that live parameters hold.
        where: the robot's pose now, None where it is not known.
        publish: sends a report.
        waiter: for bounded waits.
        group: a reentrant callback group.
    """

    def __init__(
        self,
        node: Node,
        config: Callable[[], NavigationConfig],
        *,
        where: Callable[[], Pose | None],
        publish: Callable[[Report], None],
        waiter: Waiter,
        group: CallbackGroup,
    ) -> None:
        self._node = node
        self._config = config
        self._where = where
        self._publish = publish
        self._waiter = waiter
        self._current: _Drive | None = None
        self.action = node.resolve_topic_name(config().action)
        self._client: Any = None
        try:
            from nav2_msgs.action import NavigateToPose
        except ImportError:
            return
        self._action_type = NavigateToPose
        self._client = ActionClient(node, NavigateToPose, config().action, callback_group=group)
        self._path_check = PathCheck(node, waiter, group)

    @property
    def state(self) -> int:
        """The state of the newest drive, ``Navigation.STATE_*``."""
        return self._current.state if self._current is not None else Report.STATE_NONE

    # ------------------------------------------------------------------------------------------ for the services

    async def go(self, goals: Sequence[Goal]) -> Report:
        """Drive to the first goal that Nav2 reaches; returns once it accepted one, or cannot be asked.

        Args:
            goals: best first; no more than ``max_attempts`` are tried.
        """
        config = self._config()
        drive = _Drive(apart(goals, config.arrived_distance_m, config.arrived_angle_rad)[: config.max_attempts])
        before, self._current = self._current, drive
        self._node.executor.create_task(self._drive, drive, before)
        each_s = config.response_wait_s * (3 if config.check_path else 1) + 1.0
        longest_s = config.server_wait_s + each_s * (len(drive.goals) + 1)
        await self._waiter.done(drive.decided, longest_s)
        return self._report(drive)

    async def cancel(self, navigation_id: str) -> tuple[int, str]:
        """End a drive; an empty id is the present one.

        Returns:
            A status of ``CancelNavigation`` and, where it is not OK, what went wrong.
        """
        drive = self._current
        if drive is None or drive.state in FINAL or navigation_id not in ("", drive.navigation_id):
            return CancelNavigation.Response.NOT_FOUND, _nothing_to_cancel(drive, navigation_id)
        return await self._end(drive, Report.STATE_CANCELED, "cancelled by request")

    def stop(self) -> None:
        """Ask Nav2 to stop without waiting for its reply: the node is ending."""
        drive = self._current
        if drive is not None and drive.state not in FINAL:
            drive.stop_state, drive.message = Report.STATE_CANCELED, "query_node is ending"
            if drive.handle is not None:
                drive.handle.cancel_goal_async()
            self._finish(drive, Report.STATE_CANCELED, drive.message)

    def destroy(self) -> None:
        """Free the action client."""
        if self._client is not None:
            self._client.destroy()
            self._path_check.destroy()
            self._client = None

    async def _end(self, drive: _Drive, state: int, message: str) -> tuple[int, str]:
        drive.stop_state, drive.message = state, message
        config = self._config()
        if drive.handle is None:
            # Its goal has not been accepted; it ends when Nav2 has replied, at the latest.
            await self._waiter.done(drive.ended, config.server_wait_s + config.response_wait_s)
            return CancelNavigation.Response.OK, ""
        reply = drive.handle.cancel_goal_async()
        if not await self._waiter.done(reply, config.response_wait_s):
            text = f"{self.action}: no reply to the cancel request within {config.response_wait_s:g} s"
            self._finish(drive, Report.STATE_TIMEOUT, text)
            return CancelNavigation.Response.TIMEOUT, text
        if not reply.result().goals_canceling and not await self._waiter.done(drive.ended, WATCH_S):
            drive.stop_state = None
            return CancelNavigation.Response.ERROR, f"{self.action}: Nav2 refused to cancel; the robot drives on"
        await self._waiter.done(drive.ended, config.response_wait_s)
        self._finish(drive, state, message)
        return CancelNavigation.Response.OK, ""

    # ------------------------------------------------------------------------------------------ the drive

    async def _drive(self, drive: _Drive, before: _Drive | None) -> None:
        try:
            if before is not None and before.state not in FINAL:
                await self._end(before, Report.STATE_PREEMPTED, "a newer question took over")
            await self._try_goals(drive)
        except Exception as error:  # a drive must end in a state that somebody hears of
            if drive.state not in FINAL:
                self._node.get_logger().error(f"navigation: {type(error).__name__}: {error}")
            self._finish(drive, Report.STATE_ABORTED, f"unexpected error: {type(error).__name__}: {error}")

    async def _try_goals(self, drive: _Drive) -> None:
        if not await self._server_is_there(drive):
            return
        last_state, last_message = Report.STATE_REFUSED, "no goal to drive to"
        for number, goal in enumerate(drive.goals, 1):
            drive.attempt = number
            if number == 1 and self._is_there(goal.pose):
                self._finish(drive, Report.STATE_ALREADY_THERE, "the robot stands there already; no goal was sent")
                return
            self._say(drive, Report.STATE_SENDING, "")
            outcome = await self._try(drive, goal)
            if drive.stop_state is not None:
                self._finish(drive, drive.stop_state, drive.message)
                return
            last_state, last_message = outcome
            if last_state not in (Report.STATE_REJECTED, Report.STATE_ABORTED):
                break
            if number < len(drive.goals):
                self._say(drive, Report.STATE_RETRYING, f"{last_message}; trying the next keyframe")
        self._finish(drive, last_state, last_message)

    async def _server_is_there(self, drive: _Drive) -> bool:
        wait_s = self._config().server_wait_s
        if self._client is None:
            text = "nav2_msgs is not installed: install ros-$ROS_DISTRO-nav2-msgs to drive to answers"
            self._finish(drive, Report.STATE_NO_SERVER, text)
            return False
        deadline = time.monotonic() + wait_s
        while not self._client.server_is_ready():
            if drive.stop_state is not None:
                self._finish(drive, drive.stop_state, drive.message)
                return False
            if time.monotonic() >= deadline:
                text = f"no action server on {self.action} within {wait_s:g} s; start Nav2, or set navigation.action"
                self._finish(drive, Report.STATE_NO_SERVER, text)
                return False
            await self._waiter.pause(POLL_S)
        return True

    async def _try(self, drive: _Drive, goal: Goal) -> tuple[int, str]:
        """Send one goal and follow it to its end."""
        config = self._config()
        if config.check_path:
            why = await self._path_check.why_unreachable(goal.pose, config.response_wait_s)
            if why:
                return Report.STATE_REJECTED, f"pose of keyframe {goal.keyframe_id}: {why}"
        request = self._action_type.Goal()
        request.pose = pose_stamped(goal.pose, self._node.get_clock().now().nanoseconds)
        drive.feedback = None
        goal_id = UUID(uuid=list(uuid.uuid4().bytes))
        sent = self._client.send_goal_async(
            request, feedback_callback=lambda m: self._on_feedback(drive, m.feedback), goal_uuid=goal_id
        )
        if not await self._waiter.done(sent, config.response_wait_s):
            # Accepted after all, it would be a drive that nobody watches; the reply may also have been lost.
            self._take_back(goal_id)
            sent.add_done_callback(_cancel_if_accepted)
            return Report.STATE_TIMEOUT, f"{self.action}: no reply to the goal within {config.response_wait_s:g} s"
        handle = sent.result()
        if not handle.accepted:
            return Report.STATE_REJECTED, f"Nav2 rejected the pose of keyframe {goal.keyframe_id}"
        drive.handle = handle
        if drive.stop_state is not None:
            handle.cancel_goal_async()
        self._say(drive, Report.STATE_ACTIVE, "")
        _set(drive.decided)
        outcome = await self._follow(drive, handle, goal)
        drive.handle = None
        return outcome

    async def _follow(self, drive: _Drive, handle: Any, goal: Goal) -> tuple[int, str]:
        config = self._config()
        result = handle.get_result_async()
        deadline = time.monotonic() + config.result_wait_s
        seen_s = time.monotonic()
        while not await self._waiter.done(result, WATCH_S):
            now_s = time.monotonic()
            if self._client is None:
                return Report.STATE_CANCELED, "query_node is ending"
            if self._client.server_is_ready():
                seen_s = now_s
            if now_s - seen_s > config.server_wait_s:
                return Report.STATE_NO_SERVER, f"the action server on {self.action} went away during the drive"
            if now_s > deadline:
                handle.cancel_goal_async()
                return Report.STATE_TIMEOUT, f"not there within {config.result_wait_s:g} s; the goal was cancelled"
        reply = result.result()
        if reply.status == GoalStatus.STATUS_SUCCEEDED:
            return Report.STATE_SUCCEEDED, ""
        if reply.status == GoalStatus.STATUS_CANCELED:
            return Report.STATE_CANCELED, "the goal was cancelled by someone else"
        # Humble's result is empty, Jazzy's has a code, and a text in some releases.
        drive.error_code = int(getattr(reply.result, "error_code", 0))
        said = str(getattr(reply.result, "error_msg", ""))
        why = f" (error {drive.error_code})" if drive.error_code else ""
        text = f"Nav2 gave up on the pose of keyframe {goal.keyframe_id}{why}: {said}"
        return Report.STATE_ABORTED, text.rstrip(": ")

    def _take_back(self, goal_id: UUID) -> None:
        accepted = self._action_type.Impl.SendGoalService.Response(accepted=True)
        ClientGoalHandle(self._client, goal_id, accepted).cancel_goal_async()

    def _is_there(self, goal: Pose) -> bool:
        config, here = self._config(), self._where()
        if here is None or here.frame_id != goal.frame_id:
            return False
        here = here.on_floor()
        turn_rad = turn_between_rad(here, goal)
        return here.distance_m(goal) <= config.arrived_distance_m and turn_rad <= config.arrived_angle_rad

    # ------------------------------------------------------------------------------------------ reports

    def _on_feedback(self, drive: _Drive, feedback: Any) -> None:
        now_s = time.monotonic()
        drive.feedback = feedback
        if drive.state == Report.STATE_ACTIVE and now_s - drive.feedback_s >= FEEDBACK_S:
            drive.feedback_s = now_s
            self._publish(self._report(drive))

    def _say(self, drive: _Drive, state: int, message: str) -> None:
        drive.state, drive.message = state, message or drive.message
        self._publish(self._report(drive))

    def _finish(self, drive: _Drive, state: int, message: str) -> None:
        if drive.state not in FINAL:
            drive.message = message
            self._say(drive, state, message)
            self._node.get_logger().info(f"navigation {drive.navigation_id[:8]} ended: {message or 'arrived'}")
        _set(drive.decided)
        _set(drive.ended)

    def _report(self, drive: _Drive) -> Report:
        report = Report(
            stamp=self._node.get_clock().now().to_msg(),
            navigation_id=drive.navigation_id,
            state=drive.state,
            message=drive.message,
            attempt=drive.attempt,
            max_attempts=len(drive.goals),
            error_code=drive.error_code,
        )
        if drive.goals:
            goal = drive.goals[max(0, drive.attempt - 1)]
            report.keyframe_id = goal.keyframe_id
            report.goal = pose_stamped(goal.pose, self._node.get_clock().now().nanoseconds)
        if drive.feedback is not None:
            report.has_feedback = True
            report.distance_remaining_m = float(getattr(drive.feedback, "distance_remaining", 0.0))
            report.navigation_time_s = _seconds(getattr(drive.feedback, "navigation_time", None))
            report.estimated_time_remaining_s = _seconds(getattr(drive.feedback, "estimated_time_remaining", None))
            report.number_of_recoveries = max(0, int(getattr(drive.feedback, "number_of_recoveries", 0)))
        return report


def _nothing_to_cancel(drive: _Drive | None, navigation_id: str) -> str:
    if drive is None:
        return "nothing to cancel: no drive was asked for since query_node was activated"
    how = f"has ended already ({drive.message or 'arrived'})" if drive.state in FINAL else "is under way"
    if navigation_id not in ("", drive.navigation_id):
        return (
            f"nothing cancelled: '{navigation_id}' is not the newest drive; that is '{drive.navigation_id}', and {how}"
            "; an empty id means the newest"
        )
    return f"nothing to cancel: the newest drive {how}"


def _set(future: Future) -> None:
    if not future.done():
        future.set_result(None)


def _seconds(duration: Any) -> float:
    return 0.0 if duration is None else duration.sec + duration.nanosec * 1e-9


def _cancel_if_accepted(sent: Future) -> None:
    handle = sent.result()
    if handle is not None and handle.accepted:
        handle.cancel_goal_async()
