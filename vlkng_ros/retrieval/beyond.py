"""What a memory of things seen cannot tell, however it is asked: reasons, the future, the way from one to another."""

from __future__ import annotations

import re

_CANNOT = (
    (re.compile(r"^how (?:far|much) (?:did|have|has|had) (?:you|i|we|the robot) "
                r"(?:drive|driven|travel\w*|go|gone|move\w*|walk\w*|come)\b"),
     "I do not add up how far I went"),
    (re.compile(r"^(?:who|what|how old|how tall|how heavy) are you(?: called| made of)?$"
                r"|^how (?:are|do) you(?: feel(?:ing)?| do(?:ing)?)?$"
                r"|^are you (?:sure|certain|ready|ok(?:ay)?|fine|alive|human|happy|lost|busy|free|tired|a [a-z]+)\b"
                r"|^what (?:can|could) you do(?: for me)?$|^what (?:is|'s) your name$|^how fast\b"),
     "I only know what I saw: ask me where, when or how many"),
    (re.compile(r"^(?:do not|don't|dont|never)\b(?! (?:you|we|i|they|the|a|an)\b)"),
     "I go nowhere, and answer questions"),
    (re.compile(r"^what(?: is the|'s the| is)? (?:time|day|date|year)(?: is it| today| now)?(?: now| today)?$"),
     "I know when I saw what, and not what time it is now"),
    (re.compile(r"^(?:why\b|how come\b|what (?:is|was) the (?:reason|purpose|cause)\b|for what reason\b)"),
     "I remember what I saw, and not why it is so"),
    (re.compile(r"^(?:turn|stop|wait|halt|follow|come|move|drive|go|walk|back|speed|slow)(?: (?:left|right|around|back|"
                r"backwards?|forwards?|ahead|straight(?: on)?|here|on|me|us|faster|slower|away|up|down|now|there))+$"
                r"|^stop\b(?! sign)"),
     "I drive to what I saw, and take no other orders"),
    (re.compile(r"^what(?: are you (?:doing|up to)|(?: is|'s) up|(?: is|'s) new with you)(?: right now| now)?$"),
     "I only know what I saw: ask me where, when or how many"),
    (re.compile(r"[a-z] \(?x ?=? ?-?\d+(?:\.\d+)?,?(?: and)? y ?=? ?-?\d"),
     "I read no places in numbers: give one as where you are, and ask what is near you"),
    (re.compile(r"^(?:is|was|are|were) .+ the (?:very )?(?:first|last) (?:thing|object|item)s? (?:that )?"
                r"(?:you|i|we) (?:saw|have seen|passed|noticed|found)\b"
                r"|^(?:did|have) (?:you|i|we) (?:only (?:see|seen)(?!.* (?:once|twice|\w+ times?)$)|(?:see|seen) "
                r"(?:only(?! (?:once|twice|one|\w+ times)\b)|nothing but)) "
                r"|^(?:is|was) the (?:nearest|closest|farthest|furthest) (?:thing|object|item) (?:to|from) "),
     "I do not hold one thing against all others; ask me what I saw first, or last, or what is nearest"),
    (re.compile(r"\b(?:on|to) (?:my|your) (?:left|right)\b"),
     "I do not know on which side of me things were"),
    (re.compile(r"^(?:is|are|was|were) .+ (?:north|south|east|west) of (?:me|you|us|here)$"),
     "I do not know which way is north"),
    (re.compile(r"^(?:did|have|has) (?:you|i|we|the robot) (?:drive|driven|travel|travell?ed|go|gone|move|moved) "
                r"(?:for )?(?:more|less|longer|farther|further|fewer|over|under|at least|at most)\b"),
     "I do not add up how far I went"),
    (re.compile(r"^(?:what|which|who)\b.*\b(?:largest|biggest|smallest|tallest|heaviest|oldest|youngest|strangest|nicest|"
                r"most (?:expensive|interesting|beautiful|important|valuable|dangerous))\b"
                r"|^(?:is|are|was|were) .+ (?:bigger|larger|smaller|taller|shorter|heavier|lighter|older|younger|wider|"
                r"longer) than\b"),
     "I do not measure how large, old or good things are"),
    (re.compile(r"^(?:when|where|what|who|how (?:long|many|often|much)|at what time)\b.*?\b(?:will|shall|going to|"
                r"gonna) (?:you|i|we|they|it|he|she|there|the|a|an|be|see|meet|find)\b"
                r"|^(?:will|shall) (?:you|i|we|they|it|he|she|there|the|a|an)\b(?!.*\b(?:tell|show|take|bring|guide|"
                r"lead|drive|find)\b)"),
     "I remember what was, and do not know what will be"),
    (re.compile(r"^(?:how (?:do|can|could|should|would) (?:i|we|you|one) (?:get|go|come|walk|drive|travel)|"
                r"what is the (?:way|route|path)|which way is it) from\b.+\bto\b"),
     "I do not know the way from one thing to another; ask where one of them is"),
)  # fmt: skip


def beyond(text: str) -> str:
    """Why a question, lower-case and without its politeness, is beyond any memory; empty where it is not."""
    return next((reason for pattern, reason in _CANNOT if pattern.search(text)), "")
