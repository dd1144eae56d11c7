"""The demo's child processes: started with logs of their own, watched, and never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAIL_LINES = 25
STOP_S = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
"""What a process is sent to make it end, and how long each is waited for."""


class ProcessDiedError(Exception):
    """A process of the demo ended by itself; the message has the end of its log."""


class Processes:
    """A context that ends every process it started, however it is left."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, parameters: dict[str, object]) -> None:
        """Start ``scripts/<name>`` with ROS parameters; its output goes to ``<name>.log``."""
        self._logs.mkdir(parents=True, exist_ok=True)
        arguments = [str(ROOT / "scripts" / name), "--ros-args"]
        for key, value in parameters.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            arguments += ["-p", f"{key}:={text}"]
        with self.log(name).open("wb") as log:
            # A group of its own: Ctrl-C in the terminal reaches the demo alone, which ends the others in order.
            self._running[name] = subprocess.Popen(
                [sys.executable, "-u", *arguments], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def log(self, name: str) -> Path:
        """Where a process's output goes."""
        return self._logs / f"{name}.log"

    def check(self) -> None:
        """Raise ProcessDiedError where a process has ended."""
        for name, process in self._running.items():
            status = process.poll()
            if status is not None:
                how = f"was ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
                raise ProcessDiedError(f"{name} {how}.\n{self.tail(name)}")

    def tail(self, name: str) -> str:
        """The end of a process's log, for people."""
        lines = self.log(name).read_text(errors="replace").splitlines()
        shown = "\n".join(f"    {line}" for line in lines[-TAIL_LINES:]) or "    (nothing)"
        return f"The end of {self.log(name)}:\n{shown}"

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        # Readers before the robot, the robot before nobody: the reverse of how they were started.
        for number, wait_s in STOP_S:
            alive = [process for process in reversed(self._running.values()) if process.poll() is None]
            for process in alive:
                process.send_signal(number)
            for process in alive:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(wait_s)
        for process in self._running.values():
            # What a process started itself, such as the builder's model, is in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
