"""How sure an answer should be: the constants of ``answering.confidence``, fitted and tested on recordings left out.

Asked is the way to things that a recording shows, by the labels that a model gave them, each with its own text hidden:
it must be found by what else was said of it, as a person's words for it would have to be. Right is a place within
15 m of where it was seen. Asked is also the way to things that it does not show (``abstention``), where no answer is
right. The logistic in the support to spare is fitted on all recordings but one and tested on that.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.answering.confidence import AT_NEEDED, STEEPNESS
from vlkng_ros.evaluation.abstention import labels_of, unseen
from vlkng_ros.evaluation.benchmark import Recording
from vlkng_ros.evaluation.scores import WITHIN_M, calibration_error, reliability
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.hybrid_search import HybridSearch
from vlkng_ros.retrieval.presets import OURS, view_for
from vlkng_ros.retrieval.query import parse
from vlkng_ros.retrieval.retriever import Retriever

SEEN = 250
"""Labels of a recording that are asked for."""
NEVER_SEEN = 150
PRIOR = 1 / 3
"""Share of questions about things never seen that confidences are meant for."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A question, the support to spare of its best text, and whether the place found is right."""

    recording: str
    thing: str
    seen: bool
    margin: float
    right: bool


@dataclass(frozen=True, slots=True)
class Fitted:
    """Constants of ``confidence`` with their error: ``gap`` is the expected calibration error."""

    steepness: float
    at_needed: float
    gap: float
    bins: tuple[tuple[float, float, int], ...]
    """``(mean confidence, share right, number)``; shares with never-seen things at ``PRIOR``."""


def samples_of(here: Recording, others: Sequence[Recording], retriever: Retriever, seed: int = 0) -> list[Sample]:
    """Questions about what a recording shows and what it does not, asked of its memory."""
    rng = random.Random(f"{seed}/{here.name}")
    scene = retriever.scene(None, None)
    index, view = retriever.index, view_for(retriever, OURS)
    slots: dict[str, list[int]] = {}
    for slot, text in enumerate(index.texts):
        slots.setdefault(text.strip(" .").lower(), []).append(slot)
    frames, said, _ = index.mentions_in(scene.cut)

    def ask(thing: str, hidden: list[int], *, seen: bool) -> Sample:
        found = HybridSearch(retriever, view, hidden=hidden).find(parse(f"Where is the {thing}?"), scene, None)
        right = False
        if seen and len(found.peaks.frames):
            there = scene.positions_m[frames[np.isin(said, hidden)], :2]
            away = there - scene.positions_m[found.peaks.frames[0], :2]
            right = bool(np.hypot(away[:, 0], away[:, 1]).min(initial=np.inf) <= WITHIN_M)
        return Sample(here.name, thing, seen, found.support - found.needed, right)

    own = sorted(label for label in labels_of(here) if terms(label) and label.strip(" .") in slots)
    shown = rng.sample(own, min(SEEN, len(own)))
    found = [ask(label, slots[label.strip(" .")], seen=True) for label in shown]
    return [*found, *(ask(thing.thing, [], seen=False) for thing in unseen(here, others, NEVER_SEEN, seed))]


def fit(samples: Sequence[Sample]) -> tuple[float, float]:
    """-> (steepness, confidence where the support is just what is needed), by weighted maximum likelihood.

    Raises:
        ValueError: all samples are right, or all wrong.
    """
    margin, right, weight = _columns(samples)
    if not 0 < right.sum() < len(right):
        raise ValueError("samples of one kind alone fix no constants")
    columns = np.stack([margin, np.ones_like(margin)], axis=1)
    constants = np.zeros(2)
    for _ in range(50):  # Newton's method: the likelihood is concave
        share = 1 / (1 + np.exp(-columns @ constants))
        slope = columns.T @ (weight * (right - share)) - 1e-3 * constants
        curvature = (columns * (weight * share * (1 - share))[:, None]).T @ columns + 1e-3 * np.eye(2)
        constants = constants + np.linalg.solve(curvature, slope)
    return float(constants[0]), float(1 / (1 + math.exp(-constants[1])))


def held_on(samples: Sequence[Sample], steepness: float = STEEPNESS, at_needed: float = AT_NEEDED) -> Fitted:
    """How well constants hold on samples, of which there are some."""
    margin, right, weight = _columns(samples)
    sure = 1 / (1 + np.exp(-(steepness * margin + math.log(at_needed / (1 - at_needed)))))
    pairs, weights = list(zip(sure.tolist(), (right > 0).tolist(), strict=True)), weight.tolist()
    bins = [(round(mean, 3), round(share, 3), number) for mean, share, number in reliability(pairs, weights)]
    gap = calibration_error(pairs, weights) or 0.0
    return Fitted(round(steepness, 3), round(at_needed, 3), gap, tuple(bins))


def _columns(
    samples: Sequence[Sample],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """-> (margins, 1 where right, weights that make never-seen things ``PRIOR`` of all)."""
    seen = np.array([sample.seen for sample in samples])
    never = max(1, int((~seen).sum()))
    weight = np.where(seen, 1.0, PRIOR / (1 - PRIOR) * max(1, int(seen.sum())) / never)
    margin = np.array([sample.margin for sample in samples], dtype=np.float64)
    return margin, np.array([float(sample.right) for sample in samples]), weight


def left_out(samples: Sequence[Sample]) -> dict[str, dict[str, Fitted]]:
    """By recording: constants fitted on the others, and those in use, both tested on it."""
    found = {}
    for name in dict.fromkeys(sample.recording for sample in samples):
        tested = [sample for sample in samples if sample.recording == name]
        others = [sample for sample in samples if sample.recording != name]
        found[name] = {"in use": held_on(tested)}
        if others:
            found[name]["fitted on the others"] = held_on(tested, *fit(others))
    return found


def write(folder: Path, samples: Sequence[Sample]) -> Path:
    """``calibration.json``: constants fitted on all and on all but one, reliability bins, samples."""
    steepness, at_needed = fit(samples)
    content: dict[str, Any] = {
        "in use": asdict(held_on(samples)),
        "fitted on all": asdict(held_on(samples, steepness, at_needed)),
        "left out": {
            name: {how: asdict(fitted) for how, fitted in both.items()} for name, both in left_out(samples).items()
        },
        "samples": [asdict(sample) for sample in samples],
    }
    path = folder / "calibration.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
