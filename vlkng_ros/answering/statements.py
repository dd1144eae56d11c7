"""What one sentence of a caption says of a thing: what it wears, does, holds, is made of, and which words it shows.

Captions are plain: "The image shows a man walking on a sidewalk. He is wearing a gray t-shirt and jeans." So a phrase
begins at a verb whose subject is the thing, or a pronoun that stands for it, and ends where the sentence goes on to
something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vlkng_ros.memory.words import COLORS, SIZES, STOP_WORDS, stem, terms, tokens

MATERIALS = {
    "wood": "wood", "wooden": "wood", "metal": "metal", "metallic": "metal", "brick": "brick", "concrete": "concrete",
    "glass": "glass", "stone": "stone", "marble": "marble", "plastic": "plastic", "leather": "leather",
    "fabric": "fabric", "steel": "steel", "asphalt": "asphalt", "granite": "granite", "wicker": "wicker",
    "paper": "paper", "bronze": "bronze", "cardboard": "cardboard", "iron": "iron", "aluminum": "aluminum",
}  # fmt: skip
SHAPES = frozenset(
    """
    round circular square rectangular oval triangular curved cylindrical spherical hexagonal octagonal arched
    """.split()  # noqa: SIM905
)
PEOPLE = frozenset(
    map(stem, "person people man woman guy girl boy child kid student lady worker officer someone".split())  # noqa: SIM905
)
_PRONOUN = re.compile(r"^(?:he|she|they|it|his|her|the (?:person|man|woman|people|individual))\b", re.IGNORECASE)
_GOES_ON = r"(?:walking|holding|carrying|standing|looking|sitting|riding|talking|facing)"
_END = re.compile(
    rf"[.;]|$|,? (?:and|but) (?:there|is|are|was|has|have|had|appears?|seems?|the|walks?|wearing|{_GOES_ON})\b"
    rf"|, (?:which|who|while|with the|suggesting|possibly|as|{_GOES_ON})\b"
    r"| (?:while|which|who|as|that is|that are|suggesting|in front of|on (?:the |a )?(?:sidewalk|street|road|path)"
    r"|in (?:the |a )?(?:hallway|park|background|image)|walking|standing|sitting)\b"
)
_DOING_END = re.compile(
    r"[.;]|$|,? and (?:there|is|are|has|have|appears?|seems?|wearing|the)\b|, (?:which|who|suggesting|possibly)\b"
)
_NOT_DOING = frozenset(
    ("wearing", "being", "having", "including", "suggesting", "showing", "featuring", "building", "ceiling", "parking",
     "clothing", "painting", "railing", "lighting", "crossing", "something", "evening", "morning")
)  # fmt: skip
_WORD_ING = re.compile(r"\b[a-z]+ing\b")
_QUOTE = re.compile(r"[\"“]([^\"”]{1,200})[\"”]")
_READS = re.compile(r"\b(?:reads?|says?|saying|reading|written|words?)\b[:,]? (?:the words? )?([A-Z0-9][\w '&-]{1,60})")
_MADE_OF = re.compile(
    r"\bmade (?:up )?(?:out )?(?:of|from) (?P<what>.+?)(?=[.;,]|$| and (?:has|have|is|are|appears?|there)\b)"
)
_EMPTY = re.compile(r"^(?:onto|it|them|him|her)\b|\b(?:it|them|him|her)$", re.IGNORECASE)
"""What tells nobody anything by itself: "walking on it"."""
ALIKE = {stem(a): b for a, b in (("carry", "holding"), ("hold", "carrying"), ("drink", "holding"), ("eat", "holding"))}
"""What is said in the place of another verb, where that is not said at all."""
NEAR = {
    "near": r"(?:next to|near|beside|by|close to|adjacent to)",
    "on": r"(?:on top of|mounted on|attached to|on)",
    "in": r"(?:inside|in)",
    "under": r"(?:under|underneath|below|beneath)",
}
"""How captions say a relation; the others in the question's words."""
_PUT = (
    r"(?:sitting|standing|hanging|hung|mounted|placed|parked|located|lying|leaning|attached|painted|displayed|written|"
    r"sleeping|resting|waiting|(?:sit|stand|hang|lie|lean|sleep|rest|wait)s?)"
)
_LEAD = re.compile(r"((?:\b(?:an?|the|one|two|three|several|some|another)\s+)?(?:[a-z-]+\s+){0,2})$", re.IGNORECASE)
_NO_LEAD = re.compile(r"^.*\b(?:shows?|is|are|of|and|by|with|in|on)\s+", re.IGNORECASE)
_REST = re.compile(r"\s+(?:and\b|[a-z]+ing and\b|is|are|was|were|who|that|can be seen|seen)\b.*$")
_SOME = r"(?:an?|the|one|two|three|four|several|some|many|a few|a couple of|a number of)"


def about(sentences: list[str], heads: frozenset[str]) -> Iterator[str]:
    """The sentences of a caption that name a thing, with those after one that speak of it by a pronoun."""
    follows = False
    for sentence in sentences:
        named = not heads.isdisjoint(map(stem, tokens(sentence)))
        if named or (follows and _PRONOUN.search(sentence)):
            yield sentence
            follows = True
        else:
            follows = False


def is_of(sentence: str, at: int, heads: frozenset[str]) -> bool:
    """Whether what a sentence says at a place is said of a thing, and not of another person named since."""
    before = [stem(word) for word in tokens(sentence[:at])]
    if heads.isdisjoint(before):
        return _PRONOUN.search(sentence) is not None and heads.isdisjoint(map(stem, tokens(sentence)))
    last = max(place for place, word in enumerate(before) if word in heads)
    return PEOPLE.isdisjoint(before[last + 1 :])


