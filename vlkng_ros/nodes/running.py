"""Runs a node until it is told to stop, and then lets it finish what it has begun."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import rclpy
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions

from vlkng_ros.errors import VlkngError
from vlkng_ros.nodes.usage import Usage, status_instead

ASKED = 50
"""How often a callback under way is asked to return, within 10 s."""


class RunnableNode(Protocol):
    """A node that can be stopped in an orderly way."""

    exit_status: int
    """What the process is to end with; not 0: at once."""

    def request_stop(self) -> None:
        """Make a callback that may take long return soon; called from another thread."""
        ...

    def close(self) -> None:
        """Finish what was begun and release everything; no callback runs any more."""
        ...


class _ToRosLog(logging.Handler):
    """Hands what the ROS-free parts say to the node's log."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.INFO)
        self._logger = get_logger(name)

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        # A line each: rclpy ties the severity to the place of the call.
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)


def log_to_ros(name: str) -> None:
    """Let the package's own loggers speak through the ROS log."""
    logger = logging.getLogger("vlkng_ros")
    logger.handlers = [_ToRosLog(name)]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def run_node(
    make: Callable[[], RunnableNode], arguments: Sequence[str] | None = None, usage: Usage | None = None
) -> int:
    """Make a node and spin it until SIGINT, SIGTERM or a shutdown of its context.

    The context outlives the signal, so that the node can still publish what it finishes. With ``usage`` it answers
    ``--help``, and refuses what ROS would pass over.

    Returns:
        The process's exit status: 2 where the node could not be made, or could not start by itself.
    """
    if usage is not None and (status := status_instead(usage, arguments)) is not None:
        return status
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # such as a parameter file that is not there; rcl adds where in its source it noticed
        print(f"the ROS arguments cannot be used: {str(error).partition(', at ')[0]}", file=sys.stderr)
        return VlkngError.exit_code
    # Python runs a handler between two of its instructions: not while this thread waits for an Event, if the signal
    # came just before, and with the Event's lock held, if it came within. A byte in a pipe is there whenever it came.
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    stop = threading.Event()
    try:
        try:
            node = make()
        except VlkngError as error:
            print(f"{error}", file=sys.stderr)
            return error.exit_code
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        spinning = threading.Thread(target=_spin, args=(executor, node, stop, wake), name="executor", daemon=True)
        spinning.start()
        os.read(woken, 1)
        stop.set()
        # rclpy's shutdown waits for nothing: the callback that runs has to end first. A bare wake goes on waiting.
        executor.create_task(lambda: None)
        for _ in range(ASKED):
            # Again and again: a callback may be about to begin what takes long.
            node.request_stop()
            spinning.join(timeout=10.0 / ASKED)
            if not spinning.is_alive():
                break
        executor.shutdown(timeout_sec=1.0)
        node.close()
        node.destroy_node()
        return node.exit_status
    finally:
        # Ctrl-C reaches a node twice, from the terminal and from ros2 launch; the second must not look like a crash.
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        rclpy.try_shutdown()


def _spin(executor: SingleThreadedExecutor, node: RunnableNode, stop: threading.Event, wake: int) -> None:
    try:
        while not stop.is_set() and not node.exit_status and rclpy.ok():
            try:
                executor.spin_once()
            except (ExternalShutdownException, ShutdownException):
                return
            except Exception:  # a fault in one callback must not end the node
                logging.getLogger("vlkng_ros").exception("unexpected error in a callback")
    finally:
        os.write(wake, b"e")
