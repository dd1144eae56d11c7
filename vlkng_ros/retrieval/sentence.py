"""The sentence that asks, out of what a person says: lower-case, without slips, greetings and politeness."""

from __future__ import annotations

import re

from vlkng_ros.errors import QuestionError
from vlkng_ros.retrieval import grammar
from vlkng_ros.retrieval.padding import without_padding
from vlkng_ros.retrieval.referring import resolved
from vlkng_ros.retrieval.rewording import reworded

_PLAIN = str.maketrans("“”„«»’‘`？！，。…–—", '"""""\'\'\'?!,. --')
"""Typographic and full-width punctuation as plain ASCII."""
MAX_CHARACTERS = 2_000
"""Of a question: more is a mistake, and would be repeated in the answer."""
_ASKING = (
    grammar.WHERE,
    grammar.WHEN,
    grammar.WHAT,
    grammar.AUXILIARY,
    grammar.REQUEST,
    grammar.COUNT,
    grammar.DURATION,
)
_CIRCUMSTANCE = re.compile(
    r"^(?:(?:between|in|on|at|near|next to|beside|behind|in front of|under|above|inside|around|opposite|to the (?:left|"
    r"right) of|from)\b|(?:when|while|after|before|once|as) (?:you|i|we)\b|(?:before|after|during)\b)"
)
"""What a question may begin with although it ends with it: "between the cup and the cat, what did you see"."""
_END = re.compile(r"[?!.;,:\s]+$")


def normalised(text: str) -> tuple[str, tuple[str, ...]]:
    """-> (the sentence that asks, what stands in quotation marks).

    Raises:
        QuestionError: the text holds no letter or digit, or is longer than ``MAX_CHARACTERS``.
    """
    if len(text) > MAX_CHARACTERS:
        raise QuestionError(f"the question has {len(text)} characters, and at most {MAX_CHARACTERS} are read")
    text = text.translate(_PLAIN)
    lowered = " ".join(grammar.TYPOS.get(word, word) for word in text.lower().split())
    for slip, meant in grammar.STARTS:
        lowered = slip.sub(meant, lowered)
    if not re.search(r"\w", lowered):
        found = "holds no words" if lowered else "is empty"
        raise QuestionError(f"the question {found}: ask something like 'Where is the fire extinguisher?'")
    quoted = tuple(" ".join(q.split()) for q in grammar.QUOTED.findall(lowered) if re.search(r"\w", q))
    asked = re.sub(r"[\"\[\]{}<>*#~|\\^_=]+", " ", lowered)
    asked = reworded(without_padding(_END.sub("", " ".join(asked.split()).replace(" - ", ", "))))
    # a greeting or remark before the question itself: keep the sentence that asks
    parts = [part.strip() for part in re.split(r"(?<=[?!.])\s+(?=[a-z])", asked) if part.strip()]
    asking = [part for part in parts if asks(part)]
    if len(parts) > 1 and grammar.GO_WHERE.search(parts[-1]) and parts[-2].startswith(("is there ", "are there ")):
        asking = [re.sub(r"^(?:is|are) there (?:any |some )?", "where is ", re.sub(r"[?!.]+$", "", parts[-2]))]
    chosen = asked
    if len(parts) > 1 and (asking or grammar.THERE.search(_END.sub("", parts[-1]))):
        last = parts[-1] if grammar.THERE.search(_END.sub("", parts[-1])) else asking[-1]
        chosen = resolved(_END.sub("", last), parts[: parts.index(last)]) if last in parts else last
    said = unwrapped(_END.sub("", _turned(chosen)))
    return (said if said == asked else reworded(said)), quoted


def _turned(text: str) -> str:
    """A sentence whose question comes after a comma, with the question first; a remark before it is left out."""
    before, comma, after = text.partition(", ")
    if comma and grammar.THERE.search(_END.sub("", after)):
        return f"take me to {before}"
    if comma and grammar.GO_WHERE.search(_END.sub("", after)) and not asks(unwrapped(before)):
        return f"i need {re.sub(r'^i(?: am|.m| have to| must) ', '', before)}"
    if not comma or not asks(unwrapped(after)):
        return text
    if _CIRCUMSTANCE.search(before) and "," not in after:
        return f"{unwrapped(_END.sub('', after))} {before}"
    if asks(unwrapped(before)):
        return text
    about = grammar.ITSELF.search(_END.sub("", after))
    return f"{about['asks']} {before}" if about else reworded(unwrapped(after))


def asks_several(text: str) -> bool:
    """Whether there are several questions, and the last is none about what one before it names."""
    parts = [unwrapped(part.strip(" ?")) for part in re.split(r"\?+\s+", text.lower().translate(_PLAIN))]
    return sum(map(asks, parts)) > 1 and grammar.REFERS.search(parts[-1]) is None


def asks(text: str) -> bool:
    """Whether a text begins as questions and requests do."""
    return any(pattern.search(text) for pattern in _ASKING)


def unwrapped(text: str) -> str:
    """A question without what people wrap it in: "hello, can you tell me"."""
    before = ""
    while text != before:
        before = text
        text = grammar.WRAPPER.sub("", grammar.POLITE.sub("", text).strip(" ,")).strip(" ,")
    return text
