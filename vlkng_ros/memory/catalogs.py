"""The small tables that rows point into: maps, sessions, cameras, terms and types of entities, looked up once."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory.packing import reads_rows
from vlkng_ros.memory.rows import Session
from vlkng_ros.types import Capture, Intrinsics

MAX_TERMS = 100_000
"""Terms kept in memory; beyond it the cache starts anew."""


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera as captures name it."""

    name: str
    image_size_px: tuple[int, int] | None
    intrinsics: Intrinsics | None


class Catalogs:
    """Numbers to what they stand for, and back. Used by writers inside their transaction and by readers."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sessions: dict[int, tuple[Session, int]] = {}
        self._maps: dict[int, tuple[str, str]] = {}
        self._cameras: dict[int, Camera] = {}
        self._camera_numbers: dict[Camera, int] = {}
        self._terms: dict[int, str] = {}
        self._term_numbers: dict[str, int] = {}
        self._slugs: dict[int, str] = {}
        self._slug_numbers: dict[str, int] = {}

    def clear(self, slugs: bool = True) -> None:
        """Forget what was looked up, types too unless they are to stay: after a rollback, or after a deletion."""
        caches: tuple[dict[Any, Any], ...] = (self._sessions, self._maps, self._cameras, self._camera_numbers)
        for cache in (*caches, self._terms, self._term_numbers, self._slug_numbers):
            cache.clear()
        if slugs:
            self._slugs.clear()

    # ---------------------------------------------------------------------------------------------- looking up

    def session(self, number: int) -> Session:
        """A session by its id."""
        return self._session(number)[0]

    def map_of_session(self, number: int) -> int:
        """The map's number of a session."""
        return self._session(number)[1]

    def _session(self, number: int) -> tuple[Session, int]:
        found = self._sessions.get(number)
        if found is None:
            row = self._connection.execute("SELECT robot, map FROM session WHERE id = ?", (number,)).fetchone()
            if row is None:
                raise NotInMemoryError(f"session {number} is not in this memory")
            map_id, frame_id = self.map(row[1])
            found = self._sessions[number] = (Session(number, row[0], map_id, frame_id), row[1])
        return found

    def sessions(self) -> tuple[Session, ...]:
        """Every session, oldest first."""
        return tuple(self.session(row[0]) for row in self._connection.execute("SELECT id FROM session ORDER BY id"))

    @reads_rows
    def map(self, number: int) -> tuple[str, str]:
        """``(map_id, frame_id)``."""
        found = self._maps.get(number)
        if found is None:
            row = self._connection.execute("SELECT map_id, frame_id FROM map WHERE id = ?", (number,)).fetchone()
            found = self._maps[number] = (str(row[0]), str(row[1]))
        return found

    def maps_called(self, map_id: str) -> list[int]:
        """Numbers of the maps with this id; one a frame."""
        return [row[0] for row in self._connection.execute("SELECT id FROM map WHERE map_id = ?", (map_id,))]

    @reads_rows
    def camera(self, number: int) -> Camera:
        """A camera by its number."""
        found = self._cameras.get(number)
        if found is None:
            row = self._connection.execute(
                "SELECT name, width, height, fx, fy, cx, cy, intrinsics_width, intrinsics_height FROM camera "
                "WHERE id = ?",
                (number,),
            ).fetchone()
            name, width, height, *k = row
            size = None if width is None else (width, height)
            found = self._cameras[number] = Camera(name, size, None if k[0] is None else Intrinsics(*k))
        return found

    @reads_rows
    def term(self, number: int | None) -> str:
        """A term by its number; the empty string has none."""
        if number is None:
            return ""
        found = self._terms.get(number)
        if found is None:
            row = self._connection.execute("SELECT text FROM term WHERE id = ?", (number,)).fetchone()
            found = str(row[0])
            self._remember_term(number, found)
        return found

    @reads_rows
    def slug(self, number: int) -> str:
        """The ``<type>`` of entity ids by its number."""
        if number not in self._slugs:
            self.load_slugs()
        return self._slugs[number]

    def load_slugs(self) -> None:
        """Read every ``<type>``."""
        # Those that were deleted meanwhile stay known until ``clear``: a reader still has to name what is gone.
        self._slugs.update(self._connection.execute("SELECT id, slug FROM entity_type"))

    def slug_number(self, slug: str) -> int | None:
        """The number of a ``<type>``, or None where no entity has it."""
        found = self._slug_numbers.get(slug)
        if found is None:
            row = self._connection.execute("SELECT id FROM entity_type WHERE slug = ?", (slug,)).fetchone()
            if row is None:
                return None
            found = self._slug_numbers[slug] = int(row[0])
        return found

    # ------------------------------------------------------------------------------------------------- writing

    def add_session(self, robot: str, map_id: str, frame_id: str, revision: int) -> int:
        """A new session; an empty ``map_id`` gets a map of its own."""
        insert = "INSERT INTO session (robot, map, revision) VALUES (?, ?, ?)"
        session = self._connection.execute(insert, (robot, 0, revision)).lastrowid
        name = map_id or f"unnamed-{session}"
        self._connection.execute("INSERT OR IGNORE INTO map (map_id, frame_id) VALUES (?, ?)", (name, frame_id))
        find = "SELECT id FROM map WHERE map_id = ? AND frame_id = ?"
        (number,) = self._connection.execute(find, (name, frame_id)).fetchone()
        self._connection.execute("UPDATE session SET map = ? WHERE id = ?", (number, session))
        return int(session or 0)

    def camera_number(self, capture: Capture) -> int:
        """The number of a capture's camera, new where it is."""
        camera = Camera(capture.camera, capture.image_size_px, capture.intrinsics)
        found = self._camera_numbers.get(camera)
        if found is None:
            k = camera.intrinsics
            values = (
                camera.name,
                *(camera.image_size_px or (None, None)),
                *((None,) * 6 if k is None else (k.fx, k.fy, k.cx, k.cy, k.width_px, k.height_px)),
            )
            row = self._connection.execute(
                "SELECT id FROM camera WHERE name = ? AND width IS ? AND height IS ? AND fx IS ? AND fy IS ? "
                "AND cx IS ? AND cy IS ? AND intrinsics_width IS ? AND intrinsics_height IS ?",
                values,
            ).fetchone()
            if row is None:
                insert = (
                    "INSERT INTO camera (name, width, height, fx, fy, cx, cy, intrinsics_width, intrinsics_height) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                )
                found = int(self._connection.execute(insert, values).lastrowid or 0)
            else:
                found = int(row[0])
            self._camera_numbers[camera] = found
        return found

    def term_number(self, text: str) -> int | None:
        """The number of a term, new where it is; None for the empty string."""
        if not text:
            return None
        found = self._term_numbers.get(text)
        if found is None:
            row = self._connection.execute("SELECT id FROM term WHERE text = ?", (text,)).fetchone()
            if row is None:
                row = (self._connection.execute("INSERT INTO term (text) VALUES (?)", (text,)).lastrowid,)
            found = int(row[0] or 0)
            self._remember_term(found, text)
        return found

    def new_slug_number(self, slug: str) -> int:
        """The number of a ``<type>``, new where it is."""
        found = self.slug_number(slug)
        if found is None:
            inserted = self._connection.execute("INSERT INTO entity_type (slug) VALUES (?)", (slug,)).lastrowid
            found = self._slug_numbers[slug] = int(inserted or 0)
            self._slugs[found] = slug
        return found

    def _remember_term(self, number: int, text: str) -> None:
        if len(self._terms) >= MAX_TERMS:
            self._terms.clear()
            self._term_numbers.clear()
        self._terms[number] = text
        self._term_numbers[text] = number
