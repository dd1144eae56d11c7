"""What a caption tells of, by rules: persons, locations, objects and events, and how they hang together.

EgoGraph's schema (Table 1) and Vgent's clip entities (subjects, actions, scenes) without a language model: TextBlob's
tagger, which brings its own lexicon, names the parts of speech; noun phrases are things, verbs that someone does are
events with their subject, object and location, and prepositions between things are relations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from vlkng_ros.perception import caption_words as words
from vlkng_ros.perception.labels import PERSON_WORDS, clean_text
from vlkng_ros.perception.tagger import Tag, singular, tagged
from vlkng_ros.types import Detection, EntityKind, RelationMention

MAX_THINGS = 32
"""Of one caption: a model that repeats itself must not fill the memory."""
TAKES_PART, INVOLVES, TAKES_PLACE = "takes part in", "involves", "takes place at"
"""Edges between an event and its subject, object and location."""

_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
_BEFORE_NOUN = frozenset({"DT", "PDT", "CD", "JJ", "JJR", "JJS", "PRP$"})
_WITHIN = _BEFORE_NOUN | {"RB", "POS", "VBN", "VBG"}
_DIRECTIONS = frozenset(
    {"down", "up", "along", "past", "through", "toward", "towards", "across", "into", "out", "around"}
)
_RELATIVE = frozenset({"who", "that", "which"})
_VOWELS = frozenset("aeiou")


@dataclass(frozen=True, slots=True)
class Told:
    """What a caption tells of; ``relations`` are by index in ``things``."""

    things: tuple[Detection, ...] = ()
    relations: tuple[RelationMention, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of words: a ``thing``, a ``verb``, a ``prep``, or a ``break`` between clauses."""

    kind: str
    text: str
    label: str = ""
    head: str = ""
    before: tuple[str, ...] = ()
    finite: bool = True
    denied: bool = False


@dataclass(slots=True)
class _Graph:
    """Grows by a sentence at a time; a thing that a caption names twice is one."""

    things: list[Detection] = field(default_factory=list)
    relations: dict[RelationMention, None] = field(default_factory=dict)

    def add(self, thing: Detection) -> int | None:
        for number, known in enumerate(self.things):
            if (known.label, known.kind) == (thing.label, thing.kind):
                return number
        if len(self.things) >= MAX_THINGS:
            return None
        self.things.append(thing)
        return len(self.things) - 1

    def relate(self, subject: int | None, predicate: str, target: int | None) -> None:
        if subject is not None and target is not None and subject != target:
            self.relations.setdefault(RelationMention(subject, predicate, target))


def graph_of(caption: str) -> Told:
    """Things, events and relations that a caption names; nothing where TextBlob is not installed."""
    graph = _Graph()
    for sentence in _SENTENCE_END.split(" ".join(caption.split())):
        tags = tagged(sentence)
        if tags:
            _read(_parts(_mended(tags)), clean_text(sentence), graph)
    return Told(tuple(graph.things), tuple(graph.relations))


# ------------------------------------------------------------------------------------------------ words to parts


def _mended(tags: Sequence[Tag]) -> list[Tag]:
    """Verbs that the tagger took for nouns: "a man rides a bicycle", "sits at a desk, typing"."""
    mended: list[Tag] = []
    for i, (word, tag) in enumerate(tags):
        before = mended[-1] if mended else ("", "")
        after = tags[i + 1] if i + 1 < len(tags) else ("", "")
        if tag == "NNS" and before[1] in ("NN", "NNP") and (after[1] == "DT" or after[0] in _DIRECTIONS):
            tag = "VBZ"
        elif tag == "NN" and word.endswith("ing") and word not in words.NOUNS_IN_ING and before[1] in (",", "CC"):
            tag = "VBG"
        mended.append((word, tag))
    return mended


def _parts(tags: Sequence[Tag]) -> list[_Part]:
    parts: list[_Part] = []
    denied = False
    i = 0
    while i < len(tags):
        word, tag = tags[i]
        if word.casefold() in words.NO:
            denied = True
        end = _thing_end(tags, i)
        if end is not None:
            parts.append(_thing(tags[i:end], denied))
        elif tag.startswith("VB") or tag == "MD":
            end = i
            while end < len(tags) and _goes_on(tags, end):
                denied = denied or tags[end][0].casefold() in words.NO
                end += 1
            verbs = [item for item in tags[i:end] if item[1].startswith("VB")] or [tags[i]]
            # A lone participle belongs to the thing before it, a verb with its auxiliary to the clause's subject.
            finite = len(verbs) > 1 or verbs[-1][1] not in ("VBG", "VBN")
            parts.append(_Part("verb", verbs[-1][0].casefold(), verbs[-1][1], finite=finite, denied=denied))
        elif tag in ("IN", "TO") or (tag == "RB" and word in _DIRECTIONS):
            parts.append(_Part("prep", word.casefold()))
            end = i + 1
        else:
            if tag in (",", ".", ":") or tag.startswith("W"):
                denied = False
            if tag not in ("RB", "CC"):
                parts.append(_Part("break", word))
            elif tag == "CC":
                parts.append(_Part("and", word))
            end = i + 1
        i = end
    return _compound_prepositions(parts)


