import itertools

import numpy as np
import pytest
from captioned_drives import SECOND
from hypothesis import given
from hypothesis import strategies as st
from mention_rows import MentionRow, add_mentions

from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.retrieval import Superlative
from vlkng_ros.retrieval.evidence import frame_evidence, with_neighbours
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.matching import Fit
from vlkng_ros.retrieval.ranking import Peaks, in_order, peaks_of, settled, with_relation


def line(count: int, step_m: float = 2.0) -> np.ndarray:
    return np.stack([np.arange(count) * step_m, np.zeros(count), np.zeros(count)], axis=1).astype(np.float32)


def seconds(*values: float) -> np.ndarray:
    return np.array([round(v * SECOND) for v in values], dtype=np.int64)


def test_a_frame_counts_its_best_text_and_a_share_of_the_next() -> None:
    index = TextIndex()
    index.add_frames(np.array([1, 2]), seconds(0, 60))
    rows = [(1, 1), (1, 2), (1, 2), (2, 2), (2, 3)]
    add_mentions(
        index, [MentionRow(frame, text, False) for frame, text in rows], {n: (f"text{n}", None) for n in (1, 2, 3)}
    )
    fit = Fit(np.array([0, 1]), np.array([1.0, 0.5], np.float32), np.array([1.0, 0.5], np.float32))
    found = frame_evidence(index, index.cut(), fit)
    # Frame 1: 1.0 + 0.3 * 0.5, the text said twice speaks once; frame 2: 0.5; 60 s apart they are no neighbours.
    np.testing.assert_allclose(found.raw.scores, [1.15, 0.5])
    np.testing.assert_allclose(found.total.scores, [1.15 / 2, 0.5 / 2])
    assert found.raw.frames.tolist() == found.total.frames.tolist() == [0, 1]
    # Of frame 1 only its best text is within 0.6 of it; a text of frame 2 that does not fit counts nothing.
    assert found.instances.scores.tolist() == [1, 1]


