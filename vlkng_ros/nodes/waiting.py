"""Waiting inside coroutines of the executor, always with a bound."""

from __future__ import annotations

import concurrent.futures
import contextlib
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future


class Waiter:
    """Lets coroutines that run in a node's executor wait for futures, by steady time.

    Args:
        node: makes the timers.
        group: a reentrant group; in an exclusive one a coroutine that waits would hold up its own timer.
    """

    def __init__(self, node: Node, group: CallbackGroup) -> None:
        self._node = node
        self._group = group
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)

    async def done(self, future: Any, timeout_s: float) -> bool:
        """Whether a future of rclpy is done within ``timeout_s``."""
        if future.done():
            return True
        gate = Future()

        def open_gate(*_: object) -> None:
            if not gate.done():
                gate.set_result(None)
                self._wake()

        timer = self._node.create_timer(max(timeout_s, 1e-3), open_gate, callback_group=self._group, clock=self._clock)
        future.add_done_callback(open_gate)
        try:
            await gate
        finally:
            timer.cancel()
            self._node.destroy_timer(timer)
        return bool(future.done())

    async def pause(self, seconds: float) -> None:
        """Let others run for a while."""
        await self.done(Future(), seconds)

    def from_thread(self, future: concurrent.futures.Future[Any]) -> Future:
        """A future of rclpy that is done when one of a worker thread is.

        The executor sleeps until it is woken: without that, a coroutine learns nothing of what other threads set.
        """
        mirrored = Future()

        def mirror(_: object) -> None:
            mirrored.set_result(None)
            self._wake()

        future.add_done_callback(mirror)
        return mirrored

    def _wake(self) -> None:
        executor = self._node.executor
        if executor is not None:
            # One that was shut down meanwhile has nothing left to wake.
            with contextlib.suppress(AttributeError):
                executor.wake()
