"""The writer's lock: one process at a time writes to a memory, and the lock dies with it."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

from vlkng_ros.errors import MemoryLockedError

_held: set[WriterLock] = set()


class WriterLock:
    """An advisory lock on the file ``<database>.lock``, which names its holder and stays when the lock is gone.

    The kernel drops the lock when the process ends, however it ends. A child made with ``fork`` does not inherit it.

    Raises:
        MemoryLockedError: another writer holds it.
        OSError: the lock file cannot be made.
    """

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + ".lock")
        self._fd: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, 200, 0).decode("utf-8", "replace").strip() or "another process"
            self.forget()
            raise MemoryLockedError(
                f"{database}: {holder} is writing to this memory; stop it first, or ask it through its services"
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        _held.add(self)

    def release(self) -> None:
        """Let others write. Doing it again does nothing."""
        if self._fd is not None:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Drop this process's handle without unlocking: in a forked child the parent's lock must stay."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        _held.discard(self)


def _drop_in_child() -> None:
    for lock in list(_held):
        lock.forget()


os.register_at_fork(after_in_child=_drop_in_child)
