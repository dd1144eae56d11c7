"""NavigateToPose servers that do what Nav2 does, well and badly."""

from __future__ import annotations

import threading

import rclpy
from nav2_msgs.action import ComputePathToPose, NavigateToPose
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from running_nodes import SpinningThread

REACH, ABORT, REJECT, HANG, DEAF = "reach", "abort", "reject", "hang", "deaf"


class FakeNav2(Node):
    """Treats goal after goal as ``plan`` says; after its end as its last entry says.

    ``reach`` and ``abort`` drive until the test calls ``arrive``, unless ``at_once``; ``hang`` never ends by itself;
    ``deaf`` accepts only when the test calls ``arrive``, and then hangs.
    """

    def __init__(self, plan=(REACH,), *, at_once=True, refuse_cancel=False) -> None:
        super().__init__("bt_navigator")
        self.plan = list(plan)
        self.goals: list[NavigateToPose.Goal] = []
        self.cancelled = 0
        self.changed = threading.Condition()
        self._at_once = at_once
        self._refuse_cancel = refuse_cancel
        self._go_on = threading.Event()
        self._group = ReentrantCallbackGroup()
        self._server = ActionServer(
            self,
            NavigateToPose,
            "navigate_to_pose",
            self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
            callback_group=self._group,
        )

    def _behaviour(self, goal) -> str:
        number = next(number for number, known in enumerate(self.goals) if known is goal)
        return self.plan[min(number, len(self.plan) - 1)]

    def _on_goal(self, goal) -> GoalResponse:
        with self.changed:
            self.goals.append(goal)
            self.changed.notify_all()
        if self._behaviour(goal) == DEAF:
            self._go_on.wait(timeout=150.0)
            self._go_on.clear()
        return GoalResponse.REJECT if self._behaviour(goal) == REJECT else GoalResponse.ACCEPT

    def _on_cancel(self, handle) -> CancelResponse:
        if self._refuse_cancel:
            return CancelResponse.REJECT
        self.cancelled += 1
        return CancelResponse.ACCEPT

    def arrive(self) -> None:
        """End the drive under way as planned."""
        self._go_on.set()

    def _execute(self, handle):
        behaviour = self._behaviour(handle.request)
        feedback = NavigateToPose.Feedback()
        feedback.distance_remaining = 3.5
        feedback.number_of_recoveries = 1
        handle.publish_feedback(feedback)
        if behaviour in (HANG, DEAF) or not self._at_once:
            while not handle.is_cancel_requested and not self._go_on.wait(timeout=0.05):
                pass
        result = NavigateToPose.Result()
        if handle.is_cancel_requested:
            handle.canceled()
        elif behaviour == ABORT:
            result.error_code = 207
            result.error_msg = "no path"
            handle.abort()
        else:
            handle.succeed()
        return result

    def destroy_node(self) -> None:
        self._go_on.set()
        self._server.destroy()
        super().destroy_node()


class FakePlanner(Node):
    """A planner that finds a way only to where x is below ``reach_m``."""

    def __init__(self, reach_m: float) -> None:
        super().__init__("planner_server")
        self.asked: list[float] = []
        self._reach_m = reach_m
        self._server = ActionServer(self, ComputePathToPose, "compute_path_to_pose", self._execute)

    def arrive(self) -> None:
        """It drives nowhere."""

    def _execute(self, handle):
        x = handle.request.goal.pose.position.x
        self.asked.append(x)
        result = ComputePathToPose.Result()
        if x < self._reach_m:
            result.path.poses = [handle.request.goal]
            handle.succeed()
        else:
            result.error_code, result.error_msg = 209, "goal is behind a wall"
            handle.abort()
        return result

    def destroy_node(self) -> None:
        self._server.destroy()
        super().destroy_node()


class Nav2InThread:
    """Spins a server until the test ends, or until it goes away in mid-drive."""

    def __init__(self, node: FakeNav2) -> None:
        self.node = node
        executor = MultiThreadedExecutor(num_threads=4)
        executor.add_node(node)
        self._spinning = SpinningThread(executor)
        self._spinning.start()

    def stop(self) -> None:
        self.node.arrive()
        self._spinning.stop()
        self.node.destroy_node()


if __name__ == "__main__":
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    server = FakeNav2((HANG,))

    def say_when_heard():
        if server.count_clients("/navigate_to_pose/_action/send_goal"):
            print("heard a client", flush=True)

    server.create_timer(0.2, say_when_heard)
    executor = MultiThreadedExecutor(num_threads=4)
    executor.add_node(server)
    executor.spin()
