"""Entities of a view between their rows and the fold, now and as of an earlier time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from vlkng_ros.memory.bases import Base, BaseRows
from vlkng_ros.memory.catalogs import Catalogs
from vlkng_ros.memory.fold import CHECKPOINT_EVERY, KINDS, Fact, Folded, Reach
from vlkng_ros.memory.keyframe_rows import KeyframeRows
from vlkng_ros.memory.packing import reads_rows
from vlkng_ros.memory.position import PositionState
from vlkng_ros.memory.visibility import Presence
from vlkng_ros.types import Entity, EntityKind, EntityState, FloatArray, PositionEstimate, Vec3

COLUMNS = "id, type, number, folded, place, reach, revision"
MAX_RECENT = 20_000
"""Entities kept decoded by a reader, as they are and as they were at some times."""
Checkpoint = tuple[int, int, int, str, bytes]
"""A row of ``entity_checkpoint``."""


@dataclass(eq=False)
class KnownEntity:
    """An entity with its name: what associators are handed (``association.base.EntityRecord``).

    Never changed once it is in a view: what happens to an entity makes another one.
    """

    key: int
    """Number of its row; entities made later have higher ones."""
    entity_id: str
    view: str
    folded: Folded
    map_id: str
    frame_id: str
    reach: Reach
    revision: int
    appearance: FloatArray | None = None
    """Running mean of the visual embeddings of its crops, unit length; only filled in for associators."""
    label: str = field(init=False)
    """The label given most often."""
    position_m: Vec3 = field(init=False)
    """The mean of ``position``, which costs less than the whole."""
    track_m: Vec3 | None = field(init=False)
    """Where its track is, were it a place already; None where there is no track."""

    def __post_init__(self) -> None:
        self.label = self.folded.label
        self.position_m, self.track_m = self.folded.places_m()

    @property
    def kind(self) -> EntityKind:
        """Object, person, location or event."""
        return self.folded.kind

    @property
    def attributes(self) -> Mapping[str, str]:
        """The latest non-empty value of each."""
        return self.folded.latest_attributes()

    @cached_property
    def position(self) -> PositionEstimate:
        """Best estimate so far."""
        return self.folded.place.estimate(self.frame_id, self.map_id)

    @property
    def place(self) -> PositionState:
        """What ``position`` comes from."""
        return self.folded.place

    @property
    def presence(self) -> Presence:
        """From where it was seen, and how often it was missed."""
        return self.folded.presence

    @property
    def state(self) -> EntityState:
        """Whether it is believed to be where it was last seen."""
        return self.folded.state

    @property
    def seen_from_m(self) -> Vec3:
        """Base position of the last keyframe that showed it."""
        return self.folded.seen_from_m

    @property
    def first_seen_ns(self) -> int:
        """Time of the earliest keyframe that showed it."""
        return self.folded.first_seen_ns

    @property
    def last_seen_ns(self) -> int:
        """Time of the latest keyframe that showed it."""
        return self.folded.last_seen_ns

    @property
    def last_keyframe_id(self) -> int:
        """The latest keyframe that showed it."""
        return self.folded.last_keyframe_id

    @property
    def observation_count(self) -> int:
        """How many observations are of it."""
        return self.folded.observation_count

    def entity(self) -> Entity:
        """As the vocabulary has it."""
        return self._entity

    @cached_property
    def _entity(self) -> Entity:
        folded = self.folded
        return Entity(
            view=self.view,
            entity_id=self.entity_id,
            kind=folded.kind,
            label=self.label,
            labels=dict(folded.labels),
            attributes=folded.latest_attributes(),
            position=self.position,
            first_seen_ns=folded.first_seen_ns,
            last_seen_ns=folded.last_seen_ns,
            first_keyframe_id=folded.first_keyframe_id,
            last_keyframe_id=folded.last_keyframe_id,
            observation_count=folded.observation_count,
            state=folded.state,
            revision=self.revision,
        )


class EntityRows:
    """Reads the entities of views through one connection."""

    def __init__(self, connection: sqlite3.Connection, catalogs: Catalogs, keyframes: KeyframeRows) -> None:
        self._connection = connection
        self._catalogs = catalogs
        self._keyframes = keyframes
        self._bases = BaseRows(connection)
        self._recent: dict[int, KnownEntity] = {}
        self._past: dict[tuple[int, int, int], KnownEntity | None] = {}
        """By key, revision and time."""

    @reads_rows
    def decode(self, view: str, row: tuple[int, int, int, str, bytes, bytes, int]) -> KnownEntity:
        """An entity from the columns ``COLUMNS``."""
        key, type_, number, folded, place, reach, revision = row
        name = f"{self._catalogs.slug(type_)}_{number}"
        return self.known(key, name, view, Folded.from_stored(folded, place), Reach.from_bytes(reach), revision)

    def known(self, key: int, name: str, view: str, folded: Folded, reach: Reach, revision: int) -> KnownEntity:
        """A fold's result with its name."""
        map_id, frame_id = self._catalogs.map(folded.map)
        return KnownEntity(key, name, view, folded, map_id, frame_id, reach, revision)

    def key_of(self, view_number: int, entity_id: str) -> int | None:
        """The row of an entity by its name, or None."""
        slug, _, number = entity_id.rpartition("_")
        type_ = self._catalogs.slug_number(slug)
        if type_ is None or not number.isascii() or not number.isdecimal() or str(int(number)) != number:
            return None
        query = "SELECT id FROM entity WHERE view = ? AND type = ? AND number = ?"
        row = self._connection.execute(query, (view_number, type_, int(number))).fetchone()
        return None if row is None else int(row[0])

    def load(self, view: str, key: int) -> KnownEntity | None:
        """An entity as it is now; decoded once as long as its revision stays."""
        known = self._recent.get(key)
        if known is not None:
            row = self._connection.execute("SELECT revision FROM entity WHERE id = ?", (key,)).fetchone()
            if row is not None and row[0] == known.revision:
                return known
        known = self.load_anew(view, key)
        if known is None:
            self._recent.pop(key, None)
            return None
        if len(self._recent) >= MAX_RECENT:
            self._recent.clear()
        self._recent[key] = known
        return known

    def load_anew(self, view: str, key: int) -> KnownEntity | None:
        """An entity as it is now, for a caller that keeps it."""
        row = self._connection.execute(f"SELECT {COLUMNS} FROM entity WHERE id = ?", (key,)).fetchone()
        return None if row is None else self.decode(view, row)

    def clear(self) -> None:
        """Forget what was decoded: after a deletion."""
        self._recent.clear()
        self._past.clear()

    def as_of(self, known: KnownEntity, as_of_ns: int) -> KnownEntity | None:
        """The entity as the keyframes up to a time made it; None where it was not seen by then.

        As of a time before its base ends, when it was seen is exact; labels and attributes are those of the
        observations that are left, and its place is where the robot stood when it last saw it.
        """
        now = known.folded
        if now.last_event_ns <= as_of_ns:
            return known
        if now.first_seen_ns > as_of_ns:
            return None
        moment = (known.key, known.revision, as_of_ns)
        if moment not in self._past:
            if len(self._past) >= MAX_RECENT:
                self._past.clear()
            self._past[moment] = self._as_it_was(known, as_of_ns)
        return self._past[moment]

    def _as_it_was(self, known: KnownEntity, as_of_ns: int) -> KnownEntity | None:
        now = known.folded
        base = self._bases.load(known.key)
        if base is not None and as_of_ns < base.folded.last_event_ns:
            return self._before_base_ends(known, base, as_of_ns)
        past = self._checkpoint(known.key, as_of_ns)
        if past is None:
            past = Folded.unseen(now.kind) if base is None else base.folded
        for event in self._keyframes.events(known.key, past.last_observation_id):
            if event.keyframe.stamp_ns > as_of_ns:
                if now.ordered:
                    break
            elif isinstance(event, Fact):
                past.add(event)
            else:
                past.miss(event)
        if not past.observation_count:
            return None
        return self.known(known.key, known.entity_id, known.view, past, known.reach, known.revision)

    def _before_base_ends(self, known: KnownEntity, base: Base, as_of_ns: int) -> KnownEntity | None:
        past, later = Folded.unseen(known.folded.kind), 0
        for event in self._keyframes.events(known.key):
            if not isinstance(event, Fact):
                continue
            after_base = event.observation_id > base.folded.last_observation_id
            if after_base and known.folded.ordered:
                break
            if event.keyframe.stamp_ns <= as_of_ns:
                past.add(event)
                later += after_base
        count, last = self._bases.seen_until(known.key, as_of_ns)
        if not past.observation_count:
            return None
        past.observation_count = count + later
        if last is not None:
            seen = self._keyframes.seen(last)
            if seen.keyframe.stamp_ns >= past.last_seen_ns:
                past.last_seen_ns, past.last_keyframe_id = seen.keyframe.stamp_ns, last
        seen = self._keyframes.seen(past.last_keyframe_id)
        past.map = seen.map
        past.stand_at(seen.keyframe.base_pose.position_m)
        return self.known(known.key, known.entity_id, known.view, past, known.reach, known.revision)

    def _checkpoint(self, key: int, as_of_ns: int) -> Folded | None:
        query = (
            "SELECT folded, place FROM entity_checkpoint WHERE entity = ? AND latest <= ? ORDER BY count DESC LIMIT 1"
        )
        row = self._connection.execute(query, (key, as_of_ns)).fetchone()
        return None if row is None else Folded.from_stored(*row)


