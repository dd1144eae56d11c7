"""A question's target in the words of the memory, by a language model (VL-KnG step 1); off unless it is asked for."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

from vlkng_ros.answering.language_model import Conversation, open_chat
from vlkng_ros.answering.open_answers import common_labels
from vlkng_ros.chat import Chat
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ModelError, ModelOutputError
from vlkng_ros.memory.words import NUMBERS, terms
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Retriever, Scene

TOLD_LABELS = 200
"""Labels of the memory that the model chooses from, most frequent first."""
MAX_TARGET = 80
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"target": {"type": "string"}},
    "required": ["target"],
    "additionalProperties": False,
}

_log = logging.getLogger(__name__)


class Rewriter:
    """Rewrites targets with the configured language model.

    Raises:
        ConfigError: no model is named.
        ModelError: it cannot be opened.
    """

    def __init__(self, config: RetrievalConfig, chat: Chat | None = None) -> None:
        self._config = config
        self._chat = chat if chat is not None else open_chat(config)

    def rewritten(self, query: Query, retriever: Retriever, scene: Scene) -> tuple[Query, str]:
        """-> (the query with its target in the memory's words, what went wrong).

        A target whose words the memory all knows needs no model. Of the reply only words that the memory knows at the
        scene's end are taken; anything else leaves the query as it is.
        """
        unknown = [t for t in terms(query.target) if t not in NUMBERS and not retriever.index.knows(t, scene.cut)]
        if not unknown:
            return query, ""
        conversation = Conversation(self._chat, self._config)
        words = ", ".join(common_labels(retriever, scene)[:TOLD_LABELS])
        prompt = conversation.prompt("rewrite", words=words, question=query.text, target=query.target)

        def check(value: Any) -> str:
            return _checked(value, query, retriever, scene)

        try:
            target: str = conversation.ask([{"role": "user", "content": prompt}], _is_reply, check, _SCHEMA)
        except ModelError as error:
            _log.warning("asked in the question's own words: %s", error)
            return query, f"asked in the question's own words: {error}"
        return dataclasses.replace(query, target=target, whole=target), ""


def _is_reply(value: Any) -> bool:
    return isinstance(value, dict) and "target" in value


def _checked(value: Any, query: Query, retriever: Retriever, scene: Scene) -> str:
    target = value.get("target") if isinstance(value, dict) else None
    if not isinstance(target, str) or not terms(target) or len(target) > MAX_TARGET:
        raise ModelOutputError(f'"target" must be a phrase of at most {MAX_TARGET} characters')
    target = " ".join(target.lower().split())
    if target == query.target:
        return target
    strange = [term for term in terms(target) if not retriever.index.knows(term, scene.cut)]
    if strange:
        raise ModelOutputError(f'"target" has words that the memory does not know: {", ".join(strange)}')
    return target
