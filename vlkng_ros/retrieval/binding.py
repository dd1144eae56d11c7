"""Which words of a text go with the thing it names: "a man in blue on a bicycle" is no blue bicycle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.types import Float64Array

BINDING_SPAN = 2
"""Content words between which an adjective still goes with its noun."""
COLOR_SPAN = 4
"""Words after a color among which its noun comes ("a red brick office building")."""
_COPULA = ("is", "are", "was", "were", "be", "appear", "paint")


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a phrase with the memory's spellings of it."""

    spellings: tuple[str, ...]
    weight: float
    head: bool
    color: bool = False


def unbound(index: TextIndex, slots: NDArray[np.intp], heads: Iterable[str], others: Sequence[Term]) -> Float64Array:
    """Weight of the terms that some texts say apart from the thing that they name, shape ``(len(slots),)``.

    Args:
        index: the memory's texts.
        slots: the texts; those that do not name the thing lose nothing.
        heads: spellings of what names the thing.
        others: what else is said of it.
    """
    words = index.said.of(slots)
    head = index.said.where(words, heads)
    named = _any(head, words.rows, len(slots))
    lost = np.zeros(len(slots))
    for term in others:
        here = index.said.where(words, term.spellings)
        near = here & head
        for apart in range(1, BINDING_SPAN + 1):
            together = words.rows[apart:] == words.rows[:-apart]
            near[apart:] |= here[apart:] & head[:-apart] & together
            near[:-apart] |= here[:-apart] & head[apart:] & together
        bound = _any(near, words.rows, len(slots))
        if term.color:
            looked = np.flatnonzero(bound & named)
            bound[looked] = _colored(index, slots[looked], heads, term.spellings)
        lost[named & _any(here, words.rows, len(slots)) & ~bound] += term.weight
    return lost


def _colored(
    index: TextIndex, slots: NDArray[np.intp], heads: Iterable[str], colors: Iterable[str]
) -> NDArray[np.bool_]:
    """In which texts a color goes with the thing: before it ("a red door") or said of it ("the door is red").

    "A building with beige walls" is no beige building.
    """
    words = index.heard.of(slots)
    rows = words.rows
    head = index.heard.where(words, heads)
    at = np.flatnonzero(index.heard.where(words, colors))
    goes = np.zeros(len(at), dtype=np.bool_)
    for ahead in range(1, COLOR_SPAN + 1):
        there = np.minimum(at + ahead, len(rows) - 1)
        goes |= head[there] & (rows[there] == rows[at])
    # said of it: a form of "to be" between the color and the last mention of the thing before it
    thing = _last(head, at)
    within = (thing >= 0) & (at - thing <= 2 * COLOR_SPAN)
    goes |= within & (rows[thing] == rows[at]) & (_last(index.heard.where(words, _COPULA), at) >= thing)
    return _any(goes, rows[at], len(slots))


def _last(there: NDArray[np.bool_], at: NDArray[np.intp]) -> NDArray[np.intp]:
    """The last place before each of some places at which something is there, or -1."""
    last = np.maximum.accumulate(np.concatenate([[-1], np.where(there, np.arange(len(there)), -1)]))
    return np.asarray(last[at], dtype=np.intp)


def _any(there: NDArray[np.bool_], rows: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    """Which rows have something anywhere."""
    found = np.zeros(count, dtype=np.bool_)
    found[rows[there]] = True
    return found
