"""A question in plain language to a ``Query``, without a model.

The grammar is small and closed: wrappers ("can you tell me"), a question word that gives the kind, the asker's and the
robot's auxiliaries ("did you see"), then the target. What it does not know stays in the target, where text similarity
deals with it, so that no wording makes a question fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval import forms, grammar
from vlkng_ros.retrieval.amounts import ANY, Bounds, bounds_of, leading, occasions_of, others_of
from vlkng_ros.retrieval.asked import asked_of
from vlkng_ros.retrieval.beyond import beyond
from vlkng_ros.retrieval.comparing import (
    Change,
    Comparison,
    Most,
    Together,
    change_of,
    comparison_of,
    interval_of,
    most_of,
    together_of,
)
from vlkng_ros.retrieval.grammar import Superlative
from vlkng_ros.retrieval.lasting import Lasting, at_a_time, lasting_of
from vlkng_ros.retrieval.motion_phrases import Motion, MotionKind, find_motion
from vlkng_ros.retrieval.padding import without_still
from vlkng_ros.retrieval.recurring import Recurring, recurring_of
from vlkng_ros.retrieval.sentence import asks, asks_several, normalised, unwrapped
from vlkng_ros.retrieval.targets import Relation, phrase_of, related, relation_of
from vlkng_ros.retrieval.time_phrases import TimePhrase, find_time_phrases
from vlkng_ros.types import AnswerKind


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
    amount: Bounds = ANY
    """How many there must be ("over 5 tables" is 6 at least)."""
    motion: Motion | None = None
    present: bool = False
    """Asks about the moment of asking ("are you", "how long have you been", "right now")."""
    now: bool = False
    """Asks what is in view at the moment of asking."""
    definite: bool = False
    """Says "the", "that", "your": takes for granted that there is such a thing."""
    factive: bool = False
    """Takes for granted that it was seen ("where did you see")."""
    times_asked: bool = False
    """Counts occasions ("how many times"), not things."""
    attribute: str = ""
    """``color``, ``side``, ``direction``, ``number`` or one of ``asked``'s where one is asked of the target."""
    verb: str = ""
    """What the target does with what is asked for ("what was the man holding")."""
    choices: tuple[str, ...] = ()
    """The alternatives of an "or" question; ``target`` is what all of them are said of, if anything."""
    open: bool = False
    """Asks which things there are ("what is on the table", "what is nearest to me"): it has no target."""
    negated: bool = False
    """Asks whether there is none."""
    times: tuple[TimePhrase, ...] = field(default=())
    apart_from: str = ""
    """A second thing, where its distance to the target is asked."""
    unit: str = ""
    """What a distance is asked in ("feet"); empty for metres."""
    reach_m: float = 0.0
    """How near, or far, it is asked to be ("within 5 meters of the door"); 0 where no length is named."""
    compared: Comparison | None = None
    """Two things of which it is asked whether, or of which, there were more; there is no target."""
    most: Most | None = None
    """Asks where there are most of the target, or it is most often; without a target what there is most often."""
    together: Together | None = None
    """Asks for all ``parts`` at once."""
    change: Change | None = None
    """Asks what has become of the target; without one, of anything."""
    described: str = ""
    """What the target is asked to look like ("is the cat red"); the target says it, too."""
    parts: tuple[str, ...] = ()
    """The things of a target that is several ("the cat and the dog")."""
    order: str = ""
    """``after`` or ``before`` where it is asked if the target was seen so, seen from ``than``; ``until`` where it is
    asked how long after the first of ``parts`` the second was seen."""
    than: str = ""
    still: bool = False
    """Asks whether it is still as it was."""
    people: bool = False
    """Asks for persons ("who did you see")."""
    every: Recurring | None = None
    """A time that comes again: asks whether it is so every time, or at how many of them."""
    lasting: Lasting | None = None
    """Asks whether it lasted so long."""
    longest: bool = False
    """Asks how long it lasted at a time, not altogether."""
    beyond: str = ""
    """Why no memory can answer it."""
    unclear: bool = False
    """The target holds words that name no thing: not all of the question was understood."""
    several: bool = False
    """More than one question was asked; this is the last."""
    bare: bool = False
    """Words alone, which nothing marks as a question in English."""
    names: frozenset[str] = frozenset()
    """Stems of words written as names ("the Bill and Melinda Gates building"): captions hardly ever know them, so
    that is not held against a thing that stands there."""


