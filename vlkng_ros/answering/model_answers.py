"""A language model's decision in the place of the extractive one, and the way back when it fails."""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass

from vlkng_ros.answering.agent import Agent
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.language_model import Conversation, Evidence, one_shot, open_chat
from vlkng_ros.answering.model_reply import Decision
from vlkng_ros.answering.structured import divide_and_verify
from vlkng_ros.chat import Chat
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ModelError
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.types import AnswerKind, Vec3

EXTRACTIVE = "extractive"
MODEL_CONFIDENCE = 0.7
"""Of an answer that a model found in frames which the rules were less sure of."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what the rules make of it."""

    retriever: Retriever
    finder: Finder
    query: Query
    scene: Scene
    draft: Draft
    as_of_ns: int
    asker_m: Vec3


@dataclass(frozen=True, slots=True)
class Worked:
    """A decision and who made it; ``note`` says why it is not the language model's."""

    draft: Draft
    answerer: str = EXTRACTIVE
    text: str = ""
    cited: frozenset[int] = frozenset()
    note: str = ""


class ModelAnswers:
    """Answers by the configured language model.

    Raises:
        ConfigError: no model is named.
        ModelError: the server's address cannot be used, httpx is not installed, or a local model cannot be loaded.
    """

    def __init__(self, config: RetrievalConfig, chat: Chat | None) -> None:
        self._chat = chat if chat is not None else open_chat(config)
        self._config = config

    def work(self, asked: Asked) -> Worked:
        """The model's decision, or the rules' with a note where it fails or is too slow."""
        conversation = Conversation(self._chat, self._config)
        try:
            decision = self._decision(conversation, asked)
        except ModelError as error:
            _log.warning("answered without the language model: %s", error)
            return Worked(asked.draft, note=f"answered without the language model: {error}")
        return Worked(_draft(asked, decision), self._config.answerer, decision.answer, frozenset(decision.frames))

    def _decision(self, conversation: Conversation, asked: Asked) -> Decision:
        ranked = asked.finder.candidates(asked.query, asked.scene, list(dict(asked.draft.frames)))
        frames = [int(asked.scene.keyframe_ids[frame]) for frame in ranked]
        reader = asked.retriever.reader
        evidence = Evidence(
            reader,
            asked.query,
            tuple(reader.keyframes(frames)),
            asked.finder.in_view,
            asked.as_of_ns,
            int(reader.frames().stamps_ns[0]),
            asked.asker_m,
            tuple(asked.finder.context(asked.query, asked.scene)),
            _clips(asked, frames),
            asked.finder.asks_clips,
            asked.finder.cites_times,
        )
        if self._config.answerer == "agent":
            return Agent(asked.retriever, asked.finder, asked.scene, evidence).run(conversation)
        if self._config.answerer == "structured":
            return divide_and_verify(conversation, evidence)
        return one_shot(conversation, evidence)


def _clips(asked: Asked, keyframe_ids: list[int]) -> dict[int, int]:
    index = asked.retriever.index
    places = {number: index.frame_of(number) for number in keyframe_ids}
    return {number: place // asked.finder.clip_frames for number, place in places.items() if place is not None}


def _draft(asked: Asked, decision: Decision) -> Draft:
    """A decision as a draft: cited frames first, then what the rules had ranked."""
    scene, draft = asked.scene, asked.draft
    cited: list[int] = []
    for keyframe_id in decision.frames:
        frame = asked.retriever.index.frame_of(keyframe_id)
        if frame is not None and scene.cut.first <= frame < scene.cut.last:
            cited.append(frame - scene.cut.first)
    rest = [(frame, score) for frame, score in draft.frames if frame not in cited]
    best = max((score for _, score in draft.frames), default=1.0) or 1.0
    frames = (*((frame, best) for frame in cited), *rest)
    if not decision.found and draft.kind is not AnswerKind.BINARY:
        return Draft(draft.kind, None, MODEL_CONFIDENCE, draft.frames, thing=asked.query.target)
    value = decision.value
    if draft.kind is AnswerKind.POSITION:
        value = cited[0] if cited else None
    elif draft.kind is AnswerKind.TIME:
        value = int(scene.stamps_ns[cited[0]]) if cited else None
    return dataclasses.replace(
        draft, value=value, frames=frames, confidence=max(draft.confidence, MODEL_CONFIDENCE), thing=asked.query.target
    )