def test_neighbours_add_half_of_their_evidence() -> None:
    raw = FrameScores(np.array([1, 2]), np.array([1.0, 1.0]))
    near = with_neighbours(raw, np.array([False, True, True, True]))
    apart = with_neighbours(raw, np.array([False, True, False, True]))
    assert near.frames.tolist() == apart.frames.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(near.scores, [0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(apart.scores, [0.25, 0.5, 0.5, 0.25])


@given(st.lists(st.floats(0, 1), max_size=30), st.lists(st.floats(0, 1), max_size=30), st.integers(1, 9))
def test_scores_of_some_frames_are_those_of_all_with_zeros_between(one: list[float], two: list[float], n: int) -> None:
    count = max(len(one), len(two))
    dense = [np.pad(np.array(values), (0, count - len(values))) for values in (one, two)]
    first, second = (FrameScores.of_all(values) for values in dense)
    everywhere = np.arange(count)
    np.testing.assert_array_equal(first.of_each(everywhere), dense[0])
    assert [first.of(frame) for frame in range(count)] == dense[0].tolist()
    np.testing.assert_allclose(FrameScores.sum([first, second]).of_each(everywhere), dense[0] + dense[1])
    np.testing.assert_allclose(first.times(second).of_each(everywhere), dense[0] * dense[1])
    assert first.best(n) == [f for f in np.argsort(-dense[0], kind="stable").tolist() if dense[0][f] > 0][:n]
    assert first.highest == max(one, default=0.0)


def test_frames_of_one_place_are_one_peak() -> None:
    evidence = np.zeros(40)
    evidence[[5, 6, 7, 30]] = [0.9, 1.0, 0.8, 0.7]
    found = peaks_of(FrameScores.of_all(evidence), line(40))
    assert found.frames.tolist() == [6, 30]
    # A place passed again later is the same place.
    there_and_back = np.concatenate([line(20), line(20)[::-1]])
    evidence = np.zeros(40)
    evidence[[5, 34]] = [1.0, 0.9]
    assert peaks_of(FrameScores.of_all(evidence), there_and_back).frames.tolist() == [5]


def test_a_peak_moves_to_the_middle_of_its_sighting() -> None:
    raw = np.zeros(30)
    raw[10:17] = [0.8, 1.0, 0.8, 0.8, 0.8, 0.8, 0.8]
    raw = FrameScores.of_all(raw)
    peaks = Peaks(np.array([11]), np.array([1.0]))
    assert settled(peaks, raw, line(30)).frames.tolist() == [13]
    assert settled(peaks, raw, line(30), Superlative.FIRST).frames.tolist() == [10]
    assert settled(peaks, raw, line(30), Superlative.LAST).frames.tolist() == [16]


def test_a_sighting_reaches_no_further_than_its_place() -> None:
    raw = FrameScores.of_all(np.ones(100))
    peaks = Peaks(np.array([50]), np.array([1.0]))
    first = settled(peaks, raw, line(100), Superlative.FIRST).frames[0]
    assert first == 41  # 18 m at 2 m a frame


def test_first_and_last_reach_over_every_visit_of_a_place() -> None:
    # Seen in frames 5 to 7, and again in 20 to 22 from nearly the same place; frame 25 names it in passing only.
    raw = np.zeros(30)
    raw[[5, 6, 7, 20, 21, 22]] = 1.0
    raw[25] = 0.3
    raw = FrameScores.of_all(raw)
    here = np.zeros((30, 3), dtype=np.float32)
    peaks = Peaks(np.array([6]), np.array([1.0]))
    assert settled(peaks, raw, here, Superlative.FIRST).frames.tolist() == [5]
    assert settled(peaks, raw, here, Superlative.LAST).frames.tolist() == [22]


def test_nearest_chooses_among_the_well_supported() -> None:
    peaks = Peaks(np.array([30, 20, 1]), np.array([1.0, 0.9, 0.3]))
    # The asker stands at frame 0: a weak peak at 1 is nearer than the good ones at 20 and 30.
    nearest = in_order(peaks, Superlative.NEAREST, line(40), (0.0, 0.0, 0.0))
    assert nearest.frames.tolist() == [20, 30, 1]
    assert in_order(peaks, Superlative.FARTHEST, line(40), (0.0, 0.0, 0.0)).frames.tolist() == [30, 20, 1]
    assert in_order(peaks, Superlative.FIRST, line(40), None).frames.tolist() == [20, 30, 1]
    assert in_order(peaks, Superlative.LAST, line(40), None).frames.tolist() == [30, 20, 1]
    assert in_order(peaks, None, line(40), None) is peaks


@pytest.mark.parametrize(
    ("superlative", "best"),
    [
        (None, 60),
        (Superlative.FIRST, 10),
        (Superlative.LAST, 90),
        (Superlative.NEAREST, 50),
        (Superlative.FARTHEST, 90),
    ],
)
def test_of_more_well_supported_places_than_fit_those_are_peaks_that_are_asked_for(
    superlative: Superlative | None, best: int
) -> None:
    # Every tenth of 100 frames, 20 m apart, shows it nearly as well as the best, frame 60; the asker stands at 48.
    evidence = np.zeros(100)
    evidence[10:100:10] = 0.9
    evidence[[0, 60]] = [0.5, 1.0]
    found = peaks_of(FrameScores.of_all(evidence), line(100), 3, 1.0, superlative, (96.0, 0.0, 0.0))
    assert len(found.frames) == 3
    assert found.frames[0] == best
    assert 0 not in found.frames  # which shows it half as well as the best


def test_a_relation_prefers_what_is_near_the_other_thing() -> None:
    evidence, other = np.zeros(60), np.zeros(60)
    evidence[[5, 50]] = [1.0, 0.8]
    other[48] = 1.0
    evidence, nothing = FrameScores.of_all(evidence), FrameScores.none()
    weighted = with_relation(evidence, FrameScores.of_all(other), line(60))
    # 4 m from the landmark: exp(-16 / 800); 86 m away nearly nothing but the floor of 0.2 is left.
    np.testing.assert_allclose(weighted.of(50), 0.8 * (0.2 + np.exp(-16 / 800)), rtol=1e-6)
    np.testing.assert_allclose(weighted.of(5), 0.2, atol=1e-3)
    assert with_relation(evidence, nothing, line(60)) is evidence


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.integers(1, 10))
def test_peaks_are_apart_and_best_first(values: list[float], limit: int) -> None:
    found = peaks_of(FrameScores.of_all(np.array(values)), line(len(values), 5.0), limit)
    assert len(found.frames) <= limit
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    frames = sorted(found.frames.tolist())
    assert all(5.0 * (b - a) >= 12.0 for a, b in itertools.pairwise(frames))
