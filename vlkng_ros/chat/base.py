"""What every user of a language model asks of it, wherever the model runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from vlkng_ros.chat.client import Reply


class Chat(Protocol):
    """What is asked of a language model: ``ChatClient``, or a model in this process."""

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        timeout_s: float,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """The model's reply."""
        ...
