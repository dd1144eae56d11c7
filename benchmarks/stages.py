"""Where a question's time goes: milliseconds by stage, of every question that is asked inside a block.

Functions are wrapped while the block lasts. What one of them takes is counted once, for the innermost stage: a vector
that is encoded for the dense channel counts as encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from clock import now

from vlkng_ros.answering import ask
from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.retrieval import hybrid_search
from vlkng_ros.retrieval.lexical import Lexical
from vlkng_ros.retrieval.matching import Encoded, Matcher
from vlkng_ros.retrieval.retriever import Retriever

ANSWER = "answer"
"""What is left of a question: its value, its words, and what it rests on."""
FUNCTIONS: Sequence[tuple[str, Any, str]] = (
    ("parse", ask, "parse"),
    ("follow the memory", Retriever, "refresh"),
    ("encode", Encoded, "__call__"),
    ("retrieve: lexical", Lexical, "score"),
    ("retrieve: dense", Matcher, "_dense"),
    ("retrieve: window", TextIndex, "window_slots"),
    ("retrieve: temporal", hybrid_search, "frame_evidence"),
    ("retrieve: spatial", hybrid_search, "peaks_of"),
    ("retrieve: relations", hybrid_search.HybridSearch, "_related"),
    ("rank", Matcher, "fit"),
    ("rank", hybrid_search, "settled"),
    ("rank", hybrid_search, "in_order"),
    ("load keyframes", ask, "load_ranked"),
    (ANSWER, ask.MemoryQuery, "ask"),
)
STAGES = tuple(dict.fromkeys(name for name, _, _ in FUNCTIONS))


class Spent:
    """Milliseconds of each question by stage."""

    def __init__(self) -> None:
        self.questions: list[dict[str, float]] = []
        self._inner = [0.0]
        """Seconds that the stages inside each open one took."""

    def wrapped(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*args: Any, **options: Any) -> Any:
            if stage == ANSWER:
                self.questions.append(dict.fromkeys(STAGES, 0.0))
            self._inner.append(0.0)
            start = now()
            try:
                return function(*args, **options)
            finally:
                took = now() - start
                if self.questions:
                    self.questions[-1][stage] += 1e3 * (took - self._inner.pop())
                    self._inner[-1] += took

        return timed

    def percentiles(self) -> dict[str, tuple[float, float]]:
        """``(p50, p95)`` in milliseconds by stage."""
        found = {}
        for stage in STAGES:
            low, high = np.percentile([question[stage] for question in self.questions], (50, 95))
            found[stage] = (float(low), float(high))
        return found


@contextmanager
def timed_stages() -> Iterator[Spent]:
    """Times the stages of questions asked in this block, one after the other."""
    spent = Spent()
    before = [getattr(owner, name) for _, owner, name in FUNCTIONS]
    for (stage, owner, name), function in zip(FUNCTIONS, before, strict=True):
        setattr(owner, name, spent.wrapped(stage, function))
    try:
        yield spent
    finally:
        for (_, owner, name), function in zip(FUNCTIONS, before, strict=True):
            setattr(owner, name, function)
