"""The perception worker: a model in a process of its own, so that it can neither stop nor slow the node.

A model that crashes, is killed or hangs costs a restart; a model server that is away costs a pause. The frame at
hand then fails with an error and the caller, who has the keyframe in its memory as pending, may submit it again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import InvalidInputError, ModelError, ModelUnavailableError, WorkerError
from vlkng_ros.perception.backoff import Backoff
from vlkng_ros.perception.base import Frame
from vlkng_ros.perception.frame_queue import Entry, FrameQueue, fail
from vlkng_ros.perception.worker_handle import WorkerDiedError, WorkerHandle
from vlkng_ros.types import Perception

_log = logging.getLogger(__name__)


class PerceptionWorker:
    """Supervises the worker process. Of its methods only ``start`` waits for the model; any thread may call them.

    Futures are set from the supervisor's thread: what a callback does there holds up the next frame.
    """

    def __init__(
        self,
        config: PerceptionConfig,
        *,
        queue_size: int = 64,
        backoff: Backoff | None = None,
        factory: str = "vlkng_ros.perception.base:open_backend",
    ) -> None:
        """Prepares a worker for the configured backend; nothing is started yet.

        Args:
            config: what to run; ``timeout_s`` is a frame's, a chunk counting as one.
            queue_size: frames that wait here at most; of more, the oldest fails.
            backoff: pauses between restarts.
            factory: ``module:function`` that makes the backend from the configuration, in the new process.
        """
        self._config = config
        self._factory = factory
        self._backoff = backoff or Backoff()
        self._min_score = config.min_score
        self._changed = threading.Condition()
        self._queue = FrameQueue(queue_size)
        self._in_flight = 0
        self._batch_size = 1
        self._handle: WorkerHandle | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._ready = False
        self._start_error: ModelError | None = None
        self._failures = 0
        self._restarts = 0
        self._described = 0
        self._dropped = 0
        self._last_error = ""
        self._counters: Counter[str] = Counter()

    # ------------------------------------------------------------------------------------------ what it is doing

    @property
    def ready(self) -> bool:
        """Whether the model is loaded and its process lives."""
        return self._ready

    @property
    def pid(self) -> int | None:
        """Process id of the worker, None while there is none."""
        handle = self._handle
        return handle.pid if handle is not None and self._ready else None

    @property
    def batch_size(self) -> int:
        """Frames the model takes at once: ``perception.batch_size``, or what suits the backend. 1 until it is loaded.

        It stays known while the process is restarted.
        """
        return self._batch_size

    @property
    def in_flight(self) -> int:
        """Frames worth submitting before the first comes back: one batch at the model, the next one waiting."""
        return 2 * self._batch_size

    @property
    def restarts(self) -> int:
        """How often the process was started again."""
        return self._restarts

    @property
    def described(self) -> int:
        """Frames described."""
        return self._described

    @property
    def dropped(self) -> int:
        """Frames that failed because newer ones filled the queue."""
        return self._dropped

    @property
    def waiting(self) -> int:
        """Frames submitted and not yet described."""
        with self._changed:
            return len(self._queue) + self._in_flight

    @property
    def last_error(self) -> str:
        """Why the last frame or start failed; empty if none did."""
        return self._last_error

    @property
    def counters(self) -> Counter[str]:
        """What the backend mended or dropped, by reason, restarts included."""
        handle = self._handle
        return self._counters + (handle.counters if handle is not None else Counter())

    @property
    def min_score(self) -> float:
        """Detections below are dropped; holds from the next frame on."""
        return self._min_score

    @min_score.setter
    def min_score(self, value: float) -> None:
        self._min_score = value

    # ------------------------------------------------------------------------------------------ start, use, stop

    def start(self) -> None:
        """Starts the process, loads the model and warms it up; at most about ``start_timeout_s``.

        Raises:
            ModelNotFoundError: the weights are not on this machine; the message names the command that brings them.
            ModelError: why else it cannot be loaded. Nothing is left running; ``start`` may be called again.
        """
        with self._changed:
            if self._thread is not None:
                raise WorkerError("perception worker: already started")
            self._stopping, self._start_error = False, None
            # The kernel ends the process together with the thread that started it, so one thread does it all.
            self._thread = threading.Thread(target=self._supervise, name="perception-supervisor", daemon=True)
            self._thread.start()
            self._changed.wait_for(lambda: self._ready or self._start_error is not None or self._stopping)
            error = self._start_error
            if error is None and not self._ready:
                error = WorkerError("perception worker: stopped while it was starting")
        if error is not None:
            self.stop()
            raise error

    def submit(self, frame: Frame) -> Future[Perception]:
        """Has a frame described, in the order submitted.

        The future's result is the perception, or one of these errors:
            ModelUnavailableError: not now; submit it again later.
            WorkerError: the process ended while at it, was stopped, or newer frames filled the queue.
            ModelError: the model cannot describe this frame.
        """
        return self._submit(Entry(frame))

    def ground(self, frame: Frame, phrase: str) -> Future[Perception]:
        """Has a frame searched for a phrase, after the frames submitted before; as ``submit`` in all else.

        The perception's detections are where the phrase was found.
        """
        if not phrase.strip():
            raise InvalidInputError("perception: the phrase to look for is empty")
        return self._submit(Entry(frame, phrase=phrase))

    def _submit(self, entry: Entry) -> Future[Perception]:
        with self._changed:
            if self._thread is None or self._stopping:
                raise WorkerError("perception worker: not started")
            oldest = self._queue.push(entry)
            self._dropped += oldest is not None
            self._changed.notify_all()
        if oldest is not None:
            fail([oldest], WorkerError(f"perception: {self._queue.capacity} newer frames are waiting; dropped"))
        return entry.future

    def stop(self, timeout_s: float = 5.0) -> None:
        """Ends the process; frames that wait fail. Returns within about ``timeout_s``, also in mid-frame."""
        with self._changed:
            thread, handle, busy = self._thread, self._handle, self._in_flight > 0 or not self._ready
            self._stopping = True
            self._changed.notify_all()
        if handle is not None and busy:
            handle.kill()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
            if thread.is_alive() and handle is not None:
                handle.kill()
                thread.join(timeout_s)
        with self._changed:
            self._thread = None
        self._fail_waiting(WorkerError("perception worker: stopped"))

    def __enter__(self) -> PerceptionWorker:
        """Starts the worker."""
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Stops the worker."""
        self.stop()

    # ------------------------------------------------------------------------------------------ the supervisor

    def _supervise(self) -> None:
        started = False
        while True:
            handle = WorkerHandle(self._config, self._factory, self._wake)
            with self._changed:
                if self._stopping:
                    return
                self._handle = handle
            error: ModelError | None = None
            try:
                handle.start()
                if started:
                    self._restarts += 1
                    _log.warning("perception worker: running again, as process %d", handle.pid or 0)
                started = True
                with self._changed:
                    self._ready = True
                    self._batch_size = handle.batch_size
                    # A queue shorter than two batches would drop what it was told to hand in.
                    self._queue.capacity = max(self._queue.capacity, self.in_flight)
                    self._changed.notify_all()
                self._serve(handle)
            except ModelError as model_error:
                error = model_error
            except Exception as unexpected:  # a supervisor that ends would leave futures waiting for ever
                _log.exception("perception worker: unexpected error")
                error = WorkerError(f"perception worker: {type(unexpected).__name__}: {unexpected}")
            handle.close()
            with self._changed:
                self._ready, self._in_flight, self._handle = False, 0, None
                self._counters += handle.counters
                if not started:
                    self._start_error = error
                self._changed.notify_all()
            if not started:
                return
            if error is not None:
                self._note(error)
                self._pause_after_failure()

    def _serve(self, handle: WorkerHandle) -> None:
        """Describes frames until told to stop.

        Raises:
            WorkerDiedError: the process is gone.
        """
        while batch := self._next_batch(handle):
            timeout_s = self._config.timeout_s * (1 if handle.chunked else len(batch))
            try:
                frames = [entry.frame for entry in batch]
                perceptions = handle.describe(frames, self._min_score, timeout_s, batch[0].phrase)
            except WorkerDiedError as error:
                if error.had_frames:
                    self._after_error(batch, error)
                else:
                    self._put_back(batch)
                raise
            except ModelUnavailableError as error:
                self._note(error)
                self._put_back(batch)
                self._pause_after_failure()
            except ModelError as error:
                self._note(error)
                self._after_error(batch, error)
            else:
                self._failures = 0
                self._described += len(batch)
                with self._changed:
                    self._in_flight = 0
                for entry, perception in zip(batch, perceptions, strict=True):
                    entry.future.set_result(perception)
        handle.stop()

    def _next_batch(self, handle: WorkerHandle) -> list[Entry]:
        """The next frames to describe at once; empty when told to stop.

        Raises:
            WorkerDiedError: the process ended while it had nothing to do; no frame is to blame.
        """
        with self._changed:
            while not self._stopping:
                self._changed.wait_for(lambda: self._stopping or len(self._queue) > 0 or handle.ended)
                if (
                    len(self._queue) > 0
                    and handle.chunked
                    and not (self._queue.first.alone or self._queue.first.phrase)
                ):
                    left_s = self._queue.first.since + self._config.batch_wait_s - time.monotonic()
                    self._changed.wait_for(
                        lambda: self._stopping or handle.ended or len(self._queue) >= handle.batch_size,
                        max(0.0, left_s),
                    )
                if self._stopping or handle.ended:
                    break
                batch = self._queue.take(handle.batch_size)
                self._in_flight = len(batch)
                if batch:
                    return batch
            if self._stopping:
                return []
        # Asked outside the lock: the answer waits for the thread that reports the end, which needs it.
        raise WorkerDiedError(f"perception worker: {handle.end_reason()}")

    def _after_error(self, batch: Sequence[Entry], error: ModelError) -> None:
        """One frame fails; of several, each is tried alone, so that one bad frame does not fail its neighbours."""
        if len(batch) > 1:
            for entry in batch:
                entry.alone = True
            self._put_back(batch)
            return
        with self._changed:
            self._in_flight = 0
        fail(batch, error)

    def _put_back(self, batch: Sequence[Entry]) -> None:
        with self._changed:
            self._queue.put_back(batch)
            self._in_flight = 0

    def _pause_after_failure(self) -> None:
        self._failures += 1
        if self._failures >= self._backoff.give_up_after:
            reason = f"perception: {self._failures} failures in a row, the last: {self._last_error}"
            self._fail_waiting(ModelUnavailableError(reason))
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, self._backoff.pause_s(self._failures))

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _fail_waiting(self, error: ModelError) -> None:
        with self._changed:
            entries = self._queue.clear()
        fail(entries, error)

    def _note(self, error: ModelError) -> None:
        if not self._stopping:
            self._last_error = str(error)
            _log.warning("%s", error)
