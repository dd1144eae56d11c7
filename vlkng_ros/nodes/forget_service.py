"""``builder_node/forget``: the one process that may write takes things out of the memory on request."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from vlkng_ros.errors import InvalidInputError, NotInMemoryError, VlkngError
from vlkng_ros.memory import MemoryWriter
from vlkng_ros.nodes.managed_node import ManagedNode
from vlkng_ros.nodes.messages import ns_of
from vlkng_ros.nodes.waiting import Waiter
from vlkng_ros.srv import Forget

TIMEOUT_S = 60.0


class ForgetService:
    """Serves ``~/forget`` from a thread of its own: much to forget takes seconds.

    Args:
        node: offers the service.
        writer: the open memory, None while there is none.
        waiter: for the bounded wait.
        group: a reentrant callback group.
    """

    def __init__(
        self, node: ManagedNode, writer: Callable[[], MemoryWriter | None], waiter: Waiter, group: Any
    ) -> None:
        self._node = node
        self._writer = writer
        self._waiter = waiter
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="forget")
        node.create_service(Forget, "~/forget", self._reply, callback_group=group)

    async def _reply(self, request: Forget.Request, response: Forget.Response) -> Forget.Response:
        writer = self._writer()
        if writer is None or not self._node.is_active:
            response.status, response.message = response.INACTIVE, f"{self._node.get_name()} is not active"
            return response
        future = self._pool.submit(_forget, writer, request)
        if not await self._waiter.done(self._waiter.from_thread(future), TIMEOUT_S):
            response.status, response.message = response.TIMEOUT, f"not finished after {TIMEOUT_S:g} s; it goes on"
            return response
        try:
            gone = future.result()
        except InvalidInputError as error:
            response.status, response.message = response.INVALID, str(error)
        except NotInMemoryError as error:
            response.status, response.message = response.NOT_FOUND, str(error)
        except VlkngError as error:
            response.status, response.message = response.ERROR, str(error)
        else:
            response.keyframes, response.observations = gone.keyframes, gone.observations
            response.entities, response.images = sum(gone.entities.values()), gone.images
            if not gone:
                response.status, response.message = response.NOT_FOUND, "nothing of it was remembered"
        return response


def _forget(writer: MemoryWriter, request: Forget.Request) -> Any:
    return writer.forget(
        view=request.view or None,
        entity_ids=tuple(request.entity_ids),
        label=request.label or None,
        since_ns=ns_of(request.since) if request.use_since else None,
        until_ns=ns_of(request.until) if request.use_until else None,
        area=tuple(float(edge) for edge in request.area) if request.use_area else None,
        map_id=request.map_id or None,
    )
