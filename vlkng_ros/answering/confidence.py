"""How sure an answer is, from how much of the question any text of the memory says."""

from __future__ import annotations

import math

STEEPNESS = 8.0
AT_NEEDED = 0.4
"""Confidence where the support is just what makes a sighting."""
BORDER = 0.35
"""The default of ``retrieval.min_confidence``: the calibration puts half-way answers here."""


def confidence(support: float, needed: float) -> float:
    """Probability that the target was seen: logistic in the support that is missing or to spare."""
    offset = math.log(AT_NEEDED / (1 - AT_NEEDED))
    return 1.0 / (1.0 + math.exp(-(STEEPNESS * (support - needed) + offset)))
