"""What a memory of things seen cannot tell, however it is asked: reasons, the future, the way from one to another."""

from __future__ import annotations

import re

_CANNOT = (
    (re.compile(r"^(?:why\b|how come\b|what (?:is|was) the (?:reason|purpose|cause)\b|for what reason\b)"),
     "I remember what I saw, and not why it is so"),
    (re.compile(r"^(?:when|where|what|who|how (?:long|many|often|much)|at what time)\b.*?\b(?:will|shall|going to|"
                r"gonna) (?:you|i|we|they|it|he|she|there|the|a|an|be|see|meet|find)\b"
                r"|^(?:will|shall) (?:you|i|we|they|it|he|she|there|the|a|an)\b(?!.*\b(?:tell|show|take|bring|guide|"
                r"lead|drive|find)\b)"),
     "I remember what was, and do not know what will be"),
    (re.compile(r"^(?:how (?:do|can|could|should|would) (?:i|we|you|one) (?:get|go|come|walk|drive|travel)|"
                r"what is the (?:way|route|path)|which way is it) from\b.+\bto\b"),
     "I do not know the way from one thing to another; ask where one of them is"),
)  # fmt: skip


def beyond(text: str) -> str:
    """Why a question, lower-case and without its politeness, is beyond any memory; empty where it is not."""
    return next((reason for pattern, reason in _CANNOT if pattern.search(text)), "")
