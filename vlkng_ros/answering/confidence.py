"""How sure an answer is, from how much of the question any text of the memory says."""

from __future__ import annotations

import math

STEEPNESS = 4.0
AT_NEEDED = 0.5
"""Confidence where the support is just what makes a sighting. Both are fitted by ``evaluation.calibration`` on three
NaVQA drives (``vlkng eval navqa --calibration``): on the ways to 250 labels of each, each found without its own text,
and to 150 things that it never showed. Left out, a drive's calibration error is 0.05 to 0.10;
with these it is 0.06, 0.06 and 0.08."""


def confidence(support: float, needed: float) -> float:
    """Probability that an answer is right: logistic in the support that is to spare, or missing."""
    offset = math.log(AT_NEEDED / (1 - AT_NEEDED))
    return 1.0 / (1.0 + math.exp(-(STEEPNESS * (support - needed) + offset)))


HALF_LOOKED = 20
"""Keyframes after which half of what can be known of an absence is known."""


def absence(sure: float, keyframes: int) -> float:
    """Probability that a thing that was not found is not there: one half where nothing was looked through.

    From there it rises with ``n / (n + HALF_LOOKED)`` to what the missing support says: 5 keyframes tell a fifth of
    it, 180 nine tenths.

    Args:
        sure: confidence that it was seen.
        keyframes: how many were looked through.
    """
    return 0.5 + (0.5 - sure) * keyframes / (keyframes + HALF_LOOKED)
