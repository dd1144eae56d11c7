"""What a terminal is shown: words that came from a model or a file steer nothing there."""

from __future__ import annotations

import json
from typing import Any

_CONTROLS = [code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"]
_VISIBLE = {code: f"\\x{code:02x}" for code in _CONTROLS}
# Of these json itself escapes only those below 0x20. They stand in strings alone, where the escape means the same.
_JSON = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F}


def visible(text: str) -> str:
    r"""The text with control characters but newline and tab spelt out: ``\x1b`` for ESC."""
    return text.translate(_VISIBLE)


def show(text: str) -> None:
    """Print for a person."""
    print(visible(text))


def as_json_text(value: Any, indent: int | None = None) -> str:
    """JSON that people can read in any script, and that holds no raw control character but newline."""
    return json.dumps(value, ensure_ascii=False, indent=indent).translate(_JSON)
