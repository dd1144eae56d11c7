"""Nodes in threads of the test, or in processes that it can kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter

ROOT = Path(__file__).resolve().parents[2]


def overrides(**parameters):
    """Parameter overrides; ``__`` stands for the dot."""
    return [Parameter(name.replace("__", "."), value=value) for name, value in parameters.items()]


class SpinningThread:
    """Spins an executor in a thread and ends it between two callbacks.

    rclpy's ``shutdown`` waits for nothing: it takes away what a callback that is just finishing still needs. So the
    spinning ends first.
    """

    def __init__(self, executor) -> None:
        self.errors: list[BaseException] = []
        self._executor = executor
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)

    def start(self) -> None:
        """Begin to spin."""
        self._thread.start()

    def _spin(self) -> None:
        try:
            while not self._stopping.is_set():
                self._executor.spin_once()
        except (ExternalShutdownException, ShutdownException):
            pass
        except BaseException as error:
            self.errors.append(error)
            raise

    def stop(self) -> None:
        """End the spinning, then shut the executor down."""
        self._stopping.set()
        self._executor.create_task(lambda: None)  # a bare wake goes on waiting
        self._thread.join(timeout=10.0)
        self._executor.shutdown(timeout_sec=5.0)


class NodeInThread:
    """Spins a node in a thread; at the end closes it, if it can be closed, and destroys it."""

    def __init__(self, node) -> None:
        self.node = node
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        self._spinning = SpinningThread(executor)

    def __enter__(self):
        self._spinning.start()
        return self.node

    def __exit__(self, *exc_info) -> None:
        self._spinning.stop()
        if hasattr(self.node, "close"):
            self.node.close()
        self.node.destroy_node()
        assert self._spinning.errors == []


class NodeProcess:
    """A script of this package in a process of its own, with its log read line by line."""

    def __init__(self, script: str, parameters) -> None:
        arguments = ["--ros-args"]
        for name, value in parameters.items():
            # Quoted, so that text that looks like a number stays text.
            text = f"'{value}'" if isinstance(value, str | Path) else str(value).lower()
            arguments += ["-p", f"{name.replace('__', '.')}:={text}"]
        path = Path(__file__).parent / script if script.endswith(".py") else ROOT / "scripts" / script
        self.lines: list[str] = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-u", str(path), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])),
            cwd=Path(__file__).parent,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip())
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, text: str, timeout_s: float = 150.0) -> str:
        """The first line of the log with this text, once it is there."""
        with self.changed:
            self.changed.wait_for(
                lambda: any(text in line for line in self.lines) or self.process.poll() is not None, timeout_s
            )
            found = [line for line in self.lines if text in line]
        assert found, f"'{text}' not said within {timeout_s} s; the log:\n{self.log}"
        return found[0]

    def kill(self) -> None:
        """What a power cut does to a process."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=60.0)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end, and its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(timeout=150.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"did not end after signal {number}; the log:\n{self.log}") from None
        self._reader.join(timeout=10.0)
        self.process.stdout.close()
        return status