def parse(text: str) -> Query:
    """What a question asks for.

    Raises:
        QuestionError: the text holds no letter or digit, or is longer than ``MAX_CHARACTERS``.
    """
    asked, quoted = normalised(text)
    every, asked = recurring_of(asked)
    times, rest = find_time_phrases(asked)
    said = unwrapped(rest)
    still, body = without_still(forms.positive(said))
    if compared := _comparing(text, body, times):
        return compared
    most, body = most_of(body)
    out_of_reach = beyond(said) or beyond(body)
    bare = not (asks(body) or grammar.NEED.search(body) or grammar.FAR.search(body) or _LATE.search(body))
    negated = grammar.NONE_OF.search(body) is not None
    body = re.sub(r"\bno\s+", "any ", body, count=1) if negated else body
    kind, body, requested = _kind(body)
    body = "" if not requested and forms.asks_where_not(body, kind) else body
    longest, body = at_a_time(body) if kind is AnswerKind.DURATION else (False, body)
    lasting, body = lasting_of(body) if kind is AnswerKind.BINARY and every is None else (None, body)
    present = bool(grammar.NOW.search(asked) or grammar.PRESENT.search(asked))
    times_asked = bool(grammar.TIMES.search(body)) if kind is AnswerKind.COUNT else False
    body = grammar.TIMES.sub("", body) if times_asked else body
    attribute, body, verb = _attribute(body, kind)
    apart_from, unit = "", ""
    if attribute == "distance":
        body, unit = forms.unit_of(body)
        body, other = forms.pair_of(body)
        apart_from = phrase_of(other, AnswerKind.POSITION, requested=True)
        if not apart_from and grammar.APART.search(asked):
            apart_from = phrase_of(body, AnswerKind.POSITION, requested=True)  # "how far apart are the two chairs"
    thing, described = forms.said_of(body) if kind is AnswerKind.BINARY else ("", "")
    body = f"is the {described} {thing}" if described else body
    reach_m, body = forms.reach_of(body) if attribute != "distance" else (0.0, body)
    together, body = together_of(body, kind)
    body = grammar.NEAREST_THING.sub(r"\1 close to ", body)
    superlative, ordinal, body = _superlative(body)
    motion, body = find_motion(body, kind)
    order, than = "", ""
    if kind is AnswerKind.BINARY and motion is None:
        body, order, than = forms.order_of(body)
    excluded, body = _excluded(body)
    choices, body = forms.choices_of(body, kind)
    counts = kind in (AnswerKind.BINARY, AnswerKind.TEXT) and motion is None
    amount, body = occasions_of(body, exactly=kind is AnswerKind.TEXT) if counts else (ANY, body)
    times_asked = times_asked or amount != ANY
    is_open, relation = _open(body, kind, superlative) if motion is None or motion.leaves_target else (False, None)
    people = is_open and re.match(r"^who", body) is not None
    if is_open:
        body = ""
    amount, body = (amount, body) if times_asked else bounds_of(body)
    if kind is AnswerKind.BINARY and amount == ANY and motion is None:
        amount, body = others_of(body)
    phrase = phrase_of(body, kind, requested)
    if kind is AnswerKind.BINARY and amount == ANY:
        least, phrase = leading(phrase)
        amount = Bounds(least)
    parts = forms.parts_of(phrase, kind, at_once=together is not None) if motion is None and not quoted else ()
    target, relation = ("", relation) if is_open else (phrase, None) if parts else related(phrase)
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
        amount=amount,
        motion=motion,
        present=present,
        now=kind in (AnswerKind.BINARY, AnswerKind.COUNT) and bool(grammar.IN_VIEW_NOW.search(asked)),
        definite=bool(grammar.DEFINITE.search(body)),
        factive=bool(grammar.FACTIVE.search(rest)),
        times_asked=times_asked,
        attribute=attribute,
        verb=verb,
        choices=choices,
        open=is_open,
        negated=negated,
        times=times,
        apart_from=apart_from,
        unit=unit,
        reach_m=reach_m,
        most=most,
        together=together if parts else None,
        described=described,
        parts=parts,
        order=order,
        than=phrase_of(than, kind, requested),
        still=still,
        people=people,
        beyond=out_of_reach,
        every=every,
        lasting=lasting,
        longest=longest,
        unclear=not parts and forms.is_unclear(phrase),
        several=asks_several(text),
        bare=bare and most is None,
        names=frozenset(term for name in grammar.NAME.findall(text) for term in terms(name)),
    )


def _comparing(text: str, said: str, times: tuple[TimePhrase, ...]) -> Query | None:
    """A question that compares numbers, or asks what has changed; None for any other."""
    kind = AnswerKind.BINARY if grammar.AUXILIARY.search(said) else AnswerKind.TEXT
    if compared := comparison_of(said):
        which = kind is AnswerKind.TEXT or re.search(r"\bor\b", said)
        return Query(text.strip(), AnswerKind.TEXT if which else kind, compared=compared, times=times)
    if parts := interval_of(said):
        return Query(text.strip(), AnswerKind.DURATION, parts=parts, order="until", times=times)
    change, thing = change_of(said)
    if change is None:
        return None
    target = phrase_of(thing, AnswerKind.POSITION, requested=True)
    return Query(text.strip(), kind, target, target, change=change, definite=True, times=times)


_BY_QUESTION_WORD = (
    (AnswerKind.TIME, grammar.WHEN),
    (AnswerKind.POSITION, grammar.WHERE),
    (AnswerKind.DURATION, grammar.DURATION),
)


