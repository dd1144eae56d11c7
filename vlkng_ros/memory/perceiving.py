"""What a model said about a keyframe, checked and turned into rows."""

from __future__ import annotations

import math

import numpy as np

from vlkng_ros.errors import InvalidInputError
from vlkng_ros.memory.fold import KINDS
from vlkng_ros.memory.packing import pack_attributes, pack_box, pack_vector
from vlkng_ros.memory.spans import CHUNK, add_span
from vlkng_ros.memory.texts import sentences_of
from vlkng_ros.memory.transactions import Head, Store
from vlkng_ros.types import Detection, Perception


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


def store(memory: Store, head: Head, keyframe_id: int, perception: Perception) -> None:
    """Write a checked perception, inside a transaction; its texts are stored already."""
    connection, catalogs, texts = memory.connection, memory.catalogs, memory.texts
    first_observation = head.observation + 1
    rows, crops = [], []
    for number, d in enumerate(perception.detections, start=first_observation):
        rows.append(
            (
                number,
                keyframe_id,
                KINDS.index(d.kind),
                texts.number(d.label),
                texts.number(d.region_text) if d.region_text else None,
                catalogs.term_number(pack_attributes(d.attributes)),
                catalogs.term_number(d.local_id),
                pack_box(d.box_px),
                None if d.score is None else float(d.score),
                None if d.depth_m is None else float(d.depth_m),
                int(d.told),
            )
        )
        if d.embedding is not None:
            crops.append((number, pack_vector(d.embedding)))
    connection.executemany("INSERT INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO crop VALUES (?, ?)", crops)
    connection.executemany(
        "INSERT INTO keyframe_text VALUES (?, ?, ?)",
        [(keyframe_id, i, texts.number(sentence)) for i, sentence in enumerate(sentences_of(perception.caption))],
    )
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
    connection.execute(
        "UPDATE keyframe SET state = 1, described = ?, revision = ?, first_observation = ?, observations = ?, "
        "backend = ?, model = ?, visual_encoder = ?, span = ?, failure = NULL WHERE id = ?",
        (
            head.description,
            head.revision,
            first_observation,
            len(rows),
            catalogs.term_number(perception.backend),
            catalogs.term_number(perception.model),
            catalogs.term_number(perception.visual_encoder),
            span,
            keyframe_id,
        ),
    )
