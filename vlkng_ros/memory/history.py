"""When, where in the record and in which words an entity was seen (EgoGraph eq. 5), and its edges (eq. 3)."""

from __future__ import annotations

import sqlite3

from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.packing import unpack_attributes
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
