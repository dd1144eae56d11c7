"""The index beside a memory: taken over where it fits, made anew where not, and gone with what is forgotten."""

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from captioned_drives import Seen, WordEncoder, open_writer, round_trip, write
from test_follower import content

from vlkng_ros.memory import MemoryReader, index_file
from vlkng_ros.memory.database import index_of
from vlkng_ros.memory.index_file import StoredIndex, load_index, save_index
from vlkng_ros.memory.said import Said
from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.retrieval import follower
from vlkng_ros.retrieval.follower import IndexFollower


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(follower, "KEPT_FROM", 0)
    return tmp_path / "memory.db"


def everything(index: TextIndex) -> list[object]:
    """What questions can see, and what each text says."""
    cut = index.cut()
    terms = sorted({term for slot in range(cut.slots) for term in (*index.said[slot], *index.heard[slot])})
    known = [[part.tolist() for part in index.postings(term, cut)] for term in terms]
    first = [index.cut(None, int(stamp)).slots for stamp in index.stamps_ns]
    return [*content(index), index.texts, terms, known, first, index.far(np.arange(cut.slots)).tolist()]


def started(path: Path) -> tuple[list[object], int]:
    """What a reader that starts now knows, and how often it had to make its index."""
    with MemoryReader.open(path) as reader:
        found = IndexFollower(reader, 64)
        return everything(found.index), found.rebuilds


def test_a_start_takes_over_what_was_kept_and_what_came_since(path: Path) -> None:
    drive = round_trip()
    with open_writer(path, WordEncoder()) as writer:
        write(writer, [*drive[:30], Seen(60, 30, 0, "There is no red door in the background.")])
        made, rebuilds = started(path)
        assert (rebuilds, index_of(path).stat().st_mode & 0o777) == (1, 0o600)
        assert started(path) == (made, 0)
        write(writer, [Seen(61 + i, 31 + i, 0, f"A green shelf {i}.") for i in range(5)])
        found, rebuilds = started(path)
    index_of(path).unlink()
    assert rebuilds == 0
    assert found == started(path)[0]


def test_it_is_kept_again_once_it_has_grown(path: Path) -> None:
    drive = round_trip()
    with open_writer(path, WordEncoder()) as writer, MemoryReader.open(path) as reader:
        write(writer, drive[:10])
        found = IndexFollower(reader, 64)
        write(writer, drive[10:])
        found.refresh()
        kept = load_index(path)
        assert kept is not None
        assert (kept.revision, kept.keyframes) == (reader.revision, 60)


def test_a_keyframe_described_late_makes_it_anew(path: Path) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[5:10])
        started(path)
        write(writer, round_trip()[:3])  # a session with older stamps
        found, rebuilds = started(path)
    index_of(path).unlink()
    assert rebuilds == 1
    assert found == started(path)[0]


def test_old_observations_that_were_summed_up_meanwhile_are_taken_out_of_it(path: Path) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, [Seen(i, i, 0, f"A red door. The room {i}.", ("door",)) for i in range(30)])
        started(path)
        writer.summarise(keep=1)
        write(writer, [Seen(61, 31, 0, "A green shelf.")])
        found, rebuilds = started(path)
        again, anew = started(path)
    index_of(path).unlink()
    fresh, _ = started(path)
    assert (rebuilds, anew, again) == (0, 0, found)
    # What was said is the same; texts that nothing says any more are still there, and not found.
    assert found[:2] + found[3:4] == fresh[:2] + fresh[3:4]
    assert set(fresh[2]) < set(found[2])


def cut_off(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    at = data.index(b"mention_slots.npy") + 200
    data[at] ^= 1
    file.write_bytes(data)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def of_another_memory(file: Path) -> None:
    other = file.with_name("other.db")
    with open_writer(other, WordEncoder()) as writer:
        write(writer, [Seen(s.second, s.x_m, s.y_m, f"Another {i}.") for i, s in enumerate(round_trip()[:5])])
    started(other)
    os.replace(index_of(other), file)


@pytest.mark.parametrize("harm", [cut_off, flip, empty, of_another_memory])
def test_one_that_is_damaged_or_of_another_memory_is_made_anew(path: Path, harm: Callable[[Path], None]) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[:20])
    made, _ = started(path)
    harm(index_of(path))
    assert started(path) == (made, 1)
    assert started(path) == (made, 0)


