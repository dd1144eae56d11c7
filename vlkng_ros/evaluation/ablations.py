"""The configurations that a run compares: presets, and what is left of them without a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vlkng_ros.config import RetrievalConfig

GRAPHS = ("vlkng-gr", "vlkng-ger", "vlkng-full", "vlkng-cwgr")
"""VL-KnG's table 8: with visual grounding, the full graph (F), and chunk graphs without identity (CwGR)."""


def configurations(
    config: RetrievalConfig, presets: Sequence[str], *, ablations: bool = False
) -> dict[str, RetrievalConfig]:
    """A configuration by label, presets first.

    Args:
        config: what all have in common.
        presets: names of presets.
        ablations: also VL-KnG's, and hybrid's channels: each alone, and each left out.
    """
    names = [*presets, *GRAPHS] if ablations else presets
    found = {name: replace(config, preset=name) for name in dict.fromkeys(names)}
    return found
