"""How things stand to each other: whether one is beside, on or left of another, and how far apart two are."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from vlkng_ros.answering.confidence import confidence
from vlkng_ros.answering.things import Thing, closest, is_called, names_of, same_map
from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.channels import RELATED_FRAMES, StoredRelations, type_terms
from vlkng_ros.retrieval.hybrid_search import is_inside, wordings
from vlkng_ros.retrieval.phrases import head_of, is_doing
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.ranking import RELATION_REACH_M
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.retrieval.targets import Relation
from vlkng_ros.types import AnswerKind, Entity, Float64Array, PositionSource, Vec3

BY_DISTANCE = frozenset(("near", "between", "far from"))
"""Relations that places tell; of the others only an edge or a caption does."""
NEXT_TO = frozenset(("next to", "beside", "besides", "adjacent to", "alongside", "right by"))
NEXT_TO_M = 2.0
"""What is next to a thing is not as far from it as what is near, whatever the scale of a recording."""
AROUND = frozenset(("around", "in the vicinity of"))
AROUND_SCALE = 2.0
"""And what is around it may be twice as far."""
SIDES = {
    "left of": re.compile(r"\bleft\b"),
    "right of": re.compile(r"\bright\b"),
    "above": re.compile(r"\b(?:above|over)\b"),
    "over": re.compile(r"\b(?:above|over)\b"),
    "under": re.compile(r"\b(?:under|underneath|below|beneath)\b"),
    "behind": re.compile(r"\bbehind\b"),
}
"""Relations that a caption must say in so many words, in the sentence that names both things."""
ALSO_SAID = {"above": ("above", "over", "on"), "over": ("over", "above", "on")}
"""Edges that say what is asked; what is on a thing is above it."""
SYMMETRIC = frozenset(("near", "between", "opposite", "against"))
NEAR_ASKER_M = 30.0
"""How far around the asker things with a place of their own are looked for."""
MOST_AROUND = 200
SAME_SPOT_M = 0.1
CENTRES = 4
"""Entities of a thing around which others are looked for."""
THING_FRAMES = 20
"""Best frames of a thing whose entities are looked at."""
CLEAR = 0.5
"""Share of the best evidence for a thing from which a frame was taken near it."""
_PRONOUN = re.compile(r"^(?:it|them|him|her|me|us|you|there|this|that|these|those)$")
_EACH_OTHER = frozenset((("each other",), ("other",), ("one another",)))
_MAY = re.compile(r"\b(?:can|could|may|should) (?:i|we|one|people)\b")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a relation holds: None where the memory does not tell; ``also`` says what speaks for it."""

    yes: bool | None
    also: str = ""


