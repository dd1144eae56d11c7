"""The configurations that a run compares: presets, and what is left of them without a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vlkng_ros.config import RetrievalConfig
from vlkng_ros.retrieval.channels import Channel
from vlkng_ros.retrieval.presets import ANSWERERS, OURS

GRAPHS = ("vlkng-gr", "vlkng-ger", "vlkng-full", "vlkng-cwgr")
"""VL-KnG's table 8: with visual grounding, the full graph (F), and chunk graphs without identity (CwGR)."""


def configurations(
    config: RetrievalConfig, presets: Sequence[str], *, ablations: bool = False, as_papers: bool = False
) -> dict[str, RetrievalConfig]:
    """A configuration by label, presets first.

    Args:
        config: what all have in common.
        presets: names of presets.
        ablations: also VL-KnG's, and hybrid's channels: each left out, and each alone.
        as_papers: each preset answers with the answerer of its paper.
    """
    names = [*presets, *([OURS, *GRAPHS] if ablations else ())]
    found = {}
    for name in dict.fromkeys(names):
        answerer = ANSWERERS.get(name, "llm") if as_papers else config.answerer
        found[name] = replace(config, preset=name, answerer=answerer)
    if ablations:
        for channel in Channel:
            rest = ",".join(other.value for other in Channel if other is not channel)
            found[f"without {channel.value}"] = replace(found[OURS], channels=rest)
        for channel in Channel:
            found[f"{channel.value} alone"] = replace(found[OURS], channels=channel.value)
    return found
