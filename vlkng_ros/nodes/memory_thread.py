"""The one thread that reads the memory and answers, so that no question holds up the executor."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vlkng_ros.config import QueryConfig
from vlkng_ros.errors import MemoryNotFoundError, VlkngError
from vlkng_ros.memory import MemoryReader

if TYPE_CHECKING:
    from vlkng_ros.answering.ask import MemoryQuery

T = TypeVar("T")
logger = logging.getLogger(__name__)

FOLLOW_S = 0.5
"""How often the memory is followed while nobody asks, so that a question finds little new to take in."""
MOST_JOBS = 64


class BusyError(VlkngError):
    """More questions wait than can be answered."""


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """What a job may use, in the memory's thread only."""

    reader: MemoryReader
    query: MemoryQuery


class MemoryThread:
    """Runs jobs on the memory one after the other; opens it when it appears and again when it is replaced.

    Args:
        config: read anew for each job, so that live parameters hold.
        make_query: makes what answers questions; called in the thread.
    """

    def __init__(
        self, config: Callable[[], QueryConfig], make_query: Callable[[MemoryReader, QueryConfig], MemoryQuery]
    ) -> None:
        self.state = "starting"
        """For the status: what the memory is, or why there is none."""
        self.missing_since_s: float | None = None
        self.unusable = False
        """Whether there is a file that is no use as it is: waiting does not help."""
        self.keyframes = 0
        self._config = config
        self._make_query = make_query
        self._path = Path(config().memory.path).expanduser().absolute()
        self._jobs: queue.Queue[tuple[Future[object], Callable[[OpenMemory], object]] | None] = queue.Queue()
        self._memory: OpenMemory | None = None
        self._identity: tuple[int, int] | None = None
        self._made_with: QueryConfig | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="memory", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """The database file."""
        return self._path

    def submit(self, job: Callable[[OpenMemory], T]) -> Future[T]:
        """Have a job done; its future's error is a ``VlkngError`` where the memory or the question is at fault."""
        future: Future[T] = Future()
        if self._jobs.qsize() >= MOST_JOBS:
            future.set_exception(BusyError(f"{MOST_JOBS} questions are waiting already; ask again later"))
            return future
        self._jobs.put((future, job))  # type: ignore[arg-type]
        return future

    def stop(self) -> None:
        """End after the job at hand; what waits is cancelled."""
        self._stopping = True
        self._jobs.put(None)
        self._thread.join(timeout=30.0)

    def _run(self) -> None:
        try:
            while not self._stopping:
                try:
                    entry = self._jobs.get(timeout=FOLLOW_S)
                except queue.Empty:
                    self._follow()
                    continue
                if entry is not None:
                    self._do(*entry)
        finally:
            self._close()
            while not self._jobs.empty():
                left = self._jobs.get()
                if left is not None:
                    left[0].cancel()

    def _do(self, future: Future[object], job: Callable[[OpenMemory], object]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(job(self._opened()))
        except Exception as error:  # the asker is told, whatever it was
            if not isinstance(error, VlkngError):
                logger.exception("a question failed")
            future.set_exception(error)

    def _follow(self) -> None:
        try:
            self._opened()
        except VlkngError as error:
            if self.state != str(error):
                # A memory that is not there yet is how every first drive begins.
                level = logging.INFO if isinstance(error, MemoryNotFoundError) else logging.ERROR
                logger.log(level, "%s", error)
            self.state = str(error)
            self.unusable = not isinstance(error, MemoryNotFoundError)
            if self.missing_since_s is None:
                self.missing_since_s = time.monotonic()
        except Exception as error:  # the thread must outlive it
            logger.exception("the memory cannot be followed")
            self.state, self.unusable = f"{type(error).__name__}: {error}", True
            if self.missing_since_s is None:
                self.missing_since_s = time.monotonic()

    def _opened(self) -> OpenMemory:
        identity = self._file_identity()
        if self._memory is not None and identity != self._identity:
            logger.warning("%s was replaced; opening the new one", self._path)
            self._close()
        if self._memory is None:
            reader = MemoryReader.open(self._path)
            try:
                self._memory = OpenMemory(reader, self._make_query(reader, self._config()))
            except BaseException:
                reader.close()
                raise
            self._identity, self._made_with = identity, self._config()
            # An encoder's first run is its slowest; nobody should wait for it.
            self._memory.query.retriever.encoded(("a door",))
            logger.info("following %s: %d keyframes", self._path, len(reader.frames()))
        elif self._made_with != self._config():
            self._memory = OpenMemory(self._memory.reader, self._make_query(self._memory.reader, self._config()))
            self._made_with = self._config()
        self._memory.query.retriever.refresh()
        self.keyframes = len(self._memory.reader.frames())
        self.state, self.missing_since_s, self.unusable = "following", None, False
        return self._memory

    def _file_identity(self) -> tuple[int, int]:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            self._close()
            raise MemoryNotFoundError(
                f"{self._path}: no memory there yet; start builder_node, or set memory.path to where it is"
            ) from None
        return status.st_dev, status.st_ino

    def _close(self) -> None:
        if self._memory is not None:
            self._memory.reader.close()
            self._memory = None