def checkpoint_of(key: int, folded: Folded) -> Checkpoint | None:
    """What is stored after an observation so that earlier times can be asked about without a full replay."""
    if folded.observation_count % CHECKPOINT_EVERY:
        return None
    return (key, folded.observation_count, folded.last_event_ns, folded.to_json(), folded.to_bytes())


class EntityWriter:
    """Writes the entities of views, inside a transaction of the caller's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def insert(self, view_number: int, new: Iterable[tuple[int, int, KnownEntity]]) -> None:
        """New entities, each after the numbers of its type and of its name."""
        self._connection.executemany(
            f"INSERT INTO entity VALUES ({','.join('?' * 18)})",
            [(known.key, view_number, *name, *self._values(known)) for *name, known in new],
        )

    def update(self, changed: Iterable[KnownEntity]) -> None:
        """Changed ones."""
        self._connection.executemany(
            "UPDATE entity SET kind=?, map=?, first_seen=?, last_seen=?, x=?, y=?, z=?, from_x=?, from_y=?, from_z=?, "
            "reach=?, folded=?, place=?, revision=? WHERE id=?",
            [(*self._values(known), known.key) for known in changed],
        )

    def add_checkpoints(self, checkpoints: Iterable[Checkpoint]) -> None:
        """States on the way, for questions about earlier times."""
        self._connection.executemany("INSERT INTO entity_checkpoint VALUES (?, ?, ?, ?, ?)", checkpoints)

    def _values(self, known: KnownEntity) -> tuple[Any, ...]:
        folded = known.folded
        return (
            KINDS.index(folded.kind),
            folded.map,
            folded.first_seen_ns,
            folded.last_seen_ns,
            *known.position_m,
            *folded.seen_from_m,
            known.reach.to_bytes(),
            folded.to_json(),
            folded.to_bytes(),
            known.revision,
        )
