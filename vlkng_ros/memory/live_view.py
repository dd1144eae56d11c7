"""A view while it is written: what an associator may look up, at a cost that does not grow with the memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from vlkng_ros.memory.bearing import CameraView, camera_view
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.entities import EntityRows, KnownEntity
from vlkng_ros.memory.fold import Folded, Reach, stored_label
from vlkng_ros.memory.keyframe_rows import KEYFRAME, KeyframeRows
from vlkng_ros.memory.labels import normal_form
from vlkng_ros.memory.looks import NEVER_NS, Earlier, Looks
from vlkng_ros.memory.spatial_index import STANDING, NamedGrid
from vlkng_ros.memory.texts import Vocabulary
from vlkng_ros.types import FloatArray, Keyframe, Vec3

MAX_RECORDS = 20_000
"""Entities kept decoded in memory."""
MAX_SIMILAR, MAX_PAIRS = 2_000, 500_000
"""Labels, and pairs of them, whose similarity is kept."""
_PLACED = "id, map, x, y, z, from_x, from_y, from_z, folded"


class Similarities(dict[str, float]):
    """Cosines of one label with others, each found when it is first asked for."""

    def __init__(self, label: str, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._label = label
        self._vocabulary = vocabulary

    def __missing__(self, other: str) -> float:
        alike = self._label == other or normal_form(self._label) == normal_form(other)
        found = self[other] = 1.0 if alike else self._vocabulary.similarity(self._label, other)
        return found


class LiveView:
    """The entities of one view (``association.base.View``). It changes with ``install``, after a COMMIT."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        catalogs: Catalogs,
        keyframes: KeyframeRows,
        vocabulary: Vocabulary,
        name: str,
    ) -> None:
        self.name = name
        self.number = 0
        self.associated = 0
        """Number of the newest description that this view has associated."""
        self._visual_encoder = 0
        self._connection = connection
        self._catalogs = catalogs
        self._vocabulary = vocabulary
        self._rows = EntityRows(connection, catalogs, keyframes)
        self._records: dict[int, KnownEntity] = {}
        self._grids: dict[str, NamedGrid] = {}
        self._map_of: dict[int, str] = {}
        self._used: dict[int, int] = {}
        self._labels: dict[int, str] = {}
        self._similar: dict[str, Similarities] = {}
        self._keyframes = keyframes
        self._looks: dict[str, Looks] | None = None
        """By map; read when they are first asked for, which is seldom, and after keyframes were moved."""

    def load(self) -> None:
        """Read where every entity is; everything else is read when it is asked for."""
        self._records.clear()
        self._grids.clear()
        self._map_of.clear()
        self._used.clear()
        self._labels.clear()
        self._similar.clear()
        self._looks = None
        query = "SELECT id, associated FROM view WHERE name = ?"
        row = self._connection.execute(query, (self.name,)).fetchone()
        if row is None:
            self.number = self.associated = 0
            return
        self.number, self.associated = row
        self._labels = dict(
            self._connection.execute(
                "SELECT id, text FROM text WHERE id IN (SELECT DISTINCT label FROM entity_label WHERE view = ?)",
                (self.number,),
            )
        )
        for row in self._connection.execute(f"SELECT {_PLACED} FROM entity WHERE view = ?", (self.number,)):
            self._place_row(row)

    def relocated(self, keys: Iterable[int]) -> None:
        """Read anew these entities (of any view), whose places were derived anew, as keyframes are elsewhere now."""
        self._looks = None
        query = f"SELECT {_PLACED} FROM entity WHERE id = ? AND view = ?"
        for key in keys:
            row = self._connection.execute(query, (key, self.number)).fetchone()
            if row is not None:
                self._records.pop(key, None)
                self._place_row(row)

    # ------------------------------------------------------------------------------------- what associators ask

    def near(self, position_m: Vec3, radius_m: float, map_id: str) -> list[KnownEntity]:
        """Entities whose position or last point of view lies within ``radius_m``, in order of creation."""
        grid = self._grids.get(map_id)
        return [] if grid is None else self._records_of(grid.near(position_m, radius_m))

    def alike_near(
        self, label: str, cosine: float, position_m: Vec3, radius_m: float, map_id: str
    ) -> list[KnownEntity]:
        """Those of ``near`` that are called alike: the similarity of their label to ``label`` is above ``cosine``."""
        grid = self._grids.get(map_id)
        if grid is None:
            return []
        return self._records_of(grid.alike_near(self.similarities(label), cosine, position_m, radius_m))

    def standing_near(self, position_m: Vec3, radius_m: float, map_id: str) -> list[KnownEntity]:
        """Entities whose own position lies within ``radius_m``, in order of creation."""
        grid = self._grids.get(map_id)
        return [] if grid is None else self._records_of(grid.near(position_m, radius_m, (STANDING,)))

    def _records_of(self, keys: Sequence[int]) -> list[KnownEntity]:
        found = [*map(self._records.get, keys)]
        if None in found:
            return [self.record(key) for key in keys]
        return cast("list[KnownEntity]", found)

    def alike(self, label: str, cosine: float) -> Iterator[KnownEntity]:
        """Entities, wherever they are, with a label whose similarity to ``label`` is above ``cosine``."""
        similarities = self.similarities(label)
        similar = [number for number, text in self._labels.items() if similarities[text] > cosine]
        keys: set[int] = set()
        for number in similar:
            query = "SELECT entity FROM entity_label WHERE view = ? AND label = ?"
            keys.update(row[0] for row in self._connection.execute(query, (self.number, number)))
        for key in sorted(keys):
            yield self.record(key)

    def similarities(self, label: str) -> Mapping[str, float]:
        """By any other label the cosine of their embeddings; 1.0 for equal ones, 0.0 for others without an encoder."""
        found = self._similar.get(label)
        if found is None:
            if len(self._similar) >= MAX_SIMILAR or sum(map(len, self._similar.values())) >= MAX_PAIRS:
                self._similar.clear()
            found = self._similar[label] = Similarities(label, self._vocabulary)
        return found

    def looks_at(self, keyframe: Keyframe, at_m: Vec3) -> Earlier:
        """How often, on earlier visits, a place was looked at from where this keyframe sees it, and when last."""
        if self._looks is None:
            self._looks = self._read_looks()
        looks, camera = self._looks.get(keyframe.map_id), self._keyframes.camera(keyframe)
        if looks is None or camera is None:
            return Earlier(0, NEVER_NS)
        return looks.earlier(camera, at_m, keyframe.stamp_ns)

    def record(self, key: int) -> KnownEntity:
        """An entity by its row."""
        found = self._records.get(key)
        if found is None:
            loaded = self._rows.load_anew(self.name, key)
            if loaded is None:
                raise LookupError(f"view '{self.name}': no row {key}")
            loaded.appearance = self._appearance(key)
            self._remember(loaded)
            return loaded
        return found

    def known(self, key: int, name: str, folded: Folded, reach: Reach, revision: int) -> KnownEntity:
        """A fold's result with its name, as an entity of this view."""
        return self._rows.known(key, name, self.name, folded, reach, revision)

    def look_with(self, visual_encoder: int) -> None:
        """From now on appearances are those by this encoder (its term); those by another one are not known."""
        if visual_encoder != self._visual_encoder:
            self._visual_encoder = visual_encoder
            self._records.clear()

    def _appearance(self, key: int) -> FloatArray | None:
        query = "SELECT total FROM entity_appearance WHERE entity = ? AND encoder = ?"
        row = self._connection.execute(query, (key, self._visual_encoder)).fetchone()
        return None if row is None else unit(np.frombuffer(row[0], dtype=np.float32))

    # -------------------------------------------------------------------------------------------------- following

    def install(
        self,
        keyframe: Keyframe,
        entities: Iterable[KnownEntity],
        used: Mapping[int, int],
        labels: Mapping[int, str],
        described: int,
    ) -> None:
        """Take over in memory what was committed: entities, counters, labels, how far association has come."""
        self.associated = described
        if self._looks is not None:
            _add_look(self._looks, keyframe, self._keyframes.camera(keyframe))
        self._used.update(used)
        self._labels.update(labels)
        for entity in entities:
            self._remember(entity)
            self._place(entity.key, entity.map_id, entity.position_m, entity.seen_from_m, entity.label)

    def last_number(self, slug_hash: int) -> int:
        """The highest number that was ever given with a type, by the hash of its slug."""
        found = self._used.get(slug_hash)
        if found is None:
            query = "SELECT used FROM entity_counter WHERE view = ? AND hash = ?"
            row = self._connection.execute(query, (self.number, slug_hash)).fetchone()
            found = self._used[slug_hash] = 0 if row is None else int(row[0])
        return found

    def _read_looks(self) -> dict[str, Looks]:
        """The looks of every keyframe that this view has associated, in that order."""
        looks: dict[str, Looks] = {}
        query = f"SELECT {KEYFRAME} FROM keyframe k WHERE k.described <= ? ORDER BY k.described"
        for row in self._connection.execute(query, (self.associated,)):
            keyframe = self._keyframes.decode(row)
            _add_look(looks, keyframe, camera_view(keyframe))
        return looks

    def _remember(self, entity: KnownEntity) -> None:
        self._records.pop(entity.key, None)
        self._records[entity.key] = entity
        if len(self._records) > MAX_RECORDS:
            del self._records[next(iter(self._records))]

    def _place_row(self, row: Sequence[Any]) -> None:
        key, map_, x, y, z, from_x, from_y, from_z, folded = row
        self._place(key, self._catalogs.map(map_)[0], (x, y, z), (from_x, from_y, from_z), stored_label(folded))

    def _place(self, key: int, map_id: str, position_m: Vec3, seen_from_m: Vec3, label: str) -> None:
        known = self._map_of.get(key)
        if known is not None and known != map_id:
            self._grids[known].remove(key)
        self._map_of[key] = map_id
        grid = self._grids.get(map_id)
        if grid is None:
            grid = self._grids[map_id] = NamedGrid()
        grid.place(key, label, position_m, seen_from_m)


def _add_look(looks: dict[str, Looks], keyframe: Keyframe, camera: CameraView | None) -> None:
    if camera is not None:
        looks.setdefault(keyframe.map_id, Looks()).add(camera, keyframe.stamp_ns)


def unit(vector: FloatArray) -> FloatArray:
    """The vector at length 1; a zero vector stays."""
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector
