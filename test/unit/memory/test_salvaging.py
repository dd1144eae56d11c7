"""Of a damaged memory what can be read is brought into a new one, and the damaged file stays as it is."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ram_folder
from remembered_drives import SECOND, Frame, remember

from vlkng_ros.cli import main
from vlkng_ros.errors import MemoryDamagedError, NotAMemoryError
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.page_scan import PageScan
from vlkng_ros.memory.salvaging import Salvaged, check_salvageable, salvage
from vlkng_ros.types import Detection, Perception, PerceptionState, RelationMention

JPEG = b"\xff\xd8picture\xff\xd9"
PAGE, COUNT = 4096, 120


def frames(count: int, jpeg: bytes | None = JPEG) -> list[Frame]:
    found = (Detection("cup", (100.0, 200.0, 160.0, 260.0), 0.9, "a red cup"), Detection("table"))
    return [
        Frame(
            i * SECOND,
            i / 2,
            0.0,
            Perception(f"Caption {i}. A cup on a table.", found, (RelationMention(0, "on", 1),), "test", "none"),
            jpeg=jpeg,
        )
        for i in range(count)
    ]


@pytest.fixture
def written(open_writer, path) -> Path:
    with open_writer() as writer:
        remember(writer, frames(COUNT))
    return path


def brought_over(source: Path, target: Path) -> Salvaged:
    with MemoryWriter.open(target, encoder=None, associators=[ProximityAssociator()]) as writer:
        return salvage(source, writer)


def test_of_a_whole_memory_everything_is_brought_over(written, path):
    new, link = path.with_name("new.db"), path.with_name("link.db")
    link.symlink_to(written)
    assert brought_over(link, new) == Salvaged(COUNT, COUNT, 2 * COUNT, COUNT, 0, 0, 0)
    with MemoryReader.open(written) as before, MemoryReader.open(new) as after:
        assert after.frames().position_m.tolist() == before.frames().position_m.tolist()
        for number in (1, 77, COUNT):
            assert after.keyframe(number).caption == before.keyframe(number).caption
            kept, had = after.observations(number), before.observations(number)
            assert [o.detection for o in kept] == [o.detection for o in had]
            assert after.image(number) == JPEG
        assert [r.predicate for r in after.relations("proximity", "cup_1")] == ["on"]


def test_broken_pages_cost_what_is_on_them(written, path):
    damaged, rng = bytearray(written.read_bytes()), random.Random(5)
    pages = len(damaged) // PAGE
    for page in rng.sample(range(pages // 2, pages), pages // 10):
        damaged[page * PAGE : (page + 1) * PAGE] = rng.randbytes(PAGE)
    written.write_bytes(damaged)
    new = path.with_name("new.db")
    found = brought_over(written, new)
    assert 0 < found.keyframes <= COUNT
    assert found.lost_keyframes + found.lost_descriptions > 0
    assert found.keyframes + found.lost_keyframes == COUNT
    assert written.read_bytes() == damaged
    with MemoryReader.open(new) as reader:
        assert len(reader.frames()) == found.keyframes
        for keyframe in reader.keyframes(reader.frames().ids.tolist()):
            second = keyframe.stamp_ns // SECOND
            assert keyframe.base_pose.position_m[0] == second / 2
            if keyframe.perception is PerceptionState.DONE:
                assert keyframe.caption == f"Caption {second}. A cup on a table."
                assert len(reader.observations(keyframe.keyframe_id)) == 2


def test_a_memory_whose_end_is_missing_is_looked_into_up_to_there(written, path):
    whole = written.read_bytes()
    written.write_bytes(whole[: len(whole) - PAGE])
    with pytest.raises(MemoryDamagedError, match=f"`vlkng salvage {written} --memory NEW.db`"):
        MemoryReader.open(written)
    found = brought_over(written, path.with_name("new.db"))
    assert found.keyframes > COUNT / 2
    assert found.keyframes + found.lost_keyframes == COUNT
    written.write_bytes(whole[: 20 * PAGE])
    with pytest.raises(MemoryDamagedError, match="no keyframe of it can be read, on any page"):
        check_salvageable(written)


def check_true(path: Path, whole: bool) -> None:
    """What was brought over is what was seen, and nothing else."""
    with MemoryReader.open(path) as reader:
        for keyframe in reader.keyframes(reader.frames().ids.tolist()):
            second = keyframe.stamp_ns // SECOND
            assert keyframe.base_pose.position_m == (second / 2, 0.0, 0.0)
            sentences = [f"Caption {second}.", "A cup on a table."]
            assert set(keyframe.caption.replace(". A", ".|A").split("|")) <= {"", *sentences}
            found = [o.detection for o in reader.observations(keyframe.keyframe_id)]
            assert all(one in expected() for one in found)
            if whole:
                assert (keyframe.caption, found) == (" ".join(sentences), expected())


def expected() -> list[Detection]:
    return list(frames(1)[0].perception.detections)


LOST = {
    "the header": lambda whole, roots: bytes(PAGE) + whole[PAGE:],
    "every root page": lambda whole, roots: bytes(
        b"".join(bytes(PAGE) if n + 1 in roots else whole[n * PAGE : (n + 1) * PAGE] for n in range(len(whole) // PAGE))
    ),
    "the last third": lambda whole, roots: whole[: len(whole) * 2 // 3],
    "the first half": lambda whole, roots: bytes(len(whole) // 2) + whole[len(whole) // 2 :],
}


@pytest.fixture(scope="module")
def stored() -> Iterator[tuple[bytes, set[int]]]:
    """A memory's file, and the numbers of its trees' root pages."""
    folder = ram_folder()
    path = folder / "memory.db"
    with MemoryWriter.open(path, encoder=None) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        for item in frames(400, jpeg=None):
            writer.add_perception(writer.add_keyframe(item.capture()).keyframe_id, item.perception)
        writer.add_span("chunk", [1, 2, 3], "A cup, again and again.")
    connection = sqlite3.connect(path)
    trees = ("keyframe", "observation", "text", "keyframe_text", "relation_fact")
    query = f"SELECT rootpage FROM sqlite_master WHERE name IN ({','.join('?' * len(trees))})"
    roots = {row[0] for row in connection.execute(query, trees)}
    connection.close()
    yield path.read_bytes(), roots
    shutil.rmtree(folder)


@pytest.mark.parametrize("lost", LOST)
def test_what_is_on_whole_pages_is_found_wherever_the_way_to_it_is_lost(stored, path, lost):
    path.write_bytes(LOST[lost](*stored))
    check_salvageable(path)
    new = path.with_name("new.db")
    with MemoryWriter.open(new, encoder=None) as writer:
        found = salvage(path, writer)
    if lost == "the last third":
        assert 0 < found.keyframes < 400
    elif lost == "the first half":
        # Names of models and relations were in it, and what drives and maps were called.
        assert found.keyframes > 200
        assert found.described == found.keyframes
        with MemoryReader.open(new) as reader:
            assert {s.map_id for s in reader.stats().sessions} == {"lost-session-1"}
    else:
        assert (found.keyframes, found.lost_keyframes, found.lost_descriptions) == (400, 0, 0)
        assert found.shortened < 5
        with MemoryReader.open(new) as reader:
            assert [s.summary for s in reader.spans("chunk") if s.span_id] == ["A cup, again and again."]
    check_true(new, whole=found.described > 0 and found.shortened == 0)


def without_pages_of(whole: bytes, columns: int, folder: Path, keep: int = 0) -> bytes:
    """A file whose pages with rows of so many columns are zeros, but for the first few of them."""
    pages, kept = [whole[start : start + PAGE] for start in range(0, len(whole), PAGE)], 0
    for number, page in enumerate(pages[1:], start=1):
        (folder / "page").write_bytes(page)
        if any(with_ids and len(rows[0]) == columns for with_ids, rows in PageScan(folder / "page").pages()):
            kept += 1
            pages[number] = page if kept <= keep else bytes(PAGE)
    return b"".join(pages)


def test_of_what_was_seen_in_lost_keyframes_it_is_said_what_it_was(stored, path, capsys):
    path.write_bytes(without_pages_of(stored[0], 17, path.parent))
    with pytest.raises(MemoryDamagedError, match=r"it is lost when and where this was seen: cup 400, table 400$"):
        check_salvageable(path)
    path.write_bytes(without_pages_of(stored[0], 17, path.parent, keep=4))
    new = path.with_name("new.db")
    assert main(["salvage", str(path), "--memory", str(new), "--text-encoder", "none"]) == 1
    said = capsys.readouterr().out
    with MemoryReader.open(new) as reader:
        lost = 400 - reader.stats().keyframes
    assert 0 < lost < 400
    assert f"not brought over, since it is lost when and where it was seen: cup {lost}, table {lost}\n" in said


def test_a_thing_whose_name_is_lost_is_what_it_was_described_as(stored, path):
    path.write_bytes(stored[0])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("DELETE FROM text WHERE text = 'cup'")
    connection.commit()
    connection.close()
    new = path.with_name("new.db")
    with MemoryWriter.open(new, encoder=None) as writer:
        assert salvage(path, writer).observations == 800
    with MemoryReader.open(new) as reader:
        assert [o.detection.label for o in reader.observations(7)] == ["a red cup", "table"]


def test_a_description_of_which_a_part_is_lost_is_no_proof_of_absence(written, path):
    shutil.rmtree(written.with_suffix(".frames"))
    connection = sqlite3.connect(written)
    connection.execute("DELETE FROM observation WHERE id IN (SELECT id FROM observation ORDER BY id LIMIT 3)")
    connection.commit()
    connection.close()
    new, again = path.with_name("new.db"), path.with_name("again.db")
    shortened = brought_over(written, new).shortened
    assert shortened > 0
    brought_over(new, again)
    for file in (new, again):
        with MemoryReader.open(file) as reader:
            assert (reader.undescribed(), reader.stats().pending) == (shortened, 0)
            frames = reader.frames().ids.tolist()
            assert (reader.undescribed(frames[:1]), reader.undescribed(frames[-1:])) == (1, 0)


def test_a_file_whose_beginning_is_cut_off_anywhere_is_read_from_its_end(stored, path):
    whole = stored[0]
    path.write_bytes(whole[len(whole) // 2 // PAGE * PAGE + 1000 :])
    with MemoryWriter.open(path.with_name("new.db"), encoder=None) as writer:
        assert salvage(path, writer).keyframes > 200


@pytest.mark.parametrize("offset", [0, 16, 18, 20, 68])
def test_a_header_that_was_written_over_costs_nothing(stored, path, offset):
    whole, _ = stored
    path.write_bytes(whole[:offset] + b"GARB" + whole[offset + 4 :])
    with MemoryWriter.open(path.with_name("new.db"), encoder=None) as writer:
        found = salvage(path, writer)
    assert (found.keyframes, found.lost_keyframes, found.lost_descriptions) == (400, 0, 0)


def test_the_command_says_what_was_saved_and_makes_nothing_of_what_is_no_memory(written, path, capsys):
    new = path.with_name("new.db")
    assert main(["salvage", str(written), "--memory", str(new), "--text-encoder", "none"]) == 0
    said = f"{COUNT} keyframes, {COUNT} of them described, {2 * COUNT} observations and {COUNT} images"
    assert said in capsys.readouterr().out
    assert main(["salvage", str(written), "--memory", str(new)]) == 2
    assert "is there already" in capsys.readouterr().err
    other = path.with_name("notes.txt")
    other.write_text("x" * 200)
    assert main(["salvage", str(other), "--memory", str(path.with_name("none.db"))]) == 2
    assert not path.with_name("none.db").exists()
    with pytest.raises(NotAMemoryError, match="not a memory"):
        check_salvageable(other)
    shutil.rmtree(path.with_suffix(".frames"))
    assert brought_over(written, path.with_name("bare.db")).images == 0
