"""Answerers with a language model: ``llm`` in one shot, ``agent`` with tools, ``structured`` by divide and verify.

A model re-ranks what was retrieved and words the answer; positions and times stay those of the frame it names. A reply
that cannot be used is asked for once more; then, or when time is up, the caller keeps the extractive answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vlkng_ros.answering.context import described, within_budget
from vlkng_ros.answering.model_reply import Decision, checked, is_final, schema_for, times_in, value_hint
from vlkng_ros.chat import Chat, ChatClient, find_json, load_prompt
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ConfigError, ModelOutputError, ModelUnavailableError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.stamps import stamp
from vlkng_ros.types import Keyframe, Vec3

PROMPTS = Path(__file__).parent / "prompts"
REPAIRS = 1
"""Times that an unusable reply is asked for again."""
FIRST_WORD_S = 120.0
"""A server may have to load the model first."""
NOTES_SHARE = 0.5
"""Of the budget of tokens, where a preset tells more than frames."""
CITE_TIMES = 'In "answer" name the time of every event you rely on, as [DAYd HH:MM:SS]. '
"""EgoGraph's prompt requires it (section 3.2)."""


def require_name(config: RetrievalConfig) -> None:
    """Make sure that a language model is named.

    Raises:
        ConfigError: none is.
    """
    if not config.model:
        why = "retrieval.rewrite is on" if config.rewrite else f"retrieval.answerer is '{config.answerer}'"
        raise ConfigError(f"{why} and retrieval.model is empty; set it to the name the server knows the model by")


def open_chat(config: RetrievalConfig) -> Chat:
    """The configured language model: on a server, or without an address in this process.

    Raises:
        ConfigError: no model is named.
        ModelError: the server's address cannot be used, or the model cannot be loaded.
    """
    require_name(config)
    if not config.server_url:
        from vlkng_ros.answering.local_model import LocalModel

        return LocalModel(config.model)
    return ChatClient(config.server_url, config.model, api_key_env=config.api_key_env, attempts=2)


