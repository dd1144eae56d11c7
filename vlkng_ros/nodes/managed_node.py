"""What both nodes share: lifecycle that says why it failed, autostart, status, and an orderly end."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer

from vlkng_ros.building.health import Level, Problem, ProblemLog
from vlkng_ros.errors import VlkngError
from vlkng_ros.nodes.subscriptions import keep_last

STATUS_PERIOD_S = 1.0


class ManagedNode(LifecycleNode):
    """A lifecycle node that configures and activates itself unless the parameter ``autostart`` is off.

    By itself it starts or ends: what keeps it from that is said, and ``exit_status`` is set. Without ``autostart`` it
    stays unconfigured, with the reason in its status, and whoever manages it may try again.

    Subclasses implement ``configure``, ``activate``, ``deactivate`` and ``cleanup``, which raise ``VlkngError`` with
    what is wrong, and ``problems`` and ``facts`` for the status. Its status goes to ``~/status`` and
    ``/diagnostics`` once a second in every state.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        # Waiting and reporting go by steady time: simulated time may stand still.
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.failure = ""
        self.stop_requested = False
        """Whether the process was told to end; what fails then is no failure."""
        self.exit_status = 0
        """What the process ends with. Not 0: it is of no use any more, and whoever runs it should end it."""
        self._problem_log = ProblemLog()
        self._status = self.create_publisher(DiagnosticStatus, "~/status", keep_last(1, reliable=True, latched=True))
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", keep_last(10, reliable=True))
        autostart = ParameterDescriptor(
            description="configure and activate at the start, without a lifecycle manager", read_only=True
        )
        self._autostart = bool(self.declare_parameter("autostart", True, autostart).value)
        self._refuse_impossible_transitions()
        self.create_timer(STATUS_PERIOD_S, self._report, clock=self.steady_clock)
        self._starter: Timer | None = None
        self._starting = False

    def start(self) -> None:
        """Begin, if the node starts by itself; call it when the subclass is complete."""
        if self._autostart:
            self._starter = self.create_timer(0.0, self._start, clock=self.steady_clock)

    def _start(self) -> None:
        if self._starter is not None:
            self._starter.cancel()
            self.destroy_timer(self._starter)
            self._starter = None
        done = TransitionCallbackReturn.SUCCESS
        self._starting = True
        started = self.trigger_configure() == done and self.trigger_activate() == done
        self._starting = False
        if not started and not self.stop_requested:
            # Nobody manages it: up and idle it would look well to launch, and no respawn would start it again.
            self._report()
            self.get_logger().fatal(f"cannot start, and ends: {self.failure}")
            self.exit_status = VlkngError.exit_code

    @property
    def is_active(self) -> bool:
        """Whether the node is in its active state."""
        return self._state_machine.current_state[1] == "active"

    # ------------------------------------------------------------------------------------------ for subclasses

    def configure(self) -> None:
        """Open what is needed."""

    def activate(self) -> None:
        """Begin to work."""

    def deactivate(self) -> None:
        """Stop working; what was begun is finished."""

    def cleanup(self) -> None:
        """Release everything."""

    def problems(self) -> Sequence[Problem]:
        """What is wrong now."""
        return []

    def facts(self) -> Mapping[str, object]:
        """Figures for the status."""
        return {}

    # ------------------------------------------------------------------------------------------ lifecycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Called by the lifecycle."""
        return self._transition("configure", self.configure, undo=self.cleanup) or super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Called by the lifecycle."""
        return self._transition("activate", self.activate, undo=self.deactivate) or super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Called by the lifecycle."""
        return self._transition("deactivate", self.deactivate) or super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Called by the lifecycle."""
        return self._transition("clean up", self.cleanup) or super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Called by the lifecycle."""
        return self._transition("shut down", self._end) or super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Called by the lifecycle: back to the start."""
        self._transition("recover", self._end)
        return TransitionCallbackReturn.SUCCESS

    def _end(self) -> None:
        self.deactivate()
        self.cleanup()

    def _refuse_impossible_transitions(self) -> None:
        """Answer requests for a transition that the state does not have; rclpy raises, and they wait for ever."""
        service = self._service_change_state
        change = service.callback

        def change_state(request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
            possible = {number: label for number, label, *_ in self._state_machine.available_transitions}
            wanted = request.transition.label or request.transition.id
            if wanted in possible or wanted in possible.values():
                return change(request, response)
            state = self._state_machine.current_state[1]
            self.get_logger().warning(
                f"transition {wanted} refused: the node is {state}; possible: {', '.join(possible.values())}"
            )
            response.success = False
            return response

        service.callback = change_state

    def _transition(self, name: str, work: Any, undo: Any = None) -> TransitionCallbackReturn | None:
        """None where it went well. rclpy swallows what a transition raises, so it is said here."""
        try:
            work()
        except VlkngError as error:
            self.failure = str(error)
            if self.stop_requested:
                self.get_logger().info(f"told to stop before it could {name}")
            elif not self._starting:
                self.get_logger().error(f"cannot {name}: {error}")
        except Exception as error:  # rclpy would hide it
            self.failure = f"{type(error).__name__}: {error}"
            self.get_logger().fatal(f"cannot {name}: {self.failure}\n{traceback.format_exc()}")
        else:
            self.failure = ""
            return None
        if undo is not None:
            try:
                undo()
            except Exception as error:  # the first failure is the one to tell
                self.get_logger().warning(f"while undoing: {error}")
        return TransitionCallbackReturn.FAILURE

    # ------------------------------------------------------------------------------------------ status and end

    def _report(self) -> None:
        state = self._state_machine.current_state[1]
        problems = list(self.problems()) if state == "active" else []
        if self.failure:
            problems.insert(0, Problem("lifecycle", self.failure, Level.ERROR))
        for problem in self._problem_log.update(problems, time.monotonic()):
            if problem.key == "lifecycle":
                continue
            if problem.level == Level.ERROR:
                self.get_logger().error(problem.text)
            else:
                self.get_logger().warning(problem.text)
        values = {"state": state, **self.facts()}
        for problem in problems:
            values[f"problem: {problem.key}"] = problem.text
        status = DiagnosticStatus(
            level=bytes([max((problem.level for problem in problems), default=Level.OK)]),
            name=self.get_fully_qualified_name().lstrip("/"),
            message="; ".join(problem.text for problem in problems) or state,
            hardware_id="",
            values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
        )
        self._status.publish(status)
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

    def request_stop(self) -> None:
        """Make a transition that may take long return soon."""
        self.stop_requested = True

    def close(self) -> None:
        """Finish what was begun and release everything."""
        self._end()


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
