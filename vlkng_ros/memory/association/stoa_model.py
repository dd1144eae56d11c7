"""Asks a language model which things of a chunk are known already (VL-KnG, cross-chunk resolution)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlkng_ros.chat import Chat, find_json, load_prompt
from vlkng_ros.memory.association.stoa import ChunkGraph

PROMPTS = Path(__file__).parent / "prompts"
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "objects": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"local": {"type": "string"}, "global": {"type": "string"}},
                "required": ["local", "global"],
            },
        }
    },
    "required": ["objects"],
}


class StoaModel:
    """A decision function of ``StoaAssociator``.

    Args:
        chat: the model: ``ChatClient``, or one in this process.
        prompts: a folder whose ``associate.txt`` takes the packaged prompt's place; empty: none.
        timeout_s: for a chunk, all tries together.
        temperature: the paper builds its graphs at 0.1.
        max_tokens: limit of a reply.

    Raises:
        ConfigError: the prompt cannot be read.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        prompts: str = "",
        timeout_s: float = 60.0,
        temperature: float = 0.1,
        max_tokens: int = 2048,
    ) -> None:
        self._chat = chat
        self._prompt = load_prompt(PROMPTS, "associate", prompts)
        self._timeout_s = timeout_s
        self._temperature = temperature
        self._max_tokens = max_tokens

    def __call__(self, graph: ChunkGraph) -> Mapping[str, str]:
        """Local id -> global id or "new", as the model says; nothing of it is checked yet.

        Raises:
            ModelUnavailableError: no reply in time.
            ModelOutputError: the reply holds no decisions.
            ModelError: the server refuses, or has no such model.
        """
        text = self._prompt.filled(known=graph.known_text(), chunk=graph.chunk_text())
        reply = self._chat.complete(
            [{"role": "user", "content": text}],
            timeout_s=self._timeout_s,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            schema=SCHEMA,
        )
        value, _ = find_json(reply.text, _has_decisions)
        return {item["local"]: item["global"] for item in value["objects"] if _is_decision(item)}


def _has_decisions(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("objects"), list)


def _is_decision(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("local"), str) and isinstance(item.get("global"), str)
