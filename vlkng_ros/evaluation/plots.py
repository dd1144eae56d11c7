"""A report's plots, where matplotlib is installed (the extra ``plots``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vlkng_ros.evaluation.scores import TOP, Judged
from vlkng_ros.types import AnswerKind

Bins = Sequence[tuple[float, float, int]]


def write_plots(folder: Path, runs: Mapping[str, Sequence[Judged]], bins: Mapping[str, Bins]) -> list[Path]:
    """Reliability, position errors and retrieval as PNG, each where there is something to show.

    Args:
        folder: where they go.
        runs: what was answered, by run.
        bins: ``reliability`` of each run.
    """
    written = write_reliability(folder / "reliability.png", bins)
    written += _write(folder / "position_error.png", lambda axes: _positions(axes, runs))
    written += _write(folder / "retrieval.png", lambda axes: _retrieval(axes, runs))
    return written


def write_reliability(path: Path, bins: Mapping[str, Bins]) -> list[Path]:
    """A reliability figure as PNG: the path, or nothing where there is nothing to show or to draw with.

    Args:
        path: the picture.
        bins: ``(mean confidence, share right, number)``, by name.
    """
    return _write(path, lambda axes: _reliability(axes, bins))


def _write(path: Path, draw: Callable[[Any], bool]) -> list[Path]:
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4))
    axes = figure.subplots()
    if not draw(axes):
        return []
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return [path]


def _reliability(axes: Any, bins: Mapping[str, Bins]) -> bool:
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, found in bins.items():
        line = axes.plot([c for c, _, _ in found], [r for _, r, _ in found], linewidth=1, label=name)
        sizes = [10 + 4 * n**0.5 for _, _, n in found]
        axes.scatter([c for c, _, _ in found], [r for _, r, _ in found], s=sizes, color=line[0].get_color())
    axes.set(xlabel="confidence", ylabel="share right", title="Reliability", xlim=(0, 1.02), ylim=(0, 1.02))
    return any(bins.values())


def _positions(axes: Any, runs: Mapping[str, Sequence[Judged]]) -> bool:
    drawn = False
    for name, judged in runs.items():
        errors = sorted(j.error for j in judged if j.asked.kind is AnswerKind.POSITION and j.error is not None)
        if errors:
            axes.step(errors, [(i + 1) / len(errors) for i in range(len(errors))], where="post", label=name)
            drawn = True
    axes.set(xlabel="position error (m)", ylabel="share of questions", title="Position", xlim=(0, 100), ylim=(0, 1.02))
    return drawn


def _retrieval(axes: Any, runs: Mapping[str, Sequence[Judged]]) -> bool:
    drawn = False
    for name, judged in runs.items():
        ranks = [j.rank for j in judged if j.rank is not None]
        if ranks:
            shares = [sum(0 < rank <= k for rank in ranks) / len(ranks) for k in range(1, TOP + 1)]
            axes.plot(range(1, TOP + 1), shares, marker="o", label=name)
            drawn = True
    axes.set(xlabel="k", ylabel="Retrieval Acc@k", title="Retrieval", ylim=(0, 1.02))
    axes.set_xticks(range(1, TOP + 1))
    return drawn
