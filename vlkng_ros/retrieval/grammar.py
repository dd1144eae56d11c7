"""The patterns of ``query``: how questions are worded in English, one pattern for each thing that a question says."""

from __future__ import annotations

import re
from enum import Enum


class Superlative(str, Enum):
    """Which of several sightings is meant."""

    NEAREST = "nearest"
    FARTHEST = "farthest"
    FIRST = "first"
    LAST = "last"


POLITE = re.compile(
    r"^(?:(?:hi|hey|hello|ok|okay|so|well|and|but|please|robot|sorry(?: to (?:bother|disturb|interrupt) you)?|"
    r"excuse me|thanks)\b[\s,.!:]*)+"
    r"|[\s,]*\b(?:please|thanks|thank you|for me)\b(?=[\s,.!?]*$)"
)
WRAPPER = re.compile(
    r"^(?:(?:can|could|would|will|do|are) (?:you|u) (?:please |kindly |perhaps )?(?:be able to |able to )?)?"
    r"(?:please )?(?:tell(?:ing)? me|show(?:ing)? me|let(?:ting)? me know|remind(?:ing)? me|say|know|remember|recall|"
    r"explain|check|see|"
    r"find out|figure out)"
    r"(?: to me)?(?: again)?(?: about)?\s+(?=(?:where|when|what|which|who|whose|why|how|if|whether|at what|"
    r"in which|in what)\b)"
    r"|^(?:i(?:'d| would)? (?:want|like|need) to know|i wonder|i am wondering|i'm wondering|any idea|"
    r"do you have any idea)\s+"
    r"(?=(?:where|when|what|which|who|why|how|if|whether)\b)"
)
PLACE_NOUN = r"(?:place|places|location|position|spot|room|area|part|coordinates?|direction)"
WHERE = re.compile(
    rf"^(?:(?:from |to |near )?where(?:abouts)?(?:'s|s)?|(?:in|at|to|on) (?:what|which) {PLACE_NOUN}"
    rf"|what (?:is|was|are|were) the (?:location|position|coordinates?|place) (?:of|where|in which|at which)"
    r"|(?:what|which) (?:room|floor|building|area|hall|hallway|corridor)(?= (?:is|are|was|were|did)\b.* (?:in|on)$)"
    rf"|which way(?= (?:is|are|to)\b)(?: to)?|(?:what|which) (?:location|position|place|spot))\b\s*"
)
REQUEST = re.compile(
    r"^(?:(?:can|could|would|will|may) (?:you|u|we|i) (?:please |kindly )?|please |i (?:want|need|would like|"
    r"wish|like) (?:you )?to |"
    r"i'd like (?:you )?to |let'?s |let us )?"
    r"(?:(?:take|bring|guide|lead|drive|navigate|walk|direct|escort|accompany|point|send|carry|get) (?:me|us|"
    r"him|her|them|it|this)"
    r"(?: back| over| out| there)?(?: the way)? (?:to|towards?|into|at|(?=somewhere|someplace|anywhere))"
    r"|(?:go|drive|navigate|return|head|move|come|travel|get|walk|roll)(?: back| over| again)? (?:to|towards?|"
    r"into|(?=somewhere|someplace|anywhere))"
    r"|how (?:do|can|could|should|would) (?:i|we|you|one) (?:get|go|come|find the way|find my way) (?:to|into|back to)"
    r"|show (?:me|us)(?: the way to)?|(?:bring|give|hand|pass) (?:me|us)|find(?: me| us)?"
    r"|locate|look for|search for|fetch(?: me)?|get (?:me|us)|"
    r"help me find)\b\s*"
)
NEED = re.compile(
    r"^(?:i|we)(?:'m| am| are|'re|'ve| have)? (?:need|want|am looking for|are looking for|looking for|"
    r"would like|have to find|(?:can't|cannot|can not|could not|couldn't|don't|do not) (?:find|see|locate)|"
    r"lost|misplaced|forgot where)\b\s*"
)
WHEN = re.compile(
    r"^(?:when|(?:at |around |since )?what time|(?:on |at )?what (?:day|date|hour|moment)|how long ago|"
    r"how (?:many|much) (?:seconds|minutes|mins|hours|days|time) ago)\b\s*"
)
AGO_QUESTION = re.compile(
    r"^how (?:long|much time|many (?:seconds|secs|minutes|mins|hours|days|weeks)) .*(?<! second)(?<! minute)(?<! hour)"
    r"(?<! day)(?<! seconds)(?<! minutes)(?<! hours)(?<! days) ago\b|^how (?:long|much|many) \w+ ago\b|^how long ago\b"
)
DURATION = re.compile(
    r"^(?:for |since )?(?:how long|how much time|how many (?:seconds|secs|minutes|mins|hours|days)|"
    r"what (?:is|was) the duration of)\b\s*"
)
COUNT = re.compile(
    r"^(?:how many|count(?: the)?(?: number of)?|what (?:is|was) the (?:number|count) of|"
    r"(?:the )?number of)\b\s*"
)
AUXILIARY = re.compile(
    r"^(?:did|do|does|is|are|was|were|am|has|have|had|can|could|will|would|should|may|might|must|if|whether|"
    r"isn't|aren't|wasn't|weren't|didn't|don't|doesn't|haven't|hasn't|hadn't|can't|couldn't)\b\s*(?:n't\b\s*)?"
)
WHAT = re.compile(
    r"^(?:what|which|who|whose|whom|why|how|describe|tell me about|in which|in what|on which|"
    r"on what)\b"
)

