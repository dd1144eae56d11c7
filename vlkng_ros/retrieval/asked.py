"""What a "what" question asks of a thing: what a woman wears, what a sign says, what came after it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vlkng_ros.retrieval import grammar

_BE = r"(?:is|are|was|were)"
_DO = r"(?:does|did|do)"
_THING = r"(?P<thing>(?:the(?! robot)|an?|that|this|those|these|his|her|their|people|someone|somebody|everyone)\b.*?)"
"""Not "you" and "the robot": what that does itself is found on its track."""
_WITHIN = r"(?:at|on|in|to|with|for|of)"
_DOES = r"(?P<verb>carry|hold|ride|push|pull|wear|drink|eat|read|use|drive|open|sell|play)"

_FORMS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("says", rf"^what (?:{_DO}|(?:{_BE}|'s)) (?P<thing>.+?) (?:say|says|read|reads|tell|saying|reading)$"),
        ("says", rf"^what(?:'s| {_BE}) (?:written|printed|painted) (?:on|upon|across|over|above) (?P<thing>.+)$"),
        (
            "says",
            rf"^(?:what|which) (?:words?|text|writing|letters?|message|inscription|name) {_BE} (?:there )?"
            r"(?:(?:written|printed|shown) )?on (?P<thing>.+)$",
        ),
        ("material", rf"^what(?:'s| {_BE}) (?P<thing>.+?) made (?:out )?(?:of|from)$"),
        ("material", rf"^(?:what|which) material {_BE} (?P<thing>.+?)(?: made (?:out )?of)?$"),
        ("shape", rf"^(?:what|which) shape {_BE} (?P<thing>.+)$"),
        ("shape", rf"^what(?:'s| {_BE}) the shape of (?P<thing>.+)$"),
        ("shape", rf"^what(?:'s| {_BE}) the size of (?P<thing>.+)$"),
        ("shape", rf"^how (?:big|large|tall|long|wide|small) {_BE} (?P<thing>.+)$"),
        (
            "kind",
            r"^(?:what|which) (?:kind|type|sort|style)s? of (?P<thing>[a-z -]+?)"
            rf"(?: (?:{_BE}|{_DO}|have|has|had|can|could)\b(?P<rest>.*))?$",
        ),
        ("look", rf"^(?:what|how) {_DO} (?P<thing>.+?) look(?: like)?$"),
        ("look", rf"^what(?:'s| {_BE}) (?P<thing>.+?) like$"),
        (
            "look",
            r"^(?:describe|tell me about|what can you (?:tell|say) (?:me )?about|what do you (?:know|remember|recall)"
            r"(?: about| of)?) (?P<thing>(?:the(?! robot)|an?|that) .+?)"
            rf"(?: (?:that |who |which )?{grammar.SUBJECT} {grammar.SEEING})?$",
        ),
        ("doing", rf"^what(?:'s| {_BE}) {_THING} doing(?: (?P<rest>.*))?$"),
        ("object", rf"^what(?:'s| {_BE}) {_THING} (?P<verb>(?!building|ceiling|parking)[a-z]+ing)(?: {_WITHIN})?$"),
        ("object", rf"^what {_DO} {_THING} {_DOES}(?: {_WITHIN})?$"),
        ("who", rf"^who(?:'s| {_BE})? (?P<thing>(?:[a-z]+(?:ing|ed)|rode|had|held|wore|sat|stood|with)\b.*)$"),
    )
)
_SAW = re.compile(rf"^\s*(?:there|it|that|{grammar.SUBJECT}\b(?: {grammar.SEEING})?)\b")
_AFTER = re.compile(
    r"^what (?:happened|was there|came|comes|is|was|(?:did|do) (?:you|i|we) (?:see|notice|find|pass|do|encounter|"
    r"come across))(?: (?:next|right|just|directly|shortly|immediately))? (?P<way>after|before) "
    r"(?:(?:you|i|we) (?:had |have )?(?:see|saw|seen|pass|passed|found|noticed|met|encountered|visited)(?: by)? "
    r"|(?:seeing|passing|finding|visiting)(?: by)? )?(?P<thing>(?:the(?! robot)|an?|that|this|any|some) .+)$"
)


@dataclass(frozen=True, slots=True)
class AskedOf:
    """What is asked, of what thing; ``verb`` is what the thing does with what is asked for."""

    attribute: str = ""
    thing: str = ""
    verb: str = ""


def asked_of(text: str) -> AskedOf:
    """What a question asks of a thing; empty where it asks for nothing that is known here.

    Args:
        text: the question, lower-case, from its question word on.
    """
    if found := _AFTER.search(text):
        return AskedOf(found["way"], found["thing"])
    for name, pattern in _FORMS:
        if found := pattern.search(text):
            said = found.groupdict()
            if said.get("verb") in ("wear", "wearing"):
                return AskedOf("wearing", said["thing"])
            where = _SAW.sub("", said.get("rest") or "")
            return AskedOf(name, f"{said['thing']} {where.strip()}".strip(), said.get("verb") or "")
    return AskedOf()
