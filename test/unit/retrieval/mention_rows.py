"""Mentions one by one, for indexes made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.types import FloatArray


class MentionRow(NamedTuple):
    """One text of one keyframe. ``caption`` tells a caption's sentence from a label or region text."""

    keyframe_id: int
    text_id: int
    caption: bool


def add_mentions(
    index: TextIndex, mentions: Iterable[MentionRow], texts: Mapping[int, tuple[str, FloatArray | None]]
) -> None:
    """See ``TextIndex.add_columns``."""
    rows = list(mentions)
    keyframes, said, captions = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(3))
    index.add_columns(keyframes, said, captions, texts)
