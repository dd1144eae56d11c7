"""The demo's own node: it asks the questions, and listens to how the drive goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from vlkng_ros.msg import Navigation, Stored
from vlkng_ros.nodes.messages import ns_of, pose_from
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.srv import Ask
from vlkng_ros.types import Pose

FINAL_STATES = {
    getattr(Navigation, f"STATE_{name}"): name.lower().replace("_", " ")
    for name in (
        "SUCCEEDED", "ALREADY_THERE", "REJECTED", "ABORTED", "CANCELED", "PREEMPTED", "NO_SERVER", "TIMEOUT", "REFUSED",
    )
}  # fmt: skip
"""States of ``~/navigation`` after which nothing more comes, by what they are called."""


class WaitedTooLongError(Exception):
    """Something did not happen in time; the message says what."""


class DemoClient:
    """Spins its node in a thread; ``wait`` is how the demo lets time pass.

    Args:
        check: called several times a second while waiting; raises where going on makes no sense.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self.now_ns: int | None = None
        self.true_poses: list[Pose] = []
        self.stored = 0
        self.builder: dict[str, str] = {}
        """What builder_node says about itself."""
        self.reports: list[Navigation] = []
        rclpy.init()
        self._node = Node("demo")
        reliable = keep_last(100, reliable=True)
        self._node.create_subscription(Clock, "/clock", self._on_clock, keep_last(1, reliable=False))
        self._node.create_subscription(PoseStamped, "gallery_robot/true_pose", self._on_true_pose, reliable)
        self._node.create_subscription(Stored, "builder_node/stored", self._on_stored, keep_last(1000, reliable=True))
        self._node.create_subscription(Navigation, "query_node/navigation", self.reports.append, reliable)
        self._node.create_subscription(DiagnosticStatus, "builder_node/status", self._on_status, reliable)
        self._speed = self._node.create_client(SetParameters, "gallery_robot/set_parameters")
        self._ask = self._node.create_client(Ask, "query_node/ask")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, daemon=True)

    def __enter__(self) -> DemoClient:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(timeout_sec=2.0)
        self._thread.join(timeout=5.0)
        self._node.destroy_node()
        rclpy.try_shutdown()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            return

    def _on_clock(self, message: Clock) -> None:
        self.now_ns = ns_of(message.clock)

    def _on_true_pose(self, message: PoseStamped) -> None:
        self.true_poses.append(pose_from(message))

    def _on_stored(self, message: Stored) -> None:
        self.stored += 1

    def _on_status(self, message: DiagnosticStatus) -> None:
        self.builder = {pair.key: pair.value for pair in message.values}

    def set_speed(self, speed: float) -> None:
        """Let simulated time run at another speed."""
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=speed)
        self._speed.call_async(SetParameters.Request(parameters=[Parameter(name="gallery.speed", value=value)]))

    def wait(
        self, condition: Callable[[], bool], timeout_s: float, what: str, tell: Callable[[], None] = lambda: None
    ) -> None:
        """Let time pass until a condition holds; ``tell`` is called meanwhile.

        Raises:
            WaitedTooLongError: it did not come to hold.
        """
        deadline = time.monotonic() + timeout_s
        while not condition():
            self._check()
            tell()
            if time.monotonic() > deadline:
                raise WaitedTooLongError(f"{what}: not within {timeout_s:.0f} s")
            time.sleep(0.1)
        tell()

    def wait_for_services(self, timeout_s: float) -> None:
        """Wait until query_node can be asked."""
        self.wait(self._ask.service_is_ready, timeout_s, "the service of query_node")

    def ask_soon(self, question: str, *, navigate: bool = False) -> Any:
        """Ask without waiting: a future of the reply."""
        return self._ask.call_async(Ask.Request(question=question, navigate=navigate))

    def ask(self, question: str, timeout_s: float, *, navigate: bool = False) -> Ask.Response:
        """Ask, and wait for the reply."""
        future = self.ask_soon(question, navigate=navigate)
        self.wait(future.done, timeout_s, f"a reply to '{question}'")
        return future.result()

    def end_of(self, navigation_id: str) -> Navigation | None:
        """The last report of a drive, once it has ended."""
        mine = [report for report in list(self.reports) if report.navigation_id == navigation_id]
        return mine[-1] if mine and mine[-1].state in FINAL_STATES else None

    def progress_of(self, navigation_id: str) -> Navigation | None:
        """The newest report of a drive."""
        return next((r for r in reversed(list(self.reports)) if r.navigation_id == navigation_id), None)
