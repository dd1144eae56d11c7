"""What a model said about a keyframe, checked and turned into rows."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.memory.fold import KINDS
from vlkng_ros.memory.keyframe_rows import Seen
from vlkng_ros.memory.packing import (
    pack_attributes,
    pack_box,
    pack_vector,
    unpack_attributes,
    unpack_box,
    unpack_vector,
)
from vlkng_ros.memory.scene import Scene
from vlkng_ros.memory.spans import CHUNK, add_span
from vlkng_ros.memory.texts import sentences_of
from vlkng_ros.memory.transactions import Head, Store
from vlkng_ros.types import Detection, Observation, Perception


def check(perception: Perception) -> None:
    """A perception must hold together before anything of it is stored: model output is data.

    Raises:
        InvalidInputError: says which detection or relation, and what is wrong with it.
    """
    for index, detection in enumerate(perception.detections):
        problem = _problem(detection)
        if problem:
            raise InvalidInputError(f"detection {index} ('{detection.label}'): {problem}")
    count = len(perception.detections)
    for mention in perception.relations:
        if not (0 <= mention.subject < count and 0 <= mention.object < count):
            raise InvalidInputError(f"{mention}: names a detection that is not there; there are {count}")
        if not mention.predicate.strip():
            raise InvalidInputError(f"{mention}: the predicate is empty")


def _problem(detection: Detection) -> str:
    if not detection.label.strip():
        return "the label is empty"
    if detection.box_px is not None:
        x1, y1, x2, y2 = detection.box_px
        if not all(math.isfinite(side) for side in detection.box_px):
            return f"box {detection.box_px} is not finite"
        if not (x1 < x2 and y1 < y2):
            return f"box {detection.box_px} is not (x1, y1, x2, y2) with x1 < x2 and y1 < y2"
    if detection.score is not None and not math.isfinite(detection.score):
        return f"score {detection.score} is not finite"
    if detection.depth_m is not None and not math.isfinite(detection.depth_m):
        return f"depth {detection.depth_m} is not finite; None means unknown"
    if detection.embedding is not None and not bool(np.all(np.isfinite(detection.embedding))):
        return "the embedding is not finite"
    return ""


def texts_of(perception: Perception) -> list[str]:
    """What a question can find in it: labels, region texts, then the caption's sentences."""
    texts = [detection.label for detection in perception.detections]
    texts += [detection.region_text for detection in perception.detections if detection.region_text]
    return texts + sentences_of(perception.caption)


def store(memory: Store, head: Head, seen: Seen, perception: Perception, numbers: Mapping[str, int]) -> Scene:
    """Write a checked perception of a keyframe, inside a transaction; its texts are stored already.

    Args:
        memory: where to.
        head: the operation's.
        seen: the keyframe.
        perception: what a model said about it.
        numbers: ids of the perception's texts.

    Returns:
        The described keyframe, as it would be read back.
    """
    connection, catalogs = memory.connection, memory.catalogs
    keyframe_id, first_observation = seen.keyframe.keyframe_id, head.observation + 1
    backend, model = perception.backend, perception.model
    rows, crops, observations = [], [], []
    for number, d in enumerate(perception.detections, start=first_observation):
        attributes, box = pack_attributes(d.attributes), pack_box(d.box_px)
        vector = None if d.embedding is None else pack_vector(d.embedding)
        score, depth_m = None if d.score is None else float(d.score), None if d.depth_m is None else float(d.depth_m)
        rows.append(
            (
                number,
                keyframe_id,
                KINDS.index(d.kind),
                numbers[d.label],
                numbers[d.region_text] if d.region_text else None,
                catalogs.term_number(attributes),
                catalogs.term_number(d.local_id),
                box,
                score,
                depth_m,
                int(d.told),
            )
        )
        if vector is not None:
            crops.append((number, vector))
        detection = Detection(
            d.label,
            unpack_box(box),
            score,
            d.region_text,
            unpack_attributes(attributes),
            d.kind,
            d.local_id,
            None if vector is None else unpack_vector(vector),
            depth_m,
            bool(d.told),
        )
        observations.append(Observation(number, keyframe_id, detection, backend, model))
    sentences = sentences_of(perception.caption)
    connection.executemany("INSERT INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    if crops:
        connection.executemany("INSERT INTO crop VALUES (?, ?)", crops)
    connection.executemany(
        "INSERT INTO keyframe_text VALUES (?, ?, ?)",
        [(keyframe_id, i, numbers[sentence]) for i, sentence in enumerate(sentences)],
    )
    if perception.relations:
        connection.executemany(
            "INSERT OR IGNORE INTO relation_fact VALUES (?, ?, ?, ?)",
            [
                (
                    keyframe_id,
                    first_observation + mention.subject,
                    catalogs.term_number(" ".join(mention.predicate.split())),
                    first_observation + mention.object,
                )
                for mention in perception.relations
            ],
        )
    span = None
    if perception.chunk:
        span = add_span(connection, CHUNK, perception.chunk, perception.summary, head.span, head.revision)
        head.span = max(head.span, span)
    head.description += 1
    head.observation += len(rows)
    head.observations += len(rows)
    made_by = [catalogs.term_number(name) for name in (backend, model, perception.visual_encoder)]
    connection.execute(
        "UPDATE keyframe SET state = 1, described = ?, revision = ?, first_observation = ?, observations = ?, "
        "backend = ?, model = ?, visual_encoder = ?, span = ?, failure = ? WHERE id = ?",
        (
            head.description,
            head.revision,
            first_observation,
            len(rows),
            *made_by,
            span,
            perception.incomplete or None,
            keyframe_id,
        ),
    )
    keyframe = memory.keyframes.remember_described(seen, " ".join(sentences), head.revision)
    return Scene(keyframe, observations, head.description, first_observation, True, made_by[2] or 0)
