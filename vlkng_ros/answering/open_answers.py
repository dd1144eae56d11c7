"""Answers to questions that name no target: what is nearest, first, on the table; and which of two it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from vlkng_ros.answering.confidence import confidence
from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.relating import MOST_AROUND, NEAR_ASKER_M, Relating, sentences_about
from vlkng_ros.answering.sightings import STAY_SHARE
from vlkng_ros.answering.statements import PEOPLE, beside
from vlkng_ros.answering.things import Thing
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.channels import StoredRelations
from vlkng_ros.retrieval.excluding import left_out
from vlkng_ros.retrieval.frame_scores import FrameScores
from vlkng_ros.retrieval.grammar import Superlative
from vlkng_ros.retrieval.phrases import head_of
from vlkng_ros.retrieval.presets import Finder
from vlkng_ros.retrieval.query import Query
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.retrieval.targets import Relation
from vlkng_ros.types import AnswerKind, Entity, PositionSource, Vec3

ROBOT = frozenset(("you", "robot", "yourself", "me", "us"))
"""Who asks, or is asked: what is in front of them is what was seen last."""
ANYTHING = frozenset(("anything", "something", "thing", "things", "object", "objects"))
TOLD = 8
"""Things named in an answer; of more it says how many."""
NEAR_M = 30.0
"""How far around a thing others with a place of their own are looked for."""
FARTHEST_FRAMES = 200
"""Frames, the farthest first, in which it is looked for the farthest thing."""
PLACES = 8
"""Of a thing that there are many of, around so many, those of the best frames, it is looked for what is near."""
LOOKED_AT = 10
"""Frames of a related thing whose stored relations are read."""
NAMED = 0.8
"""Confidence of what a stored relation or a place says; labels of the same frame are half as sure."""
LABEL_WORDS = 3


def of_choices(
    query: Query, retriever: Retriever, finder: Finder, scene: Scene, asker_m: Vec3 | None, min_confidence: float
) -> Draft:
    """Which of the alternatives is it: the better supported, or of two that were seen the nearer one."""
    found = []
    if not all(map(terms, query.choices)):  # "on the left or on the right"
        return Draft(query.kind, None, 0.0, reason=f"I do not know which: {' or '.join(query.choices)}")
    if query.superlative in (Superlative.NEAREST, Superlative.FARTHEST) and query.kind is AnswerKind.TEXT:
        relating = Relating(retriever, finder, scene, asker_m, min_confidence)
        if (placed := _nearer(query, relating)) is not None:
            return placed
    for choice in query.choices:
        asked = dataclasses.replace(
            query, target=f"{choice} {query.target}".strip(), choices=(), kind=AnswerKind.BINARY, definite=False
        )
        result = finder.find(asked, scene, asker_m)
        sure = confidence(result.support, result.needed)
        frames = tuple(zip(result.peaks.frames.tolist(), result.peaks.scores.tolist(), strict=True))
        if sure >= min_confidence and frames:
            key = frames[0][1]
            if query.superlative in (Superlative.NEAREST, Superlative.FARTHEST) and asker_m is not None:
                away = scene.positions_m[[f for f, _ in frames], :2].astype(np.float64) - np.asarray(asker_m[:2])
                nearest = float(np.hypot(away[:, 0], away[:, 1]).min())
                key = nearest if query.superlative is Superlative.FARTHEST else -nearest
            elif query.superlative in (Superlative.FIRST, Superlative.LAST):
                key = frames[0][0] * (1 if query.superlative is Superlative.LAST else -1)
            found.append((round(sure, 6) if query.superlative is None else 0.0, key, choice, sure, frames))
    thing = " or ".join(f"{choice} {query.target}".strip() for choice in query.choices)
    if query.kind is AnswerKind.BINARY:
        best = max(found, default=None, key=lambda entry: entry[:2])
        return Draft(query.kind, best is not None, best[3] if best else NAMED, best[4] if best else (), thing=thing)
    if not found and query.target and query.definite:
        known = Relating(retriever, finder, scene, asker_m, min_confidence).thing(query, query.target)
        if known.seen:
            reason = f"I saw {query.target}, and do not know which: {' or '.join(query.choices)}"
            return Draft(query.kind, None, 0.0, known.frames, reason=reason)
    if not found:
        return Draft(query.kind, None, NAMED, thing=thing)
    _, _, choice, sure, frames = max(found, key=lambda entry: entry[:2])
    return Draft(query.kind, choice, sure, frames, thing=thing)


def _nearer(query: Query, relating: Relating) -> Draft | None:
    """Which of the alternatives stands nearer to, or farther from, another thing or the asker; None where unknown."""
    to = query.relation.objects[0] if query.relation is not None else ""
    other = relating.thing(query, to) if to else None
    if other is not None and not other.seen:
        return Draft(query.kind, None, NAMED, thing=to)
    found: list[tuple[float, Thing, Entity]] = []
    for choice in query.choices:
        thing = relating.thing(query, f"{choice} {query.target}".strip())
        if not thing.seen:
            return None
        if other is not None and (pair := relating.closest(thing, other)) is not None:
            found.append((pair[0], thing, pair[1]))
        elif other is None and (known := relating.away(thing)):
            found.append((known[0][0], thing, known[0][1]))
    if len(found) < len(query.choices):
        if other is None:
            return None
        reason = f"I do not know how far {' and '.join(query.choices)} are from {to}"
        return Draft(query.kind, None, 0.0, other.frames, reason=reason)
    found.sort(key=lambda entry: entry[0], reverse=query.superlative is Superlative.FARTHEST)
    also = "; ".join(f"{thing.phrase}: {away:.1f} m" for away, thing, _ in found)
    frame = relating.frame_of(found[0][2])
    frames = ((frame, 1.0),) if frame is not None else found[0][1].frames
    also = f"{also[0].upper()}{also[1:]}."
    return Draft(query.kind, found[0][1].phrase, min(t.sure for _, t, _ in found), frames, thing="", also=also)


def of_anything(
    query: Query, retriever: Retriever, finder: Finder, scene: Scene, asker_m: Vec3 | None, min_confidence: float
) -> Draft:
    """What there is beside another thing, nearest to the asker, first or last, or in a time that is named."""
    if query.relation is not None:
        return _beside(query, query.relation, retriever, finder, scene, asker_m, min_confidence)
    by_distance = query.superlative in (Superlative.NEAREST, Superlative.FARTHEST)
    if by_distance and asker_m is not None and finder.in_view:
        relating = Relating(retriever, finder, scene, asker_m, min_confidence)
        placed = _nearest(query, relating) if query.superlative is Superlative.NEAREST else _farthest(query, relating)
        if placed is not None:
            return placed
    order = np.arange(len(scene))
    if query.present and not by_distance and query.superlative is None and not query.times and query.motion is None:
        order = order[-1:]
    if by_distance and asker_m is not None:
        away = scene.positions_m[:, :2].astype(np.float64) - np.asarray(asker_m[:2])
        order = np.argsort(np.hypot(away[:, 0], away[:, 1]), kind="stable")
    if query.superlative in (Superlative.LAST, Superlative.FARTHEST):
        order = order[::-1]
    if query.people:
        return _people(query, retriever, scene, order.tolist())
    if query.ordinal > 1 and query.superlative is None:
        named = list(first_seen(retriever, scene).items())[query.ordinal - 1 : query.ordinal]
        return _told(query, [name for name, _ in named], tuple(frame for _, frame in named))
    if query.superlative is None:
        names = labels_of(retriever, scene, int(order[0])) if len(order) == 1 else common_labels(retriever, scene)
        names = [name for name in names if not left_out(query.excluded, name)]
        told = _told(query, names, tuple(order.tolist()[:1]))
        return told if names else dataclasses.replace(told, reason="I have no name for what was in view then")
    for frame in order.tolist():
        names = labels_of(retriever, scene, frame)
        if names:
            told = _told(query, names, (frame,))
            also = "I go by where I saw it from; where it stands I do not know." if by_distance else ""
            return dataclasses.replace(told, also=also)
    return Draft(query.kind, None, 0.0)


def _people(query: Query, retriever: Retriever, scene: Scene, order: list[int]) -> Draft:
    """Who was seen; where it is asked who was first, last or nearest, whoever a frame in that order shows."""
    names = asked_for(query, common_labels(retriever, scene))
    if not names:
        return Draft(query.kind, None, 0.0, thing="anyone")
    shown = {name: frame for name, frame in first_seen(retriever, scene).items() if name in names}
    for frame in order if query.superlative is not None else ():
        if here := asked_for(query, labels_of(retriever, scene, frame, captions=not shown)):
            return _told(query, here, (frame,))
    return _told(query, names, tuple(sorted(set(shown.values()))[:1]) or tuple(order[:1]))


def is_anything(
    query: Query, retriever: Retriever, finder: Finder, scene: Scene, asker_m: Vec3 | None, min_confidence: float
) -> Draft:
    """Whether there was anything at all, or anything that stands so to another thing, and what; or it is not known."""
    asked = dataclasses.replace(query, kind=AnswerKind.TEXT, target="", open=True)
    draft = of_anything(asked, retriever, finder, scene, asker_m, min_confidence)
    if draft.value is None:
        reason = draft.reason or (f"I have not seen {draft.thing}" if draft.thing else "")
        return dataclasses.replace(draft, kind=query.kind, value=None, reason=reason, also="")
    also = f"I saw: {draft.value}. {draft.also}".strip()
    return dataclasses.replace(draft, kind=query.kind, value=not query.negated, thing="", also=also)


def _beside(
    query: Query,
    relation: Relation,
    retriever: Retriever,
    finder: Finder,
    scene: Scene,
    asker_m: Vec3 | None,
    min_confidence: float,
) -> Draft:
    """What stands to the named things as the question says, by stored relations, else by what else a frame shows."""
    if ROBOT.issuperset(relation.objects):
        ahead = relation.predicate in ("in front of", "near", "opposite")
        names = labels_of(retriever, scene, len(scene) - 1) if ahead else []
        reason = f"I do not know what is {relation.said or relation.predicate} me now"
        told = _told(query, names, (len(scene) - 1,))
        return told if names else dataclasses.replace(told, reason=reason)
    total: FrameScores | None = None
    shown: set[int] | None = None
    for other in relation.objects:
        asked = dataclasses.replace(query, target=other, relation=None, kind=AnswerKind.POSITION, open=False)
        found = finder.find(asked, scene, asker_m)
        if confidence(found.support, found.needed) < min_confidence or not len(found.peaks.frames):
            return Draft(query.kind, None, NAMED, thing=other)
        share = found.total.weighted(1 / (found.total.highest or 1.0))
        total = share if total is None else total.times(share)
        clear = set(found.evidence.raw.at_least(STAY_SHARE * found.evidence.raw.highest).tolist())
        shown = clear if shown is None else shown & clear
    best = total.best(LOOKED_AT) if total is not None else []
    if not best:
        return Draft(query.kind, None, NAMED, thing=" and ".join(relation.objects))
    nearest = ""
    if finder.in_view:
        stored = StoredRelations(retriever.reader, finder.in_view)
        frames_of_edges = best if query.superlative is not Superlative.FARTHEST else []
        keyframes = {int(scene.keyframe_ids[frame]): frame for frame in frames_of_edges}
        for exact in (True,) if relation.predicate == "between" else (True, False):
            for keyframe_id, shown_so in stored.beside(relation, list(keyframes), exact=exact):
                if related := asked_for(query, shown_so):
                    return _told(query, related, (keyframes[keyframe_id],), sure=NAMED)
        if relation.predicate == "near":
            relating = Relating(retriever, finder, scene, asker_m, min_confidence)
            placed = _placed_beside(query, relation, relating, retriever, finder.in_view, scene)
            if placed.value is not None:
                return placed
            nearest = placed.also
    frames = tuple((frame, 1.0) for frame in best)
    reason = f"I do not know what was {relation.said or relation.predicate} {' and '.join(relation.objects)}{nearest}"
    said = frozenset(term for other in relation.objects for term in terms(other))
    heads = frozenset(head for other in relation.objects if (head := head_of(other)))
    for frame in best:
        for text in sentences_about(relation, retriever, scene, frame):
            if (named := beside(text, relation.predicate, heads)) and asked_for(query, [named]):
                return _told(query, [named], (frame,), sure=NAMED)
    for frame in best:
        labels = [(name, frozenset(terms(name))) for name in labels_of(retriever, scene, frame)]
        for text in sentences_about(relation, retriever, scene, frame):
            words = frozenset(terms(text))
            names = [name for name, label in labels if label <= words and not label & said]
            if names := asked_for(query, names):
                return _told(query, names, (frame,), sure=NAMED)
    for frame in best:
        names = [name for name in labels_of(retriever, scene, frame) if not said & frozenset(terms(name))]
        if (
            (names := asked_for(query, names)) and shown is not None and frame in shown
        ):  # what a picture shows at once need not stand so
            reason += f"; in one picture with it I saw: {listed(names)}"
            break
    return Draft(query.kind, None, 0.0, frames, reason=reason)


def _placed_beside(
    query: Query, relation: Relation, relating: Relating, retriever: Retriever, view: str, scene: Scene
) -> Draft:
    """What has its own place near that of the named thing; without a value where that has none, or nothing is near.

    ``also`` of a draft without a value names the nearest thing all the same, as the end of a sentence.
    """
    named = relating.thing(query, relation.objects[0])
    one = query.superlative in (Superlative.NEAREST, Superlative.FARTHEST)
    reach_m = NEAR_M if one else relating.reach_of(query, relation)

    def within(radius_m: float) -> list[tuple[float, Entity]]:
        known = [
            (float(np.linalg.norm(np.subtract(entity.position.mean_m, place.mean_m))), entity)
            for place in (located.position for located in named.located[:PLACES])
            for entity in retriever.reader.near(
                view, place.mean_m, radius_m, int(scene.stamps_ns[-1]), map_id=place.map_id, limit=LOOKED_AT
            )
            if entity.entity_id not in named.entity_ids and entity.position.source is not PositionSource.ROBOT
            if asked_for(query, [entity.label])
        ]
        known.sort(key=lambda found: found[0])
        return list({entity.entity_id: (away, entity) for away, entity in reversed(known)}.values())[::-1]

    around = within(reach_m)
    known = around or within(NEAR_M)
    if one:
        around = around[:1] if query.superlative is Superlative.NEAREST else around[-1:]
    frame = relating.frame_of(around[0][1]) if around else None
    if frame is not None:
        told = _told(query, list(dict.fromkeys(entity.label for _, entity in around)), (frame,), sure=NAMED)
        away = max(away for away, _ in around)
        far = f"{away:.1f} m from it." if len(around) == 1 else f"Each at most {away:.1f} m from it."
        return dataclasses.replace(told, also=far)
    also = f"; the nearest whose place I know is {known[0][1].label}, {known[0][0]:.1f} m from it" if known else ""
    return Draft(query.kind, None, 0.0, also=also)


def _nearest(query: Query, relating: Relating) -> Draft | None:
    """The thing whose own place is nearest to the asker; None where none has one."""
    if relating.asker_m is None:
        return None
    around = relating.retriever.reader.near(
        relating.view, relating.asker_m, NEAR_ASKER_M, relating.as_of_ns, limit=MOST_AROUND
    )
    placed = [entity for entity in around if entity.position.source is not PositionSource.ROBOT]
    if not query.reach_m:
        return _at_place(query, relating, placed)
    within = [entity for entity in placed if relating.from_asker_m(entity) <= query.reach_m]
    frame = relating.frame_of(within[0]) if within else None
    names = list(dict.fromkeys(entity.label for entity in within))
    if frame is None:
        return Draft(query.kind, None, 0.0, reason="I know of nothing so near")
    return _told(query, names, (frame,), sure=NAMED)


def _farthest(query: Query, relating: Relating) -> Draft | None:
    """The thing whose own place is farthest from the asker, of those seen from the farthest frames; None for none."""
    scene, reader = relating.scene, relating.retriever.reader
    asker_m = np.asarray(relating.asker_m)
    away_m = np.linalg.norm(scene.positions_m[:, :2].astype(np.float64) - asker_m[:2], axis=1)
    here = relating.viewed_from(len(scene) - 1)
    known: dict[str, Entity] = {}
    best_m = 0.0
    for frame in np.argsort(-away_m, kind="stable").tolist()[:FARTHEST_FRAMES]:
        if known and away_m[frame] + NEAR_ASKER_M < best_m:
            break
        for name in relating.retriever.reader.entities_in(relating.view, int(scene.keyframe_ids[frame])).values():
            if name in known:
                continue
            entity = known[name] = reader.entity(relating.view, name, relating.as_of_ns)
            if entity.position.source is not PositionSource.ROBOT:
                best_m = max(best_m, relating.from_asker_m(entity))
    placed = [e for e in known.values() if e.position.source is not PositionSource.ROBOT]
    placed = [e for e in placed if here is not None and e.position.map_id == here[1]]
    return _at_place(query, relating, sorted(placed, key=relating.from_asker_m, reverse=True))


def _at_place(query: Query, relating: Relating, entities: list[Entity]) -> Draft | None:
    """The first of some things that the scene shows and that are asked for."""
    for entity in entities:
        frame = relating.frame_of(entity) if asked_for(query, [entity.label]) else None
        if frame is not None:
            value = frame if query.kind is AnswerKind.POSITION else entity.label
            also = f"It is {relating.from_asker_m(entity):.1f} m away."
            return Draft(query.kind, value, NAMED, ((frame, 1.0),), thing=entity.label, also=also)
    return None


def labels_of(retriever: Retriever, scene: Scene, frame: int, *, captions: bool = True) -> list[str]:
    """What was detected in a frame, by short names; where nothing was, what its caption says first if ``captions``."""
    index = retriever.index
    part = index.narrowed(scene.cut, frame, frame + 1)
    _, slots, caption = index.mentions_in(part)
    texts = list(dict.fromkeys(index.texts[int(slot)] for slot in slots[~caption]))
    names = list(short_names(texts)) or texts
    return names or [index.texts[int(slot)] for slot in slots[:1] if captions]


def first_seen(retriever: Retriever, scene: Scene) -> dict[str, int]:
    """What was detected, with the frame of the scene that showed it first, in that order."""
    index = retriever.index
    frames, slots, caption = index.mentions_in(scene.cut)
    _, first = np.unique(slots[~caption], return_index=True)
    frames, slots = frames[~caption][np.sort(first)], slots[~caption][np.sort(first)]
    return dict(zip((index.texts[slot] for slot in slots.tolist()), (frames - scene.cut.first).tolist(), strict=True))


def common_labels(retriever: Retriever, scene: Scene) -> list[str]:
    """What most frames of a scene show, most frequent first."""
    index = retriever.index
    _, slots, caption = index.mentions_in(scene.cut)
    counts = np.bincount(slots[~caption] if (~caption).any() else slots)
    named = np.flatnonzero(counts)
    return [index.texts[slot] for slot in named[np.argsort(-counts[named], kind="stable")].tolist()]


def asked_for(query: Query, names: list[str]) -> list[str]:
    """The names that may answer: of "who" those of people."""
    return [name for name in names if PEOPLE & frozenset(terms(name))] if query.people else names


def short_names(names: Iterable[str]) -> Iterator[str]:
    """Those that name a thing, and do not describe it."""
    return (name for name in names if len(name.split()) <= LABEL_WORDS)


def listed(names: list[str]) -> str:
    """Names in one line, and how many more there are."""
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    told = [name.rstrip(".") for name in names[:TOLD]]
    return ("; " if any(len(name.split()) > LABEL_WORDS for name in told) else ", ").join(told) + more


def _told(query: Query, names: list[str], frames: tuple[int, ...], sure: float = NAMED / 2) -> Draft:
    text = listed(names)
    return Draft(query.kind, text or None, sure if text else 0.0, tuple((frame, 1.0) for frame in frames), thing=text)
