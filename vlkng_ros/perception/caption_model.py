"""What captions tell of, by a language model on a server (EgoGraph section 3.1.1), its reply checked like any other.

One request for the captions of a batch. The reply is untrusted: names must be words of the caption they are said to be
of, types and numbers are checked, what is unusable is dropped and counted, and strings stay strings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlkng_ros.chat import ChatClient, find_json, load_prompt
from vlkng_ros.errors import ModelOutputError
from vlkng_ros.perception.caption_graph import MAX_THINGS, Told
from vlkng_ros.perception.labels import clean_label, clean_text
from vlkng_ros.types import Detection, EntityKind, RelationMention

PROMPTS = Path(__file__).parent / "prompts"
MAX_ATTRIBUTES = 8
MAX_TOKENS = 2048
TEMPERATURE = 0.1
"""As the papers build their graphs."""
MAX_ECHO_CHARACTERS = 4000

_TEXT = {"type": "string"}
_NUMBERS = {"type": "array", "items": {"type": "integer", "minimum": 1}}
_KINDS = {kind.value: kind for kind in EntityKind}
_WORD = re.compile(r"\w+")


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


REPLY_SCHEMA: Mapping[str, Any] = _object(
    entities={
        "type": "array",
        "items": _object(
            name=_TEXT,
            type={"type": "string", "enum": sorted(_KINDS)},
            attributes={"type": "object", "additionalProperties": _TEXT},
            captions=_NUMBERS,
        ),
    },
    relations={
        "type": "array",
        "items": _object(subject=_TEXT, predicate=_TEXT, object=_TEXT, captions=_NUMBERS),
    },
)


class CaptionModel:
    """Asks a server; once more, with the reason, where the reply cannot be used."""

    def __init__(self, client: ChatClient, counters: Counter[str], *, prompts_folder: str = "") -> None:
        """Reads the prompts.

        Raises:
            ConfigError: a prompt cannot be read or has unknown placeholders.
        """
        self._client = client
        self._counters = counters
        self._prompt = load_prompt(PROMPTS, "tell_captions", prompts_folder)
        self._repair = load_prompt(PROMPTS, "repair_reply", prompts_folder)
        self._prompt.filled(caption_count=1, captions="")

    def graphs_of(self, captions: Sequence[str], timeout_s: float) -> list[Told]:
        """What each caption tells of, within ``timeout_s`` for each of two requests at most.

        Raises:
            ModelOutputError: two replies could not be used.
            ModelError: the server is away, too slow or refuses.
        """
        lines = "\n".join(f"{number}. {clean_text(caption)}" for number, caption in enumerate(captions, start=1))
        text = self._prompt.filled(caption_count=len(captions), captions=lines)
        messages: list[dict[str, Any]] = [{"role": "user", "content": text}]
        reply = self._ask(messages, timeout_s)
        try:
            return parse_reply(reply, captions, self._counters)
        except ModelOutputError as error:
            self._counters["retried_caption_replies"] += 1
            messages += [
                {"role": "assistant", "content": reply[:MAX_ECHO_CHARACTERS]},
                {"role": "user", "content": self._repair.filled(problem=str(error))},
            ]
        return parse_reply(self._ask(messages, timeout_s), captions, self._counters)

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _ask(self, messages: list[dict[str, Any]], timeout_s: float) -> str:
        reply = self._client.complete(
            messages, timeout_s=timeout_s, temperature=TEMPERATURE, max_tokens=MAX_TOKENS, schema=REPLY_SCHEMA
        )
        return reply.text


def parse_reply(reply: str, captions: Sequence[str], counters: Counter[str]) -> list[Told]:
    """What each caption tells of. ``counters`` grows by ``unusable_told`` and ``untold_names``.

    Raises:
        ModelOutputError: nothing in it is usable; says why.
    """
    value, repaired = find_json(reply, lambda found: isinstance(found, dict) and "entities" in found)
    counters["repaired_caption_replies"] += repaired
    entities, relations = value["entities"], value.get("relations")
    if not isinstance(entities, list):
        raise ModelOutputError('"entities" must be a list')
    things: list[dict[str, Detection]] = [{} for _ in captions]
    for item in entities[: MAX_THINGS * len(captions)]:
        _add_entity(item, captions, things, counters)
    if entities and not any(things):
        raise ModelOutputError('no entity could be used: each needs "name" (words of its caption), "type", "captions"')
    index = [{name: i for i, name in enumerate(named)} for named in things]
    edges: list[dict[RelationMention, None]] = [{} for _ in captions]
    for item in relations[: 2 * MAX_THINGS * len(captions)] if isinstance(relations, list) else []:
        _add_relation(item, index, edges, counters)
    return [Told(tuple(named.values()), tuple(found)) for named, found in zip(things, edges, strict=True)]


def _add_entity(
    item: object, captions: Sequence[str], things: Sequence[dict[str, Detection]], counters: Counter[str]
) -> None:
    fields = item if isinstance(item, dict) else {}
    name = clean_label(_string(fields, "name")).casefold()
    kind = _KINDS.get(_string(fields, "type").casefold())
    numbers = _caption_numbers(fields, len(captions))
    if not name or kind is None or not numbers:
        counters["unusable_told"] += 1
        return
    attributes = fields.get("attributes")
    kept = {
        clean_text(str(key), 40): clean_text(text, 200)
        for key, text in list(attributes.items() if isinstance(attributes, dict) else ())[:MAX_ATTRIBUTES]
        if isinstance(text, str) and text.strip() and str(key).strip()
    }
    for number in numbers:
        caption = captions[number - 1]
        if not _is_told(name, caption):
            counters["untold_names"] += 1
        elif len(things[number - 1]) < MAX_THINGS:
            sentence = clean_text(_sentence_with(name, caption))
            things[number - 1].setdefault(
                name, Detection(name, region_text=sentence, attributes=kept, kind=kind, told=True)
            )


def _add_relation(
    item: object,
    index: Sequence[Mapping[str, int]],
    edges: Sequence[dict[RelationMention, None]],
    counters: Counter[str],
) -> None:
    fields = item if isinstance(item, dict) else {}
    subject, target = (clean_label(_string(fields, key)).casefold() for key in ("subject", "object"))
    predicate = clean_text(_string(fields, "predicate"), 40).casefold().replace("_", " ")
    placed = False
    for number in _caption_numbers(fields, len(index)):
        known = index[number - 1]
        if predicate and subject != target and subject in known and target in known:
            edges[number - 1].setdefault(RelationMention(known[subject], predicate, known[target]))
            placed = True
    counters["unusable_told"] += not placed


def _caption_numbers(fields: Mapping[str, Any], count: int) -> list[int]:
    value = fields.get("captions")
    numbers = value if isinstance(value, list) else [value]
    if count == 1 and value is None:
        return [1]
    found = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= count]
    return list(dict.fromkeys(found))


def _is_told(name: str, caption: str) -> bool:
    """Whether a caption has the name's words, by their stems: what is not in the caption was not seen."""
    said = {_stem(word) for word in _WORD.findall(caption.casefold())}
    stems = [_stem(word) for word in _WORD.findall(name)]
    return bool(stems) and all(
        any(known.startswith(stem) or stem.startswith(known) for known in said) for stem in stems
    )


def _sentence_with(name: str, caption: str) -> str:
    stems = [_stem(word) for word in _WORD.findall(name)]
    sentences = re.split(r"(?<=[.!?]) ", caption)
    return max(sentences, key=lambda sentence: sum(stem in sentence.casefold() for stem in stems))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)]
    return word


def _string(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""
