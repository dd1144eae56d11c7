"""A language model in this process: any causal model with a chat template, through transformers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlkng_ros.chat import Reply
from vlkng_ros.errors import ModelError, ModelNotFoundError, ModelUnavailableError

TOP_P = 0.95


class LocalModel:
    """Answers chats with a local checkpoint. Use it from one thread.

    A schema cannot bind it: what comes out is checked and repaired as every reply is.

    Args:
        model: hub id that is in the cache, or folder.
        device: ``auto`` (cuda where there is one), ``cpu`` or ``cuda``.

    Raises:
        ModelNotFoundError: the weights are not on this machine.
        ModelError: transformers is not installed, or they cannot be loaded.
    """

    def __init__(self, model: str, device: str = "auto") -> None:
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise ModelError(f"model {model}: needs transformers ({error}); pip install 'vlkng_ros[llm]'") from error
        self.model = model
        self._device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        where = str(Path(model).expanduser())
        options: dict[str, Any] = {"local_files_only": True}
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(where, **options)
            dtype = torch.float16 if self._device == "cuda" else torch.float32  # RTX 20 cards have no bfloat16
            self._net: Any = AutoModelForCausalLM.from_pretrained(where, dtype=dtype, **options)
        except OSError as error:
            raise ModelNotFoundError(
                f"model {model}: not on this machine; bring it with: vlkng models --fetch {model}, or name a folder"
            ) from error
        except Exception as error:  # transformers raises whatever its parts raise
            raise ModelError(f"model {model}: cannot be loaded: {type(error).__name__}: {error}") from error
        if not self._tokenizer.chat_template:
            raise ModelError(f"model {model}: has no chat template; use an instruction-tuned model")
        self._net.to(self._device).eval()

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        timeout_s: float,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """The model's reply, within ``timeout_s``.

        Raises:
            ModelUnavailableError: it did not get done in time.
            ModelError: it takes no pictures, the prompt is longer than it can read, or its memory does not suffice.
        """
        import torch

        deadline = time.monotonic() + timeout_s
        text = self._tokenizer.apply_chat_template(_texts(messages), tokenize=False, add_generation_prompt=True)
        inputs = self._tokenizer(text, return_tensors="pt", add_special_tokens=False).to(self._device)
        length = int(inputs["input_ids"].shape[1])
        room = int(getattr(self._net.config, "max_position_embeddings", 0) or 1 << 30)
        if length + max_tokens > room:
            raise ModelError(
                f"model {self.model}: the prompt has {length} tokens and the reply may have {max_tokens}, the model "
                f"takes {room}; lower retrieval.context_tokens or retrieval.max_tokens"
            )
        sampling: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            sampling = {"do_sample": True, "temperature": temperature, "top_p": TOP_P}
        padding = self._tokenizer.pad_token_id
        try:
            with torch.inference_mode():
                output = self._net.generate(
                    **inputs,
                    max_new_tokens=max_tokens,
                    max_time=max(0.01, timeout_s),
                    pad_token_id=padding if padding is not None else self._tokenizer.eos_token_id,
                    **sampling,
                )
        except torch.cuda.OutOfMemoryError as error:
            raise ModelUnavailableError(f"model {self.model}: the GPU's memory does not suffice") from error
        written = output[0][length:]
        if time.monotonic() > deadline:
            raise ModelUnavailableError(f"model {self.model}: no whole reply in {timeout_s:.3g} s")
        return Reply(self._tokenizer.decode(written, skip_special_tokens=True), cut_off=len(written) >= max_tokens)


def _texts(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The messages with plain text as content.

    Raises:
        ModelError: one holds a picture.
    """
    plain = []
    for message in messages:
        content = message["content"]
        if not isinstance(content, str):
            if any(part.get("type") != "text" for part in content):
                raise ModelError("a local language model takes no pictures; turn retrieval.show_images off")
            content = "\n".join(part["text"] for part in content)
        plain.append({"role": str(message["role"]), "content": content})
    return plain
