"""What people call things, and what they want them for: other wordings of a target, in the words of captions.

A small thesaurus of everyday indoor and street vocabulary, so that "somewhere to sit" finds a bench and "trash can" a
waste bin without a model; embeddings do the rest where there is an encoder. Entries are wordings of one thing, or of
a need followed by the things that meet it. Nothing in it is about a particular place.
"""

from __future__ import annotations

from functools import lru_cache

from vlkng_ros.memory.words import COLORS, SIZES, STOP_WORDS, stem, tokens
from vlkng_ros.retrieval.kinds import things_of_kind

SAME: tuple[tuple[str, ...], ...] = (
    ("sofa", "couch", "studio couch", "settee"),
    ("trash can", "trash bin", "garbage can", "waste container", "waste bin", "dustbin", "rubbish bin", "litter bin"),
    ("recycling bin", "recycle bin", "blue bin", "recycling container"),
    ("elevator", "lift"),
    ("stairs", "staircase", "stairway", "steps", "flight of stairs"),
    ("restroom", "toilet", "bathroom", "washroom", "lavatory"),
    ("laptop", "notebook computer", "laptop computer"),
    ("cup", "mug", "coffee cup", "coffee mug", "teacup"),
    ("refrigerator", "fridge"),
    ("mobile phone", "cell phone", "cellphone", "smartphone", "mobile"),
    ("bicycle", "bike"),
    ("bike rack", "bicycle rack", "bicycles parked", "bicycle stand"),
    ("bicyclist", "cyclist", "biker", "person riding a bicycle", "people riding bicycles"),
    ("motorcycle", "motorbike"),
    ("scooter", "person riding a scooter", "electric scooter"),
    ("skateboard", "person riding a skateboard", "skateboarder"),
    ("street light", "street lamp", "lamp post", "lamppost"),
    ("crosswalk", "pedestrian crossing", "zebra crossing"),
    ("sculpture", "statue", "monument", "public art"),
    ("human picture", "portrait", "picture of a man", "picture of a woman", "picture of a person", "photo of a person"),
    ("pants", "trousers"),
    ("sign", "signboard", "signage"),
    ("hallway", "corridor"),
    ("water fountain", "drinking fountain", "water dispenser"),
    ("outlet", "power socket", "power plugs and sockets", "electrical outlet"),
    ("emergency phone", "emergency call box", "police call box", "blue light phone", "pole with a blue light"),
    ("first aid kit", "first aid box", "defibrillator"),
    ("bus stop", "bus shelter"),
    ("bollard", "traffic post"),
    ("sidewalk", "pavement", "walkway", "footpath"),
    ("barrier", "barricade"),
    ("chatting", "talking", "having a conversation", "engaged in conversation"),
    ("car", "automobile"),
    ("truck", "lorry"),
    ("lobby", "foyer", "entrance hall"),
    ("cafeteria", "canteen", "dining hall"),
    ("parking lot", "car park"),
    ("television", "tv", "tv set", "television set", "tv screen", "telly"),
    ("houseplant", "potted plant"),
    ("dining table", "kitchen table", "dinner table"),
    ("traffic light", "stoplight", "traffic signal"),
    ("airplane", "plane", "aeroplane"),
    ("remote", "remote control"),
    ("mouse", "computer mouse"),
    ("keyboard", "computer keyboard"),
    ("backpack", "rucksack"),
    ("sink", "washbasin", "wash basin"),
    ("hair drier", "hair dryer"),
    ("fire hydrant", "hydrant"),
    ("stove", "cooker"),
    ("cupboard", "cabinet"),
)  # fmt: skip
"""Wordings of one thing, each for each."""

KINDS: tuple[tuple[str, ...], ...] = (
    ("car", "sedan", "suv"),
    ("truck", "pickup truck", "delivery truck"),
    ("wall art", "painting", "artwork", "mural", "framed picture", "picture on the wall", "picture frame"),
    ("painting", "mural", "picture frame"),
    ("poster", "flyer", "banner"),
    ("plant", "houseplant", "potted plant"),
    ("footwear", "shoe", "sneaker", "boot"),
    ("shoe", "sneaker", "boot"),
    ("coat", "jacket"),
    ("bag", "handbag", "backpack", "purse", "suitcase"),
    ("door", "doorway", "entrance"),
    ("entrance", "doorway"),
    ("lobby", "atrium"),
    ("restaurant", "cafeteria", "cafe"),
    ("parking lot", "parking garage"),
    ("screen", "television", "monitor", "display"),
)  # fmt: skip
"""A general word, then kinds of it: every sedan is a car, and not every car a sedan. Who asks whether there
was a kind is not answered by another; who asks for the way to one may be helped by it."""

NEEDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("sit", "seat", "seating", "rest my legs", "take a rest"),
     ("chair", "bench", "sofa", "couch", "stool", "seating area")),
    (("eat", "food", "hungry", "lunch", "dinner", "breakfast"),
     ("restaurant", "cafeteria", "food stand", "dining table", "kitchen")),
    (("drink", "thirsty", "coffee", "something to drink", "get water", "refill my bottle", "fill my bottle"),
     ("water fountain", "vending machine", "coffee machine", "cafe")),
    (("throw away", "throw out", "dispose", "garbage", "trash", "litter"),
     ("trash can", "trash bin", "waste container")),
    (("recycle", "recycling", "recyclable"), ("recycling bin", "blue bin", "blue trash can", "trash can")),
    (("pee", "wash my hands", "freshen up"), ("restroom", "toilet", "bathroom", "sink")),
    (("upstairs", "downstairs", "second floor", "another floor", "next floor", "go up", "third floor", "upper floor"),
     ("stairs leading up to the second floor", "staircase", "elevator", "escalator")),
    (("call the police", "police call", "call police", "call for help", "emergency call", "emergency phone",
      "phone call"),
     ("emergency phone", "pole with a blue light", "emergency call box", "police help sign")),
    (("sleep", "lie down", "nap"), ("bed", "sofa", "couch")),
    (("work", "study", "write"), ("desk", "table", "office", "library")),
    (("charge", "plug in"), ("outlet", "power socket", "charging station")),
    (("park my bike", "lock my bike", "park a bike", "park my bicycle"), ("bike rack", "bicycles parked")),
    (("park my car", "park a car", "parking"), ("parking lot", "parking garage")),
    (("buy", "shop", "shopping"), ("store", "shop", "vending machine", "market")),
    (("way out", "leave the building", "get out"), ("exit", "exit sign", "door")),
    (("read", "something to read"), ("book", "bookshelf", "library", "newspaper")),
    (("catch a bus", "take a bus"), ("bus stop", "bus")),
    (("extinguish", "put out a fire"), ("fire extinguisher", "fire hydrant")),
)  # fmt: skip


def _stems(phrase: str) -> tuple[str, ...]:
    return tuple(stem(token) for token in tokens(phrase))


_SAME = tuple(tuple((wording, _stems(wording)) for wording in group) for group in SAME)
_KINDS = tuple(tuple((wording, _stems(wording)) for wording in group) for group in KINDS)
_NEEDS = tuple((tuple(_stems(need) for need in needs), things) for needs, things in NEEDS)


_NOUNS = frozenset(
    map(_stems, ("food", "coffee", "lunch", "dinner", "breakfast", "garbage", "trash", "litter", "recyclable"))
)
"""Needs that name a thing: whether there was food is not answered by a table, and the way to some may be."""

_QUALIFIERS = COLORS | SIZES | STOP_WORDS | {"area", "place", "room", "somewhere", "something", "spot", "go", "get"}
"""Words that leave a need what the phrase is about: "somewhere to", "the yellow"."""


def _find(inside: tuple[str, ...], part: tuple[str, ...]) -> int:
    """Where ``part`` stands in ``inside`` word by word, or -1."""
    width = len(part)
    return next((i for i in range(len(inside) - width + 1) if inside[i : i + width] == part), -1)


def _is_wish(words: list[str], at: int) -> bool:
    """Whether a need is what a phrase is about: "a man sitting at a desk" is no wish to sit."""
    before = words[: max(at, 0)]
    return at >= 0 and (before[-1:] in (["to"], ["for"]) or _QUALIFIERS.issuperset(before))


@lru_cache(maxsize=4096)
def other_wordings(phrase: str, *, loose: bool = True, limit: int = 8) -> tuple[str, ...]:
    """Other wordings of a target: synonyms and kinds put in its place, things that meet the need it names.

    Args:
        phrase: the target.
        loose: also the general word of a kind, and its other kinds.
        limit: wordings at most, besides what is of a kind that the target names.
    """
    said = _stems(phrase)
    words = tokens(phrase)
    found: list[str] = []
    for needs, things in _NEEDS:
        wished = needs if loose else [need for need in needs if need not in _NOUNS]
        if any(_is_wish(words, _find(said, need)) for need in wished):
            found += things
    for groups, symmetric in ((_SAME, True), (_KINDS, loose)):
        for group in groups:
            hits = [(len(stems), _find(said, stems), wording) for wording, stems in group if _find(said, stems) >= 0]
            if not hits:
                continue
            width, start, taken = max(hits)
            if not symmetric and taken != group[0][0]:
                continue
            for wording, stems in group:
                if wording != taken and stems != said[start : start + width]:
                    found.append(" ".join([*words[:start], wording, *words[start + width :]]))
    others = tuple(dict.fromkeys(w for w in found if _stems(w) != said))[:limit]
    return tuple(dict.fromkeys((*others, *things_of_kind(phrase))))
