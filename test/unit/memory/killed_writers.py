"""Writers that are killed in the middle of writing, again and again, and what is looked at after each."""

from __future__ import annotations

import multiprocessing
import random
import signal
import sqlite3
import time
from pathlib import Path

import writing_process
from remembered_drives import told

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator

# A server that has imported what takes long, pytest's main module too, forks each process in milliseconds. It does not
# know pytest's paths, so that naming modules of this folder would do nothing.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["pytest", "hypothesis.strategies", "vlkng_ros.memory", "vlkng_ros.memory.association.proximity"]
)
KEYFRAMES_BEFORE_KILL = 8
LONGEST_OPERATION_S = 0.03
"""About as long as writing one keyframe takes, with all that waits for the disk."""


def integrity(path: Path) -> str:
    """What SQLite says about a file, ``ok`` of a whole one; and no row may be there that its head does not count."""
    connection = sqlite3.connect(path)
    try:
        counted = connection.execute(
            "SELECT (SELECT COUNT(*) FROM keyframe) = keyframes AND (SELECT COUNT(*) FROM observation) = observations "
            "AND NOT EXISTS (SELECT 1 FROM keyframe_text t JOIN keyframe k ON k.id = t.keyframe WHERE k.state <> 1) "
            "FROM head"
        )
        assert counted.fetchall() in ([], [(1,)]), "an operation is half there"
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


def check_whole(reader: MemoryReader, images: bool = True) -> None:
    """Facts and views agree, to the last observation, and every image that is mentioned is there.

    Images are not part of a snapshot: what is forgotten meanwhile is gone at once.
    """
    described = set()
    for keyframe in reader.keyframes(reader.frames().ids.tolist()):
        observations = {o.observation_id for o in reader.observations(keyframe.keyframe_id)}
        described |= observations
        seen = reader.entities_in("proximity", keyframe.keyframe_id).keys() if "proximity" in reader.views() else set()
        assert seen in (set(), observations), "an operation is half there"
        image = reader.image(keyframe.keyframe_id)
        assert (image is not None) == keyframe.has_image or not images
        assert image is None or (image.startswith(b"\xff\xd8") and image.endswith(b"\xff\xd9"))
    assert reader.stats().observations == len(described)
    for entity in reader.entities("proximity") if "proximity" in reader.views() else ():
        sightings = reader.sightings("proximity", entity.entity_id)
        assert entity.observation_count == len(sightings) == sum(entity.labels.values())


class Memory:
    """One memory whose writers are killed, and a reader that follows it all the while."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.acknowledged: set[int] = set()
        self._rng = random.Random(seed)
        self._forgotten: set[int] = set()
        self._known: set[int] = set()
        self._follower: MemoryReader | None = None

    def start_writing(self) -> None:
        """Start a writer; returns at once."""
        self._pipe, send = PROCESSES.Pipe(duplex=False)
        arguments = (str(self.path), self._rng.randrange(2**31), send)
        self._process = PROCESSES.Process(target=writing_process.write, args=arguments)
        self._process.start()
        send.close()

    def kill_while_writing(self) -> None:
        """Look at what the writer does, and kill it at a random moment after some acknowledged keyframes."""
        said = [self._pipe.recv() for _ in range(self._rng.randrange(1, KEYFRAMES_BEFORE_KILL))]
        if self._follower is not None:
            with self._follower.snapshot():
                check_whole(self._follower, images=False)
        time.sleep(self._rng.uniform(0, LONGEST_OPERATION_S))
        self._process.kill()
        try:
            while True:
                said.append(self._pipe.recv())
        except EOFError:
            self._process.join()
        self._pipe.close()
        assert self._process.exitcode == -signal.SIGKILL, "the writer failed by itself"
        self._process.close()
        self.acknowledged |= {number for verb, number in said if verb == "added"}
        self._forgotten |= {number for verb, number in said if verb == "forgot"}

    def check(self) -> None:
        """Everything acknowledged is there, nothing is there by halves, and the follower knows it."""
        if self._follower is None:
            self._follower = MemoryReader.open(self.path)
            self._known = set(self._follower.frames().ids.tolist())
        changes = self._follower.refresh()
        self._known = (self._known | set(changes.keyframe_ids)) - set(changes.forgotten_keyframe_ids)
        assert self._known == set(self._follower.frames().ids.tolist())
        assert self.acknowledged - self._forgotten <= self._known, "an acknowledged keyframe is lost"
        check_whole(self._follower)

    def close(self) -> None:
        """The last checks: against a reader that starts anew, and after the next start of a writer."""
        assert self._follower is not None
        with MemoryReader.open(self.path) as fresh:
            assert told(fresh, "proximity") == told(self._follower, "proximity")
        self._follower.close()
        _check_after_the_next_start(self.path)


def _check_after_the_next_start(path: Path) -> None:
    """A writer removes images without a keyframe and associates what was described."""
    with MemoryWriter.open(path, encoder=None, associators=[ProximityAssociator()]):
        images = {int(file.stem) for file in path.with_suffix(".frames").rglob("*") if file.is_file()}
    with MemoryReader.open(path) as fresh:
        frames = fresh.keyframes(fresh.frames().ids.tolist())
        assert images == {k.keyframe_id for k in frames if k.has_image}
        assert not any(
            fresh.entities_in("proximity", k.keyframe_id) == {} for k in frames if fresh.observations(k.keyframe_id)
        )
    assert integrity(path) == "ok"
