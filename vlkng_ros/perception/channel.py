"""Messages between the node's process and the worker's: a JSON header and raw bytes, over a socket.

Nothing is unpickled, and every wait has a deadline (``time.monotonic()``; None waits for ever).
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

_LENGTHS = struct.Struct("!IQ")
_MAX_HEADER_BYTES = 64 << 20
_MAX_BODY_BYTES = 4 << 30

Message = dict[str, Any]


class ChannelClosedError(Exception):
    """The other side is gone."""


class Channel:
    """One end of the conversation; used by one thread at a time."""

    def __init__(self, connection: socket.socket) -> None:
        """Takes over a connected stream socket."""
        self._socket = connection

    def send(self, message: Message, parts: Sequence[bytes | memoryview] = (), deadline: float | None = None) -> None:
        """Sends a message and the bytes of ``parts`` one after the other.

        Raises:
            TimeoutError: the other side did not take it in time; the channel cannot be used any more.
            ChannelClosedError: the other side is gone.
        """
        header = json.dumps(message).encode()
        lengths = _LENGTHS.pack(len(header), sum(memoryview(part).nbytes for part in parts))
        for part in (lengths + header, *parts):
            self._send_all(memoryview(part).cast("B"), deadline)

    def receive(self, deadline: float | None = None) -> tuple[Message, bytearray]:
        """The next message and its bytes.

        Raises:
            TimeoutError: nothing whole came in time; the channel cannot be used any more.
            ChannelClosedError: the other side is gone, or what it sent is no message.
        """
        header_length, body_length = _LENGTHS.unpack(self._receive_exactly(_LENGTHS.size, deadline))
        if header_length > _MAX_HEADER_BYTES or body_length > _MAX_BODY_BYTES:
            raise ChannelClosedError(f"a message of {header_length} + {body_length} bytes")
        try:
            message = json.loads(self._receive_exactly(header_length, deadline))
        except ValueError as error:
            raise ChannelClosedError(f"a message that is not JSON: {error}") from error
        return message, self._receive_exactly(body_length, deadline)

    def close(self) -> None:
        """Closes this end; the other side's waits end."""
        self._socket.close()

    def _send_all(self, view: memoryview, deadline: float | None) -> None:
        while view:
            self._wait_until(deadline)
            try:
                view = view[self._socket.send(view) :]
            except TimeoutError:
                raise
            except OSError as error:
                raise ChannelClosedError(str(error)) from error

    def _receive_exactly(self, length: int, deadline: float | None) -> bytearray:
        received = bytearray(length)
        view = memoryview(received)
        while view:
            self._wait_until(deadline)
            try:
                count = self._socket.recv_into(view)
            except TimeoutError:
                raise
            except OSError as error:
                raise ChannelClosedError(str(error)) from error
            if count == 0:
                raise ChannelClosedError("the connection was closed")
            view = view[count:]
        return received

    def _wait_until(self, deadline: float | None) -> None:
        if deadline is None:
            self._socket.settimeout(None)
            return
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)
