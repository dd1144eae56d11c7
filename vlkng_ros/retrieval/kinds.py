"""Words for whole kinds of things, and what is of each: every cat is an animal, and "a vehicle" may be a bus.

The kinds are the super-categories of COCO (Lin et al., 2014) with their classes, and everyday words for some more.
A question for a kind is answered by what is of it, never the other way round.
"""

from __future__ import annotations

from functools import lru_cache

from vlkng_ros.memory.words import COLORS, SIZES, stem, stems, tokens

KINDS: dict[tuple[str, ...], str] = {
    ("animal", "creature"): (
        "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, pigeon, squirrel, duck, goose, rabbit, "
        "pig, goat, deer, fox, monkey, lion, tiger, mouse, rat, fish, chicken, puppy, kitten, insect, snake, turtle"
    ),
    ("pet",): "cat, dog, rabbit, hamster, puppy, kitten, goldfish, parrot",
    ("vehicle",): (
        "car, truck, bus, van, bicycle, motorcycle, train, airplane, boat, scooter, tram, taxi, pickup truck, tractor, "
        "golf cart, ambulance, suv, ship, helicopter, trailer"
    ),
    ("furniture", "piece of furniture"): (
        "chair, sofa, bed, dining table, table, desk, bench, stool, shelf, bookshelf, cabinet, wardrobe, dresser, "
        "armchair, cupboard, drawer, nightstand"
    ),
    ("appliance", "kitchen appliance"): (
        "microwave, oven, toaster, refrigerator, stove, dishwasher, washing machine, dryer, kettle, coffee machine, "
        "vacuum cleaner, blender"
    ),
    ("electronic device", "electronics", "electronic", "gadget"): (
        "television, laptop, mouse, remote, keyboard, cell phone, computer, monitor, printer, tablet, camera, speaker, "
        "projector, screen"
    ),
    ("food",): (
        "banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake, bread, salad, fruit, cookie, "
        "soup, burger"
    ),
    ("fruit",): "banana, apple, orange, pear, grape, lemon, strawberry, pineapple, watermelon, peach",
    ("kitchenware", "tableware", "dish", "utensil", "cutlery"): (
        "bottle, wine glass, cup, fork, knife, spoon, bowl, plate, mug, pan, pot"
    ),
    ("container",): "bottle, cup, bowl, box, basket, bucket, bin, jar, can, mug, vase",
    ("luggage", "accessory"): "backpack, umbrella, handbag, tie, suitcase, purse",
    ("clothing", "clothes"): "shirt, jacket, coat, hat, pants, dress, shoe, jeans, sweater, skirt",
    ("sports equipment", "sports item"): (
        "frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard, "
        "tennis racket, ball"
    ),
    ("toy",): "teddy bear, doll, ball, kite, puzzle",
    ("plant",): "potted plant, tree, flower, bush, houseplant, shrub",
    ("person",): "man, woman, boy, girl, child, pedestrian, cyclist, lady, worker",
    ("human", "human being", "individual"): "person, man, woman, boy, girl, child",
    ("kitty", "kitten"): "cat",
    ("puppy", "doggy", "pup"): "dog",
    ("feline",): "cat",
    ("canine",): "dog",
    ("bike",): "bicycle, motorcycle",
    ("motor bike",): "motorcycle",
}  # fmt: skip
"""Names of a kind, and its things."""

_LITERAL = frozenset(("bike", "bikes"))
"""Names that are indexed as one of their things: "bicycle" is not asked for when "bike" is."""
_BY_STEMS = {
    stems(name): tuple(thing.strip() for thing in things.split(","))
    for names, things in KINDS.items()
    for name in names
    if name not in _LITERAL
}


@lru_cache(maxsize=4096)
def things_of_kind(phrase: str) -> tuple[str, ...]:
    """What a phrase may be that names a kind and no more than its color or size ("a red vehicle"); else nothing."""
    words = tokens(phrase)
    said = [word for word in words if word in COLORS or word in SIZES]
    kind = [word for word in words if word not in said]
    if len(kind) == 1 and kind[0] in _LITERAL:
        things = tuple(thing.strip() for thing in KINDS[("bike",)].split(","))
    else:
        things = _BY_STEMS.get(tuple(map(stem, kind)), ())
    return tuple(" ".join([*said, thing]) for thing in things)
