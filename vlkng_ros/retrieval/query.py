"""A question in plain language to a ``Query``, without a model.

The grammar is small and closed: wrappers ("can you tell me"), a question word that gives the kind, the asker's and the
robot's auxiliaries ("did you see"), then the target. What it does not know stays in the target, where text similarity
deals with it, so that no wording makes a question fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from vlkng_ros.errors import QuestionError
from vlkng_ros.memory.words import NUMBERS
from vlkng_ros.retrieval.motion_phrases import Motion, MotionKind, find_motion
from vlkng_ros.retrieval.time_phrases import TimePhrase, find_time_phrases
from vlkng_ros.types import AnswerKind


class Superlative(str, Enum):
    """Which of several sightings is meant."""

    NEAREST = "nearest"
    FARTHEST = "farthest"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Relation:
    """A second thing that the target stands to: ``predicate`` is one of ``near``, ``between``, ``on``, ``in`` ..."""

    predicate: str
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """What a question asks for.

    ``target`` is the phrase to look for, lower-case, without articles; empty where only a motion, a time or the
    robot itself is asked about. ``whole`` keeps the target with its relation, for dense comparison.
    """

    text: str
    kind: AnswerKind
    target: str = ""
    whole: str = ""
    quoted: tuple[str, ...] = ()
    """Phrases in quotation marks: text that was read, or a name."""
    excluded: tuple[str, ...] = ()
    """What must not be true of the target ("that is not empty")."""
    relation: Relation | None = None
    superlative: Superlative | None = None
    ordinal: int = 0
    """1 for first, 2 for second ...; -1 for last; 0 where none is named."""
    min_count: int = 0
    """Least number of instances at once ("over 5 tables" is 6)."""
    motion: Motion | None = None
    present: bool = False
    """Asks about the moment of asking ("are you", "how long have you been", "right now")."""
    definite: bool = False
    """Says "the", "that", "your": takes for granted that there is such a thing."""
    factive: bool = False
    """Takes for granted that it was seen ("where did you see")."""
    times_asked: bool = False
    """Counts occasions ("how many times"), not things."""
    attribute: str = ""
    """``color``, ``side``, ``direction`` or ``number`` where one is asked of the target."""
    choices: tuple[str, ...] = ()
    """The alternatives of an "or" question."""
    times: tuple[TimePhrase, ...] = field(default=())


_POLITE = re.compile(
    r"^(?:(?:hi|hey|hello|ok|okay|so|well|and|but|please|robot|sorry|excuse me|thanks)\b[\s,.!:]*)+"
    r"|[\s,]*\b(?:please|thanks|thank you|for me)\b(?=[\s,.!?]*$)"
)
_WRAPPER = re.compile(
    r"^(?:(?:can|could|would|will|do|are) (?:you|u) (?:please |kindly |perhaps )?(?:be able to |able to )?)?"
    r"(?:please )?(?:tell me|show me|let me know|remind me|say|know|remember|recall|explain|check|see|find out|figure out)"
    r"(?: to me)?(?: again)?(?: about)?\s+(?=(?:where|when|what|which|who|whose|why|how|if|whether|at what|in which|in what)\b)"
    r"|^(?:i(?:'d| would)? (?:want|like|need) to know|i wonder|i am wondering|i'm wondering|any idea|do you have any idea)\s+"
    r"(?=(?:where|when|what|which|who|why|how|if|whether)\b)"
)
_PLACE_NOUN = r"(?:place|places|location|position|spot|room|area|part|coordinates?|direction)"
_WHERE = re.compile(
    rf"^(?:(?:from |to |near )?where(?:abouts)?(?:'s|s)?|(?:in|at|to|on) (?:what|which) {_PLACE_NOUN}"
    rf"|what (?:is|was|are|were) the (?:location|position|coordinates?|place) (?:of|where|in which|at which)"
    rf"|(?:what|which) (?:location|position|place|spot))\b\s*"
)
_REQUEST = re.compile(
    r"^(?:(?:can|could|would|will|may) (?:you|u|we|i) (?:please |kindly )?|please |i (?:want|need|would like|wish|like) (?:you )?to |"
    r"i'd like (?:you )?to |let'?s |let us )?"
    r"(?:(?:take|bring|guide|lead|drive|navigate|walk|direct|escort|accompany|point|send|carry|get) (?:me|us|him|her|them|it|this)"
    r"(?: back| over| out| there)?(?: the way)? (?:to|towards?|into|at|(?=somewhere|someplace|anywhere))"
    r"|(?:go|drive|navigate|return|head|move|come|travel|get|walk|roll)(?: back| over| again)? (?:to|towards?|into|(?=somewhere|someplace|anywhere))"
    r"|show (?:me|us)(?: the way to)?|find(?: me| us)?|locate|look for|search for|fetch(?: me)?|get (?:me|us)|help me find)\b\s*"
)
_NEED = re.compile(r"^(?:i|we)(?:'m| am| are|'re)? (?:need|want|am looking for|are looking for|looking for|would like|have to find)\b\s*")
_WHEN = re.compile(
    r"^(?:when|(?:at |around |since )?what time|(?:on |at )?what (?:day|date|hour|moment)|how long ago|"
    r"how (?:many|much) (?:seconds|minutes|mins|hours|days|time) ago)\b\s*"
)
_AGO_QUESTION = re.compile(r"^how (?:many|much|long) .*\bago\b")
_DURATION = re.compile(
    r"^(?:for |since )?(?:how long|how much time|how many (?:seconds|secs|minutes|mins|hours|days)|"
    r"what (?:is|was) the duration of)\b\s*"
)
_COUNT = re.compile(r"^(?:how many|count(?: the)?(?: number of)?|what (?:is|was) the (?:number|count) of|(?:the )?number of)\b\s*")
_AUXILIARY = re.compile(
    r"^(?:did|do|does|is|are|was|were|am|has|have|had|can|could|will|would|should|may|might|must|if|whether|"
    r"isn't|aren't|wasn't|weren't|didn't|don't|doesn't|haven't|hasn't|hadn't|can't|couldn't)\b\s*(?:n't\b\s*)?"
)
_WHAT = re.compile(r"^(?:what|which|who|whose|whom|why|how|describe|tell me about|in which|in what|on which|on what)\b")

_SUBJECT = r"(?:you|u|i|we|they|one|the robot|robot|it|he|she|anyone)"
_ADVERB = r"(?:last|first|firstly|lastly|most recently|recently|ever|just|also|already|previously|actually|exactly|still|both|all|again)"
_SEEING = (
    r"(?:see|saw|seen|seeing|find|found|notice|noticed|spot|spotted|observe|observed|encounter|encountered|pass by|passed by|"
    r"pass|passed|come across|came across|meet|met|detect|detected|recognize|recognized|visit|visited|perceive|perceived|"
    r"look at|looked at|view|viewed|witness|witnessed|catch sight of|read|remember|have|get|leave|left|put|drop|dropped|place|placed|park|parked|"
    r"lose|lost)"
)
_LEAD = re.compile(
    rf"^(?:(?:did|do|does|can|could|have|has|had|is|are|was|were|will|would|should|may|might)\s+)?"
    rf"(?:{_ADVERB}\s+)*(?:{_SUBJECT}\s+)?(?:{_ADVERB}\s+)*(?:(?:can|could|have|had|did|do|will|were|was|are|am|been)\s+)?"
    rf"(?:(?:{_ADVERB}\s+)*(?:{_SEEING})\s+)?(?:{_ADVERB}\s+)*"
)
_TRAVEL = re.compile(
    r"^(?:drive|drove|driving|go|went|going|gone|walk|walked|cross|crossed|climb|climbed|ride|travel|travelled|traveled|enter|entered|stop|stopped)"
    r"\s+(?:(?:up|down|on|onto|over|through|across|along|by|past|to|into|in|at|off|out of)\s+)?(?=(?:the|a|an|any|some|that)\b)"
)
_SOMEWHERE = re.compile(
    rf"^(?:{_PLACE_NOUN}|somewhere|someplace|anywhere)\s+(?:(?:where|that|which|in which)\s+)?(?:to\s+|(?:i|you|we|one|people)\s+(?:can|could|may)\s+)"
)
_ASIDE = re.compile(rf"\b(?:did|do|have|could|can|were|are|was|is|am) (?:{_SUBJECT}|there)\b(?:\s+(?:{_SEEING}))?")
_VAGUE = frozenset(("", "object", "objects", "thing", "things", "things are", "objects are", "it", "there", "happened", "been", "for", "see", "is", "are"))
_BE = re.compile(r"^(?:is|are|was|were|be|been|being|'s)\s+(?:there\s+)?")
_TAIL = re.compile(
    r"[\s,]*\b(?:is|are|was|were|be|being)?\s*(?:located|situated|placed|positioned|found|seen|there|here|at|standing|in the image|been|going|go|went|"
    r"right now|now|currently|at the moment|around here|nearby|on your way|on the way|along the way|during the (?:drive|trip|tour|"
    r"route)|in total|altogether|so far|from here)$"
)
_ARTICLE = re.compile(r"^(?:(?:the|a|an|any|some|my|your|our|his|her|their|that|this|those|these|another|each|every|all|of)\s+)+")
_SUPERLATIVES = (
    (Superlative.NEAREST, re.compile(r"\b(?:near+est|clos+est|most nearby)\b(?:\s+to\s+(?:me|us|you|here|my position))?|\bclose to me\b|\bnear(?:by)? (?:me|us|here)\b")),
    (Superlative.FARTHEST, re.compile(r"\b(?:farthest|furthest|most distant)\b(?:\s+(?:away\s+)?from\s+(?:me|us|you|here))?")),
    (Superlative.LAST, re.compile(r"\b(?:most recent(?:ly)?|latest|last(?:ly)?(?! name)|(?:for )?the last time)\b")),
    (Superlative.FIRST, re.compile(r"\b(?:for the first time|earliest|first(?:ly)?(?! (?:aid|floor|class|name|street|avenue)))\b")),
)
_ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5}
_ORDINAL_TIME = re.compile(r"\b(?:for )?the (second|third|fourth|fifth) time\b|\b(second|third|fourth|fifth)(?= (?:turn|stop|time|building))\b")
_NOW = re.compile(r"\b(?:right now|now|currently|at the moment|at this moment|at present)\b")
_COMPARED = re.compile(
    r"\b(?:(over|more than|greater than|above)|(at least|no (?:less|fewer) than|minimum of))\s+(\d+|[a-z]+)\s+(?=[a-z])|\b(\d+) or more\s+"
)
_NEGATION = re.compile(
    r"\b(?:that|which|who)?\s*(?:is|are|was|were|does|do|did|has|have)(?:n't| not)\s+(?:a |an |the |any )?([a-z][a-z \-]*?)(?=$|[,.;]|\band\b|\bbut\b)"
    r"|\b(?:without|excluding|except(?: for)?|other than|not)\s+(?:a |an |the |any )?([a-z][a-z \-]*?)(?=$|[,.;]|\band\b|\bbut\b)"
    r"|\bnon-([a-z]+)"
)
_NEAR = r"(?:next to|close to|beside|besides|adjacent to|alongside|around|by|near(?:by)?|across from|opposite(?: to)?|in front of|behind|in the vicinity of)"
_RELATION = re.compile(
    rf"\s+(?:(?:that|which|who)\s+(?:is|are|was|were)\s+|(?:located|standing|parked|placed|hanging|sitting|lying|leaning|mounted|situated)\s+)?"
    rf"(?P<predicate>{_NEAR}|between|on top of|on|upon|under(?:neath)?|below|above|over|inside(?: of)?|in|within|at|against)\s+(?P<object>.+)$"
)
_WORN = re.compile(
    r"\b(?:shirt|t-shirt|jacket|coat|dress|hat|cap|helmet|shoes?|pants|trousers|jeans|shorts|sweater|hoodie|suit|vest|uniform|skirt|"
    r"glasses|mask|clothes|clothing|red|orange|yellow|green|blue|purple|pink|brown|black|white|gr[ae]y)\b"
)
_PREDICATES = {
    "next to": "near", "close to": "near", "beside": "near", "besides": "near", "adjacent to": "near", "alongside": "near",
    "around": "near", "by": "near", "near": "near", "nearby": "near", "in the vicinity of": "near", "at": "near",
    "opposite": "opposite", "opposite to": "opposite", "across from": "opposite", "on top of": "on", "upon": "on",
    "underneath": "under", "below": "under", "inside": "in", "inside of": "in", "within": "in",
}  # fmt: skip
_FACTIVE = re.compile(rf"\b(?:did|have) {_SUBJECT}\s+(?:{_ADVERB}\s+)*{_SEEING}\b|\b{_SUBJECT} (?:saw|found|noticed|passed)\b")
_PRESENT = re.compile(r"^(?:are|am|is) (?:you|i|we|the robot|it)\b|\bhave (?:you|i|we) been\b|\bhas the robot been\b")
_TIMES = re.compile(r"^\s*(?:different\s+)?times\b\s*")
_DEFINITE = re.compile(r"\b(?:the|that|this|those|these|my|your|our|its|his|her)\s+[a-z]")
_ATTRIBUTE = re.compile(
    r"^(?:what|which)(?:'s|s| is| was| are| were)?\s+(?:the\s+)?(?P<name>colou?rs?|side|direction|way|number)\b\s*(?:of\s+)?"
)
_ATTRIBUTES = {"color": "color", "colour": "color", "colors": "color", "colours": "color", "way": "direction"}
_CHOICE = re.compile(r"\b([a-z][a-z ]*?)\s+or\s+(?:was it |were you |did you |is it |are you )?([a-z][a-z ]*?)$")
_QUOTED = re.compile(r'"([^"]{1,200})"')
_WH_AUX = re.compile(
    rf"^(?:what|which|who|whose|whom|how)(?:'s)?\b\s*(?:is|are|was|were|did|do|does|has|have|had|can|could)?\s*(?:{_SUBJECT}\s+)?(?:{_SEEING}\s+)?"
)


def parse(text: str) -> Query:
    """What a question asks for.

    Raises:
        QuestionError: the text holds no letter or digit.
    """
    asked, quoted = _normalised(text)
    times, rest = find_time_phrases(asked)
    body = _unwrapped(rest)
    kind, body, requested = _kind(body)
    present = bool(_NOW.search(asked) or _PRESENT.search(asked))
    times_asked = bool(_TIMES.search(body)) if kind is AnswerKind.COUNT else False
    body = _TIMES.sub("", body) if times_asked else body
    attribute, body = _attribute(body, kind)
    superlative, ordinal, body = _superlative(body)
    motion, body = find_motion(body, kind)
    choices = _choices(body, kind)
    min_count, body = _min_count(body)
    excluded, body = _excluded(body)
    phrase = _phrase(body, kind, requested)
    target, relation = _related(phrase)
    if motion is not None and motion.kind is not MotionKind.AT_PLACE and not motion.leaves_target:
        target, relation, phrase = "", None, ""
    return Query(
        text=text.strip(),
        kind=kind,
        target=target,
        whole=phrase,
        quoted=quoted,
        excluded=excluded,
        relation=relation,
        superlative=superlative,
        ordinal=ordinal,
        min_count=min_count,
        motion=motion,
        present=present,
        definite=bool(_DEFINITE.search(body)),
        factive=bool(_FACTIVE.search(rest)),
        times_asked=times_asked,
        attribute=attribute,
        choices=choices,
        times=times,
    )


def _normalised(text: str) -> tuple[str, tuple[str, ...]]:
    for odd, plain in (("“", '"'), ("”", '"'), ("„", '"'), ("«", '"'), ("»", '"'), ("’", "'"), ("‘", "'"), ("`", "'"),
                       ("？", "?"), ("！", "!"), ("，", ","), ("。", "."), ("…", " "), ("–", "-"), ("—", "-")):  # fmt: skip
        text = text.replace(odd, plain)
    lowered = " ".join(text.lower().split())
    if not re.search(r"\w", lowered):
        raise QuestionError("the question is empty: ask something like 'Where is the fire extinguisher?'")
    quoted = tuple(" ".join(q.split()) for q in _QUOTED.findall(lowered) if re.search(r"\w", q))
    asked = re.sub(r"[\"\[\]{}<>*#~|\\^_=]+", " ", lowered)
    asked = re.sub(r"[?!.;,:\s]+$", "", " ".join(asked.split()))
    # a greeting or remark before the question itself: keep the sentence that asks
    parts = [part.strip() for part in re.split(r"(?<=[?!.])\s+(?=[a-z])", asked) if part.strip()]
    asking = [part for part in parts if _asks(part)]
    chosen = asking[-1] if len(parts) > 1 and asking else asked
    before, comma, after = chosen.partition(", ")
    if comma and not _asks(_unwrapped(before)) and _asks(_unwrapped(after)):
        chosen = after
    return re.sub(r"[?!.;,:\s]+$", "", chosen), quoted


def _asks(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_WHERE, _WHEN, _WHAT, _AUXILIARY, _REQUEST, _COUNT, _DURATION))


def _unwrapped(text: str) -> str:
    before = ""
    while text != before:
        before = text
        text = _WRAPPER.sub("", _POLITE.sub("", text).strip(" ,")).strip(" ,")
    return text


def _kind(text: str) -> tuple[AnswerKind, str, bool]:
    """-> (kind, what follows the question word, whether it is a request or a bare phrase)."""
    if _AGO_QUESTION.search(text):
        return AnswerKind.TIME, _WHEN.sub("", text) if _WHEN.search(text) else re.sub(r"^how \w+(?: \w+)?|\bago\b", " ", text), False
    for kind, pattern in ((AnswerKind.TIME, _WHEN), (AnswerKind.POSITION, _WHERE), (AnswerKind.DURATION, _DURATION)):
        if found := pattern.search(text):
            return kind, text[found.end() :], False
    if (found := _REQUEST.search(text)) or (found := _NEED.search(text)):
        return AnswerKind.POSITION, text[found.end() :], True
    if found := _COUNT.search(text):
        return AnswerKind.COUNT, text[found.end() :], False
    if _WHAT.search(text):
        return AnswerKind.TEXT, text, False
    if _AUXILIARY.search(text):
        either = re.search(r"\bor\b", text) and not re.search(r"\bor (?:not|any|some|other|another|anything|something)\b", text)
        return (AnswerKind.TEXT if either else AnswerKind.BINARY), text, False
    # "... where?", "... when?" at the end, else a bare phrase: the robot is asked for the thing's place
    if found := re.search(r"\b(where|when)$", text):
        return (AnswerKind.POSITION if found[1] == "where" else AnswerKind.TIME), text[: found.start()], False
    return AnswerKind.POSITION, text, True


def _superlative(text: str) -> tuple[Superlative | None, int, str]:
    ordinal = 0
    if found := _ORDINAL_TIME.search(text):
        ordinal = _ORDINALS[found[1] or found[2]]
        text = (text[: found.start()] + " " + text[found.end() :]).strip()
    for superlative, pattern in _SUPERLATIVES:
        if found := pattern.search(text):
            rest = " ".join((text[: found.start()] + " " + text[found.end() :]).split())
            return superlative, ordinal or {Superlative.FIRST: 1, Superlative.LAST: -1}.get(superlative, 0), rest
    return None, ordinal, " ".join(text.split())


def _attribute(text: str, kind: AnswerKind) -> tuple[str, str]:
    """-> (the attribute a "what" question asks for, the text without it)."""
    found = _ATTRIBUTE.search(text) if kind is AnswerKind.TEXT else None
    if found is None:
        return "", text
    name = _ATTRIBUTES.get(found["name"], found["name"])
    return name, text[found.end() :]


def _choices(text: str, kind: AnswerKind) -> tuple[str, ...]:
    if kind is not AnswerKind.TEXT or not (found := _CHOICE.search(text)):
        return ()
    left, right = found[1].split(), found[2].split()
    width = min(len(left), len(right))
    return (" ".join(left[-width:]), " ".join(right))


def _min_count(text: str) -> tuple[int, str]:
    found = _COMPARED.search(text)
    if not found:
        return 0, text
    word = found[3] or found[4]
    number = int(word) if word.isdigit() else NUMBERS.get(word, 0)
    if not number:
        return 0, text
    return number + (1 if found[1] else 0), text[: found.start()] + text[found.end() :]


def _excluded(text: str) -> tuple[tuple[str, ...], str]:
    excluded: list[str] = []

    def take(found: re.Match[str]) -> str:
        phrase = next(group for group in found.groups() if group)
        if found.start() == 0:  # "isn't there a ...": the question's own verb, not the target's
            return found.group()
        excluded.append(phrase.strip())
        return " "

    rest = _NEGATION.sub(take, text)
    return tuple(excluded), " ".join(rest.split())


def _phrase(text: str, kind: AnswerKind, requested: bool) -> str:
    """The target with its relation: the question less its grammar."""
    allowed = kind is AnswerKind.BINARY and re.match(r"(?:can|could|may|should)\b", text) is not None
    if kind is AnswerKind.TEXT:
        text = _WH_AUX.sub("", text)
    elif not requested:
        text = _BE.sub("", text)
    before = ""
    while text != before:
        before = text
        text = _LEAD.sub("", text)
        text = _BE.sub("", text)
        text = text if kind is AnswerKind.TEXT or allowed else _TRAVEL.sub("", text)
        text = _SOMEWHERE.sub("", text)
        text = re.sub(r"^(?:(?:if|whether)(?:\s+there\s+(?:is|are|was|were))?|use|buy|grab)\s+", "", text)
        text = _TAIL.sub("", text)
        text = re.sub(r"^(?:to|of|for|at|in|on|into|where|with)\s+", "", text)
        text = _ARTICLE.sub("", text).strip(" ,'-")
    if kind in (AnswerKind.TEXT, AnswerKind.COUNT) and (aside := _ASIDE.search(text)):
        text = _TAIL.sub("", " ".join((text[: aside.start()] + " " + text[aside.end() :]).split())).strip()
        text = re.sub(r"\s+(?:go(?: through)?|going|enter|driving|walking|drive|walk|on|doing)$", "", text)
        text = re.sub(r"\s+(?:go(?: through)?|going|enter|driving|walking|drive|walk|on|doing)$", "", text)
    return "" if text in _VAGUE else text


def _related(phrase: str) -> tuple[str, Relation | None]:
    """Splits "the bin near the stairs" in two; "with" and "of" stay, for they describe the thing itself."""
    found = _RELATION.search(f" {phrase}")
    if not found:
        return phrase, None
    if found.start() == 0:
        return _ARTICLE.sub("", found["object"].strip()), None
    target = phrase[: found.start() - 1].strip()
    if not target:
        return phrase, None
    if found["predicate"] == "in" and _WORN.search(found["object"]):
        return phrase, None
    if target in _VAGUE:
        return _ARTICLE.sub("", found["object"].strip()), None
    said = " ".join(found["predicate"].split())
    objects = re.split(r"\s+and\s+", found["object"]) if said == "between" else [found["object"]]
    names = tuple(_ARTICLE.sub("", part.strip()) for part in objects if part.strip())
    return target, Relation(_PREDICATES.get(said, said), names)
