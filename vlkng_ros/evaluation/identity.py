"""How well associators tell what is the same thing, and how well its place is known, against a gallery's truth.

Every associator writes its view of one memory, through the store and in the order of the drive, so what is measured
is what a robot would remember. ``benchmarks/identity_bench.py`` runs it over many drives.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vlkng_ros.evaluation.identity_drive import IdentityDrive
from vlkng_ros.evaluation.identity_scores import (
    PairFigures,
    PlaceFigures,
    ViewFigures,
    identity_figures,
    state_figures,
)
from vlkng_ros.gallery.detector import SimulatedDetector, SimulatedKeyframe
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.gallery.world import FOREVER_NS, World
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.visibility import INDEPENDENT_M, INDEPENDENT_NS, MIN_ABSENCES
from vlkng_ros.types import Entity, EntityState, Perception, Pose, PositionSource, TextEncoder, Vec3

MIN_BASELINE_M, MAX_RANGE_M = 1.0, 6.0
"""Places are scored of things that were seen over this baseline from no further away than this."""
SIDE_BY_SIDE_M = 1.2
"""Things of a kind on one wall are side by side when their middles are no further apart."""
APART = 0.9
"""Share of an entity's observations from which on it stands for one thing."""
_RAM = Path("/dev/shm")
Afterwards = Callable[[MemoryReader], Associator]


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation with what it truly shows (``thing_id``), when and from where."""

    observation_id: int
    thing_id: str
    stamp_ns: int
    camera_m: Vec3


@dataclass(frozen=True)
class Remembered:
    """What a memory made of a drive: of each view, every observation's entity, and the entities.

    ``bases`` are the keyframes' stamps and where the robot truly was.
    """

    drive: IdentityDrive
    seen: Sequence[Seen]
    bases: Sequence[tuple[int, Pose]]
    entity_of: Mapping[str, Mapping[int, str]]
    entities: Mapping[str, Mapping[str, Entity]]


def evaluate(
    drive: IdentityDrive,
    associators: Sequence[Associator],
    keyframes: Iterable[SimulatedKeyframe],
    encoder: TextEncoder | None = None,
    afterwards: Afterwards | None = None,
) -> dict[str, ViewFigures]:
    """Remember a drive and score every view of it.

    Args:
        drive: what is driven.
        associators: what writes the views.
        keyframes: what the robot sees, such as ``drive.keyframes()``.
        encoder: what tells which labels are alike; None: only equal ones.
        afterwards: makes of the finished memory's reader one more associator, whose view is added then.
    """
    remembered = remember(drive, associators, keyframes, encoder, afterwards)
    return {view: score(remembered, view) for view in remembered.entity_of}


def remember(
    drive: IdentityDrive,
    associators: Sequence[Associator],
    keyframes: Iterable[SimulatedKeyframe],
    encoder: TextEncoder | None = None,
    afterwards: Afterwards | None = None,
) -> Remembered:
    """Write a drive's keyframes into a memory, association live, and read back what became of them."""
    seen: list[Seen] = []
    bases: list[tuple[int, Pose]] = []
    views = [associator.view for associator in associators]
    # What is measured is not the disk.
    folder_in = str(_RAM) if _RAM.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="vlkng-identity-", dir=folder_in) as folder:
        path = Path(folder) / "memory.db"
        with MemoryWriter.open(path, encoder=encoder, associators=associators) as writer:
            writer.start_session(robot="robot", map_id="gallery", frame_id=drive.world.frame_id)
            for keyframe in keyframes:
                number = writer.add_keyframe(keyframe.capture).keyframe_id
                found = tuple(simulated.detection for simulated in keyframe.detections)
                observations = writer.add_perception(number, Perception(detections=found))
                writer.associate(number)
                bases.append((keyframe.capture.stamp_ns, keyframe.true_base))
                camera = keyframe.capture.camera_pose or keyframe.capture.base_pose
                for observation, simulated in zip(observations, keyframe.detections, strict=True):
                    # A box of nothing is its own thing: whatever it is put together with is wrong.
                    thing = simulated.thing_id or f"nothing {len(seen)}"
                    stamp_ns = keyframe.capture.stamp_ns
                    seen.append(Seen(observation.observation_id, thing, stamp_ns, camera.position_m))
        if afterwards is not None:
            with MemoryReader.open(path) as reader:
                added = afterwards(reader)
                # Opening a memory brings the views of its associators up to date.
                MemoryWriter.open(path, encoder=encoder, associators=[added]).close()
            views.append(added.view)
        with MemoryReader.open(path) as reader:
            frames = reader.frames().ids.tolist()
            entity_of = {
                view: {number: entity for frame in frames for number, entity in reader.entities_in(view, frame).items()}
                for view in views
            }
            entities = {view: {entity.entity_id: entity for entity in reader.entities(view)} for view in views}
    return Remembered(drive, seen, bases, entity_of, entities)


def score(remembered: Remembered, view: str) -> ViewFigures:
    """A view's figures."""
    entity_of, entities = remembered.entity_of[view], remembered.entities[view]
    identity = identity_figures(
        [entity_of[s.observation_id] for s in remembered.seen], [s.thing_id for s in remembered.seen]
    )
    thing_of = _majorities(remembered, entity_of)
    true = _true_states(remembered, entity_of, thing_of)
    looked = {thing: _was_looked_for(remembered, thing) for thing in remembered.drive.moved + remembered.drive.removed}
    could = [looked.get(thing_of[e], False) for e in true]
    gone, moved = (
        state_figures([entities[e].state is state for e in true], [true[e] is state for e in true], could)
        for state in (EntityState.GONE, EntityState.MOVED)
    )
    pairs = _side_by_side(remembered, entity_of, thing_of)
    return ViewFigures(identity, _places(remembered, entity_of, entities), gone, moved, pairs)


