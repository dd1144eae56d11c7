"""What a question says besides what it asks: politeness, "at any time", "you happened to", "anyone" for a person.

All of it may stand anywhere and changes nothing about the answer, but left where it is it would become part of the
thing that is looked for, which nobody has ever seen.
"""

from __future__ import annotations

import re

TRIP = frozenset(("trip", "drive", "tour", "journey", "run", "ride", "recording", "video", "mission", "patrol"))
_TRIP = (
    r"(?:trip|drive|tour|journey|run|walk|ride|way|route|path|travels?|day|visit|mission|patrol|round|recording|video|"
    r"time here)"
)
_WHOSE = r"(?:your|the|our|my|this|that)"
_PADDING = (
    re.compile(r",?\s*\b(?:please|kindly)\b,?"),
    re.compile(
        r",?\s*\b(?:at|in|during) (?:any|some|one) (?:given )?(?:time|point|moment|stage|part)s?(?: in time)?"
        rf"(?: (?:of|in|during|on|along) {_WHOSE} {_TRIP})?\b,?"
    ),
    re.compile(rf",?\s*\b(?:during|on|along|throughout) {_WHOSE} (?:whole |entire )?{_TRIP}\b,?"),
    re.compile(r"\b(?:happen(?:ed)?|chanced?|managed?|get|got) to (?=(?:see|notice|find|spot|pass|meet|come)\b)"),
    re.compile(r",?\s*\b(?:by any chance|by chance|perhaps|maybe|possibly|at all|so far|until now|up to now)\b,?"),
    re.compile(r"(?<=[a-z])\s+(?:any ?where|some ?where)$"),
)
_BEGIN = rf"(?:at|in) the (?:very )?(?:beginning|start)(?: of {_WHOSE} {_TRIP})?"
_END = rf"(?:at|in) the (?:very )?end(?: of {_WHOSE} {_TRIP})?"
_WHERE_IT_IS = r"(?:location|position|coordinates?)"
_THINK = r"(?:do|would|can|could) (?:you|we) (?:think|say|believe|confirm|guess)(?: that)?"
_TAG = r",? (?:(?:did|do|have|is|was|are|were)(?:n't| not)? (?:you|i|we|there|it|they)|right|correct|yes|no|okay|ok)$"
_SAME_ASKED = (
    (re.compile(rf"^(?:you|i|we) (?:saw|have seen|passed|found|noticed) (.+?){_TAG}"), r"did you see \1"),
    (re.compile(rf"^there (is|are|was|were) (.+?){_TAG}"), r"\1 there \2"),
    (re.compile(r"^is it (?:true|right|correct|the case|possible) that (?:you|i|we) (?:saw|have seen|passed)\b"),
     "did you see"),
    (re.compile(r"\bdid (you|i|we) (?:stay|remain|spend(?: time)?) (?=(?:in|at|on|near|inside)\b)"), r"were \1 "),
    (re.compile(r"\b(?:everyone|everybody)\b"), "the people"),
    (re.compile(rf"^what did (you|i|we) see {_BEGIN}$"), r"what did \1 see first"),
    (re.compile(rf"^what did (you|i|we) see {_END}$"), r"what did \1 see last"),
    (re.compile(rf"^where (?:were|was|are) (you|i|we) {_BEGIN}$|^.*\bback to (?:the )?(?:start|beginning)$"),
     "where did you start"),
    (re.compile(rf"^where (?:were|was|are) (?:you|i|we) {_END}$|^where did (?:you|i|we) (?:end|finish)(?: up)?$"),
     "where are you"),
    (re.compile(r"^what (?:has been|was|were|have been) seen$"), "what did you see"),
    (re.compile(rf"^(?:the )?((?!(?:what|which|where|your|my|current|start|end)\b)[a-z]+) {_WHERE_IT_IS}$"),
     r"where is the \1"),
    (re.compile(r"^(?:(?:tell|give|show) me )?(?:the )?" + _WHERE_IT_IS + " of "), "where is "),
    (re.compile(rf"^{_THINK} there (is|are|was|were)\b"), r"\1 there"),
    (re.compile(rf"^{_THINK} (?:you|i|we) (?:saw|have seen)\b"), "did you see"),
    (re.compile(r"^(?:have|has) (?:you|we|it) got\b|^is it possible to (?:see|find)\b"), "is there"),
    (re.compile(r"^where (?:should|can|could|do|must|would) (?:i|we|you) (?:look|search) for\b"), "where is"),
    (re.compile(r"^(?:how|what) about (?=(?:the|a|an|my|your|our)\b)"), "where is "),
    (re.compile(r"^(what|which|who) (?:came|appeared|was seen|was visible) (?=first|last)"), r"\1 did you see "),
    (re.compile(r"^(?:list|name|enumerate|tell me|show me|give me(?: a list of)?|describe|recall) (?:me )?"
                r"(?:all |every |the )*(?:everything|(?:thing|object|item)s?)"
                r"(?: (?:that )?(?:you|i|we) (?:saw|have seen|remember|know|found))?$"),
     "what did you see"),
    (re.compile(r"^(?:list|name|enumerate) (?:all |every |the )*(?=[a-z])"), "what are the "),
    (re.compile(r"\b(?:kind|sort|type)s? of (?=(?:thing|object|item)s?\b)"), ""),
    (re.compile(r"\b(how many|which|what) (?:different|distinct|various|separate) (?=[a-z])"), r"\1 "),
    (re.compile(r"^(what|who|where|which \w+) else\b"), r"\1"),
    (re.compile(r"\b(?:nobody|no one|no-one)\b"), "no person"),
)  # fmt: skip
"""Wordings that ask the same in other words than the grammar knows."""
_ANYONE = re.compile(r"\b(?:anyone|anybody|someone|somebody)\b(?: else\b)?(?!')")
_IS_THERE = re.compile(r"^(is|was)(?= a person\b)")
_STILL = re.compile(r"(?<!stand )(?<!standing )(?<!stood )(?<!be )\bstill\b(?! (?:life|image|picture|photo|water)s?\b)")
_STILL_THERE = re.compile(r"\s*\bstill (?:there|here|around|present|in (?:its|the same) place)$")


def without_padding(text: str) -> str:
    """A question, lower-case, without what changes nothing about its answer."""
    for pattern in _PADDING:
        text = pattern.sub(" ", text)
    text = text.strip(" ,")
    for pattern, same in _SAME_ASKED:
        text = pattern.sub(same, text)
    text = _ANYONE.sub("a person", text)
    return _IS_THERE.sub(r"\1 there", " ".join(text.split())).strip(" ,")


def without_still(text: str) -> tuple[bool, str]:
    """-> (whether it is asked if something is as it was, the question without that)."""
    if not _STILL.search(text):
        return False, text
    return True, " ".join(_STILL.sub(" ", _STILL_THERE.sub("", text)).split())
