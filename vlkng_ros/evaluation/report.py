"""A run's figures as a Markdown report with plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlkng_ros.evaluation.scores import Judged, figures, reliability, stages


def table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """One Markdown table: a row a figure, a column a run."""
    names = list(runs)
    lines = ["| figure | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for figure in next(iter(runs.values()), {}):
        cells = ["" if runs[name].get(figure) is None else str(runs[name][figure]) for name in names]
        lines.append(f"| {figure} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_report(folder: Path, runs: Mapping[str, Sequence[Judged]], title: str) -> Path:
    """Writes ``report.md``, ``figures.json`` and the plots into a folder; returns the report."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {name: figures(judged) for name, judged in runs.items()}
    (folder / "figures.json").write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    parts = [f"# {title}", "", table(numbers), "", "## Milliseconds by stage (p50, p95)", ""]
    for name, judged in runs.items():
        spent = ", ".join(f"{stage} {p50:.1f}, {p95:.1f}" for stage, (p50, p95) in stages(judged).items())
        parts.append(f"- {name}: {spent}")
    parts += ["", "## Reliability (mean confidence, share right, questions)", ""]
    for name, judged in runs.items():
        bins = "; ".join(f"{sure:.2f}: {right:.2f} of {count}" for sure, right, count in reliability(judged))
        parts.append(f"- {name}: {bins}")
    parts += ["", *(f"![{picture.stem}]({picture.name})" for picture in _plots(folder, runs))]
    path = folder / "report.md"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return path


def _plots(folder: Path, runs: Mapping[str, Sequence[Judged]]) -> list[Path]:
    """Reliability and position errors as PNG; none where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    calibration, errors = Figure(figsize=(5, 4)), Figure(figsize=(5, 4))
    left, right = calibration.subplots(), errors.subplots()
    left.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, judged in runs.items():
        bins = reliability(judged)
        left.plot([sure for sure, _, _ in bins], [share for _, share, _ in bins], marker="o", label=name)
        metres = sorted(j.error for j in judged if j.asked.kind.value == "position")
        right.step(metres, [(i + 1) / len(metres) for i in range(len(metres))], where="post", label=name)
    left.set(xlabel="confidence", ylabel="share right", title="Reliability", xlim=(0, 1), ylim=(0, 1.02))
    right.set(xlabel="position error (m)", ylabel="share of questions", title="Position", xlim=(0, 100), ylim=(0, 1.02))
    written = []
    for figure, axes, name in ((calibration, left, "reliability.png"), (errors, right, "position_error.png")):
        axes.legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(folder / name, dpi=120)
        written.append(folder / name)
    return written