def _majorities(remembered: Remembered, entity_of: Mapping[int, str]) -> dict[str, str]:
    """The thing that most observations of each entity show."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for seen in remembered.seen:
        counts[entity_of[seen.observation_id]][seen.thing_id] += 1
    return {entity: things.most_common(1)[0][0] for entity, things in counts.items()}


def _was_looked_for(remembered: Remembered, thing_id: str) -> bool:
    """Whether the robot looked often enough where a thing had been to notice that it was taken away.

    That is as often as an absence must be noted, from other points or at another time, and where a detector sees it.
    """
    world = remembered.drive.world
    picture = next(thing.picture for thing in world.things() if thing.thing_id == thing_id)
    still = replace(picture, until_ns=FOREVER_NS)
    sight = SimulatedDetector(Truth(World(world.rooms, world.walls, world.doors, (still,), world.frame_id)), missed=0.0)
    looks: list[tuple[int, Vec3]] = []
    for stamp_ns, base in remembered.bases:
        if stamp_ns >= picture.until_ns and sight.detect(base, stamp_ns):
            last = looks[-1] if looks else None
            if last is None or (
                math.dist(base.position_m, last[1]) >= INDEPENDENT_M or stamp_ns - last[0] >= INDEPENDENT_NS
            ):
                looks.append((stamp_ns, base.position_m))
    return len(looks) >= MIN_ABSENCES


def _side_by_side(remembered: Remembered, entity_of: Mapping[int, str], thing_of: Mapping[str, str]) -> PairFigures:
    """Of the pairs of a kind that hung side by side all the time and were both seen, those that are two entities."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for seen in remembered.seen:
        votes[seen.thing_id][entity_of[seen.observation_id]] += 1
    changed = {*remembered.drive.moved, *remembered.drive.removed}
    there = [t for t in remembered.drive.world.things() if t.thing_id not in changed and votes[t.thing_id]]
    own = {t.thing_id: thing_of[votes[t.thing_id].most_common(1)[0][0]] == t.thing_id for t in there}
    two = [
        own[one.thing_id] and own[other.thing_id]
        for one, other in itertools.combinations(there, 2)
        if one.label == other.label
        and (one.picture.room, one.picture.normal) == (other.picture.room, other.picture.normal)
        and math.dist(one.centre_m, other.centre_m) <= SIDE_BY_SIDE_M
    ]
    return PairFigures(len(two), sum(two))


def _places(remembered: Remembered, entity_of: Mapping[int, str], entities: Mapping[str, Entity]) -> PlaceFigures:
    """The place of each thing, by the entity that took most of what was seen of it where it is (or last was)."""
    seen_of: dict[str, list[Seen]] = defaultdict(list)
    for seen in remembered.seen:
        seen_of[seen.thing_id].append(seen)
    taken = Counter(entity_of.values())
    errors, nees, apart, at_robot = [], [], [], 0
    for thing in remembered.drive.world.things():
        if thing.picture.until_ns < FOREVER_NS and thing.thing_id in remembered.drive.moved:
            continue  # It hangs elsewhere now.
        there = [s for s in seen_of[thing.thing_id] if thing.picture.hangs_at(s.stamp_ns)]
        near = [s.camera_m for s in there if math.dist(s.camera_m, thing.centre_m) <= MAX_RANGE_M]
        if max((math.dist(a, b) for a in near for b in near), default=0.0) < MIN_BASELINE_M:
            continue
        votes = Counter(entity_of[s.observation_id] for s in there)
        entity = votes.most_common(1)[0][0]
        estimate = entities[entity].position
        error = np.subtract(estimate.mean_m, thing.centre_m)
        errors.append(float(np.linalg.norm(error)))
        if estimate.source is PositionSource.ROBOT:
            at_robot += 1
        else:
            nees.append(float(error @ np.linalg.solve(estimate.covariance_m2, error)))
            own = sum(entity_of[s.observation_id] == entity for s in seen_of[thing.thing_id])
            apart.append(own >= APART * taken[entity])
    return PlaceFigures(tuple(errors), tuple(nees), tuple(apart), at_robot)


def _true_states(
    remembered: Remembered, entity_of: Mapping[int, str], thing_of: Mapping[str, str]
) -> dict[str, EntityState]:
    """What each entity's state should be, given the thing that most of its observations show.

    A thing that was carried away is gone from where an entity knows it, unless that entity saw it at its new place too.
    """
    drive = remembered.drive
    seen_as: dict[str, list[Seen]] = defaultdict(list)
    for seen in remembered.seen:
        seen_as[entity_of[seen.observation_id]].append(seen)
    changed_ns = {
        thing.thing_id: thing.picture.until_ns for thing in drive.world.things() if thing.picture.until_ns < FOREVER_NS
    }
    states = {}
    for entity, observations in seen_as.items():
        thing = thing_of[entity]
        states[entity] = EntityState.PRESENT
        if thing in drive.removed:
            states[entity] = EntityState.GONE
        elif thing in drive.moved:
            stamps = [s.stamp_ns for s in observations if s.thing_id == thing]
            if max(stamps) < changed_ns[thing]:
                states[entity] = EntityState.GONE
            elif min(stamps) < changed_ns[thing]:
                states[entity] = EntityState.MOVED
    return states
