"""Where a reader finds what is near, however many things there are and however they move."""

from __future__ import annotations

import numpy as np

from vlkng_ros.memory.columns import EntityColumns


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
        columns.update([(key, 1, 1, key, 1 + key % 2, 0, *at[key], reach) for key in (*moved, *new)], gone=moved[:1])
        for key in moved[:1]:
            columns.update([(key, 1, 1, key, 1 + key % 2, 0, *at[key], reach)])  # it comes back
        place, radius_m = rng.uniform(-60, 60, 3).round(1), float(rng.choice([0.0, 5.0, 30.0, 200.0]))
        away = {key: float(np.linalg.norm(np.array(point) - place)) for key, point in at.items() if key % 2}
        expected = sorted((key for key, metres in away.items() if metres <= radius_m), key=lambda key: (away[key], key))
        assert columns.near(tuple(place.tolist()), radius_m, [2]) == expected
