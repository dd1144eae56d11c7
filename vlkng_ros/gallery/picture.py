"""The demo's picture: the gallery from above, what the robot remembers of it, and the frames that answer.

It draws what it is given, so it needs neither ROS nor a memory; matplotlib is imported only when it draws.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vlkng_ros.errors import ImageError
from vlkng_ros.gallery.photographs import load_photograph
from vlkng_ros.gallery.world import Picture, Point, World
from vlkng_ros.types import BoxPx, Float64Array, Image, Pose

SIZE_IN = (16.0, 9.0)
DPI = 110
INK = "#22303c"
FAINT = "#8b98a5"
PAPER = "#fbfaf7"
PATH = "#4a6fa5"
GOAL = "#1a9850"
ACCENTS = ("#d1495b", "#e08e0b", "#2a9d8f", "#6a4c93", "#577590")
"""Colours of the answered questions, in their order."""


@dataclass(frozen=True, slots=True, eq=False)
class RememberedThing:
    """A thing as the memory has it. ``covariance_m2`` ``(2, 2)`` is None where its place is only the robot's."""

    label: str
    place: Point
    observations: int
    covariance_m2: Float64Array | None = None


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question, its answer, and the frame that answers it."""

    question: str
    answer: str
    note: str
    label: str = ""
    seen_from: Pose | None = None
    frame: Image | None = None
    box_px: BoxPx | None = None


@dataclass(frozen=True)
class DemoPicture:
    """Everything on the picture.

    ``path`` and ``driven`` are places in the map, shape ``(n, 2)``: of the tour, and of the drive to ``goal``.
    """

    world: World
    path: Float64Array
    keyframes: Float64Array
    remembered: Sequence[RememberedThing]
    answers: Sequence[AnsweredQuestion]
    goal: Pose | None = None
    driven: Float64Array | None = None
    subtitle: str = ""


def draw(picture: DemoPicture, path: Path | str, *, colours: int = 256) -> None:
    """Write the picture as a PNG with a palette of ``colours``.

    Raises:
        ImageError: matplotlib is not installed.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
        from PIL import Image as PilImage
    except ImportError as error:
        raise ImageError(f"{error.name} is not installed; pip install 'vlkng_ros[demo]'") from error
    figure = plt.figure(figsize=SIZE_IN, dpi=DPI, facecolor=PAPER)
    try:
        rows = max(len(picture.answers), 1)
        grid = figure.add_gridspec(
            rows, 2, width_ratios=(1.9, 1.0), left=0.005, right=0.985, top=0.9, bottom=0.03, wspace=0.02, hspace=0.1
        )
        figure.text(0.02, 0.945, "What the robot remembers", fontsize=21, weight="bold", color=INK)
        figure.text(0.985, 0.95, picture.subtitle, fontsize=11, color=FAINT, ha="right")
        _draw_map(figure.add_subplot(grid[:, 0]), picture)
        for index, answer in enumerate(picture.answers):
            _draw_answer(figure, grid[index, 1], answer, index)
        figure.savefig(path, facecolor=PAPER)
    finally:
        plt.close(figure)
    # Photographs need few colours at this size, and a README's picture few bytes.
    with PilImage.open(path) as drawn:
        reduced = drawn.convert("RGB").quantize(colours, method=PilImage.Quantize.MEDIANCUT)
    reduced.save(path, optimize=True)


def _accent(index: int) -> str:
    return ACCENTS[index % len(ACCENTS)]


def _draw_map(axes: Any, picture: DemoPicture) -> None:
    world = picture.world
    x1, y1, x2, y2 = world.bounds_m()
    axes.set_xlim(x1 - 1.55, x2 + 0.3)
    axes.set_ylim(y1 - 2.05, y2 + 1.4)
    axes.set_aspect("equal")
    axes.axis("off")
    _draw_building(axes, world)
    _draw_path(axes, picture)
    for true in world.things():
        x, y, _ = true.centre_m
        axes.plot(x, y, "o", ms=13, mfc="none", mec=INK, mew=1.6, zorder=6)
    accents = {answer.label: _accent(i) for i, answer in reversed(list(enumerate(picture.answers)))}
    for answer, colour in ((a, accents[a.label]) for a in picture.answers):
        _draw_sight(axes, answer, picture.remembered, colour)
    # What was asked about is drawn last, over the rest; of several alike the one seen most often.
    asked = [thing for label in accents if (thing := _most_seen(label, picture.remembered)) is not None]
    for thing in [thing for thing in picture.remembered if thing not in asked]:
        _draw_remembered(axes, thing, None, world)
    for thing in asked:
        _draw_remembered(axes, thing, accents[thing.label], world)
    if picture.goal is not None:
        _draw_goal(axes, picture.goal)
    _draw_legend(axes, picture)


