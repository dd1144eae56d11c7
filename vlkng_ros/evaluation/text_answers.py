"""Answers in words, held against a benchmark's: OpenEQA's LLM-Match, and the overlap of words where no judge is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from vlkng_ros.chat import Chat, find_json, load_prompt
from vlkng_ros.errors import ModelOutputError
from vlkng_ros.evaluation.benchmark import Asked

PROMPTS = Path(__file__).parent / "prompts"
TEMPERATURE = 0.2
"""OpenEQA's."""
MAX_TOKENS = 32
TIMEOUT_S = 60.0
SCHEMA = {
    "type": "object",
    "properties": {"mark": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["mark"],
    "additionalProperties": False,
}
"""Binds the judge where its server can: small models else go on talking."""
_MARK = re.compile(r"\b([1-5])\b")


class Judge:
    """LLM-Match (OpenEQA section 4.2): a language model marks an answer from 1, wrong, to 5, right.

    Args:
        chat: the model.
        prompts: folder whose ``llm_match.txt`` takes the packaged one's place.
    """

    def __init__(self, chat: Chat, prompts: str = "") -> None:
        self._chat = chat
        self._prompt = load_prompt(PROMPTS, "llm_match", prompts)

    def mark(self, asked: Asked, answer: str) -> int:
        """1 to 5.

        Raises:
            ModelError: no mark in time.
        """
        truths = (asked.truth, *asked.other_truths)
        text = self._prompt.filled(
            question=asked.text, answer=" | ".join(map(str, truths)), response=answer or "(none)"
        )
        reply = self._chat.complete(
            [{"role": "user", "content": text}],
            timeout_s=TIMEOUT_S,
            temperature=TEMPERATURE,
            max_tokens=MAX_TOKENS,
            schema=SCHEMA,
        )
        return mark_in(reply.text)


def mark_in(reply: str) -> int:
    """The mark in a judge's reply: JSON, OpenEQA's "Your mark: 4", or the bare number.

    Raises:
        ModelOutputError: there is none, or more than one.
    """
    try:
        value: Any = find_json(reply, lambda v: isinstance(v, dict) and "mark" in v)[0]["mark"]
        found = {str(value)} & set("12345")
    except ModelOutputError:
        found = set(_MARK.findall(reply))
    if len(found) != 1:
        raise ModelOutputError(f"the judge gave no mark from 1 to 5: {' '.join(reply.split())[:100]!r}")
    return int(found.pop())


def percent(mark: float) -> float:
    """OpenEQA's scale: a mark of 1 is 0, one of 5 is 100."""
    return 100.0 * (min(max(mark, 1.0), 5.0) - 1.0) / 4.0


def overlap(asked: Asked, answer: str) -> float:
    """F1 of the words of an answer and of the truth that it agrees with most (SQuAD's), in 0..1."""
    return max(_f1(_words(str(truth)), _words(answer)) for truth in (asked.truth, *asked.other_truths))


def _words(text: str) -> Counter[str]:
    return Counter(w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in ("a", "an", "the"))


def _f1(truth: Counter[str], given: Counter[str]) -> float:
    common = (truth & given).total()
    return 2 * common / (truth.total() + given.total()) if common else 0.0
