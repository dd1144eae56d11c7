"""``structured``: Vgent's divide and verify. Checks are made of the question and each clip is held against them.

A clip is the retrieved frames of K in a row, for presets other than ``vgent`` a single frame. Clips that pass no check
are left out, at most r = 5 stay, and what they answered goes into the final prompt. With ``retrieval.show_images`` the
model sees the frames themselves, else their descriptions.
"""

from __future__ import annotations

import base64
from typing import Any

from vlkng_ros.answering.language_model import Conversation, Evidence, decide
from vlkng_ros.answering.model_reply import Decision
from vlkng_ros.errors import ModelOutputError

MAX_CHECKS = 4
CANDIDATES = 20
"""N of the paper."""
KEPT = 5
"""r of the paper."""
IMAGES = 8
"""Frames of a clip that the model is shown, best first."""


def divide_and_verify(conversation: Conversation, evidence: Evidence) -> Decision:
    """The answer over the clips that pass.

    Raises:
        ModelError: no usable reply in time.
    """
    tokens = conversation.config.context_tokens
    checks = _checks(conversation, evidence)
    passed: list[tuple[int, int, list[int], str]] = []
    for place, clip in enumerate(evidence.by_clip()[:CANDIDATES]):
        answers = _verified(conversation, evidence, evidence.lines(tokens, clip), checks)
        score = sum(_passes(answer) for answer in answers)
        if score:
            said = "; ".join(f"{check} {answer}" for check, answer in zip(checks, answers, strict=True))
            passed.append((-score, place, clip, f"{' '.join(f'[#{number}]' for number in clip)} {said}"))
    kept = sorted(passed)[:KEPT]
    chosen = [number for _, _, clip, _ in kept for number in clip] or [k.keyframe_id for k in evidence.keyframes[:KEPT]]
    notes = "\n".join(["Checks:", *(note for _, _, _, note in kept)]) if kept else ""
    return decide(conversation, evidence, evidence.lines(tokens, chosen), notes)


def _checks(conversation: Conversation, evidence: Evidence) -> list[str]:
    text = conversation.prompt("subqueries", count=MAX_CHECKS, question=evidence.query.text)
    schema = _list_of_text("checks")

    def check(value: dict[str, Any]) -> list[str]:
        found = [" ".join(item.split()) for item in value["checks"] if isinstance(item, str) and item.strip()]
        if not found:
            raise ModelOutputError("'checks' must hold questions")
        return found[:MAX_CHECKS]

    found: list[str] = conversation.ask([{"role": "user", "content": text}], _has_list("checks"), check, schema)
    return found


def _verified(conversation: Conversation, evidence: Evidence, clip: dict[int, str], checks: list[str]) -> list[str]:
    shown = list(clip)[:IMAGES] if conversation.config.show_images else []
    pictures = [image for number in shown if (image := evidence.reader.image(number)) is not None]
    text = conversation.prompt(
        "verify",
        pictures=", and as it looks" if pictures else "",
        clip="\n".join(clip.values()),
        checks="\n".join(f"{i}. {check}" for i, check in enumerate(checks, start=1)),
    )
    content: Any = text
    if pictures:
        urls = ["data:image/jpeg;base64," + base64.b64encode(image).decode() for image in pictures]
        content = [*({"type": "image_url", "image_url": {"url": url}} for url in urls), {"type": "text", "text": text}]

    def check(value: dict[str, Any]) -> list[str]:
        answers = [str(item).strip().lower() for item in value["answers"]]
        return (answers + ["no"] * len(checks))[: len(checks)]

    answers: list[str] = conversation.ask(
        [{"role": "user", "content": content}], _has_list("answers"), check, _list_of_text("answers")
    )
    return answers


def _passes(answer: str) -> bool:
    """Yes, or a number above 0."""
    word = answer.strip(" .!")
    if word.replace(".", "", 1).isdigit():
        return float(word) > 0
    return word.startswith(("yes", "true"))


def _has_list(name: str) -> Any:
    return lambda value: isinstance(value, dict) and isinstance(value.get(name), list)


def _list_of_text(name: str) -> dict[str, Any]:
    items = {"type": "array", "items": {"type": "string"}}
    return {"type": "object", "properties": {name: items}, "required": [name], "additionalProperties": False}
