"""The JSON in a model's reply: within prose or a code fence, with trailing commas, or cut off at the token limit.

The repair is bounded: it drops trailing commas and what follows the last whole value, and closes what is open. It
invents nothing, so what comes out still has to be checked against a schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from vlkng_ros.errors import ModelOutputError

MAX_CHARACTERS = 200_000
MAX_STARTS = 16
"""Opening braces tried; a reply with more before its JSON is no reply."""

_CLOSING = {"{": "}", "[": "]"}
_END_OF_THINKING = "</think>"


def _is_filled_object(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


def find_json(reply: str, accept: Callable[[Any], bool] = _is_filled_object) -> tuple[Any, bool]:
    """The first JSON value in a reply that ``accept`` takes, and whether it had to be repaired.

    Raises:
        ModelOutputError: there is none.
    """
    if len(reply) > MAX_CHARACTERS:
        raise ModelOutputError(f"the reply has {len(reply)} characters, more than {MAX_CHARACTERS}")
    text = reply.rpartition(_END_OF_THINKING)[2]
    for start in _starts(text):
        value = _decode_prefix(text[start:])
        if value is not None and accept(value):
            return value, False
        # Repaired before the next brace is tried: within a cut-off object the next one is only a part of it.
        value = _decode(repair_json(text[start:]))
        if value is not None and accept(value):
            return value, True
    shown = " ".join(text.split())[:200]
    raise ModelOutputError(
        f"the reply holds no JSON of the kind asked for: {shown!r}" if shown else "the reply is empty"
    )


def repair_json(text: str) -> str:
    """JSON that starts at the first character of ``text``: trailing commas dropped, cut-off ends closed."""
    out: list[str] = []
    stack: list[str] = []
    whole: tuple[int, list[str]] = (0, [])
    in_string = escaped = False
    for character in text:
        if in_string:
            out.append(character)
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
            continue
        if character == "," and stack:
            whole = (len(out), list(stack))
        elif character in "}]":
            if not stack or _CLOSING[stack[-1]] != character:
                break
            _drop_trailing_comma(out)
            stack.pop()
            out.append(character)
            whole = (len(out), list(stack))
            if not stack:
                return "".join(out)
            continue
        elif character in "{[":
            stack.append(character)
            if whole == (0, []):
                whole = (len(out) + 1, list(stack))
        in_string = character == '"'
        out.append(character)
    length, open_brackets = whole
    return "".join(out[:length]) + "".join(_CLOSING[bracket] for bracket in reversed(open_brackets))


def _drop_trailing_comma(out: list[str]) -> None:
    last = len(out) - 1
    while last >= 0 and out[last].isspace():
        last -= 1
    if last >= 0 and out[last] == ",":
        del out[last]


def _starts(text: str) -> Iterator[int]:
    position = -1
    for _ in range(MAX_STARTS):
        found = [index for bracket in "{[" if (index := text.find(bracket, position + 1)) >= 0]
        if not found:
            return
        position = min(found)
        yield position


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)


def _decode_prefix(text: str) -> Any:
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _decode(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
