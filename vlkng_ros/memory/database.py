"""Opening the SQLite file of a memory, and turning what can go wrong with it into words.

WAL with ``synchronous=FULL``: a COMMIT returns after the operation is on the disk. Files are for their owner alone.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from urllib.parse import quote

from vlkng_ros.errors import (
    MemoryDamagedError,
    MemoryFileError,
    MemoryNotFoundError,
    NotAMemoryError,
    SchemaVersionError,
    StorageFullError,
    VlkngError,
)
from vlkng_ros.memory.fold import PLACE_FORMAT
from vlkng_ros.memory.packing import BrokenRowError
from vlkng_ros.memory.schema import APPLICATION_ID, SCHEMA_VERSION, migrate

BUSY_TIMEOUT_MS = 10_000
CACHE_KIB = 65_536
LOG_INDEX_BYTES = 32_768
"""What ``-shm`` takes at least."""
WAL_PAGES = 4_000
"""Pages in the WAL (16 MB) that are moved to the database at the next COMMIT."""
logger = logging.getLogger(__name__)
_DAMAGE = ("malformed", "not a database", "corrupt", "constraint failed", "no such table", "no such column")
"""What SQLite says of damage; rows that contradict an index or a count can only come of it too."""
_HEADER = b"SQLite format 3\x00"
_ANOTHER = "what was acknowledged is safe; let this user write there, or name another file: memory.path, or --memory"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_NO_PLACE = (errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns errors of SQLite and of the file system into errors of this package that name the memory.

    Raises:
        StorageFullError: the disk is full or the folder is read-only.
        MemoryDamagedError: the file's structure is broken.
        MemoryFileError: anything else about the file.
    """
    try:
        yield
    except BrokenRowError as error:
        raise _broken(path, error) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _explain(path, error) from error
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFullError(
                f"{path}: the disk is full; what was acknowledged is safe, free some space and go on"
            ) from error
        if error.errno in _READ_ONLY:
            raise StorageFullError(
                f"{path}: cannot write to {path.parent} ({error.strerror}); {_ANOTHER}"
            ) from error
        if error.errno in _NO_PLACE:
            raise MemoryFileError(
                f"{path}: no memory can be there ({error.filename}: {error.strerror}); "
                "name another file: memory.path, or --memory"
            ) from error
        raise MemoryFileError(f"{path}: {error}") from error


@contextmanager
def parsed(path: Path) -> Iterator[None]:
    """Turns what comes of rows that no writer wrote, such as text where a number should be, into damage.

    Raises:
        MemoryDamagedError: a row could not be understood.
    """
    try:
        yield
    except VlkngError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, struct.error) as error:
        if isinstance(error, UnicodeDecodeError):
            raise
        raise _broken(path, error) from error


def _broken(path: Path, error: Exception) -> MemoryDamagedError:
    return MemoryDamagedError(f"{path}: damaged (a row holds what no row can: {error}); {salvageable(path)}")