def _goes_on(tags: Sequence[Tag], i: int) -> bool:
    """Whether a verb with its auxiliaries and adverbs goes on; "down" in "drives down a corridor" is a preposition."""
    word, tag = tags[i]
    leads = word in _DIRECTIONS and i + 1 < len(tags) and tags[i + 1][1] in _BEFORE_NOUN
    return tag.startswith("VB") or tag == "MD" or (tag == "RB" and not leads)


def _thing_end(tags: Sequence[Tag], start: int) -> int | None:
    """Where the noun phrase that starts here ends; None where none starts."""
    i, noun = start, None
    while i < len(tags):
        tag = tags[i][1]
        if tag.startswith("NN"):
            noun = i + 1
        elif (noun is not None and tag != "POS") or tag not in (_WITHIN if i > start else _BEFORE_NOUN):
            break
        i += 1
    return noun


def _thing(tags: Sequence[Tag], denied: bool) -> _Part:
    nouns: list[str] = []
    for word, tag in reversed(tags):
        if not tag.startswith("NN") or len(nouns) == 3:
            break
        nouns.insert(0, _singular(word.casefold()) if tag == "NNS" and not nouns else word.casefold())
    before = tuple(word.casefold() for word, _ in tags[: len(tags) - len(nouns)])
    if nouns == ["lot"] and before[-1:] == ("parking",):
        nouns, before = ["parking", "lot"], before[:-1]
    label = " ".join(nouns)
    text = " ".join(word for word, _ in tags)
    return _Part("thing", text, label, nouns[-1], (*before, *nouns[:-1]), denied=denied or "no" in before)


def _compound_prepositions(parts: Sequence[_Part]) -> list[_Part]:
    """One preposition of "in front of" and "next to"."""
    merged: list[_Part] = []
    for part in parts:
        if part.kind == "prep" and merged:
            if merged[-1].kind == "prep":
                merged[-1] = _Part("prep", f"{merged[-1].text} {part.text}")
                continue
            if part.text == "of" and len(merged) > 1 and merged[-1].head in words.SPATIAL and merged[-2].kind == "prep":
                inner = merged.pop()
                merged[-1] = _Part("prep", f"{merged[-1].text} {inner.text.casefold()} of")
                continue
        merged.append(part)
    return merged


# ------------------------------------------------------------------------------------------------ parts to a graph


def _read(parts: Sequence[_Part], sentence: str, graph: _Graph) -> None:
    numbers: dict[int, int | None] = {}
    for i, part in enumerate(parts):
        if part.kind == "thing" and not part.denied and _is_findable(part):
            numbers[i] = graph.add(_detection(part, sentence))
    for i, part in enumerate(parts):
        if part.kind == "verb" and not part.denied:
            _read_verb(parts, i, numbers, sentence, graph)
        elif part.kind == "prep" and i > 0 and parts[i - 1].kind == "thing" and not _done_to(parts, i - 1):
            graph.relate(numbers.get(i - 1), part.text, numbers.get(i + 1))


def _is_findable(part: _Part) -> bool:
    return part.label == words.LOT or part.head not in words.FRAME | words.NOT_PLACES


def _detection(part: _Part, sentence: str) -> Detection:
    attributes = {
        name: value
        for name, known in words.ATTRIBUTES.items()
        if (value := ", ".join(word for word in dict.fromkeys(part.before) if word in known))
    }
    return Detection(part.label, region_text=sentence, attributes=attributes, kind=_kind(part), told=True)


def _kind(part: _Part) -> EntityKind:
    if part.head in PERSON_WORDS:
        return EntityKind.PERSON
    return EntityKind.LOCATION if part.head in words.PLACES or part.label == words.LOT else EntityKind.OBJECT