def _most_seen(label: str, remembered: Sequence[RememberedThing]) -> RememberedThing | None:
    alike = [thing for thing in remembered if thing.label == label]
    return max(alike, key=lambda thing: thing.observations, default=None)


def _draw_building(axes: Any, world: World) -> None:
    from matplotlib.patches import Rectangle

    for room in world.rooms:
        (x1, y1), (x2, y2) = room.south_west, room.north_east
        tint = tuple(0.45 + 0.55 * c / 255 for c in room.wall_rgb)
        axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, fc=tint, ec="none", zorder=0))
        axes.text(x1 + 0.15, y1 + 0.14, room.name.upper(), fontsize=9, color=FAINT, weight="bold", zorder=1, alpha=0.9)
    for wall in world.walls:
        if not wall.is_lintel:
            (x1, y1), (x2, y2) = wall.start, wall.end
            axes.plot([x1, x2], [y1, y2], color=INK, lw=3.2, solid_capstyle="round", zorder=2)
    for picture in world.pictures:
        _draw_photograph(axes, picture)
        corners = picture.corners_m()[:2, :2] + 0.05 * np.asarray(picture.normal)
        axes.plot(corners[:, 0], corners[:, 1], color="#b08968", lw=4.5, solid_capstyle="butt", zorder=3)


def _draw_photograph(axes: Any, picture: Picture) -> None:
    """The photograph itself, small, behind the wall it hangs on."""
    photo = load_photograph(picture.photograph)
    height = 1.0 if abs(picture.normal[1]) > 0.5 else 0.72
    width = height * photo.shape[1] / photo.shape[0]
    x = picture.centre_m[0] - picture.normal[0] * (0.15 + width / 2)
    y = picture.centre_m[1] - picture.normal[1] * (0.15 + height / 2)
    extent = (x - width / 2, x + width / 2, y - height / 2, y + height / 2)
    axes.imshow(photo, extent=extent, aspect="auto", interpolation="antialiased", zorder=1)


def _draw_path(axes: Any, picture: DemoPicture) -> None:
    if len(picture.path):
        axes.plot(*picture.path.T, color=PATH, lw=1.8, alpha=0.55, zorder=3)
        axes.plot(*picture.path[0], "s", ms=9, color=PATH, zorder=4)
    if len(picture.keyframes):
        axes.plot(*picture.keyframes.T, ".", ms=5, color=PATH, alpha=0.8, zorder=4)
    if picture.driven is not None and len(picture.driven):
        axes.plot(*picture.driven.T, color=GOAL, lw=2.4, ls=(0, (4, 2)), zorder=5)


def _draw_sight(axes: Any, answer: AnsweredQuestion, remembered: Sequence[RememberedThing], colour: str) -> None:
    """The line from where the answering frame was taken to what is remembered."""
    thing = _most_seen(answer.label, remembered)
    if answer.seen_from is None or thing is None:
        return
    x, y, _ = answer.seen_from.position_m
    axes.plot([x, thing.place[0]], [y, thing.place[1]], color=colour, lw=1.3, alpha=0.7, zorder=4)
    axes.plot(x, y, "o", ms=7, color=colour, mec="white", mew=1.0, zorder=6)


