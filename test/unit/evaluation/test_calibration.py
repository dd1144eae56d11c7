import json
import math
from pathlib import Path

import pytest
from captioned_drives import Seen, WordEncoder, remember

from vlkng_ros.answering.confidence import AT_NEEDED, STEEPNESS, confidence
from vlkng_ros.evaluation.benchmark import RecordedFrame, Recording
from vlkng_ros.evaluation.calibration import Sample, fit, held_on, left_out, samples_of, write
from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval import Retriever
from vlkng_ros.types import Detection, Perception, Pose


def logistic(steepness: float, at_needed: float, recording: str = "a") -> list[Sample]:
    """100 samples at each of five margins, as many of them right as the logistic says."""
    found = []
    for margin in (-0.6, -0.3, 0.0, 0.3, 0.6):
        share = 1 / (1 + math.exp(-(steepness * margin + math.log(at_needed / (1 - at_needed)))))
        found += [Sample(recording, "thing", True, margin, i < round(100 * share)) for i in range(100)]
    return found


def test_the_constants_are_found_again() -> None:
    steepness, at_needed = fit(logistic(4.0, 0.4))
    assert (steepness, at_needed) == (pytest.approx(4.0, abs=0.15), pytest.approx(0.4, abs=0.01))
    with pytest.raises(ValueError, match="one kind alone"):
        fit([Sample("a", "thing", True, 0.1, True)])


def test_the_gap_is_what_confidence_and_truth_differ_by() -> None:
    # Confidence 0.5 at margin 0; of the four asked of what was seen three are right, and of what never was none.
    seen = [Sample("a", "thing", True, 0.0, i < 3) for i in range(4)]
    assert held_on(seen, 4.0, 0.5).bins == ((0.5, 0.75, 4),)
    assert held_on(seen, 4.0, 0.5).gap == 0.25
    # One never seen weighs as two of the four, so that they are a third: 3 of 6 are right.
    both = held_on([*seen, Sample("a", "other", False, 0.0, False)], 4.0, 0.5)
    assert (both.bins, both.gap) == (((0.5, 0.5, 5),), 0.0)


def test_each_recording_is_tested_with_what_the_others_say(tmp_path: Path) -> None:
    samples = [*logistic(4.0, 0.5, "a"), *logistic(8.0, 0.5, "b")]
    found = left_out(samples)
    assert found["a"]["fitted on the others"].steepness == pytest.approx(8.0, abs=0.4)
    assert found["b"]["fitted on the others"].steepness == pytest.approx(4.0, abs=0.15)
    assert found["a"]["in use"].steepness == STEEPNESS
    content = json.loads(write(tmp_path, samples).read_text(encoding="utf-8"))
    assert set(content["left out"]) == {"a", "b"}
    assert len(content["samples"]) == 1000


def test_a_label_must_be_found_by_what_else_is_said(tmp_path: Path) -> None:
    frames = [Seen(60.0 * i, 40.0 * i, 0.0, caption, (label,)) for i, (caption, label) in enumerate(
        [("There is a bench.", "bench"), ("A room.", "sofa")]
    )]  # fmt: skip
    path = remember(tmp_path / "memory.db", frames, WordEncoder())
    told = [
        RecordedFrame(f.stamp_ns, Pose.planar("map", f.x_m, 0.0), Perception(f.caption, (Detection(f.labels[0]),)))
        for f in frames
    ]
    with MemoryReader.open(path) as reader:
        samples = samples_of(Recording("a", told, ()), [], Retriever(reader, None))
    seen = {sample.thing: sample for sample in samples if sample.seen}
    assert seen["bench"].right
    assert seen["bench"].margin == pytest.approx(1.0 - 0.85)
    # Nothing but its own label tells of the sofa.
    assert not seen["sofa"].right
    assert seen["sofa"].margin == pytest.approx(-0.85)
    assert all(not sample.right and sample.margin < 0 for sample in samples if not sample.seen)


def test_confidence_is_even_where_the_support_just_suffices() -> None:
    assert confidence(0.85, 0.85) == pytest.approx(AT_NEEDED)
    # 0.15 to spare: 1 / (1 + exp(-4 * 0.15)) = 0.646
    assert confidence(1.0, 0.85) == pytest.approx(0.646, abs=5e-4)
