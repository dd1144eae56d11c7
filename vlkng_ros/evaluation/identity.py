"""How well associators tell what is the same thing, and how well its place is known, against a gallery's truth.

    python -m vlkng_ros.evaluation.identity --seeds 20

Every associator writes its view of one memory, through the store and in the order of the drive, so what is measured
is what a robot would remember.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vlkng_ros.evaluation.identity_drive import IdentityDrive
from vlkng_ros.gallery.detector import SimulatedDetector, SimulatedKeyframe
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.base import Associator
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.association.text_merge import TextMergeAssociator
from vlkng_ros.types import Perception, PositionEstimate, PositionSource, Vec3

MIN_BASELINE_M, MAX_RANGE_M = 1.0, 6.0
"""Places are scored of things that were seen over this baseline from no further away than this."""
NEES_BOUND_95 = 7.815
"""95 % of squared normalised errors of three honest coordinates are below this (chi squared, 3 degrees)."""


@dataclass(frozen=True, slots=True)
class IdentityFigures:
    """Of all pairs of observations put together, the share that belongs together (precision), and the reverse (recall).

    ``fragmentation`` is the number of entities for each true thing.
    """

    precision: float
    recall: float
    fragmentation: float


@dataclass(frozen=True, slots=True)
class PlaceFigures:
    """Errors of places in metres, of everything that had baseline enough, and how honest their covariances are.

    ``at_robot`` counts those among them that the memory still placed at the robot's pose. ``nees`` are squared
    normalised errors of the others.
    """

    errors_m: tuple[float, ...]
    nees: tuple[float, ...]
    at_robot: int


@dataclass(frozen=True)
class Outcome:
    """What one drive made of each view."""

    seed: int
    identity: Mapping[str, IdentityFigures]
    places: Mapping[str, PlaceFigures] = field(default_factory=dict)


def identity_figures(entities: Sequence[Hashable], things: Sequence[Hashable]) -> IdentityFigures:
    """Pairwise precision and recall of a clustering, and fragmentation.

    Args:
        entities: for each observation, what it was taken for.
        things: for each observation, what it truly shows.
    """
    together = _pairs(Counter(zip(entities, things, strict=True)))
    claimed, true = _pairs(Counter(entities)), _pairs(Counter(things))
    return IdentityFigures(
        together / claimed if claimed else 1.0,
        together / true if true else 1.0,
        len(set(entities)) / max(len(set(things)), 1),
    )


def _pairs(counts: Mapping[Hashable, int]) -> int:
    return sum(n * (n - 1) // 2 for n in counts.values())


def default_associators() -> list[Associator]:
    """The associators that need no model."""
    return [HybridAssociator(), ProximityAssociator(), TextMergeAssociator()]


def evaluate(
    drive: IdentityDrive,
    associators: Sequence[Associator] | None = None,
    keyframes: Iterable[SimulatedKeyframe] | None = None,
    detector: SimulatedDetector | None = None,
) -> Outcome:
    """Remember a drive and score every view of it.

    Args:
        drive: what is driven.
        associators: what writes the views; None for all that need no model.
        keyframes: what the robot sees; None for what ``detector`` makes of the drive.
        detector: the noise; None for DESIGN section 6.
    """
    associators = default_associators() if associators is None else associators
    views = [associator.view for associator in associators]
    things: dict[int, str] = {}
    seen_from: dict[str, list[Vec3]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="vlkng-identity-") as folder:
        path = Path(folder) / "memory.db"
        with MemoryWriter.open(path, encoder=None, associators=associators) as writer:
            writer.start_session(robot="robot", map_id="gallery", frame_id=drive.world.frame_id)
            for keyframe in drive.keyframes(detector) if keyframes is None else keyframes:
                number = writer.add_keyframe(keyframe.capture).keyframe_id
                found = tuple(simulated.detection for simulated in keyframe.detections)
                observations = writer.add_perception(number, Perception(detections=found))
                writer.associate(number)
                for observation, simulated in zip(observations, keyframe.detections, strict=True):
                    # A box of nothing is its own thing: whatever it is put together with is wrong.
                    things[observation.observation_id] = simulated.thing_id or f"nothing {len(things)}"
                    camera = keyframe.capture.camera_pose or keyframe.capture.base_pose
                    seen_from[simulated.thing_id].append(camera.position_m)
        with MemoryReader.open(path) as reader:
            return _score(drive, reader, views, things, seen_from)


def _score(
    drive: IdentityDrive,
    reader: MemoryReader,
    views: Sequence[str],
    things: Mapping[int, str],
    seen_from: Mapping[str, Sequence[Vec3]],
) -> Outcome:
    identity, places = {}, {}
    for view in views:
        entity_of: dict[int, str] = {}
        for keyframe_id in reader.frames().ids.tolist():
            entity_of.update(reader.entities_in(view, keyframe_id))
        numbers = sorted(things)
        identity[view] = identity_figures([entity_of[n] for n in numbers], [things[n] for n in numbers])
        estimates = {entity.entity_id: entity.position for entity in reader.entities(view)}
        places[view] = _places(drive, estimates, entity_of, things, seen_from)
    return Outcome(drive.seed, identity, places)


def _places(
    drive: IdentityDrive,
    estimates: Mapping[str, PositionEstimate],
    entity_of: Mapping[int, str],
    things: Mapping[int, str],
    seen_from: Mapping[str, Sequence[Vec3]],
) -> PlaceFigures:
    """Of each thing that stayed where it was, the place of the entity that most of its observations went to."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for observation, name in things.items():
        votes[name][entity_of[observation]] += 1
    errors, nees, at_robot = [], [], 0
    for thing in drive.world.things():
        if thing.thing_id in drive.moved or thing.thing_id not in votes:
            continue
        near = [at for at in seen_from[thing.thing_id] if math.dist(at, thing.centre_m) <= MAX_RANGE_M]
        if max((math.dist(a, b) for a in near for b in near), default=0.0) < MIN_BASELINE_M:
            continue
        estimate = estimates[votes[thing.thing_id].most_common(1)[0][0]]
        error = np.subtract(estimate.mean_m, thing.centre_m)
        errors.append(float(np.linalg.norm(error)))
        if estimate.source is PositionSource.ROBOT:
            at_robot += 1
        else:
            nees.append(float(error @ np.linalg.solve(estimate.covariance_m2, error)))
    return PlaceFigures(tuple(errors), tuple(nees), at_robot)