class Relating:
    """Judges relations in a scene.

    Args:
        retriever: index and entities of the memory.
        finder: the preset's ranking of keyframes.
        scene: what the question may see.
        asker_m: where the asker stands.
        min_confidence: below it a thing was not seen.
    """

    def __init__(
        self, retriever: Retriever, finder: Finder, scene: Scene, asker_m: Vec3 | None, min_confidence: float
    ) -> None:
        self.retriever = retriever
        self.finder = finder
        self.view = finder.in_view
        self.scene = scene
        self.asker_m = asker_m
        self._min_confidence = min_confidence
        self.as_of_ns = int(scene.stamps_ns[-1])

    @property
    def reach_m(self) -> float:
        """How far apart things are that are near each other: what the ranking of places goes by, too."""
        return RELATION_REACH_M * self.scene.scale

    def reach_of(self, query: Query, relation: Relation) -> float:
        """How far apart things may be that stand so: next to a thing is nearer than near it, and around it farther."""
        if query.reach_m:
            return query.reach_m
        if relation.said in NEXT_TO:
            return min(self.reach_m, NEXT_TO_M)
        return self.reach_m * (AROUND_SCALE if relation.said in AROUND else 1.0)

    def thing(self, query: Query, phrase: str) -> Thing:
        """What the memory holds of a phrase."""
        asked = dataclasses.replace(
            query, target=phrase, whole=phrase, relation=None, kind=AnswerKind.POSITION, open=False, parts=()
        )
        found = self.finder.find(asked, self.scene, self.asker_m)
        sure = confidence(found.support, found.needed)
        seen = sure >= self._min_confidence and bool(len(found.peaks.frames))
        ids = self._ids(phrase, found) if seen and self.view else ()
        return Thing(phrase, sure, seen, found, ids, tuple(self._located(ids)))

    def _ids(self, phrase: str, found: Found) -> tuple[str, ...]:
        """The entities called so of the frames that show it best, in their order."""
        names = names_of(phrase)
        frames = self.scene.keyframe_ids[found.total.best(THING_FRAMES)].tolist()
        shown = self.retriever.reader.entities_in_each(self.view, frames)
        ids = dict.fromkeys(chain.from_iterable(shown[frame] for frame in frames))
        # Many are of few types.
        called = {type_ for type_ in {entity_id.rpartition("_")[0] for entity_id in ids} if is_called(type_, names)}
        return tuple(entity_id for entity_id in ids if entity_id.rpartition("_")[0] in called)

    def _located(self, ids: tuple[str, ...]) -> Iterator[Entity]:
        for entity_id in ids:
            try:
                entity = self.retriever.reader.entity(self.view, entity_id, self.as_of_ns)
            except NotInMemoryError:
                continue
            if entity.position.source is not PositionSource.ROBOT:
                yield entity

    # ------------------------------------------------------------------------------------------ places

    def away(self, thing: Thing) -> list[tuple[float, Entity]]:
        """How far the thing's entities are from the asker over the floor, nearest first, in the newest frame's map.

        Of many those of its best frames, and those around the asker.
        """
        here = self.viewed_from(len(self.scene) - 1)
        if self.asker_m is None or here is None or not thing.seen or not self.view:
            return []
        around = self._around(thing, self.asker_m, NEAR_ASKER_M, here[1], MOST_AROUND)
        entities = {entity.entity_id: entity for entity in (*thing.located, *around)}
        found = [(self.from_asker_m(e), e) for e in entities.values() if e.position.map_id == here[1]]
        return sorted(found, key=lambda entry: entry[0])

    def closest(self, one: Thing, other: Thing) -> tuple[float, Entity, Entity] | None:
        """The two entities of two things that stand closest, with their distance; None where they have no places.

        Of a hundred chairs the one beside the printer need not be among the best frames of a chair: besides what these
        show, what stands around it counts.
        """
        found = [pair] if (pair := closest(one, other)) is not None else []
        for centre, wanted in ((other, one), (one, other)):
            if not wanted.seen or any(away <= NEXT_TO_M for away, _, _ in found):
                continue
            for entity in centre.located[:CENTRES]:
                near = self._around(wanted, entity.position.mean_m, self.reach_m, entity.position.map_id, 2)
                beside = next((e for e in near if e.entity_id != entity.entity_id and same_map(e, entity)), None)
                if beside is not None:
                    both = (beside, entity) if wanted is one else (entity, beside)
                    found.append((math.dist(entity.position.mean_m, beside.position.mean_m), *both))
        return min(found, key=lambda entry: entry[0], default=None)

    def _around(self, thing: Thing, place_m: Vec3, reach_m: float, map_id: str, limit: int) -> list[Entity]:
        """Entities called as a thing is that have their own place near one, nearest first."""
        names = names_of(thing.phrase)
        near = self.retriever.reader.near(
            self.view, place_m, reach_m, self.as_of_ns, map_id, limit, lambda type_: is_called(type_, names)
        )
        return [entity for entity in near if entity.position.source is not PositionSource.ROBOT]

    def _between(self, thing: Thing, one: Entity, other: Entity) -> list[Entity]:
        """A thing's entities that may stand between two others."""
        x, y, z = np.add(one.position.mean_m, other.position.mean_m) / 2
        reach_m = math.dist(one.position.mean_m, other.position.mean_m) / 2 + self.reach_m
        around = self._around(thing, (x, y, z), reach_m, one.position.map_id, MOST_AROUND)
        return list({entity.entity_id: entity for entity in (*thing.located, *around)}.values())

    def from_asker_m(self, entity: Entity) -> float:
        """How far an entity is from the asker over the floor."""
        asker_m = self.asker_m if self.asker_m is not None else (0.0, 0.0, 0.0)
        return math.dist(entity.position.mean_m[:2], asker_m[:2])

    def viewed(self, thing: Thing) -> tuple[Float64Array, str] | None:
        """Where the robot stood when it saw a thing best, and in which map."""
        return self.viewed_from(thing.frames[0][0])

    def viewed_from(self, frame: int) -> tuple[Float64Array, str] | None:
        """Where the robot stood at a frame, and in which map."""
        try:
            keyframe = self.retriever.reader.keyframe(int(self.scene.keyframe_ids[frame]))
        except NotInMemoryError:
            return None
        return self.scene.positions_m[frame].astype(np.float64), keyframe.map_id

    def frame_of(self, entity: Entity) -> int | None:
        """The last frame of the scene that shows an entity, which is as the scene's end knows it."""
        if entity.last_seen_ns < int(self.scene.stamps_ns[0]):
            return None
        return self.scene.frame_of(entity.last_keyframe_id, self.retriever.index)

    # ------------------------------------------------------------------------------------------ relations

    def unknown_place(self, query: Query) -> str:
        """The room in which a thing, which was seen, is asked to be and that nobody named: it may be any that was."""
        relation = query.relation
        if relation is None or relation.predicate != "in" or is_doing(query.whole):
            return ""
        names = [name for name in relation.objects if not is_inside("in", name) and not _PRONOUN.search(name)]
        unknown = [name for name in names if not self.thing(query, name).seen]
        return " or ".join(unknown) if unknown and self.thing(query, query.target).seen else ""

    def judged(self, query: Query, relation: Relation) -> Judgement | None:
        """Whether the target, which was seen, stands so; None where no more is asked than that it was seen."""
        inside = is_inside(relation.predicate, relation.objects[0])
        if inside or _MAY.search(query.text.lower()) or any(_PRONOUN.search(other) for other in relation.objects):
            return None
        target = self.thing(query, query.target)
        if relation.objects in _EACH_OTHER and relation.predicate in BY_DISTANCE:
            return self._among_themselves(query, relation, target)
        others = [self.thing(query, other) for other in relation.objects]
        stored = self._stored(query, relation, target)
        if stored is not None:
            return stored
        if relation.predicate in BY_DISTANCE:
            return self._by_place(query, relation, target, others)
        if self._captioned(relation, target):
            return Judgement(True)
        named = " and ".join(thing.phrase for thing in (target, *others))
        edges = self._edges(relation, target)
        known = f"; I remember: {', '.join(edges)}" if edges else ""
        asked = f"{target.phrase} is {relation.predicate} {' and '.join(relation.objects)}"
        return Judgement(None, f"I saw {named}, and do not know whether {asked}{known}")

    def _stored(self, query: Query, relation: Relation, target: Thing) -> Judgement | None:
        """What edges say, where any says so or the reverse."""
        if not self.view:
            return None
        frames = [int(self.scene.keyframe_ids[f]) for f in target.found.total.best(RELATED_FRAMES)]
        edges = StoredRelations(self.retriever.reader, self.view)

        def said(of: str, predicate: str, objects: tuple[str, ...]) -> bool:
            for name in ALSO_SAID.get(predicate, (predicate,)):
                asked = dataclasses.replace(query, target=of, relation=Relation(name, objects))
                shown = edges.shown(asked, [w.text for w in wordings(of)], frames)
                if any(count >= len(objects) for count in shown.values()):
                    return True
            return False

        holds = said(target.phrase, relation.predicate, relation.objects)
        reverse = relation.predicate not in SYMMETRIC and said(
            relation.objects[0], relation.predicate, (target.phrase,)
        )
        told = ", ".join(self._edges(relation, target))
        if holds and reverse:
            return Judgement(None, f"I do not know: it looked different from where I stood; I remember: {told}")
        if holds or reverse:
            return Judgement(holds, f"I remember: {told}." if told else "")
        return None

    def _edges(self, relation: Relation, target: Thing) -> list[str]:
        """Stored edges between the target and the things it is related to, in words."""
        others = [frozenset(terms(other)) for other in relation.objects]
        said: dict[str, None] = {}
        for entity_id in target.entity_ids:
            for edge in self.retriever.reader.relations(self.view, entity_id, self.as_of_ns):
                far = edge.object_id if edge.subject_id == entity_id else edge.subject_id
                if any(other & type_terms(far) for other in others):
                    one, two = (name.rpartition("_")[0].replace("_", " ") for name in (edge.subject_id, edge.object_id))
                    said[f"{one} {edge.predicate} {two}"] = None
        return list(said)

    def _by_place(self, query: Query, relation: Relation, target: Thing, others: list[Thing]) -> Judgement:
        """Near, far and between: by places of their own, else by where the robot stood when it saw them."""
        reach_m = self.reach_of(query, relation)
        if relation.predicate == "between" and len(others) == 2:
            ends = [(a, b) for a in others[0].located for b in others[1].located if same_map(a, b)]
            between = [(t, pair) for pair in ends for t in self._between(target, *pair) if same_map(t, pair[0])]
            away = [_from_line(entity, *pair) for entity, pair in between]
            if away:
                return Judgement(min(away) <= reach_m)
        else:
            pairs = [self.closest(target, other) for other in others]
            if all(pair is not None for pair in pairs):
                apart = max(pair[0] for pair in pairs if pair is not None)
                placeless = [t.phrase for t in (target, *others) if len(t.located) < len(t.entity_ids)]
                if apart > reach_m and placeless:  # one of those may well be near
                    stated = f"those whose places I know are {apart:.1f} m apart"
                    return Judgement(None, f"I saw {' and '.join(placeless)} whose places I do not know; {stated}")
                return Judgement(
                    (apart <= reach_m) is not (relation.predicate == "far from"), f"They are {apart:.1f} m apart."
                )
        viewed = [self._viewed_apart(target, other) for other in others]
        named = " and ".join(other.phrase for other in others)
        told = relation.predicate != "far from" and not query.reach_m
        if told and all(apart is None or apart <= min(reach_m, self.reach_m) for apart in viewed):
            known = [apart for apart in viewed if apart is not None]
            from_m = f"places {max(known):.1f} m apart" if known and max(known) >= SAME_SPOT_M else "one place"
            also = f"I saw them from {from_m}; where they stand I do not know." if known else ""
            return Judgement(True, also)
        seen = f"I saw {target.phrase} and {named} from places far apart"
        return Judgement(None, f"{seen}, and do not know how they stand")

    def _among_themselves(self, query: Query, relation: Relation, target: Thing) -> Judgement:
        """Whether things of a kind stand near each other, or far apart: by the two that stand closest."""
        pair = self.closest(target, target)
        if pair is None:
            return Judgement(None, f"I saw {target.phrase}, and do not know how far they are from each other")
        near = pair[0] <= self.reach_of(query, relation)
        return Judgement(near is not (relation.predicate == "far from"), f"The closest are {pair[0]:.1f} m apart.")

    def _viewed_apart(self, one: Thing, other: Thing) -> float | None:
        """How far apart the robot stood when it saw two things clearly; None where one is known by words alone."""
        places = []
        for thing in (one, other):
            total = thing.found.total
            clear = [f for f in total.best(RELATED_FRAMES) if total.of(f) >= CLEAR * total.highest]
            places.append(self.scene.positions_m[clear, :2].astype(np.float64))
        if not len(places[0]) or not len(places[1]):
            return None  # the other thing's words alone were found: that is judged with the target's
        apart = places[0][:, None] - places[1][None]
        return float(np.hypot(apart[..., 0], apart[..., 1]).min())

    def _captioned(self, relation: Relation, target: Thing) -> bool:
        """Whether a caption says it: names both things, and of sides the side, too, in one sentence."""
        index, scene = self.retriever.index, self.scene
        names = [_heads(phrase) for phrase in (target.phrase, *relation.objects)]
        side = SIDES.get(relation.predicate)
        for frame in target.found.evidence.raw.best(RELATED_FRAMES):
            part = index.narrowed(scene.cut, frame, frame + 1)
            _, slots, caption = index.mentions_in(part)
            said = slots[caption].tolist()
            sentences = [(index.texts[slot].lower(), frozenset(index.terms_of[slot])) for slot in said]
            if side is None:
                named = all(any(name & words for _, words in sentences) for name in names)
            else:
                named = any(side.search(text) and all(name & words for name in names) for text, words in sentences)
            if named:
                return True
        return False


def sentences_about(relation: Relation, retriever: Retriever, scene: Scene, frame: int) -> list[str]:
    """Sentences of a frame's caption that name all objects of a relation, and of sides the side."""
    index, side = retriever.index, SIDES.get(relation.predicate)
    _, slots, caption = index.mentions_in(index.narrowed(scene.cut, frame, frame + 1))
    names = [_heads(phrase) for phrase in relation.objects]
    said = [slot for slot in slots[caption].tolist() if all(name & set(index.terms_of[slot]) for name in names)]
    texts = [index.texts[slot] for slot in said]
    return [text for text in texts if side is None or side.search(text.lower())]


def _from_line(entity: Entity, a: Entity, b: Entity) -> float:
    """How far an entity is from the line between two others, in metres; infinite beyond its ends."""
    start, end, at = (np.asarray(e.position.mean_m[:2]) for e in (a, b, entity))
    along = end - start
    length = float(along @ along)
    share = float((at - start) @ along) / length if length > 0 else 0.0
    return float(np.linalg.norm(at - start - share * along)) if 0.0 <= share <= 1.0 else float("inf")


def _heads(phrase: str) -> frozenset[str]:
    return frozenset(head for wording in wordings(phrase) if (head := head_of(wording.text)))
