"""Which of some choices an answer's evidence speaks for: by a language model, or without one by the words it shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from vlkng_ros.answering.context import described, within_budget
from vlkng_ros.chat import Chat, find_json, load_prompt
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ModelError, ModelOutputError
from vlkng_ros.evaluation.benchmark import Asked
from vlkng_ros.evaluation.text_answers import PROMPTS
from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.stamps import stamp
from vlkng_ros.types import Answer, TextEncoder

LETTERS = "ABCDEFGH"
MAX_TOKENS = 32
NEXT = 0.5
"""What a frame counts in relation to the one before it."""
BY_WORDS, BY_MODEL = "words", "model"


def choose(
    asked: Asked, answer: Answer, reader: MemoryReader, encoder: TextEncoder | None, config: RetrievalConfig,
    chat: Chat | None,
) -> tuple[str, str]:  # fmt: skip
    """The letter of a choice, and what chose it: ``model``, or ``words`` where there is none or it fails."""
    if chat is not None:
        try:
            return _by_model(asked, answer, reader, config, chat), BY_MODEL
        except ModelError:
            pass  # said by the second value
    said = [keyframe.keyframe.caption for keyframe in answer.keyframes] or [answer.text]
    return LETTERS[by_words(asked, said, encoder)], BY_WORDS


def _by_model(asked: Asked, answer: Answer, reader: MemoryReader, config: RetrievalConfig, chat: Chat) -> str:
    oldest_ns = int(reader.frames().stamps_ns[0])
    lines = [described(reader, ranked.keyframe, oldest_ns) for ranked in answer.keyframes]
    now_ns = asked.as_of_ns if asked.as_of_ns is not None else int(reader.frames().stamps_ns[-1])
    text = load_prompt(PROMPTS, "choose").filled(
        now=stamp(now_ns, oldest_ns),
        frames="\n".join(within_budget(lines, config.context_tokens)) or "(none)",
        question=asked.text,
        choices="\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, asked.choices, strict=False)),
    )
    reply = chat.complete(
        [{"role": "user", "content": text}],
        timeout_s=config.timeout_s,
        temperature=config.temperature,
        max_tokens=MAX_TOKENS,
        schema={
            "type": "object",
            "properties": {"choice": {"type": "string", "enum": list(LETTERS[: len(asked.choices)])}},
            "required": ["choice"],
            "additionalProperties": False,
        },
    )
    value: Any = find_json(reply.text, lambda v: isinstance(v, dict) and "choice" in v)[0]["choice"]
    letter = str(value).strip().upper()[:1]
    if not letter or letter not in LETTERS[: len(asked.choices)]:
        raise ModelOutputError(f"'{value}' is none of the choices")
    return letter


def by_words(asked: Asked, said: list[str], encoder: TextEncoder | None) -> int:
    """The choice that shares most with the frames' texts, the best frame's counting most; ties to the first.

    Shared are words that not every choice has; with an encoder, cosines of question and choice with the text break
    ties.
    """
    wanted = [frozenset(terms(choice)) for choice in asked.choices]
    common = frozenset.intersection(*wanted)
    scores = np.zeros(len(wanted))
    weight = 1.0
    for text in said:
        told = frozenset(terms(text))
        for i, words in enumerate(wanted):
            own = words - common
            scores[i] += weight * (len(own & told) / len(own) if own else 0.0)
        weight *= NEXT
    if encoder is not None and said:
        vectors = encoder.encode([f"{asked.text} {choice}" for choice in asked.choices] + [" ".join(said[:3])])
        scores += 0.01 * (vectors[:-1] @ vectors[-1])
    return int(np.argmax(scores))
