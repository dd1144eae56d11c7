"""``agent``: a language model that searches the memory itself, with EmbodiedLGR's tools and two for the graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vlkng_ros.answering.context import described, within_budget
from vlkng_ros.answering.language_model import Conversation, Evidence
from vlkng_ros.answering.model_reply import Decision, checked, is_final, schema_for, value_hint
from vlkng_ros.errors import ModelOutputError, NotInMemoryError
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import parse
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.types import NS_PER_S

FRAMES_A_CALL = 5
MAX_RELATIONS = 10
TOKENS_A_CALL = 600
TOOLS = {
    "search_label": {"text": "string"},
    "search_position": {"x": "number", "y": "number", "radius": "number"},
    "search_time": {"from_s": "number", "to_s": "number"},
    "search_relation": {"entity": "string"},
    "get_entity": {"entity": "string"},
}
"""What each tool takes, by JSON type."""


class Agent:
    """A tool loop of at most ``max_steps`` calls over one scene.

    Args:
        retriever: the memory's index.
        finder: what ``search_label`` uses.
        scene: all that the question may see.
        evidence: the question, and the view whose entities the tools name.
    """

    def __init__(self, retriever: Retriever, finder: Finder, scene: Scene, evidence: Evidence) -> None:
        self._retriever = retriever
        self._finder = finder
        self._scene = scene
        self._evidence = evidence
        self.shown: set[int] = set()
        """Keyframes that a tool has shown: only they can be cited."""

    def run(self, conversation: Conversation) -> Decision:
        """The model's answer.

        Raises:
            ModelError: no usable reply in time, or no answer within the steps.
        """
        evidence = self._evidence
        x, y, _ = evidence.asker_m
        text = conversation.prompt(
            "agent",
            steps=conversation.config.max_steps,
            now=evidence.now,
            asker=f"x={x:.1f} y={y:.1f}",
            value=value_hint(evidence.query.kind),
            question=evidence.query.text,
        )
        messages: list[dict[str, Any]] = [{"role": "user", "content": text}]
        schema = {"anyOf": [*(_call(tool, fields) for tool, fields in TOOLS.items()), schema_for(evidence.query.kind)]}
        for _ in range(conversation.config.max_steps):
            step = conversation.ask(messages, _is_step, self._step, schema)
            if isinstance(step, Decision):
                return step
            messages.append({"role": "user", "content": step})
        raise ModelOutputError(f"no answer within {conversation.config.max_steps} tool calls")

    def _step(self, value: dict[str, Any]) -> Decision | str:
        if is_final(value):
            return checked(value, self._evidence.query.kind, self.shown)
        name = str(value.get("tool"))
        if name not in TOOLS:
            raise ModelOutputError(f"there is no tool '{name}'; there are {', '.join(TOOLS)}")
        found: str = getattr(self, f"_{name}")(value)
        return found

    def _search_label(self, call: dict[str, Any]) -> str:
        text = call.get("text")
        if not isinstance(text, str) or not any(c.isalnum() for c in text):
            raise ModelOutputError("search_label needs 'text'")
        found = self._finder.find(parse(f"Where is the {text}?"), self._scene, self._evidence.asker_m)
        return self._show(found.peaks.frames.tolist())

    def _search_position(self, call: dict[str, Any]) -> str:
        x, y, radius = (_number(call, name) for name in ("x", "y", "radius"))
        apart = np.hypot(self._scene.positions_m[:, 0] - x, self._scene.positions_m[:, 1] - y)
        near = np.flatnonzero(apart <= radius)
        return self._show(near[np.argsort(apart[near], kind="stable")].tolist())

    def _search_time(self, call: dict[str, Any]) -> str:
        since, until = (_number(call, name) for name in ("from_s", "to_s"))
        ago = (self._evidence.as_of_ns - self._scene.stamps_ns) / NS_PER_S
        frames = np.flatnonzero((ago <= max(since, until)) & (ago >= min(since, until)))
        picked = frames[np.linspace(0, len(frames) - 1, min(len(frames), FRAMES_A_CALL)).astype(int)]
        return self._show(picked.tolist())

    def _get_entity(self, call: dict[str, Any]) -> str:
        evidence = self._evidence
        try:
            entity = evidence.reader.entity(evidence.view, str(call.get("entity")), evidence.as_of_ns)
        except NotInMemoryError as error:
            return str(error)
        x, y, _ = entity.position.mean_m
        where = f"{entity.entity_id}: {entity.label} at x={x:.1f} y={y:.1f}, {entity.state.value}, seen in"
        frames = [evidence.reader.keyframe(entity.last_keyframe_id).stamp_ns, entity.first_seen_ns]
        places = np.searchsorted(self._scene.stamps_ns, sorted(set(frames)))
        return f"{where}\n{self._show([int(p) for p in places if p < len(self._scene)])}"

    def _search_relation(self, call: dict[str, Any]) -> str:
        evidence = self._evidence
        try:
            found = evidence.reader.relations(evidence.view, str(call.get("entity")), evidence.as_of_ns)
        except NotInMemoryError as error:
            return str(error)
        lines = [f"{r.subject_id} {r.predicate} {r.object_id}" for r in found[:MAX_RELATIONS]]
        return "\n".join(lines) or "nothing"

    def _show(self, frames: list[int]) -> str:
        evidence = self._evidence
        ids = [int(self._scene.keyframe_ids[frame]) for frame in frames[:FRAMES_A_CALL]]
        keyframes = evidence.reader.keyframes(ids) if ids else []
        lines = [described(evidence.reader, keyframe, evidence.oldest_ns, evidence.view) for keyframe in keyframes]
        kept = within_budget(lines, TOKENS_A_CALL)
        self.shown.update(ids[: len(kept)])
        return "\n".join(kept) or "nothing"


def _call(tool: str, fields: dict[str, str]) -> dict[str, Any]:
    """JSON schema of a tool call."""
    properties = {"tool": {"const": tool}, **{name: {"type": kind} for name, kind in fields.items()}}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _is_step(value: Any) -> bool:
    return is_final(value) or (isinstance(value, dict) and "tool" in value)


def _number(call: dict[str, Any], name: str) -> float:
    value = call.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ModelOutputError(f"{call.get('tool')} needs a number '{name}'")
    return float(value)
