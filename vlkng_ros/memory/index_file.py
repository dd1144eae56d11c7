"""What an index made of a memory's texts and mentions, kept beside the database so that the next start need not again.

It holds numbers, and the words that they stand for; texts and vectors stay in the database alone. It is never trusted
over that: who loads it checks that it was made by the same rules from the same keyframes and texts, takes over what
was committed since, and makes it anew where it does not fit. A file that is cut off or damaged is no file.

Forgetting removes it, and a reader that has written one looks whether something was forgotten meanwhile.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vlkng_ros import plurals
from vlkng_ros.memory import said, statements, words
from vlkng_ros.memory.database import index_of, sync_folder
from vlkng_ros.memory.said import Said

FORMAT = 2
logger = logging.getLogger(__name__)


class StoredIndex(NamedTuple):
    """A text index without its texts and vectors."""

    revision: int
    """The operation of the memory up to which it goes."""
    frames: str
    """Digest of the ids and times of its keyframes."""
    texts: NDArray[np.uint32]
    """Checksums of its texts, in the order of their slots."""
    keyframes: int
    text_ids: NDArray[np.int64]
    first_ns: NDArray[np.int64]
    """When each text was mentioned first."""
    vocabulary: list[str]
    said: Said
    mention_slots: NDArray[np.int32]
    mention_frames: NDArray[np.int32]
    mention_caption: NDArray[np.bool_]


def save_index(path: Path, index: StoredIndex) -> bool:
    """Put an index beside a database, all of it or nothing; returns whether it is there.

    Where nothing can be written, or another reader is about to, it stays as it is: nothing depends on it.
    """
    file = index_of(path)
    draft = file.with_name(file.name + ".new")
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(opened.fileno()).st_ino != os.stat(draft).st_ino:
                return False  # another reader moved it into place since it was opened
            opened.truncate()
            try:
                _write(opened, index)
                opened.flush()
                os.fsync(opened.fileno())
                os.replace(draft, file)
            except OSError:
                draft.unlink(missing_ok=True)  # what is left of it would take room on a full disk
                raise
        sync_folder(file.parent)
    except OSError as error:
        logger.debug("%s is not kept: %s", file, error)
        return False
    return True


def load_index(path: Path) -> StoredIndex | None:
    """The index beside a database; None where there is none that is whole and made by this version's rules."""
    try:
        with open(index_of(path), "rb") as opened, np.load(opened, allow_pickle=False) as stored:
            return _read(stored)
    except FileNotFoundError:
        return None
    except Exception as error:  # what flipped bits in an archive's structure end in is anything
        logger.debug("%s is of no use: %s", index_of(path), error)
        return None


def digest_of_frames(keyframe_ids: NDArray[np.int64], stamps_ns: NDArray[np.int64]) -> str:
    """Tells keyframes apart by their ids and times, in order."""
    return _digest((np.ascontiguousarray(keyframe_ids).tobytes(), np.ascontiguousarray(stamps_ns).tobytes()))


def checksums_of(texts: Iterable[str]) -> NDArray[np.uint32]:
    """Tells texts apart, one by one."""
    return np.fromiter((crc32(text.encode()) for text in texts), dtype=np.uint32)


@lru_cache(maxsize=1)
def rules() -> str:
    """Digest of the code that reads texts: what another version made of them is made anew."""
    return _digest(Path(str(module.__file__)).read_bytes() for module in (words, plurals, statements, said))


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _write(opened: BinaryIO, index: StoredIndex) -> None:
    about = {
        "format": FORMAT,
        "rules": rules(),
        "revision": index.revision,
        "frames": index.frames,
        "keyframes": index.keyframes,
        "vocabulary": index.vocabulary,
    }
    columns: dict[str, NDArray[Any]] = {
        "about": np.frombuffer(json.dumps(about, ensure_ascii=False).encode(), dtype=np.uint8),
        "texts": index.texts,
        "text_ids": index.text_ids,
        "first_ns": index.first_ns,
        "mention_slots": index.mention_slots,
        "mention_frames": index.mention_frames,
        "mention_caption": index.mention_caption,
        **{f"said_{name}": column for name, column in index.said._asdict().items()},
    }
    np.savez(opened, allow_pickle=False, **columns)


def _read(stored: Any) -> StoredIndex | None:
    """From an ``.npz`` archive, whose checksums have to be right.

    Raises:
        ValueError: columns do not go together.
    """
    about = json.loads(stored["about"].tobytes().decode())
    if about["format"] != FORMAT or about["rules"] != rules():
        return None
    index = StoredIndex(
        int(about["revision"]),
        str(about["frames"]),
        stored["texts"],
        int(about["keyframes"]),
        stored["text_ids"],
        stored["first_ns"],
        list(map(str, about["vocabulary"])),
        Said(*(stored[f"said_{name}"] for name in Said._fields)),
        stored["mention_slots"],
        stored["mention_frames"],
        stored["mention_caption"],
    )
    _check(index)
    return index


def _check(index: StoredIndex) -> None:
    texts, mentions, said_ = len(index.text_ids), len(index.mention_slots), index.said
    lengths = {len(said_.term_counts), len(said_.word_counts), len(said_.far), len(index.first_ns), texts}
    lengths.add(len(index.texts))
    lengths_of_mentions = {len(index.mention_frames), len(index.mention_caption), mentions}
    sums = (int(said_.term_counts.sum()), int(said_.word_counts.sum()), len(said_.denied))
    if len(lengths) > 1 or len(lengths_of_mentions) > 1:
        raise ValueError("columns of different lengths")
    if sums != (len(said_.terms), len(said_.words), len(said_.denied_rows)):
        raise ValueError("words that are of no text")
    for column, limit in (
        (said_.terms, len(index.vocabulary)),
        (said_.words, len(index.vocabulary)),
        (said_.denied, len(index.vocabulary)),
        (said_.denied_rows, texts),
        (index.mention_slots, texts),
        (index.mention_frames, index.keyframes),
    ):
        if len(column) and not 0 <= int(column.min()) <= int(column.max()) < limit:
            raise ValueError("a number that stands for nothing")
    if (np.diff(index.mention_frames) < 0).any() or (np.diff(index.first_ns) < 0).any():
        raise ValueError("mentions out of order")
