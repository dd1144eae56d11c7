"""Taking things out for good: the rows, what was derived from them, and every string that nothing else needs.

Deleted rows are overwritten (``secure_delete``) and the log is emptied afterwards, so the bytes are gone from the
files. What stays are numbers: ids in ``tombstone`` so that readers drop what they hold, and how often an entity type
was counted, by hash, so that no id is ever given twice.
"""

from __future__ import annotations

from vlkng_ros.memory.anchors import forget_anchors
from vlkng_ros.memory.bases import BaseRows
from vlkng_ros.memory.correcting import entities_with
from vlkng_ros.memory.refolding import Refolder
from vlkng_ros.memory.relations import drop_relations
from vlkng_ros.memory.rows import ForgetSummary
from vlkng_ros.memory.selecting import (
    CHANGED_OBSERVATION,
    GONE_BASE,
    GONE_KEYFRAME,
    GONE_OBSERVATION,
    LOST_TERM,
    LOST_TEXT,
    TABLES,
    TOUCHED_KEYFRAME,
    Selection,
    Selector,
    labels_of,
)
from vlkng_ros.memory.texts import hash_of
from vlkng_ros.memory.transactions import Store

KEYFRAME, ENTITY, TEXT, RELATION, SPAN = range(5)
"""Kinds of ``tombstone``."""

_GONE = f"(SELECT id FROM {GONE_OBSERVATION})"
TEXT_USES = (
    "SELECT label FROM observation",
    "SELECT region FROM observation WHERE region IS NOT NULL",
    "SELECT text FROM keyframe_text",
)
OBSERVED_TERMS = (
    "SELECT attributes FROM observation WHERE attributes IS NOT NULL",
    "SELECT local_id FROM observation WHERE local_id IS NOT NULL",
    "SELECT predicate FROM relation_fact",
    "SELECT predicate FROM relation",
)
TERM_USES = (
    *OBSERVED_TERMS,
    "SELECT backend FROM keyframe WHERE backend IS NOT NULL",
    "SELECT model FROM keyframe WHERE model IS NOT NULL",
    "SELECT visual_encoder FROM keyframe WHERE visual_encoder IS NOT NULL",
)