SUBJECT = r"(?:you|u|i|we|they|one|the robot|robot|it|he|she|anyone)"
ADVERB = (
    r"(?:last|first|firstly|lastly|most recently|recently|ever|just|also|already|previously|actually|"
    r"exactly|still|both|all|again)"
)
SEEING = (
    r"(?:see|saw|seen|seeing|find|found|notice|noticed|spot|spotted|observe|observed|encounter|encountered|"
    r"pass by|passed by|"
    r"pass|passed|come across|came across|meet|met|detect|detected|recognize|recognized|visit|visited|"
    r"perceive|perceived|"
    r"look at|looked at|looking at|watch|watched|watching|facing|view|viewed|witness|witnessed|catch sight of|read|"
    r"remember|have|get|leave|left|put|"
    r"drop|dropped|place|placed|park|parked|"
    r"lose|lost)"
)
_MODAL = r"(?:did|do|does|can|could|have|has|had|is|are|was|were|will|would|should|may|might)"
LEAD = re.compile(
    rf"^(?:{_MODAL}\s+(?:{ADVERB}\s+)*(?:{SUBJECT}\s+)?|(?:{ADVERB}\s+)*{SUBJECT}\s+)"
    rf"(?:{ADVERB}\s+)*(?:(?:{_MODAL}|am|been)\s+)?(?:(?:{ADVERB}\s+)*{SEEING}\s+)?(?:{ADVERB}\s+)*"
    rf"|^(?:{ADVERB}\s+)+"
)
"""Who looked: only after an auxiliary or a subject is "parked" something done, not the look of a van."""
TRAVEL = re.compile(
    r"^(?:drive|drove|driving|go|went|going|gone|walk|walked|cross|crossed|climb|climbed|ride|travel|"
    r"travelled|traveled|enter|entered|stop|stopped)"
    r"\s+(?:(?:up|down|on|onto|over|through|across|along|by|past|to|into|in|at|off|out of)\s+)?(?=(?:the|a|an|"
    r"any|some|that)\b)"
)
SOMEWHERE = re.compile(
    rf"^(?:{PLACE_NOUN}|somewhere|someplace|anywhere)\s+(?:(?:where|that|which|in which)\s+)?(?:to\s+|(?:i|"
    rf"you|we|one|people)\s+(?:can|could|may)\s+)"
)
ASIDE = re.compile(rf"\b(?:did|do|have|has|had|could|can|were|are|was|is|am) (?:{SUBJECT}|there)\b(?:\s+{SEEING}\b)?")
VAGUE = frozenset(
    (
        "",
        "object",
        "objects",
        "thing",
        "things",
        "things are",
        "objects are",
        "it",
        "there",
        "happened",
        "doing",
        "been",
        "for",
        "see",
        "is",
        "are",
    )
)
BE = re.compile(r"^(?:(?:is|are|was|were)(?:n't)?|be|been|being|'s)\s+(?:there\s+)?")
TAIL = re.compile(
    r"[\s,]*\b(?:is|are|was|were|be|being)?\s*(?:located|situated|placed|positioned|found|seen|there|here|at|"
    r"standing|in the image|been|going|go|went|"
    r"right now|now|currently|lately|recently|at the moment|around here|nearby|on your way|on the way|along the way|"
    r"away|from me|from us|"
    r"during the (?:drive|trip|tour|"
    r"route)|in total|altogether|so far|from here)$"
)
ITS_PLACE = re.compile(r"(?<=[a-z] )([a-z]+) (?:location|place|spot)s?$")
"""The place of a thing of several words, where the place is asked anyway ("the emergency phone location")."""
ARTICLE = re.compile(
    r"^(?:(?:the|a|an|any|some|my|your|our|his|her|their|that|this|those|these|another|each|"
    r"every|all|of)\s+)+"
)
SUPERLATIVES = (
    (
        Superlative.NEAREST,
        re.compile(
            r"\b(?:near+est|clos+est|nearer|closer|most nearby)\b(?:\s+to\s+(?:me|us|you|here|"
            r"my position))?|\b(?:close|next) to (?:me|us|here)\b|\bnear(?:by)? (?:me|us|here)\b"
            r"|\b(?:nearby|close by|around (?:me|us))$"
        ),
    ),
    (
        Superlative.FARTHEST,
        re.compile(
            r"\b(?:farthest|furthest|farther|further|most distant)\b(?:\s+away\b)?(?:\s+from\s+(?:me|"
            r"us|you|here))?|\bfar(?: away)? from (?:me|us|you|here)\b|\bfar away$"
        ),
    ),
    (
        Superlative.LAST,
        re.compile(
            r"\b(?:most recent(?:ly)?|latest|last(?:ly)?(?! name)|"
            r"(?:for )?the last time)\b"
        ),
    ),
    (
        Superlative.FIRST,
        re.compile(
            r"\b(?:for the first time|earliest|first(?:ly)?(?! (?:aid|floor|class|name|"
            r"street|avenue)))\b"
        ),
    ),
)
ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5}
ORDINAL_TIME = re.compile(
    r"\b(?:for )?the (second|third|fourth|fifth) time\b|\b(second|third|fourth|"
    r"fifth)(?= (?:turn|stop|time|building|thing|object|item)\b)"
)
_NOW = r"(?:right now|now|currently|at the moment|at this moment|at present)"
NOW = re.compile(rf"\b{_NOW}\b")
_VIEW = r"(?:see|seeing|looking at|facing|watching|in view|in sight|visible)"
IN_VIEW_NOW = re.compile(rf"\b{_VIEW}\b.*\b{_NOW}\b|\b(?:currently|now|presently) {_VIEW}\b")
THING_FROM = re.compile(
    r"^(?:is |are |was |were )?(?:the )?(?:thing|object|item|one)s? (?:to|from) "
    r"(?:the|a|an|my|your) (?P<object>[a-z].*)$"
)
"""The place of what is nearest to, or farthest from, another thing."""
NEGATION = re.compile(
    r"\b(?:that|which|who)?\s*(?:is|are|was|were|does|do|did|has|have)(?:n't| not)\s+(?:a |an |the |"
    r"any )?([a-z][a-z \-]*?)(?=$|[,.;]|\band\b|\bbut\b)"
    r"|\b(?:excluding|except(?: for)?|other than|besides|apart from|aside from)\s+(?:a |an |the |any )?"
    r"([a-z][a-z\-]* and (?:a |an |the |any )?[a-z][a-z\-]*)$"
    r"|\b(?:without|excluding|except(?: for)?|other than|besides|apart from|aside from|not)\s+(?:a |an |the |any )?"
    r"([a-z][a-z \-]*?)(?=$|[,.;]|\band\b|\bbut\b)"
    r"|\bnon-([a-z]+)"
    r"|\b(?:with|has|have|had|having) no\s+([a-z][a-z \-]*?)(?=$|[,.;]|\band\b|\bbut\b)"
)
ONES = re.compile(r"\s*\b(?:ones?\b|(?:did|do|have|are|were|is|was) (?:there|you|i|we)\b).*$")
"""What follows a quality that is left out ("except the red ones")."""
NEAREST_THING = re.compile(
    r"^((?!(?:what|which|who|describe)(?:'s)?(?: (?:one|thing|object|item)s?)?(?: (?:is|are|was|were))?(?: the)? "
    r"(?:near|clos))[a-z][a-z -]*? (?!(?:is|are|was|were|the|what|which|who) )[a-z]+)"
    r"(?: (?:is|are|was|were|that is|which is))?(?: the)? (?:near+est|clos+est)(?: one)? to (?!(?:me|us|you|here|my)\b)"
)
"""The one of a kind that is nearest to another thing."""
NEAR = (
    r"(?:next to|close to|far(?: away)? from|together with|beside|adjacent to|alongside|around|by|near(?:by)?|"
    r"across from|"
    r"opposite(?: to)?|in front of|behind|in the vicinity of)"
)
RELATION = re.compile(
    rf"\s+(?:(?:that|which|who)\s+(?:is|are|was|were)\s+|(?:located|standing|parked|placed|hanging|sitting|"
    rf"lying|leaning|mounted|situated)\s+)?"
    rf"(?P<predicate>{NEAR}|(?:(?:to|on) the )?(?:left|right)(?:-hand side)? of|"
    rf"between|on top of|on|upon|under(?:neath)?|below|above|over|inside(?: of)?|in|"
    rf"within|at|against)\s+(?P<object>.+)$"
)
WORN = re.compile(
    r"\b(?:shirt|t-shirt|jacket|coat|dress|hat|cap|helmet|shoes?|pants|trousers|jeans|shorts|sweater|hoodie|"
    r"suit|vest|uniform|skirt|"
    r"glasses|mask|clothes|clothing|red|orange|yellow|green|blue|purple|pink|brown|black|white|gr[ae]y)\b"
)
PREDICATES = {
    "next to": "near", "close to": "near", "beside": "near", "adjacent to": "near",
    "alongside": "near",
    "around": "near", "by": "near", "near": "near", "nearby": "near", "in the vicinity of": "near", "at": "near",
    "together with": "near", "far away from": "far from",
    "opposite": "opposite", "opposite to": "opposite", "across from": "opposite", "on top of": "on", "upon": "on",
    "underneath": "under", "below": "under", "inside": "in", "inside of": "in", "within": "in",
    "to the left of": "left of", "on the left of": "left of", "to the right of": "right of",
    "on the right of": "right of",
}  # fmt: skip
FACTIVE = re.compile(
    rf"\b(?:did|have) {SUBJECT}\s+(?:{ADVERB}\s+)*{SEEING}\b|\b{SUBJECT} (?:saw|found|"
    rf"noticed|passed)\b"
)
PRESENT = re.compile(
    r"^(?:are|am|is) (?:you|i|we|the robot|it)\b|\bhave (?:you|i|we) been\b|"
    r"\bhas the robot been\b|^what (?:do|can|are) (?:you|i|we) (?:see|seeing|look at|looking at|watching|facing)\b"
)
TIMES = re.compile(r"^\s*(?:different\s+)?times\b\s*")
DEFINITE = re.compile(r"\b(?:the|that|this|those|these|my|your|our|its|his|her)\s+[a-z]")
KINDS_OF = re.compile(r"^(?:kinds|types|sorts) of ")
ATTRIBUTE = re.compile(
    r"^(?:what|which)(?:'s|s| is| was| are| were)?\s+(?:the\s+)?(?P<name>colou?rs?|side|direction|way|"
    r"number|distance)\b\s*(?:of\s+)?"
)
ATTRIBUTES = {"color": "color", "colour": "color", "colors": "color", "colours": "color", "way": "direction"}
WHERE_ELSE = re.compile(
    rf"\s+(?:(?:near|close to|by|at) )?(?:where|when) {SUBJECT} .*$|(?<=[a-z]) (?:is|are|was|were)(?= (?:for|of|on)\b)"
)
"""What an attribute does not depend on: where the robot was, a second "is" of questions that were changed midway."""
CHOICE = re.compile(r"\b([a-z][a-z ]*?)\s+or\s+(?:was it |were you |did you |is it |are you )?([a-z][a-z ]*?)$")
NONE_OF = re.compile(r"^(?:(?:is|are|was|were) there|(?:did|have|do) (?:you|i|we) (?:see|seen|find|found)) no\s+")
"""A yes to "is there no bench?" says that there is none."""
EITHER_THING = re.compile(r"\b(?:any|some|either)\b.*\bor\b")
"""Whether there are "any cats or dogs" is answered yes or no, and not by which."""
FAR = re.compile(
    r"^how (?:far|distant|close)(?: away| apart)?\b(?:\s+from (?:me|here|us))?\s*(?:is|are|am|was|were|to)?\b\s*"
)
APART = re.compile(r"^how far apart\b")
ITSELF = re.compile(r"^(?P<asks>where(?: (?:is|are|was|were|could|can|might|should|did))?"
                    r"|when(?: (?:did you|have you) (?:last )?(?:see|seen))?) "
                    r"(?:it|they|them|that|those|he|him|she|her)(?: be| go| have gone)?$")  # fmt: skip
