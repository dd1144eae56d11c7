"""The tables of a memory and how an older file becomes a current one.

What was seen (``keyframe``, ``observation``, ``relation_fact``, ``keyframe_text``) is stored once. Everything of a view
(``assignment``, ``entity`` and what hangs on it, ``relation``) is derived from that and can be made again.

Every row that a reader follows carries the ``revision`` that last changed it; ``tombstone`` names what is gone by id
alone. Strings are stored once: what a question can find in ``text``, everything else in ``term``.
"""

from __future__ import annotations

import sqlite3

APPLICATION_ID = 0x564C4B47
"""``VLKG``, at offset 68 of the file."""

_FIRST = """
CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL,
    keyframe INTEGER NOT NULL,
    observation INTEGER NOT NULL,
    description INTEGER NOT NULL,
    text INTEGER NOT NULL,
    entity INTEGER NOT NULL,
    relation INTEGER NOT NULL,
    span INTEGER NOT NULL,
    keyframes INTEGER NOT NULL,
    observations INTEGER NOT NULL,
    encoder INTEGER,
    place_format TEXT NOT NULL
);
INSERT INTO head VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, '');

CREATE TABLE map (id INTEGER PRIMARY KEY, map_id TEXT NOT NULL, frame_id TEXT NOT NULL, UNIQUE (map_id, frame_id));
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT, robot TEXT NOT NULL, map INTEGER NOT NULL, revision INTEGER NOT NULL
);
CREATE TABLE camera (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, width INTEGER, height INTEGER,
    fx REAL, fy REAL, cx REAL, cy REAL, intrinsics_width INTEGER, intrinsics_height INTEGER
);
CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE text (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX text_by_hash ON text (hash);
CREATE TABLE encoder (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL);
CREATE TABLE text_vector (
    encoder INTEGER NOT NULL, text INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (encoder, text)
) WITHOUT ROWID;

CREATE TABLE keyframe (
    id INTEGER PRIMARY KEY,
    stamp INTEGER NOT NULL,
    session INTEGER NOT NULL,
    camera INTEGER NOT NULL,
    base_pose BLOB NOT NULL,
    camera_pose BLOB,
    image INTEGER NOT NULL,
    state INTEGER NOT NULL,
    described INTEGER,
    first_observation INTEGER,
    observations INTEGER NOT NULL DEFAULT 0,
    backend INTEGER,
    model INTEGER,
    visual_encoder INTEGER,
    span INTEGER,
    failure TEXT,
    revision INTEGER NOT NULL
);
CREATE INDEX keyframe_by_revision ON keyframe (revision);
CREATE INDEX keyframe_by_description ON keyframe (described) WHERE described IS NOT NULL;
CREATE INDEX keyframe_pending ON keyframe (id) WHERE state = 0;
CREATE TABLE keyframe_text (
    keyframe INTEGER NOT NULL, ordinal INTEGER NOT NULL, text INTEGER NOT NULL, PRIMARY KEY (keyframe, ordinal)
) WITHOUT ROWID;
CREATE TABLE observation (
    id INTEGER PRIMARY KEY,
    keyframe INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    label INTEGER NOT NULL,
    region INTEGER,
    attributes INTEGER,
    local_id INTEGER,
    box BLOB,
    score REAL,
    depth REAL
);
CREATE TABLE crop (observation INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE relation_fact (
    keyframe INTEGER NOT NULL, subject INTEGER NOT NULL, predicate INTEGER NOT NULL, object INTEGER NOT NULL,
    PRIMARY KEY (keyframe, subject, predicate, object)
) WITHOUT ROWID;
CREATE TABLE span (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, first_keyframe INTEGER NOT NULL, keyframes TEXT NOT NULL,
    summary TEXT NOT NULL, revision INTEGER NOT NULL
);
CREATE UNIQUE INDEX span_by_keyframes ON span (first_keyframe, kind, keyframes);

CREATE TABLE view (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, associated INTEGER NOT NULL);
CREATE TABLE entity_type (id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE);
CREATE TABLE entity_counter (
    view INTEGER NOT NULL, hash INTEGER NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (view, hash)
) WITHOUT ROWID;
CREATE TABLE assignment (
    view INTEGER NOT NULL, observation INTEGER NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY (view, observation)
) WITHOUT ROWID;
CREATE INDEX assignment_by_entity ON assignment (entity, observation);
CREATE TABLE entity (
    id INTEGER PRIMARY KEY,
    view INTEGER NOT NULL,
    type INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    map INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL,
    from_x REAL NOT NULL, from_y REAL NOT NULL, from_z REAL NOT NULL,
    reach BLOB NOT NULL,
    folded TEXT NOT NULL,
    place BLOB NOT NULL,
    revision INTEGER NOT NULL
);
CREATE UNIQUE INDEX entity_by_name ON entity (view, type, number);
CREATE INDEX entity_by_revision ON entity (revision);
CREATE TABLE absence (
    entity INTEGER NOT NULL, described INTEGER NOT NULL, keyframe INTEGER NOT NULL, before_observation INTEGER NOT NULL,
    PRIMARY KEY (entity, described)
) WITHOUT ROWID;
CREATE TABLE entity_appearance (
    entity INTEGER PRIMARY KEY, encoder INTEGER NOT NULL, count INTEGER NOT NULL, total BLOB NOT NULL
);
CREATE TABLE entity_label (
    view INTEGER NOT NULL, label INTEGER NOT NULL, entity INTEGER NOT NULL, PRIMARY KEY (view, label, entity)
) WITHOUT ROWID;
CREATE TABLE entity_checkpoint (
    entity INTEGER NOT NULL, count INTEGER NOT NULL, latest INTEGER NOT NULL,
    folded TEXT NOT NULL, place BLOB NOT NULL, PRIMARY KEY (entity, count)
) WITHOUT ROWID;
CREATE TABLE relation (
    id INTEGER PRIMARY KEY, view INTEGER NOT NULL, subject INTEGER NOT NULL, predicate INTEGER NOT NULL,
    object INTEGER NOT NULL, revision INTEGER NOT NULL
);
CREATE UNIQUE INDEX relation_by_subject ON relation (subject, predicate, object);
CREATE INDEX relation_by_object ON relation (object);
CREATE TABLE relation_seen (
    relation INTEGER NOT NULL, keyframe INTEGER NOT NULL, PRIMARY KEY (relation, keyframe)
) WITHOUT ROWID;

CREATE TABLE tombstone (
    revision INTEGER NOT NULL, kind INTEGER NOT NULL, view INTEGER NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (revision, kind, view, id)
) WITHOUT ROWID;
CREATE TABLE image_garbage (keyframe INTEGER PRIMARY KEY);
"""