def require_answer(chat: Chat) -> None:
    """Ask one word of a model, before work begins that is worth nothing without it.

    Raises:
        ModelError: it does not answer; the message says where and why.
    """
    # What it says does not matter.
    with suppress(ModelOutputError):
        chat.complete([{"role": "user", "content": "Hello"}], timeout_s=FIRST_WORD_S, temperature=0.0, max_tokens=1)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answerer may tell the model: frames best first, the view that names their entities, and when "now" is."""

    reader: MemoryReader
    query: Query
    keyframes: tuple[Keyframe, ...]
    view: str
    as_of_ns: int
    oldest_ns: int
    asker_m: Vec3
    notes: tuple[str, ...] = ()
    """What the preset tells beside the frames, most important first."""
    clips: Mapping[int, int] = field(default_factory=dict)
    """Clip of each keyframe id, for answerers that look at clips."""
    asks_clips: bool = False
    """Whether the model is asked clip by clip."""
    cites_times: bool = False
    """Whether the answer must name the times of what it rests on."""

    @property
    def now(self) -> str:
        """The moment of asking, as frames are stamped."""
        return stamp(self.as_of_ns, self.oldest_ns)

    def by_clip(self) -> list[list[int]]:
        """The frames by clip, the clip of the best one first; frames of no clip stand alone."""
        clips: dict[int, list[int]] = {}
        for keyframe in self.keyframes:
            number = keyframe.keyframe_id
            clips.setdefault(self.clips.get(number, -number), []).append(number)
        return list(clips.values())

    def told(self, tokens: int) -> list[str]:
        """The notes, as many as fit into their share of a budget."""
        return within_budget(self.notes, round(tokens * NOTES_SHARE)) if self.notes else []

    def lines(self, tokens: int, keyframe_ids: Sequence[int] | None = None) -> dict[int, str]:
        """Descriptions by keyframe id, best first, as many as fit; notes take their share before.

        Args:
            tokens: the budget.
            keyframe_ids: those that are told, in this order; None for all.
        """
        tokens -= round(tokens * NOTES_SHARE) if self.notes else 0
        known = {keyframe.keyframe_id: keyframe for keyframe in self.keyframes}
        told = [known[number] for number in (known if keyframe_ids is None else keyframe_ids)]
        lines = [described(self.reader, keyframe, self.oldest_ns, self.view) for keyframe in told]
        kept = within_budget(lines, tokens)
        return {k.keyframe_id: line for k, line in zip(told, kept, strict=False)}


class Conversation:
    """A model with a deadline for all of its calls, and one repair for each.

    Args:
        chat: the model.
        config: temperature, tokens, time-out, folder of prompts.
        clock: monotonic seconds; injected by tests.
    """

    def __init__(self, chat: Chat, config: RetrievalConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self.chat = chat
        self.config = config
        self._clock = clock
        self._deadline = clock() + config.timeout_s

    def prompt(self, name: str, **values: object) -> str:
        """A prompt file, filled in."""
        return load_prompt(PROMPTS, name, self.config.prompts).filled(**values)

    def ask(
        self,
        messages: list[dict[str, Any]],
        accept: Callable[[Any], bool],
        check: Callable[[Any], Any],
        schema: Mapping[str, Any] | None = None,
    ) -> Any:
        """What ``check`` makes of the reply's JSON; the exchange is appended to ``messages``.

        Raises:
            ModelOutputError: the reply could not be used, and neither could the repaired one.
            ModelUnavailableError: time is up, or the server is away.
        """
        for attempt in range(REPAIRS + 1):
            left_s = self._deadline - self._clock()
            if left_s <= 0:
                raise ModelUnavailableError(f"the language model took longer than {self.config.timeout_s:g} s")
            reply = self.chat.complete(
                messages,
                timeout_s=left_s,
                temperature=self.config.temperature,
                max_tokens=self.config.max_tokens,
                schema=schema,
            )
            messages.append({"role": "assistant", "content": reply.text})
            try:
                return check(find_json(reply.text, accept)[0])
            except ModelOutputError as error:
                if attempt == REPAIRS:
                    raise
                messages.append({"role": "user", "content": self.prompt("repair_answer", reason=error)})
        raise ModelOutputError("no reply")  # not reached: the last attempt returns or raises


def one_shot(conversation: Conversation, evidence: Evidence) -> Decision:
    """``llm``: the serialized subgraph and the question, a ranked and cited answer back (VL-KnG step 3).

    Raises:
        ModelError: no usable reply in time.
    """
    tokens = conversation.config.context_tokens
    if not evidence.asks_clips:
        return decide(conversation, evidence, evidence.lines(tokens))
    decision = Decision(False, (), None, "")
    for clip in evidence.by_clip():
        decision = decide(conversation, evidence, evidence.lines(tokens, clip))
        if decision.found:
            break
    return decision


def decide(conversation: Conversation, evidence: Evidence, lines: Mapping[int, str], notes: str = "") -> Decision:
    """The final answer over some frames, with notes on them before the question."""
    kind = evidence.query.kind
    told = evidence.told(conversation.config.context_tokens)
    graph = ["Graph:", *told] if told else []
    text = conversation.prompt(
        "answer",
        now=evidence.now,
        frames="\n".join([*lines.values(), *graph, notes]).strip() or "(none)",
        question=evidence.query.text,
        value=value_hint(kind),
        cite=CITE_TIMES if evidence.cites_times else "",
    )
    messages = [{"role": "user", "content": text}]
    shown = times_in(" ".join([*lines.values(), *told])) if evidence.cites_times else None
    decision: Decision = conversation.ask(
        messages, is_final, lambda value: checked(value, kind, lines.keys(), shown), schema_for(kind, lines.keys())
    )
    return decision
