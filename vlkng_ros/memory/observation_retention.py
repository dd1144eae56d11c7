"""How long observations are kept one by one; of older ones the entities stay, with all that is known about them.

Observations go in the order in which they were described, which is that of association, so that what goes is always the
beginning of every entity's fold: that becomes its base (``memory.bases``). What is too old is so against the memory's
newest keyframe, as with images. Keyframes stay, since the path and its places come from them, and so do the
observations that show each entity first and last, and last by each of its labels: a question still finds it by them,
and a robot still goes there. Captions stay with keyframes that keep an observation.

So a file still grows, by about 170 bytes a keyframe (stamp, pose, their indexes; 230 where the camera has a pose of its
own) and 15 for each entity that it showed: the path, and when each entity was seen, are not thinned. ``as_of``, pose
corrections and forgetting by time or area need both.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from vlkng_ros.errors import InvalidInputError, MemoryFileError
from vlkng_ros.memory.associating import LiveViews
from vlkng_ros.memory.bases import Base, BaseRows
from vlkng_ros.memory.correcting import entities_with
from vlkng_ros.memory.fold import KINDS, NOWHERE, Absence, Folded, grown
from vlkng_ros.memory.forgetting import OBSERVED_TERMS, TEXT_USES
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.transactions import Store

EVERY = 256
"""Keyframes between two looks at the limits."""
SWEPT = 32
"""Strings are swept once so many times fewer observations are gone than there are: it takes a look at all of them."""
AT_ONCE = 16
"""Keyframes summed up in one step. Steps follow upon keyframes one by one, so that none is held up for long."""
_OLD, _OBSERVED, _GONE, _CHANGED = "old_keyframe", "old_observation", "summed_observation", "changed_keyframe"
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ObservationLimits:
    """None is no limit."""

    age_ns: int | None = None
    """Observations of keyframes that are older than the newest by more are kept in summary only."""
    count: int | None = None
    """As many more as it takes for the rest to be no more than this."""

    def __post_init__(self) -> None:
        """Refuse a limit below zero.

        Raises:
            InvalidInputError: says which.
        """
        for name, value in (("age_ns", self.age_ns), ("count", self.count)):
            if value is not None and value < 0:
                raise InvalidInputError(f"observations: {name} is {value}; a limit is 0 or more, None for no limit")


KEEP_ALL = ObservationLimits()


class _Old(NamedTuple):
    """A keyframe to sum up."""

    keyframe_id: int
    described: int
    stamp_ns: int


class ObservationRetention:
    """Sums old observations up for one writer."""

    def __init__(self, store: Store, views: LiveViews, limits: ObservationLimits) -> None:
        self._store = store
        self._views = views
        self._limits = limits
        self._added = 0
        self._under_way = False
        self._unswept: float = math.inf if store.head.summarised else 0
        """Observations that are gone since strings were swept; how many an earlier process left nobody knows."""
        self._keyframe_terms: set[int] = set()
        """Who or what described keyframes, up to the description of that number: keyframes grow in number with age."""
        self._upto = 0

    def added(self, stamp_ns: int) -> None:
        """A keyframe was stored; now and then the limits are looked at. Failing is logged and tried again."""
        if self._limits == KEEP_ALL:
            return
        self._added += 1
        if not self._under_way and self._added % EVERY:
            return
        oldest_ns = None if self._limits.age_ns is None else stamp_ns - self._limits.age_ns
        try:
            with self._store.using():
                done = self._step(oldest_ns, self._limits.count)
                if done < AT_ONCE and self._unswept * SWEPT > self._store.head.observations:
                    self._sweep()
                self._under_way = done == AT_ONCE
        except MemoryFileError as error:
            logger.warning("old observations could not be summed up yet: %s", error)

    def summarise(self, older_than_ns: int | None, keep: int | None) -> int:
        """See ``MemoryWriter.summarise``."""
        total = 0
        while True:
            with self._store.using():
                done = self._step(older_than_ns, keep)
                total += done
                if done < AT_ONCE:
                    if total:
                        self._sweep()
                    return total

    def _step(self, older_than_ns: int | None, keep: int | None) -> int:
        """One transaction; returns how many keyframes it was about."""
        store = self._store
        chosen = self._chosen(older_than_ns, keep)
        if chosen:
            with store.operation() as head:
                summing = _Summing(store, head.revision)
                gone = summing.run([one.keyframe_id for one in chosen])
                head.observations -= gone
                head.summarised = chosen[-1].described
                before = () if head.summarised_ns is None else (head.summarised_ns,)
                head.summarised_ns = max(*before, *(one.stamp_ns for one in chosen), chosen[0].stamp_ns)
            self._unswept += gone
            # Only what was looked up may name what is gone: where entities are has not changed.
            store.keyframes.clear()
        return len(chosen)

    def _chosen(self, older_than_ns: int | None, keep: int | None) -> list[_Old]:
        """Keyframes to sum up next: no more than ``AT_ONCE``."""
        execute, since = self._store.connection.execute, self._store.head.summarised
        query = (
            "SELECT id, described, stamp, first_observation, observations FROM keyframe "
            "WHERE described > ? AND described <= ? ORDER BY described LIMIT ?"
        )
        rows = execute(query, (since, self._views.associated, AT_ONCE)).fetchall()
        left = 0
        if rows and keep is not None:
            (left,) = execute("SELECT COUNT(*) FROM observation WHERE id >= ?", (rows[0][3],)).fetchone()
        chosen: list[_Old] = []
        for number, described, stamp, first, count in rows:
            too_old = older_than_ns is not None and stamp < older_than_ns
            if not too_old and (keep is None or left <= keep):
                break
            chosen.append(_Old(number, described, stamp))
            if keep is not None:
                query = "SELECT COUNT(*) FROM observation WHERE id BETWEEN ? AND ?"
                left -= execute(query, (first, first + count - 1)).fetchone()[0]
        return chosen

    def _sweep(self) -> None:
        """Take out strings that nothing uses any more: one pass over what is left, after many keyframes."""
        store = self._store
        with store.operation() as head:
            execute = store.connection.execute
            execute("CREATE TEMP TABLE IF NOT EXISTS used_string (id INTEGER PRIMARY KEY)")
            for table, uses in (("text", TEXT_USES), ("term", OBSERVED_TERMS)):
                execute("DELETE FROM used_string")
                for use in uses:
                    execute(f"INSERT OR IGNORE INTO used_string {use}")
                if table == "term":
                    query = "SELECT DISTINCT backend, model, visual_encoder FROM keyframe WHERE described > ?"
                    for terms in execute(query, (self._upto,)):
                        self._keyframe_terms.update(number for number in terms if number is not None)
                    self._upto = head.description
                    used = ((number,) for number in self._keyframe_terms)
                    store.connection.executemany("INSERT OR IGNORE INTO used_string VALUES (?)", used)
                unused = f"(SELECT id FROM {table} WHERE id NOT IN (SELECT id FROM used_string))"
                if table == "text":
                    # No tombstones: nothing is forgotten, and readers drop what no keyframe mentions any more.
                    execute(f"DELETE FROM text_vector WHERE text IN {unused}")
                execute(f"DELETE FROM {table} WHERE id IN {unused}")
            execute("DELETE FROM used_string")
        self._unswept = 0
        store.catalogs.clear()
        store.texts.clear()


class _Summing:
    """One step, inside a transaction of the caller's."""

    def __init__(self, store: Store, revision: int) -> None:
        self._connection = store.connection
        # Of its own: what the store holds may be of before this transaction, and outlives it if it fails.
        self._keyframes = KeyframeRows(store.connection, store.catalogs)
        self._bases = BaseRows(store.connection)
        self._revision = revision
        self._views = [row[0] for row in store.connection.execute("SELECT id FROM view")]
        self._kept: dict[int, tuple[int, set[int]]] = {}
        """By entity: its base's last observation, and those up to it that stay."""

    def run(self, keyframe_ids: Iterable[int]) -> int:
        """Sum these keyframes' observations up; returns how many observations are gone."""
        execute = self._connection.execute
        for table in (_OLD, _OBSERVED, _GONE, _CHANGED):
            execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY)")
            execute(f"DELETE FROM {table}")
        old = set(keyframe_ids)
        self._fill(_OLD, old)
        execute(
            f"INSERT INTO {_OBSERVED} SELECT o.id FROM {_OLD} c JOIN keyframe k ON k.id = c.id "
            "JOIN observation o ON o.id BETWEEN k.first_observation AND k.first_observation + k.observations - 1"
        )
        query = (
            f"SELECT MAX(first_observation + observations - 1), MAX(described) FROM keyframe WHERE id IN {_ids(_OLD)}"
        )
        last_observation, last_described = execute(query).fetchone()
        candidates = {row[0] for row in execute(f"SELECT id FROM {_OBSERVED}")}
        for key in entities_with(self._connection, _OBSERVED, _OLD):
            self._advance(key, old, last_observation)
            execute("DELETE FROM absence WHERE entity = ? AND described <= ?", (key, last_described))
            candidates.update(self._up_to_base(key))
        self._fill(_GONE, (number for number in candidates if not self._stays(number)))
        return self._delete()

    def _advance(self, key: int, old: set[int], last_observation: int) -> None:
        """Fold an entity's part of these keyframes onto its base."""
        base = self._bases.load(key)
        query = "SELECT kind FROM entity WHERE id = ?"
        (kind,) = self._connection.execute(query, (key,)).fetchone()
        folded, reach = (Folded.unseen(KINDS[kind]), NOWHERE) if base is None else base
        taken: dict[int, bool] = {}
        last = 0
        for event in self._keyframes.events(key, folded.last_observation_id):
            number = event.keyframe.keyframe_id
            if isinstance(event, Absence):
                if number not in old:
                    break
                folded.miss(event)
                taken[number] = False
            elif event.observation_id <= last_observation:
                map_before = folded.map
                folded.add(event)
                reach = grown(reach, map_before, folded)
                taken[number], last = True, number
            else:
                break
        if not folded.observation_count:
            return
        if not last:
            query = "SELECT keyframe FROM entity_base WHERE entity = ?"
            (last,) = self._connection.execute(query, (key,)).fetchone()
        self._bases.save(key, Base(folded, reach), last)
        self._bases.add_keyframes(key, taken)
        delete = "DELETE FROM entity_checkpoint WHERE entity = ? AND count <= ?"
        self._connection.execute(delete, (key, folded.observation_count))

    def _up_to_base(self, key: int) -> list[int]:
        """Observations of an entity that its base has taken in and that are still there."""
        query = "SELECT observation FROM assignment WHERE entity = ? AND observation <= ?"
        last, _ = self._kept_of(key)
        return [row[0] for row in self._connection.execute(query, (key, last))]

    def _stays(self, observation: int) -> bool:
        """Whether an entity of any view still needs an observation: its base lacks it, or it is one of the few."""
        for view in self._views:
            query = "SELECT entity FROM assignment WHERE view = ? AND observation = ?"
            row = self._connection.execute(query, (view, observation)).fetchone()
            if row is not None:
                last, kept = self._kept_of(row[0])
                if observation > last or observation in kept:
                    return True
        return False

    def _kept_of(self, key: int) -> tuple[int, set[int]]:
        if key in self._kept:
            return self._kept[key]
        base = self._bases.load(key)
        if base is None:
            found: tuple[int, set[int]] = (0, set())
        else:
            folded = base.folded
            query = (
                "SELECT o.id, o.label, o.keyframe FROM assignment a JOIN observation o ON o.id = a.observation "
                "WHERE a.entity = ? AND a.observation <= ? ORDER BY a.observation"
            )
            rows = self._connection.execute(query, (key, folded.last_observation_id)).fetchall()
            ends = (folded.first_keyframe_id, folded.last_keyframe_id)
            latest = {label: number for number, label, _ in rows}
            kept = {*latest.values(), *(number for number, _, keyframe in rows if keyframe in ends)}
            found = (folded.last_observation_id, kept)
        self._kept[key] = found
        return found

    def _delete(self) -> int:
        execute = self._connection.execute
        gone, changed = _ids(_GONE), _ids(_CHANGED)
        execute(f"INSERT INTO {_CHANGED} SELECT id FROM {_OLD}")
        execute(f"INSERT OR IGNORE INTO {_CHANGED} SELECT keyframe FROM observation WHERE id IN {gone}")
        execute(f"DELETE FROM relation_fact WHERE keyframe IN {changed} AND (subject IN {gone} OR object IN {gone})")
        for view in self._views:
            execute(f"DELETE FROM assignment WHERE view = ? AND observation IN {gone}", (view,))
        execute(f"DELETE FROM crop WHERE observation IN {gone}")
        count = execute(f"DELETE FROM observation WHERE id IN {gone}").rowcount
        execute(
            f"DELETE FROM keyframe_text WHERE keyframe IN (SELECT k.id FROM keyframe k WHERE k.id IN {changed} AND NOT "
            "EXISTS (SELECT 1 FROM observation o WHERE o.id BETWEEN k.first_observation AND "
            "k.first_observation + k.observations - 1))"
        )
        execute(f"UPDATE keyframe SET revision = ? WHERE id IN {changed}", (self._revision,))
        return count

    def _fill(self, table: str, ids: Iterable[int]) -> None:
        self._connection.executemany(f"INSERT INTO {table} VALUES (?)", ((number,) for number in ids))


def _ids(table: str) -> str:
    return f"(SELECT id FROM {table})"