"""A question about what the words before the comma name."""
GO_WHERE = re.compile(
    r"^where(?: (?:is|are) (?:it|they|that|one)"
    r"| (?:should|can|could|do|must) (?:i|we) (?:go|look|find (?:it|one|them|that)))?$"
)
"""A question about what the sentence before names."""
THERE = re.compile(r"^(?:(?:please )?(?:take|bring|lead|guide|drive|navigate) (?:me|us) (?:there|to (?:it|him|her|"
                   r"them))|(?:please )?go (?:there|to (?:it|him|her|them)))$")  # fmt: skip
"""A request for the way to what the words before the comma name."""
REFERS = re.compile(r"\b(?:it|they|them|that|those|one|ones|he|him|she|her|its|there|again)\b|^where$")
"""A question that needs the one before it."""
TO_THING = re.compile(r"\s+(?:to|from) (?P<object>.+)$")
WHICH_THING = re.compile(
    r"^(?:(?:what|which|who)(?:'s|s)?\b\s*"
    r"(?:(?:(?:thing|object|item)s?|people)\s+(?=(?:did|do|have|has|had|can|could|is|are|was|were)\b))?"
    r"(?:(?:is|are|was|were|did|do|have|had|could|can)\b\s*)?"
    rf"(?:{SUBJECT}\s+)?(?:(?:{ADVERB}|{SEEING}|happened|happening|going on)\b\s*)*"
    r"|describe(?: what)?\b\s*)(?:(?:the|an?|any|all|other)\s+)*"
    r"(?:(?:thing|object|item|stuff|something|anything|everything|person|one)s?\b\s*)?"
    r"(?:(?:that|which|who)\s+)?(?:(?:is|are|was|were)\s+)?"
    rf"(?:(?:{SUBJECT})\s+(?:{SEEING})\b\s*)?(?:(?:to|from) (?:me|us|here|you)\b\s*)?(?:there|right now|now)?\s*$"
)
"""What is left of "what is nearest to me", "what was the first thing you saw", when all but that is taken out."""
TYPOS = {
    "teh": "the", "hte": "the", "th": "the", "wehre": "where", "whre": "where", "wher": "where", "whare": "where",
    "wheres": "where is", "were's": "where is", "wehn": "when", "whne": "when", "whn": "when", "waht": "what",
    "wat": "what", "whta": "what", "wht": "what", "whats": "what is", "wich": "which", "whcih": "which",
    "hwo": "how", "hw": "how", "yuo": "you", "yo": "you", "adn": "and", "nad": "and", "fo": "of", "fro": "for",
    "si": "is", "aer": "are", "ahve": "have", "hvae": "have", "dont": "don't", "didnt": "didn't", "isnt": "isn't",
    "arent": "aren't", "wasnt": "wasn't", "werent": "weren't", "havent": "haven't", "youre": "you are", "im": "i'm",
    "cna": "can", "cuold": "could", "coudl": "could", "woudl": "would", "taek": "take", "tkae": "take", "seee": "see",
    "plz": "please", "pls": "please", "thx": "thanks", "theres": "there is", "there's": "there is",
    "ot": "to", "tothe": "to the", "inthe": "in the", "ofthe": "of the", "neares": "nearest", "nearst": "nearest",
    "neerest": "nearest", "closests": "closest", "beetween": "between", "betwen": "between",
    "befor": "before", "befroe": "before", "aftre": "after", "yesturday": "yesterday", "yesterdy": "yesterday",
}  # fmt: skip
"""Slips of the fingers in the words that make a question; each is no English word of its own."""
STARTS = ((re.compile(r"^were (?=(?:is|are|was|did|can|could|do|does)\b)"), "where "),
          (re.compile(r"^haw (?=(?:many|much|long|far)\b)"), "how "),
          (re.compile(r"^how often (?=(?:did|have|do|was|were)\b)"), "how many times "),
          (re.compile(r"^(?:which|what) (?:person|people) (?=(?:is|are|was|were)\b)"), "who "),
          (re.compile(r"^which (?:thing|object|item)s? (?=(?:is|are|was|were)\b)"), "what "),
          (re.compile(r"^whose (?=(?:there|at|in|on|near)\b)"), "who is "))  # fmt: skip
"""Words that are such only where no question could begin with them."""
QUOTED = re.compile(r'"([^"]{1,200})"')
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b")
WH_AUX = re.compile(
    rf"^(?:what|which|who|whose|whom|how|describe)(?:'s)?\b\s*(?:(?:is|are|was|were|did|do|does|has|have|had|can|"
    rf"could)\b)?\s*(?:{SUBJECT}\s+)?(?:{SEEING}\s+)?"
)