def wearing(sentence: str, heads: frozenset[str]) -> str:
    """What the thing wears."""
    return with_verb(sentence, heads, "wearing") or with_verb(sentence, heads, "dressed in")


def with_verb(sentence: str, heads: frozenset[str], verb: str) -> str:
    """What the thing does something with: of "holding" what it holds."""
    for found in re.finditer(rf"\b{_forms(verb)}\s+(?:at |on |to |with |for )?", sentence, re.IGNORECASE):
        if is_of(sentence, found.start(), heads):
            what = _cut(sentence[found.end() :], _END)
            if what and not _EMPTY.search(what):
                return what
    return ""


def doing(sentence: str, heads: frozenset[str]) -> str:
    """What the thing does."""
    for found in _WORD_ING.finditer(sentence):
        if found.group() not in _NOT_DOING and is_of(sentence, found.start(), heads):
            what = _cut(sentence[found.start() :], _DOING_END)
            return "" if _EMPTY.search(what) else what
    return ""


def says(sentence: str) -> str:
    """The words that are read in a sentence about a sign."""
    if quoted := [text.strip(" .,") for text in _QUOTE.findall(sentence)]:
        return ", ".join(f'"{text}"' for text in dict.fromkeys(quoted) if text)
    found = _READS.search(sentence)
    return found[1].strip() if found else ""


def material(sentence: str, heads: frozenset[str]) -> str:
    """What the thing is made of."""
    found = _MADE_OF.search(sentence)
    if found and is_of(sentence, found.start(), heads):
        return found["what"].strip()
    return next((MATERIALS[word] for word in _before(sentence, heads) if word in MATERIALS), "")


def shape(sentence: str, heads: frozenset[str]) -> str:
    """Its shape or size."""
    found = [word for word in _before(sentence, heads) if word in SHAPES or word in SIZES]
    return found[0] if found else ""


def color(sentence: str, heads: frozenset[str]) -> str:
    """The color that stands nearest before the thing."""
    return next((word for word in _before(sentence, heads) if word in COLORS), "")


def kind(sentence: str, heads: frozenset[str]) -> str:
    """The thing with the words that tell which kind it is."""
    words = tokens(sentence)
    for place, word in enumerate(words):
        if stem(word) in heads:
            told = _qualifiers(words[:place])
            if told:
                return " ".join([*reversed(told), word])
    return ""


def doer(sentence: str, phrase: str) -> str:
    """Who does what a phrase says, where the sentence says all of it."""
    wanted = frozenset(terms(phrase))
    if wanted <= frozenset(terms(sentence)):
        for found in re.finditer(r"[a-z]+", sentence.lower()):
            if stem(found.group()) in wanted and (who := person_before(sentence, found.start())):
                return who
    return ""


def beside(sentence: str, predicate: str, heads: frozenset[str]) -> str:
    """What stands to a thing as a relation says, in a sentence that says so: "a clock hangs on the wall"."""
    said = NEAR.get(predicate, re.escape(predicate))
    lowered = sentence.lower()
    there = re.compile(rf"^{said} (?P<other>(?:[a-z-]+ ){{0,4}}[a-z]+), there (?:is|are) (?P<what>[^,.]+)")
    if (found := there.search(lowered)) and not heads.isdisjoint(map(stem, tokens(found["other"]))):
        return _cut(found["what"], _END)
    placed = re.compile(
        rf"\b(?P<what>{_SOME} (?:[a-z-]+ ){{1,4}}?)(?:(?:that |which )?(?:is|are|can be seen) )?(?:{_PUT} )?"
        rf"{said} (?:(?:the|an?|its|their|one) )?(?P<other>(?:[a-z-]+ ){{0,2}}[a-z]+)"
    )
    for found in placed.finditer(lowered):
        if heads.isdisjoint(map(stem, tokens(found["other"]))):
            continue
        what = found["what"].strip()
        if not any(word in ("image", "side", "background", "is", "are", "and") for word in tokens(what)):
            return what
    return ""


def person_before(sentence: str, at: int) -> str:
    """Who is named last before a place of a sentence, with what is said of them: "a man in a blue shirt"."""
    found = None
    for match in re.finditer(r"\b[a-z]+\b", sentence[:at], re.IGNORECASE):
        if stem(match.group().lower()) in PEOPLE:
            found = match
    if found is None:
        return ""
    before = _LEAD.search(sentence[: found.start()])
    lead = _NO_LEAD.sub("", before[1]) if before else ""
    rest = _REST.sub("", sentence[found.end() : at]).rstrip(" ,")
    return f"{lead}{found.group()}{rest}".strip().lower()


def _forms(verb: str) -> str:
    """A verb in the forms that captions have."""
    if " " in verb:
        return re.escape(verb)
    root = verb.removesuffix("ing")
    doubled = root[:-1] if len(root) > 3 and root[-1] == root[-2] else root
    return rf"(?:{'|'.join(sorted({root, doubled, root + 'e', doubled + 'e'}))})(?:ing|s|es|ed)?"


def _cut(text: str, end: re.Pattern[str]) -> str:
    found = end.search(text)
    return text[: found.start() if found else None].strip(" ,.\"'")


def _before(sentence: str, heads: frozenset[str]) -> list[str]:
    """The few words before the thing, the nearest first."""
    words = tokens(sentence)
    for place, word in enumerate(words):
        if stem(word) in heads and place:
            return words[max(0, place - 4) : place][::-1]
    return []


def _qualifiers(before: list[str]) -> list[str]:
    """Words that say which kind: those that stand right before, the nearest first."""
    told: list[str] = []
    for word in reversed(before[-3:]):
        if word in STOP_WORDS or word in SIZES or word.isdigit():
            break
        told.append(word)
    return told
