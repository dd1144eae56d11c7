"""The worker's own process: loads the backend and describes what it is sent, one message at a time.

It speaks with its supervisor (``worker_handle``) over an inherited socket. Everything that libraries print, and log
records in a marked form, goes to standard error, which the supervisor reads.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import VlkngError, WorkerError
from vlkng_ros.perception.base import Frame, PerceptionBackend
from vlkng_ros.perception.channel import Channel, ChannelClosedError
from vlkng_ros.perception.grounding import ground
from vlkng_ros.perception.perception_json import perception_to_json

LOG_MARK = "\x1e"
"""Starts a line of standard error that is a log record: ``[level, logger, message]`` as JSON."""


def main(socket_fd: int, parent_pid: int) -> None:
    """Runs until the supervisor says stop or goes away."""
    _die_with(parent_pid)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the node's to handle; it stops us.
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, handlers=[_LogLines()], force=True)
    channel = Channel(socket.socket(fileno=socket_fd))
    try:
        message, _ = channel.receive()
        backend = _open(channel, message)
        if backend is not None:
            _serve(channel, backend)
            backend.close()
    except ChannelClosedError:
        pass


def describe_error(error: BaseException) -> dict[str, str]:
    """An error as a message; errors of ours keep their class."""
    if isinstance(error, VlkngError):
        return {"class": type(error).__name__, "text": str(error)}
    return {"class": WorkerError.__name__, "text": f"{type(error).__name__}: {error}"}


def _open(channel: Channel, message: Mapping[str, Any]) -> PerceptionBackend | None:
    module, _, function = message["factory"].partition(":")
    try:
        if message["niceness"]:
            os.nice(message["niceness"])
        factory: Callable[[PerceptionConfig], PerceptionBackend] = getattr(importlib.import_module(module), function)
        backend = factory(PerceptionConfig(**message["config"]))
    except Exception as error:  # whatever the libraries below raise is the reason to report
        logging.getLogger(__name__).debug("loading failed", exc_info=True)
        channel.send({"error": describe_error(error)})
        return None
    channel.send(
        {
            "ready": True,
            "name": backend.name,
            "model": backend.model,
            "batch_size": backend.batch_size,
            "chunked": backend.chunked,
        }
    )
    return backend


def _serve(channel: Channel, backend: PerceptionBackend) -> None:
    while True:
        message, body = channel.receive()
        if "stop" in message:
            return
        channel.send({"taken": True})
        try:
            backend.min_score = message["min_score"]
            frames, phrase = _frames(message["frames"], memoryview(body)), message["phrase"]
            perceptions = ground(backend, frames, phrase) if phrase else backend.describe(frames)
            reply: dict[str, Any] = {"perceptions": [perception_to_json(p) for p in perceptions]}
        except Exception as error:  # one bad frame must not cost the loaded model
            logging.getLogger(__name__).debug("describing failed", exc_info=True)
            reply = {"error": describe_error(error)}
        channel.send({**reply, "counters": dict(backend.counters)})


def _frames(headers: Sequence[Mapping[str, int]], body: memoryview) -> list[Frame]:
    frames: list[Frame] = []
    for header in headers:
        height, width = header["height"], header["width"]
        length = height * width * 3
        pixels = np.frombuffer(body[:length], dtype=np.uint8).reshape(height, width, 3)
        frames.append(Frame(header["keyframe_id"], header["stamp_ns"], pixels))
        body = body[length:]
    return frames


def _die_with(parent_pid: int) -> None:
    """Has the kernel end this process when its supervisor ends, even while a model's C++ code is running."""
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1  # PR_SET_PDEATHSIG, <linux/prctl.h>
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:  # it ended before we asked
        os._exit(0)


class _LogLines(logging.Handler):
    """Log records as marked lines, one write each, so that lines of several threads do not mix."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info:
                text = f"{text}\n{logging.Formatter().formatException(record.exc_info)}"
            line = LOG_MARK + json.dumps([record.levelno, record.name, text]) + "\n"
            os.write(2, line.encode())
        except Exception:  # as logging.Handler does: a bad record must not end the worker
            self.handleError(record)
