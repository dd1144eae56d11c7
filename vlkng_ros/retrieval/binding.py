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
    head = np.flatnonzero(index.said.where(words, heads))
    named = _any(head, words.rows, len(slots))
    lost = np.zeros(len(slots))
    for term in others:
        here = np.flatnonzero(index.said.where(words, term.spellings))
        before, after = _around(here, head)
        near = _within(here, before, words.rows, BINDING_SPAN) | _within(here, after, words.rows, BINDING_SPAN)
        bound = _any(here[near], words.rows, len(slots))
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
    at = np.flatnonzero(index.heard.where(words, colors))
    thing, next_thing = _around(at, np.flatnonzero(index.heard.where(words, heads)))
    copula, _ = _around(at, np.flatnonzero(index.heard.where(words, _COPULA)))
    # said of it: a form of "to be" between the last mention of the thing before the color and the color
    goes = _within(at, thing, words.rows, 2 * COLOR_SPAN) & (copula >= thing)
    goes |= _within(at, next_thing, words.rows, COLOR_SPAN)
    return _any(at[goes], words.rows, len(slots))


def _around(at: NDArray[np.intp], places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The last of some places up to each word, and the first one after it; -1 where there is none."""
    known = np.concatenate([[-1], places, [-1]])
    behind = np.searchsorted(places, at, side="right")
    return known[behind], known[behind + 1]


def _within(
    at: NDArray[np.intp], other: NDArray[np.intp], rows: NDArray[np.intp], span: int
) -> NDArray[np.bool_]:
    """Which words have another one, -1 for none, within so many words of the same text."""
    return np.asarray((other >= 0) & (np.abs(at - other) <= span) & (rows[other] == rows[at]))


def _any(there: NDArray[np.intp], rows: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    """Which rows have any of some words."""
    found = np.zeros(count, dtype=np.bool_)
    found[rows[there]] = True
    return found