def summary(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """By view: means and worst values over the drives; places pooled over all of them."""
    rows: dict[str, dict[str, float]] = {}
    for view in outcomes[0].identity if outcomes else ():
        figures = [outcome.identity[view] for outcome in outcomes]
        errors = [error for outcome in outcomes for error in outcome.places[view].errors_m]
        nees = [value for outcome in outcomes for value in outcome.places[view].nees]
        rows[view] = {
            "precision": statistics.fmean(f.precision for f in figures),
            "recall": statistics.fmean(f.recall for f in figures),
            "fragmentation": statistics.fmean(f.fragmentation for f in figures),
            "worst_precision": min(f.precision for f in figures),
            "worst_recall": min(f.recall for f in figures),
            "worst_fragmentation": max(f.fragmentation for f in figures),
            "median_error_m": float(np.median(errors)) if errors else math.nan,
            "p95_error_m": float(np.percentile(errors, 95)) if errors else math.nan,
            "at_robot": sum(outcome.places[view].at_robot for outcome in outcomes) / max(len(errors), 1),
            "nees_within_95": statistics.fmean(value <= NEES_BOUND_95 for value in nees) if nees else math.nan,
            "mean_nees": statistics.fmean(nees) if nees else math.nan,
        }
    return rows


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """A Markdown table of ``summary``: a row a view."""
    names = list(next(iter(rows.values()), {}))
    lines = ["| view | " + " | ".join(name.replace("_", " ") for name in names) + " |", "|---|" + "---:|" * len(names)]
    lines += [f"| {view} | " + " | ".join(f"{row[name]:.3f}" for name in names) + " |" for view, row in rows.items()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table over a number of seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="drives to average over")
    parser.add_argument("--pairs", type=int, default=3, help="rooms with two alike things side by side, 0 to 6")
    parser.add_argument("--moved", type=int, default=2, help="things carried elsewhere before each further lap")
    parser.add_argument("--removed", type=int, default=2, help="things taken away before each further lap")
    args = parser.parse_args(arguments)
    outcomes = []
    for seed in range(args.seeds):
        drive = IdentityDrive.make(seed, pairs=args.pairs, moved=args.moved, removed=args.removed)
        outcomes.append(evaluate(drive))
        found = "; ".join(
            f"{view} {f.precision:.3f} {f.recall:.3f} {f.fragmentation:.2f}"
            for view, f in outcomes[-1].identity.items()
        )
        print(f"seed {seed}: precision, recall, fragmentation: {found}", flush=True)
    print(table(summary(outcomes)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
