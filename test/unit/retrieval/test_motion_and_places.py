import math

import numpy as np
import pytest
from captioned_drives import HALL, SECOND, STREET
from mention_rows import MentionRow, add_mentions

from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.retrieval.matching import Encoded
from vlkng_ros.retrieval.motion import standing, stops, turns
from vlkng_ros.retrieval.places import Leaning, Stay, stays


def track(*legs: tuple[float, int], step_m: float = 2.0) -> np.ndarray:
    """Legs of ``(heading in degrees, steps)`` from the origin; no step stands still for as many frames."""
    points = [(0.0, 0.0, 0.0)]
    for heading, steps in legs:
        for _ in range(abs(steps)):
            x, y, _ = points[-1]
            length = step_m if steps > 0 else 0.0
            points.append(
                (x + length * math.cos(math.radians(heading)), y + length * math.sin(math.radians(heading)), 0.0)
            )
    return np.array(points, dtype=np.float32)


def stamps(track: np.ndarray) -> np.ndarray:
    return np.arange(len(track), dtype=np.int64) * 2 * SECOND


def test_turns_have_a_side_and_a_place() -> None:
    found = turns(track((0, 10), (90, 10), (0, 10)))
    assert [round(math.degrees(turn.angle_rad)) for turn in found] == [90, -90]
    assert [abs(turn.frame - corner) <= 1 for turn, corner in zip(found, (10, 20), strict=True)] == [True, True]


def test_turning_round_is_one_turn() -> None:
    found = turns(track((0, 10), (90, 1), (180, 10)))
    assert len(found) == 1
    assert abs(found[0].angle_rad) == pytest.approx(math.pi, abs=0.1)


def test_a_bend_is_no_turn_and_neither_is_jitter() -> None:
    assert turns(track(*((5 * i, 3) for i in range(6)))) == []
    noisy = track((0, 30)) + np.random.default_rng(0).normal(0, 0.02, (31, 3)).astype(np.float32)
    assert turns(noisy) == []
    assert (
        turns(track((0, 5), (0, -20), (0, 5)) + np.random.default_rng(1).normal(0, 0.02, (31, 3)).astype(np.float32))
        == []
    )


def test_the_first_metres_have_no_heading_to_turn_from() -> None:
    assert turns(track((0, 1), (90, 20), step_m=1.5)) == []


def test_stops_are_stretches_without_travel() -> None:
    path = track((0, 5), (0, -4), (0, 5))
    found = stops(path, stamps(path))
    assert [(stop.first, stop.last) for stop in found] == [(5, 9)]
    assert not standing(path, stamps(path))
    assert standing(path[:9], stamps(path[:9]))


def test_runs_of_clear_leanings_are_stays() -> None:
    leaning = np.array([-2, -2, -2, -0.2, 0.3, 2, 2, 2, 2, 2, -2, -2, -2, -2.0])
    found = stays(leaning, np.arange(14, dtype=np.int64) * 2 * SECOND)
    assert found == [Stay(False, 0, 3), Stay(True, 4, 9), Stay(False, 10, 13)]


def test_a_single_odd_frame_is_no_stay() -> None:
    leaning = np.array([-2.0] * 6 + [7.0] + [-2.0] * 6)
    assert stays(leaning, np.arange(13, dtype=np.int64) * SECOND) == [Stay(False, 0, 12)]


def test_a_stay_cut_off_by_the_start_counts() -> None:
    leaning = np.array([3.0, 3.0, 3.0, -2.0, -2.0, -2.0, -2.0, -2.0])
    found = stays(leaning, np.arange(8, dtype=np.int64) * 2 * SECOND)
    assert [stay.inside for stay in found] == [True, False]


def test_captions_lean_by_their_words_without_an_encoder() -> None:
    index = TextIndex()
    index.add_frames(np.array([1, 2, 3]), np.array([0, 1, 2], dtype=np.int64) * SECOND)
    add_mentions(index, [MentionRow(1, 1, True), MentionRow(2, 2, True)], {1: (HALL, None), 2: (STREET, None)})
    hall, street, silent = Leaning(index, Encoded(None)).of_frames(index.cut())
    assert hall > 0.5
    assert street < -0.5
    assert silent == 0
