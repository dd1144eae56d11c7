"""The supervised worker, with real processes that crash, hang, are killed and come back."""

import logging
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from misbehaving_backends import Do, frame

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError, ModelNotFoundError, ModelOutputError, ModelUnavailableError, WorkerError
from vlkng_ros.perception import PerceptionWorker
from vlkng_ros.perception.backoff import Backoff
from vlkng_ros.perception.worker_handle import WorkerHandle

AT_ONCE = Backoff(first_s=0.0, longest_s=0.0)
WAIT_S = 180.0


def make(factory: str = "open_backend", *, queue_size: int = 64, backoff: Backoff = AT_ONCE, **config: object):
    return PerceptionWorker(
        PerceptionConfig(**{"timeout_s": 30.0, "niceness": 0, **config}),
        queue_size=queue_size,
        backoff=backoff,
        factory=f"misbehaving_backends:{factory}",
    )


@pytest.fixture
def worker() -> Iterator[PerceptionWorker]:
    with make() as running:
        yield running


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """Set when a model has begun to hang."""
    event = threading.Event()
    handler = logging.Handler()
    handler.emit = lambda record: event.set()  # type: ignore[method-assign]
    logger = logging.getLogger("misbehaving")
    logger.addHandler(handler)
    yield event
    logger.removeHandler(handler)


def wait_until_gone(pid: int) -> None:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        readable, _, _ = select.select([process], [], [], WAIT_S)
        assert readable, f"process {pid} is still there"
    finally:
        os.close(process)


def is_child(pid: int) -> bool:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def test_a_frame_is_described_in_another_process_which_knows_nothing_of_ros(worker: PerceptionWorker) -> None:
    worker.min_score = 0.25
    perception = worker.submit(frame(keyframe_id=7)).result(WAIT_S)
    assert perception.caption == ("keyframe 7 at 7000 (6, 4) [0, 20, 30]; frames=1 min_score=0.25 rclpy=False")
    assert perception.detections[0].box_px == (0.0, 0.0, 2.0, 2.0)
    assert worker.pid not in (None, os.getpid())
    assert (worker.described, worker.restarts, worker.waiting, worker.counters["frames"]) == (1, 0, 0, 1)


def test_an_image_that_is_a_view_arrives_as_it_looks(worker: PerceptionWorker) -> None:
    from vlkng_ros.perception.base import Frame

    turned = Frame(1, 1, frame().image[::-1, ::-1])
    assert "(6, 4) [0, 0, 0]" in worker.submit(turned).result(WAIT_S).caption