def _explain(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> MemoryFileError:
    text = str(error)
    if "is full" in text or ("disk I/O" in text and _is_full(path)):
        return StorageFullError(f"{path}: the disk is full; what was acknowledged is safe, free some space and go on")
    if "readonly" in text or "unable to open" in text:
        return StorageFullError(f"{path}: cannot write to {path.parent} ({text}); {_ANOTHER}")
    # Text that is no text any more: flipped bytes, in the schema or in a row.
    undecodable = isinstance(error, UnicodeDecodeError) or "Could not decode" in text
    if undecodable or any(word in text for word in _DAMAGE):
        return MemoryDamagedError(f"{path}: damaged ({text}); {salvageable(path)}")
    return MemoryFileError(f"{path}: {text}")


def _is_full(path: Path) -> bool:
    """Whether not even the index of a log has room, without which nothing can be read while others may write."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < LOG_INDEX_BYTES


def salvageable(path: Path) -> str:
    """What can still be read of a damaged memory, in words, with what to do."""
    advice = f"the file is left as it is; `vlkng salvage {path} --memory NEW.db` brings back what is readable"
    try:
        connection = sqlite3.connect(_uri(path, "mode=ro&immutable=1"), uri=True)
    except sqlite3.Error:
        return advice
    try:
        counts = {table: _readable(connection, table) for table in ("keyframe", "observation")}
        told = " and ".join(f"{count} {table}s" for table, count in counts.items())
        # Salvaging looks on every page, and may find more.
        return f"{told} can be read, and more may be there; {advice}" if any(counts.values()) else advice
    finally:
        connection.close()


def _readable(connection: sqlite3.Connection, table: str) -> int:
    """Rows that come before the first damage, plus those after the last."""
    seen: set[int] = set()
    for direction in ("ASC", "DESC"):
        try:
            for (row,) in connection.execute(f"SELECT id FROM {table} ORDER BY id {direction}"):
                if row in seen:
                    break
                seen.add(row)
        except (sqlite3.Error, UnicodeDecodeError):
            continue
    return len(seen)


def check_file(path: Path) -> None:
    """Look at a file before SQLite touches it.

    Raises:
        MemoryNotFoundError: there is no file, or an empty one.
        NotAMemoryError: it is something else.
        MemoryDamagedError: it is ours and shorter than it says.
        MemoryFileError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except IsADirectoryError:
        raise NotAMemoryError(f"{path}: is a folder; name the database file in it") from None
    except (FileNotFoundError, NotADirectoryError):
        raise MemoryNotFoundError(
            f"{path}: no memory here; a builder makes one, or `vlkng import` or `vlkng build`"
        ) from None
    except OSError as error:
        raise MemoryFileError(
            f"{path}: cannot be read ({error.strerror}); a memory is readable to the user who made it alone"
        ) from error
    if not header:
        raise MemoryNotFoundError(f"{path}: an empty file, not a memory; remove it and build one there")
    if len(header) < 100 or header[:16] != _HEADER or int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise NotAMemoryError(
            f"{path}: not a memory of vlkng_ros; it is left as it is"
            "; if a memory was damaged, `vlkng salvage` looks for what is left of it"
        )
    pages, page_size = int.from_bytes(header[28:32], "big"), int.from_bytes(header[16:18], "big")
    wal = wal_of(path)
    if size < pages * (65536 if page_size == 1 else page_size) and not (wal.exists() and wal.stat().st_size):
        raise MemoryDamagedError(f"{path}: damaged, {size} bytes of {pages * page_size} are there; {salvageable(path)}")


def _set_aside(path: Path) -> None:
    """Move away what is left of a memory whose database was taken away: SQLite would take its log for the new one's.

    What holds nothing is removed, and of logs only the newest is kept: without its database it is of little use.
    Images are never removed.
    """
    # An index of the log, made anew from it.
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    drop_index(path)
    wal, frames = wal_of(path), frames_of(path)
    if wal.exists():
        if wal.stat().st_size:
            for earlier in wal.parent.glob(f"{escape(wal.name)}.orphan*"):
                earlier.unlink()
            _rename(wal)
        else:
            wal.unlink()
    if frames.is_dir():
        for folder, _, _ in os.walk(frames, topdown=False):
            with suppress(OSError):
                os.rmdir(folder)
    if frames.exists():
        _rename(frames)


def _rename(orphan: Path) -> None:
    free = next(name for n in itertools.count(1) if not (name := orphan.with_name(f"{orphan.name}.orphan{n}")).exists())
    logger.warning("%s belonged to a memory that is no longer there; renamed to %s", orphan, free.name)
    orphan.rename(free)


def frames_of(path: Path) -> Path:
    """The folder of images beside a database: ``<name>.frames`` for ``<name>.db``; another ending is kept."""
    plain = path.with_suffix("") if path.suffix == ".db" else path
    return plain.with_name(plain.name + ".frames")


def index_of(path: Path) -> Path:
    """The file beside a database in which readers keep what they made of its texts: ``<name>.index``."""
    plain = path.with_suffix("") if path.suffix == ".db" else path
    return plain.with_name(plain.name + ".index")


def drop_index(path: Path) -> None:
    """Remove what readers keep beside a database, and what is left of one that was being written."""
    file = index_of(path)
    for name in (file, file.with_name(file.name + ".new")):
        with suppress(OSError):
            name.unlink(missing_ok=True)


def wal_of(path: Path) -> Path:
    """The write-ahead log beside a database."""
    return path.with_name(path.name + "-wal")


def open_for_writing(path: Path) -> sqlite3.Connection:
    """A connection that writes; the caller holds the lock. Makes the memory where there is none."""
    try:
        check_file(path)
    except MemoryNotFoundError:
        _create(path)
    with explained(path):
        connection = _connect(path, "mode=rw")
        try:
            _check_version(connection, path)
            migrate(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        except BaseException:
            connection.close()
            raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. On read-only media it reads the file as unchanging.

    Raises:
        SchemaVersionError: the file has another schema than this version's; an older one a writer brings up to date.
    """
    check_file(path)
    with explained(path):
        try:
            return _checked(_connect(path, "mode=ro"), path)
        except sqlite3.OperationalError as error:
            if "readonly" not in str(error) and "unable to open" not in str(error):
                raise
            wal = wal_of(path)
            if wal.exists() and wal.stat().st_size:
                raise MemoryFileError(
                    f"{path}: {wal.name} holds operations that are not in the database yet, and {path.parent} cannot "
                    f"be written to ({error}); copy both to a folder that can"
                ) from error
            return _checked(_connect(path, "mode=ro&immutable=1"), path)


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The connection, if what it holds is in this version's form; else it is closed."""
    try:
        version = _check_version(connection, path)
        if version < SCHEMA_VERSION:
            raise SchemaVersionError(
                f"{path}: schema {version}, and {SCHEMA_VERSION} is read; {_update(path, connection)}"
            )
        (places,) = connection.execute("SELECT place_format FROM head").fetchone()
        if places not in ("", PLACE_FORMAT):
            raise SchemaVersionError(f"{path}: holds places in another version's form; {_update(path, connection)}")
    except BaseException:
        connection.close()
        raise
    return connection


def _update(path: Path, connection: sqlite3.Connection) -> str:
    """What to do about a memory of another version."""
    (view,) = connection.execute("SELECT name FROM view ORDER BY id LIMIT 1").fetchone() or ("hybrid",)
    command = f"vlkng associate --memory {path} --with {view}"
    return f"open it once for writing, with builder_node or `{command}`, which brings it up to date"


def _create(path: Path) -> None:
    """Makes an empty memory under another name and moves it into place, so that no half-made one is ever seen."""
    with explained(path):
        draft = path.with_name(path.name + ".new")
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = _connect(draft, "mode=rw")
        try:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            migrate(connection)
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        _set_aside(path)
        os.replace(draft, path)
        sync_folder(path.parent)


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise SchemaVersionError(
            f"{path}: schema {version}, and this version of vlkng_ros knows up to {SCHEMA_VERSION}; update vlkng_ros"
        )
    return version


def _connect(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        _uri(path, options), uri=True, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _uri(path: Path, options: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{options}"


def make_folder(folder: Path) -> None:
    """Make a folder, for its owner alone, and what is missing of those above it, all of them durable."""
    if folder.is_dir():
        return
    above = folder.parent
    if not above.is_dir():
        above.mkdir(parents=True, exist_ok=True)
        for parent in above.parents:
            with suppress(OSError):  # not every folder above is ours to open
                sync_folder(parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(above)


def located(path: str | os.PathLike[str]) -> Path:
    """Where a memory is: beside a link to its database nothing else of it would be found, and no lock held."""
    if not os.fspath(path):
        raise MemoryFileError("memory.path is empty; name the database file")
    try:
        with explained(Path(path)):
            file = Path(path).expanduser().absolute()
            return file.resolve() if file.is_symlink() else file
    except RuntimeError as error:  # no home folder, or links in a circle
        raise MemoryFileError(f"{path}: {error}; name another file: memory.path, or --memory") from error


def sync_folder(folder: Path) -> None:
    """Make a new or renamed entry of a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
