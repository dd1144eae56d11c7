"""When, where in the record and in which words an entity was seen (EgoGraph eq. 5), and its edges (eq. 3)."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from collections.abc import Sequence

from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.packing import unpack_attributes
from vlkng_ros.memory.rows import History, HistoryEntry
from vlkng_ros.types import Relation, Sighting

_EVER = 2**63 - 1


class HistoryRows:
    """Reads sightings and relations through one connection."""

    def __init__(self, connection: sqlite3.Connection, catalogs: Catalogs) -> None:
        self._connection = connection
        self._catalogs = catalogs

    def sightings(self, key: int, since_ns: int | None, as_of_ns: int | None, limit: int | None) -> list[Sighting]:
        """Of one entity, oldest first; the newest ``limit`` of them."""
        query = (
            "SELECT k.stamp, k.id, o.id, label.text, region.text, o.attributes FROM assignment a "
            "JOIN observation o ON o.id = a.observation JOIN keyframe k ON k.id = o.keyframe "
            "JOIN text label ON label.id = o.label LEFT JOIN text region ON region.id = o.region "
            "WHERE a.entity = ? AND k.stamp BETWEEN ? AND ? ORDER BY k.stamp DESC, o.id DESC LIMIT ?"
        )
        low = -_EVER if since_ns is None else since_ns
        high = _EVER if as_of_ns is None else as_of_ns
        rows = self._connection.execute(query, (key, low, high, -1 if limit is None else limit)).fetchall()
        return [
            Sighting(stamp, keyframe_id, observation_id, self._description(label, region, attributes))
            for stamp, keyframe_id, observation_id, label, region, attributes in reversed(rows)
        ]

    def summarised(self, key: int, since_ns: int | None, as_of_ns: int | None, description: str) -> list[Sighting]:
        """Sightings of one entity whose observations are not kept any more (0 is their id), oldest first."""
        query = (
            "SELECT k.stamp, k.id FROM base_keyframe b JOIN keyframe k ON k.id = b.keyframe "
            "WHERE b.entity = ? AND b.seen AND k.stamp BETWEEN ? AND ? AND NOT EXISTS "
            "(SELECT 1 FROM assignment a WHERE a.entity = b.entity AND a.observation "
            "BETWEEN k.first_observation AND k.first_observation + k.observations - 1) ORDER BY k.stamp, k.id"
        )
        low = -_EVER if since_ns is None else since_ns
        high = _EVER if as_of_ns is None else as_of_ns
        rows = self._connection.execute(query, (key, low, high))
        return [Sighting(stamp, number, 0, description) for stamp, number in rows]

    def _description(self, label: str, region: str | None, attributes: int | None) -> str:
        words = region or label
        if attributes is None:
            return words
        known = unpack_attributes(self._catalogs.term(attributes))
        return f"{words} ({', '.join(f'{name}: {value}' for name, value in known.items())})"

    def relations(self, key: int, as_of_ns: int | None) -> list[Relation]:
        """Edges from and to one entity; those without a keyframe up to the time do not exist yet."""
        query = (
            "SELECT r.id, s.type, s.number, r.predicate, o.type, o.number FROM relation r "
            "JOIN entity s ON s.id = r.subject JOIN entity o ON o.id = r.object "
            "WHERE r.subject = ? OR r.object = ? ORDER BY r.id"
        )
        high = _EVER if as_of_ns is None else as_of_ns
        seen = (
            "SELECT k.stamp, k.id FROM relation_seen x JOIN keyframe k ON k.id = x.keyframe "
            "WHERE x.relation = ? AND k.stamp <= ? ORDER BY k.stamp, k.id"
        )
        found = []
        for number, *subject, predicate, object_type, object_number in self._connection.execute(query, (key, key)):
            times = self._connection.execute(seen, (number, high)).fetchall()
            if times:
                found.append(
                    Relation(
                        f"{self._catalogs.slug(subject[0])}_{subject[1]}",
                        self._catalogs.term(predicate),
                        f"{self._catalogs.slug(object_type)}_{object_number}",
                        tuple(stamp for stamp, _ in times),
                        tuple(number for _, number in times),
                    )
                )
        return found

    def descriptions(self, view: int, subject: int, predicate: int, target: int) -> dict[int, str]:
        """What was said of an edge, by keyframe: the caption's sentence that tells of it, else its ends in words."""
        query = (
            "SELECT f.keyframe, s.told, o.told, s_region.text, o_region.text, s_label.text, o_label.text "
            "FROM assignment a JOIN relation_fact f ON f.keyframe = (SELECT keyframe FROM observation WHERE id = "
            "a.observation) AND f.subject = a.observation AND f.predicate = ? "
            "JOIN assignment b ON b.view = ? AND b.observation = f.object AND b.entity = ? "
            "JOIN observation s ON s.id = f.subject JOIN observation o ON o.id = f.object "
            "JOIN text s_label ON s_label.id = s.label JOIN text o_label ON o_label.id = o.label "
            "LEFT JOIN text s_region ON s_region.id = s.region LEFT JOIN text o_region ON o_region.id = o.region "
            "WHERE a.entity = ? ORDER BY f.keyframe"
        )
        word = self._catalogs.term(predicate)
        return {
            keyframe: (s_told and s_region) or (o_told and o_region) or f"{s_label} {word} {o_label}"
            for keyframe, s_told, o_told, s_region, o_region, s_label, o_label in self._connection.execute(
                query, (predicate, view, target, subject)
            )
        }


def summarise(sightings: Sequence[Sighting], at_most: int) -> History:
    """Tell sightings in at most ``at_most`` entries, without losing the first, the last and the count.

    Up to that many they are told one by one (EgoGraph summarises beyond 100). Beyond, those between the first and the
    last are cut into stretches of equally many, each told by the description given most often in it.

    Args:
        sightings: oldest first.
        at_most: 3 or more.
    """
    if len(sightings) <= at_most:
        stretches = [[sighting] for sighting in sightings]
    else:
        inner, parts = sightings[1:-1], max(1, at_most - 2)
        cuts = [len(inner) * i // parts for i in range(parts + 1)]
        middle = [list(inner[a:b]) for a, b in itertools.pairwise(cuts)]
        stretches = [[sightings[0]], *middle, [sightings[-1]]]
    return History(len(sightings), tuple(_entry(stretch) for stretch in stretches))


def _entry(stretch: Sequence[Sighting]) -> HistoryEntry:
    description = Counter(sighting.description for sighting in stretch).most_common(1)[0][0]
    return HistoryEntry(stretch[0].stamp_ns, stretch[-1].stamp_ns, len(stretch), description)
