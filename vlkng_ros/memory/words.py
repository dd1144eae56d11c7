"""Words as retrieval counts them: tokens, stems, stop words, numbers, and the nearest known spelling.

English, because the models that write captions do. The stemmer only takes inflection off (plurals, -ed, -ing, -er
of doing): what derivation adds ("entrance" of "enter") is left to the embeddings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from vlkng_ros.plurals import singular

_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any appear appears are as at atmosphere background be been
    before being but by can center centre could did do does doing down during each else ever few for foreground
    from further had has have having he her here hers him his how i if image in into is it its itself just left
    let like made may me might mood more most must my no nor not now of off on once only or other our out over
    overall own please right same saw see seen several shall she should show shows side so some such suggest
    suggests than that the their them then there these they thing things this those through to too two under
    until up upon us various very visible was we were what when where which while who whom why will with would
    you your
    """.split()  # noqa: SIM905
)
"""Function words, and the words in which captions talk about themselves."""

COLORS = frozenset(
    """
    beige black blue brown cream cyan gold golden gray green grey khaki lavender magenta maroon navy olive
    orange pink purple red silver tan teal turquoise violet white yellow
    """.split()  # noqa: SIM905
)

SIZES = frozenset(
    """
    beautiful big giant huge large little long nice pretty short small tall tiny wide
    """.split()  # noqa: SIM905
)
"""Words on which two people who saw the same thing differ."""

_COUNTING = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
    """.split()  # noqa: SIM905
NUMBERS = {word: value for value, word in enumerate(_COUNTING)} | {
    "a": 1,
    "an": 1,
    "couple": 2,
    "dozen": 12,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "hundred": 100,
}

_IRREGULAR = {
    form: base
    for base, forms in {
        "person": "people persons",
        "man": "men",
        "woman": "women",
        "child": "children",
        "foot": "feet",
        "tooth": "teeth",
        "mouse": "mice",
        "goose": "geese",
        "leaf": "leaves",
        "shelf": "shelves",
        "knife": "knives",
        "sit": "sat",
        "stand": "stood",
        "run": "ran",
        "ride": "rode riding",
        "wear": "wore",
        "hold": "held",
        "drive": "drove",
        "lie": "lying",
        "gray": "grey",
        "bicycle": "bike bikes",
        "bicyclist": "cyclist cyclists",
        "car": "auto autos",
        "sofa": "sofas couch couches",
        "stairs": "stair staircase staircases stairway stairways",
        "trash": "trashcan",
        "refrigerator": "fridge",
        "television": "tv",
        "phone": "cellphone cellphones",
        "motorcycle": "motorbike motorbikes",
        "lamp": "lamppost lampposts",
        "center": "centre",
        "color": "colour colours",
    }.items()
    for form in forms.split()
}
"""Forms that rules miss, and everyday words for one thing; each maps to the stem that is indexed."""

_ABBREVIATIONS = re.compile(r"^[bcdfghjklmnpqrtvwxz]{2}s$")
"""The plural of two letters that stand for a name: TVs, PCs, CDs. Longer ones ("ATMs") lose their s like any word."""

_KEEP = frozenset(
    """
    across always bus chess dress gas glass grass lens less news series species stairs this
    """.split()  # noqa: SIM905
)


def tokens(text: str) -> list[str]:
    """The words of a text in order, lower-case, without punctuation; possessive endings are dropped."""
    plain = text.lower().replace("’", "'")
    found: list[str] = _TOKEN.findall(plain)
    return [token.partition("'")[0] for token in found] if "'" in plain else found


@lru_cache(maxsize=1 << 16)
def stems(text: str) -> tuple[str, ...]:
    """Stems of all the words of a text, in order."""
    return tuple(map(stem, tokens(text)))


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """A lower-case word without its inflection."""
    if word in _IRREGULAR:
        return _without_mute_e(_IRREGULAR[word])
    if _ABBREVIATIONS.search(word):
        return stem(word[:-1])
    if len(word) < 4 or word in _KEEP or not word.isalpha():
        return word
    base = singular(word)
    if base in _IRREGULAR:
        return _without_mute_e(_IRREGULAR[base])
    for ending in ("ing", "ed"):
        root = base[: -len(ending)]
        if base.endswith(ending) and len(root) >= 3 and re.search("[aeiouy]", root):
            return _restored(root)
    return _without_mute_e(base)


def _without_mute_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _restored(root: str) -> str:
    """What is left of -ed and -ing: a doubled consonant is halved, a mute e is never kept (see ``stem``)."""
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz":
        return root[:-1]
    return root


def terms(text: str) -> list[str]:
    """Stems of the words of a text that mean something by themselves, in order, with repeats."""
    return list(_terms(text))


@lru_cache(maxsize=1 << 14)
def _terms(text: str) -> tuple[str, ...]:
    """Kept, since labels and questions are looked at again and again."""
    return tuple([stem(token) for token in tokens(text) if is_content(token)])


def is_content(token: str) -> bool:
    """Whether a word means something by itself."""
    return token not in STOP_WORDS and (len(token) > 1 or token.isdigit())


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


def near_spellings(word: str, known: Iterable[str]) -> list[str]:
    """The known words that ``word`` may be a misspelling of: all those at the least distance, in their order.

    One edit for words of 5 letters or more, two from 9; the first letter is trusted. Which of several is meant is
    left to the other words of the phrase.

    Args:
        word: a stem that is not known.
        known: stems.
    """
    if len(word) < 5 or not word.isalpha():
        return []
    limit = 2 if len(word) >= 9 else 1
    found: list[str] = []
    for candidate in known:
        if candidate[:1] == word[0] and len(candidate) >= 4 and abs(len(candidate) - len(word)) <= limit:
            distance = edit_distance(word, candidate, limit)
            if distance < limit:
                limit, found = distance, []
            if distance <= limit:
                found.append(candidate)
    return found


COLOR_STEMS = frozenset(stem(color) for color in COLORS)
"""Colors as they are indexed."""
SIZE_STEMS = frozenset(stem(size) for size in SIZES)
