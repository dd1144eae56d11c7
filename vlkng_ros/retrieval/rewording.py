"""Wordings that ask the same in other words than the grammar knows: "and the dog", "since when", "list all people"."""

from __future__ import annotations

import re

from vlkng_ros.memory.words import COLORS, SIZES
from vlkng_ros.retrieval.padding import A_TRIP, WHOSE

_BEGIN = rf"(?:at|in) the (?:very )?(?:beginning|start)(?: of {WHOSE} {A_TRIP})?"
_END = rf"(?:at|in) the (?:very )?end(?: of {WHOSE} {A_TRIP})?"
_WHERE_IT_IS = r"(?:location|position|coordinates?)"
_THINK = r"(?:do|would|can|could) (?:you|we) (?:think|say|believe|confirm|guess)(?: that)?"
_TAG = r",? (?:(?:did|do|have|is|was|are|were)(?:n't| not)? (?:you|i|we|there|it|they)|right|correct|yes|no|okay|ok)$"
_LONGEST = r"the longest (?:time |period |stretch |while )?(?:that |for which )?"
_A_THING = r"(?P<thing>(?:the|that|this|my|your|a|an) [a-z][a-z -]*?)"
_STANDING = r"(?:standing|stand|sitting|sit|lying|lie|hanging|hang|leaning|lean|sleeping|sleep|located|placed|mounted)"
_SEEN_FROM = {
    **dict.fromkeys(("next to", "near", "close to", "beside", "adjacent to", "by", "around", "opposite"), ""),
    "on top of": "under", "on": "under", "above": "under", "over": "under", "under": "above", "underneath": "above",
    "below": "above", "behind": "in front of", "in front of": "behind", "left of": "right of", "right of": "left of",
    "to the left of": "to the right of", "to the right of": "to the left of",
}  # fmt: skip
"""How a thing stands to another, seen from that one; empty where it is the same."""


def _turned_round(found: re.Match[str]) -> str:
    """What a thing stands to as what stands so to it: "what is the cup on" asks what is under the cup."""
    return f"what is {_SEEN_FROM[found['how']] or found['how']} {found['thing']}"


