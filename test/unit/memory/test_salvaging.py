"""Of a damaged memory what can be read is brought into a new one, and the damaged file stays as it is."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from remembered_drives import SECOND, Frame, remember

from vlkng_ros.cli import main
from vlkng_ros.errors import MemoryDamagedError, NotAMemoryError
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.salvaging import Salvaged, check_salvageable, salvage
from vlkng_ros.types import Detection, Perception, PerceptionState, RelationMention

JPEG = b"\xff\xd8picture\xff\xd9"
PAGE, COUNT = 4096, 120


def frames(count: int) -> list[Frame]:
    found = (Detection("cup", (100.0, 200.0, 160.0, 260.0), 0.9, "a red cup"), Detection("table"))
    return [
        Frame(
            i * SECOND,
            i / 2,
            0.0,
            Perception(f"Caption {i}. A cup on a table.", found, (RelationMention(0, "on", 1),), "test", "none"),
            jpeg=JPEG,
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
    new = path.with_name("new.db")
    assert brought_over(written, new) == Salvaged(COUNT, COUNT, 2 * COUNT, COUNT, 0, 0)
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
    with pytest.raises(MemoryDamagedError, match="no keyframe of it can be read"):
        check_salvageable(written)


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
