"""The supervisor's hold on one worker process: start it, have frames described, end it. Every wait is bounded."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

import numpy as np

from vlkng_ros import errors
from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError, VlkngError, WorkerError
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.channel import Channel, ChannelClosedError, Message
from vlkng_ros.perception.perception_json import perception_from_json
from vlkng_ros.perception.worker_process import LOG_MARK
from vlkng_ros.types import Perception

# A fresh interpreter, neither forked (threads, DDS and CUDA do not survive that) nor multiprocessing's spawn (which
# would import the node's main module, and rclpy with it). It gets our sys.path and nothing of our state.
_BOOT = (
    "import sys; sys.path[:] = sys.argv[1].split('\\n'); "
    "from vlkng_ros.perception.worker_process import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
_END_WAIT_S = 5.0
_TAIL_LINES = 20

_log = logging.getLogger(__name__)


class WorkerDiedError(WorkerError):
    """The process ended, or was silent for too long and was ended.

    ``had_frames`` holds where it had taken the frames: they may be why.
    """

    def __init__(self, text: str, had_frames: bool = False) -> None:
        super().__init__(text)
        self.had_frames = had_frames


class WorkerHandle:
    """One worker process. ``start`` and ``describe`` are for one thread; ``kill`` for any."""

    def __init__(self, config: PerceptionConfig, factory: str, on_end: Callable[[], None]) -> None:
        """Prepares; nothing is started yet.

        Args:
            config: what to run, with its time-outs.
            factory: ``module:function``, called with the configuration in the new process.
            on_end: called from another thread when the process has ended, for whatever reason.
        """
        self._config = config
        self._factory = factory
        self._on_end = on_end
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._reader: threading.Thread | None = None
        self._lock = threading.Lock()
        self._killed = False
        self.batch_size = 1
        self.chunked = False
        self.name = ""
        self.model = ""
        self.counters: Counter[str] = Counter()

    @property
    def pid(self) -> int | None:
        """The process's id while there is one."""
        return self._process.pid if self._process is not None else None

    @property
    def ended(self) -> bool:
        """Whether the process was started and is gone."""
        return self._process is not None and self._process.poll() is not None

    def start(self) -> None:
        """Starts the process and waits until its model is loaded.

        The kernel ends the process when the *thread* that called this ends.

        Raises:
            ModelError: why it cannot be loaded; the process is gone.
        """
        deadline = time.monotonic() + self._config.start_timeout_s
        self._spawn()
        hello = {
            "factory": self._factory,
            "config": dataclasses.asdict(self._config),
            "niceness": self._config.niceness,
        }
        waiting = f"the model was not loaded after {self._config.start_timeout_s:g} s (perception.start_timeout_s)"
        ready = self._ask(hello, (), deadline, waiting)
        self.name, self.model = ready["name"], ready["model"]
        self.batch_size, self.chunked = max(1, ready["batch_size"]), ready["chunked"]

    def describe(
        self, frames: Sequence[Frame], min_score: float, timeout_s: float, phrase: str = ""
    ) -> list[Perception]:
        """Has frames described, or searched for ``phrase``.

        Raises:
            WorkerDiedError: the process is gone; ``had_frames`` says whether these frames may be why.
            ModelError: what the backend said; the process goes on.
        """
        headers = [
            {"keyframe_id": f.keyframe_id, "stamp_ns": f.stamp_ns, "width": f.size_px[0], "height": f.size_px[1]}
            for f in frames
        ]
        pixels = [np.ascontiguousarray(frame.image).data for frame in frames]
        waiting = f"the model was silent for {timeout_s:g} s (perception.timeout_s)"
        question = {"frames": headers, "min_score": min_score, "phrase": phrase}
        deadline = time.monotonic() + timeout_s
        # A process may end between two batches, and nothing tells us before we send: it says when it has the frames.
        self._ask(question, pixels, deadline, waiting)
        try:
            reply = self._receive(deadline, waiting)
        except WorkerDiedError as error:
            error.had_frames = True
            raise
        try:
            perceptions = [perception_from_json(item) for item in reply["perceptions"]]
        except ValueError as error:
            raise WorkerError(f"perception: '{self.name}' said something that cannot be kept: {error}") from error
        if len(perceptions) != len(frames):
            raise WorkerError(f"perception: {len(frames)} frames gave {len(perceptions)} descriptions")
        return perceptions

    def stop(self, timeout_s: float = _END_WAIT_S) -> None:
        """Lets an idle process free its model and end; ends it after ``timeout_s``."""
        if self._channel is not None and self._process is not None:
            with contextlib.suppress(TimeoutError, ChannelClosedError):
                self._channel.send({"stop": True}, deadline=time.monotonic() + timeout_s)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        self.kill()

    def kill(self) -> None:
        """Ends the process and everything it started, and reaps it. Harmless when repeated."""
        with self._lock:
            self._killed = True
            if self._process is None:
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            try:
                self._process.wait(_END_WAIT_S)
            except subprocess.TimeoutExpired:
                _log.error("perception worker %d does not end after SIGKILL; left behind", self._process.pid)

    def close(self) -> None:
        """``kill``, and the ends of the pipes."""
        self.kill()
        if self._reader is not None:
            self._reader.join(_END_WAIT_S)
        if self._channel is not None:
            self._channel.close()

    def _spawn(self) -> None:
        if not sys.executable:
            raise WorkerError("perception worker: sys.executable is empty, so no Python can be started")
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        search_path = "\n".join(os.path.abspath(entry) for entry in sys.path)
        command = [sys.executable, "-c", _BOOT, search_path, str(theirs.fileno()), str(os.getpid())]
        with self._lock, theirs:
            if self._killed:
                raise WorkerDiedError("perception worker: stopped")
            try:
                self._process = subprocess.Popen(
                    command,
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise WorkerError(f"perception worker: {sys.executable} cannot be started: {error}") from error
        self._reader = threading.Thread(target=self._read_output, name="perception-output", daemon=True)
        self._reader.start()

    def _ask(self, message: Message, parts: Sequence[memoryview], deadline: float, waiting: str) -> Message:
        """One message there and back; ``waiting`` says what a time-out means."""
        try:
            if self._channel is not None:
                self._channel.send(message, parts, deadline)
        except TimeoutError:
            self.kill()
            raise WorkerDiedError(f"perception worker: {waiting} and was ended") from None
        except ChannelClosedError:
            raise WorkerDiedError(f"perception worker: {self.end_reason()}") from None
        return self._receive(deadline, waiting)

    def _receive(self, deadline: float, waiting: str) -> Message:
        if self._channel is None:
            raise WorkerDiedError("perception worker: not started")
        try:
            reply, _ = self._channel.receive(deadline)
        except TimeoutError:
            self.kill()
            raise WorkerDiedError(f"perception worker: {waiting} and was ended") from None
        except ChannelClosedError:
            raise WorkerDiedError(f"perception worker: {self.end_reason()}") from None
        if "counters" in reply:
            self.counters = Counter(reply["counters"])
        if "error" in reply:
            raise _error_from(reply["error"])
        return reply

    def end_reason(self) -> str:
        """Why the process is gone, with the end of what it printed."""
        process = self._process
        if process is None:
            return "not started"
        try:
            status = process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its connection and was ended"
        if self._reader is not None:
            self._reader.join(_END_WAIT_S)
        if self._killed:
            return "stopped"
        tail = "; ".join(line for line in self._tail if line.strip())
        if status >= 0:
            how = f"ended with exit code {status}"
        else:
            name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
            hint = " (out of memory?)" if -status == signal.SIGKILL else ""
            how = f"was ended by {name}{hint}"
        return f"{how}: {tail[-2000:]}" if tail else how

    def _read_output(self) -> None:
        """Forwards the process's log records and keeps the end of what its libraries print."""
        if self._process is None or self._process.stdout is None:
            return
        with self._process.stdout as output:
            for raw in output:
                line = raw.decode("utf-8", "replace").rstrip("\n")
                if not _forward(line):
                    self._tail.append(line)
                    _log.info("worker: %s", line)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_WAIT_S)
        self._on_end()


def _forward(line: str) -> bool:
    """Logs a marked line as the record it is."""
    if not line.startswith(LOG_MARK):
        return False
    try:
        level, name, text = json.loads(line[len(LOG_MARK) :])
        logging.getLogger(str(name)).log(int(level), "%s", text)
    except (ValueError, TypeError):
        return False
    return True


def _error_from(data: object) -> ModelError:
    """The error a worker reported; only classes of ours are believed."""
    if not isinstance(data, dict):
        return WorkerError("perception worker: an error without a text")
    kind = getattr(errors, str(data.get("class")), None)
    text = str(data.get("text"))
    if isinstance(kind, type) and issubclass(kind, ModelError):
        return kind(text)
    if isinstance(kind, type) and issubclass(kind, VlkngError):
        return ModelError(text)
    return WorkerError(text)