def _read_verb(parts: Sequence[_Part], at: int, numbers: dict[int, int | None], sentence: str, graph: _Graph) -> None:
    """An event of someone who does something; of things that only are somewhere, a relation."""
    verb = parts[at]
    subject = _subject(parts, at, numbers)
    if subject is None:
        return
    rest = [i for i in (at + 1, at + 2) if i < len(parts)]
    if not rest:
        target, preposition = None, ""
    elif parts[rest[0]].kind == "prep":
        preposition, target = parts[rest[0]].text, rest[-1] if len(rest) == 2 else None
    else:
        preposition, target = "", rest[0]
    if target is not None and parts[target].kind != "thing":
        target = None
    lemma = _lemma(verb)
    if verb.label == "VBN" or lemma in words.STATIVE or not _acts(parts[subject]):
        if verb.label == "VBN" and preposition and target is not None:
            graph.relate(numbers.get(subject), f"{verb.text} {preposition}", numbers.get(target))
        elif lemma == "wear" and not preposition and target is not None:
            graph.relate(numbers.get(subject), "wearing", numbers.get(target))
        return
    direct = target if not preposition else None
    place = target if preposition else None
    if direct is not None and direct + 2 < len(parts) and parts[direct + 1].kind == "prep":
        place = direct + 2 if parts[direct + 2].kind == "thing" else None
    named = {"subject": subject, "object": direct, "location": place}
    known = {name: i for name, i in named.items() if i is not None and numbers.get(i) is not None}
    label = " ".join([_gerund(verb), *([parts[known["object"]].label] if "object" in known else [])])
    event = graph.add(
        Detection(
            label,
            region_text=sentence,
            attributes={name: parts[i].label for name, i in known.items()},
            kind=EntityKind.EVENT,
            told=True,
        )
    )
    graph.relate(numbers.get(subject), TAKES_PART, event)
    if "object" in known:
        graph.relate(event, INVOLVES, numbers[known["object"]])
    if "location" in known:
        graph.relate(event, TAKES_PLACE, numbers[known["location"]])


def _subject(parts: Sequence[_Part], at: int, numbers: dict[int, int | None]) -> int | None:
    """The thing that a verb is said of: before it, past what hangs on prepositions and past objects of other verbs."""
    whose = False
    for i in range(at - 1, -1, -1):
        part, before = parts[i], parts[i - 1].kind if i > 0 else ""
        if part.kind == "break":
            whose = whose or part.text.casefold() in _RELATIVE
            # "a person sits at a desk, typing": a participle after a comma is still of the clause's subject.
            if not whose and (parts[at].finite or part.text != ","):
                return None
        is_doer = whose or (not parts[at].finite and _acts(part)) or before not in ("prep", "verb")
        if part.kind == "thing" and numbers.get(i) is not None and is_doer:
            return i
    return None


def _done_to(parts: Sequence[_Part], at: int) -> bool:
    """Whether a thing is the object of an action: what follows then says where that happens."""
    return at > 0 and parts[at - 1].kind == "verb" and _lemma(parts[at - 1]) not in words.STATIVE


def _acts(part: _Part) -> bool:
    return part.head in PERSON_WORDS or part.head in words.MOVERS


def _singular(word: str) -> str:
    if word in words.PLURALS:
        return words.PLURALS[word]
    if word.endswith("ss") or len(word) < 4:
        return word
    return singular(word)


def _lemma(verb: _Part) -> str:
    word = verb.text
    if verb.label == "VBG" and word.endswith("ing"):
        stem = word[:-3]
        return next((lemma for lemma in (stem, f"{stem}e", stem[:-1]) if lemma in words.STATIVE), stem)
    if verb.label == "VBZ" and word.endswith("s"):
        return {"is": "be", "has": "have", "does": "do"}.get(word, word[:-1])
    return {"are": "be", "was": "be", "were": "be", "had": "have"}.get(word, word)


def _gerund(verb: _Part) -> str:
    """One name for what is done, whatever the tense: of "rides" it is "riding"."""
    if verb.label == "VBG":
        return verb.text
    stem = verb.text
    if verb.label == "VBZ":
        stem = stem[:-2] if stem.endswith(("shes", "ches", "sses", "xes")) else stem[:-1]
    if stem.endswith("ie"):
        return f"{stem[:-2]}ying"
    if stem.endswith("e") and not stem.endswith(("ee", "ye", "oe")):
        return f"{stem[:-1]}ing"
    if len(stem) in (3, 4) and stem[-1] not in _VOWELS | set("wxy") and stem[-2] in _VOWELS and stem[-3] not in _VOWELS:
        return f"{stem}{stem[-1]}ing"
    return f"{stem}ing"
