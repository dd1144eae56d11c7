"""The places of the path as entities of kind location, named by what captions call them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.fold import KINDS
from vlkng_ros.memory.places import RADIUS_M, PathPlaces, Stretch
from vlkng_ros.memory.rows import KeyframeTable
from vlkng_ros.types import NS_PER_S, Entity, EntityKind, PositionEstimate, PositionSource, Relation

PLACE_VIEW = "path"
"""The view that they are said to be of; no associator makes it."""
UNNAMED = "place"
LOCATED_IN, SEEN_FROM, NEXT_TO = "located in", "seen from", "next to"
"""Edges of places: what stands in them, what was seen last from them and stands in none, and where the path went on."""
NAMED_BY = 32
"""Keyframes of a place, the newest, whose captions name it: what a name costs does not grow with age."""


class PlaceRows:
    """Reads places through one connection, inside a read transaction of the caller's."""

    def __init__(self, connection: sqlite3.Connection, catalogs: Catalogs) -> None:
        self._connection = connection
        self._catalogs = catalogs
        self._path = PathPlaces()

    def entities(self, table: KeyframeTable, as_of_ns: int | None, revision: int) -> list[Entity]:
        """The places known at a time, in the order in which they were founded."""
        self._follow(table)
        return [self._entity(table, place, revision) for place in self._path.until(self._known(table, as_of_ns))]

    def entity_of(self, table: KeyframeTable, keyframe_id: int, revision: int) -> Entity:
        """The place of a keyframe.

        Raises:
            NotInMemoryError: there is no such keyframe.
        """
        self._follow(table)
        frames = np.flatnonzero(table.ids == keyframe_id)
        if not len(frames):
            raise NotInMemoryError(f"keyframe {keyframe_id} is not in this memory; it may have been forgotten")
        return self._entity(table, self._path.at(int(frames[0])), revision)

    def relations(
        self, table: KeyframeTable, as_of_ns: int | None, places: Sequence[Entity], entities: Iterable[Entity]
    ) -> Iterator[Relation]:
        """How places hang together, and one edge from each entity to its place.

        Args:
            table: the keyframes.
            as_of_ns: the time that the places and the entities are as of.
            places: all that were known then, as ``entities`` gives them.
            entities: of any view.
        """
        self._follow(table)
        names = [place.entity_id for place in places]
        for (a, b), frames in self._path.passages(self._known(table, as_of_ns)).items():
            stamps, ids = table.stamps_ns[frames].tolist(), table.ids[frames].tolist()
            yield Relation(names[a], NEXT_TO, names[b], tuple(stamps), tuple(ids))
        frame_of = dict(zip(table.ids.tolist(), range(len(table)), strict=True))
        for entity in entities:
            frame = frame_of.get(entity.last_keyframe_id)
            if frame is not None:
                x, y, _ = entity.position.mean_m
                number, inside = self._path.around(frame, x, y, len(names))
                word, last = LOCATED_IN if inside else SEEN_FROM, (entity.last_seen_ns,)
                yield Relation(entity.entity_id, word, names[number], last, (entity.last_keyframe_id,))

    def _known(self, table: KeyframeTable, as_of_ns: int | None) -> int:
        """How many frames the path had then."""
        return len(table) if as_of_ns is None else int(np.searchsorted(table.stamps_ns, as_of_ns, side="right"))

    def _follow(self, table: KeyframeTable) -> None:
        sessions = np.unique(table.session).tolist()
        self._path.follow(table, {number: self._catalogs.map_of_session(number) for number in sessions})

    def _entity(self, table: KeyframeTable, place: Stretch, revision: int) -> Entity:
        map_id, frame_id = self._catalogs.map(place.map)
        first, last = int(place.frames[0]), int(place.frames[-1])
        labels = self._names(table.ids[place.frames[-NAMED_BY:]].tolist()) or {UNNAMED: len(place.frames)}
        spread = np.diag([(RADIUS_M / 2) ** 2, (RADIUS_M / 2) ** 2, (RADIUS_M / 6) ** 2])
        return Entity(
            PLACE_VIEW,
            f"{PLACE_VIEW}/{UNNAMED}_{place.founder_id}",
            EntityKind.LOCATION,
            max(labels, key=labels.__getitem__),
            labels,
            {"visits": str(place.visits), "stay_s": f"{place.stay_ns / NS_PER_S:.0f}"},
            PositionEstimate(frame_id, map_id, place.centre_m, spread, PositionSource.ROBOT),
            int(table.stamps_ns[first]),
            int(table.stamps_ns[last]),
            int(table.ids[first]),
            int(table.ids[last]),
            len(place.frames),
            revision=revision,
        )

    def _names(self, keyframe_ids: list[int]) -> dict[str, int]:
        """How often the captions of some keyframes name a location so, in order of first mention."""
        query = (
            "SELECT text.text, COUNT(*) FROM json_each(?) j JOIN keyframe k ON k.id = j.value JOIN observation o "
            "ON o.id BETWEEN k.first_observation AND k.first_observation + k.observations - 1 AND o.kind = ? "
            "JOIN text ON text.id = o.label GROUP BY o.label ORDER BY MIN(o.id)"
        )
        return dict(self._connection.execute(query, (json.dumps(keyframe_ids), KINDS.index(EntityKind.LOCATION))))
