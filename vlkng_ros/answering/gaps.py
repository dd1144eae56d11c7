"""What was never described cannot be denied: how sure "I have not seen ..." is where frames have no description.

Frames wait for theirs while a model is away or after a salvage, which may find a part of it only; some fail for good.
Of frames that are kept in summary only it is not known any more.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.wording import clock
from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval.retriever import Scene
from vlkng_ros.types import Answer, AnswerKind

LOOKED_AT = 256
"""Frames of a question's time, evenly spread, whose state is looked up: of more the share is an estimate."""
WORTH_SAYING = 0.02
"""The newest frames of a drive nearly always wait for the model, and nobody wants to hear of it each time."""


def with_gaps(answer: Answer, draft: Draft, scene: Scene, reader: MemoryReader) -> Answer:
    """The answer, less sure where it denies what frames of its time that are not described may show, and saying so."""
    if not len(scene) or not _denies(draft):
        return answer
    at = np.unique(np.linspace(0, len(scene) - 1, min(LOOKED_AT, len(scene))).astype(np.intp))
    share = reader.undescribed(scene.keyframe_ids[at].tolist()) / len(at)
    until_ns = reader.summarised_until_ns
    summarised = 0.0 if until_ns is None else float(np.mean(scene.stamps_ns[at] <= until_ns))
    if not share and not summarised:
        return answer
    answer = dataclasses.replace(answer, confidence=answer.confidence * max(0.0, 1.0 - share - summarised))
    notices = []
    if share >= WORTH_SAYING:
        notices.append(_notice(share, len(scene), exact=len(at) == len(scene)))
    if until_ns is not None and summarised >= WORTH_SAYING:
        notices.append(only_summary(until_ns))
    if not notices:
        return answer
    told = " ".join(notices)
    message = f"{answer.message.rstrip('.')}. {told}" if answer.message else ""
    return dataclasses.replace(answer, text=f"{answer.text} {told}", message=message)


def only_summary(until_ns: int) -> str:
    """That what was seen up to a time is not known in full."""
    return f"Of what was seen up to {clock(until_ns)} only a summary is kept."


def _denies(draft: Draft) -> bool:
    if draft.events:
        return False
    if draft.value is None:
        return bool(draft.thing)
    if draft.kind is AnswerKind.BINARY:
        return draft.value is draft.denied
    return draft.kind is AnswerKind.COUNT and draft.value == 0 and bool(draft.thing)


def _notice(share: float, frames: int, *, exact: bool) -> str:
    if share == 1.0:
        return "Nothing that was recorded then is described yet."
    count = round(share * frames)
    which = f"{count} of {frames}" if exact else f"about {count} of {frames}"
    return f"But {which} frames recorded then are not wholly described, and may show it."
