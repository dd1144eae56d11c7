"""Where a reader finds what is near, however many things there are and however they move."""

from __future__ import annotations

import numpy as np

from vlkng_ros.memory.box_index import BoxIndex
from vlkng_ros.memory.columns import EntityColumns
from vlkng_ros.memory.fold import EVERYWHERE, NOWHERE


def test_what_is_near_is_what_comparing_all_of_them_finds() -> None:
    rng = np.random.default_rng(0)
    columns = EntityColumns()
    at: dict[int, tuple[float, float, float]] = {}
    reach = np.zeros(6).tobytes()
    for _ in range(60):
        new = range(len(at) + 1, len(at) + 101)
        moved = rng.choice(sorted(at), 20, replace=False).tolist() if at else []
        for key in (*moved, *new):
            at[key] = tuple(np.round(rng.uniform(-50, 50, 3), 1).tolist())
        columns.update([(key, 1, 1, key, 1 + key % 2, 0, 0, *at[key], reach) for key in (*moved, *new)], gone=moved[:1])
        for key in moved[:1]:
            columns.update([(key, 1, 1, key, 1 + key % 2, 0, 0, *at[key], reach)])  # it comes back
        place, radius_m = rng.uniform(-60, 60, 3).round(1), float(rng.choice([0.0, 5.0, 30.0, 200.0]))
        away = {key: float(np.linalg.norm(np.array(point) - place)) for key, point in at.items() if key % 2}
        expected = sorted((key for key, metres in away.items() if metres <= radius_m), key=lambda key: (away[key], key))
        assert columns.near(tuple(place.tolist()), radius_m, [2]) == expected


def test_what_may_have_been_near_is_what_comparing_all_reaches_finds() -> None:
    rng = np.random.default_rng(1)
    columns = EntityColumns()
    known: dict[int, tuple[int, int, tuple[float, ...]]] = {}
    for _ in range(40):
        new = range(len(known) + 1, len(known) + 201)
        grown = rng.choice(sorted(known), 20, replace=False).tolist() if known else []
        for key in (*grown, *new):
            low, size = rng.uniform(-200, 200, 3).round(1), rng.choice([0.0, 3.0, 8.0, 300.0]) * rng.uniform(0, 1, 3)
            reach = (*low.tolist(), *(low + size).tolist())
            if key % 100 == 0:
                reach = EVERYWHERE.low + EVERYWHERE.high if key % 200 else NOWHERE.low + NOWHERE.high
            known[key] = (1 + key % 3, int(rng.integers(0, 100)), reach)
        columns.update(
            [(k, 1, 1, k, *known[k][:2], 0, 0, 0, 0, np.array(known[k][2]).tobytes()) for k in (*grown, *new)],
            gone=grown[:3],
        )
        columns.update([], gone=grown[3:5])
        for key in grown[3:5]:
            known[key] = (0, *known[key][1:])
        place, radius_m = rng.uniform(-250, 250, 3).round(1), float(rng.choice([0.0, 5.0, 30.0, 1e4]))
        expected = [
            key
            for key, (map_, first_seen, reach) in sorted(known.items())
            if (map_ in (1, 2) or (map_ and np.isinf(reach[0])))
            and first_seen <= 60
            and np.linalg.norm(np.clip(place, reach[:3], np.maximum(reach[:3], reach[3:])) - place) <= radius_m
        ]
        assert columns.maybe_near(tuple(place.tolist()), radius_m, 60, [1, 2]) == expected


def test_what_is_compared_does_not_grow_with_what_there_is() -> None:
    compared = []
    for count in (4_000, 40_000):
        side, rng = np.sqrt(count / 0.3), np.random.default_rng(2)
        low = rng.uniform(0, side, (2, count))
        low[:, 0] = -1e8  # one that is said to be a continent away costs the others nothing
        index = BoxIndex(low, low + rng.uniform(0, 8, (2, count)), np.ones(count, dtype=np.int64))
        found = [len(index.touched(x, y, 5.0, [1])) for x, y in rng.uniform(20, side - 20, (50, 2))]
        compared.append(np.mean(found))
        assert len(index.touched(side / 2, side / 2, 5.0, [2])) == 0
    assert compared[1] < 1.1 * compared[0] < 500