_LATE = re.compile(r"\b(where|when)$")


def _kind(text: str) -> tuple[AnswerKind, str, bool]:
    """-> (kind, what follows the question word, whether it is a request or a bare phrase)."""
    if grammar.AGO_QUESTION.search(text):
        asked = grammar.WHEN.search(text)
        rest = text[asked.end() :] if asked else re.sub(r"^how \w+(?: \w+)?|\bago\b", " ", text)
        return AnswerKind.TIME, rest, False
    for kind, pattern in _BY_QUESTION_WORD:
        if found := pattern.search(text):
            return kind, text[found.end() :], False
    if (found := grammar.REQUEST.search(text)) or (found := grammar.NEED.search(text)):
        return AnswerKind.POSITION, text[found.end() :], True
    if found := grammar.COUNT.search(text):
        return AnswerKind.COUNT, text[found.end() :], False
    if found := grammar.FAR.search(text):
        return AnswerKind.TEXT, f"what is the distance of {text[found.end() :]}", False
    if grammar.WHAT.search(text):
        return AnswerKind.TEXT, text, False
    if grammar.AUXILIARY.search(text):
        either = re.search(r"\bor\b", text) and not re.search(
            r"\bor (?:not|any|some|other|another|anything|"
            r"something)\b",
            text,
        )
        either = either and not grammar.EITHER_THING.search(text)
        return (AnswerKind.TEXT if either else AnswerKind.BINARY), text, False
    # "... where?", "... when?" at the end, else a bare phrase: the robot is asked for the thing's place
    if found := _LATE.search(text):
        return (AnswerKind.POSITION if found[1] == "where" else AnswerKind.TIME), text[: found.start()], False
    return AnswerKind.POSITION, text, True


def _superlative(text: str) -> tuple[Superlative | None, int, str]:
    ordinal = 0
    if found := grammar.ORDINAL_TIME.search(text):
        ordinal = grammar.ORDINALS[found[1] or found[2]]
        text = (text[: found.start()] + " " + text[found.end() :]).strip()
    for superlative, pattern in grammar.SUPERLATIVES:
        if found := pattern.search(text):
            rest = " ".join((text[: found.start()] + " " + text[found.end() :]).split())
            return superlative, ordinal or {Superlative.FIRST: 1, Superlative.LAST: -1}.get(superlative, 0), rest
    return None, ordinal, " ".join(text.split())


def _attribute(text: str, kind: AnswerKind) -> tuple[str, str, str]:
    """-> (the attribute a "what" question asks for, the text without it, what the target does with it)."""
    if kind is AnswerKind.COUNT and (found := grammar.KINDS_OF.search(text)):
        return "kind", text[found.end() :], ""
    if kind is not AnswerKind.TEXT:
        return "", text, ""
    if found := grammar.ATTRIBUTE.search(text):
        name, rest = grammar.ATTRIBUTES.get(found["name"], found["name"]), text[found.end() :]
        return name, grammar.WHERE_ELSE.sub("", rest) if name == "color" else rest, ""
    asked = asked_of(text)
    return asked.attribute, grammar.WHERE_ELSE.sub("", asked.thing or text) if asked.attribute else text, asked.verb


def _open(text: str, kind: AnswerKind, superlative: Superlative | None) -> tuple[bool, Relation | None]:
    """-> (whether it is asked what there is, the relation in which that stands to something)."""
    by_distance = superlative in (Superlative.NEAREST, Superlative.FARTHEST)
    if kind is AnswerKind.POSITION and by_distance and (found := grammar.THING_FROM.search(text)):
        return True, Relation("near", (found["object"],), f"{superlative.value if superlative else ''} to")
    if kind is not AnswerKind.TEXT:
        return False, None
    if grammar.WHICH_THING.search(text):
        return True, None
    if (
        by_distance
        and superlative is not None
        and (to := grammar.TO_THING.search(text))
        and grammar.WHICH_THING.search(text[: to.start()])
    ):
        return True, Relation("near", (grammar.ARTICLE.sub("", to["object"]),), f"{superlative.value} to")
    found = grammar.RELATION.search(text)
    if found and grammar.WHICH_THING.search(text[: found.start()]):
        return True, relation_of(found)
    return False, None


def _excluded(text: str) -> tuple[tuple[str, ...], str]:
    excluded: list[str] = []

    def take(found: re.Match[str]) -> str:
        phrase = next(group for group in found.groups() if group)
        if found.start() == 0:  # "isn't there a ...": the question's own verb, not the target's
            return found.group()
        named = grammar.ONES.sub("", phrase.strip()) or phrase.strip()
        excluded.extend(grammar.ARTICLE.sub("", part) for part in named.split(" and "))
        return " "

    rest = grammar.NEGATION.sub(take, text)
    return tuple(excluded), " ".join(rest.split())