class Forgetting:
    """One ``forget``, inside a transaction of the caller's."""

    def __init__(self, store: Store, selection: Selection, revision: int) -> None:
        self._connection = store.connection
        self._revision = revision
        self._selection = selection
        self._selector = Selector(store.connection, store.catalogs, store.keyframes, selection)
        self._refolder = Refolder(store.connection, store.catalogs, store.keyframes, revision)
        self._views: dict[int, str] = dict(store.connection.execute("SELECT id, name FROM view"))

    def run(self) -> ForgetSummary:
        """Select, then delete.

        Raises:
            InvalidInputError: the selection names nothing.
            NotInMemoryError: it names a view, entity or map that is not there.
        """
        self._selector.select()
        without_base = {row[0] for row in self._connection.execute(f"SELECT id FROM {GONE_BASE}")}
        changed = entities_with(self._connection, CHANGED_OBSERVATION, GONE_KEYFRAME)
        losing = sorted({*entities_with(self._connection, GONE_OBSERVATION, GONE_KEYFRAME), *changed, *without_base})
        labels = {key: labels_of(self._connection, key) for key in losing}
        self._note_strings()
        observations = self._delete_observations()
        keyframes, images = self._delete_keyframes()
        chosen = self._selection
        if chosen.label is None and not chosen.entity_ids:
            forget_anchors(self._connection, chosen.since_ns, chosen.until_ns)
        bases = BaseRows(self._connection)
        for key in without_base:
            bases.drop(key)
        gone = set(self._refolder.refold(losing))
        self._refolder.reweigh(key for key in losing if key not in gone)
        touched = [row[0] for row in self._connection.execute(f"SELECT id FROM {TOUCHED_KEYFRAME}")]
        for number in drop_relations(self._connection, losing, touched, gone):
            self._bury(RELATION, number)
        entities = self._delete_entities(gone, labels)
        texts = self._delete_strings()
        for table in TABLES:
            self._connection.execute(f"DELETE FROM {table}")
        return ForgetSummary(self._revision, keyframes, observations, entities, images, texts)

    def _note_strings(self) -> None:
        """Strings that what goes uses: those that nothing else uses go with it."""
        for table, column, source in (
            (LOST_TEXT, "label", f"observation WHERE id IN {_GONE}"),
            (LOST_TEXT, "region", f"observation WHERE id IN {_GONE}"),
            (LOST_TEXT, "text", f"keyframe_text WHERE keyframe IN (SELECT id FROM {GONE_KEYFRAME})"),
            (LOST_TERM, "attributes", f"observation WHERE id IN {_GONE}"),
            (LOST_TERM, "local_id", f"observation WHERE id IN {_GONE}"),
            (LOST_TERM, "predicate", f"relation_fact WHERE subject IN {_GONE} OR object IN {_GONE}"),
        ):
            chosen = f"SELECT {column} FROM {source}"
            self._connection.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM ({chosen}) WHERE {column} NOTNULL")

    def _delete_observations(self) -> int:
        execute = self._connection.execute
        execute(f"DELETE FROM relation_fact WHERE subject IN {_GONE} OR object IN {_GONE}")
        for view in self._views:
            execute(f"DELETE FROM assignment WHERE view = ? AND observation IN {_GONE}", (view,))
        execute(f"DELETE FROM crop WHERE observation IN {_GONE}")
        return execute(f"DELETE FROM observation WHERE id IN {_GONE}").rowcount

    def _delete_keyframes(self) -> tuple[int, int]:
        """Returns how many keyframes and how many images go."""
        execute = self._connection.execute
        gone, touched = f"(SELECT id FROM {GONE_KEYFRAME})", f"(SELECT id FROM {TOUCHED_KEYFRAME})"
        images = execute(
            f"INSERT OR IGNORE INTO image_garbage SELECT id FROM keyframe WHERE image > 0 AND id IN {touched}"
        ).rowcount
        for table in ("keyframe_text", "relation_fact", "absence"):
            execute(f"DELETE FROM {table} WHERE keyframe IN {gone}")
        keyframes = execute(f"DELETE FROM keyframe WHERE id IN {gone}").rowcount
        execute(f"UPDATE keyframe SET image = 0, revision = ? WHERE id IN {touched}", (self._revision,))
        execute(f"INSERT INTO tombstone SELECT ?, ?, 0, id FROM {GONE_KEYFRAME}", (self._revision, KEYFRAME))
        spans = (
            "SELECT id FROM span WHERE EXISTS "
            f"(SELECT 1 FROM json_each(span.keyframes) WHERE value IN (SELECT id FROM {TOUCHED_KEYFRAME}))"
        )
        # A summary may speak of what was forgotten, and there is no telling.
        for (number,) in execute(spans).fetchall():
            execute("DELETE FROM span WHERE id = ?", (number,))
            self._bury(SPAN, number)
        return keyframes, max(images, 0)

    def _delete_entities(self, gone: set[int], labels: dict[int, set[str]]) -> dict[str, int]:
        counts: dict[str, int] = {}
        execute = self._connection.execute
        for key, before in sorted(labels.items()):
            (view,) = execute("SELECT view FROM entity WHERE id = ?", (key,)).fetchone()
            kept = set() if key in gone else labels_of(self._connection, key)
            for label in before - kept:
                named = "label IN (SELECT id FROM text WHERE hash = ? AND text = ?)"
                values = (hash_of(label), label, view, key)
                execute(f"DELETE FROM entity_label WHERE {named} AND view = ? AND entity = ?", values)
            if key in gone:
                execute("DELETE FROM entity_appearance WHERE entity = ?", (key,))
                execute("DELETE FROM absence WHERE entity = ?", (key,))
                execute("DELETE FROM entity WHERE id = ?", (key,))
                self._bury(ENTITY, key, view)
                counts[self._views[view]] = counts.get(self._views[view], 0) + 1
        if gone:
            execute("DELETE FROM entity_type WHERE id NOT IN (SELECT type FROM entity)")
        return counts

    def _delete_strings(self) -> int:
        execute = self._connection.execute
        for table, uses in ((LOST_TEXT, TEXT_USES), (LOST_TERM, TERM_USES)):
            for use in uses:
                execute(f"DELETE FROM {table} WHERE id IN ({use})")
        execute(f"DELETE FROM term WHERE id IN (SELECT id FROM {LOST_TERM})")
        lost = f"(SELECT id FROM {LOST_TEXT})"
        execute(f"DELETE FROM text_vector WHERE encoder IN (SELECT id FROM encoder) AND text IN {lost}")
        execute(f"INSERT INTO tombstone SELECT ?, ?, 0, id FROM {LOST_TEXT}", (self._revision, TEXT))
        return execute(f"DELETE FROM text WHERE id IN {lost}").rowcount

    def _bury(self, kind: int, number: int, view: int = 0) -> None:
        self._connection.execute("INSERT INTO tombstone VALUES (?, ?, ?, ?)", (self._revision, kind, view, number))
