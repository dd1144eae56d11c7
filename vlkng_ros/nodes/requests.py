"""How services reply: as coroutines that wait for the memory's thread, with a status and a message in every case."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from rclpy.callback_groups import CallbackGroup

from vlkng_ros.config import QueryConfig
from vlkng_ros.errors import ConfigError, InvalidInputError, MemoryNotFoundError, NotInMemoryError, VlkngError
from vlkng_ros.nodes.managed_node import ManagedNode
from vlkng_ros.nodes.memory_thread import MemoryThread, OpenMemory
from vlkng_ros.nodes.waiting import Waiter

T = TypeVar("T")


class RequestError(Exception):
    """A request that gets no answer: what its reply says."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Requests:
    """Takes requests of any service and sees to it that each gets its reply.

    Args:
        node: offers the services; they are refused while it is not active.
        waiter: for bounded waits.
        memory: the memory's thread, None while there is none.
        config: ``retrieval.timeout_s`` is used, read anew for each request.
        group: a reentrant callback group, so that a request that waits holds up no other.
    """

    def __init__(
        self,
        node: ManagedNode,
        waiter: Waiter,
        memory: Callable[[], MemoryThread | None],
        config: Callable[[], QueryConfig],
        group: CallbackGroup,
    ) -> None:
        self.counts = {"asked": 0, "answered": 0, "failed": 0}
        self.last_error = ""
        self._node = node
        self._waiter = waiter
        self._memory = memory
        self._config = config
        self._group = group

    def serve(self, kind: Any, name: str, work: Callable[[Any, Any], Awaitable[None]]) -> None:
        """Offer ``~/name``; ``work`` fills in the response, or raises."""

        async def reply(request: Any, response: Any) -> Any:
            self.counts["asked"] += 1
            try:
                if not self._node.is_active:
                    text = f"{self._node.get_name()} is not active; activate it, or set autostart"
                    raise RequestError(response.INACTIVE, text)
                await work(request, response)
            except Exception as error:  # whoever asks must get a reply
                response.status, response.message = self._refusal(error, response)
            self.counts["answered" if response.status == response.OK else "failed"] += 1
            return response

        self._node.create_service(kind, f"~/{name}", reply, callback_group=self._group)

    def _refusal(self, error: Exception, response: Any) -> tuple[int, str]:
        """Status and message; a service without the fitting status says ERROR."""
        if isinstance(error, RequestError):
            return error.status, str(error)
        if isinstance(error, InvalidInputError | ConfigError):
            return getattr(response, "INVALID", response.ERROR), str(error)
        if isinstance(error, MemoryNotFoundError):
            return getattr(response, "EMPTY_MEMORY", response.ERROR), str(error)
        if isinstance(error, NotInMemoryError):
            return response.NOT_FOUND, str(error)
        self.last_error = str(error) if isinstance(error, VlkngError) else f"{type(error).__name__}: {error}"
        self._node.get_logger().error(f"a question failed: {self.last_error}")
        return response.ERROR, self.last_error

    async def in_memory(self, job: Callable[[OpenMemory], T], response: Any) -> T:
        """Run a job in the memory's thread.

        Raises:
            RequestError: it took longer than ``retrieval.timeout_s``, or the node is ending.
        """
        memory = self._memory()
        if memory is None:
            raise RequestError(response.INACTIVE, f"{self._node.get_name()} is not active")
        future = memory.submit(job)
        timeout_s = self._config().retrieval.timeout_s
        if not await self._waiter.done(self._waiter.from_thread(future), timeout_s):
            future.cancel()
            text = f"no answer within {timeout_s:g} s; ask for less, or raise retrieval.timeout_s"
            raise RequestError(response.TIMEOUT, text)
        if future.cancelled():
            raise RequestError(response.INACTIVE, f"{self._node.get_name()} is ending")
        return future.result()
