"""Taking things out for good: the rows, what was derived from them, and every string that nothing else needs.

Deleted rows are overwritten (``secure_delete``) and the log is emptied afterwards, so the bytes are gone from the
files. What stays are numbers: ids in ``tombstone`` so that readers drop what they hold, and how often an entity type
was counted, by hash, so that no id is ever given twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.correcting import entities_in
from vlkng_ros.memory.entities import EntityRows
from vlkng_ros.memory.fold import EntityState
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.labels import normal_form
from vlkng_ros.memory.packing import position_of
from vlkng_ros.memory.refolding import Refolder
from vlkng_ros.memory.relations import drop_relations
from vlkng_ros.memory.rows import ForgetSummary
from vlkng_ros.types import PositionSource

KEYFRAME, ENTITY, TEXT, RELATION, SPAN = range(5)
"""Kinds of ``tombstone``."""

_TABLES = ("gone_keyframe", "gone_observation", "touched_keyframe", "lost_text", "lost_term")


@dataclass(frozen=True, slots=True)
class Selection:
    """What to forget; see ``MemoryWriter.forget``."""

    view: str | None = None
    entity_ids: tuple[str, ...] = ()
    label: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    area: tuple[float, float, float, float] | None = None
    map_id: str | None = None

    def check(self) -> None:
        """A selection must name something.

        Raises:
            InvalidInputError: it names nothing, or an empty range.
        """
        named = (self.label, self.since_ns, self.until_ns, self.area)
        if not self.entity_ids and all(value is None for value in named):
            raise InvalidInputError("forget: name entities, a label, a time or an area; nothing was forgotten")
        if self.label is not None and not self.label.strip():
            raise InvalidInputError("forget: the label is empty")
        if self.since_ns is not None and self.until_ns is not None and self.since_ns > self.until_ns:
            raise InvalidInputError(f"forget: the time from {self.since_ns} to {self.until_ns} is empty")
        if self.area is not None and not (self.area[0] <= self.area[2] and self.area[1] <= self.area[3]):
            raise InvalidInputError(f"forget: area {self.area} is not (x_min, y_min, x_max, y_max)")


class Forgetting:
    """One ``forget``, inside a transaction of the caller's."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        catalogs: Catalogs,
        keyframes: KeyframeRows,
        selection: Selection,
        revision: int,
    ) -> None:
        self._connection = connection
        self._catalogs = catalogs
        self._selection = selection
        self._revision = revision
        self._refolder = Refolder(connection, catalogs, keyframes, revision)
        self._entities = EntityRows(connection, catalogs, keyframes)
        self._views: dict[int, str] = dict(connection.execute("SELECT id, name FROM view"))

    def run(self) -> ForgetSummary:
        """Select, then delete.

        Raises:
            InvalidInputError: the selection names nothing.
            NotInMemoryError: it names a view or entity that is not there.
        """
        self._selection.check()
        for table in _TABLES:
            self._connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY)")
            self._connection.execute(f"DELETE FROM {table}")
        self._select()
        affected = entities_in(self._connection, self._ids("SELECT id FROM touched_keyframe ORDER BY id"))
        affected = self._really_affected(affected)
        labels_before = {key: self._labels_of(key) for key in affected}
        summary_counts = self._delete_facts()
        gone = set(self._refolder.refold(affected))
        self._refolder.reweigh(key for key in affected if key not in gone)
        touched = self._ids("SELECT id FROM touched_keyframe")
        for number in drop_relations(self._connection, affected, touched, gone):
            self._bury(RELATION, number)
        entities = self._delete_entities(gone, labels_before)
        texts = self._delete_strings()
        keyframes, observations, images = summary_counts
        for table in _TABLES:
            self._connection.execute(f"DELETE FROM {table}")
        return ForgetSummary(self._revision, keyframes, observations, entities, images, texts)

    # ----------------------------------------------------------------------------------------------- selecting

    def _select(self) -> None:
        selection = self._selection
        within = self._keyframes_within()
        if selection.label is None and not selection.entity_ids:
            self._connection.executemany("INSERT INTO gone_keyframe VALUES (?)", ((number,) for number in within))
            self._connection.execute(
                "INSERT INTO gone_observation SELECT o.id FROM gone_keyframe g JOIN keyframe k ON k.id = g.id "
                "JOIN observation o ON o.id BETWEEN k.first_observation AND k.first_observation + k.observations - 1"
            )
            if selection.area is not None:
                self._add_observations(self._observations_of(self._standing_in_area()), self._in_time())
        else:
            if selection.area is not None:
                within |= self._showing(self._standing_in_area())
            words: set[str] = set()
            if selection.label is not None:
                words.add(normal_form(selection.label))
                self._add_observations(self._observations_called(words), within)
            for key in self._named_entities():
                words.update(normal_form(label) for label in self._labels_of(key))
                self._add_observations(self._observations_of([key]), within)
            self._add_touched()
            everywhere = selection.label is not None
            self._drop_mentions(words, within if everywhere else set(self._ids("SELECT id FROM touched_keyframe")))
        self._add_touched()

    def _add_touched(self) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO touched_keyframe SELECT keyframe FROM observation "
            "WHERE id IN (SELECT id FROM gone_observation)"
        )
        self._connection.execute("INSERT OR IGNORE INTO touched_keyframe SELECT id FROM gone_keyframe")

    def _keyframes_within(self) -> set[int]:
        """Keyframes of the time and area; all of them where neither is given."""
        found = self._in_time()
        area = self._selection.area
        if area is None:
            return found
        maps = set(self._maps())
        query = "SELECT k.id, k.base_pose, s.map FROM keyframe k JOIN session s ON s.id = k.session"
        inside = set()
        for number, pose, map_ in self._connection.execute(query):
            x, y, _ = position_of(pose)
            if map_ in maps and area[0] <= x <= area[2] and area[1] <= y <= area[3]:
                inside.add(number)
        return found & inside

    def _in_time(self) -> set[int]:
        since, until = self._selection.since_ns, self._selection.until_ns
        query = "SELECT id FROM keyframe WHERE (? IS NULL OR stamp >= ?) AND (? IS NULL OR stamp <= ?)"
        return {row[0] for row in self._connection.execute(query, (since, since, until, until))}

    def _maps(self) -> list[int]:
        map_id = self._selection.map_id
        if map_id is None:
            row = self._connection.execute("SELECT map FROM session ORDER BY id DESC LIMIT 1").fetchone()
            return [] if row is None else [row[0]]
        found = self._catalogs.maps_called(map_id)
        if not found:
            raise NotInMemoryError(f"map '{map_id}' is not in this memory")
        return found

    def _standing_in_area(self) -> list[int]:
        """Entities of any view whose own place, not only the robot's, is known to be in the area."""
        assert_area = self._selection.area
        if assert_area is None:
            return []
        maps = set(self._maps())
        query = "SELECT id, map, state, position FROM entity WHERE x >= ? AND y >= ? AND x <= ? AND y <= ?"
        found = []
        for key, map_, state, position in self._connection.execute(query, assert_area):
            source = EntityState.from_stored(state, position).position.source
            if map_ in maps and source is not PositionSource.ROBOT:
                found.append(key)
        return found

    def _named_entities(self) -> list[int]:
        selection = self._selection
        if not selection.entity_ids:
            return []
        names = {name: number for number, name in self._views.items()}
        view = selection.view if selection.view is not None or len(names) != 1 else next(iter(names))
        if view is None or view not in names:
            known = ", ".join(sorted(names)) or "none"
            raise NotInMemoryError(f"forget: view '{view or ''}' is not in this memory; it has {known}")
        keys = []
        for entity_id in selection.entity_ids:
            key = self._entities.key_of(names[view], entity_id)
            if key is None:
                raise NotInMemoryError(f"entity '{entity_id}' is not in view '{view}'; nothing was forgotten")
            keys.append(key)
        return keys

    def _observations_of(self, keys: Iterable[int]) -> set[int]:
        found: set[int] = set()
        for key in keys:
            query = "SELECT observation FROM assignment WHERE entity = ?"
            found.update(row[0] for row in self._connection.execute(query, (key,)))
        return found

    def _showing(self, keys: Iterable[int]) -> set[int]:
        observations = self._observations_of(keys)
        query = "SELECT keyframe FROM observation WHERE id = ?"
        return {self._connection.execute(query, (number,)).fetchone()[0] for number in observations} & self._in_time()

    def _observations_called(self, words: set[str]) -> set[int]:
        labels = [
            number
            for number, text in self._connection.execute("SELECT id, text FROM text WHERE id IN (SELECT label FROM observation)")
            if normal_form(text) in words
        ]
        marks = ",".join("?" * len(labels))
        query = f"SELECT id FROM observation WHERE label IN ({marks})"
        return {row[0] for row in self._connection.execute(query, labels)}

    def _add_observations(self, observations: Iterable[int], within: set[int]) -> None:
        query = "SELECT keyframe FROM observation WHERE id = ?"
        chosen = [
            (number,)
            for number in observations
            if self._connection.execute(query, (number,)).fetchone()[0] in within
        ]
        self._connection.executemany("INSERT OR IGNORE INTO gone_observation VALUES (?)", chosen)

    def _drop_mentions(self, words: set[str], within: set[int]) -> None:
        """Take out the sentences and region texts of these keyframes that use the words."""
        mentioning = [
            number for number, text in self._connection.execute("SELECT id, text FROM text") if _mentions(text, words)
        ]
        for text in mentioning:
            self._connection.execute("INSERT OR IGNORE INTO lost_text VALUES (?)", (text,))
        query = "SELECT keyframe, ordinal FROM keyframe_text WHERE text IN (SELECT id FROM lost_text)"
        sentences = [row for row in self._connection.execute(query) if row[0] in within]
        self._connection.executemany("DELETE FROM keyframe_text WHERE keyframe = ? AND ordinal = ?", sentences)
        query = "SELECT keyframe, id FROM observation WHERE region IN (SELECT id FROM lost_text)"
        regions = [row for row in self._connection.execute(query) if row[0] in within]
        self._connection.executemany("UPDATE observation SET region = NULL WHERE id = ?", ((row[1],) for row in regions))
        touched = {row[0] for row in sentences} | {row[0] for row in regions}
        self._connection.executemany("INSERT OR IGNORE INTO touched_keyframe VALUES (?)", ((n,) for n in touched))

    # ------------------------------------------------------------------------------------------------ deleting

    def _really_affected(self, entities: list[int]) -> list[int]:
        query = "SELECT DISTINCT entity FROM assignment WHERE view = ? AND observation IN (SELECT id FROM gone_observation)"
        losing = {row[0] for view in self._views for row in self._connection.execute(query, (view,))}
        return [key for key in entities if key in losing]

    def _delete_facts(self) -> tuple[int, int, int]:
        execute = self._connection.execute
        execute(
            "INSERT OR IGNORE INTO lost_text SELECT label FROM observation WHERE id IN (SELECT id FROM gone_observation)"
        )
        execute(
            "INSERT OR IGNORE INTO lost_text SELECT region FROM observation "
            "WHERE region IS NOT NULL AND id IN (SELECT id FROM gone_observation)"
        )
        execute(
            "INSERT OR IGNORE INTO lost_text SELECT text FROM keyframe_text "
            "WHERE keyframe IN (SELECT id FROM gone_keyframe)"
        )
        for column in ("attributes", "local_id"):
            execute(
                f"INSERT OR IGNORE INTO lost_term SELECT {column} FROM observation "
                f"WHERE {column} IS NOT NULL AND id IN (SELECT id FROM gone_observation)"
            )
        facts = (
            "keyframe IN (SELECT id FROM touched_keyframe) AND "
            "(subject IN (SELECT id FROM gone_observation) OR object IN (SELECT id FROM gone_observation))"
        )
        execute(f"INSERT OR IGNORE INTO lost_term SELECT predicate FROM relation_fact WHERE {facts}")
        execute(f"DELETE FROM relation_fact WHERE {facts}")
        for view in self._views:
            query = "DELETE FROM assignment WHERE view = ? AND observation IN (SELECT id FROM gone_observation)"
            execute(query, (view,))
        execute("DELETE FROM crop WHERE observation IN (SELECT id FROM gone_observation)")
        observations = execute("DELETE FROM observation WHERE id IN (SELECT id FROM gone_observation)").rowcount
        images = execute(
            "INSERT OR IGNORE INTO image_garbage SELECT id FROM keyframe "
            "WHERE image > 0 AND id IN (SELECT id FROM touched_keyframe)"
        ).rowcount
        execute("DELETE FROM keyframe_text WHERE keyframe IN (SELECT id FROM gone_keyframe)")
        keyframes = execute("DELETE FROM keyframe WHERE id IN (SELECT id FROM gone_keyframe)").rowcount
        execute(
            "UPDATE keyframe SET image = 0, revision = ? WHERE id IN (SELECT id FROM touched_keyframe)",
            (self._revision,),
        )
        execute(
            "INSERT INTO tombstone SELECT ?, ?, 0, id FROM gone_keyframe", (self._revision, KEYFRAME)
        )
        spans = self._ids(
            "SELECT id FROM span s WHERE EXISTS (SELECT 1 FROM touched_keyframe t "
            "WHERE t.id BETWEEN s.first_keyframe AND s.last_keyframe)"
        )
        for number in spans:
            execute("DELETE FROM span WHERE id = ?", (number,))
            self._bury(SPAN, number)
        return keyframes, observations, images

    def _delete_entities(self, gone: set[int], labels_before: dict[int, set[str]]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for key, labels in sorted(labels_before.items()):
            (view,) = self._connection.execute("SELECT view FROM entity WHERE id = ?", (key,)).fetchone()
            kept = set() if key in gone else self._labels_of(key)
            for label in labels - kept:
                query = "DELETE FROM entity_label WHERE view = ? AND entity = ? AND label IN (SELECT id FROM text WHERE text = ?)"
                self._connection.execute(query, (view, key, label))
            if key in gone:
                self._connection.execute("DELETE FROM entity_appearance WHERE entity = ?", (key,))
                self._connection.execute("DELETE FROM entity WHERE id = ?", (key,))
                self._bury(ENTITY, key, view)
                counts[self._views[view]] = counts.get(self._views[view], 0) + 1
        if gone:
            self._connection.execute("DELETE FROM entity_type WHERE id NOT IN (SELECT type FROM entity)")
        return counts

    def _delete_strings(self) -> int:
        execute = self._connection.execute
        for used in ("SELECT label FROM observation", "SELECT region FROM observation WHERE region IS NOT NULL",
                     "SELECT text FROM keyframe_text"):
            execute(f"DELETE FROM lost_text WHERE id IN ({used})")
        for used in ("SELECT attributes FROM observation", "SELECT local_id FROM observation",
                     "SELECT predicate FROM relation_fact", "SELECT predicate FROM relation",
                     "SELECT backend FROM keyframe", "SELECT model FROM keyframe"):
            execute(f"DELETE FROM lost_term WHERE id IN ({used})")
        execute("DELETE FROM term WHERE id IN (SELECT id FROM lost_term)")
        execute(
            "DELETE FROM text_vector WHERE encoder IN (SELECT id FROM encoder) AND text IN (SELECT id FROM lost_text)"
        )
        execute("INSERT INTO tombstone SELECT ?, ?, 0, id FROM lost_text", (self._revision, TEXT))
        return execute("DELETE FROM text WHERE id IN (SELECT id FROM lost_text)").rowcount

    def _labels_of(self, key: int) -> set[str]:
        row = self._connection.execute("SELECT state, position FROM entity WHERE id = ?", (key,)).fetchone()
        return set(EntityState.from_stored(*row).labels)

    def _bury(self, kind: int, number: int, view: int = 0) -> None:
        self._connection.execute("INSERT INTO tombstone VALUES (?, ?, ?, ?)", (self._revision, kind, view, number))

    def _ids(self, query: str) -> list[int]:
        return [row[0] for row in self._connection.execute(query)]


def _mentions(text: str, words: set[str]) -> bool:
    """Whether a text uses one of the normal forms as a run of whole words."""
    tokens = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    for word in words:
        parts = word.split()
        for start in range(len(tokens) - len(parts) + 1):
            if normal_form(" ".join(tokens[start : start + len(parts)])) == word:
                return True
    return False
