"""Retrieved frames as text for a language model, the best evidence first, within a budget of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from vlkng_ros.memory import MemoryReader
from vlkng_ros.retrieval.stamps import stamp
from vlkng_ros.types import Keyframe

CHARACTERS_A_TOKEN = 4
"""Of English text; a tokenizer would need the model."""
MAX_LABELS = 12
MAX_RELATIONS = 12


def described(reader: MemoryReader, keyframe: Keyframe, oldest_ns: int, view: str = "") -> str:
    """One frame's complete local subgraph (VL-KnG section 6.3): time, place, objects, how they stand, caption."""
    x, y, _ = keyframe.base_pose.position_m
    head = f"[#{keyframe.keyframe_id}] {stamp(keyframe.stamp_ns, oldest_ns)} at x={x:.1f} y={y:.1f}"
    names = reader.entities_in(view, keyframe.keyframe_id) if view else {}
    things: Counter[str] = Counter()
    for observation in reader.observations(keyframe.keyframe_id):
        label = observation.detection.region_text or observation.detection.label
        name = names.get(observation.observation_id, "")
        things[f"{label} ({name})" if name else label] += 1
    shown = ", ".join(f"{n} x {thing}" if n > 1 else thing for thing, n in things.most_common(MAX_LABELS))
    related = "; ".join(_relations(reader, keyframe, view, names.values())[:MAX_RELATIONS])
    parts = [head, f"objects: {shown}" if shown else "", f"relations: {related}" if related else "", keyframe.caption]
    return ". ".join(part for part in parts if part)


def _relations(reader: MemoryReader, keyframe: Keyframe, view: str, entity_ids: Iterable[str]) -> list[str]:
    """The edges that a frame shows, each once."""
    edges = [edge for name in dict.fromkeys(entity_ids) for edge in reader.relations(view, name, keyframe.stamp_ns)]
    here = [edge for edge in edges if keyframe.keyframe_id in edge.keyframe_ids]
    return list(dict.fromkeys(f"{edge.subject_id} {edge.predicate} {edge.object_id}" for edge in here))


def within_budget(lines: Sequence[str], tokens: int) -> list[str]:
    """As many lines from the first on as fit; a first one that is too long is cut."""
    room = tokens * CHARACTERS_A_TOKEN
    kept: list[str] = []
    for line in lines:
        if not kept and len(line) > room:
            return [line[:room]]
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept
