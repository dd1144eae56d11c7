"""Words as retrieval counts them: tokens, stems, stop words, numbers, and the nearest known spelling.

English, because the models that write captions do. The stemmer only takes inflection off (plurals, -ed, -ing, -er
of doing): what derivation adds ("entrance" of "enter") is left to the embeddings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")

STOP_WORDS = frozenset(
    ["a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "before", "being", "but", "by", "can", "could", "did", "do", "does", "doing", "down", "during", "each", "else", "ever", "few", "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "let", "like", "made", "may", "me", "might", "more", "most", "must", "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "please", "same", "shall", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "thing", "things", "this", "those", "through", "to", "too", "under", "until", "up", "upon", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would", "you", "your", "image", "appears", "appear", "suggest", "suggests", "visible", "seen", "see", "saw", "show", "shows", "side", "left", "right", "background", "foreground", "center", "centre", "overall", "atmosphere", "mood", "several", "various", "few", "two"]
)
"""Function words, and the words in which captions talk about themselves."""

COLORS = frozenset(
    ["red", "orange", "yellow", "green", "blue", "purple", "violet", "pink", "brown", "black", "white", "gray", "grey", "beige", "tan", "gold", "golden", "silver", "maroon", "navy", "turquoise", "teal", "cyan", "magenta", "olive", "khaki", "cream", "lavender"]
)

SIZES = frozenset(["big", "large", "huge", "giant", "small", "little", "tiny", "tall", "short", "long", "wide", "nice", "beautiful", "pretty"])
"""Words on which two people who saw the same thing differ; as stems."""

NUMBERS = {
    word: value
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]
    )
} | {"a": 1, "an": 1, "couple": 2, "dozen": 12, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100}

_IRREGULAR = {
    "people": "person",
    "persons": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "feet": "foot",
    "teeth": "tooth",
    "mice": "mouse",
    "geese": "goose",
    "leaves": "leaf",
    "shelves": "shelf",
    "knives": "knife",
    "sat": "sit",
    "stood": "stand",
    "ran": "run",
    "rode": "ride",
    "riding": "ride",
    "wore": "wear",
    "held": "hold",
    "drove": "drive",
    "lying": "lie",
    "grey": "gray",
    "bike": "bicycle",
    "bikes": "bicycle",
    "cyclist": "bicyclist",
    "cyclists": "bicyclist",
    "auto": "car",
    "autos": "car",
    "sofas": "sofa",
    "couch": "sofa",
    "couches": "sofa",
    "stair": "stairs",
    "staircase": "stairs",
    "staircases": "stairs",
    "stairway": "stairs",
    "stairways": "stairs",
    "trashcan": "trash",
    "fridge": "refrigerator",
    "tv": "television",
    "cellphone": "phone",
    "cellphones": "phone",
    "motorbike": "motorcycle",
    "motorbikes": "motorcycle",
    "lamppost": "lamp",
    "lampposts": "lamp",
    "centre": "center",
    "colour": "color",
    "colours": "color",
}
"""Forms that rules miss, and everyday words for one thing; each maps to the stem that is indexed."""

_KEEP = frozenset(["bus", "gas", "glass", "grass", "stairs", "news", "lens", "chess", "dress", "this", "less", "across", "series", "species", "always"])


def tokens(text: str) -> list[str]:
    """The words of a text in order, lower-case, without punctuation; possessive endings are dropped."""
    return [token.split("'")[0] for token in _TOKEN.findall(text.lower().replace("’", "'"))]


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """A lower-case word without its inflection."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or word in _KEEP or not word.isalpha():
        return word
    base = _singular(word)
    if base in _IRREGULAR:
        return _IRREGULAR[base]
    for ending in ("ing", "ed"):
        root = base[: -len(ending)]
        if base.endswith(ending) and len(root) >= 3 and re.search("[aeiouy]", root):
            return _restored(root)
    return base[:-1] if base.endswith("e") and len(base) > 4 else base


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _restored(root: str) -> str:
    """What is left of -ed and -ing: a doubled consonant is halved, a mute e is never kept (see ``stem``)."""
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz":
        return root[:-1]
    return root


def terms(text: str) -> list[str]:
    """Stems of the words of a text that mean something by themselves, in order, with repeats."""
    return [stem(token) for token in tokens(text) if token not in STOP_WORDS and (len(token) > 1 or token.isdigit())]


def edit_distance(a: str, b: str, limit: int) -> int:
    """Optimal string alignment distance (a swap of neighbours costs one); more than ``limit`` is ``limit + 1``."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        previous, before_previous = row, before
        row = [i]
        for j, cb in enumerate(b, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (ca != cb))
            if i > 1 and j > 1 and ca == b[j - 2] and a[i - 2] == cb:
                cost = min(cost, before_previous[j - 2] + 1)
            row.append(cost)
        before = previous
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def near_spellings(word: str, known: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """The known words that ``word`` may be a misspelling of: all those at the least distance, most frequent first.

    One edit for words of 5 letters or more, two from 9; the first letter is trusted. What is meant among several is
    left to the other words of the phrase.

    Args:
        word: a stem that is not known.
        known: stems with their frequencies.
    """
    if len(word) < 5 or not word.isalpha():
        return ()
    limit = 2 if len(word) >= 9 else 1
    found: list[tuple[int, int, str]] = []
    for candidate, count in known:
        if candidate[:1] == word[0] and len(candidate) >= 4 and abs(len(candidate) - len(word)) <= limit:
            distance = edit_distance(word, candidate, limit)
            if distance <= limit:
                found.append((distance, -count, candidate))
    least = min(found, default=(0, 0, ""))[0]
    return tuple(candidate for distance, _, candidate in sorted(found) if distance == least)[:4]
