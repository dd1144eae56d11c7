"""What a ``forget`` is about: which keyframes, which observations, which sentences."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory.bases import COLUMNS, Base, BaseRows
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.entities import EntityRows
from vlkng_ros.memory.fold import Folded
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.labels import normal_form
from vlkng_ros.memory.packing import position_of, unpack_attributes
from vlkng_ros.moments import moment
from vlkng_ros.types import PositionSource

GONE_KEYFRAME, GONE_OBSERVATION, TOUCHED_KEYFRAME = "gone_keyframe", "gone_observation", "touched_keyframe"
CHANGED_OBSERVATION = "changed_observation"
GONE_BASE, LOST_TEXT, LOST_TERM = "gone_base", "lost_text", "lost_term"
TABLES = (GONE_KEYFRAME, GONE_OBSERVATION, TOUCHED_KEYFRAME, CHANGED_OBSERVATION, GONE_BASE, LOST_TEXT, LOST_TERM)
"""Temporary tables of ids, in memory: what goes, the keyframes that lose something, the observations that lose
something and stay, the entities that lose their base, strings that may be unused then."""


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
            since, until = moment(self.since_ns), moment(self.until_ns)
            raise InvalidInputError(f"forget: the time from {since} to {until} is empty")
        # Written so that NaN is refused too.
        if self.area is not None and not (self.area[0] <= self.area[2] and self.area[1] <= self.area[3]):
            raise InvalidInputError(f"forget: area {self.area} is not (x_min, y_min, x_max, y_max)")


class Selector:
    """Fills the temporary tables from a selection, inside a transaction of the caller's."""

    def __init__(
        self, connection: sqlite3.Connection, catalogs: Catalogs, keyframes: KeyframeRows, selection: Selection
    ) -> None:
        self._connection = connection
        self._catalogs = catalogs
        self._entities = EntityRows(connection, catalogs, keyframes)
        self._bases = BaseRows(connection)
        self._selection = selection

    def select(self) -> None:
        """Resolve the selection.

        Raises:
            InvalidInputError: it names nothing.
            NotInMemoryError: it names a view, entity or map that is not there.
        """
        self._selection.check()
        for table in TABLES:
            self._connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY)")
            self._connection.execute(f"DELETE FROM {table}")
        if self._selection.label is None and not self._selection.entity_ids:
            self._select_keyframes()
        else:
            self._select_things()
        self._note_touched()
        self._add_bases_of_lost()

    def _select_keyframes(self) -> None:
        """Time and area alone: whole keyframes, and what is known to stand in the area."""
        self._fill(GONE_KEYFRAME, self._keyframes_within())
        self._connection.execute(
            f"INSERT INTO {GONE_OBSERVATION} SELECT o.id FROM {GONE_KEYFRAME} g JOIN keyframe k ON k.id = g.id "
            "JOIN observation o ON o.id BETWEEN k.first_observation AND k.first_observation + k.observations - 1"
        )
        standing, in_time = self._standing_in_area(), self._keyframes_in_time()
        self._add_observations(self._observations_of(standing), in_time)
        self._fill(GONE_BASE, self._bases.holding(GONE_KEYFRAME))
        self._add_bases(standing, in_time)

    def _select_things(self) -> None:
        """Labels and entities: their observations, the sentences that mention them, the images that show them."""
        within = self._keyframes_within() | self._keyframes_showing(self._standing_in_area())
        words: set[str] = set()
        for key in self._named_entities():
            words.update(normal_form(label) for label in labels_of(self._connection, key))
            self._add_observations(self._observations_of([key]), within)
            self._add_bases_like(key, within)
        self._note_touched()
        self._drop_mentions(words, set(self._ids(f"SELECT id FROM {TOUCHED_KEYFRAME}")))
        if self._selection.label is not None:
            called = {normal_form(self._selection.label)}
            self._add_observations(self._observations_called(called), within)
            self._add_bases(self._entities_called(called), within)
            self._drop_mentions(called, within)

    def _note_touched(self) -> None:
        into = f"INSERT OR IGNORE INTO {TOUCHED_KEYFRAME}"
        self._connection.execute(
            f"{into} SELECT keyframe FROM observation WHERE id IN (SELECT id FROM {GONE_OBSERVATION})"
        )
        self._connection.execute(f"{into} SELECT id FROM {GONE_KEYFRAME}")

    # --------------------------------------------------------------------------------------------- what is meant

    def _keyframes_in_time(self) -> set[int]:
        since, until = self._selection.since_ns, self._selection.until_ns
        query = "SELECT id FROM keyframe WHERE (? IS NULL OR stamp >= ?) AND (? IS NULL OR stamp <= ?)"
        return {row[0] for row in self._connection.execute(query, (since, since, until, until))}

    def _keyframes_within(self) -> set[int]:
        """Keyframes of the time and the area; all of them where neither is given."""
        found = self._keyframes_in_time()
        area = self._selection.area
        if area is None:
            return found
        maps = self._maps()
        query = "SELECT k.id, k.base_pose, s.map FROM keyframe k JOIN session s ON s.id = k.session"
        inside: set[int] = set()
        for number, pose, map_ in self._connection.execute(query):
            x, y, _ = position_of(pose)
            if map_ in maps and area[0] <= x <= area[2] and area[1] <= y <= area[3]:
                inside.add(number)
        return found & inside

    def _maps(self) -> set[int]:
        """Of the area."""
        map_id = self._selection.map_id
        if map_id is None:
            row = self._connection.execute("SELECT map FROM session ORDER BY id DESC LIMIT 1").fetchone()
            if row is None:
                return set()
            map_id = self._catalogs.map(row[0])[0]
        found = set(self._catalogs.maps_called(map_id))
        if not found:
            raise NotInMemoryError(f"map '{map_id}' is not in this memory")
        return found

    def _standing_in_area(self) -> list[int]:
        """Entities of any view whose own place, not only the robot's, is known to be in the area."""
        area = self._selection.area
        if area is None:
            return []
        maps = self._maps()
        query = "SELECT id, map, folded, place FROM entity WHERE x >= ? AND y >= ? AND x <= ? AND y <= ?"
        return [
            key
            for key, map_, folded, place in self._connection.execute(query, area)
            if map_ in maps and Folded.from_stored(folded, place).place.source is not PositionSource.ROBOT
        ]

    def _named_entities(self) -> list[int]:
        selection = self._selection
        if not selection.entity_ids:
            return []
        views: dict[str, int] = dict(self._connection.execute("SELECT name, id FROM view ORDER BY id"))
        view = next(iter(views)) if selection.view is None and len(views) == 1 else selection.view
        known = ", ".join(views) or "none"
        if view is None:
            raise NotInMemoryError(f"forget: name the view that {', '.join(selection.entity_ids)} is of: {known}")
        if view not in views:
            raise NotInMemoryError(f"forget: view '{view}' is not in this memory; it has {known}")
        keys = []
        for entity_id in selection.entity_ids:
            key = self._entities.key_of(views[view], entity_id)
            if key is None:
                raise NotInMemoryError(f"entity '{entity_id}' is not in view '{view}'; nothing was forgotten")
            keys.append(key)
        return keys

    def _observations_of(self, keys: Iterable[int]) -> set[int]:
        query = "SELECT observation FROM assignment WHERE entity = ?"
        return {row[0] for key in keys for row in self._connection.execute(query, (key,))}

    def _keyframes_showing(self, keys: Iterable[int]) -> set[int]:
        query = "SELECT keyframe FROM observation WHERE id = ?"
        shown = {self._connection.execute(query, (number,)).fetchone()[0] for number in self._observations_of(keys)}
        return shown & self._keyframes_in_time()

    def _observations_called(self, words: set[str]) -> set[int]:
        query = "SELECT id, text FROM text WHERE id IN (SELECT DISTINCT label FROM observation)"
        labels = [number for number, text in self._connection.execute(query) if normal_form(text) in words]
        query = "SELECT id, label FROM observation"
        wanted = set(labels)
        return {number for number, label in self._connection.execute(query) if label in wanted}

    def _entities_called(self, words: set[str]) -> list[int]:
        """Entities of any view that were ever given one of these labels."""
        query = "SELECT l.entity, t.text FROM entity_label l JOIN text t ON t.id = l.label"
        return [key for key, label in self._connection.execute(query) if normal_form(label) in words]

    # ------------------------------------------------------------------------------------------------- filling in

    def _add_bases(self, keys: Iterable[int], within: set[int]) -> None:
        """What is summed up of these entities in these keyframes cannot be told apart from the rest of their base.

        So all of the base goes, and so do the images of those keyframes.
        """
        query = "SELECT keyframe FROM base_keyframe WHERE entity = ? AND seen"
        for key in keys:
            shown = {row[0] for row in self._connection.execute(query, (key,))} & within
            if shown:
                self._fill(GONE_BASE, [key])
                self._fill(TOUCHED_KEYFRAME, shown)

    def _add_bases_like(self, key: int, within: set[int]) -> None:
        """The base of an entity, and those that other views may have made of the same observations."""
        query = (
            "SELECT DISTINCT b.entity FROM base_keyframe mine JOIN base_keyframe b ON b.keyframe = mine.keyframe "
            "AND b.seen WHERE mine.entity = ? AND mine.seen AND b.entity IN "
            "(SELECT entity FROM entity_label WHERE label IN (SELECT label FROM entity_label WHERE entity = ?)) AND "
            "(b.entity = ? OR (SELECT view FROM entity WHERE id = b.entity) <> (SELECT view FROM entity WHERE id = ?))"
        )
        self._add_bases([row[0] for row in self._connection.execute(query, (key, key, key, key))], within)

    def _add_bases_of_lost(self) -> None:
        """Bases that have taken in an observation that goes."""
        self._connection.execute(
            f"INSERT OR IGNORE INTO {GONE_BASE} SELECT a.entity FROM view v JOIN {GONE_OBSERVATION} o "
            "JOIN assignment a ON a.view = v.id AND a.observation = o.id "
            "JOIN entity_base b ON b.entity = a.entity AND b.last_observation >= o.id"
        )

    def _add_observations(self, observations: Iterable[int], within: set[int]) -> None:
        query = "SELECT keyframe FROM observation WHERE id = ?"
        chosen = [n for n in observations if self._connection.execute(query, (n,)).fetchone()[0] in within]
        self._fill(GONE_OBSERVATION, chosen)

    def _drop_mentions(self, words: set[str], within: set[int]) -> None:
        """Take out the sentences and region texts of these keyframes that use the words."""
        if not words or not within:
            return
        texts = self._connection.execute("SELECT id, text FROM text")
        mentioning = {number for number, text in texts if mentions(text, words)}
        self._fill(LOST_TEXT, mentioning)
        query = "SELECT keyframe, ordinal, text FROM keyframe_text"
        sentences = [(k, i) for k, i, text in self._connection.execute(query) if text in mentioning and k in within]
        query = "SELECT keyframe, id, region FROM observation WHERE region IS NOT NULL"
        regions = [(k, i) for k, i, text in self._connection.execute(query) if text in mentioning and k in within]
        self._connection.executemany("DELETE FROM keyframe_text WHERE keyframe = ? AND ordinal = ?", sentences)
        self._connection.executemany("UPDATE observation SET region = NULL WHERE id = ?", [(i,) for _, i in regions])
        self._fill(TOUCHED_KEYFRAME, {k for k, _ in (*sentences, *regions)})
        self._drop_told(mentioning, words, within)
        self._drop_terms(words, within)

    def _drop_told(self, mentioning: set[int], words: set[str], within: set[int]) -> None:
        """What captions tell of in these words goes with the sentences that told it."""
        told = self._connection.execute("SELECT id, label, attributes FROM observation WHERE told").fetchall()
        terms = self._saying(words)
        self._add_observations([i for i, label, said in told if label in mentioning or said in terms], within)
        entities = self._connection.execute(f"SELECT entity, {COLUMNS} FROM entity_base").fetchall()
        bases = ((key, Base.from_stored(*stored).folded) for key, *stored in entities)
        self._add_bases([key for key, was in bases if _says(was.latest_attributes(), words)], within)

    def _drop_terms(self, words: set[str], within: set[int]) -> None:
        """Attributes and relations of what stays, where they use the words."""
        terms = self._saying(words)
        self._fill(LOST_TERM, terms)
        query = "SELECT keyframe, id, attributes FROM observation WHERE attributes IS NOT NULL"
        changed = [(k, i) for k, i, said in self._connection.execute(query) if said in terms and k in within]
        update = "UPDATE observation SET attributes = NULL WHERE id = ?"
        self._connection.executemany(update, [(i,) for _, i in changed])
        query = "SELECT keyframe, subject, predicate, object FROM relation_fact"
        facts = [fact for fact in self._connection.execute(query) if fact[2] in terms and fact[0] in within]
        delete = "DELETE FROM relation_fact WHERE keyframe = ? AND subject = ? AND predicate = ? AND object = ?"
        self._connection.executemany(delete, facts)
        changed += [(fact[0], fact[1]) for fact in facts]
        self._fill(TOUCHED_KEYFRAME, {k for k, _ in changed})
        self._fill(CHANGED_OBSERVATION, {i for _, i in changed})

    def _saying(self, words: set[str]) -> set[int]:
        """Attributes with one of these words as a value, and predicates with one."""
        found = set()
        for number, text in self._connection.execute("SELECT id, text FROM term"):
            # Names of attributes are not looked at: "object" is one, and no reason to forget every event.
            said = unpack_attributes(text) if text.startswith("{") else {"": text}
            if _says(said, words):
                found.add(number)
        return found

    def _fill(self, table: str, ids: Iterable[int]) -> None:
        self._connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?)", ((number,) for number in ids))

    def _ids(self, query: str) -> list[int]:
        return [row[0] for row in self._connection.execute(query)]


def labels_of(connection: sqlite3.Connection, key: int) -> set[str]:
    """Every label that an entity was given."""
    row = connection.execute("SELECT folded, place FROM entity WHERE id = ?", (key,)).fetchone()
    return set(Folded.from_stored(*row).labels)


def _says(attributes: Mapping[str, str], words: set[str]) -> bool:
    return any(mentions(value, words) for value in attributes.values())


def mentions(text: str, words: set[str]) -> bool:
    """Whether a text uses one of the normal forms as a run of whole words.

    In scripts without case anywhere in it: some have no spaces between words, others write particles onto them.
    """
    if any(_is_caseless(word) and word in " ".join(text.casefold().split()) for word in words):
        return True
    tokens = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    for word in words:
        parts = "".join(c if c.isalnum() else " " for c in word).split()
        length, wanted = len(parts), " ".join(parts)
        for start in range(len(tokens) - length + 1):
            if length and normal_form(" ".join(tokens[start : start + length])) == wanted:
                return True
    return False


def _is_caseless(word: str) -> bool:
    return any(c.isalpha() and c.lower() == c.upper() for c in word)
