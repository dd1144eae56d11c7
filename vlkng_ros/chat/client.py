"""A client for any OpenAI-compatible server: vLLM, Ollama, llama.cpp, a cloud.

Every call ends by its deadline, however slowly the server drips. What passes by itself (no connection, time-outs,
429, 5xx) is tried again with growing pauses and then reported as ``ModelUnavailableError``. Keys come from the
environment and appear in no message.
"""

from __future__ import annotations

import json
import logging
import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlkng_ros.errors import ModelError, ModelNotFoundError, ModelOutputError, ModelUnavailableError

MAX_REPLY_BYTES = 8 << 20
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0

Message = Mapping[str, Any]
"""A chat message: ``{"role": ..., "content": text or parts}``."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said; ``cut_off`` at the token limit."""

    text: str
    cut_off: bool


class _PassingError(Exception):
    """Trying again may help; perhaps not before ``pause_s``."""

    def __init__(self, reason: str, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


class ChatClient:
    """One model on one server. Use it from one thread, and close it: it is a context manager.

    Args:
        base_url: up to and with ``/v1``.
        model: name that the server knows it by.
        api_key_env: environment variable that holds the key; the key is sent where it is set.
        attempts: how often a call is tried.
        sleep: pauses; injected by tests.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "",
        attempts: int = 4,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise ModelError(
                f"model server {base_url}: needs httpx; install it with: pip install 'vlkng_ros[server]'"
            ) from error
        self._httpx = httpx
        self.base_url = base_url.rstrip("/")
        self.model = model
        self._api_key_env = api_key_env
        self._key = os.environ.get(api_key_env, "") if api_key_env else ""
        self._attempts = attempts
        self._sleep = sleep
        self._schema_works = True
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            url = httpx.URL(self.base_url)
            if url.scheme not in ("http", "https") or not url.host:
                raise ModelError(f"model server: '{base_url}' is no URL; it looks like http://127.0.0.1:8000/v1")
            # A proxy of the environment is for the world outside, not for a server on this machine.
            direct = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}
            self._http = httpx.Client(headers=headers, follow_redirects=False, mounts=direct)
        except (httpx.InvalidURL, ValueError, UnicodeEncodeError) as error:
            raise ModelError(f"model server: '{base_url}' is no usable URL, or the key no header") from error
        # One that is dropped without being closed must not leave its connections to the collector.
        self._close = weakref.finalize(self, self._http.close)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        timeout_s: float,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """The model's reply, within ``timeout_s`` altogether; ``schema`` binds it where the server can.

        Raises:
            ModelUnavailableError: the server is away, overloaded or too slow, or refuses the key; later may do.
            ModelNotFoundError: it does not have the model.
            ModelOutputError: what it sent is no chat completion.
            ModelError: it refuses the request.
        """
        deadline = time.monotonic() + timeout_s
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "temperature": temperature,
            "max_tokens": max_tokens,
        }
        pause_s = FIRST_PAUSE_S
        attempt = 0
        while True:
            attempt += 1
            use_schema = schema is not None and self._schema_works
            if use_schema:
                json_schema = {"name": "reply", "schema": schema}
                body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
            try:
                status, content = self._request("POST", "/chat/completions", deadline, body)
                if status == 400 and use_schema:
                    # Older servers know no schemas and say so in many ways: once without tells.
                    _log.info("%s: refused a JSON schema; going on without", self.base_url)
                    self._schema_works = False
                    body.pop("response_format")
                    attempt -= 1
                    continue
                return self._reply(status, content)
            except _PassingError as error:
                wait_s = pause_s if error.pause_s is None else error.pause_s
                if attempt >= self._attempts or time.monotonic() + wait_s >= deadline:
                    raise ModelUnavailableError(f"model server {self.base_url}: {error} ({attempt} tries)") from None
            self._sleep(wait_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def models(self, timeout_s: float) -> list[str]:
        """Names of the models that the server has, asked once.

        Raises:
            ModelUnavailableError: the server cannot be reached now.
            ModelError: it refuses, or answers something else.
        """
        try:
            status, content = self._request("GET", "/models", time.monotonic() + timeout_s)
        except _PassingError as error:
            raise ModelUnavailableError(f"model server {self.base_url}: {error}") from None
        if status != 200:
            raise ModelError(f"model server {self.base_url}: status {status} for /models{self._said(content)}")
        try:
            return [str(entry["id"]) for entry in json.loads(content)["data"]]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ModelOutputError(f"model server {self.base_url}: sent no list of models") from error

    def close(self) -> None:
        """Closes the connections."""
        self._close()

    def __enter__(self) -> ChatClient:
        """Itself."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Closes the connections."""
        self.close()

    def _request(self, method: str, path: str, deadline: float, body: Any = None) -> tuple[int, bytes]:
        httpx = self._httpx
        content = bytearray()
        try:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise _PassingError("no reply in time")
            with self._http.stream(method, self.base_url + path, json=body, timeout=left_s) as response:
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > MAX_REPLY_BYTES:
                        raise ModelOutputError(f"model server {self.base_url}: a reply of over {MAX_REPLY_BYTES} bytes")
                    # The time-out above is for each read: a server that drips would never reach it.
                    if time.monotonic() > deadline:
                        raise _PassingError("no whole reply in time")
                if response.status_code == 429 or response.status_code >= 500:
                    reason = f"status {response.status_code}{self._said(content)}"
                    raise _PassingError(reason, _retry_after_s(response.headers.get("retry-after", "")))
                return response.status_code, bytes(content)
        except httpx.TimeoutException:
            raise _PassingError("no reply in time") from None
        except httpx.ConnectError as error:
            raise _PassingError(f"cannot be reached, is it running there? {self._without_key(str(error))}") from None
        except httpx.HTTPError as error:
            raise _PassingError(f"{type(error).__name__}: {self._without_key(str(error))}") from None

    def _reply(self, status: int, content: bytes) -> Reply:
        where = f"model server {self.base_url}"
        if status in (401, 403):
            hint = f"set {self._api_key_env}" if self._api_key_env and not self._key else "is it the right one?"
            raise ModelUnavailableError(f"{where}: refuses the API key (status {status}); {hint}")
        if status == 404:
            raise ModelNotFoundError(f"{where}: has no model '{self.model}', or no such path{self._said(content)}")
        if status != 200:
            raise ModelError(f"{where}: refuses the request with status {status}{self._said(content)}")
        try:
            choice = json.loads(content)["choices"][0]
            text = choice["message"]["content"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ModelOutputError(f"{where}: sent no chat completion{self._said(content)}") from error
        if not isinstance(text, str):
            raise ModelOutputError(f"{where}: sent a completion without text{self._said(content)}")
        return Reply(text, cut_off=choice.get("finish_reason") == "length")

    def _said(self, content: bytes | bytearray) -> str:
        """The beginning of what the server said, for a message; servers may echo the key."""
        text = " ".join(self._without_key(bytes(content[:4096]).decode("utf-8", "replace")).split())
        return f": {text[:300]}" if text else ""

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _retry_after_s(header: str) -> float | None:
    """Seconds a server asks to wait; None where it does not, or gives a date."""
    return float(header) if header.isascii() and header.isdigit() else None
