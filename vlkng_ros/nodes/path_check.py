"""Asks Nav2's planner whether there is a way, before the robot sets off."""

from __future__ import annotations

from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from vlkng_ros.nodes.messages import pose_stamped
from vlkng_ros.nodes.waiting import Waiter
from vlkng_ros.types import Pose


class PathCheck:
    """A client of ``compute_path_to_pose``; a planner that is absent or slow forbids nothing."""

    def __init__(self, node: Node, waiter: Waiter, group: CallbackGroup) -> None:
        from nav2_msgs.action import ComputePathToPose

        self._node = node
        self._waiter = waiter
        self._type = ComputePathToPose
        self._client = ActionClient(node, ComputePathToPose, "compute_path_to_pose", callback_group=group)

    async def why_unreachable(self, pose: Pose, timeout_s: float) -> str:
        """Why the planner finds no way to a pose; empty where it finds one, or cannot be asked."""
        if not self._client.server_is_ready():
            return ""
        request = self._type.Goal()
        request.goal = pose_stamped(pose, self._node.get_clock().now().nanoseconds)
        request.use_start = False
        sent = self._client.send_goal_async(request)
        if not await self._waiter.done(sent, timeout_s):
            return ""
        handle = sent.result()
        if not handle.accepted:
            return ""
        result = handle.get_result_async()
        if not await self._waiter.done(result, timeout_s):
            handle.cancel_goal_async()
            return ""
        reply: Any = result.result()
        if reply.status == GoalStatus.STATUS_SUCCEEDED and reply.result.path.poses:
            return ""
        said = str(getattr(reply.result, "error_msg", ""))
        return f"the planner finds no way there{': ' if said else ''}{said}"

    def destroy(self) -> None:
        """Free the client."""
        self._client.destroy()
