"""Reading the entities of identity views: one by one, by place, by label, their history and their edges."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.appearance import read_appearance
from vlkng_ros.memory.columns import EntityColumns
from vlkng_ros.memory.database import explained
from vlkng_ros.memory.entities import COLUMNS, KnownEntity
from vlkng_ros.memory.history import HistoryRows, summarise
from vlkng_ros.memory.reading import Reading
from vlkng_ros.memory.rows import Appearance, Edge, History
from vlkng_ros.moments import moment
from vlkng_ros.types import Entity, Relation, Sighting, Vec3

ONE_BY_ONE = 256
"""Entities up to which it is looked up one by one whether they were seen in a time, which takes as long as their
histories are; all that a short time showed is looked through sooner."""
SHORT_TIME = 8_192
"""Keyframes of a short time."""


class ViewReader(Reading):
    """The part of ``MemoryReader`` that is about entities.

    Views and entities that are not there raise ``NotInMemoryError``.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._history = HistoryRows(connection, self._catalogs)

    def views(self) -> tuple[str, ...]:
        """Names of the identity views, oldest first."""
        with self._reading():
            self._follower.load_views()
            return tuple(self._follower.views)

    def complete_views(self) -> tuple[str, ...]:
        """Those of the views that know every keyframe that one of them knows; others are written no longer, or yet."""
        with self._reading():
            query = "SELECT name FROM view WHERE associated = (SELECT MAX(associated) FROM view) ORDER BY id"
            return tuple(name for (name,) in self._connection.execute(query))

    def entity(self, view: str, entity_id: str, as_of_ns: int | None = None) -> Entity:
        """An entity, now or as the keyframes up to a time made it."""
        with self._reading():
            return self._known(view, entity_id, as_of_ns).entity()

    def count(self, view: str, as_of_ns: int) -> int:
        """How many entities a view had by some time."""
        with self._reading():
            return self._follower.columns(self._view(view)).count(as_of_ns)

    def types_seen(self, view: str, since_ns: int, until_ns: int) -> dict[str, int]:
        """How many entities of each type were seen in a window.

        What was seen in it only between other times costs a look at all that was seen in it; nothing else does. Of what
        is kept in summary only it is known when it was first and last seen.
        """
        with self._reading():
            keys = self._seen_between(view, since_ns, until_ns)
            names = self._follower.columns(self._view(view)).names_of(keys)
            return dict(Counter(self._catalogs.slug(slug) for slug, _ in names))

    def _seen_between(
        self, view: str, since_ns: int, until_ns: int, among: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Keys, ascending, of the entities seen in a window; ``among`` some, ascending."""
        sure, maybe = self._follower.columns(self._view(view)).seen_between(since_ns, until_ns, among)
        stamps_ns = self._follower.keyframes.table.stamps_ns
        first, last = np.searchsorted(stamps_ns, (since_ns, until_ns + 1)).tolist()
        if len(maybe) and (len(maybe) > ONE_BY_ONE or last - first <= SHORT_TIME):
            maybe = maybe[np.isin(maybe, self._shown_between(view, since_ns, until_ns))]
        else:
            seen = [bool(self._history.sightings(key, since_ns, until_ns, 1)) for key in maybe.tolist()]
            maybe = maybe[np.array(seen, dtype=np.bool_)]
        return np.union1d(sure, maybe)

    def _shown_between(self, view: str, since_ns: int, until_ns: int) -> NDArray[np.int64]:
        """Keys of the entities that the keyframes of a window show."""
        table = self._follower.keyframes.table
        first, last = np.searchsorted(table.stamps_ns, (since_ns, until_ns + 1)).tolist()
        ids = table.ids[first:last]
        query = (
            "SELECT DISTINCT a.entity FROM keyframe k JOIN assignment a ON a.view = ? "
            "AND a.observation BETWEEN k.first_observation AND k.first_observation + k.observations - 1 "
            "WHERE k.id BETWEEN ? AND ? AND k.stamp BETWEEN ? AND ?"
        )
        low, high = (int(ids.min()), int(ids.max())) if len(ids) else (1, 0)
        rows = self._connection.execute(query, (self._view(view), low, high, since_ns, until_ns))
        return np.fromiter((key for (key,) in rows), dtype=np.int64)

    def entities(self, view: str, as_of_ns: int | None = None) -> Iterator[Entity]:
        """Every entity of a view, in order of creation."""
        with self._reading():
            query = f"SELECT {COLUMNS} FROM entity WHERE view = ? AND first_seen <= ? ORDER BY id"
            limit = as_of_ns if as_of_ns is not None else 2**63 - 1
            rows = self._connection.execute(query, (self._view(view), limit)).fetchall()
            # The rows are decoded later, when a type may have been forgotten.
            self._catalogs.load_slugs()
        return self._cut(view, rows, as_of_ns)

    def _cut(self, view: str, rows: Sequence[Any], as_of_ns: int | None) -> Iterator[Entity]:
        for row in rows:
            with explained(self.path):
                known: KnownEntity | None = self._entity_rows.decode(view, row)
            if known is not None and as_of_ns is not None:
                with self._reading():
                    known = self._entity_rows.as_of(known, as_of_ns)
            if known is not None:
                yield known.entity()

    def entities_in(self, view: str, keyframe_id: int) -> dict[int, str]:
        """Entity ids by observation id, of one keyframe."""
        with self._reading():
            query = (
                "SELECT a.observation, e.type, e.number FROM keyframe k JOIN assignment a ON a.view = ? AND "
                "a.observation BETWEEN k.first_observation AND k.first_observation + k.observations - 1 "
                "JOIN entity e ON e.id = a.entity WHERE k.id = ?"
            )
            rows = self._connection.execute(query, (self._view(view), keyframe_id))
            return {row[0]: self._named(row[1], row[2]) for row in rows}

    def entities_in_each(self, view: str, keyframe_ids: Sequence[int]) -> dict[int, list[str]]:
        """Entity ids by keyframe, of some keyframes: each once, in the order of what was seen."""
        with self._reading():
            query = (
                "SELECT k.id, e.type, e.number FROM keyframe k JOIN assignment a ON a.view = ? AND "
                "a.observation BETWEEN k.first_observation AND k.first_observation + k.observations - 1 "
                f"JOIN entity e ON e.id = a.entity WHERE k.id IN ({','.join('?' * len(keyframe_ids))}) "
                "ORDER BY a.observation"
            )
            found: dict[int, dict[str, None]] = {number: {} for number in keyframe_ids}
            for number, slug, count in self._connection.execute(query, (self._view(view), *keyframe_ids)):
                found[number][self._named(slug, count)] = None
        return {number: list(names) for number, names in found.items()}

    def edges_in(self, view: str, keyframe_ids: Sequence[int]) -> dict[int, list[Edge]]:
        """Edges by the keyframe that shows them, of some keyframes, in the order of what was seen."""
        with self._reading():
            query = (
                "SELECT f.keyframe, se.type, se.number, f.predicate, oe.type, oe.number FROM relation_fact f "
                "JOIN assignment s ON s.view = ?1 AND s.observation = f.subject JOIN entity se ON se.id = s.entity "
                "JOIN assignment o ON o.view = ?1 AND o.observation = f.object JOIN entity oe ON oe.id = o.entity "
                f"WHERE f.keyframe IN ({','.join('?' * len(keyframe_ids))}) ORDER BY f.keyframe, f.subject, f.object"
            )
            found: dict[int, list[Edge]] = {number: [] for number in keyframe_ids}
            for number, *one, predicate, slug, count in self._connection.execute(
                query, (self._view(view), *keyframe_ids)
            ):
                said = self._catalogs.term(predicate)
                found[number].append(Edge(self._named(*one), said, self._named(slug, count)))
        return found

    def _named(self, slug: int, number: int) -> str:
        return f"{self._catalogs.slug(slug)}_{number}"

    def entities_of(self, view: str, observation_ids: Sequence[int]) -> dict[int, str]:
        """Entity ids by observation id, of some observations."""
        with self._reading():
            query = (
                "SELECT a.observation, e.type, e.number FROM assignment a JOIN entity e ON e.id = a.entity "
                f"WHERE a.view = ? AND a.observation IN ({','.join('?' * len(observation_ids))})"
            )
            rows = self._connection.execute(query, (self._view(view), *observation_ids))
            return {row[0]: self._named(row[1], row[2]) for row in rows}

    def labelled(
        self, view: str, text_ids: Sequence[int], since_ns: int | None = None, until_ns: int | None = None
    ) -> list[str]:
        """Ids of the entities that were ever given one of some labels, in order of creation.

        With both ends of a window those that were seen in it, as of the last refresh.
        """
        with self._reading():
            number = self._view(view)
            query = (
                "SELECT DISTINCT entity FROM entity_label WHERE view = ? AND label IN (SELECT value FROM json_each(?)) "
                "ORDER BY entity"
            )
            rows = self._connection.execute(query, (number, json.dumps([int(text_id) for text_id in text_ids])))
            keys = np.fromiter((key for (key,) in rows), dtype=np.int64)
            if since_ns is not None and until_ns is not None:
                keys = self._seen_between(view, since_ns, until_ns, keys)
            return [self._named(slug, count) for slug, count in self._follower.columns(number).names_of(keys)]

    def sightings(
        self,
        view: str,
        entity_id: str,
        since_ns: int | None = None,
        as_of_ns: int | None = None,
        limit: int | None = None,
    ) -> list[Sighting]:
        """An entity's history within a window, oldest first; with ``limit``, its newest entries.

        Of a time whose observations are not kept, those that are left: ``history`` counts the others too.
        """
        with self._reading():
            key = self._known(view, entity_id, None).key
            return self._history.sightings(key, since_ns, as_of_ns, limit)

    def history(
        self, view: str, entity_id: str, since_ns: int | None = None, as_of_ns: int | None = None, at_most: int = 100
    ) -> History:
        """``sightings`` in at most ``at_most`` entries (3 or more): first, last and the count are never lost."""
        with self._reading():
            known = self._known(view, entity_id, None)
            then = known if as_of_ns is None else self._entity_rows.as_of(known, as_of_ns)
            told = self._history.sightings(known.key, since_ns, as_of_ns, None)
            counted = self._history.summarised(known.key, since_ns, as_of_ns, "" if then is None else then.label)
        return summarise(sorted([*told, *counted], key=lambda s: (s.stamp_ns, s.keyframe_id)), at_most)

    def relations(self, view: str, entity_id: str, as_of_ns: int | None = None) -> list[Relation]:
        """Edges from and to an entity, in the order in which they were first seen."""
        with self._reading():
            return self._history.relations(self._known(view, entity_id, as_of_ns).key, as_of_ns)

    def descriptions(self, view: str, relation: Relation) -> tuple[str, ...]:
        """What was said of an edge in each of its keyframes: its D_e, paired with ``relation.stamps_ns`` (eq. 3)."""
        with self._reading():
            ends = [self._known(view, name, None).key for name in (relation.subject_id, relation.object_id)]
            predicate = self._one("SELECT id FROM term WHERE text = ?", relation.predicate)
            said = self._history.descriptions(self._view(view), ends[0], int(predicate or 0), ends[1])
            return tuple(said.get(keyframe_id, "") for keyframe_id in relation.keyframe_ids)

    def appearance(self, view: str, entity_id: str, as_of_ns: int | None = None) -> Appearance | None:
        """What an entity looks like, and its best crop; None where no crop of it was embedded."""
        with self._reading():
            key = self._known(view, entity_id, as_of_ns).key
            return read_appearance(self._connection, self._catalogs, key, as_of_ns)

    def near(
        self,
        view: str,
        position_m: Vec3,
        radius_m: float,
        as_of_ns: int | None = None,
        map_id: str | None = None,
        limit: int | None = None,
        called: Callable[[str], bool] | None = None,
    ) -> list[Entity]:
        """Entities within ``radius_m`` of a place, nearest first.

        Args:
            view: the identity view.
            position_m: in the map's frame.
            radius_m: metres from it.
            as_of_ns: None for now.
            map_id: None for the newest session's map.
            limit: at most so many.
            called: which types (what ids begin with) are asked for; None for all.
        """
        with self._reading():
            columns, maps = self._follower.columns(self._view(view)), self._map_numbers(map_id)
            newest_ns = self._follower.keyframes.table.stamps_ns[-1:]
            if as_of_ns is None or (newest_ns <= as_of_ns).all():  # nothing came later
                keys = self._called(columns, columns.near(position_m, radius_m, maps), called)[:limit]
                loaded = [self._entity_rows.load(view, key) for key in keys]
                return [known.entity() for known in loaded if known is not None]
            found = []
            for key in self._called(columns, columns.maybe_near(position_m, radius_m, as_of_ns, maps), called):
                now = self._entity_rows.load(view, key)
                then = None if now is None else self._entity_rows.as_of(now, as_of_ns)
                if then is not None and then.folded.map in maps:
                    away = float(np.linalg.norm(np.subtract(then.position.mean_m, position_m)))
                    if away <= radius_m:
                        found.append((away, key, then))
            return [then.entity() for _, _, then in sorted(found, key=lambda item: item[:2])[:limit]]

    def _called(self, columns: EntityColumns, keys: list[int], called: Callable[[str], bool] | None) -> list[int]:
        """Those of some entities that are of a type that is asked for."""
        if called is None:
            return keys
        types = [slug for slug, _ in columns.names_of(np.array(keys, dtype=np.int64))]
        wanted = {slug for slug in set(types) if called(self._catalogs.slug(slug))}
        return [key for key, slug in zip(keys, types, strict=True) if slug in wanted]

    def _known(self, view: str, entity_id: str, as_of_ns: int | None) -> KnownEntity:
        key = self._entity_rows.key_of(self._view(view), entity_id)
        known = None if key is None else self._entity_rows.load(view, key)
        if known is None:
            raise NotInMemoryError(f"entity '{entity_id}' is not in view '{view}'; it may have been forgotten")
        if as_of_ns is None:
            return known
        then = self._entity_rows.as_of(known, as_of_ns)
        if then is None:
            raise NotInMemoryError(f"entity '{entity_id}' had not been seen by {moment(as_of_ns)}")
        return then

    def _map_numbers(self, map_id: str | None) -> list[int]:
        if map_id is not None:
            return self._catalogs.maps_called(map_id)
        newest = self._one("SELECT map FROM session ORDER BY id DESC LIMIT 1")
        return [] if newest is None else self._catalogs.maps_called(self._catalogs.map(newest)[0])
