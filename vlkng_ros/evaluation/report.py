"""A run's figures as one table, as JSON, and as a Markdown report with plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlkng_ros.evaluation.plots import Bins, write_plots, write_reliability
from vlkng_ros.evaluation.scores import Judged, calibration_error, confidences, figures, reliability, stages


def table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """One Markdown table: a row a figure that any run has, a column a run."""
    names = list(runs)
    lines = ["| figure | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for figure in dict.fromkeys(name for values in runs.values() for name in values):
        values = [runs[name].get(figure) for name in names]
        if any(value is not None for value in values):
            lines.append(f"| {figure} | " + " | ".join("" if v is None else f"{v:g}" for v in values) + " |")
    return "\n".join(lines)


def write_report(
    folder: Path, runs: Mapping[str, Sequence[Judged]], title: str, calibration: Mapping[str, Bins] | None = None
) -> Path:
    """Writes ``report.md``, ``figures.json`` and the plots into a folder; returns the report.

    Args:
        folder: made where it is not there.
        runs: what was answered, by run.
        title: of the report.
        calibration: reliability bins of confidences on recordings left out, by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pairs = {name: confidences(judged) for name, judged in runs.items()}
    numbers = {
        name: {**figures(judged), "calibration_error": calibration_error(pairs[name])} for name, judged in runs.items()
    }
    by_stage = {name: stages(judged) for name, judged in runs.items()}
    bins = {name: reliability(pairs[name]) for name in runs}
    kept = {name: {"figures": numbers[name], "ms_p50_p95": by_stage[name], "reliability": bins[name]} for name in runs}
    (folder / "figures.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    parts = [f"# {title}", "", table(numbers), "", "## Milliseconds by stage, p50 / p95", ""]
    milliseconds = {
        name: {stage: f"{p50:.1f} / {p95:.1f}" for stage, (p50, p95) in spent.items()}
        for name, spent in by_stage.items()
    }
    parts += [_stages(milliseconds), "", "## Reliability", ""]
    parts += ["Answered questions in bins of equal width: mean confidence, share right, number.", ""]
    for name in runs:
        shown = "; ".join(f"{sure:.2f}: {right:.2f} of {count}" for sure, right, count in bins[name])
        parts.append(f"- {name}: {shown or 'nothing that can be told right from wrong'}")
    pictures = write_plots(folder, runs, bins)
    if calibration:
        parts += ["", "## Calibration on recordings left out", ""]
        for name, found in calibration.items():
            parts.append(
                f"- {name}: " + "; ".join(f"{sure:.2f}: {right:.2f} of {count}" for sure, right, count in found)
            )
        pictures += write_reliability(folder / "calibration.png", calibration)
    parts += ["", *(f"![{picture.stem}]({picture.name})" for picture in pictures)]
    path = folder / "report.md"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return path


def _stages(milliseconds: Mapping[str, Mapping[str, str]]) -> str:
    names = list(milliseconds)
    lines = ["| stage | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for stage in dict.fromkeys(stage for spent in milliseconds.values() for stage in spent):
        lines.append(f"| {stage} | " + " | ".join(milliseconds[name].get(stage, "") for name in names) + " |")
    return "\n".join(lines)