def _draw_remembered(axes: Any, thing: RememberedThing, accent: str | None, world: World) -> None:
    from matplotlib.patches import Ellipse
    from matplotlib.patheffects import withStroke

    colour = accent or FAINT
    x, y = thing.place
    if thing.covariance_m2 is not None:
        values, vectors = np.linalg.eigh(thing.covariance_m2)
        # Two standard deviations, no larger than a room.
        width, height = (4 * min(math.sqrt(max(v, 0.0)), 1.0) for v in values)
        angle = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
        axes.add_patch(Ellipse((x, y), width, height, angle=angle, fc=colour, alpha=0.22, ec=colour, zorder=6))
    axes.plot(x, y, "o", ms=8 if accent else 5, color=colour, mec="white", mew=1.0, zorder=7)
    text = thing.label if accent or thing.observations > 1 else f"{thing.label}?"
    distances = [math.dist(t.centre_m[:2], thing.place) for t in world.things() if t.label == thing.label]
    if accent and distances:
        off = f"{min(distances):.1f} m off"
        text += f"  {off}" if thing.covariance_m2 is not None else "  (seen from here)"
    # Into the room, where no wall is.
    below = y > (world.bounds_m()[1] + world.bounds_m()[3]) / 2
    # Half of the longest label's width, in metres: one that would stick out of the map begins or ends at the thing.
    x1, y1, x2, y2 = world.bounds_m()
    align = "right" if x > x2 - 1.6 else "left" if x < x1 + 1.6 else "center"
    axes.annotate(
        text,
        (x, min(max(y, y1 + 0.1), y2 - 0.1)),
        xytext=(0, -13 if below else 13),
        textcoords="offset points",
        ha=align,
        va="top" if below else "bottom",
        fontsize=13 if accent else 9,
        weight="bold" if accent else "normal",
        color=colour,
        zorder=9,
        path_effects=[withStroke(linewidth=3, foreground="white")],
    )


def _draw_goal(axes: Any, goal: Pose) -> None:
    x, y, _ = goal.position_m
    dx, dy = 0.75 * math.cos(goal.yaw_rad), 0.75 * math.sin(goal.yaw_rad)
    axes.annotate(
        "",
        (x + dx, y + dy),
        (x, y),
        arrowprops={"arrowstyle": "-|>,head_width=0.45,head_length=0.8", "lw": 4, "color": GOAL},
        zorder=8,
    )
    axes.plot(x, y, "o", ms=11, color=GOAL, mec="white", mew=1.5, zorder=8)


def _draw_legend(axes: Any, picture: DemoPicture) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=PATH, lw=1.8, marker=".", ms=8, label="tour and keyframes"),
        Line2D([], [], color="none", marker="o", ms=11, mfc="none", mec=INK, mew=1.6, label="where it truly is"),
        Line2D([], [], color="none", marker="o", ms=8, mfc=ACCENTS[0], mec="white", label="where it is remembered"),
    ]
    if picture.goal is not None:
        entries.append(Line2D([], [], color=GOAL, lw=2.4, ls=(0, (4, 2)), marker=">", ms=9, label="drive to the goal"))
    axes.legend(
        handles=entries, loc="lower center", ncols=len(entries), frameon=False, fontsize=11, labelcolor=INK,
        bbox_to_anchor=(0.53, 0.0),
    )  # fmt: skip


def _draw_answer(figure: Any, cell: Any, answer: AnsweredQuestion, index: int) -> None:
    from matplotlib.patches import Rectangle

    colour = _accent(index)
    inner = cell.subgridspec(1, 2, width_ratios=(1.25, 1.0), wspace=0.05)
    axes = figure.add_subplot(inner[0, 0])
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_edgecolor(colour)
        spine.set_linewidth(3)
    if answer.frame is not None:
        axes.imshow(answer.frame, aspect="equal", interpolation="antialiased")
        if answer.box_px is not None:
            x1, y1, x2, y2 = answer.box_px
            axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, fc="none", ec="white", lw=4))
            axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, fc="none", ec=colour, lw=2.2))
    axes.set_anchor("NE")
    words = figure.add_subplot(inner[0, 1])
    words.axis("off")
    words.set_xlim(0, 1)
    words.set_ylim(0, 1)
    y = 1.0
    for text, size, weight, shade, width in (
        (answer.question, 12.5, "bold", colour, 21),
        (answer.answer, 11, "normal", INK, 25),
        (answer.note, 9.5, "normal", FAINT, 29),
    ):
        lines = [line for part in text.splitlines() for line in textwrap.wrap(part, width)]
        if lines:
            words.text(0, y, "\n".join(lines), fontsize=size, weight=weight, color=shade, va="top", linespacing=1.25)
            y -= (len(lines) * size * 1.32 + 7) / 170