_NEAREST = r"(near+est|clos+est|farthest|furthest)"
_SAME_ASKED = (
    # what is nearest of all, and the nearest of a kind
    (re.compile(rf"^what(?:'s| is| was) the {_NEAREST} (?:thing|object|item|one)s?(?= (?:to|from) )"), r"what is \1"),
    (
        re.compile(
            rf"^what(?:'s| is| was) the {_NEAREST} (?!(?:thing|object|item|one|way|route)s?\b)"
            r"(?!.*\b(?:of|made|doing|called|wearing|like|for)\b)((?:[a-z-]+ ){0,2}?[a-z-]+(?: (?:to|from) .+)?)$"
        ),
        r"where is the \1 \2",
    ),
    (re.compile(rf"(\b(?!(?:the|a|what|which|who)\b)[a-z]+ {_NEAREST}) (?=(?:the|a|an|my) [a-z])"), r"\1 to "),
    (re.compile(r"^and (?=(?:what|how|where|when|which|who|is|are|did|do|have)\b)"), ""),
    (re.compile(r"^and (?=(?:the|a|an|my|your|our)\b)"), "what about "),
    (re.compile(r"^(?:seen|noticed|spotted) (?=(?:any|a|an|the|my|some)\b)"), "have you seen "),
    (re.compile(r"^any (?!(?:idea|luck|chance|news|thing|one)\b)([a-z].+?)(?: around| here| there)?$"),
     r"are there any \1"),
    (re.compile(r"^whom\b"), "who"),
    (re.compile(r"^(did|have) (you|i|we) only (see|seen) (.+?) (once|twice|(?:one|\w+) times?)$"),
     r"\1 \2 \3 \4 only \5"),
    (re.compile(rf"^what (?:is|was) {_LONGEST}(you|i|we) (?:have )?(?:saw|seen|looked at|watched) "),
     r"how long did \1 look at a time at "),
    (re.compile(rf"^what (?:is|was) {_LONGEST}(you|i|we) (stop|wait|stay|stood|rest|pause)(?:p?ed|d)?\b"),
     r"how long did \1 \2 at a time"),
    (re.compile(rf"^what (?:is|was) {_LONGEST}(you|i|we) (was|were) "), r"how long \2 \1 at a time "),
    (re.compile(rf"^((?:for )?how long|when|where|what) {_A_THING} (is|was|are|were)"
                rf"(?= (?:in view|in sight|visible|{'|'.join(_SEEN_FROM)})$)"),
     r"\1 \3 \2"),
    (re.compile(r"^(for how long|how long) (?:is|was|were|are|did|has|have|could you see) (.+?)(?: stay| remain)?"
                r"(?: been)? (?:in (?:view|sight|front of (?:you|the camera)|the picture)|visible|to be seen)\b"),
     r"\1 did you look at \2"),
    (re.compile(r"\b(near+est|closest|farthest|furthest) (?!(?:to|from)\b)([a-z][a-z -]*?) (?:to|from) "
                r"(?:me|us|you|here|where (?:i am|we are|you are))$"),
     r"\1 \2"),
    (re.compile(r"^(when|where) (?:is|was|are|were|did) (.+?)(?: come)? (first |last |most recently )?"
                r"(?:in(?:to)? (?:view|sight)|visible|to be seen)$"),
     lambda found: f"{found[1]} did you {found[3] or ''}see {found[2]}"),
    (re.compile(r"^(you|i|we) (?:have )?(?:never|not|did not|didn't|haven't|have not) "
                rf"(?:see|saw|seen|pass|passed|find|found|notice|noticed) (.+?){_TAG}"),
     r"did \1 see \2"),
    (re.compile(r"^(?:tell me|say|what do you know|what can you tell me|what do you remember|what can you say)"
                r"(?: (?:everything|all|anything|something|more))?(?: (?:that )?you know| you remember)? (?:about|of) "
                r"(?=(?:the|a|an|that|this|my|your) )"),
     "describe "),
    (re.compile(r"\b(?:in|at) (?:the|one)(?: same)? (?:room|place|spot) (?:with|as) "), "near "),
    (re.compile(r"^(?:can|could|may) (?:i|we|one|people) ([a-z]+) (?:somewhere|anywhere|around here|here|there)$"),
     r"is there somewhere to \1"),
    (re.compile(r"\b(?:any|some)thing (?:that (?:is|was) |which (?:is|was) )?"
                rf"({'|'.join(sorted(COLORS | SIZES))})\b"), r"\1 thing"),
    (re.compile(r"\bnothing\b(?! but\b)"), "no anything"),
    (re.compile(r"^((?:for )?how long .+?) for$"), r"\1"),
    (re.compile(rf"^how (?:long|many (?:seconds|minutes|hours)) did {WHOSE} {A_TRIP} (?:take|last|go on)$"),
     "how long was the trip"),
    (re.compile(r"^(?:has it been|is it|was it) ((?:no |not )?(?:more|longer|less) than|at least|over|under) "
                r"([a-z0-9. ]+?(?:second|minute|hour|day|week)s?) since (you|i|we) (?:have )?(?:last )?"
                r"(?:saw|seen|passed) (.+)$"),
     r"did \3 last see \4 \1 \2 ago"),
    (re.compile(r"^how (?:long|much time) (?:did|have) (you|i|we) spen[dt] (?:looking at|watching|seeing|facing)\b"),
     r"how long did \1 look at"),
    (re.compile(r"^(what|who|which [a-z]+) did (you|i|we) (?:see|look at|watch) (?:for )?(?:the )?longest(?: time)?$"),
     r"\1 did \2 see most often"),
    (re.compile(rf"^when did {WHOSE} {A_TRIP} (?:start|begin)$"), "when did you start"),
    (re.compile(r"^(what|who|which [a-z ]+?) did (you|i|we) just (see|pass|notice)$"), r"\1 did \2 \3 last"),
    (re.compile(r"^(?:(?:can|could|would) you )?(?:go|drive|take me|bring me|return|navigate)(?: back)? "
                r"to where (you|i|we) (?:was|were)\b"),
     r"where were \1"),
    (re.compile(r"^how many (?:different )?(?:buildings|houses) (?:did|have) (you|i|we) "
                r"(?:enter(?:ed)?|visit(?:ed)?|(?:go|gone) in(?:to)?)\b"),
     r"how many times did \1 enter a building"),
    (re.compile(r"^how many (?:different )?(?:buildings|houses) (?:did|have) (you|i|we) "
                r"(?:leave|left|exit(?:ed)?|(?:go|gone) out of)\b"),
     r"how many times did \1 leave a building"),
    (re.compile(r"\b(?:the )?(?:front |main |back )?(?:door|entrance|exit) (?:of|to) (?:the|that) building "
                r"(?:that |which )?you (entered|left|exited|went into|went out of)$"),
     r"where you \1 the building"),
    (re.compile(r"\b(place|somewhere|spot|area) (nearby|near (?:here|me|us)|close by|around here) "
                r"(?=(?:to|where)\b)(.+)$"),
     r"\1 \3 \2"),
    (re.compile(r"\bthrow ((?:this|that|my|the|a|an|some) [a-z -]+?) (?:away|out)\b"), r"throw away \1"),
    (re.compile(r"^(?:how|what) (?:is|was) the weather(?: like)?$|^describe the weather$"), "describe the sky"),
    (re.compile(rf"^where {_A_THING} (?:stands?|hangs?|lies|sits?|stood|hung|lay|sat)$"), r"where is \g<thing>"),
    (re.compile(r"^(where .+?) (?:usually|normally|generally|typically)\b(.*)$"), r"\1 \2 most often"),
    (re.compile(r"\b(?:near+est|closest) (?!(?:to|thing|object|item|one)\b)([a-z][a-z -]*?) to "
                r"(?=(?:the|a|an|my|your) )"),
     r"\1 nearest to "),
    (re.compile(rf"^what (?:is|are|was|were|does|do|did) {_A_THING} (?:{_STANDING} )?(?P<how>{'|'.join(_SEEN_FROM)})$"),
     _turned_round),
    (re.compile(rf"^what (?:is|are|was|were) {_A_THING} (?:{_STANDING} )?(?:in|inside|inside of|within)$"),
     r"where is \g<thing>"),
    (re.compile(r"^(is|was) the distance (?:between (.+?) and|(?:from|of) (.+?) (?:to|from)) (.+?) "
                r"(?:(more|greater|longer)|less|smaller|shorter) than (.+)$"),
     lambda found: (
         f"{found[1]} {found[2] or found[3]} {'more' if found[5] else 'less'} than {found[6]} from {found[4]}"
     )),
    (re.compile(r"^(?:are|am|is) (?:you|i|we|the robot) (?:now )?(near|close to|next to|far(?: away)? from|"
                r"within .+? of) (?!me\b|us\b|you\b)(.+)$"),
     r"is \2 \1 me"),
    (re.compile(r"^what (?:is|was) the (last|first) (?:place|spot|location) (?:where |in which |that )?(?:you|i|we) "
                r"(?:saw|have seen|passed|noticed) (.+)$"),
     r"where did you \1 see \2"),
    (re.compile(r"^what did (you|i|we) (?:drive|go|walk|come|pass) (?:past|by|along)$"), r"what did \1 see"),
    (re.compile(r"\b(to|of) where ((?:the|my|your|a) [a-z -]+?) (?:is|are|stands|hangs|lies|sits|was|were)$"),
     r"\1 \2"),
    (re.compile(r"^(?:(?:can|could|would|will) you )?(?:lead|show|tell|point out)(?: me)? the way (?:back )?"
                r"(?:to|towards) "),
     "take me to "),
    (re.compile(r"^what (?:can|could) be (?:found|seen|noticed)\b"), "what is"),
    (re.compile(r"^(?:at |around )?what time was it when (?:you|i|we) "), "when did you "),
    (re.compile(r"^(?:when|what) (?:is|was) the (?:very )?(first|last) time (?:that |when )?(you|i|we) "
                r"(?:saw|have seen|had seen|noticed|spotted) "),
     r"when did \2 \1 see "),
    (re.compile(r"^how (?:long|many (?:seconds|minutes|hours|days|weeks)) ago did (you|i|we) "
                r"(?!.*\b(?:first|last|after|before|while|when)\b)(see|notice|spot) "),
     r"when did \1 last \2 "),
    (re.compile(r"\bstill (?:at|in|on) (?:its|their|his|her|the same|the old|the usual) (?:old |usual |same )?"
                r"(?:place|spot|position|location)s?$"),
     "still there"),
    (re.compile(r"\bhow many (?:different )?(?:kinds|types|sorts) of "), "how many kinds of "),
    (re.compile(r"^who(?: is|'s| was| were| has been| have been) (?:here|there|around|home|present)$"),
     "who did you see"),
    (re.compile(r"^(what) (?:lies|lie|stands|stood|sits|sat|hangs|hung|lay) (?=between|near|on|in|under|next|behind|"
                r"above|beside|opposite|against|to the)"),
     r"\1 is "),
    (re.compile(r"^since when (?:is|was|are|were|has|have) (.+?)(?: been)?(?: there| here| around)?$"),
     r"when did you first see \1"),
    (re.compile(r"^what (?:was|is|were) the (?:very )?(?:last|next|first) (?:thing|object|item)s? (?:that )?"
                r"(?:you|i|we) (?:saw|passed|noticed|found|met|encountered|came across) (?:right |just )?"
                r"(?=(?:before|after) )"),
     "what did you see "),
    (re.compile(r"^how long (?:have|has|did|were|are) (?:you|the robot|we) (?:been )?(?:running|run|driving|drive|"
                r"recording|record|on|awake|operating|active|up|working|going|under way|moving(?: around)?|"
                r"driving around)$"),
     "how long was the trip"),
    (re.compile(r"^(is|was|are|were) (.+?) (closer|nearer|farther|further|farther away|further away) (?:to|from) (.+?) "
                r"or (?:to |from )?(?:to )?(.+)$"),
     r"which is \3 to \2, \4 or \5"),
    (re.compile(r"^(?:show me|tell me|list|give me|name)(?: me)? (?:everything|all things|all objects|anything|what)"
                r"(?: (?:that|which))?(?: is| are| you saw)? (?=(?:near|next to|beside|around|on|in|under|behind|above|"
                r"between|close to)\b)"),
     "what is "),
    (re.compile(r"^how many (met(?:er|re)s?|feet|yards|miles|centimet(?:er|re)s|kilomet(?:er|re)s|cm|km)"
                r"(?: away| far| apart)? (is|are|was|were|am|from|between)\b(.*?)(?: away)?$"),
     r"how far \2\3 in \1"),
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
    (re.compile(r"^(?:list|name|enumerate) (?:all |every |the )*(?P<thing>[a-z ]+?)(?: (?:that )?(?:you|i|we) "
                r"(?:saw|have seen|passed|found|remember))?$"), r"what kinds of \g<thing> did you see"),
    (re.compile(r"\b(?:kind|sort|type)s? of (?=(?:thing|object|item)s?\b)"), ""),
    (re.compile(r"\b(how many|which|what) (?:different|distinct|various|separate) (?=[a-z])"), r"\1 "),
    (re.compile(r"^(what|who|where|which \w+) else\b"), r"\1"),
    (re.compile(r"\b(?:nobody|no one|no-one)\b"), "no person"),
)  # fmt: skip
"""Wordings that ask the same in other words than the grammar knows."""
_WHO = r"(?:a |the )?(?:person|people|man|woman|child|anyone|anybody|someone|somebody)"
_DOES = re.compile(
    rf"^(?P<asked>where |when )?(?:did|does) (?P<who>{_WHO}) "
    r"(?P<verb>come|go|walk|enter|leave|pass|stand|sit|run|fall|open|close|take|bring|use|talk|drive|ride|wait|sleep|eat|"
    r"drink|read|work|play|dance|wave|smile|cook|clean|hold|carry|wear|push|pull)\b"
    r"(?P<rest>.*?)(?: for (?:you|me|us))?$"
)
_DOUBLED = frozenset(("sit", "run"))
_ANYONE = re.compile(r"\b(?:anyone|anybody|someone|somebody)\b(?: else\b)?(?!')")
_IS_THERE = re.compile(r"^(is|was)(?= a person\b)")


def reworded(text: str) -> str:
    """A question in the words that the grammar knows."""
    for pattern, same in _SAME_ASKED:
        text = pattern.sub(same, text)
    text = _ANYONE.sub("a person", _DOES.sub(_doing, text))
    return _IS_THERE.sub(r"\1 there", " ".join(text.split())).strip(" ,")


def _doing(found: re.Match[str]) -> str:
    """What somebody is asked to have done as what captions say of them: "did anyone sit" as "was a person sitting"."""
    verb = found["verb"]
    stem = verb + verb[-1] if verb in _DOUBLED else verb.removesuffix("e")
    seen = f"{found['asked']}did you see" if found["asked"] else "was there"
    return f"{seen} {found['who']} {stem}ing{found['rest']}"
