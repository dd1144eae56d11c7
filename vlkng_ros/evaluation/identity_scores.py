"""Figures on identity, place and state of remembered things, each against the truth."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

NEES_BOUND_95 = 7.815
"""95 % of squared normalised errors of three honest coordinates are below this (chi squared, 3 degrees); ..."""
NEES_BOUND_999 = 16.266
"""... and 99.9 % below this: what is above is not noise, but the place of another thing or of none."""


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
    normalised errors of the others, and ``apart`` tells of each whether 9 in 10 of its entity's observations are of it:
    what stands for two things has no one place.
    """

    errors_m: tuple[float, ...]
    nees: tuple[float, ...]
    apart: tuple[bool, ...]
    at_robot: int


@dataclass(frozen=True, slots=True)
class StateFigures:
    """How often entities truly are in a state, and how often the memory says so rightly and wrongly.

    Of the true ones ``noticeable`` could be noticed, by what there was to be seen, and ``noticed`` of these were.
    """

    true: int
    right: int
    wrong: int
    noticeable: int
    noticed: int


@dataclass(frozen=True, slots=True)
class PairFigures:
    """How many pairs of a kind hang side by side, and how many of them are two entities, one mostly of each."""

    pairs: int
    two: int


@dataclass(frozen=True, slots=True)
class ViewFigures:
    """What one view made of one drive."""

    identity: IdentityFigures
    places: PlaceFigures
    gone: StateFigures
    moved: StateFigures
    side_by_side: PairFigures


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


def state_figures(said: Sequence[bool], true: Sequence[bool], noticeable: Sequence[bool]) -> StateFigures:
    """Counts over entities: for each, whether the memory says that it is in the state, truly is, and could notice."""
    right = [s and t for s, t in zip(said, true, strict=True)]
    could = [n and t for n, t in zip(noticeable, true, strict=True)]
    noticed = sum(r and c for r, c in zip(right, could, strict=True))
    return StateFigures(sum(true), sum(right), sum(said) - sum(right), sum(could), noticed)


def mean_interval_95(drives: Sequence[Sequence[float]]) -> tuple[float, float]:
    """95 % interval of the mean of all values, by how much it differs between drives.

    The errors within one drive share its noise, and a wrong entity is wrong for two things, so they are not so many
    independent values; drives are independent. It is the ratio estimator with Student's t, a cluster a drive.
    """
    from scipy.stats import t  # slow to import

    count, clusters = sum(map(len, drives)), sum(1 for values in drives if values)
    if clusters < 2:
        return math.nan, math.nan
    mean = sum(map(sum, drives)) / count
    squares = sum((sum(values) - mean * len(values)) ** 2 for values in drives)
    half = float(t.ppf(0.975, clusters - 1)) * math.sqrt(squares * clusters / (clusters - 1)) / count
    return mean - half, mean + half


def summary(figures: Sequence[ViewFigures]) -> dict[str, float]:
    """Of one view over several drives: means and worst values; places, states and NEES pooled over all of them."""
    identity = [f.identity for f in figures]
    errors = [error for f in figures for error in f.places.errors_m]
    nees = [list(f.places.nees) for f in figures]
    apart = [[value for value, one in zip(f.places.nees, f.places.apart, strict=True) if one] for f in figures]
    row = {
        "precision": statistics.fmean(f.precision for f in identity),
        "worst_precision": min(f.precision for f in identity),
        "recall": statistics.fmean(f.recall for f in identity),
        "worst_recall": min(f.recall for f in identity),
        "fragmentation": statistics.fmean(f.fragmentation for f in identity),
        "worst_fragmentation": max(f.fragmentation for f in identity),
        "places": len(errors),
        "median_error_m": float(np.median(errors)) if errors else math.nan,
        "p95_error_m": float(np.percentile(errors, 95)) if errors else math.nan,
        "at_robot": sum(f.places.at_robot for f in figures),
    }
    for name, drives in (("nees", nees), ("nees_apart", apart)):
        values = [value for drive in drives for value in drive]
        row[f"{name}_count"] = len(values)
        row[f"{name}_low"], row[f"{name}_high"] = mean_interval_95(drives)
        row[f"{name}_gross"] = sum(v > NEES_BOUND_999 for v in values)
        row[f"{name}_mean"] = statistics.fmean(values) if values else math.nan
        row[f"{name}_median"] = float(np.median(values)) if values else math.nan
        row[f"{name}_within_95"] = statistics.fmean(v <= NEES_BOUND_95 for v in values) if values else math.nan
    for name, states in (("gone", [f.gone for f in figures]), ("moved", [f.moved for f in figures])):
        row[f"{name}_true"] = sum(s.true for s in states)
        row[f"{name}_right"] = sum(s.right for s in states)
        row[f"{name}_wrong"] = sum(s.wrong for s in states)
        row[f"{name}_noticeable"] = sum(s.noticeable for s in states)
        row[f"{name}_noticed"] = sum(s.noticed for s in states)
    row["pairs"] = sum(f.side_by_side.pairs for f in figures)
    row["pairs_two"] = sum(f.side_by_side.two for f in figures)
    return row