@pytest.mark.parametrize(
    ("do", "reason"),
    [
        (Do.ABORT, "SIGABRT"),
        (Do.SEGFAULT, "SIGSEGV.*Segmentation fault"),
        (Do.PRINT_AND_EXIT, "exit code 7: last words on standard output"),
    ],
)
def test_a_crash_fails_the_frame_at_hand_and_costs_a_restart(
    worker: PerceptionWorker, do: Do, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    first_pid = worker.pid
    lost, next_one = worker.submit(frame(do)), worker.submit(frame(keyframe_id=2))
    with pytest.raises(WorkerError, match=reason):
        lost.result(WAIT_S)
    assert next_one.result(WAIT_S).caption.startswith("keyframe 2")
    assert worker.restarts == 1
    assert worker.pid != first_pid
    assert f"perception worker: running again, as process {worker.pid}" in caplog.text
    assert first_pid is not None
    assert not is_child(first_pid)


@pytest.mark.parametrize("do", [Do.HANG, Do.HANG_WITH_THE_INTERPRETER_LOCK])
def test_a_hang_past_the_time_out_costs_a_restart(do: Do) -> None:
    with make(timeout_s=2.0) as worker:
        lost = worker.submit(frame(do))
        with pytest.raises(WorkerError, match=r"silent for 2 s \(perception\.timeout_s\)"):
            lost.result(WAIT_S)
        # The same time-out holds for the next frame, which a loaded machine may miss: try until one gets through.
        for _ in range(50):
            if worker.submit(frame()).exception(WAIT_S) is None:
                break
        assert worker.described >= 1


@pytest.mark.parametrize("noticed", [True, False])
def test_a_worker_killed_while_idle_is_restarted_and_no_frame_is_lost(
    worker: PerceptionWorker, noticed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worker.pid is not None
    if not noticed:  # as when it ends between the look whether it lives and the frame's way to it
        monkeypatch.setattr(WorkerHandle, "ended", False)
    os.kill(worker.pid, signal.SIGKILL)
    wait_until_gone(worker.pid)
    assert worker.submit(frame(keyframe_id=3)).result(WAIT_S).caption.startswith("keyframe 3")
    assert worker.restarts == 1
    assert "SIGKILL (out of memory?)" in worker.last_error


def test_a_worker_killed_in_mid_frame_says_so(worker: PerceptionWorker, hanging: threading.Event) -> None:
    lost = worker.submit(frame(Do.HANG))
    assert hanging.wait(WAIT_S)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="SIGKILL"):
        lost.result(WAIT_S)


def test_an_exception_fails_one_frame_and_keeps_the_process(worker: PerceptionWorker) -> None:
    with pytest.raises(WorkerError, match="ZeroDivisionError: by the model"):
        worker.submit(frame(Do.RAISE)).result(WAIT_S)
    with pytest.raises(ModelOutputError, match="nonsense, and no repair helps"):
        worker.submit(frame(Do.ANSWER_NONSENSE)).result(WAIT_S)
    assert worker.submit(frame()).result(WAIT_S).caption
    assert worker.restarts == 0
    assert worker.last_error == "nonsense, and no repair helps"


def test_boxes_that_are_not_numbers_never_leave_the_worker() -> None:
    with make("talks_nonsense") as worker, pytest.raises(WorkerError, match=r"cannot be kept: detections\[0\]\.box_px"):
        worker.submit(frame()).result(WAIT_S)


def test_a_model_that_is_away_keeps_its_frame_until_it_is_back(worker: PerceptionWorker) -> None:
    assert worker.submit(frame(Do.BE_AWAY_ONCE)).result(WAIT_S).caption.startswith("keyframe 1")
    assert worker.restarts == 0
    assert worker.last_error == "the server is away"


def test_a_model_that_stays_away_fails_every_waiting_frame_with_the_reason(worker: PerceptionWorker) -> None:
    futures = [worker.submit(frame(Do.BE_AWAY, keyframe_id=i)) for i in range(3)]
    for future in futures:
        with pytest.raises(ModelUnavailableError, match="5 failures in a row, the last: the server is away"):
            future.result(WAIT_S)
    assert worker.submit(frame()).result(WAIT_S).caption


@pytest.mark.parametrize(
    ("factory", "error", "reason"),
    [
        ("is_not_there", ModelNotFoundError, "weights of 'x' are not here; bring them with: fetch x"),
        ("raises_loading", WorkerError, "OSError: disk on fire"),
        ("dies_loading", WorkerError, "SIGKILL"),
        ("no_such_function", WorkerError, "AttributeError"),
    ],
)
def test_a_start_that_fails_says_why_and_leaves_nothing(factory: str, error: type[ModelError], reason: str) -> None:
    worker = make(factory)
    with pytest.raises(error, match=reason):
        worker.start()
    assert worker.pid is None
    with pytest.raises(WorkerError, match="not started"):
        worker.submit(frame())


def test_a_start_that_hangs_ends_at_its_time_out() -> None:
    worker = make("hangs_loading", start_timeout_s=1.0)
    with pytest.raises(WorkerError, match=r"not loaded after 1 s \(perception\.start_timeout_s\)"):
        worker.start()


def test_restarts_that_fail_are_tried_again(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    counter.touch()
    with make("loads_every_other_time", model=str(counter)) as worker:
        with pytest.raises(WorkerError):
            worker.submit(frame(Do.ABORT)).result(WAIT_S)
        assert worker.submit(frame()).result(WAIT_S).caption
        assert counter.read_text() == "3"
        assert worker.restarts == 1


def test_stop_ends_a_hanging_model_and_fails_what_waits() -> None:
    worker = make()
    worker.start()
    futures = [worker.submit(frame(Do.HANG)), worker.submit(frame())]
    pid = worker.pid
    worker.stop()
    assert pid is not None
    assert not is_child(pid)
    for future in futures:
        with pytest.raises(WorkerError, match="stopped"):
            future.result(0)
    with pytest.raises(WorkerError, match="not started"):
        worker.submit(frame())
    worker.stop()


def test_stop_during_a_start_ends_it(hanging: threading.Event) -> None:
    worker = make("hangs_loading")
    failed = Future[None]()

    def start() -> None:
        try:
            worker.start()
        except WorkerError as error:
            failed.set_exception(error)

    starter = threading.Thread(target=start)
    starter.start()
    assert hanging.wait(WAIT_S)
    worker.stop()
    with pytest.raises(WorkerError, match="stopped"):
        failed.result(WAIT_S)
    starter.join()


def test_a_stopped_worker_can_be_started_again() -> None:
    worker = make()
    for _ in range(2):
        worker.start()
        assert worker.submit(frame()).result(WAIT_S).caption
        worker.stop()


def test_a_full_queue_drops_the_oldest_waiting_frame(hanging: threading.Event) -> None:
    with make(queue_size=2) as worker:
        worker.submit(frame(Do.HANG))
        assert hanging.wait(WAIT_S)
        waiting = [worker.submit(frame(keyframe_id=i)) for i in range(3)]
        with pytest.raises(WorkerError, match="2 newer frames are waiting; dropped"):
            waiting[0].result(WAIT_S)
        assert (worker.dropped, worker.waiting) == (1, 3)


def test_a_cancelled_frame_is_not_described(hanging: threading.Event) -> None:
    with make() as worker:
        worker.submit(frame(Do.HANG))
        assert hanging.wait(WAIT_S)
        cancelled, next_one = worker.submit(frame(Do.ABORT)), worker.submit(frame())
        assert cancelled.cancel()
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        assert next_one.result(WAIT_S).caption
        assert worker.restarts == 1


def test_a_bad_frame_of_a_batch_does_not_fail_its_neighbours() -> None:
    with make("batches", timeout_s=20.0) as worker:
        held = worker.submit(frame(keyframe_id=0))
        futures = [worker.submit(frame(do, keyframe_id=i)) for i, do in enumerate([Do(0), Do.ABORT, Do(0)], start=1)]
        held.result(WAIT_S)
        with pytest.raises(WorkerError, match="SIGABRT"):
            futures[1].result(WAIT_S)
        assert futures[0].result(WAIT_S).caption.startswith("keyframe 1")
        assert futures[2].result(WAIT_S).caption.startswith("keyframe 3")


def test_it_says_how_many_frames_fill_the_model_and_has_room_for_them() -> None:
    with make("batches", queue_size=2) as worker:
        assert (worker.batch_size, worker.in_flight) == (3, 6)
        futures = [worker.submit(frame(keyframe_id=i)) for i in range(worker.in_flight)]
        assert [future.result(WAIT_S).caption[:10] for future in futures] == [f"keyframe {i}" for i in range(6)]
        assert worker.dropped == 0
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        assert worker.batch_size == 3


def test_a_chunk_waits_until_it_is_full() -> None:
    with make("chunks", batch_wait_s=3600.0) as worker:
        futures = [worker.submit(frame(keyframe_id=i)) for i in range(3)]
        assert all("frames=3" in future.result(WAIT_S).caption for future in futures)


def test_a_chunk_that_does_not_fill_is_described_after_its_wait() -> None:
    with make("chunks", batch_wait_s=0.0) as worker:
        assert "frames=1" in worker.submit(frame()).result(WAIT_S).caption


def test_the_worker_logs_through_the_node(worker: PerceptionWorker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        worker.submit(frame(Do.LOG)).result(WAIT_S)
        worker.stop()
    assert ("model.loader", logging.WARNING, "a warning with\na second line") in caplog.record_tuples


@pytest.mark.parametrize("do", [Do.DESCRIBE, Do.HANG_WITH_THE_INTERPRETER_LOCK])
def test_the_worker_dies_with_a_killed_parent(do: Do) -> None:
    program = f"""
import sys
from misbehaving_backends import Do, frame
from vlkng_ros.config import PerceptionConfig
from vlkng_ros.perception import PerceptionWorker
worker = PerceptionWorker(PerceptionConfig(), factory="misbehaving_backends:open_backend")
worker.start()
worker.submit(frame()).result()
worker.submit(frame(Do({int(do)})))
print(worker.pid, flush=True)
sys.stdin.read()
"""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as parent:
        assert parent.stdout is not None
        worker_pid = int(parent.stdout.readline())
        parent.kill()
    wait_until_gone(worker_pid)
