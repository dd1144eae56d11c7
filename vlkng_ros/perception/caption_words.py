"""Words that tell what a phrase of a caption is about."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FRAME = _words(
    "image picture photo photograph view scene shot frame video camera angle perspective side left right center centre "
    "middle background foreground top bottom front back rear corner edge end distance row line series pair group "
    "number lot variety kind type part area space setting atmosphere mood feel impression sense glow light lighting "
    "lights shadow reflection color colour pattern shape design style feature detail day time way direction moment "
    "weather brightness warmth tone addition contrast appearance look something nothing everything anything one other "
    "others thing things someone ones sun sunlight sunshine cloud clouds material surface pattern touch ambiance depth"
)
"""What captions say of the picture itself, of light and of order; nothing that a robot could find."""

PLACES = _words(
    "room kitchen bathroom bedroom hall hallway corridor lobby office entrance exit lounge cafeteria restaurant cafe "
    "garage basement attic terrace patio porch lab laboratory classroom library store shop supermarket market "
    "street road path pathway sidewalk walkway pavement crosswalk alley avenue highway intersection park garden lawn "
    "yard courtyard backyard plaza square campus playground field forest woods beach lake river pond bridge tunnel "
    "station platform airport stadium gym pool stairwell staircase driveway parking aisle warehouse gallery museum "
    "city town village neighborhood neighbourhood outdoors indoors sky ground floor interior exterior"
)
"""Heads of phrases that are locations."""

LOT = "parking lot"
"""A location, where "a lot of" is nothing."""

NOT_PLACES = frozenset({"sky", "ground", "floor", "interior", "exterior", "parking"})
"""Locations that are everywhere: no node is made of them."""

MOVERS = _words(
    "dog cat bird horse car truck bus van taxi vehicle motorcycle motorbike bicycle bike scooter train tram boat ship "
    "airplane plane helicopter robot cart animal cyclist skateboarder squirrel pigeon duck sheep cow"
)
"""What can do something by itself, beside persons."""

STATIVE = _words(
    "be have show appear seem suggest indicate give make create feature depict contain include capture take surround "
    "locate line consist add cast provide allow reflect display come look see use visible lead cover fill connect "
    "stretch extend overlook face shine lie loom dot arrange form run hang exist belong remain surrounding wear"
)
"""Verbs that say how things are, not that something happens."""

COLORS = _words(
    "red green blue yellow orange purple pink brown black white gray grey beige tan silver golden dark light-colored "
    "maroon turquoise"
)
SIZES = _words("small large big tall short long tiny huge wide narrow")
MATERIALS = _words("wooden wood metal brick concrete glass plastic stone leather paper steel marble fabric")
STATES = _words("empty full open closed broken parked wet dirty clean old new lit")
ATTRIBUTES = {"colour": COLORS, "size": SIZES, "material": MATERIALS, "state": STATES}
"""Attributes of EgoGraph's table 1 that one word names."""

NO = frozenset({"no", "without", "neither", "nor", "not"})
"""What follows is not there."""

NOUNS_IN_ING = _words(
    "building ceiling railing painting lighting awning opening crossing clothing parking siding paving"
)
"""Nouns that look like something done."""

SPATIAL = frozenset(
    {"front", "top", "side", "back", "middle", "center", "centre", "edge", "corner", "end", "left", "right"}
)
"""Nouns of compound prepositions: "in front of"."""

PLURALS = {
    "people": "person", "clothes": "clothes", "stairs": "stairs", "scissors": "scissors", "glasses": "glasses",
    "shelves": "shelf", "knives": "knife", "leaves": "leaf", "woods": "woods", "trousers": "trousers",
}  # fmt: skip
