"""OpenEQA (Majumdar et al., CVPR 2024; MIT licence) in its published layout, the episodic-memory setting.

``open-eqa-v0.json`` is a list of ``question_id``, ``question``, ``answer``, ``extra_answers`` (of some), ``category``
and ``episode_history``, such as ``hm3d-v0/000-hm3d-BFRyYbPCCPE``: a folder of numbered pictures under ``frames/``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vlkng_ros.bags.caption_file import read_captions
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.evaluation.benchmark import Asked, RecordedFrame, Recording, field, list_of_objects, pictures_of
from vlkng_ros.types import AnswerKind

QUESTIONS = "open-eqa-v0.json"
FRAMES = 32
"""Frames of an episode that are described: VL-KnG's number (section 7.1), evenly spaced. Paths are read by all."""
PERIOD_S = 1.0
"""Episodes state no times; questions ask for none."""


def read_openeqa(folder: Path, captions: Path | None = None, frames: int = FRAMES) -> list[Recording]:
    """Every episode whose frames are there.

    Args:
        folder: with ``open-eqa-v0.json`` and ``frames/EPISODE/``, or ``data/`` of the published repository.
        captions: a folder with a caption file ``EPISODE.json`` each, in the place of pictures.
        frames: pictures taken of each episode, evenly spaced; 0 for all.

    Raises:
        InvalidInputError: the folder is not in that layout, or holds no episode's frames.
    """
    path = next((p for p in (folder / QUESTIONS, folder / "data" / QUESTIONS) if p.is_file()), folder / QUESTIONS)
    by_episode: dict[str, list[Asked]] = {}
    for i, entry in enumerate(list_of_objects(path)):
        others = entry.get("extra_answers") or []
        episode = field(path, i, entry, "episode_history")
        by_episode.setdefault(episode, []).append(
            Asked(
                field(path, i, entry, "question_id"),
                episode.replace("/", "-"),
                field(path, i, entry, "question"),
                AnswerKind.TEXT,
                None,
                None,
                field(path, i, entry, "answer"),
                category=str(entry.get("category", "")),
                other_truths=tuple(str(other) for other in others),
            )
        )
    found = []
    for episode, questions in by_episode.items():
        recorded = _frames(path.parent / "frames" / episode, captions, episode, frames)
        if recorded:
            found.append(Recording(episode.replace("/", "-"), recorded, tuple(questions)))
    if not found:
        where = captions or path.parent / "frames"
        raise InvalidInputError(f"{where}: holds no episode of {path}; the first is {next(iter(by_episode), 'none')}")
    return found


def _frames(folder: Path, captions: Path | None, episode: str, count: int) -> list[RecordedFrame]:
    if captions is not None:
        file = captions / f"{episode}.json"
        return [RecordedFrame(f.stamp_ns, f.pose, f.perception) for f in read_captions(file)] if file.is_file() else []
    pictures = pictures_of(folder, PERIOD_S)
    if count and len(pictures) > count:
        pictures = [pictures[i] for i in np.linspace(0, len(pictures) - 1, count).round().astype(int).tolist()]
    return pictures