def test_one_that_is_ahead_of_the_memory_is_made_anew(path: Path) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[:5])
    earlier = path.read_bytes()
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[5:9])
    started(path)
    path.write_bytes(earlier)  # restored from a backup
    assert started(path)[1] == 1


def test_forgetting_takes_it_away(path: Path) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, [Seen(0, 0, 0, "A secret drawer."), Seen(1, 1, 0, "A door.")])
        started(path)
        assert b"secret" in index_of(path).read_bytes()
        writer.forget(until_ns=500_000_000)
        assert not index_of(path).exists()
        found, rebuilds = started(path)
        assert (found[2], rebuilds) == (["A door."], 1)
        assert b"secret" not in index_of(path).read_bytes()


def test_one_that_was_put_there_after_something_was_forgotten_goes(path: Path) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, [Seen(0, 0, 0, "A secret drawer."), Seen(1, 1, 0, "A door.")])
        started(path)
        late = index_of(path).read_bytes()
        writer.forget(until_ns=500_000_000)
        index_of(path).write_bytes(late)
        assert started(path)[1] == 1
        assert b"secret" not in index_of(path).read_bytes()


def test_a_reader_that_cannot_write_goes_without(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[:5])

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert started(path)[1] == 1
    assert not index_of(path).exists()


def test_a_memory_made_where_another_was_taken_away_does_not_find_its_index(path: Path) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[:5])
    started(path)
    path.unlink()
    with open_writer(path, WordEncoder()):
        assert not index_of(path).exists()


def test_one_torn_at_any_byte_is_no_index_or_the_same(path: Path) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[:20])
    made, _ = started(path)
    file, rng = index_of(path), random.Random(11)
    whole = file.read_bytes()
    kept = said_by(load_index(path))
    unreadable = 0
    for number in range(200):
        # The names and places of the columns stand at the end, where what a torn file says of itself is decided.
        at = rng.randrange(len(whole)) if number % 2 else rng.randrange(len(whole) - 1600, len(whole))
        torn = bytearray(whole[:at])
        if number % 4 == 1:
            torn += rng.randbytes(len(whole) - at)
        elif number % 4 == 2:
            torn += bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :]
        elif number % 4 == 3:
            torn += bytes(len(whole[at : at + 512])) + whole[at + 512 :]
        file.write_bytes(torn)
        found = load_index(path)
        unreadable += found is None
        assert found is None or said_by(found) == kept
    assert unreadable > 150
    assert started(path) == (made, 1)


def said_by(index: StoredIndex | None) -> list[object]:
    assert index is not None
    columns = [*(part for part in index if not isinstance(part, Said)), *index.said]
    return [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]


def test_a_disk_that_fills_up_while_it_is_written_is_left_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[:5])
        made, _ = started(path)
        before = index_of(path).read_bytes()
        kept = load_index(path)
        assert kept is not None

        def full(opened: BinaryIO, index: StoredIndex) -> None:
            opened.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(index_file, "_write", full)
        assert not save_index(path, kept)
    assert (index_of(path).read_bytes(), started(path)[0]) == (before, made)
    assert list(path.parent.glob("*.new")) == []


def test_of_two_readers_that_keep_it_at_once_one_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_writer(path, WordEncoder()) as writer:
        write(writer, round_trip()[:5])
    made, _ = started(path)
    kept = load_index(path)
    assert kept is not None
    write_it, second = index_file._write, []

    def meanwhile(opened: BinaryIO, index: StoredIndex) -> None:
        monkeypatch.setattr(index_file, "_write", write_it)
        second.append(save_index(path, index))
        write_it(opened, index)

    monkeypatch.setattr(index_file, "_write", meanwhile)
    assert save_index(path, kept)
    assert second == [False]
    assert started(path) == (made, 0)
