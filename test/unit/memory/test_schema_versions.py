"""A memory of any earlier schema opens, is brought up to date, and says what it said.

``files/schema_<n>.sql`` is a memory as version n wrote it. It is made once, when a version is released:

    VLKNG_WRITE_GOLDEN=1 pytest test/unit/memory/test_schema_versions.py
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from remembered_drives import SECOND, Frame, WordEncoder, remember, told

from vlkng_ros.errors import SchemaVersionError
from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from vlkng_ros.types import Detection, Perception, RelationMention

FILES = Path(__file__).with_name("files")
VERSIONS = range(1, SCHEMA_VERSION + 1)


def golden(version: int) -> Path:
    return FILES / f"schema_{version}.sql"


def frames() -> list[Frame]:
    found = (
        Detection("cup", (100.0, 200.0, 160.0, 260.0), 0.9, "a red cup", {"colour": "red"}, local_id="cup_1"),
        Detection("table", (50.5, 240.0, 400.0, 400.0)),
    )
    perception = Perception("A red cup on a table.", found, (RelationMention(0, "on", 1),), "florence2", "base")
    drive = [Frame(i * SECOND, i / 10, 0.0, perception) for i in range(34)]
    return [*drive, Frame(40 * SECOND, 9.0, 0.0, Perception("A dog.", (Detection("dog"),)))]


def open_writer(path: Path) -> MemoryWriter:
    return MemoryWriter.open(path, encoder=WordEncoder(), associators=[ProximityAssociator()])


def load(version: int, path: Path) -> None:
    """Make the database that the golden file is the dump of."""
    connection = sqlite3.connect(path)
    connection.executescript(golden(version).read_text())
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def write(path: Path) -> None:
    """Make the golden file of the current schema."""
    with open_writer(path) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        remember(writer, frames())
    connection = sqlite3.connect(path)
    FILES.mkdir(exist_ok=True)
    golden(SCHEMA_VERSION).write_text("\n".join(connection.iterdump()) + "\n")
    connection.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_memory_of_an_earlier_schema_opens_and_goes_on(path, version):
    if version == SCHEMA_VERSION and "VLKNG_WRITE_GOLDEN" in os.environ:
        write(path.with_name("golden.db"))
    load(version, path)
    with open_writer(path) as writer:
        assert writer.pending() == []
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        remember(writer, frames()[:1])
    with MemoryReader.open(path) as reader:
        assert reader.stats().schema == SCHEMA_VERSION
        cup = reader.entity("proximity", "cup_1")
        assert (cup.observation_count, cup.label, dict(cup.attributes)) == (35, "cup", {"colour": "red"})
        assert reader.entity("proximity", "cup_1", 33 * SECOND).observation_count == 35
        assert reader.entity("proximity", "cup_1", 10 * SECOND).observation_count == 12
        assert [e.entity_id for e in reader.entities("proximity")] == ["cup_1", "table_1", "dog_1"]
        assert [r.predicate for r in reader.relations("proximity", "cup_1")] == ["on"]
        assert reader.observations(1)[0].detection == frames()[0].perception.detections[0]
        assert reader.keyframe(35).caption == "A dog."
        assert all(text.vector is not None for text in reader.texts())


def test_places_in_another_versions_form_are_derived_anew_by_the_next_writer(path):
    with open_writer(path) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        remember(writer, frames())
    with MemoryReader.open(path) as reader:
        before = [told(reader, "proximity", at) for at in (None, 33 * SECOND)]
    connection = sqlite3.connect(path)
    for table in ("entity", "entity_checkpoint"):
        connection.execute(f"UPDATE {table} SET place = x'00'")
    connection.execute("UPDATE head SET place_format = 'of old'")
    connection.commit()
    connection.close()
    with pytest.raises(SchemaVersionError, match="places in another version's form; open it once for writing"):
        MemoryReader.open(path)
    open_writer(path).close()
    with MemoryReader.open(path) as reader:
        assert [told(reader, "proximity", at) for at in (None, 33 * SECOND)] == before


def test_a_released_schema_never_changes():
    """A change to the tables is a new migration: the first n of them make what version n was."""
    for version in VERSIONS:
        made, stored = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
        for _, script in MIGRATIONS[:version]:
            made.executescript(script)
        stored.executescript(golden(version).read_text())
        query = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
        assert made.execute(query).fetchall() == stored.execute(query).fetchall()
        made.close()
        stored.close()


def test_migrations_have_names_of_their_own():
    names = [name for name, _ in MIGRATIONS]
    assert len(set(names)) == len(names) == SCHEMA_VERSION