_TOLD = "ALTER TABLE observation ADD COLUMN told INTEGER NOT NULL DEFAULT 0"

_ANCHORS = """
CREATE TABLE anchor (
    session INTEGER NOT NULL, vertex INTEGER NOT NULL, stamp INTEGER NOT NULL, x REAL NOT NULL, y REAL NOT NULL,
    PRIMARY KEY (session, vertex)
) WITHOUT ROWID
"""

_BASES = """
CREATE TABLE entity_base (
    entity INTEGER PRIMARY KEY, keyframe INTEGER NOT NULL, last_observation INTEGER NOT NULL,
    folded TEXT NOT NULL, place BLOB NOT NULL, reach BLOB NOT NULL
);
CREATE INDEX entity_base_by_keyframe ON entity_base (keyframe);
CREATE TABLE base_keyframe (
    entity INTEGER NOT NULL, keyframe INTEGER NOT NULL, seen INTEGER NOT NULL, PRIMARY KEY (entity, keyframe)
) WITHOUT ROWID;
ALTER TABLE head ADD COLUMN summarised INTEGER NOT NULL DEFAULT 0;
ALTER TABLE head ADD COLUMN summarised_ns INTEGER
"""

MIGRATIONS: tuple[tuple[str, str], ...] = (
    ("observations and views", _FIRST),
    ("what captions tell", _TOLD),
    ("anchors in the pose graph", _ANCHORS),
    ("entities without their observations", _BASES),
)
"""``(name, SQL)``, applied in order and only ever appended to; the file's ``user_version`` is how many it has had."""

SCHEMA_VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a memory to ``SCHEMA_VERSION``, each step in a transaction of its own."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    for number, (_, script) in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in script.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
